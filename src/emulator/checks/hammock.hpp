#pragma once
/// @file hammock.hpp
/// What a branch decides that chooses only among operations on registers: as much as some selects.

#include <cstdint>
#include <vector>

#include "emulator/machine/program.hpp"

namespace ptxgraft::emulator {

/// The operations between a branch and the place where all ways from it meet again (its immediate
/// post-dominator), however they branch.
struct Hammock {
    bool is_pure = false;      ///< they only compute in registers, and all branches among them lead forward
    std::uint32_t join = 0;    ///< where the ways meet
    std::vector<Ref> results;  ///< all registers that may be written on the way
};

/// Of a branch with one target, which may have a guard.
[[nodiscard]] Hammock find_hammock(const Program& program, std::uint32_t branch);

}  // namespace ptxgraft::emulator
