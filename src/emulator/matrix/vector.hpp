/// @file vector.hpp
/// The engine over vectors, for avx2.cpp and avx512.cpp: each includes it after the macros
/// PTXGRAFT_MATRIX_TARGET (the attribute that names its instructions) and PTXGRAFT_MATRIX_OPERATION, and a
/// struct Vector of those operations for which C++ has no operator:
/// - repeat_four: four words again and again; multiply_pairs: 16-bit integers, and adds neighbours
/// - group<I>: in each four lanes that of lane I
/// - widen: the low half of each word, a .f16; narrow_number: to .f16, but for NaN
/// - store_rows: one row of a panel of B, or two that are `stride` apart; Doubles: a row of doubles
/// - Columns: the words of a register of B in the order of panels
/// All is inlined into the few functions of the table, and nothing of the standard library is called, so that
/// no code for newer processors can stand in for code for all.

#define PTXGRAFT_MATRIX_INLINE PTXGRAFT_MATRIX_TARGET [[gnu::always_inline]] inline

namespace ptxgraft::emulator {
namespace {

constexpr unsigned vectors = 32 / Vector::lanes;  // of one register

struct V : Vector {
    // GCC's and clang's vectors, whose operators are those of their elements; a Word has those of its bits.
    template <class T> using Of [[gnu::vector_size(4 * lanes)]] = T;
    using U32 = Of<std::uint32_t>;

    template <class T, class X> PTXGRAFT_MATRIX_OPERATION T as(X x) { return reinterpret_cast<T>(x); }
    PTXGRAFT_MATRIX_OPERATION Float as_float(Word x) { return as<Float>(x); }
    PTXGRAFT_MATRIX_OPERATION Word all(std::uint32_t x) { return as<Word>(U32{} + x); }

    // Registers are aligned to 32 bytes, panels to 64.
    template <class T> PTXGRAFT_MATRIX_OPERATION T load(const void* from, unsigned q = 0) {
        T x;
        __builtin_memcpy(&x, static_cast<const T*>(from) + q, sizeof x);
        return x;
    }
    template <class T> PTXGRAFT_MATRIX_OPERATION void store(void* to, unsigned q, T x) {
        __builtin_memcpy(static_cast<T*>(to) + q, &x, sizeof x);
    }
    /// Shifts elements of type T.
    template <class T, unsigned Bits> PTXGRAFT_MATRIX_OPERATION Word left(Word x) {
        return as<Word>(as<Of<T>>(x) << Bits);
    }
    template <class T, unsigned Bits> PTXGRAFT_MATRIX_OPERATION Word right(Word x) {
        return as<Word>(as<Of<T>>(x) >> Bits);
    }
    PTXGRAFT_MATRIX_OPERATION Word add(Word x, Word y) { return as<Word>(as<U32>(x) + as<U32>(y)); }
    PTXGRAFT_MATRIX_OPERATION Word narrow(Float f) {
        return as<Word>(f != f ? as<U32>(all(f16_nan)) : as<U32>(narrow_number(f)));
    }
    PTXGRAFT_MATRIX_OPERATION Float canonical(Float f) { return f != f ? as_float(all(f32_nan)) : f; }
    /// A .f16 with the same bits, moved, has an exponent that is 8 less.
    PTXGRAFT_MATRIX_OPERATION Float e4m3(Word byte) {
        const Word magnitude = byte & all(0x7F), sign = byte & all(0x80);
        const Word half = left<std::uint32_t, 7>(magnitude) | left<std::uint32_t, 8>(sign);
        return as<U32>(magnitude) == 0x7F ? as_float(all(f32_nan)) : widen(half) * 256.0f;
    }
};

constexpr bool is_integer(MatrixType type) {
    return is_signed(type) || type == MatrixType::u8 || type == MatrixType::u4 || type == MatrixType::b1;
}

/// Element j of each word, as .f32; of integers pair `j`: of 8-bit elements 0 and 2 (1 and 3), of 4-bit
/// elements j and j + 4; .b1 as it is.
template <MatrixType T> PTXGRAFT_MATRIX_INLINE auto element(V::Word x, unsigned j) {
    using u32 = std::uint32_t;
    if constexpr (T == MatrixType::b1) {
        return x;
    } else if constexpr (is_integer(T)) {
        using u16 = std::uint16_t;
        using Shifted = std::conditional_t<is_signed(T), std::int16_t, u16>;
        constexpr unsigned bits = element_bits(T);
        const V::Word high = bits == 8 ? (j == 0 ? V::left<u16, 8>(x) : x)
                             : j == 0  ? V::left<u16, 12>(x)
                             : j == 1  ? V::left<u16, 8>(x)
                             : j == 2  ? V::left<u16, 4>(x)
                                       : x;
        return V::right<Shifted, 16 - bits>(high);
    } else if constexpr (T == MatrixType::tf32) {
        return V::as_float(x & V::all(0xFFFFE000));
    } else if constexpr (T == MatrixType::bf16) {
        return V::as_float(j == 0 ? V::left<u32, 16>(x) : x & V::all(0xFFFF0000));
    } else if constexpr (T == MatrixType::f16) {
        return V::widen(j == 0 ? x : V::right<u32, 16>(x));
    } else {
        const V::Word byte = j == 0   ? x & V::all(0xFF)
                             : j == 1 ? V::right<u32, 8>(x) & V::all(0xFF)
                             : j == 2 ? V::right<u32, 16>(x) & V::all(0xFF)
                                      : V::right<u32, 24>(x);
        if constexpr (T == MatrixType::e5m2)
            return V::widen(V::left<u32, 8>(byte));  // the upper half of a .f16
        else
            return V::e4m3(byte);
    }
}

template <MatrixType T, class Element>
PTXGRAFT_MATRIX_INLINE void unpack_a(const WordColumns& words, Element* panel) {
    constexpr unsigned per_word = rows_per_word(T), row = per_word * a_width;
    for (unsigned i = 0; i < words.count; ++i) {
        const unsigned half = i % words.halves, word = i / words.halves * 4;
        for (unsigned q = 0; q < vectors; ++q) {
            const auto x = V::load<V::Word>(words.registers[i], q);
            Element* to = panel + word * per_word * a_width + half * 32 + q * V::lanes;
#pragma GCC unroll 4
            for (unsigned j = 0; j < per_word; ++j, to += a_width) {
                auto f = element<T>(x, j);
                if constexpr (!is_integer(T))
                    if (words.negate) f = -f;
                const auto bits = V::as<V::Word>(f);
                V::store(to, 0, V::group<0>(bits));
                V::store(to + row, 0, V::group<1>(bits));
                V::store(to + 2 * row, 0, V::group<2>(bits));
                V::store(to + 3 * row, 0, V::group<3>(bits));
            }
        }
    }
}

template <MatrixType T, class Element>
PTXGRAFT_MATRIX_INLINE void unpack_b(const WordColumns& words, Element* panel) {
    constexpr unsigned per_word = rows_per_word(T);
    for (unsigned i = 0; i < words.count; ++i) {
        const V::Columns columns(words.registers[i]);
#pragma GCC unroll 4
        for (unsigned q = 0; q < vectors; ++q)
#pragma GCC unroll 4
            for (unsigned j = 0; j < per_word; ++j)
                V::store_rows(panel + ((4 * i + q * (V::lanes / 8)) * per_word + j) * b_width,
                              per_word * b_width, V::as<V::Word>(element<T>(columns.words[q], j)));
    }
}

/// Of the words' type, which is one of these, or the last one.
template <MatrixType T, MatrixType... Others, class Element>
PTXGRAFT_MATRIX_INLINE void unpack_a_of(const WordColumns& words, Element* panel) {
    if (sizeof...(Others) == 0 || words.type == T) return unpack_a<T>(words, panel);
    if constexpr (sizeof...(Others) != 0) unpack_a_of<Others...>(words, panel);
}
template <MatrixType T, MatrixType... Others, class Element>
PTXGRAFT_MATRIX_INLINE void unpack_b_of(const WordColumns& words, Element* panel) {
    if (sizeof...(Others) == 0 || words.type == T) return unpack_b<T>(words, panel);
    if constexpr (sizeof...(Others) != 0) unpack_b_of<Others...>(words, panel);
}

using enum syntax::Type;
PTXGRAFT_MATRIX_TARGET void float_a(const WordColumns& words, float* panel) {
    unpack_a_of<f16, bf16, e4m3, e5m2, tf32>(words, panel);
}
PTXGRAFT_MATRIX_TARGET void float_b(const WordColumns& words, float* panel) {
    unpack_b_of<f16, bf16, e4m3, e5m2, tf32>(words, panel);
}
PTXGRAFT_MATRIX_TARGET void integer_a(const WordColumns& words, std::uint32_t* panel) {
    unpack_a_of<s8, u8, s4, u4, b1>(words, panel);
}
PTXGRAFT_MATRIX_TARGET void integer_b(const WordColumns& words, std::uint32_t* panel) {
    unpack_b_of<s8, u8, s4, u4, b1>(words, panel);
}

/// Columns 2t (b = 0) or 2t + 1 of a half of a tile of C.
PTXGRAFT_MATRIX_INLINE V::Float accumulator(const FloatTiles& tiles, unsigned tile, unsigned half, unsigned b,
                                            unsigned q) {
    if (tiles.c == nullptr) return V::Float{};
    const unsigned pair = tile * tiles.halves + half;
    if (tiles.c_type == MatrixType::f32) return V::load<V::Float>(tiles.c[2 * pair + b], q);
    const auto x = V::load<V::Word>(tiles.c[pair], q);
    return V::widen(b == 0 ? x : V::right<std::uint32_t, 16>(x));
}

PTXGRAFT_MATRIX_INLINE void finish(const FloatTiles& tiles, unsigned tile, unsigned half, unsigned q,
                                   V::Float even, V::Float odd) {
    const unsigned pair = tile * tiles.halves + half;
    if (tiles.d_type == MatrixType::f32) {
        V::store(tiles.d[2 * pair], q, V::canonical(even));
        V::store(tiles.d[2 * pair + 1], q, V::canonical(odd));
    } else {
        V::store(tiles.d[pair], q, V::narrow(even) | V::left<std::uint32_t, 16>(V::narrow(odd)));
    }
}

/// `T` tiles from `tile` on, `H` halves from `half` on: as many accumulators as the processor has registers
/// for.
template <unsigned T, unsigned H, bool Sparse>
PTXGRAFT_MATRIX_INLINE void float_block(const FloatTiles& tiles, unsigned tile, unsigned half) {
    V::Float sums[T][2][H][vectors];
#pragma GCC unroll 2
    for (unsigned t = 0; t < T; ++t)
#pragma GCC unroll 2
        for (unsigned b = 0; b < 2; ++b)
#pragma GCC unroll 2
            for (unsigned h = 0; h < H; ++h)
#pragma GCC unroll 4
                for (unsigned q = 0; q < vectors; ++q)
                    sums[t][b][h][q] = accumulator(tiles, tile + t, half + h, b, q);
    const float* a = tiles.a + half * 32;
    const float* b_row = tiles.b + tile * panel_rows * b_width;
    for (unsigned k = 0; k < tiles.depth; ++k, a += a_width, b_row += b_width) {
        V::Float column[H][vectors];
#pragma GCC unroll 2
        for (unsigned h = 0; h < H; ++h)
#pragma GCC unroll 4
            for (unsigned q = 0; q < vectors; ++q) column[h][q] = V::load<V::Float>(a + h * 32, q);
#pragma GCC unroll 2
        for (unsigned t = 0; t < T; ++t)
#pragma GCC unroll 2
            for (unsigned b = 0; b < 2; ++b) {
                const V::Float four = V::as_float(V::repeat_four(b_row + t * panel_rows * b_width + b * 4));
#pragma GCC unroll 2
                for (unsigned h = 0; h < H; ++h)
#pragma GCC unroll 4
                    for (unsigned q = 0; q < vectors; ++q) {
                        V::Float& sum = sums[t][b][h][q];
                        if constexpr (Sparse)
                            sum = V::fma_where(tiles.present[k] >> ((half + h) * 32 + q * V::lanes),
                                               column[h][q], four, sum);
                        else
                            sum = V::fma(column[h][q], four, sum);
                    }
            }
    }
#pragma GCC unroll 2
    for (unsigned t = 0; t < T; ++t)
#pragma GCC unroll 2
        for (unsigned h = 0; h < H; ++h)
#pragma GCC unroll 4
            for (unsigned q = 0; q < vectors; ++q)
                finish(tiles, tile + t, half + h, q, sums[t][0][h][q], sums[t][1][h][q]);
}

template <unsigned T, unsigned H>
PTXGRAFT_MATRIX_TARGET void float_blocks(const FloatTiles& tiles, unsigned tile, unsigned half) {
    if (tiles.present != nullptr)
        float_block<T, H, true>(tiles, tile, half);
    else
        float_block<T, H, false>(tiles, tile, half);
}

/// Adds C, wrapping or clamping.
PTXGRAFT_MATRIX_INLINE V::Word with_c(const IntegerTiles& tiles, V::Word sum, unsigned i, unsigned q) {
    if (tiles.c == nullptr) return sum;
    using s32 = std::int32_t;
    const auto c = V::load<V::Word>(tiles.c[i], q);
    const V::Word total = V::add(sum, c);
    if (!tiles.satfinite) return total;
    // Overflow: both signs equal, and unlike that of the total.
    const V::Word overflow = V::right<s32, 31>(~(sum ^ c) & (sum ^ total));
    const V::Word limit = V::right<s32, 31>(c) ^ V::all(0x7FFFFFFF);
    return (~overflow & total) | (overflow & limit);
}

PTXGRAFT_MATRIX_TARGET void multiply_integers(const IntegerTiles& tiles) {
    for (unsigned tile = 0; tile < tiles.tiles; ++tile)
        for (unsigned half = 0; half < tiles.halves; ++half) {
            V::Word sums[2][vectors];
#pragma GCC unroll 4
            for (unsigned q = 0; q < vectors; ++q) sums[0][q] = sums[1][q] = V::Word{};
            const std::uint32_t* a = tiles.a + half * 32;
            const std::uint32_t* b_row = tiles.b + tile * panel_rows * b_width;
            for (unsigned k = 0; k < tiles.depth; ++k, a += a_width, b_row += b_width) {
                const V::Word even = V::repeat_four(b_row), odd = V::repeat_four(b_row + 4);
#pragma GCC unroll 4
                for (unsigned q = 0; q < vectors; ++q) {
                    const auto column = V::load<V::Word>(a, q);
                    sums[0][q] = V::add(sums[0][q], V::multiply_pairs(column, even));
                    sums[1][q] = V::add(sums[1][q], V::multiply_pairs(column, odd));
                }
            }
            for (unsigned b = 0; b < 2; ++b) {
                const unsigned i = (tile * tiles.halves + half) * 2 + b;
#pragma GCC unroll 4
                for (unsigned q = 0; q < vectors; ++q)
                    V::store(tiles.d[i], q, with_c(tiles, sums[b][q], i, q));
            }
        }
}

PTXGRAFT_MATRIX_TARGET void multiply_bits(const IntegerTiles& tiles) {
    const std::uint32_t xor_mask = tiles.bits == BitOperation::xor_ ? ~0u : 0;  // a ^ b = (a | b) & ~(a & b)
    for (unsigned i = 0; i < tiles.tiles * tiles.halves * 2; ++i) {
        const unsigned b = i % 2, half = i / 2 % tiles.halves, tile = i / 2 / tiles.halves;
        for (unsigned lane = 0; lane < 32; ++lane) {
            const std::uint32_t* a = tiles.a + half * 32 + lane;
            const std::uint32_t* row = tiles.b + tile * panel_rows * b_width + b * 4 + lane % 4;
            std::uint32_t sum = tiles.c == nullptr ? 0 : static_cast<const std::uint32_t*>(tiles.c[i])[lane];
            for (unsigned k = 0; k < tiles.depth; ++k) {
                const std::uint32_t x = a[k * a_width], y = row[k * b_width];
                sum += static_cast<std::uint32_t>(__builtin_popcount((x & y) ^ (xor_mask & (x | y))));
            }
            static_cast<std::uint32_t*>(tiles.d[i])[lane] = sum;
        }
    }
}

PTXGRAFT_MATRIX_INLINE const double* doubles(const void* column) {
    return static_cast<const double*>(column);
}

PTXGRAFT_MATRIX_TARGET bool multiply_doubles(const DoubleTile& tile) {
    constexpr unsigned most_depth_of_doubles = 16, together = V::lanes / 2;  // rows of D in registers
    alignas(64) double b[most_depth_of_doubles][b_width];
    for (unsigned k = 0; k < tile.depth; ++k)
        for (unsigned n = 0; n < 8; ++n) b[k][n % 2 * 4 + n / 2] = doubles(tile.b[k / 4])[4 * n + k % 4];
    bool is_number = true;
    for (unsigned row = 0; row < 8 * tile.halves; row += together) {
        const unsigned half = row / 8, lane = row % 8 * 4;
        V::Doubles sums[together];
#pragma GCC unroll 8
        for (unsigned r = 0; r < together; ++r)
            sums[r] = V::load_doubles(doubles(tile.c[2 * half]) + lane + 4 * r,
                                      doubles(tile.c[2 * half + 1]) + lane + 4 * r);
        for (unsigned k = 0; k < tile.depth; ++k) {
            const double* a = doubles(tile.a[k / 4 * tile.halves + half]) + lane + k % 4;
            const V::Doubles of_k = V::load_doubles(b[k], b[k] + 4);
#pragma GCC unroll 8
            for (unsigned r = 0; r < together; ++r) sums[r] = V::fma(a[4 * r], of_k, sums[r]);
        }
#pragma GCC unroll 8
        for (unsigned r = 0; r < together; ++r) {
            is_number &= !V::has_nan(sums[r]);
            V::store_doubles(tile.d[row + r], sums[r]);
        }
    }
    return is_number;
}

}  // namespace
}  // namespace ptxgraft::emulator
