// Races of lanes that walk over memory each by itself.
#include "emulator/races/race_cursors.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "emulator/races/race.hpp"

namespace ptxgraft::emulator {
namespace {

constexpr unsigned most_misses = 3, skipped_accesses = 512;
constexpr int many_moved = 16;

}  // namespace

LaneCursors::Way* LaneCursors::find(AccessId id) {
    for (unsigned i = 0; i < way_count; ++i)
        if (ways[i].id == id) return &ways[i];
    if (way_count == ways.size()) return nullptr;
    ways[way_count].id = id;
    ways[way_count].words.fill(0);
    return &ways[way_count++];
}

LaneCursors* CursorTable::find(unsigned agent, std::uint32_t pc, std::uint64_t begin,
                               std::uint32_t first_line, std::uint32_t& index) {
    Known& known = known_[(pc * 0x9E3779B1u ^ agent * 0x85EBCA77u) >> 23];
    if (known.index == 0 || known.agent != agent || known.pc != pc)
        known = {agent, pc, choose(agent, begin, first_line)};
    index = known.index - 1;
    LaneCursors& found = *cursors_[index];
    if (found.skipped != 0) {
        --found.skipped;
        return nullptr;
    }
    return &found;
}

// Those of other instructions that are on the same lines, or new ones, or others'.
std::uint32_t CursorTable::choose(unsigned agent, std::uint64_t begin, std::uint32_t first_line) {
    if (agent >= agents_.size()) agents_.resize(agent + 1);
    Agent& of = agents_[agent];
    for (const std::uint32_t index : of.cursors)
        if (index != 0 && cursors_[index - 1]->begin == begin && cursors_[index - 1]->lines[0] == first_line)
            return index;
    std::uint32_t& chosen = of.cursors[of.next++ % per_agent];
    if (chosen != 0) return chosen;
    cursors_.push_back(std::make_unique<LaneCursors>());
    cursors_.back()->lines.fill(LaneCursors::no_line);
    cursors_.back()->agent = agent;
    return chosen = static_cast<std::uint32_t>(cursors_.size());
}

// False: the lanes are to be noted one by one.
bool RaceShadow::note_cursors(const LaneAccesses& accesses, const Observer& by) {
    const std::uint64_t begin = accesses.begin >> line_shift;
    const auto shift = static_cast<std::uint32_t>(accesses.begin % line_bytes);
    std::uint32_t index = 0;
    LaneCursors* const cursors =
        cursors_->find(by.agent, by.info.pc, begin, (accesses.offsets[0] + shift) >> line_shift, index);
    if (cursors == nullptr) return false;
    const bool is_of_now =
        cursors->generation == memory_->generation() && cursors->forgotten == memory_->forgotten();
    if (!is_of_now || cursors->begin != begin || cursors->time != by.info.time)
        begin_cursors(*cursors, index, begin, by);
    LaneCursors::Way* way = cursors->find(by.id);
    if (way == nullptr) {
        begin_cursors(*cursors, index, begin, by);
        way = cursors->find(by.id);
    }
    const std::uint32_t word = word_mask(0, accesses.bytes / word_bytes);
    const std::uint32_t moved =
        lane_functions_->walk(way->words.data(), cursors->lines.data(), accesses.offsets, shift, word);
    each_bit(moved, [&](unsigned lane) {
        leave(*cursors, index, lane);
        const std::uint32_t at = accesses.offsets[lane] + shift;
        enter(*cursors, index, lane, at, accesses.bytes, by);
        if (cursors->lines[lane] != LaneCursors::no_line)
            way->words[lane] = word << at / word_bytes % line_words;
    });
    cursors->misses =
        std::popcount(moved) >= many_moved ? static_cast<std::uint8_t>(cursors->misses + 1) : std::uint8_t{0};
    if (cursors->misses > most_misses) cursors->misses = 0, cursors->skipped = skipped_accesses;
    return true;
}

void RaceShadow::begin_cursors(LaneCursors& cursors, std::uint32_t index, std::uint64_t begin,
                               const Observer& by) {
    if (cursors.generation == memory_->generation())
        for (unsigned lane = 0; lane < 32; ++lane) leave(cursors, index, lane);
    cursors.lines.fill(LaneCursors::no_line);
    cursors.begin = begin;
    cursors.generation = memory_->generation();
    cursors.forgotten = memory_->forgotten();
    cursors.time = by.info.time;
    cursors.way_count = cursors.left_count = 0;
}

// A line that nobody has accessed is the lane's; else the access is noted there.
void RaceShadow::enter(LaneCursors& cursors, std::uint32_t index, unsigned lane, std::uint32_t at,
                       unsigned bytes, const Observer& by) {
    const std::uint32_t line = at >> line_shift;
    const LinePlace place = memory_->line(cursors.begin + line);
    if (place.has_records() || place.has_cells())
        return note_bytes((cursors.begin << line_shift) + at, bytes, by, lane);
    place.set_records();
    place.line().clear();
    place.line().written = place.line().other = ~0u;  // whoever comes has to look
    place.line().set(0, {by.id, index, Record::tag_of(Form::cursor, lane)});
    cursors.lines[lane] = line;
}

// The line gets records of what the lane has accessed there.
void RaceShadow::leave(LaneCursors& cursors, std::uint32_t index, unsigned lane) {
    if (cursors.lines[lane] == LaneCursors::no_line) return;
    const LinePlace place = memory_->known_line(cursors.begin + cursors.lines[lane]);
    cursors.lines[lane] = LaneCursors::no_line;
    LaneCursors::Words words;
    for (unsigned i = 0; i < cursors.way_count; ++i)
        words[i] = std::exchange(cursors.ways[i].words[lane], 0u);
    if (place.chunk == nullptr || !place.has_records()) return;
    ShadowLine& line = place.line();
    const Record named = line.get(0);
    if (named.form() != Form::cursor || named.value != index || named.lane() != lane) return;
    const auto is_same = [&] {
        return std::equal(words.begin(), words.begin() + cursors.way_count, cursors.left_words.begin());
    };
    if (cursors.left_count == cursors.way_count && is_same()) {
        line = cursors.left;
        line.tags.fill(Record::tag_of(Form::words, lane));
    } else {
        leave_first(cursors, lane, words, place);
    }
}

// Other lanes are going to leave lines that they have accessed in the same way.
void RaceShadow::leave_first(LaneCursors& cursors, unsigned lane, const LaneCursors::Words& words,
                             const LinePlace& place) {
    ShadowLine& line = place.line();
    line.clear();
    line.written = line.other = 0;
    for (unsigned i = 0; i < cursors.way_count; ++i) {
        if (words[i] == 0) continue;
        const AccessId id = cursors.ways[i].id;
        const AccessInfo info = memory_->info(id);
        const Record record{id, words[i], Record::tag_of(Form::words, lane)};
        add_to_table(place, observer(info, id, cursors.agent, any_lane),
                     {.record = record, .words = words[i], .whole_words = words[i]});
    }
    cursors.left = line;
    cursors.left_words = words;
    cursors.left_count = line.table == 0 ? cursors.way_count : 0;
}

}  // namespace ptxgraft::emulator
