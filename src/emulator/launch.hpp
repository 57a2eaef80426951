#pragma once
/// @file launch.hpp
/// Runs all clusters of a grid over host threads.

#include <string>

#include "emulator/cluster.hpp"

namespace ptxgraft::emulator {

/// Runs a launch to its end; appends what it printed, in the order of the CTAs. The first error is that of
/// the first cluster that fails.
[[nodiscard]] Expected<void> run(const Launch& launch, std::uint32_t threads, std::string& output);

}  // namespace ptxgraft::emulator
