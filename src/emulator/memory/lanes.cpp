// Gathers, scatters and blends of columns, written with the vectors of each kind of processor.
#include "emulator/memory/lanes.hpp"

#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "arithmetic/pure.hpp"

namespace ptxgraft::emulator {
namespace {

using arithmetic::Processor;

template <class T> inline void blend_of(std::byte* to, const std::byte* from, std::uint32_t mask) {
    auto* const target = reinterpret_cast<T*>(to);
    const auto* const source = reinterpret_cast<const T*>(from);
    PTXGRAFT_INDEPENDENT
    for (unsigned lane = 0; lane < 32; ++lane)
        target[lane] = (mask >> lane & 1) != 0 ? source[lane] : target[lane];
}

struct Wide {
    std::uint64_t low, high;
};

// The loop has no branches, so that the compiler vectorises it; inactive lanes compute offsets that nothing
// reads.
template <class T>
inline bool locate_of(Located& located, const T* addresses, T add, std::uint32_t last, std::uint32_t unit,
                      std::uint32_t step, std::uint32_t mask) {
    T wrong = 0;
    std::uint32_t apart = 0, least = ~0u, most = 0;
    const auto first = static_cast<std::uint32_t>(addresses[0] + add);
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
        const T at = addresses[lane] + add;
        const T is_active = T{0} - static_cast<T>(mask >> lane & 1);
        const auto low = static_cast<std::uint32_t>(at);
        wrong |= is_active & (static_cast<T>(at > last) | (at & (unit - 1)));
        least = low < least ? low : least;
        most = low > most ? low : most;
        apart |= low ^ (first + lane * step);
        located.offsets[lane] = low;
    }
    located.least = least;
    located.most = most;
    located.all_equal = least == most && mask == ~0u;
    located.consecutive = apart == 0 && mask == ~0u;
    return wrong == 0;
}

template <class T>
inline void gather_of(std::byte* to, const std::byte* from, const Located& located, std::uint32_t mask) {
    auto* const target = reinterpret_cast<T*>(to);
    const auto one = [&](unsigned lane) {
        target[lane] = *reinterpret_cast<const T*>(from + located.offsets[lane]);
    };
    if (mask == ~0u) {
        for (unsigned lane = 0; lane < 32; ++lane) one(lane);
    } else {
        for (; mask != 0; mask &= mask - 1) one(first_lane(mask));
    }
}

inline std::uint32_t walk_of(std::uint32_t* words, const std::uint32_t* lines, const std::uint32_t* offsets,
                             std::uint32_t shift, std::uint32_t word) {
    std::uint32_t any = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
        const std::uint32_t at = offsets[lane] + shift, differs = at >> 7 ^ lines[lane];
        words[lane] |= differs == 0 ? word << (at >> 2 & 31) : 0u;
        any |= differs;
    }
    if (any == 0) return 0;
    std::uint32_t moved = 0;
    for (unsigned lane = 0; lane < 32; ++lane)
        moved |= ((offsets[lane] + shift) >> 7 != lines[lane] ? 1u : 0u) << lane;
    return moved;
}

// Vectors of four words. Here and below the lanes of a warp are all there.
void gather4_of(std::byte* const* to, const std::byte* from, const Located& located) {
    for (std::size_t lane = 0; lane < 32; ++lane)
        for (std::size_t i = 0; i < 4; ++i)
            std::memcpy(to[i] + lane * 4, from + located.offsets[lane] + i * 4, 4);
}
void scatter4_of(std::byte* to, const std::byte* const* from, const Located& located) {
    for (std::size_t lane = 0; lane < 32; ++lane)
        for (std::size_t i = 0; i < 4; ++i)
            std::memcpy(to + located.offsets[lane] + i * 4, from[i] + lane * 4, 4);
}

#if defined(__x86_64__) && defined(__GNUC__)
// What compilers do not find by themselves.
#define PTXGRAFT_INTRINSICS \
    [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2,lzcnt,popcnt")]]

PTXGRAFT_INTRINSICS inline void finish(Located& located, std::uint32_t step, std::uint32_t mask) {
    const __m512i low = _mm512_load_si512(located.offsets), high = _mm512_load_si512(located.offsets + 16);
    const __m512i first = _mm512_set1_epi32(static_cast<int>(located.offsets[0]));
    located.least = _mm512_reduce_min_epu32(_mm512_min_epu32(low, high));
    located.most = _mm512_reduce_max_epu32(_mm512_max_epu32(low, high));
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i steps =
        _mm512_add_epi32(first, _mm512_mullo_epi32(lanes, _mm512_set1_epi32(static_cast<int>(step))));
    const __m512i steps_high = _mm512_add_epi32(steps, _mm512_set1_epi32(static_cast<int>(16 * step)));
    const bool is_full = mask == ~0u;
    located.all_equal = is_full && located.least == located.most;
    located.consecutive =
        is_full && (_mm512_cmpneq_epi32_mask(low, steps) | _mm512_cmpneq_epi32_mask(high, steps_high)) == 0;
}
PTXGRAFT_INTRINSICS bool locate32_avx512(Located& located, const std::uint32_t* addresses, std::uint32_t add,
                                         std::uint32_t last, std::uint32_t unit, std::uint32_t step,
                                         std::uint32_t mask) {
    const __m512i sum = _mm512_set1_epi32(static_cast<int>(add)),
                  most = _mm512_set1_epi32(static_cast<int>(last));
    const __m512i rest = _mm512_set1_epi32(static_cast<int>(unit - 1));
    std::uint32_t wrong = 0;
    for (unsigned part = 0; part < 2; ++part) {
        const __m512i at = _mm512_add_epi32(_mm512_loadu_si512(addresses + part * 16), sum);
        const std::uint32_t bad =
            static_cast<std::uint32_t>(_mm512_cmpgt_epu32_mask(at, most)) | _mm512_test_epi32_mask(at, rest);
        wrong |= bad << (part * 16);
        _mm512_store_si512(located.offsets + part * 16, at);
    }
    finish(located, step, mask);
    return (wrong & mask) == 0;
}
PTXGRAFT_INTRINSICS bool locate64_avx512(Located& located, const std::uint64_t* addresses, std::uint64_t add,
                                         std::uint32_t last, std::uint32_t unit, std::uint32_t step,
                                         std::uint32_t mask) {
    const __m512i sum = _mm512_set1_epi64(static_cast<long long>(add)), most = _mm512_set1_epi64(last);
    const __m512i rest = _mm512_set1_epi64(unit - 1);
    std::uint32_t wrong = 0;
    for (unsigned part = 0; part < 4; ++part) {
        const __m512i at = _mm512_add_epi64(_mm512_loadu_si512(addresses + part * 8), sum);
        const std::uint32_t bad =
            static_cast<std::uint32_t>(_mm512_cmpgt_epu64_mask(at, most)) | _mm512_test_epi64_mask(at, rest);
        wrong |= bad << (part * 8);
        _mm256_store_si256(reinterpret_cast<__m256i*>(located.offsets + part * 8), _mm512_cvtepi64_epi32(at));
    }
    finish(located, step, mask);
    return (wrong & mask) == 0;
}
// Four values of 4 bytes for each lane, by columns. (Gather instructions take three times as long.)
PTXGRAFT_INTRINSICS void gather4_avx512(std::byte* const* to, const std::byte* from, const Located& located) {
    const auto row = [&](unsigned lane) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + located.offsets[lane]));
    };
    for (unsigned half = 0; half < 32; half += 16) {
        __m512i part[4];  // part[i]: lanes i, i + 4, i + 8, i + 12
        for (unsigned i = 0; i < 4; ++i) {
            part[i] = _mm512_castsi128_si512(row(half + i));
            part[i] = _mm512_inserti32x4(part[i], row(half + i + 4), 1);
            part[i] = _mm512_inserti32x4(part[i], row(half + i + 8), 2);
            part[i] = _mm512_inserti32x4(part[i], row(half + i + 12), 3);
        }
        const __m512i low01 = _mm512_unpacklo_epi32(part[0], part[1]),
                      high01 = _mm512_unpackhi_epi32(part[0], part[1]);
        const __m512i low23 = _mm512_unpacklo_epi32(part[2], part[3]),
                      high23 = _mm512_unpackhi_epi32(part[2], part[3]);
        _mm512_storeu_si512(to[0] + std::size_t{half} * 4, _mm512_unpacklo_epi64(low01, low23));
        _mm512_storeu_si512(to[1] + std::size_t{half} * 4, _mm512_unpackhi_epi64(low01, low23));
        _mm512_storeu_si512(to[2] + std::size_t{half} * 4, _mm512_unpacklo_epi64(high01, high23));
        _mm512_storeu_si512(to[3] + std::size_t{half} * 4, _mm512_unpackhi_epi64(high01, high23));
    }
}
PTXGRAFT_INTRINSICS void scatter4_avx512(std::byte* to, const std::byte* const* from,
                                         const Located& located) {
    const auto row = [&](unsigned lane) { return reinterpret_cast<__m128i*>(to + located.offsets[lane]); };
    for (unsigned half = 0; half < 32; half += 16) {
        __m512i column[4];
        for (unsigned i = 0; i < 4; ++i) column[i] = _mm512_loadu_si512(from[i] + std::size_t{half} * 4);
        const __m512i low01 = _mm512_unpacklo_epi32(column[0], column[1]),
                      high01 = _mm512_unpackhi_epi32(column[0], column[1]);
        const __m512i low23 = _mm512_unpacklo_epi32(column[2], column[3]),
                      high23 = _mm512_unpackhi_epi32(column[2], column[3]);
        const __m512i part[4] = {_mm512_unpacklo_epi64(low01, low23), _mm512_unpackhi_epi64(low01, low23),
                                 _mm512_unpacklo_epi64(high01, high23),
                                 _mm512_unpackhi_epi64(high01, high23)};
        for (unsigned i = 0; i < 4; ++i) _mm_storeu_si128(row(half + i), _mm512_castsi512_si128(part[i]));
        for (unsigned i = 0; i < 4; ++i)
            _mm_storeu_si128(row(half + i + 4), _mm512_extracti32x4_epi32(part[i], 1));
        for (unsigned i = 0; i < 4; ++i)
            _mm_storeu_si128(row(half + i + 8), _mm512_extracti32x4_epi32(part[i], 2));
        for (unsigned i = 0; i < 4; ++i)
            _mm_storeu_si128(row(half + i + 12), _mm512_extracti32x4_epi32(part[i], 3));
    }
}
#endif

template <Processor P> struct Level;
#define PTXGRAFT_LEVEL(processor, attribute)                                                          \
    template <> struct Level<Processor::processor> {                                                  \
        template <class T>                                                                            \
        attribute static void blend(std::byte* to, const std::byte* from, std::uint32_t mask) {       \
            blend_of<T>(to, from, mask);                                                              \
        }                                                                                             \
        template <class T>                                                                            \
        attribute static bool locate(Located& located, const T* addresses, T add, std::uint32_t last, \
                                     std::uint32_t unit, std::uint32_t step, std::uint32_t mask) {    \
            return locate_of<T>(located, addresses, add, last, unit, step, mask);                     \
        }                                                                                             \
        template <class T>                                                                            \
        attribute static void gather(std::byte* to, const std::byte* from, const Located& located,    \
                                     std::uint32_t mask) {                                            \
            gather_of<T>(to, from, located, mask);                                                    \
        }                                                                                             \
        attribute static std::uint32_t walk(std::uint32_t* words, const std::uint32_t* lines,         \
                                            const std::uint32_t* offsets, std::uint32_t shift,        \
                                            std::uint32_t word) {                                     \
            return walk_of(words, lines, offsets, shift, word);                                       \
        }                                                                                             \
    };
#define PTXGRAFT_BASELINE
PTXGRAFT_LEVEL(baseline, PTXGRAFT_BASELINE)
PTXGRAFT_LEVEL(avx2, PTXGRAFT_AVX2)
PTXGRAFT_LEVEL(avx512, PTXGRAFT_AVX512)

template <Processor P> constexpr LaneFunctions functions() {
    using L = Level<P>;
    LaneFunctions made = {
        {L::template blend<std::uint8_t>, L::template blend<std::uint16_t>, L::template blend<std::uint32_t>,
         L::template blend<std::uint64_t>, L::template blend<Wide>},
        {L::template gather<std::uint8_t>, L::template gather<std::uint16_t>,
         L::template gather<std::uint32_t>, L::template gather<std::uint64_t>, L::template gather<Wide>},
        gather4_of,
        scatter4_of,
        L::template locate<std::uint32_t>,
        L::template locate<std::uint64_t>,
        L::walk};
#if defined(__x86_64__) && defined(__GNUC__)
    if (P == Processor::avx512) {
        made.locate32 = locate32_avx512;
        made.locate64 = locate64_avx512;
        made.gather4 = gather4_avx512;
        made.scatter4 = scatter4_avx512;
    }
#endif
    return made;
}

}  // namespace

const LaneFunctions& lane_functions(Processor processor) {
    static constexpr LaneFunctions all[] = {functions<Processor::baseline>(), functions<Processor::avx2>(),
                                            functions<Processor::avx512>()};
    return all[static_cast<std::size_t>(processor)];
}

}  // namespace ptxgraft::emulator
