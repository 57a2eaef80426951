#pragma once
/// @file shadow.hpp
/// Shadow memory of the race check: for every line of 128 bytes which lanes of which agents accessed which of
/// its bytes, and when.
///
/// What a warp accesses of a line in a regular way is one *record*; most lines have one or two. What lanes
/// access at random is kept word by word, in *cells*. Both name an *access*: an epoch but for the lane, and
/// an instruction. Lines are allocated in chunks, by first touch. When a generation ends everything is
/// forgotten at once, and nothing is touched for that.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "emulator/races/accesses.hpp"
#include "emulator/races/shapes.hpp"

namespace ptxgraft::emulator {

/// What all lanes of an access have in common: the epoch but for the lane, and the instruction.
struct AccessInfo {
    WarpTime time = 0;
    std::uint32_t pc = 0;   ///< or a SequenceId
    std::uint32_t who = 0;  ///< who_of()

    [[nodiscard]] unsigned agent() const { return who & ((1u << agent_bits) - 1); }
    [[nodiscard]] constexpr AccessKind kind() const { return static_cast<AccessKind>(who >> agent_bits & 7); }
    [[nodiscard]] constexpr bool is_narrow() const { return who >> (agent_bits + 3) != 0; }
    [[nodiscard]] bool is_same_epoch(const AccessInfo& other) const {
        return time == other.time && who == other.who;
    }

    static constexpr unsigned agent_bits = 12, kind_bits = 4;  // with the reach
    [[nodiscard]] static constexpr std::uint32_t who_of(unsigned agent, AccessKind kind, Reach reach) {
        return agent | static_cast<unsigned>(kind) << agent_bits |
               (reach == Reach::cta ? 1u << (agent_bits + 3) : 0);
    }
};

/// The number of an access. 0: none. Numbers of earlier generations are lower.
using AccessId = std::uint32_t;

/// What a record says of the lanes.
enum class Form : std::uint8_t {
    words,     ///< one lane, some words: `value` has a bit for each
    bytes,     ///< one lane, bytes in a row: `value` is the first, and their number << 8
    shape,     ///< `value` is a ShapeId
    word_map,  ///< `value` is a place in the arena: 32 masks of lanes
    byte_map,  ///< 128 masks of lanes
    cursor,    ///< one lane, which walks over the line still: `value` is the number of a cursor
};

/// One access to a line, or to some of its words.
struct Record {
    AccessId id = 0;
    std::uint32_t value = 0;
    std::uint8_t tag = 0;

    [[nodiscard]] bool is_any() const { return id != 0; }
    [[nodiscard]] Form form() const { return static_cast<Form>(tag & 7); }
    [[nodiscard]] unsigned lane() const { return tag >> 3; }
    [[nodiscard]] static constexpr std::uint8_t tag_of(Form form, unsigned lane = 0) {
        return static_cast<std::uint8_t>(static_cast<unsigned>(form) | lane << 3);
    }
    /// Of one lane and some bytes of a line.
    [[nodiscard]] static Record of_bytes(AccessId id, unsigned lane, unsigned at, unsigned bytes) {
        if ((at | bytes) % word_bytes == 0)
            return {id, word_mask(at / word_bytes, bytes / word_bytes), tag_of(Form::words, lane)};
        return {id, at | bytes << 8, tag_of(Form::bytes, lane)};
    }
    [[nodiscard]] bool has_same_lanes(const Record& other) const {
        return value == other.value && tag == other.tag;
    }
};

/// The records of a line, as many as there are in front.
struct alignas(64) ShadowLine {
    static constexpr unsigned most_records = 5;

    std::uint32_t written = 0;  ///< words of records that write
    std::uint32_t other = 0;    ///< words of weak records and of strong reads
    std::uint32_t table = 0;    ///< the place of a RecordTable in the arena; 0: none
    std::array<AccessId, most_records> ids;
    std::array<std::uint32_t, most_records> values;
    std::array<std::uint8_t, most_records> tags;
    std::array<std::uint8_t, most_records> hints;  ///< hint_of() who accessed

    [[nodiscard]] Record get(unsigned i) const { return {ids[i], values[i], tags[i]}; }
    [[nodiscard]] bool is_full() const { return ids[most_records - 1] != 0; }
    [[nodiscard]] static std::uint8_t hint_of(std::uint32_t who) {
        return static_cast<std::uint8_t>(who * 0x9E3779B1u >> 24);
    }
    void set(unsigned i, const Record& record) {
        ids[i] = record.id, values[i] = record.value, tags[i] = record.tag;
    }
    void set(unsigned i, const Record& record, std::uint32_t who) {
        set(i, record);
        hints[i] = hint_of(who);
    }
    void clear() {
        table = 0;
        ids.fill(0);
    }
};
static_assert(sizeof(ShadowLine) == 64);

/// The last access to a word by one instruction in one epoch.
struct ShadowCell {
    AccessId id = 0;
    std::uint32_t lanes = 0;
};

/// More records than a line has room for, found by who accessed.
struct RecordTable {
    struct Slot {
        AccessId id = 0;
        std::uint32_t value = 0;
        std::uint16_t who = 0;
        std::uint8_t tag = 0;
        std::uint8_t when = 0;  ///< the lowest bits of the time

        [[nodiscard]] Record get() const { return {id, value, tag}; }
        void set(const Record& record) { id = record.id, value = record.value, tag = record.tag; }
    };
    std::uint16_t capacity = 0, count = 0;  // slots, and those in use
    std::uint32_t units = 0;
    std::uint32_t weak = 0;  ///< words of those records that strong accesses may race with
    // Behind it: the slots.
    [[nodiscard]] Slot* begin() { return reinterpret_cast<Slot*>(this + 1); }
    [[nodiscard]] Slot* end() { return begin() + capacity; }
    [[nodiscard]] unsigned first_slot(std::uint32_t who) const {
        return static_cast<unsigned>(std::uint64_t{who * 2654435761u} * capacity >> 32);
    }
    [[nodiscard]] unsigned next_slot(unsigned at) const { return at + 1 == capacity ? 0 : at + 1; }
};
static_assert(sizeof(RecordTable) == sizeof(RecordTable::Slot));

/// Blocks of memory that are named by numbers, in units of 128 bytes.
class ShadowArena {
  public:
    static constexpr std::size_t unit = 128;
    static constexpr unsigned most_units = 256;
    ShadowArena() = default;
    ShadowArena(const ShadowArena&) = delete;
    ShadowArena& operator=(const ShadowArena&) = delete;
    ~ShadowArena();

    /// `units`: a power of two, at most `most_units`. 0 when nothing is left of `limit` bytes in all.
    [[nodiscard]] std::uint32_t allocate(unsigned units, std::size_t limit);
    void free(std::uint32_t place, unsigned units);
    void clear();
    [[nodiscard]] std::byte* at(std::uint32_t place) const {
        return slabs_[place / units_per_slab] + place % units_per_slab * unit;
    }
    [[nodiscard]] std::size_t used() const { return std::size_t{next_} * unit; }
    [[nodiscard]] std::size_t bytes() const { return slabs_.size() * units_per_slab * unit; }

  private:
    static constexpr std::uint32_t units_per_slab = 1u << 15;
    std::vector<std::byte*> slabs_;
    std::array<std::vector<std::uint32_t>, 9> free_;  // by the logarithm of their units
    std::uint32_t next_ = 1;
};

/// Lines that lie in a row. Of those whose bit is not set there is nothing.
struct ShadowChunk {
    static constexpr unsigned shift = 9;
    static constexpr std::uint32_t line_count = 1u << shift;

    std::array<std::uint64_t, line_count / 64> with_records = {}, with_cells = {};
    ShadowLine* lines = nullptr;
    ShadowCell* cells =
        nullptr;  ///< 32 for each line, once one has needed them; those of earlier generations are nothing
    std::uint32_t cells_since = 0;  ///< the generation in which they count as used
};

/// A line of a chunk.
struct LinePlace {
    ShadowChunk* chunk = nullptr;
    std::uint32_t at = 0;

    [[nodiscard]] ShadowLine& line() const { return chunk->lines[at]; }
    [[nodiscard]] ShadowCell* cells() const { return chunk->cells + std::size_t{at} * line_words; }
    [[nodiscard]] std::uint64_t bit() const { return std::uint64_t{1} << at % 64; }
    [[nodiscard]] bool has_records() const { return (chunk->with_records[at / 64] & bit()) != 0; }
    [[nodiscard]] bool has_cells() const { return (chunk->with_cells[at / 64] & bit()) != 0; }
    void set_records() const { chunk->with_records[at / 64] |= bit(); }
    void set_cells() const { chunk->with_cells[at / 64] |= bit(); }
};

class ShadowMemory {
  public:
    ShadowMemory();
    ShadowMemory(const ShadowMemory&) = delete;
    ShadowMemory& operator=(const ShadowMemory&) = delete;
    ~ShadowMemory();

    /// Forgets everything. From now on at most so many bytes of host memory are used, and what was touched
    /// first is forgotten first.
    void begin(std::size_t limit);
    /// Something was forgotten since for want of memory. Places that were asked for before may be those of
    /// other lines.
    [[nodiscard]] bool has_forgotten() const { return forgotten_ != 0; }
    /// How many times.
    [[nodiscard]] std::uint32_t forgotten() const { return forgotten_; }
    [[nodiscard]] std::uint32_t generation() const { return generation_; }
    /// Host memory that has been touched, roughly.
    [[nodiscard]] std::size_t bytes() const;

    // --- accesses

    /// Of an instruction: with too many of them everything is forgotten.
    [[nodiscard]] AccessId access(AccessInfo info) {
        KnownAccess& known = known_access(info);
        if (is_same(known, info)) return known.id;
        if (next_id_ - first_id_ >= most_now_) forget_accesses();
        return add_access(known, info);
    }
    /// Within one.
    [[nodiscard]] AccessId further_access(AccessInfo info) {
        KnownAccess& known = known_access(info);
        return is_same(known, info) ? known.id : add_access(known, info);
    }
    [[nodiscard]] const AccessInfo& info(AccessId id) const { return infos_[id - first_id_]; }
    [[nodiscard]] bool is_live(const ShadowCell& cell) const { return cell.id >= first_id_; }

    // --- lines, by their number, an address / 128

    [[nodiscard]] LinePlace line(std::uint64_t number) {
        return {&chunk_of(number), static_cast<std::uint32_t>(number & (ShadowChunk::line_count - 1))};
    }
    /// No chunk, where nothing near it has been accessed.
    [[nodiscard]] LinePlace known_line(std::uint64_t number) const;
    [[nodiscard]] static bool are_near(std::uint64_t a, std::uint64_t b) {
        return a >> ShadowChunk::shift == b >> ShadowChunk::shift;
    }
    /// Makes sure that the chunk has cells; false where there is no room for them.
    [[nodiscard]] bool add_cells(ShadowChunk& chunk) {
        return chunk.cells_since == generation_ || make_cells(chunk);
    }
    /// A block of the arena. What is forgotten for it is not the place's chunk. 0: there is no room left.
    [[nodiscard]] std::uint32_t allocate(unsigned units, const LinePlace& place);
    [[nodiscard]] ShadowArena& arena() { return arena_; }
    [[nodiscard]] const ShadowArena& arena() const { return arena_; }
    [[nodiscard]] RecordTable* table(const ShadowLine& line) const {
        return line.table == 0 ? nullptr : reinterpret_cast<RecordTable*>(arena_.at(line.table));
    }
    /// Gives back what a record, or all of a line, have in the arena.
    void release(const Record& record);
    void release(ShadowLine& line);

  private:
    // Accesses of a generation. Numbers are used up after some generations of that size.
    static constexpr std::size_t most_accesses = std::size_t{1} << 23;
    static constexpr std::size_t chunk_bytes = ShadowChunk::line_count * sizeof(ShadowLine);
    static constexpr std::size_t cell_bytes = ShadowChunk::line_count * line_words * sizeof(ShadowCell);
    // From one chunk to the next one, so that places that lie powers of two apart are in different sets of
    // the processor's caches.
    static constexpr std::size_t chunk_stride = chunk_bytes + 5 * sizeof(ShadowLine),
                                 cell_stride = cell_bytes + 5 * sizeof(ShadowLine);
    struct KnownAccess {
        AccessInfo info;
        AccessId id = 0;
    };
    /// A chunk by its key: its number, and the generation in the upper half. Of other generations there is
    /// none.
    struct Slot {
        std::uint64_t key = 0;
        ShadowChunk* chunk = nullptr;
    };
    [[nodiscard]] std::uint64_t key_of(std::uint64_t number) const {
        return number | std::uint64_t{generation_} << 32;
    }
    [[nodiscard]] bool is_used(const Slot& slot) const { return slot.key >> 32 == generation_; }
    [[nodiscard]] KnownAccess& known_access(const AccessInfo& info) {
        return lately_[(info.pc * 0x9E3779B1u ^ info.who * 0x85EBCA77u) >> 23];
    }
    [[nodiscard]] bool is_same(const KnownAccess& known, const AccessInfo& info) const {
        return known.id >= first_id_ && known.info.pc == info.pc && known.info.is_same_epoch(info);
    }
    AccessId add_access(KnownAccess& known, AccessInfo info) {
        infos_.push_back(info);
        known = {info, next_id_};
        return next_id_++;
    }
    void forget_accesses();
    [[nodiscard]] ShadowChunk& chunk_of(std::uint64_t line) {
        const std::uint64_t key = key_of(line >> ShadowChunk::shift);
        const Slot& known = known_chunks_[known_place(key)];
        return known.key == key ? *known.chunk : find_chunk(key);
    }
    [[nodiscard]] static std::size_t known_place(std::uint64_t key) {
        return (key & 0xFFFFFFFF) * 0x9E3779B97F4A7C15u >> 55;
    }
    [[nodiscard]] std::size_t slot_of(std::uint64_t key) const {
        return (key & 0xFFFFFFFF) * 0x9E3779B97F4A7C15u >> slot_shift_;
    }
    [[nodiscard]] ShadowChunk& find_chunk(std::uint64_t key);
    [[nodiscard]] std::size_t used() const;
    ShadowChunk* new_chunk(std::uint64_t key);
    void insert(const Slot& slot);
    void grow_slots();
    ShadowChunk* forget_oldest();
    bool make_cells(ShadowChunk& chunk);
    void wipe();

    std::vector<Slot> slots_;
    unsigned slot_shift_;
    std::array<Slot, 512> known_chunks_;  // that were asked for lately
    std::vector<std::byte*> slabs_, cell_slabs_;
    std::deque<ShadowChunk> chunks_;   // all that there are
    std::vector<std::uint64_t> keys_;  // of those that are in use
    std::size_t oldest_ = 0;           // of those, round and round
    std::size_t with_cells_ = 0;       // chunks whose cells are in use
    std::size_t cell_chunks_ = 0;      // and all that have some
    std::size_t limit_ = 0;
    std::size_t most_now_ = 0;  // accesses
    std::uint32_t generation_ = 0;
    std::uint32_t forgotten_ = 0;
    ShadowArena arena_;
    AccessId first_id_ = 1, next_id_ = 1;
    std::vector<AccessInfo> infos_;  // from first_id_ on
    std::array<KnownAccess, 512> lately_;
};

}  // namespace ptxgraft::emulator
