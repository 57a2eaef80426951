#pragma once
/// @file toolkit.hpp
/// CUDA's parts at run time.

#include <string>
#include <string_view>

#include "ptxgraft/error.hpp"

namespace ptxgraft::link {

/// Loads the library that NVRTC opens by its bare name when it first compiles, from beside NVRTC: the loader
/// looks for it in its own folders and cache alone. When there is none, NVRTC says so itself.
void load_nvrtc_builtins();

/// Which headers of CUDA were not found, and where they were sought, as a sentence; empty when all are there.
[[nodiscard]] std::string missing_headers();

/// What identifies the NVRTC in use: its version, and the path, size and time of its library.
[[nodiscard]] std::string nvrtc_identity();

/// Checks that a target is one that this toolkit knows: `sm_90a`, `compute_90a`. Errc::target_unknown names
/// them all. nvJitLink ends the process when it is given another.
[[nodiscard]] Expected<void> check_target(std::string_view target);

}  // namespace ptxgraft::link
