#pragma once
/// @file members.hpp
/// Collectives (shfl, vote, match, redux, bar.warp.sync …) of the lanes that a member mask names.

#include "emulator/machine/program.hpp"

namespace ptxgraft::emulator {

/// Runs a collective for lanes of a warp: at once where all members are there, else when the last one comes.
Flow run_collective(Warp& warp, const Operation& operation, const CollectiveCall& call, std::uint32_t mask);

}  // namespace ptxgraft::emulator
