#pragma once
#include <string>
#include <string_view>

#include "ptxgraft/error.hpp"

namespace ptxgraft::link {

/// What identifies the NVRTC in use: its version, and the path, size and time of its library.
[[nodiscard]] std::string nvrtc_identity();

/// Checks that a target is one that this toolkit knows: `sm_90a`, `compute_90a`. Errc::target_unknown names
/// them all. nvJitLink ends the process when it is given another.
[[nodiscard]] Expected<void> check_target(std::string_view target);

}  // namespace ptxgraft::link
