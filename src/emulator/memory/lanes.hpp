#pragma once
/// @file lanes.hpp
/// Vector operations on lane registers other than arithmetic: blends, gathers, scatters and the offsets of
/// the lanes of an access. They are compiled for each kind of processor.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "arithmetic/arithmetic.hpp"

namespace ptxgraft::emulator {

[[nodiscard]] inline unsigned first_lane(std::uint32_t mask) {
    return static_cast<unsigned>(std::countr_zero(mask));
}

/// std::has_single_bit without a call where the processor is not asked for popcnt.
[[nodiscard]] constexpr bool is_one_lane(std::uint32_t mask) { return mask != 0 && (mask & (mask - 1)) == 0; }

/// Calls `f(i)` for every bit i of a mask (of lanes, of words of a line), in order. Where `f` returns a bool:
/// until that is false; true when it never was.
template <class F> auto each_bit(std::uint32_t mask, F&& f) {
    if constexpr (std::is_void_v<decltype(f(0u))>) {
        for (; mask != 0; mask &= mask - 1) f(first_lane(mask));
    } else {
        for (; mask != 0; mask &= mask - 1)
            if (!f(first_lane(mask))) return false;
        return true;
    }
}

/// The lanes whose predicate is set.
inline std::uint32_t predicate_mask(const std::byte* predicate) {
#if defined(__SSE2__)
    const auto bits = [&](const std::byte* from) {
        const __m128i bytes = _mm_load_si128(reinterpret_cast<const __m128i*>(from));
        return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_slli_epi16(bytes, 7)));
    };
    return bits(predicate) | bits(predicate + 16) << 16;
#else
    std::uint32_t mask = 0;
    for (unsigned lane = 0; lane < 32; ++lane)
        mask |= static_cast<std::uint32_t>(predicate[lane] & std::byte{1}) << lane;
    return mask;
#endif
}

inline std::uint64_t lane_value(const std::byte* column, std::uint32_t bytes, unsigned lane) {
    std::uint64_t value = 0;
    std::memcpy(&value, column + std::size_t{lane} * bytes, bytes < 8 ? bytes : 8);
    return value;
}
inline void set_lane_value(std::byte* column, std::uint32_t bytes, unsigned lane, std::uint64_t value) {
    const std::uint64_t wide[2] = {value, 0};
    std::memcpy(column + std::size_t{lane} * bytes, wide, bytes);
}

/// The offsets that the lanes of an access have in one contiguous piece of memory.
struct Located {
    alignas(64) std::uint32_t offsets[32];
    bool all_equal = false;             ///< all 32 lanes access one offset: a broadcast
    bool consecutive = false;           ///< all 32 lanes access one range, in the order of the lanes
    std::uint32_t least = 0, most = 0;  ///< where all 32 lanes access: the smallest and the largest offset

    // Only checked launches set these.
    const std::byte* host = nullptr;  ///< the memory of offset 0
    std::uint8_t* written = nullptr;  ///< definedness bits from offset 0 on; null: all bytes are defined
    std::uint64_t begin = 0;          ///< the address of offset 0
    bool is_shared = false, is_global = false;
};

struct LaneFunctions {
    /// Copies the lanes of a mask from a column to another one of the same width, 1, 2, 4, 8 or 16.
    void (*blend[5])(std::byte* to, const std::byte* from, std::uint32_t mask);
    /// Loads the lanes of a mask from `from` plus their offsets, for the same widths.
    void (*gather[5])(std::byte* to, const std::byte* from, const Located& located, std::uint32_t mask);
    /// Vectors of four 4-byte values at the offsets of 32 lanes, to and from four columns.
    void (*gather4)(std::byte* const* to, const std::byte* from, const Located& located);
    void (*scatter4)(std::byte* to, const std::byte* const* from, const Located& located);
    /// Computes the offsets `addresses + add` of the lanes. False when a lane of the mask accesses an offset
    /// beyond `last` or one that is no multiple of `unit`, a power of two. `step`: the bytes that each lane
    /// accesses.
    bool (*locate32)(Located& located, const std::uint32_t* addresses, std::uint32_t add, std::uint32_t last,
                     std::uint32_t unit, std::uint32_t step, std::uint32_t mask);
    bool (*locate64)(Located& located, const std::uint64_t* addresses, std::uint64_t add, std::uint32_t last,
                     std::uint32_t unit, std::uint32_t step, std::uint32_t mask);
    /// Collects which words of a line of 128 bytes each lane accesses: `word`, shifted by the place of offset
    /// + shift in its line, is added to the lane's mask in `words` if it is the line in `lines`. Returns the
    /// lanes that access another line.
    std::uint32_t (*walk)(std::uint32_t* words, const std::uint32_t* lines, const std::uint32_t* offsets,
                          std::uint32_t shift, std::uint32_t word);
};
[[nodiscard]] const LaneFunctions& lane_functions(arithmetic::Processor processor);

}  // namespace ptxgraft::emulator
