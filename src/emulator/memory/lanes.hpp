#pragma once
/// @file lanes.hpp
/// What is done with whole columns besides arithmetic, compiled for each kind of processor.

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "arithmetic/arithmetic.hpp"

namespace ptxgraft::emulator {

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

/// Where the lanes of an access are in one piece of memory, and how they lie.
struct Located {
    alignas(64) std::uint32_t offsets[32];
    bool all_equal = false;             ///< all 32 lanes at one place
    bool consecutive = false;           ///< all 32 lanes, each behind the one before
    std::uint32_t least = 0, most = 0;  ///< where all 32 lanes access: all offsets are in between

    // Of a checked launch.
    const std::byte* host = nullptr;  ///< the memory of offset 0
    std::uint8_t* written = nullptr;  ///< which bytes were written, where `offsets` are; null: all were
    std::uint64_t begin = 0;          ///< the address of offset 0
    bool is_shared = false, is_global = false;
};

struct LaneFunctions {
    /// Copies the lanes of a mask from a column to another one of the same width, 1, 2, 4, 8 or 16.
    void (*blend[5])(std::byte* to, const std::byte* from, std::uint32_t mask);
    /// Fills the lanes of a mask from their places behind `from`, for the same widths.
    void (*gather[5])(std::byte* to, const std::byte* from, const Located& located, std::uint32_t mask);
    /// Four values of 4 bytes at each of 32 places, to and from four columns.
    void (*gather4)(std::byte* const* to, const std::byte* from, const Located& located);
    void (*scatter4)(std::byte* to, const std::byte* const* from, const Located& located);
    /// Offsets of addresses in a piece of memory that begins at `begin`: false when an access of one of the
    /// lanes begins behind `last`, or at no multiple of `unit`, a power of two. `step`: bytes of one lane's
    /// access.
    bool (*locate32)(Located& located, const std::uint32_t* addresses, std::uint32_t add, std::uint32_t last,
                     std::uint32_t unit, std::uint32_t step, std::uint32_t mask);
    bool (*locate64)(Located& located, const std::uint64_t* addresses, std::uint64_t add, std::uint32_t last,
                     std::uint32_t unit, std::uint32_t step, std::uint32_t mask);
    /// Of lanes that access words of lines of 128 bytes: `word << ` its place joins the words of each lane
    /// that is still on its line. The others.
    std::uint32_t (*walk)(std::uint32_t* words, const std::uint32_t* lines, const std::uint32_t* offsets,
                          std::uint32_t shift, std::uint32_t word);
};
[[nodiscard]] const LaneFunctions& lane_functions(arithmetic::Processor processor);

}  // namespace ptxgraft::emulator
