// Which lines of shadow memory an instruction accesses.
#include "emulator/races/race.hpp"

#include <algorithm>
#include <array>

namespace ptxgraft::emulator {
namespace {

// Where the lanes of an access lie farther apart, most have a line of their own, and each is noted by itself.
constexpr std::uint64_t most_pattern_lines = 64;
// Copies are of rows, which lanes share, however far apart.
constexpr std::uint64_t most_pattern_lines_of_copies = std::uint64_t{1} << 20;

}  // namespace

RaceShadow::RaceShadow(Order& order, RaceStorage& storage, ShadowMemory& memory, unsigned warps_of_cta,
                       const LaneFunctions& functions)
    : order_(&order),
      shapes_(&storage.shapes),
      patterns_(&storage.patterns),
      cursors_(&memory == &storage.shared ? &storage.shared_cursors : &storage.global_cursors),
      memory_(&memory),
      lane_functions_(&functions),
      warps_of_cta_(warps_of_cta) {}

void RaceShadow::begin(std::size_t limit, std::optional<FencedSpace> fenced) {
    limit_ = limit;
    fenced_ = fenced;
    memory_->begin(limit);
    races_.clear();
}

const RaceShadow::Relation& RaceShadow::relation_of(const AccessInfo& info) {
    static constexpr auto all = [] {
        constexpr std::uint32_t yes = ~0u, no = 0;
        std::array<Relation, 1u << AccessInfo::kind_bits> made = {};
        for (std::uint32_t i = 0; i < made.size(); ++i) {
            const AccessInfo one{.who = i << AccessInfo::agent_bits};
            const bool narrow = one.is_narrow(), reads = is_read(one.kind()), weak = is_weak(one.kind());
            made[i] = {.sees_written = reads || weak || narrow ? yes : no,
                       .sees_other = !reads || narrow ? yes : no,
                       .sees_strong = weak || narrow ? yes : no,
                       .is_written = !reads ? yes : no,
                       .is_other = weak || reads || narrow ? yes : no,
                       .is_weak = weak || narrow ? yes : no};
        }
        return made;
    }();
    return all[info.who >> AccessInfo::agent_bits];
}

RaceShadow::Observer RaceShadow::observer(const AccessInfo& info, AccessId id, unsigned agent,
                                          unsigned lane) const {
    return {relation_of(info), id, info, &order_->common(agent), agent, lane};
}

// Of lanes that lie near each other, as others of the instruction did before; false: they are to be noted one
// by one.
inline bool RaceShadow::note_pattern(const LaneAccesses& accesses, std::uint32_t mask, const Observer& by) {
    std::uint64_t least = accesses.least, most = accesses.most;
    if (mask != ~0u) {
        least = ~0u, most = 0;
        each_bit(mask, [&](unsigned lane) {
            least = std::min<std::uint64_t>(least, accesses.offsets[lane]);
            most = std::max<std::uint64_t>(most, accesses.offsets[lane]);
        });
    }
    const std::uint64_t first_line = (accesses.begin + least) >> line_shift;
    const std::uint64_t most_lines = accesses.by ? most_pattern_lines_of_copies : most_pattern_lines;
    if (((accesses.begin + most) >> line_shift) - first_line >= most_lines) return false;
    const AccessPattern* const pattern = patterns_->find(
        accesses, mask, static_cast<std::uint32_t>(accesses.begin - (first_line << line_shift)), *shapes_);
    if (pattern == nullptr) return false;
    for (const AccessPattern::Part& part : pattern->parts) {
        const std::uint64_t number = first_line + part.line;
        note_line(memory_->line(number), by,
                  {{by.id, part.value, part.tag},
                   number,
                   part.words,
                   part.whole_words,
                   part.is_private || by.is_written == 0});
    }
    return true;
}

std::optional<Race> RaceShadow::note(const LaneAccesses& accesses, std::uint32_t mask,
                                     const EqualStores* equal) {
    races_.clear();
    // no other CTA is there that the scope .cta could leave out
    const Reach reach = order_->warps() == warps_of_cta_ ? Reach::cluster : accesses.reach;
    const unsigned agent = accesses.by ? accesses.by->agent : accesses.warp;
    const AccessInfo info{accesses.by ? accesses.by->time : order_->access(accesses.warp), accesses.pc,
                          AccessInfo::who_of(agent, accesses.kind, reach)};
    const Observer by = observer(info, memory_->access(info), accesses.warp, any_lane);
    if (accesses.consecutive || accesses.all_equal)
        note_consecutive(accesses, by);
    else if (is_one_lane(mask) || !note_pattern(accesses, mask, by))
        note_lanes(accesses, mask, by);
    if (races_.empty()) [[likely]]
        return std::nullopt;
    return first_race(equal);
}

// By all lanes, in a row or at one place.
void RaceShadow::note_consecutive(const LaneAccesses& accesses, const Observer& by) {
    const std::uint64_t first = accesses.begin + accesses.offsets[0];
    const unsigned count = accesses.consecutive ? 32 : 1;
    const std::uint64_t last_line = (first + std::uint64_t{accesses.bytes} * count - 1) >> line_shift;
    for (std::uint64_t number = first >> line_shift; number <= last_line; ++number) {
        const auto delta = static_cast<int>(static_cast<std::int64_t>(first - (number << line_shift)));
        const ShapeId id = accesses.consecutive
                               ? shapes_->consecutive(accesses.bytes, delta)
                               : shapes_->broadcast(accesses.bytes, static_cast<unsigned>(delta));
        const Shape& shape = (*shapes_)[id];
        note_line(memory_->line(number), by,
                  {{by.id, id, Record::tag_of(Form::shape)},
                   number,
                   shape.words,
                   shape.whole_words,
                   shape.is_private || by.is_written == 0});
    }
}

// Lane by lane.
void RaceShadow::note_lanes(const LaneAccesses& accesses, std::uint32_t mask, const Observer& by) {
    const bool may_walk = mask == ~0u && accesses.bytes % word_bytes == 0 && !accesses.by;
    if (may_walk && note_cursors(accesses, by)) return;
    const std::uint64_t first = (accesses.begin + accesses.least) >> line_shift,
                        last = (accesses.begin + accesses.most) >> line_shift;
    if (mask == ~0u && accesses.bytes == word_bytes && !accesses.by && ShadowMemory::are_near(first, last))
        return note_near_words(accesses, by);
    // Words are not looked at as those of a thread, which accesses one after the other, where it is not one.
    if (accesses.bytes != word_bytes || is_one_lane(mask) || accesses.by)
        return each_bit(mask, [&](unsigned lane) {
            note_bytes(accesses.begin + accesses.offsets[lane], accesses.bytes, by, lane);
        });
    std::array<LinePlace, 32> places;
    each_bit(mask, [&](unsigned lane) {
        const std::uint64_t address = accesses.begin + accesses.offsets[lane];
        places[lane] = memory_->line(address >> line_shift);
        if (places[lane].chunk->cells != nullptr)
            __builtin_prefetch(places[lane].cells() + address / word_bytes % line_words, 1);
        if (places[lane].has_records()) __builtin_prefetch(&places[lane].line());
    });
    each_bit(mask, [&](unsigned lane) {
        const std::uint64_t address = accesses.begin + accesses.offsets[lane];
        // What is forgotten for want of memory may be the chunk of a lane behind: its line is looked for anew
        // then.
        const LinePlace place =
            memory_->has_forgotten() ? memory_->line(address >> line_shift) : places[lane];
        if (!note_word(place, by, lane, address / word_bytes % line_words))
            note_bytes(address, word_bytes, by, lane);
    });
}

// A word for each lane, in one chunk.
void RaceShadow::note_near_words(const LaneAccesses& accesses, const Observer& by) {
    const std::uint64_t first_line = (accesses.begin + accesses.least) >> line_shift;
    const auto shift = static_cast<std::uint32_t>(accesses.begin - (first_line << line_shift));
    const LinePlace first = memory_->line(first_line);
    for (unsigned lane = 0; lane < 32; ++lane) {
        const std::uint32_t offset = accesses.offsets[lane] + shift;
        if (!note_word({first.chunk, first.at + (offset >> line_shift)}, by, lane,
                       offset / word_bytes % line_words))
            note_bytes(accesses.begin + accesses.offsets[lane], word_bytes, by, lane);
    }
}

void RaceShadow::note_bytes(std::uint64_t address, unsigned bytes, const Observer& by, unsigned lane) {
    const auto at = static_cast<unsigned>(address % line_bytes);
    const std::uint64_t number = address >> line_shift;
    note_line(
        memory_->line(number), by,
        {Record::of_bytes(by.id, lane, at, bytes), number, words_at(at, bytes), whole_words_at(at, bytes)});
}

std::optional<Race> RaceShadow::note(std::uint64_t begin, std::uint64_t end, AccessKind kind,
                                     const Accessor& by, std::uint32_t pc, const EqualStores* equal) {
    races_.clear();
    const AccessInfo info{by.epoch.time, pc, AccessInfo::who_of(by.epoch.agent, kind, Reach::cluster)};
    const Observer observing = observer(info, memory_->access(info), by.agent, by.lane);
    while (begin < end) {
        const std::uint64_t next = std::min(end, (begin / line_bytes + 1) * line_bytes);
        note_bytes(begin, static_cast<unsigned>(next - begin), observing, by.epoch.lane);
        begin = next;
    }
    if (races_.empty()) [[likely]]
        return std::nullopt;
    return first_race(equal);
}

}  // namespace ptxgraft::emulator
