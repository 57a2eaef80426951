#pragma once
/// @file shapes.hpp
/// Which lanes of a warp access which bytes of a line of shadow memory: interned, since a program accesses
/// lines again and again in the same few ways.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace ptxgraft::emulator {

inline constexpr unsigned line_shift = 7, line_words = 32, word_bytes = 4;
inline constexpr std::uint64_t line_bytes = std::uint64_t{1} << line_shift;

/// Words of a line, by bit: `count` from `first` on, and those that some bytes lie in, or of which all bytes
/// are among them.
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

    [[nodiscard]] std::uint32_t at(unsigned byte) const { return lanes[by_bytes ? byte : byte / word_bytes]; }
};

using ShapeId = std::uint32_t;

/// How a warp accesses a line, by one instruction or several.
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

    [[nodiscard]] static Shape empty(bool by_bytes);
    [[nodiscard]] LaneMap map() const { return {by_bytes, lanes.data()}; }
};

/// What stands in the place of an instruction where a lane accesses words by several: which one accesses
/// which.
using SequenceId = std::uint32_t;
inline constexpr SequenceId first_sequence = SequenceId{1} << 31;

class ShapeTable {
  public:
    static constexpr std::size_t most_shapes = 1u << 14;
    static constexpr ShapeId none = ~ShapeId{0};
    static constexpr SequenceId no_sequence = ~SequenceId{0};

    ShapeTable();
    [[nodiscard]] const Shape& operator[](ShapeId id) const { return shapes_[id]; }
    [[nodiscard]] bool is_half_full() const {
        return std::max({shapes_.size(), unions_.size(), steps_.size()}) * 2 > most_shapes;
    }
    /// Of all lanes, each behind the one before: lane 0 accesses `bytes` bytes at `delta` bytes from the
    /// line's begin.
    [[nodiscard]] ShapeId consecutive(unsigned bytes, int delta) {
        const ShapeId known =
            consecutive_[log2(bytes)][static_cast<unsigned>(delta / static_cast<int>(bytes) + 32)];
        return known != none ? known : add_consecutive(bytes, delta);
    }
    /// Of all lanes at one place.
    [[nodiscard]] ShapeId broadcast(unsigned bytes, unsigned at);
    /// `none` when there are `most` already.
    [[nodiscard]] ShapeId intern(Shape shape, std::size_t most = most_shapes);
    /// What two instructions access together; `none` when there are too many. The place of an `a` that has
    /// parts does not matter.
    [[nodiscard]] ShapeId unite(ShapeId a, std::uint32_t pc_of_a, ShapeId b, std::uint32_t pc_of_b) {
        const Union wanted{
            .a = a, .b = b, .pc_of_a = shapes_[a].parts.empty() ? pc_of_a : 0, .pc_of_b = pc_of_b};
        const Union& known = lately_[UnionHash()(wanted) % lately_.size()];
        return known == wanted ? known.value : find_union(wanted);
    }
    /// The instruction of a part that accesses a byte by a lane.
    [[nodiscard]] std::uint32_t pc_of(ShapeId id, unsigned byte, unsigned lane) const;
    /// Whether no byte that both access has different lanes.
    [[nodiscard]] bool has_same_lanes(ShapeId a, ShapeId b);

    /// What stands for an instruction, or some, that access some words, and one more; `no_sequence` when
    /// there are too many.
    [[nodiscard]] SequenceId sequence(std::uint32_t pc, std::uint32_t words, std::uint32_t next_pc,
                                      std::uint32_t next_words) {
        const Step wanted{pc, pc < first_sequence ? words : 0, next_pc, next_words};
        const Step& known = lately_stepped_[StepHash()(wanted) % lately_stepped_.size()];
        return known == wanted ? known.value : find_sequence(wanted);
    }
    [[nodiscard]] std::uint32_t pc_of_word(SequenceId id, unsigned word) const;

  private:
    struct Pair {
        ShapeId a = none, b = none;
        bool value = false;
    };
    struct Union {
        ShapeId a = none, b = none;
        std::uint32_t pc_of_a = 0, pc_of_b = 0;
        ShapeId value = none;

        [[nodiscard]] bool operator==(const Union& other) const {
            return a == other.a && b == other.b && pc_of_a == other.pc_of_a && pc_of_b == other.pc_of_b;
        }
    };
    struct UnionHash {
        [[nodiscard]] std::size_t operator()(const Union& of) const {
            return hash_of(of.a, of.b, of.pc_of_a, of.pc_of_b);
        }
    };
    struct Step {
        std::uint32_t pc = 0, words = 0, next_pc = 0, next_words = 0;
        SequenceId value = no_sequence;

        [[nodiscard]] bool operator==(const Step& other) const {
            return pc == other.pc && words == other.words && next_pc == other.next_pc &&
                   next_words == other.next_words;
        }
    };
    struct StepHash {
        [[nodiscard]] std::size_t operator()(const Step& of) const {
            return hash_of(of.pc, of.words, of.next_pc, of.next_words);
        }
    };
    struct Words {
        std::uint32_t pc = 0, words = 0;
    };
    [[nodiscard]] static std::size_t hash_of(std::uint64_t a, std::uint64_t b, std::uint64_t c,
                                             std::uint64_t d) {
        const std::uint64_t mixed =
            ((a << 32 | b) * 0x9E3779B97F4A7C15u) ^ ((c << 32 | d) * 0xC2B2AE3D27D4EB4Fu);
        return mixed ^ mixed >> 32;
    }
    [[nodiscard]] static unsigned log2(unsigned bytes) {
        return static_cast<unsigned>(std::countr_zero(bytes));
    }
    ShapeId add_consecutive(unsigned bytes, int delta);
    [[nodiscard]] ShapeId find_union(Union wanted);
    [[nodiscard]] ShapeId make_union(const Union& of);
    [[nodiscard]] SequenceId find_sequence(Step wanted);

    std::vector<Shape> shapes_;
    std::unordered_multimap<std::uint64_t, ShapeId> known_;  // by a hash
    std::array<std::array<ShapeId, 32 + 128>, 6> consecutive_;
    std::array<std::array<ShapeId, 128>, 6> broadcast_;
    std::unordered_set<Union, UnionHash> unions_;
    std::vector<std::vector<Words>> sequences_;
    std::unordered_set<Step, StepHash> steps_;
    // Those that were asked for lately.
    std::array<Union, 1024> lately_;
    std::array<Step, 256> lately_stepped_;
    std::array<Pair, 256> same_lanes_;
};

}  // namespace ptxgraft::emulator
