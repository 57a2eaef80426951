#pragma once
/// @file target.hpp
/// The table of target architectures. It stands in a stage below syntax, because link and device, which read
/// no PTX, take targets too.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/architectures.hpp"
#include "ptxgraft/target.hpp"

namespace ptxgraft {

/// "sm_90a", or its synonym "compute_90a"; nothing for an architecture that there is not.
[[nodiscard]] std::optional<Architecture> find_architecture(std::string_view text);

/// A device of an architecture, whatever its variant, runs PTX of a `.target`; also PTX that names none.
[[nodiscard]] bool runs_on(std::string_view ptx_target, Architecture device);

/// The architecture with all that it has: sm_90a of 90, sm_80 of 80.
[[nodiscard]] Architecture whole_architecture(std::uint32_t sm);

/// What a device of an architecture lets one block, one cluster and one multiprocessor have (CUDA C++
/// Programming Guide, technical specifications per compute capability).
struct ArchitectureLimits {
    std::uint32_t shared_bytes_per_block;           ///< static and dynamic
    std::uint32_t reserved_shared_bytes_per_block;  ///< beside them, by CUDA: from sm_80 on
    std::uint32_t blocks_per_cluster;               ///< 1: no clusters; above 8 they are not portable
    std::uint32_t threads_per_multiprocessor, blocks_per_multiprocessor;
};
/// Of one that there is not: those of the one before.
[[nodiscard]] ArchitectureLimits architecture_limits(std::uint32_t sm);

/// Threads that a `.maxntid` or `.reqntid` may ask for: ptxas counts them in 32 bits, rounds up to warps, and
/// crashes where that gives 0, in whatever process it runs.
inline constexpr std::uint64_t most_counted_threads = 0xFFFFFFE0;

/// The emulator can be a device of this architecture: of every one from sm_75 on.
[[nodiscard]] bool is_emulated(std::uint32_t sm);
[[nodiscard]] std::vector<std::uint32_t> emulated_numbers();  ///< 75, 80 …
[[nodiscard]] std::string emulated_architectures();           ///< "sm_75, sm_80, …"

}  // namespace ptxgraft
