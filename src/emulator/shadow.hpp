#pragma once
/// @file shadow.hpp
/// Shadow memory of the race check: for every line of 128 bytes which lanes of which agents accessed which of its bytes, and when.
///
/// A line holds *records*, one for each epoch and instruction that accessed it: most lines have one or two. The lanes of a record are
/// those of an interned *shape* where a warp accesses a line in a regular way, and a map of their own where they do not. Lines
/// are allocated in chunks by first touch. When a generation ends everything is forgotten at once, and nothing is touched for that.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "emulator/accesses.hpp"

namespace ptxgraft::emulator {

inline constexpr unsigned line_shift = 7, line_words = 32;
inline constexpr std::uint64_t line_bytes = std::uint64_t{1} << line_shift;

/// Words of a line, by bit: `count` from `first` on, and those that some bytes lie in, or of which all bytes are among them.
[[nodiscard]] constexpr std::uint32_t word_mask(unsigned first, unsigned count) {
    return static_cast<std::uint32_t>(((std::uint64_t{1} << count) - 1) << first);
}
[[nodiscard]] constexpr std::uint32_t words_at(unsigned byte, unsigned bytes) {
    return word_mask(byte / 4, (byte % 4 + bytes + 3) / 4);
}
[[nodiscard]] constexpr std::uint32_t whole_words_at(unsigned byte, unsigned bytes) {
    const unsigned first = (byte + 3) / 4, end = (byte + bytes) / 4;
    return end > first ? word_mask(first, end - first) : 0;
}

/// For each word of a line, or each byte, the lanes that access it.
struct LaneMap {
    bool by_bytes = false;
    const std::uint32_t* lanes = nullptr;  ///< of 32 words, or of 128 bytes

    [[nodiscard]] std::uint32_t at(unsigned byte) const { return lanes[by_bytes ? byte : byte / 4]; }
};

using ShapeId = std::uint32_t;

/// How a warp accesses a line: interned, so that equal shapes have equal numbers. Also what several instructions of one epoch access
/// together: most lines are accessed again and again in the same few ways.
struct Shape {
    struct Part {
        std::uint32_t pc = 0;
        ShapeId shape = 0;
    };
    std::uint32_t words = 0;        ///< that are accessed, in part at least
    std::uint32_t whole_words = 0;  ///< of these those of which all bytes are
    bool is_private = true;         ///< no two lanes access one byte
    bool by_bytes = false;
    std::vector<std::uint32_t> lanes;
    std::vector<Part> parts = {};  ///< of several instructions

    [[nodiscard]] LaneMap map() const { return {by_bytes, lanes.data()}; }
};

/// What stands in the place of an instruction where a lane accesses words by several of one epoch: which one accesses which.
using SequenceId = std::uint32_t;
inline constexpr SequenceId first_sequence = SequenceId{1} << 31;

/// What a record says of the lanes.
enum class Form : std::uint8_t {
    words,     ///< one lane, some words: `value` has a bit for each
    bytes,     ///< one lane, bytes in a row: `value` is the first, and their number << 8
    shape,     ///< `value` is a ShapeId
    cell,      ///< some lanes, one word, which the place of the record says: `value` has a bit for each lane
    word_map,  ///< `value` is a place in the arena: 32 masks of lanes
    byte_map,  ///< 128 masks of lanes
};

/// A record: some accesses to a line, of one epoch but for the lane, by one instruction. Two words, which stay in registers while an
/// access is noted.
class LineAccess {
  public:
    LineAccess() = default;
    LineAccess(WarpTime time, std::uint32_t pc, unsigned agent, AccessKind kind, Reach reach)
        : when_(time | std::uint64_t{pc} << 32),
          what_(std::uint64_t{agent} << who_shift | static_cast<std::uint64_t>(kind) << kind_shift |
                (reach == Reach::cta ? std::uint64_t{1} << narrow_shift : 0)) {}
    /// The same epoch and instruction, of these lanes.
    [[nodiscard]] LineAccess as(Form form, std::uint32_t value, unsigned lane = 0) const {
        LineAccess made = *this;
        made.what_ = (what_ & who_mask) | value | static_cast<std::uint64_t>(form) << form_shift | std::uint64_t{lane} << lane_shift;
        return made;
    }
    [[nodiscard]] LineAccess with_value(std::uint32_t value) const {
        LineAccess made = *this;
        made.what_ |= value;
        return made;
    }
    /// Of one lane and some bytes of a line.
    [[nodiscard]] LineAccess of_bytes(unsigned lane, unsigned at, unsigned bytes) const {
        if ((at | bytes) % 4 == 0) return as(Form::words, word_mask(at / 4, bytes / 4), lane);
        return as(Form::bytes, at | bytes << 8, lane);
    }
    void set_value(std::uint32_t value) { what_ = (what_ & ~std::uint64_t{0xFFFFFFFF}) | value; }
    void add_to_value(std::uint32_t bits) { what_ |= bits; }

    [[nodiscard]] bool is_any() const { return when_ != 0; }
    [[nodiscard]] WarpTime time() const { return static_cast<WarpTime>(when_); }  ///< from 1 on
    [[nodiscard]] std::uint32_t pc() const { return static_cast<std::uint32_t>(when_ >> 32); }  ///< or a SequenceId
    void set_pc(std::uint32_t pc) { when_ = time() | std::uint64_t{pc} << 32; }
    [[nodiscard]] std::uint32_t value() const { return static_cast<std::uint32_t>(what_); }
    [[nodiscard]] unsigned agent() const { return what_ >> who_shift & ((1u << agent_bits) - 1); }
    [[nodiscard]] AccessKind kind() const { return static_cast<AccessKind>(what_ >> kind_shift & 7); }
    [[nodiscard]] bool is_narrow() const { return (what_ >> narrow_shift & 1) != 0; }
    [[nodiscard]] Form form() const { return static_cast<Form>(what_ >> form_shift & 7); }
    [[nodiscard]] unsigned lane() const { return static_cast<unsigned>(what_ >> lane_shift); }
    [[nodiscard]] bool is_same_epoch(const LineAccess& other) const { return time() == other.time() && is_by_same(other); }
    /// Of one epoch, and in one form.
    [[nodiscard]] bool is_same_thread(const LineAccess& other) const { return time() == other.time() && (what_ ^ other.what_) >> 32 == 0; }
    /// Of one epoch but for the lane, and one instruction.
    [[nodiscard]] bool is_same_group(const LineAccess& other) const { return when_ == other.when_ && is_by_same(other); }
    [[nodiscard]] bool is_by_same(const LineAccess& other) const { return ((what_ ^ other.what_) & who_mask) == 0; }
    [[nodiscard]] bool has_same_lanes(const LineAccess& other) const { return ((what_ ^ other.what_) & ~who_mask) == 0; }
    [[nodiscard]] std::uint32_t who() const { return static_cast<std::uint32_t>((what_ & who_mask) >> who_shift); }

  private:
    // From the lowest bit: the value (32), the agent (12), the kind (3), the reach (1), the form (8), the lane (8).
    static constexpr unsigned who_shift = 32, agent_bits = 12, kind_shift = 44, narrow_shift = 47, form_shift = 48, lane_shift = 56;
    static constexpr std::uint64_t who_mask = std::uint64_t{0xFFFF} << who_shift;
    std::uint64_t when_ = 0, what_ = 0;
};
static_assert(sizeof(LineAccess) == 16);

struct ShadowLine {
    static constexpr unsigned inline_records = 3;

    std::uint32_t generation = 0;  ///< of another one there is nothing here
    std::uint32_t extended = 0;    ///< the same generation: there is more in the line's extension
    std::uint32_t written = 0;     ///< words of records that write
    std::uint32_t other = 0;       ///< words of weak records and of strong reads
    std::array<LineAccess, inline_records> records;  ///< as many as there are, in front
};
static_assert(sizeof(ShadowLine) == 64);

/// More of a line than three records: cells, one for each word, for lanes that access it at random; and a table.
struct LineExtension {
    std::uint32_t cells = 0;  ///< words whose cell has a record
    std::uint32_t table = 0;  ///< the place of a RecordTable in the arena; 0: none
};

/// A line with what belongs to it.
struct LinePlace {
    ShadowLine* line = nullptr;
    LineExtension* extension = nullptr;  ///< null: no line near it is extended
    LineAccess* cells = nullptr;         ///< of its 32 words

    [[nodiscard]] bool is_extended() const { return line->extended == line->generation; }
    /// So many lines behind, in the same chunk.
    [[nodiscard]] LinePlace behind(std::uint64_t lines) const {
        if (extension == nullptr) return {line + lines, nullptr, nullptr};
        return {line + lines, extension + lines, cells + lines * line_words};
    }
};

/// Blocks of memory that are named by numbers, in units of 128 bytes.
class ShadowArena {
  public:
    static constexpr std::size_t unit = 128;
    ShadowArena() = default;
    ShadowArena(const ShadowArena&) = delete;
    ShadowArena& operator=(const ShadowArena&) = delete;
    ~ShadowArena();

    /// `units`: a power of two, at most 256. 0 when nothing is left of `limit` bytes in all.
    [[nodiscard]] std::uint32_t allocate(unsigned units, std::size_t limit);
    void free(std::uint32_t place, unsigned units);
    void clear();
    [[nodiscard]] std::byte* at(std::uint32_t place) const { return slabs_[place / units_per_slab] + place % units_per_slab * unit; }
    [[nodiscard]] std::size_t used() const { return std::size_t{next_} * unit; }
    [[nodiscard]] std::size_t bytes() const { return slabs_.size() * units_per_slab * unit; }

  private:
    static constexpr std::uint32_t units_per_slab = 1u << 15;
    std::vector<std::byte*> slabs_;
    std::array<std::vector<std::uint32_t>, 9> free_;  // by the logarithm of their units
    std::uint32_t next_ = 1;
};

/// More records than a line has room for, found by who accessed.
struct RecordTable {
    std::uint32_t capacity = 0, count = 0;  // slots, and those in use
    std::uint32_t units = 0, padding = 0;
    // Behind it: the slots.
    [[nodiscard]] LineAccess* begin() { return reinterpret_cast<LineAccess*>(this + 1); }
    [[nodiscard]] LineAccess* end() { return begin() + capacity; }
    [[nodiscard]] unsigned first_slot(const LineAccess& record) const {
        return static_cast<unsigned>(std::uint64_t{record.who() * 2654435761u} * capacity >> 32);
    }
};
static_assert(sizeof(RecordTable) == sizeof(LineAccess));

/// The shapes of a program's accesses.
class ShapeTable {
  public:
    static constexpr std::size_t most_shapes = 1u << 14;
    static constexpr ShapeId none = ~ShapeId{0};

    ShapeTable();
    [[nodiscard]] const Shape& operator[](ShapeId id) const { return shapes_[id]; }
    [[nodiscard]] bool is_half_full() const { return std::max({shapes_.size(), all_unions_.size(), steps_.size()}) * 2 > most_shapes; }
    /// Of all lanes, each behind the one before: lane 0 accesses `bytes` bytes at `delta` bytes from the line's begin.
    [[nodiscard]] ShapeId consecutive(unsigned bytes, int delta) {
        const ShapeId known = consecutive_[log2(bytes)][static_cast<unsigned>(delta / static_cast<int>(bytes) + 32)];
        return known != none ? known : add_consecutive(bytes, delta);
    }
    /// Of all lanes at one place.
    [[nodiscard]] ShapeId broadcast(unsigned bytes, unsigned at);
    /// `none` when there are `most` already.
    [[nodiscard]] ShapeId intern(Shape shape, std::size_t most = most_shapes);
    /// What two instructions access together; `none` when there are too many. That of an `a` which has parts does not matter.
    [[nodiscard]] ShapeId unite(ShapeId a, std::uint32_t pc_of_a, ShapeId b, std::uint32_t pc_of_b) {
        const Union& known = unions_[(a * 0x9E3779B1u ^ b * 0x85EBCA77u ^ (pc_of_a * 5 + pc_of_b) * 0xC2B2AE3Du) >> 21];
        if (known.a == a && known.b == b && known.pc_of_b == pc_of_b && (known.pc_of_a == pc_of_a || known.has_parts)) return known.value;
        return find_union(a, pc_of_a, b, pc_of_b);
    }
    /// The instruction of a part that accesses a byte by a lane.
    [[nodiscard]] std::uint32_t pc_of(ShapeId id, unsigned byte, unsigned lane) const;

    /// What stands for an instruction, or some, that access some words, and one more; `no_sequence` when there are too many.
    static constexpr SequenceId no_sequence = ~SequenceId{0};
    [[nodiscard]] SequenceId sequence(std::uint32_t pc, std::uint32_t words, std::uint32_t next_pc, std::uint32_t next_words) {
        const Step& last = last_step_;
        if (last.pc == pc && last.words == words && last.next_pc == next_pc && last.next_words == next_words) return last.value;
        return find_sequence({pc, words, next_pc, next_words});
    }
    [[nodiscard]] std::uint32_t pc_of_word(SequenceId id, unsigned word) const;
    /// Whether no byte that both access has different lanes.
    [[nodiscard]] bool has_same_lanes(ShapeId a, ShapeId b);

  private:
    struct Pair {
        ShapeId a = none, b = none, value = none;
    };
    struct Union {
        ShapeId a = none, b = none, value = none;
        std::uint32_t pc_of_a = 0, pc_of_b = 0;
        bool has_parts = false;

        [[nodiscard]] bool operator==(const Union& other) const {
            return a == other.a && b == other.b && pc_of_a == other.pc_of_a && pc_of_b == other.pc_of_b;
        }
    };
    struct UnionHash {
        [[nodiscard]] std::size_t operator()(const Union& of) const {
            return (of.a * 0x9E3779B97F4A7C15u ^ of.b) * 0xC2B2AE3D27D4EB4Fu ^ (of.pc_of_a * 31u + of.pc_of_b) * 0x9E3779B1u;
        }
    };
    [[nodiscard]] ShapeId find_union(ShapeId a, std::uint32_t pc_of_a, ShapeId b, std::uint32_t pc_of_b);
    [[nodiscard]] ShapeId make_union(const Union& of);
    struct Step {
        std::uint32_t pc = 0, words = 0, next_pc = 0, next_words = 0;
        SequenceId value = no_sequence;

        [[nodiscard]] bool operator==(const Step& other) const {
            return pc == other.pc && words == other.words && next_pc == other.next_pc && next_words == other.next_words;
        }
    };
    struct StepHash {
        [[nodiscard]] std::size_t operator()(const Step& of) const {
            return (of.pc * 0x9E3779B97F4A7C15u ^ of.words) * 0xC2B2AE3D27D4EB4Fu ^ (of.next_pc * 0x9E3779B97F4A7C15u + of.next_words);
        }
    };
    struct Words {
        std::uint32_t pc = 0, words = 0;
    };
    [[nodiscard]] SequenceId find_sequence(Step step);
    static unsigned log2(unsigned bytes) { return static_cast<unsigned>(std::countr_zero(bytes)); }
    static std::size_t place_of(ShapeId a, ShapeId b) { return (a * 0x9E3779B1u ^ b * 0x85EBCA77u) >> 22; }
    ShapeId add_consecutive(unsigned bytes, int delta);

    std::vector<Shape> shapes_;
    std::unordered_multimap<std::uint64_t, ShapeId> known_;  // by a hash
    std::array<std::array<ShapeId, 32 + 128>, 6> consecutive_;
    std::array<std::array<ShapeId, 128>, 6> broadcast_;
    std::unordered_set<Union, UnionHash> all_unions_;
    std::array<Union, 2048> unions_;    // that were asked for lately
    std::array<Pair, 1024> same_lanes_;
    std::vector<std::vector<Words>> sequences_;
    std::unordered_set<Step, StepHash> steps_;
    Step last_step_;
};

/// Lines by their number, an address / 128.
class ShadowMemory {
  public:
    ShadowMemory();
    ShadowMemory(const ShadowMemory&) = delete;
    ShadowMemory& operator=(const ShadowMemory&) = delete;
    ~ShadowMemory();

    /// Forgets everything. From now on at most so many bytes of host memory are used.
    void begin(std::size_t limit);
    [[nodiscard]] std::uint32_t generation() const { return generation_; }
    [[nodiscard]] LinePlace line(std::uint64_t number) {
        return place(chunk_of(number), number & (lines_per_chunk - 1));
    }
    [[nodiscard]] static bool are_near(std::uint64_t a, std::uint64_t b) { return a >> chunk_shift == b >> chunk_shift; }

    /// An extension, empty; false where there is no room for it. Gives the place what it has of it.
    [[nodiscard]] bool extend(std::uint64_t number, LinePlace& place);
    /// A block of the arena; what was touched first is forgotten where there is no room left: not the chunk of `kept`.
    [[nodiscard]] std::uint32_t allocate(unsigned units, const ShadowLine& kept);
    [[nodiscard]] ShadowArena& arena() { return arena_; }
    [[nodiscard]] const ShadowArena& arena() const { return arena_; }
    /// Gives back what the line has in the arena.
    void release(const LinePlace& place);
    void release(const LineAccess& record);
    [[nodiscard]] RecordTable* table(const LinePlace& place) const {
        return place.extension->table == 0 ? nullptr : reinterpret_cast<RecordTable*>(arena_.at(place.extension->table));
    }
    [[nodiscard]] bool has_forgotten() const { return has_forgotten_; }
    /// Host memory that has been touched, roughly.
    [[nodiscard]] std::size_t bytes() const {
        return chunks_.size() * chunk_bytes + extension_count_ * (extension_bytes + cell_bytes) + arena_.bytes();
    }

    static constexpr unsigned chunk_shift = 9;
    static constexpr std::uint64_t lines_per_chunk = std::uint64_t{1} << chunk_shift;

  private:
    struct Chunk {
        ShadowLine* lines = nullptr;          // in a row
        LineExtension* extensions = nullptr;  // one for each, once one of them has needed it
        LineAccess* cells = nullptr;          // 32 for each
        std::uint32_t extended = 0;           // the generation in which they count as used
    };
    static constexpr std::size_t chunk_bytes = lines_per_chunk * sizeof(ShadowLine);
    static constexpr std::size_t extension_bytes = lines_per_chunk * sizeof(LineExtension);
    static constexpr std::size_t cell_bytes = lines_per_chunk * line_words * sizeof(LineAccess);
    [[nodiscard]] static LinePlace place(const Chunk& chunk, std::uint64_t at) {
        if (chunk.extensions == nullptr) return {chunk.lines + at, nullptr, nullptr};
        return {chunk.lines + at, chunk.extensions + at, chunk.cells + at * line_words};
    }
    [[nodiscard]] Chunk& chunk_of(std::uint64_t line) {
        const std::uint64_t number = line >> chunk_shift;
        return number == last_number_ ? *last_ : find_chunk(number);
    }
    struct Slot {
        std::uint64_t number = 0;
        std::uint32_t generation = 0;
        std::uint32_t chunk = 0;
    };
    [[nodiscard]] std::size_t slot_of(std::uint64_t number) const { return number * 0x9E3779B97F4A7C15u >> slot_shift_; }
    [[nodiscard]] Chunk& find_chunk(std::uint64_t number);
    [[nodiscard]] std::size_t used() const {
        return numbers_.size() * chunk_bytes + extended_ * (extension_bytes + cell_bytes) + arena_.used();
    }
    void new_extensions(Chunk& chunk);
    std::uint32_t new_chunk(std::uint64_t number);
    void insert(const Slot& slot);
    void grow_slots();
    void forget_chunk(std::uint32_t index);
    bool add_extensions(Chunk& chunk);
    void end_generations();

    std::vector<Slot> slots_;
    unsigned slot_shift_;
    std::uint64_t last_number_ = ~std::uint64_t{0};
    Chunk* last_ = nullptr;
    std::vector<std::byte*> slabs_, extension_slabs_, cell_slabs_;
    std::vector<Chunk> chunks_;           // all that there are
    std::vector<std::uint64_t> numbers_;  // of those that are in use
    std::uint32_t oldest_ = 0;            // of those, round and round
    std::size_t extended_ = 0;            // chunks whose extensions are in use
    std::size_t extension_count_ = 0;     // and all that have some
    std::size_t limit_ = 0;
    std::uint32_t generation_ = 0;
    bool has_forgotten_ = false;
    ShadowArena arena_;
};

}  // namespace ptxgraft::emulator
