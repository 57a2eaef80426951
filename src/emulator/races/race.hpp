#pragma once
/// @file race.hpp
/// Races among the threads of a cluster, on shared and on global memory: two accesses of one byte by
/// different threads, of which one at least writes, that are neither ordered by happens-before nor both
/// strong (PTX ISA 8.7.1). The detector keeps epochs and vector clocks in shadow memory, as FastTrack does
/// (Flanagan & Freund 2009), but one epoch for what a warp accesses of a line at once.
/// Stores of equal bytes are races that are marked as such.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "emulator/races/accesses.hpp"
#include "emulator/races/race_storage.hpp"

namespace ptxgraft::emulator {

class RaceShadow {
  public:
    /// `warps_of_cta`: of the order's agents the first ones are the warps, CTA by CTA.
    RaceShadow(Order& order, RaceStorage& storage, ShadowMemory& memory, unsigned warps_of_cta,
               const LaneFunctions& functions);
    /// Forgets everything. From now on at most so many bytes of host memory are used: what was accessed first
    /// is forgotten first. `fenced`: unfenced_write() will be asked, about fences for this space.
    void begin(std::size_t limit, std::optional<FencedSpace> fenced = std::nullopt);
    /// Everything that was noted is known to everybody.
    void forget() { memory_->begin(limit_); }
    /// Notes the accesses of the lanes of `mask`. The race that the first lane is part of; found() has all.
    [[nodiscard]] std::optional<Race> note(const LaneAccesses& accesses, std::uint32_t mask,
                                           const EqualStores* equal = nullptr);
    /// Of bytes in a row, by something that works asynchronously.
    [[nodiscard]] std::optional<Race> note(std::uint64_t begin, std::uint64_t end, AccessKind kind,
                                           const Accessor& by, std::uint32_t pc,
                                           const EqualStores* equal = nullptr);
    /// All races of the access that was noted last, by lanes.
    [[nodiscard]] std::span<const Race> found() const { return races_; }
    /// A write to the bytes that a clock of fences does not cover, if there is one; agents from `except` on
    /// do not count.
    [[nodiscard]] std::optional<Race> unfenced_write(std::uint64_t begin, std::uint64_t end,
                                                     const VectorClock& fenced, unsigned except);
    /// An access to the bytes by a warp of another CTA than `cta` that a clock does not cover, if there is
    /// one; agents from `warps` on do not count.
    [[nodiscard]] std::optional<Race> unknown_access(std::uint64_t begin, std::uint64_t end,
                                                     const Clock& known, unsigned warps, unsigned cta);

  private:
    /// Masks of words: what a kind of access has to do with others.
    struct Relation {
        std::uint32_t sees_written, sees_other, sees_strong;  // which words of a line may be part of a race
        std::uint32_t is_written, is_other, is_weak;          // and what becomes of its own
    };
    [[nodiscard]] static const Relation& relation_of(const AccessInfo& info);
    /// Whoever accesses.
    struct Observer : Relation {
        AccessId id;
        AccessInfo info;
        const Clock* common;  // what all lanes of the agent know
        unsigned agent;       // whose knowledge it has
        unsigned lane;        // any_lane: those that access

        [[nodiscard]] std::uint32_t seen(const ShadowLine& line) const {
            return (line.written & sees_written) | (line.other & sees_other);
        }
        void mark(ShadowLine& line, RecordTable* table, std::uint32_t words) const {
            line.written |= words & is_written;
            line.other |= words & is_other;
            if (table != nullptr) table->weak |= words & is_weak;
        }
    };
    static constexpr unsigned any_lane = 32;
    /// An access to one line.
    struct Touch {
        Record record;
        std::uint64_t number = 0;  // of the line
        std::uint32_t words = 0, whole_words = 0;
        bool is_private = true;  // no byte is accessed by several lanes, or it does not matter
    };

    // Which lines an instruction accesses.
    [[nodiscard]] Observer observer(const AccessInfo& info, AccessId id, unsigned agent, unsigned lane) const;
    void note_consecutive(const LaneAccesses& accesses, const Observer& by);
    void note_lanes(const LaneAccesses& accesses, std::uint32_t mask, const Observer& by);
    void note_near_words(const LaneAccesses& accesses, const Observer& by);
    bool note_pattern(const LaneAccesses& accesses, std::uint32_t mask, const Observer& by);

    // Of lanes that walk over memory each by itself (race_cursors.cpp).
    [[nodiscard]] bool note_cursors(const LaneAccesses& accesses, const Observer& by);
    void begin_cursors(LaneCursors& cursors, std::uint32_t index, std::uint64_t begin, const Observer& by);
    void enter(LaneCursors& cursors, std::uint32_t index, unsigned lane, std::uint32_t at, unsigned bytes,
               const Observer& by);
    void leave(LaneCursors& cursors, std::uint32_t index, unsigned lane);
    void leave_first(LaneCursors& cursors, unsigned lane, const LaneCursors::Words& words,
                     const LinePlace& place);
    void detach(const LinePlace& place);

    // What there is of a line (race_lines.cpp).
    void note_line(const LinePlace& place, const Observer& by, const Touch& touch);
    void note_old_line(const LinePlace& place, const Observer& by, const Touch& touch);
    [[nodiscard]] bool note_word(const LinePlace& place, const Observer& by, unsigned lane, unsigned word);
    [[nodiscard]] bool note_shared_word(LinePlace place, const Observer& by, unsigned lane, unsigned word);
    [[nodiscard]] std::uint32_t* find_map(LinePlace place, const Observer& by) const;
    void note_bytes(std::uint64_t address, unsigned bytes, const Observer& by, unsigned lane);
    void note_within(const Touch& touch, const Observer& by);
    void restart(const LinePlace& place, const Observer& by, const Touch& touch) const;
    [[nodiscard]] bool check_line(const LinePlace& place, const Observer& by, const Touch& touch,
                                  bool sees_records);
    [[nodiscard]] bool check_record(const Record& before, std::uint32_t words, const Observer& by,
                                    const Touch& touch);
    [[nodiscard]] bool check_cells(const LinePlace& place, const Observer& by, const Touch& touch);
    [[nodiscard]] bool find_races(const Record& before, std::uint32_t words, const Observer& by,
                                  const Touch& touch);
    [[nodiscard]] bool find_races_at(std::uint64_t address, unsigned bytes, std::uint32_t lanes_before,
                                     std::uint32_t lanes, const AccessInfo& before, const Record* record,
                                     const Observer& by);
    void add_race(const Race& race);
    [[nodiscard]] std::optional<Race> first_race(const EqualStores* equal);
    [[nodiscard]] bool conflicts(const AccessInfo& before, const Observer& by) const;
    [[nodiscard]] bool is_known(const AccessInfo& before, const Observer& by) const;
    [[nodiscard]] bool has_same_lanes(const Record& before, const Record& record);
    [[nodiscard]] std::uint32_t words_of(const Record& record) const;
    [[nodiscard]] std::uint32_t lanes_at(const Record& record, unsigned byte) const;
    [[nodiscard]] bool is_by_bytes(const Record& record) const;
    [[nodiscard]] std::uint32_t pc_of(const Record& record, unsigned byte, unsigned lane) const;
    template <class F> bool any_record(const LinePlace& place, F&& f) const;
    template <class F> static bool any_record_of_line(const ShadowLine& line, F&& f);
    template <class F> static bool any_record_of_table(RecordTable* table, F&& f);
    void mark(const LinePlace& place, const Observer& by, std::uint32_t words) const {
        by.mark(place.line(), memory_->table(place.line()), words);
    }
    template <class F>
    [[nodiscard]] std::optional<Race> first_unknown(std::uint64_t begin, std::uint64_t end, F&& clock_for);
    [[nodiscard]] static std::optional<unsigned> unknown_lane(const AccessInfo& info, std::uint32_t lanes,
                                                              const VectorClock& known);
    /// Bytes of one line.
    struct LineRange {
        unsigned begin = 0, bytes = 0;
    };
    [[nodiscard]] bool find_unknown(const Record& record, const LineRange& range, const VectorClock& known,
                                    Race& unknown) const;

    void add(const LinePlace& place, const Observer& by, const Touch& touch);
    [[nodiscard]] bool merge(const LinePlace& place, const Observer& by, const Touch& touch);
    [[nodiscard]] bool merge_record(Record& into, const Observer& by, const Record& record);
    [[nodiscard]] bool merge_words(Record& into, const Observer& by, std::uint32_t words);
    [[nodiscard]] bool replace(const LinePlace& place, const Observer& by, const Touch& touch);
    [[nodiscard]] std::uint32_t add_to_cells(const LinePlace& place, const Observer& by, const Touch& touch);
    void add_to_table(const LinePlace& place, const Observer& by, const Touch& touch);
    void append(const LinePlace& place, const Observer& by, const Touch& touch);
    bool grow_table(const LinePlace& place);
    [[nodiscard]] bool is_dominated(const Record& before, const Observer& by, const Touch& touch) const;
    [[nodiscard]] bool is_known_to_all(const AccessInfo& info) const;
    bool make_map(Record& into, const Record& record, const LinePlace& place);
    void add_lanes(const Record& record, std::uint32_t* lanes, bool by_bytes) const;
    [[nodiscard]] std::uint32_t* map_of(const Record& record) const {
        return reinterpret_cast<std::uint32_t*>(memory_->arena().at(record.value));
    }

    Order* order_;
    ShapeTable* shapes_;
    PatternTable* patterns_;
    CursorTable* cursors_;
    ShadowMemory* memory_;
    const LaneFunctions* lane_functions_;
    unsigned warps_of_cta_;
    std::size_t limit_ = 0;
    std::optional<FencedSpace> fenced_;
    std::vector<Race> races_;  // of the access at hand
};

// One lane's word of a line that has no records, or none that minds: the usual irregular access. False: it is
// another one.
[[gnu::always_inline]] inline bool RaceShadow::note_word(const LinePlace& place, const Observer& by,
                                                         unsigned lane, unsigned word) {
    if (place.has_records() && (by.seen(place.line()) >> word & 1) != 0) return false;
    if (!memory_->add_cells(*place.chunk)) return true;  // forgotten
    ShadowCell& cell = place.cells()[word];
    // Lanes that read together, or are atomic; of those that write each has its own words.
    if (cell.id == by.id && (by.info.kind() != AccessKind::write || cell.lanes == 1u << lane)) {
        cell.lanes |= 1u << lane;
        return true;
    }
    if (memory_->is_live(cell)) return note_shared_word(place, by, lane, word);
    cell = {by.id, 1u << lane};
    place.set_cells();
    return true;
}

inline void RaceShadow::detach(const LinePlace& place) {
    if (!place.has_records()) return;
    const Record record = place.line().get(0);
    if (record.form() == Form::cursor) leave((*cursors_)[record.value], record.value, record.lane());
}

// Of a line that nobody has accessed.
inline void RaceShadow::note_line(const LinePlace& place, const Observer& by, const Touch& touch) {
    if (place.has_records() || place.has_cells() || !touch.is_private) return note_old_line(place, by, touch);
    place.set_records();
    ShadowLine& line = place.line();
    line.written = touch.words & by.is_written;
    line.other = touch.words & by.is_other;
    line.clear();
    line.set(0, touch.record, by.info.who);
}

}  // namespace ptxgraft::emulator
