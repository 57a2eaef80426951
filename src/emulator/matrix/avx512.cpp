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

struct Vector {
    static constexpr unsigned lanes = 16;
    using Float = __m512;
    using Word = __m512i;

    PTXGRAFT_MATRIX_OPERATION Word repeat_four(const void* p) {
        return _mm512_broadcast_i32x4(_mm_load_si128(static_cast<const __m128i*>(p)));
    }
    PTXGRAFT_MATRIX_OPERATION Word multiply_pairs(Word x, Word y) { return _mm512_madd_epi16(x, y); }
    PTXGRAFT_MATRIX_OPERATION Float fma(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }
    PTXGRAFT_MATRIX_OPERATION Float fma_where(std::uint64_t lanes_of, Float a, Float b, Float c) {
        return _mm512_mask3_fmadd_ps(a, b, c, static_cast<__mmask16>(lanes_of));
    }
    template <int I> PTXGRAFT_MATRIX_OPERATION Word group(Word x) {
        return _mm512_shuffle_epi32(x, static_cast<_MM_PERM_ENUM>(I * 0x55));
    }
    PTXGRAFT_MATRIX_OPERATION Float widen(Word x) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(x)); }
    PTXGRAFT_MATRIX_OPERATION Word narrow_number(Float f) {
        return _mm512_cvtepu16_epi32(_mm512_cvtps_ph(f, _MM_FROUND_TO_NEAREST_INT));
    }
    PTXGRAFT_MATRIX_OPERATION void store_rows(void* to, unsigned stride, Word x) {
        auto* const rows = static_cast<std::uint32_t*>(to);
        _mm256_store_si256(reinterpret_cast<__m256i*>(rows), _mm512_castsi512_si256(x));
        _mm256_store_si256(reinterpret_cast<__m256i*>(rows + stride), _mm512_extracti32x8_epi32(x, 1));
    }
    using Doubles = __m512d;
    PTXGRAFT_MATRIX_OPERATION Doubles load_doubles(const double* even, const double* odd) {
        return _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(even)), _mm256_loadu_pd(odd), 1);
    }
    PTXGRAFT_MATRIX_OPERATION void store_doubles(double* to, Doubles x) { _mm512_storeu_pd(to, x); }
    PTXGRAFT_MATRIX_OPERATION Doubles fma(double a, Doubles b, Doubles c) {
        return _mm512_fmadd_pd(_mm512_set1_pd(a), b, c);
    }
    PTXGRAFT_MATRIX_OPERATION bool has_nan(Doubles x) { return _mm512_cmp_pd_mask(x, x, _CMP_UNORD_Q) != 0; }
    /// The words of t = 0, 1 (t = 2, 3) for columns 0 2 4 6 1 3 5 7.
    struct Columns {
        Word words[2];
        PTXGRAFT_MATRIX_TARGET [[gnu::always_inline]] explicit Columns(const void* column) {
            const auto* from = static_cast<const std::uint32_t*>(column);
            const Word low = _mm512_loadu_si512(from), high = _mm512_loadu_si512(from + lanes);
            const Word first = _mm512_setr_epi32(0, 8, 16, 24, 4, 12, 20, 28, 1, 9, 17, 25, 5, 13, 21, 29);
            words[0] = _mm512_permutex2var_epi32(low, first, high);
            words[1] = _mm512_permutex2var_epi32(low, _mm512_add_epi32(first, _mm512_set1_epi32(2)), high);
        }
    };
};

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

const EngineFunctions avx512_engine = {{float_a, float_b, multiply_floats},
                                       {integer_a, integer_b, multiply_integers},
                                       {integer_a, integer_b, multiply_bits},
                                       multiply_doubles};

}  // namespace ptxgraft::emulator
#endif
