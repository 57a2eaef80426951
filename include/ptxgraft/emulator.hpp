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
/// Tensor cores (mma, wmma, wgmma): PTX leaves order and precision of the sums of floating-point products to the
/// hardware. Here products are exact and every element is `acc = fma(a, b, acc)` in .f32, rounded to nearest
/// even, for k ascending from the accumulator on; one of type .f16 is rounded once, at the end. Subnormal
/// numbers count, NaN is 0x7FFFFFFF (0x7FFF), and what B has against the zeros of a sparse A does not count.
/// .f64 is fma for k ascending too; integers are exact, at the end wrapped or clamped. The layout of a wmma
/// fragment is that of mma, tile by tile. wgmma computes where it stands, from what shared memory then
/// holds: what the warps of its warpgroup wrote before the wgmma.fence is in it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/error.hpp"

namespace ptxgraft {

/// The shape of a launch. Units: grid in blocks (CTAs), block in threads, shared memory in bytes.
struct Dim3 {
    std::uint32_t x = 1, y = 1, z = 1;
};

/// A decoded module. Shared and immutable but for its `.global` variables, which live in the emulator that
/// loaded it.
class EmulatedModule;

class EmulatorObserver;  // emulator_observer.hpp

struct EmulatorOptions {
    std::uint64_t instruction_budget =
        0;  ///< warp instructions of one launch; 0: no limit. Beyond it: Errc::instruction_budget_spent
    std::uint32_t threads = 0;  ///< host threads; 0: one per core. Results do not depend on it
    std::uint64_t memory_bytes = std::uint64_t{16} << 30;  ///< of all allocations
    std::uint32_t sm = 90;  ///< architecture to be: limits and special registers
    bool fast = false;  ///< checks only what keeps the host safe: bounds, alignment, barriers; not what nothing wrote, nor races
    /// Host memory for the shadow memory that races are looked for in, of one block or cluster at a time on each host thread: a quarter
    /// to five times of what the block accesses. What was accessed first is forgotten first where it does not suffice, and races with
    /// that are not found. The blocks of a cooperative launch share it.
    std::uint64_t shadow_bytes = std::uint64_t{1} << 30;
    bool equal_stores = false;  ///< two stores of equal bytes that nothing orders are a race too
    /// A bulk copy out of shared memory is an error when its thread has not waited for it and the block ends. Public kernels end behind
    /// their last store, which reads shared memory that is there for long enough.
    bool unwaited_stores = false;
    EmulatorObserver* observer = nullptr;  ///< is told of every instruction; lives longer than the emulator
};

struct EmulatorLaunch {
    Dim3 grid = {};
    Dim3 block = {};
    std::uint32_t shared_bytes = 0;  ///< dynamic
    Dim3 cluster = {};               ///< in blocks; of one block: none, or the one that the entry requires
    bool cooperative = false;        ///< all blocks run at the same time, as grid-wide barriers need
};

struct EmulatorStats {
    std::uint64_t warp_instructions = 0;
    std::uint64_t thread_instructions = 0;
};

/// A CUDA device made of the CPU: memory, modules, launches. Launches are synchronous. One thread at a time.
///
/// Unless it is `fast`, a launch also fails with
/// - Errc::register_not_written, Errc::memory_not_written: a value that nothing wrote, byte by byte, decides where
///   execution or an access goes, or is written to global memory. The error's span is that of the instruction that read
///   it from where nothing was written: moving undefined bytes about, as copies of structures with holes do, is no mistake, nor is
///   a branch over operations on registers: what it may skip is undefined.
///   Of a product of matrices an element is undefined where one of its row of A, its column of B or its own of C is: a tile that
///   is written in part may be multiplied, and those results used that come of what was written. What went through memory is
///   read there anew; the error then says on which line it was stored, and since which line it was undefined.
/// - Errc::data_race: two threads of a block access a byte of shared or global memory, one of them writes, one of the
///   accesses is neither atomic nor volatile nor relaxed, acquire or release (or has a scope without the other's thread), and nothing
///   orders them: no barrier of the block or of the warp, no mbarrier, no release and acquire pattern (PTX ISA 8.8) whose scopes include
///   both threads; what a pattern releases is known to who reads it or what read-modify-writes made of it, until another write comes. The
///   error names both accesses, their threads, and what they store. An mbarrier object is accessed by who initialises it and by who uses
///   it, and one has to come behind the other. Stores of equal bytes are let go. What cp.async, bulk copies and wgmma access is ordered before what
///   comes after a wait for it alone: a wait_group that covers its group, or the phase of its mbarrier; others are to be told of
///   that by a barrier. Shared memory that threads wrote is read by bulk stores and wgmma behind a fence.proxy.async; what other
///   warps of the warpgroup wrote, by wgmma behind a wgmma.fence of them all.
/// - Errc::register_in_flight: an accumulator of a wgmma is accessed, or its fragment of A is written, before a
///   wgmma.wait_group that covers its group, by anything but a wgmma on an accumulator of the same shape.
/// - Errc::register_not_fenced: no wgmma.fence comes before the first wgmma, or between other accesses of its registers and it.
/// - Errc::divergent_barrier: the lanes of a warp wait at different aligned barriers.
/// - Errc::warp_mask_mismatch: a member mask names lanes that have exited.
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
    /// As it was when it was allocated: a program that reads it before it writes it makes a mistake.
    [[nodiscard]] Expected<void> forget(std::uint64_t address, std::size_t bytes);
    /// Address and size of a module's `.global` or `.const` variable.
    struct Symbol {
        std::uint64_t address, bytes;
    };
    [[nodiscard]] Expected<Symbol> symbol(const EmulatedModule& module, std::string_view name) const;

    /// Runs an entry to its end. `arguments` holds one byte string per parameter, of the parameter's size.
    /// Errors have spans in the module's PTX and name block and thread.
    [[nodiscard]] Expected<EmulatorStats> launch(const EmulatedModule& module, std::string_view entry,
                                                 const EmulatorLaunch& launch,
                                                 std::span<const std::span<const std::byte>> arguments);
    /// Everything that the program printed (`vprintf`) since the last call.
    [[nodiscard]] std::string take_output();

    [[nodiscard]] const EmulatorOptions& options() const;

  private:
    struct Data;
    std::unique_ptr<Data> data_;
};

/// The PTX that a module was loaded from: what the spans of launch errors refer to.
[[nodiscard]] PTXGRAFT_API std::string_view ptx(const EmulatedModule& module);

}  // namespace ptxgraft
