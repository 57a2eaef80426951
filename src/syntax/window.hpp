#pragma once
// 64 characters of PTX as sets, a bit for each character: where tokens begin, how far words go, and where the
// lexer must look closer. Words, registers, directives, decimal numbers and single punctuation are told apart
// here.
//
// How the characters are compared depends on the processor; what follows from it does not. The functions are
// inlined into one that is compiled for that processor (see lexer.cpp).

#ifdef __SSE2__

#include <immintrin.h>

#include <bit>
#include <cstdint>

namespace ptxgraft::syntax {

constexpr unsigned window_size = 64;

/// Characters by what they are, as the lexer's classes.
struct CharacterSets {
    using Set = std::uint64_t;
    Set word, digit, dollar, zero, dot, percent, colon, blank, single, doubling;
    Set wide;  // no ASCII
};

/// The baseline: 16 characters at a time.
struct Sse2 {
    static CharacterSets classify(const char* p) {
        CharacterSets s{};
        for (unsigned i = 0; i < window_size; i += 16) part(p + i, i, s);
        return s;
    }

  private:
    using Vector = __m128i;
    static Vector is(Vector c, char what) { return _mm_cmpeq_epi8(c, _mm_set1_epi8(what)); }
    static Vector in_range(Vector c, char first, char last) {
        // Moved so that the range begins at the lowest of the signed numbers: one comparison is enough.
        const Vector moved = _mm_sub_epi8(c, _mm_set1_epi8(static_cast<char>(first + 128)));
        return _mm_cmplt_epi8(moved, _mm_set1_epi8(static_cast<char>(last - first + 1 - 128)));
    }
    static void add(CharacterSets::Set& set, Vector bits, unsigned shift) {
        set |= static_cast<CharacterSets::Set>(static_cast<std::uint32_t>(_mm_movemask_epi8(bits))) << shift;
    }
    static void part(const char* p, unsigned i, CharacterSets& s) {
        const Vector c = _mm_loadu_si128(reinterpret_cast<const Vector*>(p));
        const Vector lower = c | _mm_set1_epi8(0x20);
        const Vector digit = in_range(c, '0', '9'), dollar = is(c, '$');
        add(s.word, in_range(lower, 'a', 'z') | digit | is(c, '_') | dollar, i);
        add(s.digit, digit, i);
        add(s.dollar, dollar, i);
        add(s.zero, is(c, '0'), i);
        add(s.dot, is(c, '.'), i);
        add(s.percent, is(c, '%'), i);
        add(s.colon, is(c, ':'), i);
        add(s.blank, is(c, ' ') | is(c, '\t') | is(c, '\n') | is(c, '\r'), i);
        // ( ) * + , -   ;   ? @   [ {   ] ^ } ~
        add(s.single,
            in_range(c, '(', '-') | is(c, ';') | in_range(c, '?', '@') | is(lower, '{') |
                in_range(lower, '}', '~'),
            i);
        // < = >   !   &   |
        add(s.doubling, in_range(c, '<', '>') | is(c, '!') | is(c, '&') | is(c, '|'), i);
        add(s.wide, c, i);
    }
};

#define PTXGRAFT_AVX2 [[gnu::target("avx2,bmi,bmi2,lzcnt,popcnt")]]
struct Avx2 {
    PTXGRAFT_AVX2 static inline CharacterSets classify(const char* p) {
        CharacterSets s{};
        part(p, 0, s);
        part(p + 32, 32, s);
        return s;
    }

  private:
    using Vector = __m256i;
    PTXGRAFT_AVX2 static inline Vector is(Vector c, char what) {
        return _mm256_cmpeq_epi8(c, _mm256_set1_epi8(what));
    }
    PTXGRAFT_AVX2 static inline Vector in_range(Vector c, char first, char last) {
        const Vector moved = _mm256_sub_epi8(c, _mm256_set1_epi8(static_cast<char>(first + 128)));
        return _mm256_cmpgt_epi8(_mm256_set1_epi8(static_cast<char>(last - first + 1 - 128)), moved);
    }
    PTXGRAFT_AVX2 static inline void add(CharacterSets::Set& set, Vector bits, unsigned shift) {
        set |= static_cast<CharacterSets::Set>(static_cast<std::uint32_t>(_mm256_movemask_epi8(bits)))
               << shift;
    }
    PTXGRAFT_AVX2 static inline void part(const char* p, unsigned i, CharacterSets& s) {
        const Vector c = _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(p));
        const Vector lower = c | _mm256_set1_epi8(0x20);
        const Vector digit = in_range(c, '0', '9'), dollar = is(c, '$');
        add(s.word, in_range(lower, 'a', 'z') | digit | is(c, '_') | dollar, i);
        add(s.digit, digit, i);
        add(s.dollar, dollar, i);
        add(s.zero, is(c, '0'), i);
        add(s.dot, is(c, '.'), i);
        add(s.percent, is(c, '%'), i);
        add(s.colon, is(c, ':'), i);
        add(s.blank, is(c, ' ') | is(c, '\t') | is(c, '\n') | is(c, '\r'), i);
        add(s.single,
            in_range(c, '(', '-') | is(c, ';') | in_range(c, '?', '@') | is(lower, '{') |
                in_range(lower, '}', '~'),
            i);
        add(s.doubling, in_range(c, '<', '>') | is(c, '!') | is(c, '&') | is(c, '|'), i);
        add(s.wide, c, i);
    }
};

#define PTXGRAFT_AVX512 [[gnu::target("avx512f,avx512bw,bmi,bmi2,lzcnt,popcnt")]]
struct Avx512 {
    PTXGRAFT_AVX512 static inline CharacterSets classify(const char* p) {
        const Vector c = _mm512_loadu_si512(p);
        const Vector lower = _mm512_or_si512(c, _mm512_set1_epi8(0x20));
        CharacterSets s{};
        s.digit = in_range(c, '0', '9');
        s.dollar = is(c, '$');
        s.word = in_range(lower, 'a', 'z') | s.digit | is(c, '_') | s.dollar;
        s.zero = is(c, '0');
        s.dot = is(c, '.');
        s.percent = is(c, '%');
        s.colon = is(c, ':');
        s.blank = is(c, ' ') | is(c, '\t') | is(c, '\n') | is(c, '\r');
        s.single = in_range(c, '(', '-') | is(c, ';') | in_range(c, '?', '@') | is(lower, '{') |
                   in_range(lower, '}', '~');
        s.doubling = in_range(c, '<', '>') | is(c, '!') | is(c, '&') | is(c, '|');
        s.wide = _mm512_movepi8_mask(c);
        return s;
    }

  private:
    using Vector = __m512i;
    PTXGRAFT_AVX512 static inline std::uint64_t is(Vector c, char what) {
        return _mm512_cmpeq_epi8_mask(c, _mm512_set1_epi8(what));
    }
    PTXGRAFT_AVX512 static inline std::uint64_t in_range(Vector c, char first, char last) {
        const Vector moved = _mm512_sub_epi8(c, _mm512_set1_epi8(first));
        return _mm512_cmple_epu8_mask(moved, _mm512_set1_epi8(static_cast<char>(last - first)));
    }
};

/// What 64 characters say, of which the first continues no token.
class Window {
  public:
    using Set = CharacterSets::Set;

    [[gnu::always_inline]] explicit Window(const CharacterSets& s) : word_(s.word) {
        const Set word_starts = s.word & ~((s.word | s.dot | s.percent) << 1);
        starts_ = word_starts | s.dot | s.percent | s.colon | s.single | s.doubling;
        find_special(s, word_starts);
        ends_complete_ = ((s.blank | s.single) >> 63) != 0;
    }

    /// Where tokens begin. Those from length() on are not to be taken.
    [[gnu::always_inline, nodiscard]] Set starts() const { return starts_; }
    /// How many letters and digits follow the character at `i`.
    [[gnu::always_inline, nodiscard]] std::uint32_t rest_of_word(unsigned i) const {
        return static_cast<std::uint32_t>(std::countr_zero(~word_ >> i >> 1));
    }
    [[gnu::always_inline, nodiscard]] bool needs_a_look() const { return (look_ | look_at_token_) != 0; }
    /// How many characters are understood: up to a special one, or to the last token, which may go on behind.
    [[gnu::always_inline, nodiscard]] unsigned length() const {
        const Set special = look_ | look_at_token_;
        if (special == 0) return ends_complete_ ? window_size : last_start(~Set{0});
        const Set first = special & (~special + 1);
        if ((first & look_at_token_) == 0) return static_cast<unsigned>(std::countr_zero(special));
        return last_start(first | (first - 1));
    }

  private:
    [[gnu::always_inline]] void find_special(const CharacterSets& s, Set word_starts) {
        const Set numbers = word_starts & s.digit;
        look_ = ~(starts_ | s.word | s.blank);
        look_ |= (s.dot | s.percent | (s.dollar & word_starts)) & ~(s.word >> 1);  // nothing behind them
        look_ |= (s.colon & (s.colon >> 1)) | (s.doubling & (s.doubling >> 1));
        look_ |= s.dot & (s.digit >> 1) & ~(s.word << 1);  // `.5`
        look_ |= numbers & s.zero & (s.digit >> 1);        // `07`
        // A letter or dot behind the digits of a number: `0x2A`, `1.5`, `3U`
        look_at_token_ = ((s.digit + numbers) & ~s.digit & (s.word | s.dot)) >> 1;
        look_at_token_ |= (s.wide & (s.word << 1)) >> 1;  // UTF-8 goes on a word
        const Set two = s.digit & (s.digit >> 1), four = two & (two >> 2), eight = four & (four >> 4);
        look_at_token_ |= eight & (eight >> 8) & (four >> 16);  // 20 digits may be past 64 bits
    }
    [[gnu::always_inline, nodiscard]] unsigned last_start(Set within) const {
        return 63u - static_cast<unsigned>(std::countl_zero(starts_ & within));
    }

    Set word_, starts_;
    Set look_ = 0;           // characters that need a closer look
    Set look_at_token_ = 0;  // characters of tokens that do
    bool ends_complete_;     // the last character ends a token for certain
};

}  // namespace ptxgraft::syntax

#endif
