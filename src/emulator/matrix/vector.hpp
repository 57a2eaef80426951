/// @file matrix_vector.hpp
/// The engine over vectors, for matrix_avx2.cpp and matrix_avx512.cpp: each includes it after the macro
/// PTXGRAFT_MATRIX_TARGET (the attribute that names its instructions) and a struct V of vector operations.
/// All is inlined into the few functions of the table, and nothing of the standard library is called, so that
/// no code for newer processors can stand in for code for all.

#define PTXGRAFT_MATRIX_INLINE PTXGRAFT_MATRIX_TARGET [[gnu::always_inline]] inline

namespace ptxgraft::emulator {
namespace {

constexpr unsigned vectors = 32 / V::lanes;  // of one register

/// Element j of each word, as .f32.
template <MatrixType T> PTXGRAFT_MATRIX_INLINE V::Float element(V::Word x, unsigned j) {
    if constexpr (T == MatrixType::tf32) {
        return V::as_float(V::and_(x, 0xFFFFE000));
    } else if constexpr (T == MatrixType::bf16) {
        return V::as_float(j == 0 ? V::template left<16>(x) : V::and_(x, 0xFFFF0000));
    } else if constexpr (T == MatrixType::f16) {
        return V::widen(j == 0 ? x : V::template right<16>(x));
    } else {
        const V::Word byte = j == 0   ? V::and_(x, 0xFF)
                             : j == 1 ? V::and_(V::template right<8>(x), 0xFF)
                             : j == 2 ? V::and_(V::template right<16>(x), 0xFF)
                                      : V::template right<24>(x);
        if constexpr (T == MatrixType::e5m2)
            return V::widen(V::template left<8>(byte));  // the upper half of a .f16
        else
            return e4m3(byte);
    }
}

template <MatrixType T> PTXGRAFT_MATRIX_INLINE void float_a_of(const WordColumns& words, float* panel) {
    constexpr unsigned per_word = rows_per_word(T);
    for (unsigned i = 0; i < words.count; ++i) {
        const unsigned half = i % words.halves, word = i / words.halves * 4;
        for (unsigned q = 0; q < vectors; ++q) {
            const V::Word x = V::load(words.registers[i], q);
            float* to = panel + word * per_word * a_width + half * 32 + q * V::lanes;
#pragma GCC unroll 4
            for (unsigned j = 0; j < per_word; ++j, to += a_width) {
                V::Float f = element<T>(x, j);
                if (words.negate) f = V::negate(f);
                V::store(to, V::template group<0>(f));
                V::store(to + per_word * a_width, V::template group<1>(f));
                V::store(to + 2 * per_word * a_width, V::template group<2>(f));
                V::store(to + 3 * per_word * a_width, V::template group<3>(f));
            }
        }
    }
}

template <MatrixType T> PTXGRAFT_MATRIX_INLINE void float_b_of(const WordColumns& words, float* panel) {
    constexpr unsigned per_word = rows_per_word(T);
    for (unsigned i = 0; i < words.count; ++i) {
        const V::Columns columns(words.registers[i]);
#pragma GCC unroll 4
        for (unsigned q = 0; q < vectors; ++q)
#pragma GCC unroll 4
            for (unsigned j = 0; j < per_word; ++j)
                V::store_rows(panel + ((4 * i + q * (V::lanes / 8)) * per_word + j) * b_width,
                              per_word * b_width, element<T>(columns.words[q], j));
    }
}

/// Pair `j` of each word: of 8-bit elements 0 and 2 (1 and 3), of 4-bit elements j and j + 4.
template <MatrixType T> PTXGRAFT_MATRIX_INLINE V::Word pair(V::Word x, unsigned j) {
    constexpr bool nibbles = T == MatrixType::s4 || T == MatrixType::u4, sign = is_signed(T);
    if constexpr (nibbles) {
        const V::Word high = j == 0   ? V::template left16<12>(x)
                             : j == 1 ? V::template left16<8>(x)
                             : j == 2 ? V::template left16<4>(x)
                                      : x;
        return sign ? V::template arithmetic_right16<12>(high) : V::template right16<12>(high);
    } else {
        const V::Word high = j == 0 ? V::template left16<8>(x) : x;
        return sign ? V::template arithmetic_right16<8>(high) : V::template right16<8>(high);
    }
}

template <MatrixType T> PTXGRAFT_MATRIX_INLINE V::Word unpacked(V::Word x, unsigned j) {
    if constexpr (T == MatrixType::b1)
        return x;
    else
        return pair<T>(x, j);
}

template <MatrixType T>
PTXGRAFT_MATRIX_INLINE void integer_a_of(const WordColumns& words, std::uint32_t* panel) {
    constexpr unsigned per_word = rows_per_word(T);
    for (unsigned i = 0; i < words.count; ++i) {
        const unsigned half = i % words.halves, word = i / words.halves * 4;
        for (unsigned q = 0; q < vectors; ++q) {
            const V::Word x = V::load(words.registers[i], q);
            std::uint32_t* to = panel + word * per_word * a_width + half * 32 + q * V::lanes;
#pragma GCC unroll 4
            for (unsigned j = 0; j < per_word; ++j, to += a_width) {
                const V::Word y = unpacked<T>(x, j);
                V::store(to, V::template group<0>(y));
                V::store(to + per_word * a_width, V::template group<1>(y));
                V::store(to + 2 * per_word * a_width, V::template group<2>(y));
                V::store(to + 3 * per_word * a_width, V::template group<3>(y));
            }
        }
    }
}

template <MatrixType T>
PTXGRAFT_MATRIX_INLINE void integer_b_of(const WordColumns& words, std::uint32_t* panel) {
    constexpr unsigned per_word = rows_per_word(T);
    for (unsigned i = 0; i < words.count; ++i) {
        const V::Columns columns(words.registers[i]);
#pragma GCC unroll 4
        for (unsigned q = 0; q < vectors; ++q)
#pragma GCC unroll 4
            for (unsigned j = 0; j < per_word; ++j)
                V::store_rows(panel + ((4 * i + q * (V::lanes / 8)) * per_word + j) * b_width,
                              per_word * b_width, unpacked<T>(columns.words[q], j));
    }
}

PTXGRAFT_MATRIX_TARGET void float_a(const WordColumns& words, float* panel) {
    switch (words.type) {
        case MatrixType::f16: return float_a_of<MatrixType::f16>(words, panel);
        case MatrixType::bf16: return float_a_of<MatrixType::bf16>(words, panel);
        case MatrixType::e4m3: return float_a_of<MatrixType::e4m3>(words, panel);
        case MatrixType::e5m2: return float_a_of<MatrixType::e5m2>(words, panel);
        default: return float_a_of<MatrixType::tf32>(words, panel);
    }
}
PTXGRAFT_MATRIX_TARGET void float_b(const WordColumns& words, float* panel) {
    switch (words.type) {
        case MatrixType::f16: return float_b_of<MatrixType::f16>(words, panel);
        case MatrixType::bf16: return float_b_of<MatrixType::bf16>(words, panel);
        case MatrixType::e4m3: return float_b_of<MatrixType::e4m3>(words, panel);
        case MatrixType::e5m2: return float_b_of<MatrixType::e5m2>(words, panel);
        default: return float_b_of<MatrixType::tf32>(words, panel);
    }
}
PTXGRAFT_MATRIX_TARGET void integer_a(const WordColumns& words, std::uint32_t* panel) {
    switch (words.type) {
        case MatrixType::s8: return integer_a_of<MatrixType::s8>(words, panel);
        case MatrixType::u8: return integer_a_of<MatrixType::u8>(words, panel);
        case MatrixType::s4: return integer_a_of<MatrixType::s4>(words, panel);
        case MatrixType::u4: return integer_a_of<MatrixType::u4>(words, panel);
        default: return integer_a_of<MatrixType::b1>(words, panel);
    }
}
PTXGRAFT_MATRIX_TARGET void integer_b(const WordColumns& words, std::uint32_t* panel) {
    switch (words.type) {
        case MatrixType::s8: return integer_b_of<MatrixType::s8>(words, panel);
        case MatrixType::u8: return integer_b_of<MatrixType::u8>(words, panel);
        case MatrixType::s4: return integer_b_of<MatrixType::s4>(words, panel);
        case MatrixType::u4: return integer_b_of<MatrixType::u4>(words, panel);
        default: return integer_b_of<MatrixType::b1>(words, panel);
    }
}

/// Columns 2t (b = 0) or 2t + 1 of a half of a tile of C.
PTXGRAFT_MATRIX_INLINE V::Float accumulator(const FloatTiles& tiles, unsigned tile, unsigned half, unsigned b,
                                            unsigned q) {
    if (tiles.c == nullptr) return V::zero();
    const unsigned pair = tile * tiles.halves + half;
    if (tiles.c_type == MatrixType::f32) return V::as_float(V::load(tiles.c[2 * pair + b], q));
    const V::Word x = V::load(tiles.c[pair], q);
    return V::widen(b == 0 ? x : V::template right<16>(x));
}

PTXGRAFT_MATRIX_INLINE void finish(const FloatTiles& tiles, unsigned tile, unsigned half, unsigned q,
                                   V::Float even, V::Float odd) {
    const unsigned pair = tile * tiles.halves + half;
    if (tiles.d_type == MatrixType::f32) {
        V::store(tiles.d[2 * pair], q, V::canonical(even));
        V::store(tiles.d[2 * pair + 1], q, V::canonical(odd));
    } else {
        V::store(tiles.d[pair], q, V::or_(V::narrow(even), V::template left<16>(V::narrow(odd))));
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
            for (unsigned q = 0; q < vectors; ++q) column[h][q] = V::load(a + h * 32 + q * V::lanes);
#pragma GCC unroll 2
        for (unsigned t = 0; t < T; ++t)
#pragma GCC unroll 2
            for (unsigned b = 0; b < 2; ++b) {
                const V::Float four = V::repeat_four(b_row + t * panel_rows * b_width + b * 4);
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
    const V::Word c = V::load(tiles.c[i], q), total = V::add(sum, c);
    if (!tiles.satfinite) return total;
    // Overflow: both signs equal, and unlike that of the total.
    const V::Word overflow =
        V::template arithmetic_right<31>(V::and_not(V::xor_(sum, c), V::xor_(sum, total)));
    const V::Word limit = V::xor_(V::template arithmetic_right<31>(c), 0x7FFFFFFF);
    return V::or_(V::and_not(overflow, total), V::and_(overflow, limit));
}

PTXGRAFT_MATRIX_TARGET void multiply_integers(const IntegerTiles& tiles) {
    for (unsigned tile = 0; tile < tiles.tiles; ++tile)
        for (unsigned half = 0; half < tiles.halves; ++half) {
            V::Word sums[2][vectors];
#pragma GCC unroll 4
            for (unsigned q = 0; q < vectors; ++q) sums[0][q] = sums[1][q] = V::no_words();
            const std::uint32_t* a = tiles.a + half * 32;
            const std::uint32_t* b_row = tiles.b + tile * panel_rows * b_width;
            for (unsigned k = 0; k < tiles.depth; ++k, a += a_width, b_row += b_width) {
                const V::Word even = V::repeat_four(b_row), odd = V::repeat_four(b_row + 4);
#pragma GCC unroll 4
                for (unsigned q = 0; q < vectors; ++q) {
                    const V::Word column = V::load(a + q * V::lanes);
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
            V::store(tile.d[row + r], sums[r]);
        }
    }
    return is_number;
}

}  // namespace
}  // namespace ptxgraft::emulator
