#pragma once
/// @file race_checks.hpp
/// Race detection for the accesses of a warp: notes them in the shadow memory, moves the vector clocks of
/// the happens-before order where the warp synchronises, and reports two accesses that are not ordered.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "emulator/checks/checker.hpp"
#include "emulator/machine/program.hpp"
#include "emulator/memory/lanes.hpp"
#include "emulator/races/race.hpp"

namespace ptxgraft::emulator {

class Warp;

/// What the lanes of an instruction are about to store.
class StoredValues {
  public:
    virtual ~StoredValues() = default;
    /// The bytes of a lane, in a row, for as long as no other lane is asked for.
    [[nodiscard]] virtual const std::byte* of(unsigned lane) const = 0;
};

/// By a function of the lane.
template <class F> class ValuesBy : public StoredValues {
  public:
    explicit ValuesBy(F of) : of_(std::move(of)) {}
    [[nodiscard]] const std::byte* of(unsigned lane) const override { return of_(lane); }

  private:
    F of_;
};

/// How the lanes of an instruction access memory.
struct AccessNote {
    AccessKind kind = AccessKind::read;
    Reach reach = Reach::cluster;
    const StoredValues* values = nullptr;  ///< what is written, where equal stores are no race
    std::optional<Epoch> by = {};          ///< as LaneAccesses::by
    bool is_of_mbarrier = false;           ///< an mbarrier instruction's, of the object
};

/// The access in which races were found.
struct RacingAccess {
    const Located& at;
    std::uint32_t bytes = 0;
    AccessKind kind = AccessKind::read;
    const StoredValues* values = nullptr;
    std::uint32_t mask = 0;  ///< the lanes that store `values` by this instruction, not yet in memory
    std::optional<unsigned> lane = {};  ///< that accesses, where it is not the lane of the race
    std::optional<Epoch> by = {};       ///< as LaneAccesses::by
};

class RaceChecks {
  public:
    explicit RaceChecks(Warp& warp) : warp_(warp) {}
    void begin();
    /// The happens-before order of accesses is kept.
    [[nodiscard]] bool is_on() const { return is_on_; }

    /// Notes accesses of `bytes` bytes for each lane; false for a race.
    [[nodiscard]] bool note_accesses(std::uint32_t mask, const Located& at, std::uint32_t bytes,
                                     const AccessNote& note);
    /// As note_accesses, of one lane at an address.
    [[nodiscard]] bool note_access(Space space, std::uint64_t address, unsigned lane, std::uint32_t bytes,
                                   const AccessNote& note);
    /// What strong accesses, and fences, order.
    void synchronise_reads(const Access& access, std::uint32_t mask, const Located& at);
    enum class Updates : std::uint8_t { no, yes };
    void synchronise_writes(const Access& access, std::uint32_t mask, const Located& at, Updates updates);
    void fence(const Fence& fence, std::uint32_t mask);
    /// A read-modify-write of a lane on a lock that only the emulator sees.
    void hold(std::uint64_t lock, unsigned lane, Semantics semantics);
    /// Members of a collective see each other; only bar.warp.sync orders what they wrote.
    enum class Collects : std::uint8_t { values, memory };
    void order_members(Collects what, std::uint32_t mask);
    /// All lanes are at one instruction of the tensor cores, which is none before all have come.
    void meet();
    /// The last lane has exited.
    void end();
    /// Where the CTA has ended: its shared memory is gone, and what other CTAs of its cluster accessed there
    /// has to happen before that. False: the launch ends.
    [[nodiscard]] bool check_end_of_cta();

    // --- for the other checks

    /// As RaceShadow::note, of bytes that a lane stores in a row: whether a race was found.
    [[nodiscard]] bool note_stores(RaceShadow& shadow, const Located& at, unsigned lane, std::uint64_t bytes,
                                   AccessKind kind, const Accessor& by, const StoredValues* values);
    /// False: the launch ends.
    [[nodiscard]] bool report_races(EmulatorCheck of, std::span<const Race> races,
                                    const RacingAccess& access);
    /// A write that the async proxy may not see: no proxy fence for its state space comes behind it.
    [[nodiscard]] bool report_unfenced(const Race& write, FencedSpace space, unsigned lane,
                                       std::string_view what);
    [[nodiscard]] StrongOperation strong_operation(const Access& access, std::uint32_t mask,
                                                   bool is_update) const;
    /// What the other access of a race stored, if it is a store.
    [[nodiscard]] const std::byte* stored_by_other(const Race& race, const RacingAccess& access) const;
    [[nodiscard]] std::string thread_of(unsigned warp, unsigned lane) const;

  private:
    [[nodiscard]] std::optional<Race> access_behind_end() const;
    [[nodiscard]] bool is_guess(const Race& race, AccessKind kind) const;
    // The text of a report (race_report.cpp).
    [[nodiscard]] std::string describe_race(const Race& race, unsigned lane,
                                            const RacingAccess& access) const;
    [[nodiscard]] std::string describe_place(const Located& at, std::uint64_t address) const;
    [[nodiscard]] std::string describe_other(const Race& race, unsigned lane) const;
    [[nodiscard]] std::string describe_instruction(std::uint32_t pc) const;

    Warp& warp_;
    bool is_on_ = false;
    unsigned number_ = 0;  // the warp's
};

}  // namespace ptxgraft::emulator
