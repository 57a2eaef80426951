#pragma once
/// @file engine.hpp
/// What is vectorised of matrix.hpp: multiplicands unpacked into panels, and the products of panels.
///
/// Everything is a product of tiles of m16n8 (or m8n8). The register layout of all types is one: register i
/// of A holds, in lane 4g + t, the elements of row g + 8 * (i % halves), of the 32-bit word 4 * (i / halves)
/// + t of that row's K; register i of B those of column g, word 4i + t; C those of row g (+ 8), columns 2t
/// and 2t + 1. So panels hold:
/// - A: for every k, the value of each of the 32 (64) lanes' row: `[k][64]`. Lane 4g + t: that of row g, all
/// t the same.
/// - B: for every k, eight values: those of columns 0 2 4 6, then of 1 3 5 7: `[k][8]`. Lane 4g + t
/// multiplies the t-th of each. Then an accumulator register is the sum over k of a column of A times four
/// values of B, repeated.

#include <cstdint>

#include "emulator/matrix/matrix.hpp"

namespace ptxgraft::emulator {

inline constexpr unsigned most_depth = 64;  ///< elements in K of floats
inline constexpr unsigned panel_rows = 64;  ///< rows of a panel of anything: of .s4 m16n8k128, four in one
inline constexpr unsigned a_width = 64, b_width = 8;
inline constexpr unsigned most_tiles = 2;  ///< that one call multiplies

/// The operands of an unpacking: columns of 32-bit words.
struct WordColumns {
    const void* const* registers;
    unsigned count;
    MatrixType type;
    unsigned halves = 1;  ///< of A: registers for rows g and g + 8 alternate when 2
    bool negate = false;  ///< of A, floats
};

/// Products of one A with up to two tiles of B.
template <class Element> struct Tiles {
    const Element* a;
    const Element* b;  ///< [tile][panel_rows][b_width]
    unsigned depth;    ///< rows of the panels
    unsigned tiles, halves;
    const std::uint64_t*
        present;                ///< of a sparse A, for every k: which lanes' rows have an element. Null: all
    MatrixType c_type, d_type;  ///< f32 or f16; s32
    const void* const* c;       ///< null: zero
    void* const* d;             ///< d[i] may be c[i]; d[i] is no other register of c
    bool satfinite;             ///< of integers
    BitOperation bits;          ///< of .b1
};
using FloatTiles = Tiles<float>;
using IntegerTiles = Tiles<std::uint32_t>;

/// One block of an mma of .f64, rounded to nearest even, in the registers of the operands. Its D goes to `d`:
/// a row of eight columns in the order of panels of B for every row of A.
struct DoubleTile {
    const void* const* a;
    const void* const* b;
    const void* const* c;
    unsigned depth, halves;
    double (*d)[b_width];
};

/// How products of a kind of element are computed.
template <class Element> struct ProductFunctions {
    void (*unpack_a)(const WordColumns& words, Element* panel);
    void (*unpack_b)(const WordColumns& words, Element* panel);
    void (*multiply)(const Tiles<Element>& tiles);
};

struct EngineFunctions {
    ProductFunctions<float> floats;
    /// They are unpacked into pairs of 16-bit integers, which one instruction multiplies and adds.
    ProductFunctions<std::uint32_t> integers;
    ProductFunctions<std::uint32_t> bits;  ///< .b1, as they stand
    /// false: D has a NaN, and which one is for others to say
    bool (*multiply_doubles)(const DoubleTile& tile);
};

extern const EngineFunctions plain_engine;
#if defined(__x86_64__) && defined(__GNUC__)
extern const EngineFunctions avx2_engine;
extern const EngineFunctions avx512_engine;
#endif

/// A shape in tiles of m16n8 (or m8n8), and the registers of each.
struct Tiling {
    unsigned blocks, halves, tiles;
    unsigned a, b, c,
        d;  ///< registers of a block of A (16 or 8 rows), of a tile of B (8 columns), of C, of D
};
[[nodiscard]] Tiling tiling_of(const Mma& mma);

/// The version in use.
[[nodiscard]] const EngineFunctions& engine();

/// Rows of the panels for 32-bit words of a type: elements (floats), pairs (integers), or words (.b1).
[[nodiscard]] constexpr unsigned rows_per_word(MatrixType type) {
    switch (type) {
        case MatrixType::e4m3:
        case MatrixType::e5m2: return 4;
        case MatrixType::f16:
        case MatrixType::bf16:
        case MatrixType::s8:
        case MatrixType::u8: return 2;
        case MatrixType::s4:
        case MatrixType::u4: return 4;
        default: return 1;
    }
}
[[nodiscard]] constexpr bool is_signed(MatrixType type) {
    return type == MatrixType::s8 || type == MatrixType::s4;
}

/// One value, as all engines have it: exact, and rounded to nearest even; a NaN is the canonical one.
[[nodiscard]] float f16_value(std::uint32_t bits);
[[nodiscard]] std::uint32_t f16_bits(float value);
[[nodiscard]] std::uint32_t f32_bits(float value);

/// Eight rows of eight 16-bit elements become eight columns; `words` aligned to 16 bytes.
void transpose_halves(std::uint32_t* words);

/// mma.m8n8k4 of .f16.
void multiply_quad_pairs(const Mma& mma, const MmaOperands& operands);

inline constexpr std::uint32_t f32_nan = 0x7FFFFFFF, f16_nan = 0x7FFF;

}  // namespace ptxgraft::emulator
