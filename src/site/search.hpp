#pragma once
// Finds the bytes that matter to the scanner in long stretches of text that do not.

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace ptxgraft::site {

/// Bytes at which a comment or string may begin, braces, and (between functions) the end of a statement.
constexpr bool is_mark(char c) { return c == '/' || c == '"' || c == '{' || c == '}' || c == ';'; }

#if defined(__SSE2__)
inline std::uint32_t marks_of_16(const char* at, __m128i statement_end) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const auto is = [&](char c) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)); };
    const __m128i marks = _mm_or_si128(_mm_or_si128(_mm_or_si128(is('/'), is('"')), _mm_or_si128(is('{'), is('}'))),
                                       _mm_cmpeq_epi8(bytes, statement_end));
    return static_cast<std::uint32_t>(_mm_movemask_epi8(marks));
}
#endif

/// The marks of a text in order. `;` is a mark only where asked for: within functions it is the commonest byte of all.
class Marks {
  public:
    explicit Marks(std::string_view text) : text_(text) {}

    /// The first mark at or behind `at`; the size of the text where there is none.
    std::size_t next(std::size_t at, bool with_statement_ends) {
#if defined(__SSE2__)
        const __m128i statement_end = _mm_set1_epi8(with_statement_ends ? ';' : '{');
        for (; at + 64 <= text_.size(); at += 64) {
            std::uint64_t marks = 0;
            for (std::size_t i = 0; i < 4; ++i)
                marks |= std::uint64_t{marks_of_16(text_.data() + at + 16 * i, statement_end)} << (16 * i);
            if (marks != 0) return at + static_cast<std::size_t>(std::countr_zero(marks));
        }
#endif
        while (at < text_.size() && !(is_mark(text_[at]) && (with_statement_ends || text_[at] != ';'))) ++at;
        return at;
    }

  private:
    std::string_view text_;
};

}  // namespace ptxgraft::site
