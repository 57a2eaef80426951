#pragma once
/// @file launch.hpp
/// What a launch is made of, on a GPU as on the emulator: its shape, what ends it, and the parameters of the
/// entry that it runs.

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "ptxgraft/error.hpp"

namespace ptxgraft {

/// Extents in x, y and z.
struct Dim3 {
    std::uint32_t x = 1, y = 1, z = 1;
};

/// A parameter of an entry, as its PTX declares it.
struct ParameterInfo {
    std::string name;
    std::string type;         ///< "u64", "f32", "b8"
    std::uint32_t bytes = 0;  ///< whole parameter, arrays included
};

/// For LaunchLimits and EmulatorOptions: no limit, where 0 means that of the device or of the library.
inline constexpr std::uint64_t no_instruction_budget = ~std::uint64_t{0};
inline constexpr std::uint32_t no_time_limit = ~std::uint32_t{0};
/// What ends a launch on a Device of the emulator where neither the launch nor the device's options set a
/// budget or a time limit: some minutes of work, so that a loop without an end is an error and no program
/// that hangs.
inline constexpr std::uint64_t usual_instruction_budget = std::uint64_t{1} << 32;
inline constexpr std::uint32_t usual_time_limit_ms = 10 * 60 * 1000;

/// What ends a launch before its kernel ends, whichever comes first. What the kernel wrote by then stays
/// written, what it printed is there to be taken, and the device is ready for the next launch. The error says
/// where a warp was that ran last: entry, block, thread, and the span of its next instruction.
struct LaunchLimits {
    /// Warp instructions; 0: the device's budget; no_instruction_budget: none. It bounds work: an instruction
    /// that makes the host do much more than others counts as many, as copies in bulk, products of
    /// warpgroups, prints and atomics do, and each warp of a block that begins counts as eight.
    /// Errc::instruction_budget_spent
    std::uint64_t instruction_budget = 0;
    /// Milliseconds from when the kernel begins; 0: the device's limit; no_time_limit: none. It ends some
    /// milliseconds later. Errc::time_limit_spent
    std::uint32_t time_limit_ms = 0;
    /// Anybody may ask for the end, from any thread. Errc::launch_stopped
    std::stop_token stop = {};
    /// Is asked every few milliseconds on the launching thread, also while it waits for its turn: true ends
    /// the launch. Errc::launch_stopped. What it throws ends the launch too, and comes out of the call. A
    /// launch or a copy on the same device that it tries is Errc::device_in_use.
    std::function<bool()> should_stop = {};
};

/// The shape of a launch. Units: grid and cluster in blocks, block in threads, shared memory in bytes per
/// block. The grid of an entry that is `.blocksareclusters` is in clusters (PTX ISA 11.8.1).
struct LaunchConfig {
    Dim3 grid = {};
    Dim3 block = {};
    std::uint32_t shared_bytes = 0;  ///< dynamic
    /// Of one block: no cluster, or the one that the entry's `.reqnctapercluster` says.
    Dim3 cluster = {};
    /// All blocks run at the same time, as grid-wide barriers need.
    bool cooperative = false;
    /// Programmatic dependent launch: the kernel may begin before the one in front of it in the stream has
    /// ended, and waits for it where it says griddepcontrol.wait. It changes the time alone; the emulator
    /// runs one after the other.
    bool programmatic = false;
    /// Instead of the stream's: lower numbers come first (Device::stream_priorities). A hint, of a GPU alone.
    std::optional<std::int32_t> priority = {};
    /// What ends the launch before the kernel ends. A GPU's kernels cannot be ended: there a budget or a time
    /// limit is Errc::limit_not_possible, and `stop` and `should_stop` are asked once, before the kernel is
    /// queued.
    LaunchLimits limits = {};
};

}  // namespace ptxgraft
