#pragma once
/// @file launch.hpp
/// Runs all clusters of a grid over host threads.

#include "emulator/machine/cluster.hpp"

namespace ptxgraft::emulator {

/// Runs a launch to its end. The first error is that of the first cluster that fails; that the launch was
/// ended is one when there is no other. Exceptions of the launch's observer and of its should_stop come
/// through, when all host threads are done.
[[nodiscard]] Expected<void> run(const Launch& launch, std::uint32_t threads);

}  // namespace ptxgraft::emulator
