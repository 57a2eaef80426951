// Accesses that lie alike on their lines are laid out once, and found again by their offsets.
#include "emulator/races/race_patterns.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "emulator/memory/lanes.hpp"

namespace ptxgraft::emulator {
namespace {

constexpr std::size_t most_patterns = 2048;
// Misses in a row after which an instruction counts as irregular, for some accesses; then it is tried again a
// few times, and counts as irregular for twice as many where it misses again.
constexpr unsigned many_misses = 10, few_misses = 2, first_skipped = 512, most_skipped = 1u << 15;

}  // namespace

void PatternTable::begin(const void* program) {
    if (std::exchange(program_, program) != program) instructions_.fill({});
}

// A pattern that is new, unless the instruction has had too many.
const AccessPattern* PatternTable::miss(const LaneAccesses& accesses, std::uint32_t mask, std::uint32_t shift,
                                        ShapeTable& shapes) {
    Instruction& instruction = instruction_of(accesses);
    if (++instruction.misses > many_misses) {
        const unsigned next = std::clamp(2u * instruction.last_skipped, first_skipped, most_skipped);
        instruction.misses = many_misses - few_misses;
        instruction.skipped = instruction.last_skipped = static_cast<std::uint16_t>(next);
        return nullptr;
    }
    return add(set_of(accesses, mask, shift), accesses, mask, shift, shapes);
}

const AccessPattern* PatternTable::add(Set& set, const LaneAccesses& accesses, std::uint32_t mask,
                                       std::uint32_t shift, ShapeTable& shapes) {
    std::uint32_t& place = set.patterns[set.next++ % set.patterns.size()];
    if (place == 0) {
        if (patterns_.size() >= most_patterns) return nullptr;
        patterns_.emplace_back();
        place = static_cast<std::uint32_t>(patterns_.size());
    }
    AccessPattern& pattern = patterns_[place - 1];
    pattern = {.mask = mask, .bytes = accesses.bytes, .parts = std::move(pattern.parts)};
    each_bit(mask, [&](unsigned lane) { pattern.offsets[lane] = accesses.offsets[lane] + shift; });
    if (make_parts(pattern, shapes)) return &pattern;
    pattern.mask = 0;
    return nullptr;
}

bool PatternTable::make_parts(AccessPattern& pattern, ShapeTable& shapes) {
    pattern.parts.clear();
    for (std::uint32_t rest = pattern.mask; rest != 0;) {
        const std::uint32_t line = pattern.offsets[first_lane(rest)] >> line_shift;
        std::uint32_t lanes = 0;
        each_bit(rest, [&](unsigned lane) {
            lanes |= (pattern.offsets[lane] >> line_shift == line ? 1u : 0u) << lane;
        });
        rest &= ~lanes;
        pattern.parts.push_back({.line = line});
        if (!make_part(pattern, lanes, pattern.parts.back(), shapes)) return false;
    }
    return true;
}

bool PatternTable::make_part(const AccessPattern& pattern, std::uint32_t lanes, AccessPattern::Part& part,
                             ShapeTable& shapes) {
    const auto place_of = [&](unsigned lane) { return pattern.offsets[lane] % unsigned{line_bytes}; };
    if (std::has_single_bit(lanes)) {
        const auto lane = first_lane(lanes), at = place_of(lane);
        const Record record = Record::of_bytes(0, lane, at, pattern.bytes);
        part.tag = record.tag, part.value = record.value;
        part.words = words_at(at, pattern.bytes), part.whole_words = whole_words_at(at, pattern.bytes);
        return true;
    }
    Shape shape = Shape::empty(pattern.bytes < word_bytes);
    const unsigned unit = shape.by_bytes ? 1 : 4;
    each_bit(lanes, [&](unsigned lane) {
        for (unsigned byte = place_of(lane), end = byte + pattern.bytes; byte < end; byte += unit)
            shape.lanes[byte / unit] |= 1u << lane;
    });
    part.tag = Record::tag_of(Form::shape);
    part.value = shapes.intern(std::move(shape));
    if (part.value == ShapeTable::none) return false;
    const Shape& made = shapes[part.value];
    part.words = made.words, part.whole_words = made.whole_words, part.is_private = made.is_private;
    return true;
}

}  // namespace ptxgraft::emulator
