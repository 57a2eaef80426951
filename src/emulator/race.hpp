#pragma once
/// @file race.hpp
/// Races among the threads of a cluster, on shared and on global memory: two accesses of one byte by different threads, of which one
/// at least writes, that are neither ordered by happens-before nor both strong (PTX ISA 8.7.1). The detector keeps epochs and vector
/// clocks in shadow memory, as FastTrack does (Flanagan & Freund 2009), but one epoch for what a warp accesses of a line at once.
///
/// Two exceptions: a weak read beside an atomic operation is no race, since loops around atom.cas begin with one and find out when it
/// read something old; and what a filter lets go.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "emulator/accesses.hpp"
#include "emulator/race_patterns.hpp"
#include "emulator/shadow.hpp"

namespace ptxgraft::emulator {

class RaceShadow {
  public:
    /// `warps_of_cta`: of the order's agents the first ones are the warps, CTA by CTA.
    RaceShadow(Order& order, ShapeTable& shapes, PatternTable& patterns, ShadowMemory& memory, unsigned warps_of_cta)
        : order_(&order), shapes_(&shapes), patterns_(&patterns), warps_of_cta_(warps_of_cta), memory_(memory) {}
    /// Forgets everything. From now on at most so many bytes of host memory are used: what was accessed first is forgotten first.
    /// `fenced`: what unknown_write() will be asked about, for as long as it is; null: nothing.
    void begin(std::size_t limit, const Clock* fenced = nullptr);
    /// Everything that was noted is known to everybody.
    void forget() { memory_.begin(limit_); }
    /// Notes the accesses of the lanes of `mask`. The race that the first lane is part of, of those that the filter does not let go.
    [[nodiscard]] std::optional<Race> note(const LaneAccesses& accesses, std::uint32_t mask, const RaceFilter* filter = nullptr);
    /// Of bytes in a row, by something that works asynchronously.
    [[nodiscard]] std::optional<Race> note(std::uint64_t begin, std::uint64_t end, AccessKind kind, const Accessor& by,
                                           std::uint32_t pc, const RaceFilter* filter = nullptr);
    /// A write to the bytes that a clock does not cover, if there is one; those of the agent `except` do not count.
    [[nodiscard]] std::optional<Race> unknown_write(std::uint64_t begin, std::uint64_t end, const Clock& known, unsigned except);
    /// Something was forgotten for want of memory.
    [[nodiscard]] bool has_forgotten() const { return memory_.has_forgotten(); }

  private:
    /// Whoever accesses, and what its kind of access has to do with others.
    struct Observer {
        const Clock* common;  // what all lanes of the agent know
        unsigned agent;
        unsigned lane;                           // any_lane: those that access
        std::uint32_t sees_written, sees_other;  // masks: which words of a line may be part of a race
        std::uint32_t is_written, is_other;      // and what becomes of its own
        unsigned conflicts;                      // kinds, by bit
        std::uint32_t generation;                // of the shadow memory
        bool is_narrow;
    };
    static constexpr unsigned any_lane = 32;
    /// An access to one line.
    struct Touch {
        LineAccess record;
        std::uint64_t line = 0;  // its number
        std::uint32_t words = 0, whole_words = 0;
        bool is_private = true;  // no byte is accessed by several lanes, or it does not matter
    };
    // Which lines an instruction accesses.
    [[nodiscard]] Observer observer(AccessKind kind, Reach reach, unsigned agent, unsigned lane) const;
    void note_consecutive(const LaneAccesses& accesses, const Observer& by, const LineAccess& as);
    void note_near_words(const LaneAccesses& accesses, const Observer& by, const LineAccess& as);
    void note_lanes(const LaneAccesses& accesses, std::uint32_t mask, const Observer& by, const LineAccess& as);
    bool note_pattern(const LaneAccesses& accesses, std::uint32_t mask, const Observer& by, const LineAccess& as);

    // What there is of a line (race_lines.cpp).
    void note_line(const LinePlace& place, const Observer& by, const Touch& touch);
    void note_old_line(LinePlace place, const Observer& by, const Touch& touch);
    [[nodiscard]] bool note_words(const LinePlace& first, std::uint64_t behind, const Observer& by, const LineAccess& as,
                                  std::uint32_t words) const;
    void note_lane(const LinePlace& place, std::uint64_t number, const Observer& by, const LineAccess& as, unsigned at, unsigned bytes);
    [[nodiscard]] bool merge_words(LineAccess& into, std::uint32_t pc, std::uint32_t words) const;
    void note_within(const Touch& touch);
    void restart(ShadowLine& line, const Observer& by, const Touch& touch) const;
    [[nodiscard]] bool check_records(const LinePlace& place, const Observer& by, const Touch& touch);
    [[nodiscard]] bool check_extension(const LinePlace& place, const Observer& by, const Touch& touch);
    [[nodiscard]] bool check_record(const LineAccess& before, std::uint32_t words, const Observer& by, const Touch& touch);
    [[nodiscard]] bool find_races(const LineAccess& before, std::uint32_t words, const Observer& by, const Touch& touch);
    [[nodiscard]] bool find_races_at(std::uint64_t address, unsigned bytes, std::uint32_t lanes_before, std::uint32_t lanes,
                                     const LineAccess& before, const Observer& by);
    [[nodiscard]] std::uint32_t pc_of(const LineAccess& record, std::uint64_t byte, unsigned lane) const;
    void add_race(const Race& race);
    [[nodiscard]] std::optional<Race> first_race(const RaceFilter* filter);
    [[nodiscard]] bool conflicts(const LineAccess& before, const Observer& by) const;
    [[nodiscard]] bool has_same_lanes(const LineAccess& before, const LineAccess& record);
    [[nodiscard]] std::uint32_t words_of(const LineAccess& record) const;
    [[nodiscard]] std::uint32_t lanes_at(const LineAccess& record, unsigned byte) const;
    [[nodiscard]] bool is_by_bytes(const LineAccess& record) const;
    [[nodiscard]] bool find_unknown(const LineAccess& record, std::uint32_t words, const Clock& known, Race& unknown) const;

    void add(LinePlace& place, const Observer& by, const Touch& touch);
    [[nodiscard]] std::uint32_t add_to_cells(const LinePlace& place, const Observer& by, const Touch& touch) const;
    void add_to_table(const LinePlace& place, const Observer& by, const Touch& touch);
    bool grow_table(const LinePlace& place);
    [[nodiscard]] bool is_dominated(const LineAccess& before, std::uint32_t words, const Observer& by, const Touch& touch) const;
    [[nodiscard]] bool is_known_to_all(const LineAccess& record) const;
    [[nodiscard]] bool merge(LineAccess& into, const LineAccess& record) const;
    [[nodiscard]] bool merge_in_table(const LinePlace& place, const LineAccess& record) const;
    void make_map(LineAccess& into, const LineAccess& record, const ShadowLine& line);
    void add_lanes(const LineAccess& record, std::uint32_t* lanes, bool by_bytes) const;
    [[nodiscard]] std::uint32_t* map_of(const LineAccess& record) const {
        return reinterpret_cast<std::uint32_t*>(memory_.arena().at(record.value()));
    }

    Order* order_;
    ShapeTable* shapes_;
    PatternTable* patterns_;
    unsigned warps_of_cta_;
    ShadowMemory& memory_;
    std::size_t limit_ = 0;
    const Clock* fenced_ = nullptr;
    std::vector<Race> races_;  // of the access at hand
};

// More words of one lane, by the same instruction or another one.
inline bool RaceShadow::merge_words(LineAccess& into, std::uint32_t pc, std::uint32_t words) const {
    if (into.pc() != pc && (words & ~into.value()) != 0) {
        const SequenceId both = shapes_->sequence(into.pc(), into.pc() < first_sequence ? into.value() : 0, pc, words);
        if (both == ShapeTable::no_sequence) return false;
        into.set_pc(both);
    }
    into.add_to_value(words);
    return true;
}

// One lane's words of a line that is new, or that nobody else accessed lately, or that has a cell for them: the usual cases of accesses
// without a pattern. False: it is another one, and nothing has been done.
[[gnu::always_inline]] inline bool RaceShadow::note_words(const LinePlace& first, std::uint64_t behind, const Observer& by,
                                                          const LineAccess& as, std::uint32_t words) const {
    ShadowLine& line = first.line[behind];
    if (line.generation != by.generation) {
        line.generation = by.generation;
        line.extended = 0;
        line.written = words & by.is_written;
        line.other = words & by.is_other;
        line.records[0] = as.with_value(words);
        line.records[1] = line.records[2] = {};
        return true;
    }
    if ((((line.written & by.sees_written) | (line.other & by.sees_other)) & words) != 0) return false;
    if (line.records[0].is_same_thread(as)) {
        if (!merge_words(line.records[0], as.pc(), words)) return false;
    } else if (line.extended == by.generation && (words & (words - 1)) == 0) {
        std::uint32_t& cells = first.extension[behind].cells;
        LineAccess& cell = first.cells[behind * line_words + static_cast<unsigned>(std::countr_zero(words))];
        if ((cells & words) == 0) cell = as.as(Form::cell, 0);
        else if (!cell.is_same_group(as)) return false;
        cell.add_to_value(1u << as.lane());
        cells |= words;
    } else {
        return false;
    }
    line.written |= words & by.is_written;
    line.other |= words & by.is_other;
    return true;
}

// Of a line that is new, or that one instruction of the warp has accessed in the same way.
inline void RaceShadow::note_line(const LinePlace& place, const Observer& by, const Touch& touch) {
    ShadowLine& line = *place.line;
    if (line.generation == memory_.generation() || !touch.is_private) return note_old_line(place, by, touch);
    line.generation = memory_.generation();
    line.extended = 0;
    line.written = touch.words & by.is_written;
    line.other = touch.words & by.is_other;
    line.records[0] = touch.record;
    line.records[1] = line.records[2] = {};
}

}  // namespace ptxgraft::emulator
