#pragma once
/// @file emulator_observer.hpp
/// What an emulated launch tells of itself while it runs: every instruction with its values, and two
/// listeners that are ready for use: a trace in text and a profile of PTX lines.
///
/// @code
/// EmulatorProfile profile; Emulator emulator({.observer = &profile}); … emulator.launch(…); for (const
/// ProfileLine& line : profile.lines()) std::cout << line.line << ' ' << line.bank_conflicts() << '\n';
/// @endcode
///
/// A launch that is observed runs on the launching thread alone, whatever EmulatorOptions::threads says, the
/// blocks in an order that is the same in every run. One without an observer pays nothing.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/emulator.hpp"

namespace ptxgraft {

/// One access to memory by the lanes of a warp.
struct ObservedAccess {
    enum class Kind : std::uint8_t { load, store, atomic };
    enum class Space : std::uint8_t { global, constant, shared, local, parameter };
    Kind kind = Kind::load;
    Space space = Space::global;  ///< where the first of the lanes accesses, for generic addresses
    std::uint32_t bytes = 0;      ///< of each lane
    /// A mask. Where a few threads access much, lanes stand for the pieces: of ldmatrix, stmatrix and wgmma
    /// rows of 16 bytes, of tensor copies rows of the box in global memory; an instruction of more than 32
    /// pieces has several accesses. Of wgmma each warp has its rows of A, the first one of a warpgroup those
    /// of B.
    std::uint32_t lanes = 0;
    std::array<std::uint64_t, 32> addresses = {};  ///< as the program computed them
};

/// A register that an instruction wrote or read.
struct ObservedRegister {
    std::string_view name;    ///< `%r3`
    std::uint32_t bytes = 0;  ///< 1, a predicate or 8 bits, to 16; of one that is read in part: of the part
    /// of 32 lanes, one after the other; those of lanes that are not active are old
    const std::byte* values = nullptr;
};

/// One instruction that a warp executed, or failed to: then it has written nothing. Everything lives as long
/// as the call.
struct ObservedStep {
    std::string_view ptx;      ///< of the module
    Span span;                 ///< of the instruction in it
    Dim3 block;                ///< the place of the warp's block in the grid
    std::uint32_t warp = 0;    ///< in the block
    std::uint32_t lanes = 0;   ///< a mask: that were active and whose guard held; 0: the guard held for none
    std::uint32_t active = 0;  ///< whatever the guard said
    std::optional<ObservedRegister> guard = {};  ///< the predicate in front of it, before it ran
    /// Of registers that it read, as they were before: predicates, and what it stored or gave to an atomic,
    /// element by element.
    std::span<const ObservedRegister> read = {};
    /// further registers of an instruction that a step told of before: the one before, or one that has waited
    bool is_rest = false;
    std::span<const ObservedRegister> written;
    std::span<const ObservedAccess> accesses;
};

/// It is told of one instruction at a time, on the thread that launches; of several emulators that have the
/// same one, launches must not overlap. It may not launch or copy on what it observes (a Device says
/// Errc::device_in_use).
///
/// What `step` throws ends the launch, comes out of the call that launched, and leaves the device as a failed
/// launch does: what the kernel wrote and printed by then is there, no lock is kept, and the next launch is
/// one as any other. (std::bad_alloc becomes Errc::out_of_memory, as everywhere.) To end a launch without
/// exceptions, or one that is not observed, see LaunchLimits.
class PTXGRAFT_API EmulatorObserver {
  public:
    virtual ~EmulatorObserver();
    virtual void step(const ObservedStep& step) = 0;
};

/// Writes executed instructions as text, a line each: place, block, warp, active lanes, the instruction, then
/// `%p1: …` for its guard, other predicates that it read and what it stored or gave to an atomic, `%r1 = …`
/// for what it wrote, and the addresses that it accessed: values in hexadecimal, lane by lane, one where all
/// active lanes have the same, `-` for lanes that took no part.
class PTXGRAFT_API EmulatorTrace : public EmulatorObserver {
  public:
    struct Filter {
        std::optional<Dim3> block = {};          ///< only this one
        std::optional<std::uint32_t> warp = {};  ///< only this one of each block
    };
    EmulatorTrace(Filter filter, std::function<void(std::string_view line)> write);
    ~EmulatorTrace() override;
    EmulatorTrace(const EmulatorTrace&) = delete;
    EmulatorTrace& operator=(const EmulatorTrace&) = delete;
    void step(const ObservedStep& step) override;

  private:
    struct Data;
    std::unique_ptr<Data> data_;
};

/// What the instructions of one PTX line did in all.
struct ProfileLine {
    std::uint32_t line = 0;
    std::string_view text;    ///< the first instruction there
    std::uint64_t warps = 0;  ///< instructions that warps executed
    std::uint64_t lanes = 0;  ///< lanes that were active in them
    /// Of accesses to shared memory, which has 32 banks of 4 bytes: a wavefront gives each bank one word. An
    /// access of 8 bytes a lane goes in two halves of the warp, one of 16 in four quarters; the lanes of an
    /// atomic at one word take turns; what is copied in bulk goes line by line of 128 bytes. `ideal`: without
    /// conflicts.
    std::uint64_t wavefronts = 0, ideal_wavefronts = 0;
    /// Of accesses to global memory: sectors of 32 bytes touched, and how few could hold as many different
    /// bytes.
    std::uint64_t sectors = 0, ideal_sectors = 0;
    std::uint64_t shared_bytes = 0, global_bytes = 0;  ///< that these accesses read or wrote

    [[nodiscard]] double average_lanes() const {
        return warps == 0 ? 0 : static_cast<double>(lanes) / static_cast<double>(warps);
    }
    [[nodiscard]] std::uint64_t bank_conflicts() const { return wavefronts - ideal_wavefronts; }
};

/// Executed instructions of one class: "integer", "single precision", "global load", "tensor core", "bulk
/// copy" …
struct ProfileClass {
    std::string_view name;
    std::uint64_t warps = 0, lanes = 0;
    std::uint64_t shared_bytes = 0, global_bytes = 0;
};

/// Counts what a kernel author looks for before there is a GPU. Launches of one module add up; another module
/// begins anew. Threads: it is read while no launch that it observes runs.
class PTXGRAFT_API EmulatorProfile : public EmulatorObserver {
  public:
    EmulatorProfile();
    ~EmulatorProfile() override;
    EmulatorProfile(const EmulatorProfile&) = delete;
    EmulatorProfile& operator=(const EmulatorProfile&) = delete;
    void step(const ObservedStep& step) override;
    /// By line. Texts live as long as the profile, until it sees another module.
    [[nodiscard]] std::vector<ProfileLine> lines() const;
    /// By name; only those that occurred.
    [[nodiscard]] std::vector<ProfileClass> classes() const;

  private:
    struct Data;
    std::unique_ptr<Data> data_;
};

/// Wavefronts of one access to shared memory and those without conflicts; sectors of one to global memory and
/// the fewest possible.
struct AccessCost {
    std::uint64_t actual = 0, ideal = 0;
};
[[nodiscard]] PTXGRAFT_API AccessCost shared_wavefronts(const ObservedAccess& access);
[[nodiscard]] PTXGRAFT_API AccessCost global_sectors(const ObservedAccess& access);

}  // namespace ptxgraft
