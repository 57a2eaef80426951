// The tensor cores for processors with AVX2 and FMA (and F16C, which all of those have).
#include "emulator/matrix/engine.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define PTXGRAFT_MATRIX_TARGET [[gnu::target("avx2,fma,f16c,bmi,bmi2,popcnt")]]
#define PTXGRAFT_MATRIX_OPERATION PTXGRAFT_MATRIX_TARGET [[gnu::always_inline]] static inline

namespace ptxgraft::emulator {
namespace {

struct Vector {
    static constexpr unsigned lanes = 8;
    using Float = __m256;
    using Word = __m256i;

    PTXGRAFT_MATRIX_OPERATION Word repeat_four(const void* p) {
        return _mm256_broadcastsi128_si256(_mm_load_si128(static_cast<const __m128i*>(p)));
    }
    PTXGRAFT_MATRIX_OPERATION Word multiply_pairs(Word x, Word y) { return _mm256_madd_epi16(x, y); }
    PTXGRAFT_MATRIX_OPERATION Float fma(Float a, Float b, Float c) { return _mm256_fmadd_ps(a, b, c); }
    PTXGRAFT_MATRIX_OPERATION Float fma_where(std::uint64_t lanes_of, Float a, Float b, Float c) {
        const Word bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128),
                   all = _mm256_set1_epi32(static_cast<int>(lanes_of));
        return _mm256_blendv_ps(c, fma(a, b, c), _mm256_castsi256_ps(_mm256_cmpeq_epi32(all & bit, bit)));
    }
    template <int I> PTXGRAFT_MATRIX_OPERATION Word group(Word x) {
        return _mm256_shuffle_epi32(x, I * 0x55);
    }
    PTXGRAFT_MATRIX_OPERATION Float widen(Word x) {
        const Word low = x & _mm256_set1_epi32(0xFFFF);
        const Word packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, low), 0x08);
        return _mm256_cvtph_ps(_mm256_castsi256_si128(packed));
    }
    PTXGRAFT_MATRIX_OPERATION Word narrow_number(Float f) {
        return _mm256_cvtepu16_epi32(_mm256_cvtps_ph(f, _MM_FROUND_TO_NEAREST_INT));
    }
    PTXGRAFT_MATRIX_OPERATION void store_rows(void* to, unsigned, Word x) {
        _mm256_store_si256(static_cast<__m256i*>(to), x);
    }
    struct Doubles {
        __m256d even, odd;
    };
    PTXGRAFT_MATRIX_OPERATION Doubles load_doubles(const double* even, const double* odd) {
        return {_mm256_loadu_pd(even), _mm256_loadu_pd(odd)};
    }
    PTXGRAFT_MATRIX_OPERATION void store_doubles(double* to, Doubles x) {
        _mm256_storeu_pd(to, x.even);
        _mm256_storeu_pd(to + 4, x.odd);
    }
    PTXGRAFT_MATRIX_OPERATION Doubles fma(double a, Doubles b, Doubles c) {
        const __m256d all = _mm256_set1_pd(a);
        return {_mm256_fmadd_pd(all, b.even, c.even), _mm256_fmadd_pd(all, b.odd, c.odd)};
    }
    PTXGRAFT_MATRIX_OPERATION bool has_nan(Doubles x) {
        return _mm256_movemask_pd(_mm256_or_pd(_mm256_cmp_pd(x.even, x.even, _CMP_UNORD_Q),
                                               _mm256_cmp_pd(x.odd, x.odd, _CMP_UNORD_Q))) != 0;
    }
    /// For each t the words for columns 0 2 4 6 1 3 5 7.
    struct Columns {
        Word words[4];
        PTXGRAFT_MATRIX_TARGET [[gnu::always_inline]] explicit Columns(const void* column) {
            const auto* from = static_cast<const int*>(column);
            const Word index = _mm256_setr_epi32(0, 8, 16, 24, 4, 12, 20, 28);
            for (unsigned t = 0; t < 4; ++t) words[t] = _mm256_i32gather_epi32(from + t, index, 4);
        }
    };
};

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

const EngineFunctions avx2_engine = {{float_a, float_b, multiply_floats},
                                     {integer_a, integer_b, multiply_integers},
                                     {integer_a, integer_b, multiply_bits},
                                     multiply_doubles};

}  // namespace ptxgraft::emulator
#endif
