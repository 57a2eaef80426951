#pragma once
/// @file emulator.hpp
/// Runs PTX on the CPU. What it runs, it runs exactly; an instruction that it lacks is an error that names
/// the instruction and its line, never a wrong result.
///
/// @code
/// Emulator emulator;
/// auto module = emulator.load(ptx);
/// auto a = emulator.allocate(4096);
/// …
/// auto run = emulator.launch(*module, "kernel", {.grid = {8, 1, 1}, .block = {128, 1, 1}}, arguments);
/// @endcode
///
/// Tensor cores (mma, wmma, wgmma): PTX leaves order and precision of the sums of floating-point products to
/// the hardware. Here products are exact and every element is `acc = fma(a, b, acc)` in .f32, rounded to
/// nearest even, for k ascending from the accumulator on; one of type .f16 is rounded once, at the end.
/// Subnormal numbers count, NaN is 0x7FFFFFFF (0x7FFF), and what B has against the zeros of a sparse A does
/// not count. .f64 is fma for k ascending too; integers are exact, at the end wrapped or clamped. The layout
/// of a wmma fragment is that of mma, tile by tile. wgmma computes where it stands, from what shared memory
/// then holds: what the warps of its warpgroup wrote before the wgmma.fence is in it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/emulator_checks.hpp"
#include "ptxgraft/error.hpp"
#include "ptxgraft/launch.hpp"

namespace ptxgraft {

/// A decoded module. Shared and immutable but for its `.global` variables, which live in the emulator that
/// loaded it. Threads: its last handle may go on any thread, also while the emulator runs a launch of another
/// one.
class EmulatedModule;

class EmulatorObserver;  // emulator_observer.hpp
namespace emulator {
class Loader;  // internal
}

struct EmulatorOptions {
    /// Of each launch that has none of its own (LaunchLimits); 0: no limit, but of a Device that of
    /// launch.hpp's usual_instruction_budget and usual_time_limit_ms, where both are 0;
    /// no_instruction_budget: none there either.
    std::uint64_t instruction_budget = 0;
    std::uint32_t time_limit_ms = 0;  ///< the same, in milliseconds; no_time_limit
    std::uint32_t threads = 0;        ///< host threads; 0: one per core. Results do not depend on it
    std::uint64_t memory_bytes = std::uint64_t{16} << 30;  ///< of all allocations
    /// The architecture to be, whose limits and special registers hold: one from sm_75 on. Errors of another
    /// one: Errc::device_unknown of Device::open, Errc::argument_invalid of Emulator::load.
    std::uint32_t sm = 90;
    bool fast = false;  ///< short for no `checks`: what is left keeps the host safe, and is what no GPU could
                        ///< go on from
    /// Global memory is the memory of this process, at its own addresses: kernels work on what the host has,
    /// whoever allocated it. A launch sees what was mapped when it began, and may write what the host may;
    /// nothing unmaps it meanwhile. Where one object in it ends and what of it was written is not known:
    /// only races, accesses to what is not mapped, and stores of what nothing wrote are found there. All
    /// other memory is checked as ever.
    bool process_memory = false;
    /// Host memory for the shadow memory that races are looked for in, of one block or cluster at a time on
    /// each host thread: a quarter to five times of what the block accesses. What was accessed first is
    /// forgotten first where it does not suffice, and races with that are not found. The blocks of a
    /// cooperative launch share it.
    std::uint64_t shadow_bytes = std::uint64_t{1} << 30;
    EmulatorObserver* observer = nullptr;  ///< is told of every instruction; lives longer than the emulator
    EmulatorChecks checks = EmulatorChecks::all();  ///< what launches are checked for (emulator_checks.hpp);
                                                    ///< one that is off costs nothing
    /// How many findings of the checks take_report() lists; 0: a launch ends at its first, with it as its
    /// error. A launch that keeps going goes on from a finding as a GPU would: a value that nothing wrote
    /// keeps the bits that it has, and counts as written from then on; both accesses of a race happen;
    /// registers of a wgmma count as waited for. What no GPU could go on from ends it all the same. A mistake
    /// that happens again at the same instruction, or the same two, is one finding. What a launch finds, and
    /// in which order, does not depend on `threads`.
    std::uint32_t keep_going = 0;
    std::vector<EmulatorExcuse> excuses = {};  ///< places that are not to be reported
};

struct EmulatorStats {
    std::uint64_t warp_instructions = 0;
    std::uint64_t thread_instructions = 0;
    std::uint64_t findings = 0;  ///< of a launch that kept going: mistakes at different instructions
};

/// A CUDA device made of the CPU: memory, modules, launches. Launches are synchronous.
///
/// Threads: launches, copies (`write`, `read`, `fill`, `copy`, `forget`) and moves of the emulator itself
/// come one at a time; everything else may come from any thread at any time, also while a launch runs. A
/// Device (device.hpp) does the waiting. A launch runs the grid's blocks on some threads of its own: blocks
/// that access the same memory without an order race in emulated memory alone, as on a GPU, where every read
/// gives what somebody wrote.
///
/// What runs out of the host's memory is Errc::out_of_memory (Errc::out_of_device_memory where an allocation
/// is too large for it, or a kernel wants more than there is to be): no call but for the constructor throws,
/// but for what an observer or LaunchLimits::should_stop throws. Bounds: of one launch 16 MiB of printed text
/// are kept, in the order of the blocks, and a line says so where more was printed; until somebody takes it,
/// 64 MiB. The device's heap has 8 MiB. Blocks that run together have 2 GiB of the host for registers, local
/// and shared memory when they begin, and 4 GiB with what calls and alloca take.
///
/// A launch also fails with what its checks find: emulator_checks.hpp says what that is.
class PTXGRAFT_API Emulator {
  public:
    explicit Emulator(const EmulatorOptions& options = {});
    ~Emulator();
    Emulator(Emulator&&) noexcept;
    Emulator& operator=(Emulator&&) noexcept;

    /// Parses and decodes a module. Instructions that the emulator lacks are an error only when they are
    /// executed (Errc::instruction_not_emulated, with the instruction's span in `ptx`).
    [[nodiscard]] Expected<std::shared_ptr<const EmulatedModule>> load(std::string_view ptx);

    /// Global memory. Addresses are as a device's: 256-byte aligned, with guard space between allocations; an
    /// access outside of every allocation is Errc::address_out_of_bounds with the instruction's span and the
    /// thread in its detail.
    [[nodiscard]] Expected<std::uint64_t> allocate(std::size_t bytes);
    [[nodiscard]] Expected<void> free(std::uint64_t address);
    [[nodiscard]] Expected<void> write(std::uint64_t address, std::span<const std::byte> bytes);
    [[nodiscard]] Expected<void> read(std::uint64_t address, std::span<std::byte> bytes) const;
    [[nodiscard]] Expected<void> fill(std::uint64_t address, std::byte value, std::size_t bytes);
    /// The ranges may overlap. What nobody wrote in the source is unwritten in the target too.
    [[nodiscard]] Expected<void> copy(std::uint64_t target, std::uint64_t source, std::size_t bytes);
    /// As it was when it was allocated: a program that reads it before it writes it makes a mistake.
    [[nodiscard]] Expected<void> forget(std::uint64_t address, std::size_t bytes);
    /// Address and size of a module's `.global` or `.const` variable.
    struct Symbol {
        std::uint64_t address, bytes;
    };
    [[nodiscard]] Expected<Symbol> symbol(const EmulatedModule& module, std::string_view name) const;

    /// Runs an entry to its end. `arguments` holds one byte string per parameter, of the parameter's size.
    /// Errors have spans in the module's PTX and name block and thread. A launch that keeps going
    /// (EmulatorOptions::keep_going) succeeds with the findings of its checks counted; where something else
    /// ended it, that is its error, and comes last in the report.
    [[nodiscard]] Expected<EmulatorStats> launch(const EmulatedModule& module, std::string_view entry,
                                                 const LaunchConfig& launch,
                                                 std::span<const std::span<const std::byte>> arguments);
    /// Everything that the program printed (`vprintf`) since the last call.
    [[nodiscard]] std::string take_output();
    /// What the launches since the last call did, and what they found where they kept going.
    [[nodiscard]] EmulatorReport take_report();

    [[nodiscard]] const EmulatorOptions& options() const;

  private:
    friend class emulator::Loader;
    struct Data;
    std::unique_ptr<Data> data_;
};

/// The PTX that a module was loaded from: what the spans of launch errors refer to.
[[nodiscard]] PTXGRAFT_API std::string_view ptx(const EmulatedModule& module);

}  // namespace ptxgraft
