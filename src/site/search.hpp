#pragma once
// Finds the bytes that matter to the scanner in long stretches of text that do not.

#include <bit>
#include <cstdint>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace ptxgraft::site {

/// Bytes at which a comment or string may begin, and braces.
constexpr bool is_mark(char c) { return c == '/' || c == '"' || c == '{' || c == '}'; }

#if defined(__SSE2__)
/// Where the marks of 64 bytes are, a bit each.
struct Block {
    std::uint64_t opaque = 0, open = 0, close = 0;

    explicit Block(const char* text) {
        for (int i = 0; i < 4; ++i) {
            const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + 16 * i));
            const auto is = [&](char c) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)); };
            const auto bits = [&](__m128i set) {
                return std::uint64_t{static_cast<std::uint32_t>(_mm_movemask_epi8(set))} << (16 * i);
            };
            opaque |= bits(_mm_or_si128(is('/'), is('"')));
            open |= bits(is('{'));
            close |= bits(is('}'));
        }
    }

    /// Leaves out what lies at or behind the first comment or string.
    void cut() {
        const std::uint64_t before = (opaque - 1) & ~opaque;  // all ones where there is none
        open &= before;
        close &= before;
    }
};

/// Bit i: whether an odd number of the bits 0 to i is set.
constexpr std::uint64_t parities(std::uint64_t bits) {
    for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
    return bits;
}
#endif

/// The first mark at or behind `at`, within a function: `depth` braces are open. Braces that open and close
/// in turn, as those of vectors do, leave `floor` braces open; they are counted in `depth` and passed over,
/// 64 bytes at a time. The size of the text where there is no mark.
inline std::size_t next_mark_within(std::string_view text, std::size_t at, std::size_t& depth,
                                    std::size_t floor) {
#if defined(__SSE2__)
    for (; at + 64 <= text.size(); at += 64) {
        Block block(text.data() + at);
        block.cut();
        const std::uint64_t braces = block.open | block.close, odd = parities(braces);
        const bool open_first = (odd & braces) == block.open, close_first = (odd & braces) == block.close;
        if (!(open_first || (close_first && depth > floor)))
            return at + static_cast<std::size_t>(std::countr_zero(braces));
        depth = open_first ? depth + (odd >> 63) : depth - (odd >> 63);
        if (block.opaque != 0) return at + static_cast<std::size_t>(std::countr_zero(block.opaque));
    }
#endif
    while (at < text.size() && !is_mark(text[at])) ++at;
    return at;
}

/// The first mark or end of a statement at or behind `at`, between functions; the size of the text where
/// there is none.
inline std::size_t next_mark_outside(std::string_view text, std::size_t at) {
    while (at < text.size() && !is_mark(text[at]) && text[at] != ';') ++at;
    return at;
}

}  // namespace ptxgraft::site
