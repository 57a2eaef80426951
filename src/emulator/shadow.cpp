#include "emulator/shadow.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "syntax/large_pages.hpp"

namespace ptxgraft::emulator {
namespace {

// Zero, and touched by nobody yet. Small launches get by with the first one; of more, large pages spare faults and address translation.
std::byte* new_slab(std::size_t bytes, bool is_first) {
    constexpr std::size_t large_page = std::size_t{2} << 20;
    auto* const slab = static_cast<std::byte*>(std::calloc(1, bytes + (is_first ? 0 : large_page)));
    if (slab == nullptr) throw std::bad_alloc();
    if (!is_first) syntax::ask_for_large_pages(slab, bytes + large_page);
    return slab;
}

std::uint64_t hash_of(const Shape& shape) {
    std::uint64_t hash = shape.by_bytes ? 1 : 2;
    for (const std::uint32_t lanes : shape.lanes) hash = (hash ^ lanes) * 0x9E3779B97F4A7C15u, hash ^= hash >> 29;
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

Shape empty_shape(bool by_bytes) {
    Shape shape;
    shape.by_bytes = by_bytes;
    shape.lanes.resize(by_bytes ? line_bytes : line_words);
    return shape;
}

}  // namespace

// --- the arena

ShadowArena::~ShadowArena() {
    for (std::byte* slab : slabs_) std::free(slab);
}

std::uint32_t ShadowArena::allocate(unsigned units, std::size_t limit) {
    std::vector<std::uint32_t>& free = free_[static_cast<unsigned>(std::countr_zero(units))];
    if (!free.empty()) {
        const std::uint32_t place = free.back();
        free.pop_back();
        return place;
    }
    std::uint32_t place = next_;
    if (place % units_per_slab + units > units_per_slab) place = (place / units_per_slab + 1) * units_per_slab;
    if ((std::size_t{place} + units) * unit > limit) return 0;
    if (place / units_per_slab >= slabs_.size()) slabs_.push_back(new_slab(units_per_slab * unit, slabs_.empty()));
    next_ = place + units;
    return place;
}

void ShadowArena::free(std::uint32_t place, unsigned units) { free_[static_cast<unsigned>(std::countr_zero(units))].push_back(place); }

void ShadowArena::clear() {
    next_ = 1;
    for (auto& free : free_) free.clear();
}

// --- shapes

ShapeTable::ShapeTable() {
    for (auto& row : consecutive_) row.fill(none);
    for (auto& row : broadcast_) row.fill(none);
}

ShapeId ShapeTable::intern(Shape shape, std::size_t most) {
    const std::uint64_t hash = hash_of(shape);
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
    Shape shape = empty_shape(bytes < 4);
    const int unit = bytes < 4 ? 1 : 4;
    for (int lane = 0; lane < 32; ++lane)
        for (int at = delta + lane * static_cast<int>(bytes), end = at + static_cast<int>(bytes); at < end; at += unit)
            if (at >= 0 && at < static_cast<int>(line_bytes)) shape.lanes[static_cast<std::size_t>(at / unit)] |= 1u << lane;
    const ShapeId id = intern(std::move(shape), none);
    return consecutive_[log2(bytes)][static_cast<unsigned>(delta / static_cast<int>(bytes) + 32)] = id;
}

ShapeId ShapeTable::broadcast(unsigned bytes, unsigned at) {
    ShapeId& known = broadcast_[log2(bytes)][at / bytes];
    if (known != none) return known;
    Shape shape = empty_shape(bytes < 4);
    const unsigned unit = bytes < 4 ? 1 : 4;
    for (unsigned byte = at; byte < at + bytes; byte += unit) shape.lanes[byte / unit] = ~0u;
    return known = intern(std::move(shape), none);
}

ShapeId ShapeTable::find_union(ShapeId a, std::uint32_t pc_of_a, ShapeId b, std::uint32_t pc_of_b) {
    Union wanted{.a = a, .b = b, .pc_of_a = pc_of_a, .pc_of_b = pc_of_b, .has_parts = !shapes_[a].parts.empty()};
    Union& place = unions_[(a * 0x9E3779B1u ^ b * 0x85EBCA77u ^ (pc_of_a * 5 + pc_of_b) * 0xC2B2AE3Du) >> 21];
    if (wanted.has_parts) wanted.pc_of_a = 0;
    auto found = all_unions_.find(wanted);
    if (found == all_unions_.end()) {
        if (all_unions_.size() >= most_shapes) return none;
        wanted.value = make_union(wanted);
        if (wanted.value == none) return none;
        found = all_unions_.insert(wanted).first;
    }
    place = *found;
    place.pc_of_a = pc_of_a;
    return place.value;
}

// The first one where the other adds nothing.
ShapeId ShapeTable::make_union(const Union& of) {
    Shape shape = empty_shape(shapes_[of.a].by_bytes || shapes_[of.b].by_bytes);
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
    const auto found = std::ranges::find_if(
        parts, [&](const Shape::Part& part) { return (shapes_[part.shape].map().at(byte) >> lane & 1) != 0; });
    return found == parts.end() ? 0 : found->pc;
}

SequenceId ShapeTable::find_sequence(Step step) {
    const auto found = steps_.find(step);
    if (found != steps_.end()) {
        last_step_ = *found;
        return found->value;
    }
    if (steps_.size() >= most_shapes) return no_sequence;
    std::vector<Words> made = step.pc < first_sequence ? std::vector<Words>{{step.pc, step.words}} : sequences_[step.pc - first_sequence];
    const auto same = std::ranges::find(made, step.next_pc, &Words::pc);
    if (same != made.end()) same->words |= step.next_words;
    else made.push_back({step.next_pc, step.next_words});
    sequences_.push_back(std::move(made));
    step.value = first_sequence + static_cast<SequenceId>(sequences_.size() - 1);
    last_step_ = *steps_.insert(step).first;
    return step.value;
}

std::uint32_t ShapeTable::pc_of_word(SequenceId id, unsigned word) const {
    const std::vector<Words>& parts = sequences_[id - first_sequence];
    const auto found = std::ranges::find_if(parts, [&](const Words& part) { return (part.words >> word & 1) != 0; });
    return found == parts.end() ? 0 : found->pc;
}

bool ShapeTable::has_same_lanes(ShapeId a, ShapeId b) {
    if (a == b) return shapes_[a].is_private;
    if ((shapes_[a].words & shapes_[b].words) == 0) return true;
    Pair& known = same_lanes_[place_of(a, b)];
    if (known.a == a && known.b == b) return known.value != 0;
    const LaneMap of_a = shapes_[a].map(), of_b = shapes_[b].map();
    bool same = true;
    for (unsigned byte = 0; byte < line_bytes; ++byte) {
        const std::uint32_t lanes = of_a.at(byte) | of_b.at(byte);
        same &= of_a.at(byte) == 0 || of_b.at(byte) == 0 || (lanes & (lanes - 1)) == 0;
    }
    known = {a, b, same ? 1u : 0u};
    return same;
}

// --- lines

namespace {

constexpr std::size_t chunks_per_slab = 128, first_slots = 64;  // 4 MiB of lines, for 8 MiB of memory
constexpr unsigned first_slot_shift = 64 - 6;
constexpr std::uint64_t no_number = ~std::uint64_t{0};
// What one access may touch, with blocks of the arena.
constexpr std::size_t least_bytes = std::size_t{8} << 20;

}  // namespace

ShadowMemory::ShadowMemory() : slots_(first_slots), slot_shift_(first_slot_shift) {}

ShadowMemory::~ShadowMemory() {
    for (std::byte* slab : slabs_) std::free(slab);
    for (std::byte* slab : extension_slabs_) std::free(slab);
    for (std::byte* slab : cell_slabs_) std::free(slab);
}

void ShadowMemory::begin(std::size_t limit) {
    limit_ = std::max(limit, least_bytes);
    if (++generation_ == 0) end_generations();
    numbers_.clear();
    oldest_ = 0;
    extended_ = 0;
    last_number_ = no_number;
    has_forgotten_ = false;
    arena_.clear();
}

// All numbers of generations have been used: what bears one is wiped out.
void ShadowMemory::end_generations() {
    for (std::byte* slab : slabs_) std::memset(slab, 0, chunks_per_slab * chunk_bytes);
    std::ranges::fill(slots_, Slot{});
    for (Chunk& chunk : chunks_) chunk.extended = 0;
    generation_ = 1;
}

ShadowMemory::Chunk& ShadowMemory::find_chunk(std::uint64_t number) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = slot_of(number);
    while (slots_[at].generation == generation_ && slots_[at].number != number) at = (at + 1) & mask;
    std::uint32_t index = slots_[at].chunk;
    if (slots_[at].generation != generation_) {
        index = new_chunk(number);
        insert({number, generation_, index});
    }
    last_number_ = number;
    last_ = &chunks_[index];
    return *last_;
}

std::uint32_t ShadowMemory::new_chunk(std::uint64_t number) {
    const auto index = static_cast<std::uint32_t>(numbers_.size());
    if (used() + chunk_bytes > limit_ && index != 0) {
        const std::uint32_t again = oldest_++ % index;
        forget_chunk(again);
        numbers_[again] = number;
        return again;
    }
    if (index == chunks_.size()) {
        if (index % chunks_per_slab == 0) slabs_.push_back(new_slab(chunks_per_slab * chunk_bytes, slabs_.empty()));
        chunks_.push_back({reinterpret_cast<ShadowLine*>(slabs_.back() + index % chunks_per_slab * chunk_bytes), nullptr});
    }
    numbers_.push_back(number);
    if (numbers_.size() * 2 > slots_.size()) grow_slots();
    return index;
}

bool ShadowMemory::extend(std::uint64_t number, LinePlace& place) {
    Chunk& chunk = chunk_of(number);
    if (chunk.extended != generation_ && !add_extensions(chunk)) return false;
    place = line(number);
    place.line->extended = generation_;
    *place.extension = {};
    return true;
}

// Those that the chunk has, or new ones, or those of a chunk that is forgotten for it.
bool ShadowMemory::add_extensions(Chunk& chunk) {
    if (used() + extension_bytes + cell_bytes <= limit_) {
        if (chunk.extensions == nullptr) new_extensions(chunk);
        chunk.extended = generation_;
        ++extended_;
        return true;
    }
    has_forgotten_ = true;
    for (std::size_t tries = 0; tries < numbers_.size(); ++tries) {
        const auto index = static_cast<std::uint32_t>(oldest_++ % numbers_.size());
        Chunk& oldest = chunks_[index];
        if (oldest.extended != generation_ || &oldest == &chunk) continue;
        forget_chunk(index);
        insert({numbers_[index], generation_, index});  // it stays, empty
        std::swap(chunk.extensions, oldest.extensions);
        std::swap(chunk.cells, oldest.cells);
        std::swap(chunk.extended, oldest.extended);
        return true;
    }
    return false;
}

void ShadowMemory::new_extensions(Chunk& chunk) {
    const std::size_t at = extension_count_++ % chunks_per_slab;
    if (at == 0) {
        extension_slabs_.push_back(new_slab(chunks_per_slab * extension_bytes, true));
        cell_slabs_.push_back(new_slab(chunks_per_slab * cell_bytes, cell_slabs_.empty()));
    }
    chunk.extensions = reinterpret_cast<LineExtension*>(extension_slabs_.back() + at * extension_bytes);
    chunk.cells = reinterpret_cast<LineAccess*>(cell_slabs_.back() + at * cell_bytes);
}

void ShadowMemory::insert(const Slot& slot) {
    std::size_t at = slot_of(slot.number);
    while (slots_[at].generation == generation_) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = slot;
}

void ShadowMemory::grow_slots() {
    const std::vector<Slot> before = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
    --slot_shift_;
    for (const Slot& slot : before)
        if (slot.generation == generation_) insert(slot);
}

// The slots behind the one that becomes free move up to where they would be without it.
void ShadowMemory::forget_chunk(std::uint32_t index) {
    has_forgotten_ = true;
    const Chunk& chunk = chunks_[index];
    for (std::uint64_t i = 0; i < lines_per_chunk; ++i) {
        if (chunk.lines[i].generation != generation_) continue;
        release(place(chunk, i));
        chunk.lines[i].generation = generation_ - 1;
    }
    if (last_ == &chunks_[index]) last_number_ = no_number;
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = slot_of(numbers_[index]);
    while (slots_[at].generation == generation_ && slots_[at].number != numbers_[index]) at = (at + 1) & mask;
    slots_[at].generation = 0;
    for (std::size_t next = (at + 1) & mask; slots_[next].generation == generation_; next = (next + 1) & mask)
        insert(std::exchange(slots_[next], Slot{}));
}

std::uint32_t ShadowMemory::allocate(unsigned units, const ShadowLine& kept) {
    const std::size_t others = used() - arena_.used(), limit = limit_ > others ? limit_ - others : 0;
    std::uint32_t place = arena_.allocate(units, limit);
    for (std::size_t tries = 0; place == 0 && tries < numbers_.size(); ++tries) {
        const auto index = static_cast<std::uint32_t>(oldest_++ % numbers_.size());
        const ShadowLine* const lines = chunks_[index].lines;
        if (&kept >= lines && &kept < lines + lines_per_chunk) continue;
        forget_chunk(index);
        insert({numbers_[index], generation_, index});
        place = arena_.allocate(units, limit);
    }
    has_forgotten_ |= place == 0;
    return place;
}

void ShadowMemory::release(const LineAccess& record) {
    if (record.form() == Form::word_map) arena_.free(record.value(), 1);
    if (record.form() == Form::byte_map) arena_.free(record.value(), 4);
}

void ShadowMemory::release(const LinePlace& place) {
    for (const LineAccess& record : place.line->records)
        if (record.is_any()) release(record);
    if (!place.is_extended()) return;
    place.line->extended = 0;
    RecordTable* const records = table(place);
    if (records == nullptr) return;
    for (const LineAccess& record : *records)
        if (record.is_any()) release(record);
    arena_.free(place.extension->table, records->units);
}

}  // namespace ptxgraft::emulator
