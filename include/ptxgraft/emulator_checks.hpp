#pragma once
/// @file emulator_checks.hpp
/// What the emulator checks beyond what no GPU could go on from, check by check; which places are excused;
/// and what a launch that keeps going found.
///
/// @code
/// Emulator emulator({.checks = EmulatorChecks::all().without(EmulatorCheck::races), .keep_going = 20,
///                    .excuses = {{.check = EmulatorCheck::unwritten, .file = "scan.cu", .line = 41}}});
/// … auto run = emulator.launch(…);
/// for (const EmulatorFinding& finding : emulator.take_report().findings)
///     std::cerr << describe(finding.error, text, "kernel.ptx");
/// @endcode

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/error.hpp"

namespace ptxgraft {

/// One of the checks that can be switched. What is not among them is always on, and ends a launch: accesses
/// out of bounds or misaligned, writes to what is read-only, traps, deadlocks, calls and branches to nowhere,
/// counts that a barrier cannot have, instructions that are not possible.
enum class EmulatorCheck : std::uint8_t {
    /// Errc::data_race: two threads of a block or a cluster access a byte of shared or global memory, one of
    /// them writes, one of the accesses is neither atomic nor volatile nor relaxed, acquire or release (or
    /// has a scope without the other's thread), and nothing orders them: no barrier of the block or of the
    /// warp, no mbarrier, no release and acquire pattern (PTX ISA 8.8) whose scopes include both threads.
    /// What a pattern releases is known to who reads it, or what read-modify-writes made of it, until
    /// another write comes. An mbarrier object is accessed by who initialises it and by who uses it, and one
    /// has to come behind the other. The error names both accesses, their threads, and what they store.
    /// Stores of equal bytes are let go, and weak reads beside an atom.cas: loops around one begin with such
    /// a read, and find out when it was of something old.
    races,
    /// Errc::register_not_written, Errc::memory_not_written: a value that nothing wrote, bit by bit, decides
    /// where execution or an access goes, or is written to global memory. The error's span is that of the
    /// instruction that read it from where nothing was written: moving undefined bytes about, as copies of
    /// structures with holes do, is no mistake. A branch over operations on registers, or the guard of one,
    /// is none either, whatever branches there are among them, if all lead forward to one place: as a select,
    /// it makes undefined what may be written on the way there. Of a product of matrices an element is
    /// undefined where one of its row of A, its column of B or its own of C is: a tile that is written in
    /// part may be multiplied, and those results used that come of what was written. What went through memory
    /// is read there anew; the error then says on which line it was stored, and since which line it was
    /// undefined.
    unwritten,
    /// Copies and products that nobody has waited for. Errc::data_race: what cp.async, bulk copies and wgmma
    /// access is ordered before what comes after a wait for it alone: a wait_group that covers its group, or
    /// the phase of its mbarrier; others are to be told of that by a barrier. Shared or global memory that
    /// threads wrote is read or written by bulk copies, and read by wgmma, behind a fence.proxy.async for
    /// that state space (PTX ISA 9.7.13.4); what other warps of the warpgroup wrote, by wgmma behind a
    /// wgmma.fence of them all.
    /// Errc::barrier_invalid: another instruction accesses an mbarrier object that no mbarrier.inval has
    /// ended (PTX ISA 9.7.13.15).
    /// Errc::register_in_flight: an accumulator of a wgmma is accessed, or its fragment of A is written,
    /// before a wgmma.wait_group that covers its group, by anything but a wgmma on an accumulator of the same
    /// shape. A `mov` may copy an accumulator before the wait, as compilers do; the copy is as good as the
    /// accumulator: not before the wait, and no longer when another wgmma has gone on with the accumulator by
    /// then.
    /// Errc::register_not_fenced: no wgmma.fence comes before the first wgmma, or between other accesses of
    /// its registers and it.
    async,
    /// Errc::barrier_divergent: the lanes of a warp wait at different aligned barriers, or name different
    /// ones. Errc::barrier_invalid: warps come to one barrier with different numbers of threads, or some for
    /// its reduction and others not; an mbarrier is made where one is; a parity is neither 0 nor 1.
    /// Errc::warp_not_whole: the warps of a warpgroup execute different numbers of wgmma, or different
    /// setmaxnreg.
    barriers,
    /// Errc::call_mismatch: the parameters or results of a call, by its `.callprototype` or by what it
    /// passes, are not those of the function that is called: another number, size or alignment, or arrays for
    /// scalars; or its `.calltargets` does not name that function.
    calls,
    /// Errc::address_out_of_bounds: memory of the device's heap is accessed that `malloc` did not give, or
    /// that `free` took back.
    heap,
    /// Not among all(), as public kernels do it. Errc::data_race: two stores of equal bytes, as to a flag,
    /// that are a race in all else.
    equal_stores,
    /// Not among all(), as public kernels do it. Errc::data_race: the block ends, and a thread has not waited
    /// for its bulk copy out of shared memory. Together with `async` only.
    unwaited_stores,
};
inline constexpr std::size_t emulator_check_count = 8;

/// "races"
[[nodiscard]] PTXGRAFT_API std::string_view name(EmulatorCheck check);

/// A set of checks.
class EmulatorChecks {
  public:
    constexpr EmulatorChecks() = default;
    constexpr EmulatorChecks(std::initializer_list<EmulatorCheck> checks) {
        for (const EmulatorCheck check : checks) bits_ |= bit(check);
    }
    /// Those that find mistakes alone: up to `heap`.
    [[nodiscard]] static constexpr EmulatorChecks all() {
        return EmulatorChecks(bit(EmulatorCheck::equal_stores) - 1);
    }
    [[nodiscard]] static constexpr EmulatorChecks none() { return {}; }

    [[nodiscard]] constexpr bool has(EmulatorCheck check) const { return (bits_ & bit(check)) != 0; }
    [[nodiscard]] constexpr bool any() const { return bits_ != 0; }
    [[nodiscard]] constexpr EmulatorChecks with(EmulatorCheck check) const {
        return EmulatorChecks(bits_ | bit(check));
    }
    [[nodiscard]] constexpr EmulatorChecks without(EmulatorCheck check) const {
        return EmulatorChecks(bits_ & ~bit(check));
    }
    friend constexpr bool operator==(EmulatorChecks, EmulatorChecks) = default;

  private:
    explicit constexpr EmulatorChecks(std::uint32_t bits) : bits_(bits) {}
    static constexpr std::uint32_t bit(EmulatorCheck check) { return 1u << static_cast<unsigned>(check); }
    std::uint32_t bits_ = 0;
};

/// Reads a list of names: `races,unwritten`, `all`, `none`; a name behind a minus is taken away:
/// `all,-races`. A list that begins with a minus or a plus begins with all: `-races,-heap`,
/// `+equal_stores`. Errors:
/// Errc::check_unknown, with the names that there are.
[[nodiscard]] PTXGRAFT_API Expected<EmulatorChecks> parse_checks(std::string_view text);
/// The names of a set in a row, in the order of EmulatorCheck: "races unwritten"; of none "none".
[[nodiscard]] PTXGRAFT_API std::string names(EmulatorChecks checks);

/// A line whose findings of one check are none: they are not reported, and the launch goes on from them as
/// one does that keeps going.
struct EmulatorExcuse {
    EmulatorCheck check = EmulatorCheck::races;
    /// Empty: `line` is one of the PTX. Else a source file as the PTX names it (`.file`), or the end of its
    /// path: the line is one that `.loc` gives, also one that code was inlined into.
    std::string file = {};
    std::uint32_t line = 0;  ///< from 1
};

/// Reads `races@120` or `unwritten@src/scan.cu:41`. Errors: Errc::check_unknown, Errc::excuse_malformed.
[[nodiscard]] PTXGRAFT_API Expected<EmulatorExcuse> parse_excuse(std::string_view text);
/// As parse_excuse reads it.
[[nodiscard]] PTXGRAFT_API std::string to_text(const EmulatorExcuse& excuse);

/// What a check found at an instruction; at two, where it takes two to make a mistake.
struct EmulatorFinding {
    std::optional<EmulatorCheck> check = {};  ///< none: what ended the launch was no check's finding
    Error error = {};                         ///< its first occurrence: place, block and thread
    std::uint64_t threads = 0, blocks = 0;    ///< in how many threads of how many blocks it happened
};

/// What launches did and found.
struct PTXGRAFT_API EmulatorReport {
    /// What later ones did besides; of what they found it lists so much that there are `most` findings in
    /// all, and one more that ended a launch.
    void add(EmulatorReport later, std::size_t most);

    std::uint64_t warp_instructions = 0, thread_instructions = 0;
    EmulatorChecks checks = {};      ///< that were on, the last time
    std::uint64_t all_findings = 0;  ///< of checks, those that are not listed too
    /// The first ones, at most EmulatorOptions::keep_going, in the order of the blocks in which they happened
    /// first; behind them, without a check, what ended a launch.
    std::vector<EmulatorFinding> findings = {};
    /// for each excuse of the options, the findings that it excused
    std::vector<std::uint64_t> excused = {};
};

}  // namespace ptxgraft
