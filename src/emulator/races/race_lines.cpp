// What there is of a line: which records and cells an access is in a race with, and what it adds to them.
#include <algorithm>
#include <bit>
#include <cstring>

#include "emulator/races/race.hpp"

namespace ptxgraft::emulator {
namespace {

// Races of one access that are told apart; those of lanes behind them are as good as any.
constexpr std::size_t most_races = 4096;
// Words of a line: what accesses more at once has one record for them all.
constexpr int most_cells = 4;

constexpr unsigned bit(AccessKind kind) { return 1u << static_cast<unsigned>(kind); }
constexpr unsigned all_kinds = bit(AccessKind::read) | bit(AccessKind::write) | bit(AccessKind::strong_read) |
                               bit(AccessKind::strong_write) | bit(AccessKind::atomic) |
                               bit(AccessKind::reduction);
constexpr unsigned strong_kinds = all_kinds & ~(bit(AccessKind::read) | bit(AccessKind::write));
// By kind: the kinds of earlier accesses that it may be in a race with, whatever their reach.
constexpr unsigned conflicts_of[] = {
    bit(AccessKind::write) | bit(AccessKind::strong_write) | bit(AccessKind::atomic) |
        bit(AccessKind::reduction),
    all_kinds,
    bit(AccessKind::write),
    bit(AccessKind::read) | bit(AccessKind::write),
    bit(AccessKind::read) | bit(AccessKind::write),
    bit(AccessKind::read) | bit(AccessKind::write),
};
// By kind: the kinds of accesses before it that may be forgotten in its favour, since all that races with
// those races with it.
constexpr unsigned dominated_by[] = {
    bit(AccessKind::read) | bit(AccessKind::strong_read),
    all_kinds,
    bit(AccessKind::strong_read),
    strong_kinds & ~bit(AccessKind::reduction),
    bit(AccessKind::strong_read) | bit(AccessKind::atomic),
    strong_kinds & ~bit(AccessKind::strong_write),
};

bool is_dominated_kind(const AccessInfo& before, const AccessInfo& now) {
    const bool may_be =
        (dominated_by[static_cast<unsigned>(now.kind())] >> static_cast<unsigned>(before.kind()) & 1) != 0;
    return may_be && (!before.is_narrow() || now.is_narrow());
}

// Whether it is soon seen that each of a record's bytes is accessed by the same lanes again.
bool is_within(const Record& before, const Record& now) {
    const bool are_words = before.form() == Form::words && before.tag == now.tag;
    return are_words ? (before.value & ~now.value) == 0 : before.has_same_lanes(now);
}

}  // namespace

// Until `f(record)` is true.
template <class F> bool RaceShadow::any_record_of_line(const ShadowLine& line, F&& f) {
    for (unsigned i = 0; i < ShadowLine::most_records && line.ids[i] != 0; ++i)
        if (f(line.get(i))) return true;
    return false;
}

template <class F> bool RaceShadow::any_record_of_table(RecordTable* table, F&& f) {
    return table != nullptr && std::any_of(table->begin(), table->end(), [&](const RecordTable::Slot& slot) {
               return slot.id != 0 && f(slot.get());
           });
}

template <class F> bool RaceShadow::any_record(const LinePlace& place, F&& f) const {
    return place.has_records() &&
           (any_record_of_line(place.line(), f) || any_record_of_table(memory_->table(place.line()), f));
}

void RaceShadow::note_old_line(const LinePlace& place, const Observer& by, const Touch& touch) {
    detach(place);
    if (!touch.is_private) note_within(touch, by);
    if (!place.has_records()) {
        place.line().clear();
        place.line().written = place.line().other = 0;
    }
    ShadowLine& line = place.line();
    const bool sees_records = place.has_records() && (by.seen(line) & touch.words) != 0;
    if (sees_records || place.has_cells()) {
        const bool is_last = check_line(place, by, touch, sees_records);
        const bool is_all = ((line.written | line.other) & ~touch.whole_words) == 0 &&
                            (!place.has_cells() || ~touch.whole_words == 0);
        if (is_last && is_all) return restart(place, by, touch);
    }
    add(place, by, touch);
}

// Of an access that has one.
inline std::uint32_t* RaceShadow::find_map(LinePlace place, const Observer& by) const {
    if (!place.has_records()) return nullptr;
    const ShadowLine& line = place.line();
    if (RecordTable* const table = memory_->table(line))
        for (unsigned at = table->first_slot(by.info.who); table->begin()[at].id != 0;
             at = table->next_slot(at)) {
            const RecordTable::Slot& slot = table->begin()[at];
            if (slot.id == by.id && slot.get().form() == Form::word_map) return map_of(slot.get());
        }
    for (unsigned i = 0; i < ShadowLine::most_records; ++i)
        if (line.ids[i] == by.id && line.get(i).form() == Form::word_map) return map_of(line.get(i));
    return nullptr;
}

// A word whose cell is that of another access. Where the two are in no race whatever their order, as two
// reads or two atomic operations, many warps may go on like that: each has a map of its own.
bool RaceShadow::note_shared_word(LinePlace place, const Observer& by, unsigned lane, unsigned word) {
    ShadowCell& cell = place.cells()[word];
    const AccessInfo& info = memory_->info(cell.id);
    if (conflicts(info, by)) return false;
    if (std::uint32_t* const lanes = find_map(place, by)) {
        lanes[word] |= 1u << lane;
        mark(place, by, 1u << word);
        return true;
    }
    const bool is_own = info.agent() == by.info.agent() && cell.lanes == 1u << lane;
    if (!is_dominated_kind(info, by.info) || (!is_own && !is_known(info, by))) return false;
    cell = {by.id, 1u << lane};
    return true;
}

// Nothing but this access.
void RaceShadow::restart(const LinePlace& place, const Observer& by, const Touch& touch) const {
    ShadowLine& line = place.line();
    if (place.has_records()) memory_->release(line);
    if (place.has_cells()) std::fill_n(place.cells(), line_words, ShadowCell{});
    place.chunk->with_cells[place.at / 64] &= ~place.bit();
    place.set_records();
    line.clear();
    line.written = touch.words & by.is_written;
    line.other = touch.words & by.is_other;
    line.set(0, touch.record, by.info.who);
}

// Lanes of one instruction that write one byte.
void RaceShadow::note_within(const Touch& touch, const Observer& by) {
    const LaneMap map = (*shapes_)[touch.record.value].map();
    const unsigned unit = map.by_bytes ? 1 : word_bytes;
    if (by.info.kind() != AccessKind::write) return;
    for (unsigned byte = 0; byte < line_bytes; byte += unit) {
        const std::uint32_t lanes = map.at(byte);
        const auto first = static_cast<unsigned>(std::countr_zero(lanes | 1u << 31));
        each_bit(lanes & (lanes - 1), [&](unsigned lane) {
            add_race({epoch(by.info.agent(), first, by.info.time), by.info.pc, by.info.kind(), lane,
                      (touch.number << line_shift) + byte, unit});
        });
    }
}

// --- races with what is there

// False where there may be a race; true where every access before this write happens before it, of those that
// have bytes in common.
bool RaceShadow::check_line(const LinePlace& place, const Observer& by, const Touch& touch,
                            bool sees_records) {
    bool ordered = by.info.kind() == AccessKind::write;
    if (place.has_records() && (sees_records || ordered)) {
        const auto check = [&](const Record& before) {
            ordered &= check_record(before, touch.words & words_of(before), by, touch);
            return false;
        };
        any_record_of_line(place.line(), check);
        // Many threads may arrive at one mbarrier, or add to one counter: strong accesses need not look at
        // each other.
        RecordTable* const table = memory_->table(place.line());
        if (table != nullptr && ((table->weak | by.sees_strong) & touch.words) != 0)
            any_record_of_table(table, check);
    }
    return (!place.has_cells() || check_cells(place, by, touch)) && ordered;
}

inline bool RaceShadow::conflicts(const AccessInfo& before, const Observer& by) const {
    if ((conflicts_of[static_cast<unsigned>(by.info.kind())] >> static_cast<unsigned>(before.kind()) & 1) !=
        0)
        return true;
    // Strong accesses are no race where each reaches the other's thread.
    if (!by.info.is_narrow() && !before.is_narrow()) return false;
    const bool is_update = by.is_written != 0 || !is_read(before.kind());
    return is_update && !is_weak(before.kind()) && !is_weak(by.info.kind()) &&
           before.agent() / warps_of_cta_ != by.info.agent() / warps_of_cta_;
}

// By all lanes.
inline bool RaceShadow::is_known(const AccessInfo& before, const Observer& by) const {
    return by.common->covers_all(before.agent(), before.time, is_read(before.kind()));
}

// `words`: those that both access.
inline bool RaceShadow::check_record(const Record& before, std::uint32_t words, const Observer& by,
                                     const Touch& touch) {
    if (words == 0) return true;
    const AccessInfo& info = memory_->info(before.id);
    if (!conflicts(info, by)) return false;
    if (is_known(info, by) || (info.agent() == by.agent && has_same_lanes(before, touch.record))) return true;
    return find_races(before, words, by, touch);
}

bool RaceShadow::check_cells(const LinePlace& place, const Observer& by, const Touch& touch) {
    bool ordered = true;
    each_bit(touch.words, [&](unsigned word) {
        const ShadowCell& cell = place.cells()[word];
        if (!memory_->is_live(cell)) return;
        const AccessInfo& info = memory_->info(cell.id);
        if (!conflicts(info, by)) {
            ordered = false;
            return;
        }
        if (is_known(info, by)) return;
        const unsigned unit = is_by_bytes(touch.record) ? 1 : word_bytes;
        for (unsigned byte = word * word_bytes; byte < (word + 1) * word_bytes; byte += unit)
            ordered &= find_races_at((touch.number << line_shift) + byte, unit, cell.lanes,
                                     lanes_at(touch.record, byte), info, nullptr, by);
    });
    return ordered;
}

// Whether it is soon seen that each byte in common has the same lane, and that only: its accesses are in
// program order.
inline bool RaceShadow::has_same_lanes(const Record& before, const Record& record) {
    if (record.form() <= Form::bytes) return before.form() <= Form::bytes && before.lane() == record.lane();
    return before.form() == Form::shape && record.form() == Form::shape &&
           shapes_->has_same_lanes(before.value, record.value);
}

inline std::uint32_t RaceShadow::words_of(const Record& record) const {
    if (record.form() == Form::words) return record.value;
    if (record.form() == Form::bytes) return words_at(record.value & 0xFF, record.value >> 8);
    return record.form() == Form::shape ? (*shapes_)[record.value].words : ~0u;
}

inline bool RaceShadow::is_by_bytes(const Record& record) const {
    if (record.form() == Form::shape) return (*shapes_)[record.value].by_bytes;
    return record.form() == Form::bytes || record.form() == Form::byte_map;
}

inline std::uint32_t RaceShadow::lanes_at(const Record& record, unsigned byte) const {
    switch (record.form()) {
        case Form::words: return (record.value >> byte / word_bytes & 1) != 0 ? 1u << record.lane() : 0;
        case Form::bytes: return byte - (record.value & 0xFF) < record.value >> 8 ? 1u << record.lane() : 0;
        case Form::shape: return (*shapes_)[record.value].map().at(byte);
        case Form::word_map: return map_of(record)[byte / word_bytes];
        default: return map_of(record)[byte];
    }
}

// The instruction, of those that a record stands for.
std::uint32_t RaceShadow::pc_of(const Record& record, unsigned byte, unsigned lane) const {
    const std::uint32_t pc = memory_->info(record.id).pc;
    if (pc >= first_sequence) return shapes_->pc_of_word(pc, byte / word_bytes);
    const bool has_parts = record.form() == Form::shape && !(*shapes_)[record.value].parts.empty();
    return has_parts ? shapes_->pc_of(record.value, byte, lane) : pc;
}

// Byte by byte and lane by lane; true when there is none.
bool RaceShadow::find_races(const Record& before, std::uint32_t words, const Observer& by,
                            const Touch& touch) {
    const unsigned unit = is_by_bytes(before) || is_by_bytes(touch.record) ? 1 : word_bytes;
    const AccessInfo& info = memory_->info(before.id);
    if (before.form() <= Form::bytes) {  // by one lane: of all words the same is known
        const Epoch of = epoch(info.agent(), before.lane(), info.time);
        const bool is_reading = is_read(info.kind());
        if (by.lane == any_lane ? by.common->covers(of, is_reading)
                                : order_->knows(by.agent, by.lane, of, is_reading))
            return true;
    }
    bool none = true;
    each_bit(words, [&](unsigned word) {
        for (unsigned byte = word * word_bytes; byte < (word + 1) * word_bytes; byte += unit) {
            const std::uint32_t lanes_before = lanes_at(before, byte), lanes = lanes_at(touch.record, byte);
            if (lanes_before == 0 || lanes == 0) continue;
            none &= find_races_at((touch.number << line_shift) + byte, unit, lanes_before, lanes, info,
                                  &before, by);
        }
    });
    return none;
}

// `record`: of the accesses before; null: they are a cell's.
bool RaceShadow::find_races_at(std::uint64_t address, unsigned bytes, std::uint32_t lanes_before,
                               std::uint32_t lanes, const AccessInfo& before, const Record* record,
                               const Observer& by) {
    bool none = true;
    each_bit(lanes, [&](unsigned lane) {
        const unsigned knowing = by.lane == any_lane ? lane : by.lane;
        for (std::uint32_t rest = lanes_before; rest != 0; rest &= rest - 1) {
            const Epoch of = epoch(before.agent(), first_lane(rest), before.time);
            if (order_->knows(by.agent, knowing, of, is_read(before.kind()))) continue;
            const std::uint32_t pc =
                record != nullptr ? pc_of(*record, static_cast<unsigned>(address % line_bytes), of.lane)
                                  : before.pc;
            add_race({of, pc, before.kind(), knowing, address, bytes});
            none = false;
            break;
        }
    });
    return none;
}

void RaceShadow::add_race(const Race& race) {
    if (!races_.empty()) {
        Race& last = races_.back();
        const bool is_same = last.lane == race.lane && last.other.agent == race.other.agent &&
                             last.other.lane == race.other.lane && last.other.time == race.other.time &&
                             last.pc == race.pc;
        if (is_same && last.address + last.bytes == race.address) {
            last.bytes += race.bytes;
            return;
        }
    }
    if (races_.size() < most_races) races_.push_back(race);
}

std::optional<Race> RaceShadow::first_race(const EqualStores* equal) {
    std::ranges::stable_sort(races_, {}, &Race::lane);
    if (equal != nullptr)
        for (Race& race : races_) race.stores_are_equal = equal->are_equal(race);
    return races_.empty() ? std::nullopt : std::optional(races_.front());
}

// `clock_for(info)`: the clock that has to cover the access; null: it does not matter.
template <class F>
std::optional<Race> RaceShadow::first_unknown(std::uint64_t begin, std::uint64_t end, F&& clock_for) {
    Race unknown;
    for (; begin < end; begin = (begin / line_bytes + 1) * line_bytes) {
        const std::uint64_t next = std::min(end, (begin / line_bytes + 1) * line_bytes);
        const LineRange range{static_cast<unsigned>(begin % line_bytes), static_cast<unsigned>(next - begin)};
        const std::uint32_t words = words_at(range.begin, range.bytes);
        const LinePlace place = memory_->line(begin >> line_shift);
        unknown.address = begin / line_bytes * line_bytes;
        detach(place);
        const bool is_in_records = any_record(place, [&](const Record& record) {
            const VectorClock* const known = clock_for(memory_->info(record.id));
            return known != nullptr && find_unknown(record, range, *known, unknown);
        });
        if (is_in_records) return unknown;
        for (std::uint32_t rest = place.has_cells() ? words : 0; rest != 0; rest &= rest - 1) {
            const auto word = first_lane(rest);
            const ShadowCell& cell = place.cells()[word];
            if (!memory_->is_live(cell)) continue;
            const AccessInfo& info = memory_->info(cell.id);
            const VectorClock* const known = clock_for(info);
            if (known == nullptr) continue;
            if (const auto lane = unknown_lane(info, cell.lanes, *known)) {
                unknown = {epoch(info.agent(), *lane, info.time), info.pc,   info.kind(), 0,
                           unknown.address + word * word_bytes,   word_bytes};
                return unknown;
            }
        }
    }
    return std::nullopt;
}

std::optional<Race> RaceShadow::unfenced_write(std::uint64_t begin, std::uint64_t end,
                                               const VectorClock& fenced, unsigned except) {
    return first_unknown(begin, end, [&](const AccessInfo& info) {
        const bool is_written =
            !is_read(info.kind()) && info.agent() < except && info.time > fenced.all(info.agent());
        return is_written ? &fenced : nullptr;
    });
}

std::optional<Race> RaceShadow::unknown_access(std::uint64_t begin, std::uint64_t end, const Clock& known,
                                               unsigned warps, unsigned cta) {
    VectorClock reads = known.reads;
    reads.join(known.accesses);
    return first_unknown(begin, end, [&](const AccessInfo& info) {
        const bool is_of_another = info.agent() < warps && info.agent() / warps_of_cta_ != cta;
        return !is_of_another ? nullptr : is_read(info.kind()) ? &reads : &known.accesses;
    });
}

// Lanes that write one byte by one instruction write the same: that one of them is known suffices.
std::optional<unsigned> RaceShadow::unknown_lane(const AccessInfo& info, std::uint32_t lanes,
                                                 const VectorClock& known) {
    std::optional<unsigned> first;
    for (; lanes != 0; lanes &= lanes - 1) {
        const auto lane = first_lane(lanes);
        if (known.covers(epoch(info.agent(), lane, info.time))) return std::nullopt;
        if (!first) first = lane;
    }
    return first;
}

// `unknown`: its address is the line's.
bool RaceShadow::find_unknown(const Record& record, const LineRange& range, const VectorClock& known,
                              Race& unknown) const {
    const AccessInfo& info = memory_->info(record.id);
    for (std::uint32_t words = words_at(range.begin, range.bytes) & words_of(record); words != 0;
         words &= words - 1) {
        const auto word = static_cast<unsigned>(std::countr_zero(words));
        const unsigned end = std::min((word + 1) * word_bytes, range.begin + range.bytes);
        for (unsigned byte = std::max(word * word_bytes, range.begin); byte < end; ++byte) {
            const auto lane = unknown_lane(info, lanes_at(record, byte), known);
            if (!lane) continue;
            unknown = {epoch(info.agent(), *lane, info.time),
                       pc_of(record, byte, *lane),
                       info.kind(),
                       0,
                       unknown.address + byte,
                       1};
            return true;
        }
    }
    return false;
}

// --- what becomes of the access

// Whether a record may be forgotten: everything that is in a race with it is in one with this access.
inline bool RaceShadow::is_dominated(const Record& before, const Observer& by, const Touch& touch) const {
    const AccessInfo& info = memory_->info(before.id);
    if (!is_dominated_kind(info, by.info)) return false;
    // by one lane one after the other: who knows of the later one knows of both
    if (info.agent() == by.info.agent() && before.form() <= Form::shape && is_within(before, touch.record))
        return true;
    return (words_of(before) & ~touch.whole_words) == 0 && is_known(info, by);
}

inline void RaceShadow::add(const LinePlace& place, const Observer& by, const Touch& touch) {
    ShadowLine& line = place.line();
    if (place.has_records()) {
        if (merge(place, by, touch) || (line.is_full() && replace(place, by, touch)))
            return mark(place, by, touch.words);
    }
    const bool is_small = std::popcount(touch.words) <= most_cells && !is_by_bytes(touch.record);
    if (!is_small || !memory_->add_cells(*place.chunk)) return append(place, by, touch);
    const std::uint32_t words = add_to_cells(place, by, touch);
    if (words == 0) return;
    Touch left = touch;
    if (touch.record.form() == Form::words) left.record.value = left.words = left.whole_words = words;
    add_to_table(place, by, left);
}

// More of an epoch that has a record: false where there is none, or it cannot have more.
bool RaceShadow::merge(const LinePlace& place, const Observer& by, const Touch& touch) {
    ShadowLine& line = place.line();
    const std::uint8_t hint = ShadowLine::hint_of(by.info.who);
    for (unsigned i = 0; i < ShadowLine::most_records; ++i) {
        if (line.ids[i] == 0) return false;
        if (line.hints[i] != hint) continue;
        Record record = line.get(i);
        if (!merge_record(record, by, touch.record)) continue;
        line.set(i, record);
        return true;
    }
    RecordTable* const table = memory_->table(line);
    if (table == nullptr) return false;
    for (unsigned at = table->first_slot(by.info.who); table->begin()[at].id != 0;
         at = table->next_slot(at)) {
        RecordTable::Slot& slot = table->begin()[at];
        if (slot.who != by.info.who || slot.when != static_cast<std::uint8_t>(by.info.time)) continue;
        Record record = slot.get();
        if (!merge_record(record, by, touch.record)) continue;
        slot.set(record);
        return true;
    }
    return false;
}

inline bool RaceShadow::merge_record(Record& into, const Observer& by, const Record& record) {
    if (into.id != record.id && !memory_->info(into.id).is_same_epoch(by.info)) return false;
    if (into.form() == Form::shape && record.form() == Form::shape) {
        const ShapeId both = shapes_->unite(into.value, memory_->info(into.id).pc, record.value, by.info.pc);
        if (both != ShapeTable::none) into.value = both;
        return both != ShapeTable::none;
    }
    if (into.form() == Form::words && into.tag == record.tag) return merge_words(into, by, record.value);
    if (into.id != record.id) return false;
    if (into.form() == Form::byte_map || (into.form() == Form::word_map && !is_by_bytes(record))) {
        add_lanes(record, map_of(into), into.form() == Form::byte_map);
        return true;
    }
    if (into.form() != Form::bytes || into.tag != record.tag) return false;
    const std::uint32_t begin = into.value & 0xFF, end = begin + (into.value >> 8),
                        first = record.value & 0xFF;
    if (first < begin || first > end) return false;
    into.value = begin | (std::max(end, first + (record.value >> 8)) - begin) << 8;
    return true;
}

// More words of one lane, by the same instruction or another one.
bool RaceShadow::merge_words(Record& into, const Observer& by, std::uint32_t words) {
    if (into.id != by.id && (words & ~into.value) != 0) {
        const SequenceId both = shapes_->sequence(memory_->info(into.id).pc, into.value, by.info.pc, words);
        if (both == ShapeTable::no_sequence) return false;
        into.id = memory_->further_access({by.info.time, both, by.info.who});
    }
    into.value |= words;
    return true;
}

// In the place of a record that is dominated.
bool RaceShadow::replace(const LinePlace& place, const Observer& by, const Touch& touch) {
    ShadowLine& line = place.line();
    for (unsigned i = 0; i < ShadowLine::most_records && line.ids[i] != 0; ++i) {
        if (!is_dominated(line.get(i), by, touch)) continue;
        memory_->release(line.get(i));
        line.set(i, touch.record, by.info.who);
        return true;
    }
    return false;
}

// The words whose cells are another's.
std::uint32_t RaceShadow::add_to_cells(const LinePlace& place, const Observer& by, const Touch& touch) {
    std::uint32_t left = 0;
    each_bit(touch.words, [&](unsigned word) {
        ShadowCell& cell = place.cells()[word];
        const std::uint32_t lanes = lanes_at(touch.record, word * word_bytes);
        if (cell.id == by.id) {
            cell.lanes |= lanes;
            return;
        }
        if (memory_->is_live(cell)) {
            const AccessInfo& info = memory_->info(cell.id);
            const bool is_own = cell.lanes == lanes && info.agent() == by.info.agent();
            if (!is_dominated_kind(info, by.info) || (!is_own && !is_known(info, by))) {
                left |= 1u << word;
                return;
            }
        }
        cell = {by.id, lanes};
    });
    if (left != touch.words) place.set_cells();
    return left;
}

// In a record that there is, or one of its own.
void RaceShadow::add_to_table(const LinePlace& place, const Observer& by, const Touch& touch) {
    if (place.has_records() && merge(place, by, touch)) return mark(place, by, touch.words);
    append(place, by, touch);
}

// A record of its own, in the line or in its table.
void RaceShadow::append(const LinePlace& place, const Observer& by, const Touch& touch) {
    ShadowLine& line = place.line();
    mark(place, by, touch.words);
    place.set_records();
    for (unsigned i = 0; i < ShadowLine::most_records; ++i) {
        if (line.ids[i] != 0 && line.ids[i] != touch.record.id) continue;
        Record record = line.ids[i] == 0 ? touch.record : line.get(i);
        if (line.ids[i] == 0 || make_map(record, touch.record, place)) line.set(i, record, by.info.who);
        return;
    }
    if (line.table == 0 && !grow_table(place)) return;
    while (true) {
        RecordTable& table = *memory_->table(line);
        unsigned at = table.first_slot(by.info.who);
        for (; table.begin()[at].id != 0; at = table.next_slot(at)) {
            RecordTable::Slot& slot = table.begin()[at];
            Record record = slot.get();
            if (slot.id == touch.record.id) {
                if (make_map(record, touch.record, place)) slot.set(record);
                return;
            }
            if (slot.who != by.info.who || !is_dominated(record, by, touch)) continue;
            memory_->release(record);
            slot.set(touch.record);
            slot.when = static_cast<std::uint8_t>(by.info.time);
            table.weak |= touch.words & by.is_weak;
            return;
        }
        if ((table.count + 1) * 4 <= table.capacity * 3) {
            ++table.count;
            table.weak |= touch.words & by.is_weak;
            RecordTable::Slot& slot = table.begin()[at];
            slot.set(touch.record);
            slot.who = static_cast<std::uint16_t>(by.info.who);
            slot.when = static_cast<std::uint8_t>(by.info.time);
            return;
        }
        if (!grow_table(place)) return;
    }
}

bool RaceShadow::is_known_to_all(const AccessInfo& info) const {
    const bool reads = is_read(info.kind());
    if (!reads && fenced_ && !order_->is_fenced_for_all(*fenced_, info.agent(), info.time)) return false;
    return order_->is_known_to_all(info.agent(), info.time, reads);
}

// A larger table, or as large a one without what is known to everybody.
bool RaceShadow::grow_table(const LinePlace& place) {
    ShadowLine& line = place.line();
    std::vector<RecordTable::Slot> slots;
    unsigned units = warps_of_cta_ > 16 ? 4 : warps_of_cta_ > 4 ? 2 : 1;  // as many as there may be readers
    if (RecordTable* const before = memory_->table(line)) {
        for (const RecordTable::Slot& slot : *before) {
            if (slot.id == 0) continue;
            if (is_known_to_all(memory_->info(slot.id)))
                memory_->release(slot.get());
            else
                slots.push_back(slot);
        }
        units = slots.size() * 2 > before->count ? before->units * 2 : before->units;
        memory_->arena().free(line.table, before->units);
        line.table = 0;
    }
    line.table = units <= ShadowArena::most_units ? memory_->allocate(units, place) : 0;
    if (line.table == 0) return false;
    auto* const table = new (memory_->arena().at(line.table)) RecordTable;
    table->units = units;
    table->capacity = static_cast<std::uint16_t>(units * ShadowArena::unit / sizeof(RecordTable::Slot) - 1);
    std::fill(table->begin(), table->end(), RecordTable::Slot{});
    for (const RecordTable::Slot& slot : slots) {
        unsigned at = table->first_slot(slot.who);
        while (table->begin()[at].id != 0) at = table->next_slot(at);
        table->begin()[at] = slot;
        table->weak |= words_of(slot.get()) & relation_of(memory_->info(slot.id)).is_weak;
        ++table->count;
    }
    return true;
}

// Both, of one access, in a map; false where there is no room for one.
bool RaceShadow::make_map(Record& into, const Record& record, const LinePlace& place) {
    const bool by_bytes = is_by_bytes(into) || is_by_bytes(record);
    const unsigned units = by_bytes ? 4 : 1;
    const std::uint32_t at = memory_->allocate(units, place);
    if (at == 0) return false;
    auto* const lanes = reinterpret_cast<std::uint32_t*>(memory_->arena().at(at));
    std::memset(lanes, 0, units * ShadowArena::unit);
    add_lanes(into, lanes, by_bytes);
    add_lanes(record, lanes, by_bytes);
    memory_->release(into);
    into.value = at;
    into.tag = Record::tag_of(by_bytes ? Form::byte_map : Form::word_map);
    return true;
}

// `lanes` is a map of bytes where the record is one of bytes.
void RaceShadow::add_lanes(const Record& record, std::uint32_t* lanes, bool by_bytes) const {
    const unsigned units = by_bytes ? word_bytes : 1;  // of a word
    switch (record.form()) {
        case Form::words:
            return each_bit(record.value, [&](unsigned word) {
                for (unsigned at = word * units; at < (word + 1) * units; ++at)
                    lanes[at] |= 1u << record.lane();
            });
        case Form::bytes: {
            const unsigned begin = record.value & 0xFF, end = begin + (record.value >> 8);
            for (unsigned byte = begin; byte < end; ++byte) lanes[byte] |= 1u << record.lane();
            return;
        }
        default: {
            const bool is_map_of_bytes = is_by_bytes(record);
            const std::uint32_t* const its =
                record.form() == Form::shape ? (*shapes_)[record.value].map().lanes : map_of(record);
            for (unsigned at = 0; at < line_words * units; ++at)
                lanes[at] |= its[is_map_of_bytes || !by_bytes ? at : at / word_bytes];
        }
    }
}

}  // namespace ptxgraft::emulator
