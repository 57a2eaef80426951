#pragma once
/// @file register_states.hpp
/// What a checked launch keeps of the registers of a frame: definedness bits (as Memcheck's V bits: one for
/// each bit of a value, set where something wrote it), the origins of undefined values, and which registers
/// belong to a wgmma that is in flight.

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "emulator/machine/program.hpp"

namespace ptxgraft::emulator {

/// The instruction that stored an undefined value, and the one at which the value was first undefined.
struct StoredOrigin {
    std::uint32_t pc = 0, first_pc = 0;
    bool is_stored = false;
    [[nodiscard]] bool is_known() const { return is_stored; }
};

/// Where an undefined value comes from.
struct Origin {
    std::uint32_t pc = 0;  ///< of the instruction that read it
    bool is_of_memory = false;
    Space space = Space::global;
    bool is_of_absent_lane = false;  ///< the register of a lane that takes no part in a shuffle
    /// True if the undefined bits were produced by a computation. Storing such a value to global memory is an
    /// error; plain copies may carry undefined padding bytes along.
    bool is_value = false;
    std::uint64_t address = 0;
    StoredOrigin stored = {};  ///< of memory: what stored the undefined value there
};

/// The definedness bits of a register, lane by lane at the register's width.
using States = std::array<std::uint8_t, std::size_t{lane_count} * 16>;

/// The definedness bits of a register that is not defined in all lanes, and the origin of its undefined bits.
struct Taint {
    Origin origin;
    States bytes = {};
};

/// What is kept of a register that a wgmma names as a part of its accumulator or of its fragment of A.
struct Fragment {
    bool is_fragment = false, is_accumulator = false;  ///< of some wgmma of the function
    bool accumulates = false, is_read = false;         ///< by a wgmma that is not known to be complete
    bool is_copy = false;      ///< the register holds a copy of an accumulator in flight (PendingCopy)
    bool is_written = false;   ///< the last instruction that touched it wrote it, and did not only read it
    std::uint32_t fences = 0;  ///< the wgmma.fences that the warp had executed then, plus one; 0: untouched
    std::uint32_t pc = 0;      ///< of that instruction
};

/// The states of all registers of a frame; registers are numbered by their offset / 32.
struct RegisterStates {
    /// The lanes in which a register is defined in all bits; `taints` has the bits of the others.
    std::vector<std::uint32_t> written;
    std::unordered_map<std::uint32_t, Taint> taints;
    std::vector<Fragment> fragments;  ///< empty where the function has no wgmma

    /// A straight run of pure operations whose sources were all defined in some lanes.
    struct DefinedRun {
        std::uint32_t pc, lanes;
        std::uint32_t undefined;  ///< the value that RegisterStates::undefined had then
    };
    /// Counts the operations that read or made an undefined value: while it stands, what was defined is.
    std::uint32_t undefined = 0;
    std::array<DefinedRun, 128> defined_runs;  ///< a cache, by Operation::run_slot; of a checked frame alone

    [[nodiscard]] DefinedRun& run_of(const Operation& first) {
        return defined_runs[first.run_slot % defined_runs.size()];
    }
};

}  // namespace ptxgraft::emulator
