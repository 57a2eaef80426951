// The tensor cores for processors with AVX2 and FMA (and F16C, which all of those have).
#include "emulator/matrix/engine.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define PTXGRAFT_MATRIX_TARGET [[gnu::target("avx2,fma,f16c,bmi,bmi2,popcnt")]]
#define PTXGRAFT_MATRIX_OPERATION PTXGRAFT_MATRIX_TARGET [[gnu::always_inline]] static inline

namespace ptxgraft::emulator {
namespace {

struct V {
    static constexpr unsigned lanes = 8;
    using Float = __m256;
    using Word = __m256i;

    PTXGRAFT_MATRIX_OPERATION Word load(const void* column, unsigned q) {
        return _mm256_load_si256(static_cast<const __m256i*>(column) + q);
    }
    PTXGRAFT_MATRIX_OPERATION Word load(const std::uint32_t* p) {
        return _mm256_load_si256(reinterpret_cast<const __m256i*>(p));
    }
    PTXGRAFT_MATRIX_OPERATION Float load(const float* p) { return _mm256_load_ps(p); }
    PTXGRAFT_MATRIX_OPERATION void store(void* column, unsigned q, Float f) {
        _mm256_store_ps(static_cast<float*>(column) + q * lanes, f);
    }
    PTXGRAFT_MATRIX_OPERATION void store(void* column, unsigned q, Word x) {
        _mm256_store_si256(static_cast<__m256i*>(column) + q, x);
    }
    PTXGRAFT_MATRIX_OPERATION void store(float* p, Float f) { _mm256_store_ps(p, f); }
    PTXGRAFT_MATRIX_OPERATION void store(std::uint32_t* p, Word x) {
        _mm256_store_si256(reinterpret_cast<__m256i*>(p), x);
    }
    PTXGRAFT_MATRIX_OPERATION Float repeat_four(const float* p) {
        return _mm256_broadcast_ps(reinterpret_cast<const __m128*>(p));
    }
    PTXGRAFT_MATRIX_OPERATION Word repeat_four(const std::uint32_t* p) {
        return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(p)));
    }
    PTXGRAFT_MATRIX_OPERATION Float zero() { return _mm256_setzero_ps(); }
    PTXGRAFT_MATRIX_OPERATION Word no_words() { return _mm256_setzero_si256(); }
    PTXGRAFT_MATRIX_OPERATION Float as_float(Word x) { return _mm256_castsi256_ps(x); }
    template <int Bits> PTXGRAFT_MATRIX_OPERATION Word left(Word x) { return _mm256_slli_epi32(x, Bits); }
    template <int Bits> PTXGRAFT_MATRIX_OPERATION Word right(Word x) { return _mm256_srli_epi32(x, Bits); }
    template <int Bits> PTXGRAFT_MATRIX_OPERATION Word arithmetic_right(Word x) {
        return _mm256_srai_epi32(x, Bits);
    }
    template <int Bits> PTXGRAFT_MATRIX_OPERATION Word left16(Word x) { return _mm256_slli_epi16(x, Bits); }
    template <int Bits> PTXGRAFT_MATRIX_OPERATION Word right16(Word x) { return _mm256_srli_epi16(x, Bits); }
    template <int Bits> PTXGRAFT_MATRIX_OPERATION Word arithmetic_right16(Word x) {
        return _mm256_srai_epi16(x, Bits);
    }
    PTXGRAFT_MATRIX_OPERATION Word all(std::uint32_t x) { return _mm256_set1_epi32(static_cast<int>(x)); }
    PTXGRAFT_MATRIX_OPERATION Word and_(Word x, Word y) { return _mm256_and_si256(x, y); }
    PTXGRAFT_MATRIX_OPERATION Word and_(Word x, std::uint32_t y) { return _mm256_and_si256(x, all(y)); }
    PTXGRAFT_MATRIX_OPERATION Word and_not(Word x, Word y) { return _mm256_andnot_si256(x, y); }
    PTXGRAFT_MATRIX_OPERATION Word or_(Word x, Word y) { return _mm256_or_si256(x, y); }
    PTXGRAFT_MATRIX_OPERATION Word xor_(Word x, Word y) { return _mm256_xor_si256(x, y); }
    PTXGRAFT_MATRIX_OPERATION Word xor_(Word x, std::uint32_t y) { return _mm256_xor_si256(x, all(y)); }
    PTXGRAFT_MATRIX_OPERATION Word add(Word x, Word y) { return _mm256_add_epi32(x, y); }
    PTXGRAFT_MATRIX_OPERATION Word multiply_pairs(Word x, Word y) { return _mm256_madd_epi16(x, y); }
    PTXGRAFT_MATRIX_OPERATION Float negate(Float f) {
        return as_float(xor_(_mm256_castps_si256(f), 0x80000000));
    }
    PTXGRAFT_MATRIX_OPERATION Float multiply(Float a, float b) { return _mm256_mul_ps(a, _mm256_set1_ps(b)); }
    PTXGRAFT_MATRIX_OPERATION Float fma(Float a, Float b, Float c) { return _mm256_fmadd_ps(a, b, c); }
    PTXGRAFT_MATRIX_OPERATION Float fma_where(std::uint64_t lanes_of, Float a, Float b, Float c) {
        const Word bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
        const Word chosen = _mm256_cmpeq_epi32(and_(all(static_cast<std::uint32_t>(lanes_of)), bit), bit);
        return _mm256_blendv_ps(c, fma(a, b, c), as_float(chosen));
    }
    /// In each four lanes: that of lane I.
    template <int I> PTXGRAFT_MATRIX_OPERATION Float group(Float f) { return _mm256_permute_ps(f, I * 0x55); }
    template <int I> PTXGRAFT_MATRIX_OPERATION Word group(Word x) {
        return _mm256_shuffle_epi32(x, I * 0x55);
    }
    /// The low half of each word, a .f16.
    PTXGRAFT_MATRIX_OPERATION Float widen(Word x) {
        const Word low = and_(x, 0xFFFF);
        const Word packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, low), 0x08);
        return _mm256_cvtph_ps(_mm256_castsi256_si128(packed));
    }
    PTXGRAFT_MATRIX_OPERATION Word narrow(Float f) {
        const Word x = _mm256_cvtepu16_epi32(_mm256_cvtps_ph(f, _MM_FROUND_TO_NEAREST_INT));
        return _mm256_castps_si256(
            _mm256_blendv_ps(as_float(x), as_float(all(f16_nan)), _mm256_cmp_ps(f, f, _CMP_UNORD_Q)));
    }
    PTXGRAFT_MATRIX_OPERATION Float canonical(Float f) {
        return _mm256_blendv_ps(f, as_float(all(f32_nan)), _mm256_cmp_ps(f, f, _CMP_UNORD_Q));
    }
    PTXGRAFT_MATRIX_OPERATION Float where_equal(Word x, std::uint32_t y, Float equal, Float other) {
        return _mm256_blendv_ps(other, equal, as_float(_mm256_cmpeq_epi32(x, all(y))));
    }
    /// One row of a panel of B.
    PTXGRAFT_MATRIX_OPERATION void store_rows(float* to, unsigned, Float f) { _mm256_store_ps(to, f); }
    PTXGRAFT_MATRIX_OPERATION void store_rows(std::uint32_t* to, unsigned, Word x) {
        _mm256_store_si256(reinterpret_cast<__m256i*>(to), x);
    }
    /// A row of a panel of B, of doubles.
    struct Doubles {
        __m256d even, odd;
    };
    PTXGRAFT_MATRIX_OPERATION Doubles load_doubles(const double* even, const double* odd) {
        return {_mm256_loadu_pd(even), _mm256_loadu_pd(odd)};
    }
    PTXGRAFT_MATRIX_OPERATION Doubles fma(double a, Doubles b, Doubles c) {
        const __m256d all = _mm256_set1_pd(a);
        return {_mm256_fmadd_pd(all, b.even, c.even), _mm256_fmadd_pd(all, b.odd, c.odd)};
    }
    PTXGRAFT_MATRIX_OPERATION bool has_nan(Doubles x) {
        return _mm256_movemask_pd(_mm256_or_pd(_mm256_cmp_pd(x.even, x.even, _CMP_UNORD_Q),
                                               _mm256_cmp_pd(x.odd, x.odd, _CMP_UNORD_Q))) != 0;
    }
    PTXGRAFT_MATRIX_OPERATION void store(double* p, Doubles x) {
        _mm256_storeu_pd(p, x.even);
        _mm256_storeu_pd(p + 4, x.odd);
    }
    /// The words of a register of B in the order of panels: for each t those for columns 0 2 4 6 1 3 5 7.
    struct Columns {
        Word words[4];
        PTXGRAFT_MATRIX_TARGET [[gnu::always_inline]] explicit Columns(const void* column) {
            const auto* from = static_cast<const int*>(column);
            const Word index = _mm256_setr_epi32(0, 8, 16, 24, 4, 12, 20, 28);
            for (unsigned t = 0; t < 4; ++t) words[t] = _mm256_i32gather_epi32(from + t, index, 4);
        }
    };
};

/// A .f16 with the same bits, moved, has an exponent that is 8 less.
PTXGRAFT_MATRIX_OPERATION V::Float e4m3(V::Word byte) {
    const V::Word magnitude = V::and_(byte, 0x7F);
    const V::Word half = V::or_(V::left<7>(magnitude), V::left<8>(V::and_(byte, 0x80)));
    return V::where_equal(magnitude, 0x7F, V::as_float(V::all(f32_nan)), V::multiply(V::widen(half), 256.0f));
}

}  // namespace
}  // namespace ptxgraft::emulator

#include "emulator/matrix/vector.hpp"

namespace ptxgraft::emulator {
namespace {

PTXGRAFT_MATRIX_TARGET void multiply_floats(const FloatTiles& tiles) {
    for (unsigned tile = 0; tile < tiles.tiles; ++tile)
        for (unsigned half = 0; half < tiles.halves; ++half) float_blocks<1, 1>(tiles, tile, half);
}

}  // namespace

const EngineFunctions avx2_engine = {float_a,   float_b,           multiply_floats, integer_a,
                                     integer_b, multiply_integers, multiply_bits,   multiply_doubles};

}  // namespace ptxgraft::emulator
#endif
