// The lines of the shadow memory, and the table of the accesses that they refer to.
#include "emulator/races/shadow.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "syntax/large_pages.hpp"

namespace ptxgraft::emulator {
namespace {

constexpr std::size_t chunks_per_slab = 128, first_slots = 64;  // 4 MiB of lines, for 8 MiB of memory
constexpr unsigned first_slot_shift = 64 - 6;
// What one access may touch, with blocks of the arena.
constexpr std::size_t least_bytes = std::size_t{8} << 20;
constexpr std::size_t large_page = std::size_t{2} << 20;

// Zero, and touched by nobody yet. Small launches get by with the first slab; of more, large pages spare
// faults and address translation.
std::byte* new_slab(std::size_t bytes, bool is_first) {
#ifdef __linux__
    const std::size_t more = is_first ? 0 : large_page;
    void* const memory =
        mmap(nullptr, bytes + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    auto* const begin = static_cast<std::byte*>(memory);
    if (is_first) return begin;
    const std::size_t head = (large_page - reinterpret_cast<std::uintptr_t>(begin) % large_page) % large_page;
    if (head != 0) munmap(begin, head);
    if (head != more) munmap(begin + head + bytes, more - head);
    syntax::ask_for_large_pages(begin + head, bytes);
    return begin + head;
#else
    static_cast<void>(is_first);
    void* const memory = std::aligned_alloc(large_page, (bytes + large_page - 1) / large_page * large_page);
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<std::byte*>(std::memset(memory, 0, bytes));
#endif
}

void free_slab(std::byte* slab, [[maybe_unused]] std::size_t bytes) {
#ifdef __linux__
    munmap(slab, bytes);
#else
    std::free(slab);
#endif
}

}  // namespace

// --- the arena

ShadowArena::~ShadowArena() {
    for (std::byte* slab : slabs_) free_slab(slab, units_per_slab * unit);
}

std::uint32_t ShadowArena::allocate(unsigned units, std::size_t limit) {
    std::vector<std::uint32_t>& free = free_[static_cast<unsigned>(std::countr_zero(units))];
    if (!free.empty()) {
        const std::uint32_t place = free.back();
        free.pop_back();
        return place;
    }
    std::uint32_t place = next_;
    if (place % units_per_slab + units > units_per_slab)
        place = (place / units_per_slab + 1) * units_per_slab;
    if ((std::size_t{place} + units) * unit > limit) return 0;
    if (place / units_per_slab >= slabs_.size())
        slabs_.push_back(new_slab(units_per_slab * unit, slabs_.empty()));
    next_ = place + units;
    return place;
}

void ShadowArena::free(std::uint32_t place, unsigned units) {
    free_[static_cast<unsigned>(std::countr_zero(units))].push_back(place);
}

void ShadowArena::clear() {
    next_ = 1;
    for (auto& free : free_) free.clear();
}

// --- generations and accesses

ShadowMemory::ShadowMemory() : slots_(first_slots), slot_shift_(first_slot_shift) {}

ShadowMemory::~ShadowMemory() {
    for (std::byte* slab : slabs_) free_slab(slab, chunks_per_slab * chunk_stride);
    for (std::byte* slab : cell_slabs_) free_slab(slab, chunks_per_slab * cell_stride);
}

void ShadowMemory::begin(std::size_t limit) {
    limit_ = std::max(limit, least_bytes);
    most_now_ = std::min(most_accesses, limit_ / 4 / sizeof(AccessInfo));
    first_id_ = next_id_;
    infos_.clear();
    if (++generation_ == 0 || first_id_ > ~AccessId{0} - 2 * most_accesses) wipe();
    keys_.clear();
    oldest_ = 0;
    with_cells_ = 0;
    forgotten_ = 0;
    arena_.clear();
}

// All numbers have been used.
void ShadowMemory::wipe() {
    std::ranges::fill(slots_, Slot{});
    known_chunks_.fill({});
    for (ShadowChunk& chunk : chunks_) {
        if (chunk.cells != nullptr) std::memset(static_cast<void*>(chunk.cells), 0, cell_bytes);
        chunk.cells_since = 0;
    }
    lately_.fill({});
    generation_ = 1;
    first_id_ = next_id_ = 1;
}

void ShadowMemory::forget_accesses() {
    begin(limit_);
    forgotten_ = 1;
}

// --- lines

std::size_t ShadowMemory::used() const {
    return keys_.size() * chunk_stride + with_cells_ * cell_stride + arena_.used() +
           infos_.size() * sizeof(AccessInfo);
}

std::size_t ShadowMemory::bytes() const {
    return chunks_.size() * chunk_stride + cell_chunks_ * cell_stride + arena_.bytes() +
           infos_.capacity() * sizeof(AccessInfo);
}

ShadowChunk& ShadowMemory::find_chunk(std::uint64_t key) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = slot_of(key);
    while (is_used(slots_[at]) && slots_[at].key != key) at = (at + 1) & mask;
    Slot found = slots_[at];
    if (!is_used(found)) {
        found = {key, new_chunk(key)};
        insert(found);
    }
    known_chunks_[known_place(key)] = found;
    return *found.chunk;
}

LinePlace ShadowMemory::known_line(std::uint64_t number) const {
    const std::uint64_t key = key_of(number >> ShadowChunk::shift);
    std::size_t at = slot_of(key);
    while (is_used(slots_[at]) && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
    return {is_used(slots_[at]) ? slots_[at].chunk : nullptr,
            static_cast<std::uint32_t>(number & (ShadowChunk::line_count - 1))};
}

ShadowChunk* ShadowMemory::new_chunk(std::uint64_t key) {
    if (used() + chunk_stride > limit_ && !keys_.empty()) {
        ShadowChunk* const again = forget_oldest();
        keys_[oldest_] = key;
        return again;
    }
    const std::size_t index = keys_.size();
    if (index == chunks_.size()) {
        if (index % chunks_per_slab == 0)
            slabs_.push_back(new_slab(chunks_per_slab * chunk_stride, slabs_.empty()));
        chunks_.emplace_back().lines =
            reinterpret_cast<ShadowLine*>(slabs_.back() + index % chunks_per_slab * chunk_stride);
    }
    chunks_[index].with_records.fill(0);
    chunks_[index].with_cells.fill(0);
    keys_.push_back(key);
    if (keys_.size() * 2 > slots_.size()) grow_slots();
    return &chunks_[index];
}

// New ones, or those of a chunk that is forgotten for it.
bool ShadowMemory::make_cells(ShadowChunk& chunk) {
    if (used() + cell_stride <= limit_) {
        if (chunk.cells == nullptr) {
            const std::size_t at = cell_chunks_++ % chunks_per_slab;
            if (at == 0) cell_slabs_.push_back(new_slab(chunks_per_slab * cell_stride, cell_slabs_.empty()));
            chunk.cells = reinterpret_cast<ShadowCell*>(cell_slabs_.back() + at * cell_stride);
        }
        chunk.cells_since = generation_;
        ++with_cells_;
        return true;
    }
    for (std::size_t tries = 0; tries < keys_.size(); ++tries) {
        ShadowChunk& oldest = *forget_oldest();
        insert({keys_[oldest_], &oldest});  // it stays, empty
        if (&oldest == &chunk || oldest.cells_since != generation_) continue;
        std::swap(chunk.cells, oldest.cells);
        std::swap(chunk.cells_since, oldest.cells_since);
        return true;
    }
    return false;
}

void ShadowMemory::insert(const Slot& slot) {
    std::size_t at = slot_of(slot.key);
    while (is_used(slots_[at])) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = slot;
}

void ShadowMemory::grow_slots() {
    const std::vector<Slot> before = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
    --slot_shift_;
    for (const Slot& slot : before)
        if (is_used(slot)) insert(slot);
}

// The chunk that has been in use for longest; its key is keys_[oldest_] then, and nobody finds it. The slots
// behind the one that becomes free move up to where they would be without it.
ShadowChunk* ShadowMemory::forget_oldest() {
    ++forgotten_;
    oldest_ = (oldest_ + 1) % keys_.size();
    ShadowChunk& chunk = chunks_[oldest_];
    for (std::uint32_t at = 0; at < ShadowChunk::line_count; ++at) {
        const LinePlace place{&chunk, at};
        if (place.has_records()) release(place.line());
        if (place.has_cells()) std::fill_n(place.cells(), line_words, ShadowCell{});
    }
    chunk.with_records.fill(0);
    chunk.with_cells.fill(0);
    known_chunks_[known_place(keys_[oldest_])] = {};
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = slot_of(keys_[oldest_]);
    while (slots_[at].key != keys_[oldest_]) at = (at + 1) & mask;
    slots_[at] = {};
    for (std::size_t next = (at + 1) & mask; is_used(slots_[next]); next = (next + 1) & mask)
        insert(std::exchange(slots_[next], Slot{}));
    return &chunk;
}

std::uint32_t ShadowMemory::allocate(unsigned units, const LinePlace& place) {
    const auto limit = [this] {
        const std::size_t others = used() - arena_.used();
        return limit_ > others ? limit_ - others : 0;
    };
    std::uint32_t found = arena_.allocate(units, limit());
    for (std::size_t tries = 0; found == 0 && tries < keys_.size(); ++tries) {
        if (&chunks_[(oldest_ + 1) % keys_.size()] == place.chunk) {
            oldest_ = (oldest_ + 1) % keys_.size();
            continue;
        }
        ShadowChunk* const oldest = forget_oldest();
        insert({keys_[oldest_], oldest});
        found = arena_.allocate(units, limit());
    }
    if (found == 0) ++forgotten_;
    return found;
}

void ShadowMemory::release(const Record& record) {
    if (record.form() == Form::word_map) arena_.free(record.value, 1);
    if (record.form() == Form::byte_map) arena_.free(record.value, 4);
}

void ShadowMemory::release(ShadowLine& line) {
    for (unsigned i = 0; i < ShadowLine::most_records && line.ids[i] != 0; ++i) release(line.get(i));
    RecordTable* const records = table(line);
    if (records == nullptr) return;
    for (const RecordTable::Slot& slot : *records)
        if (slot.id != 0) release(slot.get());
    arena_.free(line.table, records->units);
    line.table = 0;
}

}  // namespace ptxgraft::emulator
