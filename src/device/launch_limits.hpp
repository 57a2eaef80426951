#pragma once
/// @file launch_limits.hpp
/// When a launch on the emulator ends that nobody ends.

#include "ptxgraft/emulator.hpp"

namespace ptxgraft::device {

/// The limits to launch with: where neither the launch nor the device's options have a budget or a time
/// limit, those of the library.
[[nodiscard]] inline LaunchLimits launch_limits(const LaunchLimits& launch, const EmulatorOptions& options) {
    LaunchLimits limits = launch;
    const bool has_any = launch.instruction_budget != 0 || launch.time_limit_ms != 0 ||
                         options.instruction_budget != 0 || options.time_limit_ms != 0;
    if (has_any) return limits;
    limits.instruction_budget = usual_instruction_budget;
    limits.time_limit_ms = usual_time_limit_ms;
    return limits;
}

}  // namespace ptxgraft::device
