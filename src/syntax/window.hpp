#pragma once
// 64 characters of PTX as sets, a bit for each character: where tokens begin, how far words go, and where the
// lexer must look closer. Words, registers, directives, decimal numbers and single punctuation are told apart
// here.

#ifdef __SSE2__

#include <emmintrin.h>

#include <bit>
#include <cstdint>

namespace ptxgraft::syntax {

constexpr unsigned window_size = 64;

class Window {
  public:
    using Set = std::uint64_t;

    /// Of the 64 characters from `p`, which begin no token's middle.
    explicit Window(const char* p) {
        for (unsigned i = 0; i < window_size; i += 16) classify(p + i, i);
        find_starts();
        find_special();
    }

    /// Where tokens begin. Those from length() on are not to be taken.
    [[nodiscard]] Set starts() const { return starts_; }
    /// How many letters and digits follow the character at `i`.
    [[nodiscard]] std::uint32_t rest_of_word(unsigned i) const {
        return static_cast<std::uint32_t>(std::countr_zero(~word_ >> i >> 1));
    }
    /// How many characters are understood: up to a special one, or to the last token, which may go on behind.
    [[nodiscard]] unsigned length() const {
        const Set special = look_ | look_at_token_;
        if (special == 0) {
            const bool complete = ((blank_ | single_) >> 63) != 0;
            return complete ? window_size : last_start(~Set{0});
        }
        const Set first = special & (~special + 1);
        if ((first & look_at_token_) == 0) return static_cast<unsigned>(std::countr_zero(special));
        return last_start(first | (first - 1));
    }
    /// True when a special character, not the window's end, is why it is not longer.
    [[nodiscard]] bool needs_a_look() const { return (look_ | look_at_token_) != 0; }

  private:
    void classify(const char* p, unsigned shift) {
        const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
        const __m128i lower = _mm_or_si128(c, _mm_set1_epi8(0x20));
        const __m128i digit = in_range(c, '0', '9');
        const __m128i dollar = is(c, '$');
        const __m128i word = either(either(in_range(lower, 'a', 'z'), digit), either(is(c, '_'), dollar));
        const __m128i blank = either(either(is(c, ' '), is(c, '\t')), either(is(c, '\n'), is(c, '\r')));
        // ( ) * + , -   ;   ? @   [ {   ] ^ } ~
        const __m128i single =
            either(either(in_range(c, '(', '-'), is(c, ';')),
                   either(in_range(c, '?', '@'), either(is(lower, '{'), in_range(lower, '}', '~'))));
        // < = >   !   &   |
        const __m128i doubling =
            either(either(in_range(c, '<', '>'), is(c, '!')), either(is(c, '&'), is(c, '|')));
        add(word_, word, shift);
        add(digit_, digit, shift);
        add(dollar_, dollar, shift);
        add(zero_, is(c, '0'), shift);
        add(dot_, is(c, '.'), shift);
        add(percent_, is(c, '%'), shift);
        add(colon_, is(c, ':'), shift);
        add(blank_, blank, shift);
        add(single_, single, shift);
        add(doubling_, doubling, shift);
    }

    void find_starts() {
        const Set in_word = (word_ | dot_ | percent_) << 1;
        word_starts_ = word_ & ~in_word;
        starts_ = word_starts_ | dot_ | percent_ | colon_ | single_ | doubling_;
    }

    void find_special() {
        const Set known = word_ | dot_ | percent_ | colon_ | blank_ | single_ | doubling_;
        const Set before_word = word_ >> 1;
        const Set numbers = word_starts_ & digit_;
        look_ = ~known;
        look_ |= (dot_ | percent_ | (dollar_ & word_starts_)) & ~before_word;  // nothing behind them
        look_ |= colon_ & (colon_ >> 1);
        look_ |= doubling_ & (doubling_ >> 1);
        look_ |= dot_ & (digit_ >> 1) & ~(word_ << 1);  // `.5`
        look_ |= numbers & zero_ & (digit_ >> 1);       // `07`
        // A letter or dot behind the digits of a number: `0x2A`, `1.5`, `3U`
        look_at_token_ = ((digit_ + numbers) & ~digit_ & (word_ | dot_)) >> 1;
        const Set two = digit_ & (digit_ >> 1), four = two & (two >> 2), eight = four & (four >> 4);
        look_at_token_ |= eight & (eight >> 8) & (four >> 16);  // 20 digits may be past 64 bits
    }

    [[nodiscard]] unsigned last_start(Set within) const {
        return 63u - static_cast<unsigned>(std::countl_zero(starts_ & within));
    }

    static __m128i is(__m128i c, char what) { return _mm_cmpeq_epi8(c, _mm_set1_epi8(what)); }
    static __m128i either(__m128i a, __m128i b) { return _mm_or_si128(a, b); }
    static __m128i in_range(__m128i c, char first, char last) {
        // Moved so that the range begins at the lowest of the signed numbers: one comparison is enough.
        const __m128i moved = _mm_sub_epi8(c, _mm_set1_epi8(static_cast<char>(first + 128)));
        return _mm_cmplt_epi8(moved, _mm_set1_epi8(static_cast<char>(last - first + 1 - 128)));
    }
    static void add(Set& set, __m128i bits, unsigned shift) {
        set |= static_cast<Set>(static_cast<std::uint32_t>(_mm_movemask_epi8(bits))) << shift;
    }

    Set word_ = 0, digit_ = 0, dollar_ = 0, zero_ = 0, dot_ = 0, percent_ = 0, colon_ = 0, blank_ = 0,
        single_ = 0, doubling_ = 0;
    Set word_starts_ = 0, starts_ = 0;
    Set look_ = 0;           // characters that need a closer look
    Set look_at_token_ = 0;  // characters of tokens that do
};

}  // namespace ptxgraft::syntax

#endif
