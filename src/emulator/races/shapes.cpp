// How the lanes of an access lie on a line, interned: equal shapes have one number.
#include "emulator/races/shapes.hpp"

#include <utility>

namespace ptxgraft::emulator {
namespace {

std::uint64_t content_hash(const Shape& shape) {
    std::uint64_t hash = shape.by_bytes ? 1 : 2;
    for (const std::uint32_t lanes : shape.lanes)
        hash = (hash ^ lanes) * 0x9E3779B97F4A7C15u, hash ^= hash >> 29;
    return hash;
}

// What follows from the lanes.
void finish(Shape& shape) {
    shape.words = shape.whole_words = 0;
    shape.is_private = true;
    const unsigned per_word = shape.by_bytes ? 4 : 1;
    for (unsigned word = 0; word < line_words; ++word) {
        unsigned accessed = 0;
        for (unsigned i = 0; i < per_word; ++i) {
            const std::uint32_t lanes = shape.lanes[word * per_word + i];
            accessed += lanes != 0 ? 1 : 0;
            shape.is_private &= (lanes & (lanes - 1)) == 0;
        }
        shape.words |= (accessed != 0 ? 1u : 0u) << word;
        shape.whole_words |= (accessed == per_word ? 1u : 0u) << word;
    }
}

}  // namespace

Shape Shape::empty(bool by_bytes) {
    Shape shape;
    shape.by_bytes = by_bytes;
    shape.lanes.resize(by_bytes ? line_bytes : line_words);
    return shape;
}

ShapeTable::ShapeTable() {
    for (auto& row : consecutive_) row.fill(none);
    for (auto& row : broadcast_) row.fill(none);
}

ShapeId ShapeTable::intern(Shape shape, std::size_t most) {
    const std::uint64_t hash = content_hash(shape);
    const auto [first, last] = known_.equal_range(hash);
    for (auto known = first; known != last; ++known) {
        const Shape& other = shapes_[known->second];
        if (other.by_bytes == shape.by_bytes && other.lanes == shape.lanes) return known->second;
    }
    if (shapes_.size() >= most) return none;
    finish(shape);
    shapes_.push_back(std::move(shape));
    const auto id = static_cast<ShapeId>(shapes_.size() - 1);
    known_.emplace(hash, id);
    return id;
}

// There are few of these, and always room for them.
ShapeId ShapeTable::add_consecutive(unsigned bytes, int delta) {
    Shape shape = Shape::empty(bytes < 4);
    const int unit = bytes < 4 ? 1 : 4;
    for (int lane = 0; lane < 32; ++lane)
        for (int at = delta + lane * static_cast<int>(bytes), end = at + static_cast<int>(bytes); at < end;
             at += unit)
            if (at >= 0 && at < static_cast<int>(line_bytes))
                shape.lanes[static_cast<std::size_t>(at / unit)] |= 1u << lane;
    const ShapeId id = intern(std::move(shape), none);
    return consecutive_[log2(bytes)][static_cast<unsigned>(delta / static_cast<int>(bytes) + 32)] = id;
}

ShapeId ShapeTable::broadcast(unsigned bytes, unsigned at) {
    ShapeId& known = broadcast_[log2(bytes)][at / bytes];
    if (known != none) return known;
    Shape shape = Shape::empty(bytes < 4);
    const unsigned unit = bytes < 4 ? 1 : 4;
    for (unsigned byte = at; byte < at + bytes; byte += unit) shape.lanes[byte / unit] = ~0u;
    return known = intern(std::move(shape), none);
}

ShapeId ShapeTable::find_union(Union wanted) {
    auto found = unions_.find(wanted);
    if (found == unions_.end()) {
        if (unions_.size() >= most_shapes) return none;
        wanted.value = make_union(wanted);
        if (wanted.value == none) return none;
        found = unions_.insert(wanted).first;
    }
    lately_[UnionHash()(wanted) % lately_.size()] = *found;
    return found->value;
}

// The first one where the other adds nothing.
ShapeId ShapeTable::make_union(const Union& of) {
    Shape shape = Shape::empty(shapes_[of.a].by_bytes || shapes_[of.b].by_bytes);
    const LaneMap of_a = shapes_[of.a].map(), of_b = shapes_[of.b].map();
    const unsigned unit = shape.by_bytes ? 1 : 4;
    bool is_more = false;
    for (unsigned i = 0; i < shape.lanes.size(); ++i) {
        shape.lanes[i] = of_a.at(i * unit) | of_b.at(i * unit);
        is_more |= shape.lanes[i] != of_a.at(i * unit);
    }
    if (!is_more) return of.a;
    if (shapes_.size() >= most_shapes) return none;
    finish(shape);
    shape.parts = shapes_[of.a].parts;
    if (shape.parts.empty()) shape.parts.push_back({of.pc_of_a, of.a});
    shape.parts.push_back({of.pc_of_b, of.b});
    shapes_.push_back(std::move(shape));
    return static_cast<ShapeId>(shapes_.size() - 1);
}

std::uint32_t ShapeTable::pc_of(ShapeId id, unsigned byte, unsigned lane) const {
    const std::vector<Shape::Part>& parts = shapes_[id].parts;
    const auto found = std::ranges::find_if(parts, [&](const Shape::Part& part) {
        return (shapes_[part.shape].map().at(byte) >> lane & 1) != 0;
    });
    return found == parts.end() ? 0 : found->pc;
}

SequenceId ShapeTable::find_sequence(Step wanted) {
    auto found = steps_.find(wanted);
    if (found == steps_.end()) {
        if (steps_.size() >= most_shapes) return no_sequence;
        std::vector<Words> made = wanted.pc < first_sequence ? std::vector<Words>{{wanted.pc, wanted.words}}
                                                             : sequences_[wanted.pc - first_sequence];
        const auto same = std::ranges::find(made, wanted.next_pc, &Words::pc);
        if (same != made.end())
            same->words |= wanted.next_words;
        else
            made.push_back({wanted.next_pc, wanted.next_words});
        sequences_.push_back(std::move(made));
        wanted.value = first_sequence + static_cast<SequenceId>(sequences_.size() - 1);
        found = steps_.insert(wanted).first;
    }
    lately_stepped_[StepHash()(wanted) % lately_stepped_.size()] = *found;
    return found->value;
}

std::uint32_t ShapeTable::pc_of_word(SequenceId id, unsigned word) const {
    const std::vector<Words>& parts = sequences_[id - first_sequence];
    const auto found =
        std::ranges::find_if(parts, [&](const Words& part) { return (part.words >> word & 1) != 0; });
    return found == parts.end() ? 0 : found->pc;
}

bool ShapeTable::has_same_lanes(ShapeId a, ShapeId b) {
    if (a == b) return shapes_[a].is_private;
    if ((shapes_[a].words & shapes_[b].words) == 0) return true;
    Pair& known = same_lanes_[hash_of(a, b, 0, 0) % same_lanes_.size()];
    if (known.a == a && known.b == b) return known.value;
    const LaneMap of_a = shapes_[a].map(), of_b = shapes_[b].map();
    bool same = true;
    for (unsigned byte = 0; byte < line_bytes; ++byte) {
        const std::uint32_t lanes = of_a.at(byte) | of_b.at(byte);
        same &= of_a.at(byte) == 0 || of_b.at(byte) == 0 || (lanes & (lanes - 1)) == 0;
    }
    known = {a, b, same};
    return same;
}

}  // namespace ptxgraft::emulator
