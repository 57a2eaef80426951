#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "ptxgraft/link.hpp"

namespace ptxgraft::link {

/// Whether the bytes are an ELF of CUDA whose sections lie inside it. nvJitLink does not survive a cut one.
[[nodiscard]] bool is_whole_cubin(std::span<const std::byte> image);

/// Adds what the cubin itself says of its functions where the log is silent: registers, stack and barriers of
/// device functions, and everything but spills after linking. `image` must be whole.
void complete_usage(std::span<const std::byte> image, std::vector<FunctionUsage>& functions);

}  // namespace ptxgraft::link
