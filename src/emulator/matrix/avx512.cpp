// The tensor cores for processors with AVX-512.
#include "emulator/matrix/engine.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#if !defined(__clang__)  // GCC 12 warns of its own header's "undefined" vectors.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#define PTXGRAFT_MATRIX_TARGET [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,bmi,bmi2,popcnt")]]
#define PTXGRAFT_MATRIX_OPERATION PTXGRAFT_MATRIX_TARGET [[gnu::always_inline]] static inline

namespace ptxgraft::emulator {
namespace {

struct V {
    static constexpr unsigned lanes = 16;
    using Float = __m512;
    using Word = __m512i;

    PTXGRAFT_MATRIX_OPERATION Word load(const void* column, unsigned q) {
        return _mm512_loadu_si512(static_cast<const std::uint32_t*>(column) + q * lanes);
    }
    PTXGRAFT_MATRIX_OPERATION Word load(const std::uint32_t* p) { return _mm512_load_si512(p); }
    PTXGRAFT_MATRIX_OPERATION Float load(const float* p) { return _mm512_load_ps(p); }
    PTXGRAFT_MATRIX_OPERATION void store(void* column, unsigned q, Float f) {
        _mm512_storeu_ps(static_cast<float*>(column) + q * lanes, f);
    }
    PTXGRAFT_MATRIX_OPERATION void store(void* column, unsigned q, Word x) {
        _mm512_storeu_si512(static_cast<std::uint32_t*>(column) + q * lanes, x);
    }
    PTXGRAFT_MATRIX_OPERATION void store(float* p, Float f) { _mm512_store_ps(p, f); }
    PTXGRAFT_MATRIX_OPERATION void store(std::uint32_t* p, Word x) { _mm512_store_si512(p, x); }
    PTXGRAFT_MATRIX_OPERATION Float repeat_four(const float* p) {
        return _mm512_broadcast_f32x4(_mm_load_ps(p));
    }
    PTXGRAFT_MATRIX_OPERATION Word repeat_four(const std::uint32_t* p) {
        return _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(p)));
    }
    PTXGRAFT_MATRIX_OPERATION Float zero() { return _mm512_setzero_ps(); }
    PTXGRAFT_MATRIX_OPERATION Word no_words() { return _mm512_setzero_si512(); }
    PTXGRAFT_MATRIX_OPERATION Float as_float(Word x) { return _mm512_castsi512_ps(x); }
    template <unsigned Bits> PTXGRAFT_MATRIX_OPERATION Word left(Word x) {
        return _mm512_slli_epi32(x, Bits);
    }
    template <unsigned Bits> PTXGRAFT_MATRIX_OPERATION Word right(Word x) {
        return _mm512_srli_epi32(x, Bits);
    }
    template <unsigned Bits> PTXGRAFT_MATRIX_OPERATION Word arithmetic_right(Word x) {
        return _mm512_srai_epi32(x, Bits);
    }
    template <unsigned Bits> PTXGRAFT_MATRIX_OPERATION Word left16(Word x) {
        return _mm512_slli_epi16(x, Bits);
    }
    template <unsigned Bits> PTXGRAFT_MATRIX_OPERATION Word right16(Word x) {
        return _mm512_srli_epi16(x, Bits);
    }
    template <unsigned Bits> PTXGRAFT_MATRIX_OPERATION Word arithmetic_right16(Word x) {
        return _mm512_srai_epi16(x, Bits);
    }
    PTXGRAFT_MATRIX_OPERATION Word all(std::uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
    PTXGRAFT_MATRIX_OPERATION Word and_(Word x, Word y) { return _mm512_and_si512(x, y); }
    PTXGRAFT_MATRIX_OPERATION Word and_(Word x, std::uint32_t y) { return _mm512_and_si512(x, all(y)); }
    PTXGRAFT_MATRIX_OPERATION Word and_not(Word x, Word y) { return _mm512_andnot_si512(x, y); }
    PTXGRAFT_MATRIX_OPERATION Word or_(Word x, Word y) { return _mm512_or_si512(x, y); }
    PTXGRAFT_MATRIX_OPERATION Word xor_(Word x, Word y) { return _mm512_xor_si512(x, y); }
    PTXGRAFT_MATRIX_OPERATION Word xor_(Word x, std::uint32_t y) { return _mm512_xor_si512(x, all(y)); }
    PTXGRAFT_MATRIX_OPERATION Word add(Word x, Word y) { return _mm512_add_epi32(x, y); }
    PTXGRAFT_MATRIX_OPERATION Word multiply_pairs(Word x, Word y) { return _mm512_madd_epi16(x, y); }
    PTXGRAFT_MATRIX_OPERATION Float negate(Float f) {
        return as_float(xor_(_mm512_castps_si512(f), 0x80000000));
    }
    PTXGRAFT_MATRIX_OPERATION Float multiply(Float a, float b) { return _mm512_mul_ps(a, _mm512_set1_ps(b)); }
    PTXGRAFT_MATRIX_OPERATION Float fma(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }
    PTXGRAFT_MATRIX_OPERATION Float fma_where(std::uint64_t lanes_of, Float a, Float b, Float c) {
        return _mm512_mask3_fmadd_ps(a, b, c, static_cast<__mmask16>(lanes_of));
    }
    /// In each four lanes: that of lane I.
    template <int I> PTXGRAFT_MATRIX_OPERATION Float group(Float f) { return _mm512_permute_ps(f, I * 0x55); }
    template <int I> PTXGRAFT_MATRIX_OPERATION Word group(Word x) {
        return _mm512_shuffle_epi32(x, static_cast<_MM_PERM_ENUM>(I * 0x55));
    }
    /// The low half of each word, a .f16.
    PTXGRAFT_MATRIX_OPERATION Float widen(Word x) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(x)); }
    PTXGRAFT_MATRIX_OPERATION Word narrow(Float f) {
        const Word x = _mm512_cvtepu16_epi32(_mm512_cvtps_ph(f, _MM_FROUND_TO_NEAREST_INT));
        return _mm512_mask_mov_epi32(x, _mm512_cmp_ps_mask(f, f, _CMP_UNORD_Q), all(f16_nan));
    }
    PTXGRAFT_MATRIX_OPERATION Float canonical(Float f) {
        return _mm512_mask_mov_ps(f, _mm512_cmp_ps_mask(f, f, _CMP_UNORD_Q), as_float(all(f32_nan)));
    }
    PTXGRAFT_MATRIX_OPERATION Float where_equal(Word x, std::uint32_t y, Float equal, Float other) {
        return _mm512_mask_mov_ps(other, _mm512_cmpeq_epi32_mask(x, all(y)), equal);
    }
    /// Two rows of a panel of B.
    PTXGRAFT_MATRIX_OPERATION void store_rows(float* to, unsigned stride, Float f) {
        _mm256_store_ps(to, _mm512_castps512_ps256(f));
        _mm256_store_ps(to + stride, _mm512_extractf32x8_ps(f, 1));
    }
    PTXGRAFT_MATRIX_OPERATION void store_rows(std::uint32_t* to, unsigned stride, Word x) {
        _mm256_store_si256(reinterpret_cast<__m256i*>(to), _mm512_castsi512_si256(x));
        _mm256_store_si256(reinterpret_cast<__m256i*>(to + stride), _mm512_extracti32x8_epi32(x, 1));
    }
    /// A row of a panel of B, of doubles.
    using Doubles = __m512d;
    PTXGRAFT_MATRIX_OPERATION Doubles load_doubles(const double* even, const double* odd) {
        return _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(even)), _mm256_loadu_pd(odd), 1);
    }
    PTXGRAFT_MATRIX_OPERATION Doubles fma(double a, Doubles b, Doubles c) {
        return _mm512_fmadd_pd(_mm512_set1_pd(a), b, c);
    }
    PTXGRAFT_MATRIX_OPERATION bool has_nan(Doubles x) { return _mm512_cmp_pd_mask(x, x, _CMP_UNORD_Q) != 0; }
    PTXGRAFT_MATRIX_OPERATION void store(double* p, Doubles x) { _mm512_storeu_pd(p, x); }
    /// The words of a register of B in the order of panels: those of t = 0, 1 (t = 2, 3) for columns 0 2 4 6
    /// 1 3 5 7.
    struct Columns {
        Word words[2];
        PTXGRAFT_MATRIX_TARGET [[gnu::always_inline]] explicit Columns(const void* column) {
            const Word low = load(column, 0), high = load(column, 1);
            const Word first = _mm512_setr_epi32(0, 8, 16, 24, 4, 12, 20, 28, 1, 9, 17, 25, 5, 13, 21, 29);
            words[0] = _mm512_permutex2var_epi32(low, first, high);
            words[1] = _mm512_permutex2var_epi32(low, _mm512_add_epi32(first, all(2)), high);
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
    if (tiles.tiles == 2)
        return tiles.halves == 2 ? float_blocks<2, 2>(tiles, 0, 0) : float_blocks<2, 1>(tiles, 0, 0);
    return tiles.halves == 2 ? float_blocks<1, 2>(tiles, 0, 0) : float_blocks<1, 1>(tiles, 0, 0);
}

}  // namespace

const EngineFunctions avx512_engine = {float_a,   float_b,           multiply_floats, integer_a,
                                       integer_b, multiply_integers, multiply_bits,   multiply_doubles};

}  // namespace ptxgraft::emulator
#endif
