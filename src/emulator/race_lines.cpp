// The records of a line: which of them an access is in a race with, and what it adds to them.
#include <algorithm>
#include <bit>
#include <cstring>

#include "emulator/race.hpp"

namespace ptxgraft::emulator {
namespace {

// Races of one access that are told apart; those of lanes behind them are as good as any.
constexpr std::size_t most_races = 4096;

constexpr unsigned bit(AccessKind kind) { return 1u << static_cast<unsigned>(kind); }
constexpr unsigned all_kinds = bit(AccessKind::read) | bit(AccessKind::write) | bit(AccessKind::strong_read) |
                               bit(AccessKind::strong_write) | bit(AccessKind::atomic) | bit(AccessKind::reduction);
// Those that a strong write and a reduction stand for.
constexpr unsigned strong_kinds = all_kinds & ~(bit(AccessKind::read) | bit(AccessKind::write));
// By kind: the kinds of accesses before it that may be forgotten in its favour, since all that races with those races with it.
constexpr unsigned dominated_by[] = {
    bit(AccessKind::read) | bit(AccessKind::strong_read),
    all_kinds,
    bit(AccessKind::strong_read),
    strong_kinds & ~bit(AccessKind::reduction),
    bit(AccessKind::strong_read) | bit(AccessKind::atomic),
    strong_kinds & ~bit(AccessKind::strong_write),
};

template <class F>
void for_each(std::uint32_t bits, F&& f) {
    for (; bits != 0; bits &= bits - 1) f(static_cast<unsigned>(std::countr_zero(bits)));
}

constexpr unsigned word_bytes = 4;
// Of a line: what accesses more words at once has one record for them all.
constexpr int most_cells = 4;

bool is_dominated_kind(const LineAccess& before, const LineAccess& record) {
    const bool may_be = (dominated_by[static_cast<unsigned>(record.kind())] >> static_cast<unsigned>(before.kind()) & 1) != 0;
    return may_be && (!before.is_narrow() || record.is_narrow());
}

}  // namespace

void RaceShadow::note_old_line(LinePlace place, const Observer& by, const Touch& touch) {
    ShadowLine& line = *place.line;
    if (!touch.is_private && touch.record.kind() == AccessKind::write) note_within(touch);
    if (line.generation != memory_.generation()) {
        line.generation = memory_.generation();
        line.extended = 0;
        return restart(line, by, touch);
    }
    if ((((line.written & by.sees_written) | (line.other & by.sees_other)) & touch.words) != 0) {
        const bool is_last = check_records(place, by, touch);
        if (is_last && ((line.written | line.other) & ~touch.whole_words) == 0) {
            memory_.release(place);
            return restart(line, by, touch);
        }
    }
    add(place, by, touch);
}

// Nothing but this access.
void RaceShadow::restart(ShadowLine& line, const Observer& by, const Touch& touch) const {
    line.written = touch.words & by.is_written;
    line.other = touch.words & by.is_other;
    line.records[0] = touch.record;
    line.records[1] = line.records[2] = {};
}

// Lanes of one instruction that write one byte.
void RaceShadow::note_within(const Touch& touch) {
    const LaneMap map = (*shapes_)[touch.record.value()].map();
    const unsigned unit = map.by_bytes ? 1 : word_bytes;
    for (unsigned byte = 0; byte < line_bytes; byte += unit) {
        const std::uint32_t lanes = map.at(byte);
        const auto first = static_cast<unsigned>(std::countr_zero(lanes | 1u << 31));
        for_each(lanes & (lanes - 1), [&](unsigned lane) {
            add_race({epoch(touch.record.agent(), first, touch.record.time()), touch.record.pc(), touch.record.kind(), lane,
                      (touch.line << line_shift) + byte, unit});
        });
    }
}

// --- races with what is there

// False where there may be a race; true where every access before this write happens before it, of those that have bytes in common.
bool RaceShadow::check_records(const LinePlace& place, const Observer& by, const Touch& touch) {
    bool ordered = touch.record.kind() == AccessKind::write;
    for (const LineAccess& before : place.line->records) {
        if (!before.is_any()) break;
        ordered &= check_record(before, touch.words & words_of(before), by, touch);
    }
    return (!place.is_extended() || check_extension(place, by, touch)) && ordered;
}

bool RaceShadow::check_extension(const LinePlace& place, const Observer& by, const Touch& touch) {
    bool ordered = true;
    for_each(place.extension->cells & touch.words,
             [&](unsigned word) { ordered &= check_record(place.cells[word], 1u << word, by, touch); });
    if (RecordTable* const table = memory_.table(place))
        for (const LineAccess& before : *table)
            if (before.is_any()) ordered &= check_record(before, touch.words & words_of(before), by, touch);
    return ordered;
}

inline bool RaceShadow::conflicts(const LineAccess& before, const Observer& by) const {
    if ((by.conflicts >> static_cast<unsigned>(before.kind()) & 1) != 0) return true;
    // Strong accesses are no race where each reaches the other's thread.
    if (!by.is_narrow && !before.is_narrow()) return false;
    const bool is_update = by.is_written != 0 || !is_read(before.kind());
    return is_update && !is_weak(before.kind()) && before.agent() / warps_of_cta_ != by.agent / warps_of_cta_;
}

// `words`: those that both access.
inline bool RaceShadow::check_record(const LineAccess& before, std::uint32_t words, const Observer& by, const Touch& touch) {
    if (words == 0) return true;
    if (!conflicts(before, by)) return false;
    if (by.common->covers_all(before.agent(), before.time(), is_read(before.kind()))) return true;
    if (before.agent() == by.agent && has_same_lanes(before, touch.record)) return true;
    return find_races(before, words, by, touch);
}

// Whether it is soon seen that each byte in common has the same lane, and that only: its accesses are in program order.
inline bool RaceShadow::has_same_lanes(const LineAccess& before, const LineAccess& record) {
    if (record.form() <= Form::bytes) {
        if (before.form() <= Form::bytes) return before.lane() == record.lane();
        return before.form() == Form::cell && before.value() == 1u << record.lane();
    }
    return before.form() == Form::shape && record.form() == Form::shape && shapes_->has_same_lanes(before.value(), record.value());
}

inline std::uint32_t RaceShadow::words_of(const LineAccess& record) const {
    if (record.form() == Form::words) return record.value();
    if (record.form() == Form::bytes) return words_at(record.value() & 0xFF, record.value() >> 8);
    return record.form() == Form::shape ? (*shapes_)[record.value()].words : ~0u;
}

inline bool RaceShadow::is_by_bytes(const LineAccess& record) const {
    if (record.form() == Form::shape) return (*shapes_)[record.value()].by_bytes;
    return record.form() == Form::bytes || record.form() == Form::byte_map;
}

// Of a cell: where its word is.
inline std::uint32_t RaceShadow::lanes_at(const LineAccess& record, unsigned byte) const {
    switch (record.form()) {
        case Form::words:
            return (record.value() >> byte / word_bytes & 1) != 0 ? 1u << record.lane() : 0;
        case Form::bytes:
            return byte - (record.value() & 0xFF) < record.value() >> 8 ? 1u << record.lane() : 0;
        case Form::shape:
            return (*shapes_)[record.value()].map().at(byte);
        case Form::cell:
            return record.value();
        case Form::word_map:
            return map_of(record)[byte / word_bytes];
        default:
            return map_of(record)[byte];
    }
}

// Byte by byte and lane by lane; true when there is none.
bool RaceShadow::find_races(const LineAccess& before, std::uint32_t words, const Observer& by, const Touch& touch) {
    const unsigned unit = is_by_bytes(before) || is_by_bytes(touch.record) ? 1 : word_bytes;
    bool none = true;
    for_each(words, [&](unsigned word) {
        for (unsigned byte = word * word_bytes; byte < (word + 1) * word_bytes; byte += unit) {
            const std::uint32_t lanes_before = lanes_at(before, byte), lanes = lanes_at(touch.record, byte);
            if (lanes_before == 0 || lanes == 0) continue;
            none &= find_races_at((touch.line << line_shift) + byte, unit, lanes_before, lanes, before, by);
        }
    });
    return none;
}

bool RaceShadow::find_races_at(std::uint64_t address, unsigned bytes, std::uint32_t lanes_before, std::uint32_t lanes,
                               const LineAccess& before, const Observer& by) {
    bool none = true;
    for_each(lanes, [&](unsigned lane) {
        const unsigned knowing = by.lane == any_lane ? lane : by.lane;
        for (std::uint32_t rest = lanes_before; rest != 0; rest &= rest - 1) {
            const Epoch of = epoch(before.agent(), static_cast<unsigned>(std::countr_zero(rest)), before.time());
            if (order_->knows(by.agent, knowing, of, is_read(before.kind()))) continue;
            add_race({of, pc_of(before, address % line_bytes, of.lane), before.kind(), knowing, address, bytes});
            none = false;
            break;
        }
    });
    return none;
}

std::uint32_t RaceShadow::pc_of(const LineAccess& record, std::uint64_t byte, unsigned lane) const {
    if (record.pc() >= first_sequence) return shapes_->pc_of_word(record.pc(), static_cast<unsigned>(byte) / word_bytes);
    const bool has_parts = record.form() == Form::shape && !(*shapes_)[record.value()].parts.empty();
    return has_parts ? shapes_->pc_of(record.value(), static_cast<unsigned>(byte), lane) : record.pc();
}

void RaceShadow::add_race(const Race& race) {
    if (!races_.empty()) {
        Race& last = races_.back();
        const bool is_same = last.lane == race.lane && last.other.agent == race.other.agent && last.other.lane == race.other.lane &&
                             last.other.time == race.other.time && last.pc == race.pc;
        if (is_same && last.address + last.bytes == race.address) {
            last.bytes += race.bytes;
            return;
        }
    }
    if (races_.size() < most_races) races_.push_back(race);
}

std::optional<Race> RaceShadow::first_race(const RaceFilter* filter) {
    std::ranges::stable_sort(races_, {}, &Race::lane);
    const auto found = std::ranges::find_if(races_, [&](const Race& race) { return filter == nullptr || !filter->lets_go(race); });
    std::optional<Race> race;
    if (found != races_.end()) race = *found;
    races_.clear();
    return race;
}

std::optional<Race> RaceShadow::unknown_write(std::uint64_t begin, std::uint64_t end, const Clock& known, unsigned except) {
    Race unknown;
    const auto is_unknown = [&](const LineAccess& record, std::uint32_t words) {
        return record.is_any() && words != 0 && !is_read(record.kind()) && record.agent() != except &&
               !known.covers_all(record.agent(), record.time(), false) && find_unknown(record, words, known, unknown);
    };
    for (; begin < end; begin = (begin / line_bytes + 1) * line_bytes) {
        const std::uint64_t next = std::min(end, (begin / line_bytes + 1) * line_bytes);
        const std::uint32_t words = words_at(static_cast<unsigned>(begin % line_bytes), static_cast<unsigned>(next - begin));
        const LinePlace place = memory_.line(begin >> line_shift);
        if (place.line->generation != memory_.generation() || (place.line->written & words) == 0) continue;
        unknown.address = begin / line_bytes * line_bytes;
        for (const LineAccess& record : place.line->records)
            if (is_unknown(record, words & words_of(record))) return unknown;
        if (!place.is_extended()) continue;
        for (std::uint32_t rest = place.extension->cells & words; rest != 0; rest &= rest - 1)
            if (is_unknown(place.cells[std::countr_zero(rest)], rest & (0u - rest))) return unknown;
        if (RecordTable* const table = memory_.table(place))
            for (const LineAccess& record : *table)
                if (is_unknown(record, words & words_of(record))) return unknown;
    }
    return std::nullopt;
}

// `unknown`: its address is the line's.
bool RaceShadow::find_unknown(const LineAccess& record, std::uint32_t words, const Clock& known, Race& unknown) const {
    for (; words != 0; words &= words - 1) {
        const auto word = static_cast<unsigned>(std::countr_zero(words));
        for (unsigned byte = word * word_bytes; byte < (word + 1) * word_bytes; ++byte)
            for (std::uint32_t lanes = lanes_at(record, byte); lanes != 0; lanes &= lanes - 1) {
                const Epoch of = epoch(record.agent(), static_cast<unsigned>(std::countr_zero(lanes)), record.time());
                if (known.accesses.covers(of)) continue;
                unknown = {of, pc_of(record, byte, of.lane), record.kind(), 0, unknown.address + byte, 1};
                return true;
            }
    }
    return false;
}

// --- what becomes of the access

// Whether what is before, at some words, may be forgotten: everything that is in a race with it is in one with this.
inline bool RaceShadow::is_dominated(const LineAccess& before, std::uint32_t words, const Observer& by, const Touch& touch) const {
    const LineAccess& record = touch.record;
    if (!is_dominated_kind(before, record)) return false;
    const bool is_own = before.agent() == by.agent && record.agent() == by.agent;
    if (is_own && before.has_same_lanes(record)) return before.form() <= Form::shape;
    return (words & ~touch.whole_words) == 0 &&
           by.common->covers_all(before.agent(), before.time(), is_read(before.kind()));
}

void RaceShadow::add(LinePlace& place, const Observer& by, const Touch& touch) {
    ShadowLine& line = *place.line;
    line.written |= touch.words & by.is_written;
    line.other |= touch.words & by.is_other;
    for (LineAccess& record : line.records) {
        if (!record.is_any()) {
            record = touch.record;
            return;
        }
        if (merge(record, touch.record)) return;
    }
    if (place.is_extended() && merge_in_table(place, touch.record)) return;
    for (LineAccess& record : line.records) {
        if (!is_dominated(record, words_of(record), by, touch)) continue;
        memory_.release(record);
        record = touch.record;
        return;
    }
    if (!place.is_extended() && !memory_.extend(touch.line, place)) return;
    if (std::popcount(touch.words) > most_cells || is_by_bytes(touch.record)) return add_to_table(place, by, touch);
    for_each(add_to_cells(place, by, touch), [&](unsigned word) {
        Touch left = touch;
        left.words = left.whole_words = 1u << word;
        for_each(lanes_at(touch.record, word * word_bytes), [&](unsigned lane) {
            left.record = touch.record.as(Form::words, left.words, lane);
            add_to_table(place, by, left);
        });
    });
}

// The words whose cells are another's.
std::uint32_t RaceShadow::add_to_cells(const LinePlace& place, const Observer& by, const Touch& touch) const {
    const LineAccess& record = touch.record;
    std::uint32_t left = 0;
    for_each(touch.words, [&](unsigned word) {
        LineAccess& cell = place.cells[word];
        const std::uint32_t lanes = lanes_at(record, word * word_bytes);
        const bool is_there = (place.extension->cells >> word & 1) != 0;
        if (is_there && cell.is_same_group(record)) {
            cell.add_to_value(lanes);
            return;
        }
        const bool is_own = is_there && cell.value() == lanes && cell.agent() == by.agent && record.agent() == by.agent;
        if (is_there && (!is_dominated_kind(cell, record) ||
                         (!is_own && !by.common->covers_all(cell.agent(), cell.time(), is_read(cell.kind()))))) {
            left |= 1u << word;
            return;
        }
        place.extension->cells |= 1u << word;
        cell = record.as(Form::cell, lanes);
    });
    return left;
}

bool RaceShadow::merge_in_table(const LinePlace& place, const LineAccess& record) const {
    RecordTable* const table = memory_.table(place);
    if (table == nullptr) return false;
    for (unsigned at = table->first_slot(record); table->begin()[at].is_any(); at = at + 1 == table->capacity ? 0 : at + 1)
        if (merge(table->begin()[at], record)) return true;
    return false;
}

void RaceShadow::add_to_table(const LinePlace& place, const Observer& by, const Touch& touch) {
    if (place.extension->table == 0 && !grow_table(place)) return;
    while (true) {
        RecordTable& table = *memory_.table(place);
        unsigned at = table.first_slot(touch.record);
        for (; table.begin()[at].is_any(); at = at + 1 == table.capacity ? 0 : at + 1) {
            LineAccess& record = table.begin()[at];
            if (record.is_same_group(touch.record)) {
                if (!merge(record, touch.record)) make_map(record, touch.record, *place.line);
                return;
            }
            if (!record.is_by_same(touch.record) || !is_dominated(record, words_of(record), by, touch)) continue;
            memory_.release(record);
            record = touch.record;
            return;
        }
        if ((table.count + 1) * 4 <= table.capacity * 3) {
            ++table.count;
            table.begin()[at] = touch.record;
            return;
        }
        if (!grow_table(place)) return;
    }
}

bool RaceShadow::is_known_to_all(const LineAccess& record) const {
    const bool reads = is_read(record.kind());
    if (!reads && fenced_ != nullptr && !fenced_->covers_all(record.agent(), record.time(), false)) return false;
    return order_->is_known_to_all(record.agent(), record.time(), reads);
}

// A larger table, or as large a one without what is known to everybody.
bool RaceShadow::grow_table(const LinePlace& place) {
    constexpr unsigned most_units = 256;
    std::vector<LineAccess> records;
    unsigned units = warps_of_cta_ > 16 ? 4 : warps_of_cta_ > 4 ? 2 : 1;  // as many as there may be readers
    if (RecordTable* const before = memory_.table(place)) {
        for (const LineAccess& record : *before) {
            if (!record.is_any()) continue;
            if (is_known_to_all(record)) memory_.release(record);
            else records.push_back(record);
        }
        units = records.size() * 2 > before->count ? before->units * 2 : before->units;
        memory_.arena().free(place.extension->table, before->units);
        place.extension->table = 0;
    }
    const std::uint32_t at = units <= most_units ? memory_.allocate(units, *place.line) : 0;
    if (at == 0) return false;
    place.extension->table = at;
    auto* const table = new (memory_.arena().at(at)) RecordTable;
    table->units = units;
    table->capacity = static_cast<std::uint32_t>(units * ShadowArena::unit / sizeof(LineAccess) - 1);
    std::fill(table->begin(), table->end(), LineAccess{});
    for (const LineAccess& record : records) {
        unsigned slot = table->first_slot(record);
        while (table->begin()[slot].is_any()) slot = slot + 1 == table->capacity ? 0 : slot + 1;
        table->begin()[slot] = record;
        ++table->count;
    }
    return true;
}

// More lanes of the same epoch; false where they need a record of their own, or a map.
inline bool RaceShadow::merge(LineAccess& into, const LineAccess& record) const {
    if (into.form() == Form::shape && record.form() == Form::shape && into.is_same_epoch(record)) {
        const ShapeId both = shapes_->unite(into.value(), into.pc(), record.value(), record.pc());
        if (both != ShapeTable::none) into.set_value(both);
        return both != ShapeTable::none;
    }
    if (into.form() == Form::words && into.is_same_thread(record)) return merge_words(into, record.pc(), record.value());
    if (!into.is_same_group(record)) return false;
    if (into.form() == Form::word_map && !is_by_bytes(record)) {
        add_lanes(record, map_of(into), false);
        return true;
    }
    if (into.form() == Form::byte_map) {
        add_lanes(record, map_of(into), true);
        return true;
    }
    if (into.form() != Form::bytes || record.form() != Form::bytes || into.lane() != record.lane()) return false;
    const std::uint32_t begin = into.value() & 0xFF, end = begin + (into.value() >> 8), first = record.value() & 0xFF;
    if (first < begin || first > end) return false;
    into.set_value(begin | (std::max(end, first + (record.value() >> 8)) - begin) << 8);
    return true;
}

void RaceShadow::make_map(LineAccess& into, const LineAccess& record, const ShadowLine& line) {
    const bool by_bytes = is_by_bytes(into) || is_by_bytes(record);
    const unsigned units = by_bytes ? 4 : 1;
    const std::uint32_t place = memory_.allocate(units, line);
    if (place == 0) return;
    auto* const lanes = reinterpret_cast<std::uint32_t*>(memory_.arena().at(place));
    std::memset(lanes, 0, units * ShadowArena::unit);
    add_lanes(into, lanes, by_bytes);
    add_lanes(record, lanes, by_bytes);
    memory_.release(into);
    into = into.as(by_bytes ? Form::byte_map : Form::word_map, place);
}

void RaceShadow::add_lanes(const LineAccess& record, std::uint32_t* lanes, bool by_bytes) const {
    if (record.form() == Form::words && !by_bytes)
        return for_each(record.value(), [&](unsigned word) { lanes[word] |= 1u << record.lane(); });
    const unsigned unit = by_bytes ? 1 : word_bytes;
    for (unsigned byte = 0; byte < line_bytes; byte += unit) lanes[byte / unit] |= lanes_at(record, byte);
}

}  // namespace ptxgraft::emulator
