#pragma once
/// @file cubin.hpp
/// What machine code says of itself.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "ptxgraft/link.hpp"

namespace ptxgraft::link {

/// Whether the bytes are an ELF of CUDA all of which is there, and whose tables refer to what is in it
/// (Elf::is_whole). nvJitLink does not survive others.
[[nodiscard]] bool is_whole_cubin(std::span<const std::byte> image);

/// Adds what the image itself says of its functions where the log is silent: bytes of code and constants;
/// registers, stack and barriers of device functions; everything but spills after linking. The image must be
/// whole.
void complete_usage(Cubin& cubin);

/// Who made machine code: `ptxas`, `13.5.37`. A linked cubin names its linker and then the assembler of each
/// part.
struct Tool {
    std::string name, version;
    friend bool operator==(const Tool&, const Tool&) = default;
};
[[nodiscard]] std::vector<Tool> tools_of(std::span<const std::byte> image);

/// The CUDA version whose tools can read the cubin: 135 for 13.5; 0 when it does not say.
[[nodiscard]] std::uint32_t toolkit_of(std::span<const std::byte> image);

}  // namespace ptxgraft::link
