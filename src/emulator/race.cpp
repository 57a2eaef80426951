// Which lines of shadow memory an instruction accesses.
#include "emulator/race.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ptxgraft::emulator {
namespace {

// Where the lanes of an access lie farther apart, most have a line of their own, and each is noted by itself.
constexpr std::uint64_t most_pattern_lines = 64;
constexpr unsigned bit(AccessKind kind) { return 1u << static_cast<unsigned>(kind); }
constexpr unsigned all_kinds = bit(AccessKind::read) | bit(AccessKind::write) | bit(AccessKind::strong_read) |
                               bit(AccessKind::strong_write) | bit(AccessKind::atomic) | bit(AccessKind::reduction);

// By kind: the kinds of earlier accesses that it may be in a race with, whatever their reach.
constexpr unsigned conflicts_of[] = {
    bit(AccessKind::write) | bit(AccessKind::strong_write) | bit(AccessKind::reduction),
    all_kinds,
    bit(AccessKind::write),
    bit(AccessKind::read) | bit(AccessKind::write),
    bit(AccessKind::write),
    bit(AccessKind::read) | bit(AccessKind::write),
};
constexpr unsigned index(AccessKind kind) { return static_cast<unsigned>(kind); }

}  // namespace

void RaceShadow::begin(std::size_t limit, const Clock* fenced) {
    limit_ = limit;
    fenced_ = fenced;
    memory_.begin(limit);
    races_.clear();
}

RaceShadow::Observer RaceShadow::observer(AccessKind kind, Reach reach, unsigned agent, unsigned lane) const {
    constexpr std::uint32_t yes = ~0u, no = 0;
    const bool narrow = reach == Reach::cta, reads = is_read(kind), weak = is_weak(kind);
    const bool is_update = !reads && !weak;
    return {.common = &order_->common(agent),
            .agent = agent,
            .lane = lane,
            .sees_written = !is_update || narrow ? yes : no,
            .sees_other = !reads || narrow ? yes : no,
            .is_written = !reads ? yes : no,
            .is_other = weak || reads || narrow ? yes : no,
            .conflicts = conflicts_of[index(kind)],
            .generation = memory_.generation(),
            .is_narrow = narrow};
}

// --- which lines an instruction accesses

std::optional<Race> RaceShadow::note(const LaneAccesses& accesses, std::uint32_t mask, const RaceFilter* filter) {
    const Observer by = observer(accesses.kind, accesses.reach, accesses.warp, any_lane);
    const LineAccess as(order_->access(accesses.warp), accesses.pc, accesses.warp, accesses.kind, accesses.reach);
    if (accesses.consecutive || accesses.all_equal) note_consecutive(accesses, by, as);
    else if (std::has_single_bit(mask) || !note_pattern(accesses, mask, by, as)) note_lanes(accesses, mask, by, as);
    if (races_.empty()) [[likely]] return std::nullopt;
    return first_race(filter);
}

// By all lanes, in a row or at one place.
void RaceShadow::note_consecutive(const LaneAccesses& accesses, const Observer& by, const LineAccess& as) {
    const std::uint64_t first = accesses.begin + accesses.offsets[0];
    const unsigned count = accesses.consecutive ? 32 : 1;
    const std::uint64_t last_line = (first + std::uint64_t{accesses.bytes} * count - 1) >> line_shift;
    Touch touch;
    for (std::uint64_t line = first >> line_shift; line <= last_line; ++line) {
        const auto delta = static_cast<int>(static_cast<std::int64_t>(first - (line << line_shift)));
        const ShapeId id = accesses.consecutive ? shapes_->consecutive(accesses.bytes, delta)
                                                : shapes_->broadcast(accesses.bytes, static_cast<unsigned>(delta));
        const Shape& shape = (*shapes_)[id];
        touch.record = as.as(Form::shape, id);
        touch.words = shape.words;
        touch.whole_words = shape.whole_words;
        touch.is_private = shape.is_private || by.is_written == 0;
        touch.line = line;
        note_line(memory_.line(line), by, touch);
    }
}

// Lane by lane.
void RaceShadow::note_lanes(const LaneAccesses& accesses, std::uint32_t mask, const Observer& by, const LineAccess& as) {
    const std::uint64_t first = (accesses.begin + accesses.least) >> line_shift, last = (accesses.begin + accesses.most) >> line_shift;
    if (mask == ~0u && accesses.bytes == 4 && ShadowMemory::are_near(first, last)) return note_near_words(accesses, by, as);
    std::array<LinePlace, 32> places;
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(rest));
        const std::uint64_t address = accesses.begin + accesses.offsets[lane];
        places[lane] = memory_.line(address >> line_shift);
        __builtin_prefetch(places[lane].line);
        if (places[lane].cells != nullptr) __builtin_prefetch(places[lane].cells + address / 4 % line_words);
    }
    const bool is_words = accesses.bytes % 4 == 0;
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(rest));
        const std::uint64_t address = accesses.begin + accesses.offsets[lane];
        const auto at = static_cast<unsigned>(address % line_bytes);
        // What is forgotten for want of memory may be the chunk of a lane behind: its line is looked for anew then.
        const bool is_certain = !memory_.has_forgotten();
        const std::uint32_t words = word_mask(at / 4, accesses.bytes / 4);
        if (is_words && is_certain && note_words(places[lane], 0, by, as.as(Form::words, 0, lane), words)) continue;
        note_lane(memory_.line(address >> line_shift), address >> line_shift, by, as.of_bytes(lane, at, accesses.bytes), at, accesses.bytes);
    }
}

// A word for each lane, in one chunk: the usual irregular access.
void RaceShadow::note_near_words(const LaneAccesses& accesses, const Observer& by, const LineAccess& as) {
    const std::uint64_t first_line = (accesses.begin + accesses.least) >> line_shift;
    const auto shift = static_cast<std::uint32_t>(accesses.begin - (first_line << line_shift));
    LinePlace first = memory_.line(first_line);
    for (unsigned lane = 0; lane < 32; ++lane) {
        const std::uint32_t offset = accesses.offsets[lane] + shift, behind = offset >> line_shift;
        if (note_words(first, behind, by, as.as(Form::words, 0, lane), 1u << (offset / 4 & (line_words - 1)))) continue;
        const unsigned at = offset % unsigned{line_bytes};
        note_lane(memory_.line(first_line + behind), first_line + behind, by, as.of_bytes(lane, at, 4), at, 4);
        first = memory_.line(first_line);  // it may have got an extension
    }
}

void RaceShadow::note_lane(const LinePlace& place, std::uint64_t number, const Observer& by, const LineAccess& as, unsigned at,
                           unsigned bytes) {
    note_line(place, by, {as, number, words_at(at, bytes), whole_words_at(at, bytes)});
}

// Of lanes that lie near each other, as others of the instruction did before; false: they are to be noted one by one.
bool RaceShadow::note_pattern(const LaneAccesses& accesses, std::uint32_t mask, const Observer& by, const LineAccess& as) {
    std::uint64_t least = accesses.least, most = accesses.most;
    if (mask != ~0u) {
        least = ~0u, most = 0;
        for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
            const std::uint32_t offset = accesses.offsets[std::countr_zero(rest)];
            least = std::min<std::uint64_t>(least, offset), most = std::max<std::uint64_t>(most, offset);
        }
    }
    const std::uint64_t first_line = (accesses.begin + least) >> line_shift;
    if (((accesses.begin + most) >> line_shift) - first_line >= most_pattern_lines) return false;
    const AccessPattern* const pattern =
        patterns_->find(accesses, mask, static_cast<std::uint32_t>(accesses.begin - (first_line << line_shift)), *shapes_);
    if (pattern == nullptr) return false;
    Touch touch;
    for (const AccessPattern::Part& part : pattern->parts) {
        touch.record = as.as(part.form, part.value, part.lane);
        touch.words = part.words;
        touch.whole_words = part.whole_words;
        touch.is_private = part.is_private || by.is_written == 0;
        touch.line = first_line + part.line;
        note_line(memory_.line(touch.line), by, touch);
    }
    return true;
}

std::optional<Race> RaceShadow::note(std::uint64_t begin, std::uint64_t end, AccessKind kind, const Accessor& by, std::uint32_t pc,
                                     const RaceFilter* filter) {
    const Observer observing = observer(kind, Reach::cluster, by.agent, by.lane);
    const LineAccess as(by.epoch.time, pc, by.epoch.agent, kind, Reach::cluster);
    while (begin < end) {
        const std::uint64_t number = begin >> line_shift, next = std::min(end, (number + 1) << line_shift);
        const auto at = static_cast<unsigned>(begin % line_bytes), bytes = static_cast<unsigned>(next - begin);
        const Touch touch{as.of_bytes(by.epoch.lane, at, bytes), number, words_at(at, bytes), whole_words_at(at, bytes)};
        note_line(memory_.line(number), observing, touch);
        begin = next;
    }
    if (races_.empty()) [[likely]] return std::nullopt;
    return first_race(filter);
}

}  // namespace ptxgraft::emulator
