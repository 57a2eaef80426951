// Tokens of PTX: a class for every character, and a step for each kind of token. Blanks and comments are
// trivia.

#include "syntax/lexer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "syntax/number.hpp"
#include "syntax/window.hpp"

namespace ptxgraft::syntax {
namespace {

// What a character may begin; `word` and `digit` also continue a word.
enum class Class : std::uint8_t {
    unexpected,
    nul,
    blank,
    word,
    digit,
    dot,
    quote,
    slash,
    percent,
    hash,
    doubling,
    single
};

struct Tables {
    std::array<Class, 256> classes{};
    std::array<Lexeme, 256> lexemes{};
    std::array<bool, 256> is_word{};
};

constexpr Tables make_tables() {
    Tables t;
    const auto set = [&](std::string_view characters, Class c) {
        for (char ch : characters) t.classes[static_cast<unsigned char>(ch)] = c;
    };
    set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$", Class::word);
    for (std::size_t i = 128; i < 256; ++i) t.classes[i] = Class::word;  // UTF-8 in names
    set("0123456789", Class::digit);
    set(" \t\r\n\f\x1A", Class::blank);  // \x1A: the end of a text on MS-DOS
    set("<>=!&|", Class::doubling);
    set(",;:{}()[]@+-~*^?", Class::single);
    set(".", Class::dot);
    set("\"", Class::quote);
    set("/", Class::slash);
    set("%", Class::percent);
    set("#", Class::hash);
    t.classes[0] = Class::nul;
    for (std::size_t i = 0; i < 256; ++i)
        t.is_word[i] = t.classes[i] == Class::word || t.classes[i] == Class::digit;
    constexpr std::pair<char, Lexeme> punctuation[] = {
        {',', Lexeme::comma},       {';', Lexeme::semicolon},    {':', Lexeme::colon},
        {'{', Lexeme::open_brace},  {'}', Lexeme::close_brace},  {'(', Lexeme::open_paren},
        {')', Lexeme::close_paren}, {'[', Lexeme::open_bracket}, {']', Lexeme::close_bracket},
        {'@', Lexeme::at},          {'=', Lexeme::equal},        {'+', Lexeme::plus},
        {'-', Lexeme::minus},       {'!', Lexeme::exclaim},      {'~', Lexeme::tilde},
        {'|', Lexeme::bar},         {'<', Lexeme::less},         {'>', Lexeme::greater},
        {'*', Lexeme::star},        {'/', Lexeme::slash},        {'%', Lexeme::percent},
        {'&', Lexeme::ampersand},   {'^', Lexeme::caret},        {'?', Lexeme::question},
    };
    for (auto [ch, lexeme] : punctuation) t.lexemes[static_cast<unsigned char>(ch)] = lexeme;
    return t;
}
constexpr Tables tables = make_tables();

Class class_of(char c) { return tables.classes[static_cast<unsigned char>(c)]; }
bool is_word(char c) { return tables.is_word[static_cast<unsigned char>(c)]; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
char lower(char c) { return static_cast<char>(c | 0x20); }

constexpr std::ptrdiff_t max_plain_digits = 19;  // of a decimal number that is certain to fit 64 bits

#ifdef __SSE2__
// What a character makes of the token that it begins: its kind, and whether letters and digits behind it
// belong to it.
struct Start {
    Lexeme kind;
    std::uint8_t size_mask;
};
constexpr std::array<Start, 256> make_window_starts() {
    std::array<Start, 256> starts{};
    for (std::size_t i = 0; i < 256; ++i) {
        switch (tables.classes[i]) {
            case Class::word:
            case Class::percent: starts[i] = {Lexeme::identifier, 0xFF}; break;
            case Class::digit: starts[i] = {Lexeme::integer, 0xFF}; break;
            case Class::dot: starts[i] = {Lexeme::directive, 0xFF}; break;
            default: starts[i] = {tables.lexemes[i], 0}; break;
        }
    }
    return starts;
}
constexpr std::array<Start, 256> window_starts = make_window_starts();
#endif

// One text being split; the cursor never passes the 0 behind it.
class Lexer {
  public:
    Lexer(std::string_view text, std::uint32_t base, Array<RawToken>& tokens, ErrorList* errors)
        : begin_(text.data()),
          at_(begin_),
          end_(begin_ + text.size()),
          base_(base),
          tokens_(tokens),
          first_(tokens.size()),
          errors_(errors) {}

    Expected<void> run() {
        do take_frequent();
        while (step());
        if (error_.code != Errc::ok) return tl::unexpected<Error>(error_);
        push(Lexeme::end, end_);
        return {};
    }

  private:
#ifdef __SSE2__
    // Takes tokens and blanks of the frequent kinds, 64 characters at a time, up to the first that needs a
    // closer look or to the last characters of the text. This loop decides how fast modules parse. It is
    // inlined into one function for each kind of processor.
    template <class Processor> [[gnu::always_inline]] void take_windows_with() {
        const char* p = at_;
        while (end_ - p >= window_size) {
            const Window window(Processor::classify(p));
            const unsigned length = window.length();
            push_all(p, window, length);
            p += length;
            if (length < window_size && (window.needs_a_look() || length == 0)) break;
        }
        at_ = p;
    }

    // The token at the first of `starts`.
    [[gnu::always_inline]] static RawToken token_at(const char* p, std::uint32_t base, std::uint64_t starts,
                                                    const Window& window) {
        const auto i = static_cast<unsigned>(std::countr_zero(starts));
        const Start start = window_starts[static_cast<unsigned char>(p[i])];
        const std::uint64_t size = 1 + (window.rest_of_word(i) & start.size_mask);
        // One store: bit-fields would be read back from the memory that they were just written to.
        const std::uint64_t bits = (base + i) | size << 32 | static_cast<std::uint64_t>(start.kind) << 56;
        return std::bit_cast<RawToken>(bits);
    }

    // Room for the whole text, if it goes on as it has been up to `p`; behind other texts, as arrays grow.
    [[gnu::noinline]] void grow(const char* p) {
        const double read = static_cast<double>(p - begin_) + 1, left = static_cast<double>(end_ - p) + 1;
        const double more = static_cast<double>(tokens_.size() - first_) * left / read * 1.0625;
        const std::size_t least = tokens_.size() / (first_ == 0 ? 16 : 2) + std::size_t{4} * window_size;
        tokens_.reserve(tokens_.size() + std::max(static_cast<std::size_t>(more), least));
    }

    [[gnu::always_inline]] void push_all(const char* p, const Window& window, unsigned length) {
        std::uint64_t starts = window.starts();
        if (length < window_size) starts &= (std::uint64_t{1} << length) - 1;
        if (tokens_.capacity() - tokens_.size() < window_size) [[unlikely]]
            grow(p);
        RawToken* out = tokens_.data() + tokens_.size();
        const std::uint32_t base = offset(p);
        for (; starts != 0; starts &= starts - 1) *out++ = token_at(p, base, starts, window);
        tokens_.set_end(out);
    }

    void take_windows_sse2() { take_windows_with<Sse2>(); }
    PTXGRAFT_AVX2 void take_windows_avx2() { take_windows_with<Avx2>(); }
    PTXGRAFT_AVX512 void take_windows_avx512() { take_windows_with<Avx512>(); }

    using TakeWindows = void (Lexer::*)();
    static TakeWindows best_for_this_processor() {
        if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("bmi2"))
            return &Lexer::take_windows_avx512;
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
            return &Lexer::take_windows_avx2;
        return &Lexer::take_windows_sse2;
    }
    TakeWindows take_windows_ = best_for_this_processor();
#endif

    void take_frequent() {
#ifdef __SSE2__
        if (end_ - at_ >= window_size) return (this->*take_windows_)();
#endif
        take_plain();
    }

    // The same, character by character: for the last ones and for processors that are not known here.
    void take_plain() {
        const char* p = at_;
        for (;;) {
            while (class_of(*p) == Class::blank) ++p;
            const char* begin = p;
            Lexeme kind = Lexeme::identifier;
            switch (class_of(*p)) {
                case Class::word:
                    p = word_end(p + 1);
                    if (*begin == '$' && p == begin + 1) p = begin;
                    break;
                case Class::percent: p = is_word(p[1]) ? word_end(p + 2) : p; break;
                case Class::single:
                    kind = tables.lexemes[static_cast<unsigned char>(*p)];
                    ++p;
                    break;
                case Class::dot:
                    kind = Lexeme::directive;
                    p = class_of(p[1]) == Class::word ? word_end(p + 2) : p;
                    if (*p == ':') p = begin;  // perhaps `.shared::cta`
                    break;
                case Class::digit:
                    kind = Lexeme::integer;
                    if (*p == '0' && is_digit(p[1])) break;
                    p = digits_end(p);
                    if (is_word(*p) || *p == '.' || p - begin > max_plain_digits) p = begin;
                    break;
                default: break;
            }
            at_ = begin;
            if (p == begin || p - begin > static_cast<std::ptrdiff_t>(max_token_size)) return;
            push(kind, p);
        }
    }

    // Takes one token or one piece of trivia; false at the end of the text or at an error.
    bool step() {
        switch (class_of(*at_)) {
            case Class::blank: return skip_blanks();
            case Class::word: return take_word();
            case Class::digit: return take_number();
            case Class::dot: return take_dot();
            case Class::single:
                if (*at_ == ':' && continues_directive()) return extend_directive();
                return take(tables.lexemes[static_cast<unsigned char>(*at_)], at_ + 1);
            case Class::doubling: return take_doubling();
            case Class::percent: return take_percent();
            case Class::quote: return take_string();
            case Class::slash: return take_slash();
            case Class::hash: return skip_line_marker();
            case Class::nul: return at_end_or_nul();
            case Class::unexpected: break;
        }
        return fail_at(Errc::character_unexpected, at_, at_ + 1);
    }

    [[nodiscard]] const char* word_end(const char* p) const {
#ifdef __SSE2__
        // Sixteen characters at once: no branch to guess wrong at the end of every word.
        for (; end_ - p >= 16; p += 16)
            if (const unsigned others = others_in_16(p)) return p + std::countr_zero(others);
#endif
        while (is_word(*p)) ++p;
        return p;
    }
#ifdef __SSE2__
    // A bit for each of 16 characters that does not continue a word.
    static unsigned others_in_16(const char* p) {
        const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
        const auto below = [](__m128i v, char limit) { return _mm_cmpgt_epi8(_mm_set1_epi8(limit), v); };
        const auto moved = [](__m128i v, char first) {
            return _mm_sub_epi8(v, _mm_set1_epi8(static_cast<char>(first + 128)));
        };
        const __m128i letter = below(moved(_mm_or_si128(c, _mm_set1_epi8(0x20)), 'a'), -128 + 26);
        const __m128i digit = below(moved(c, '0'), -128 + 10);
        const __m128i sign =
            _mm_or_si128(_mm_cmpeq_epi8(c, _mm_set1_epi8('_')), _mm_cmpeq_epi8(c, _mm_set1_epi8('$')));
        const __m128i word =
            _mm_or_si128(_mm_or_si128(letter, digit), _mm_or_si128(sign, c));  // c: its top bit, UTF-8
        return static_cast<unsigned>(_mm_movemask_epi8(word)) ^ 0xFFFFu;
    }
#endif
    static const char* digits_end(const char* p) {
        while (is_digit(*p)) ++p;
        return p;
    }

    bool skip_blanks() {
        do ++at_;
        while (class_of(*at_) == Class::blank);
        return true;
    }

    // PTX ISA 4.4: a `$` needs something behind it.
    bool take_word() {
        const char* end = word_end(at_ + 1);
        if (*at_ == '$' && end == at_ + 1) return fail_at(Errc::character_unexpected, at_, end);
        return take(Lexeme::identifier, end);
    }

    bool take_percent() {
        if (is_word(at_[1])) return take(Lexeme::identifier, word_end(at_ + 2));
        return take(Lexeme::percent, at_ + 1);
    }

    bool take_doubling() {
        const char first = *at_, second = at_[1];
        const bool doubled = (second == '=' && first != '&' && first != '|') ||
                             (second == first && first != '!' && first != '=');
        if (doubled) return take(Lexeme::two_char_operator, at_ + 2);
        return take(tables.lexemes[static_cast<unsigned char>(first)], at_ + 1);
    }

    // `.reg`, `.shared::cta`, `.sp::2:4`, `.2d` directly behind a word, or the number `.5`
    bool take_dot() {
        const char* word = at_ + 1;
        if (!is_word(*word)) return fail_at(Errc::character_unexpected, at_, word);
        const bool glued = at_ != begin_ && (is_word(at_[-1]) || at_[-1] == ']' || at_[-1] == '}');
        if (is_digit(*word) && !glued && !is_word(*fraction_end(word)))
            return take(Lexeme::floating, fraction_end(word));
        const char* end = word_end(word);
        while (end[0] == ':' && end[1] == ':' && is_word(end[2])) {
            const char* part = end + 2;
            end = word_end(part);
            if (end == digits_end(part) && end[0] == ':' && is_digit(end[1])) end = digits_end(end + 1);
        }
        return take(Lexeme::directive, end);
    }

    // `::cta` behind `.shared`, which has been taken alone.
    [[nodiscard]] bool continues_directive() const {
        return at_[1] == ':' && is_word(at_[2]) && tokens_.size() > first_ &&
               tokens_.back().kind() == Lexeme::directive && tokens_.back().end() == offset(at_);
    }
    bool extend_directive() {
        at_ = begin_ + (tokens_.back().begin - base_);
        tokens_.pop_back();
        return take_dot();
    }

    // Digits and an exponent; a bad exponent ends before its letter, which then makes the number malformed.
    static const char* fraction_end(const char* p) {
        p = digits_end(p);
        if (lower(*p) != 'e') return p;
        const char* exponent = p + (p[1] == '+' || p[1] == '-' ? 2 : 1);
        return is_digit(*exponent) ? digits_end(exponent) : p;
    }

    bool take_number() {
        if (*at_ == '0' && is_word(at_[1]) && !is_digit(at_[1]) && lower(at_[1]) != 'e' && at_[1] != 'U')
            return take_prefixed();
        const char* end = digits_end(at_);
        if (*end == '.' && !is_word(end[1]))
            return take_checked(Lexeme::floating, end + 1, "a decimal number");
        if (*end == '.' || lower(*end) == 'e') {
            const char* fraction = *end == '.' ? fraction_end(end + 1) : fraction_end(end);
            return take_checked(Lexeme::floating, fraction, "an exponent needs digits, as in 1.5e-3");
        }
        if (*at_ == '0')
            for (const char* p = at_; p != end; ++p)
                if (*p > '7')
                    return malformed(end, "a number that begins with 0 is octal and has the digits 0 to 7");
        return take_integer(at_, end, *at_ == '0' ? 8 : 10, "an integer has decimal digits and may end in U");
    }

    // `0x…`, `0b…`, `0f…`, `0d…`
    bool take_prefixed() {
        const char* digits = at_ + 2;
        const char* end = digits;
        switch (lower(at_[1])) {
            case 'x':
                while (is_hex_digit(*end)) ++end;
                if (end == digits) return malformed(end, "0x needs hexadecimal digits");
                return take_integer(digits, end, 16, "0x takes hexadecimal digits and may end in U");
            case 'b':
                while (*end == '0' || *end == '1') ++end;
                if (end == digits) return malformed(end, "0b needs binary digits");
                return take_integer(digits, end, 2, "0b takes the digits 0 and 1 and may end in U");
            case 'f': return take_hex_float(8, "0f takes exactly 8 hexadecimal digits");
            case 'd': return take_hex_float(16, "0d takes exactly 16 hexadecimal digits");
            default: return malformed(at_ + 1, "expected decimal digits, or 0x, 0b, 0f or 0d");
        }
    }

    bool take_hex_float(int count, const char* rule) {
        const char* end = at_ + 2;
        while (is_hex_digit(*end)) ++end;
        if (end - at_ - 2 != count) return malformed(end, rule);
        return take_checked(Lexeme::floating, end, rule);
    }

    bool take_integer(const char* digits, const char* end, std::uint32_t base, const char* rule) {
        if (!digits_value(std::string_view(digits, static_cast<std::size_t>(end - digits)), base))
            return malformed(end, "an integer has at most 64 bits");
        return take_checked(Lexeme::integer, end + (*end == 'U'), rule);
    }

    // A number must not run into a word: `12ab`, `1.5e`, `1.5f`.
    bool take_checked(Lexeme kind, const char* end, const char* rule) {
        return is_word(*end) ? malformed(end, rule) : take(kind, end);
    }

    bool malformed(const char* end, const char* rule) {
        return fail_at(Errc::number_malformed, at_, word_end(end), rule);
    }

    // PTX strings have no escapes, and ptxas lets them run over line ends.
    bool take_string() {
        const char* close = find(at_ + 1, '"', end_);
        if (close == end_) return fail_at(Errc::string_unclosed, at_, at_ + 1);
        if (const char* nul = find(at_, '\0', close); nul != close)
            return fail_at(Errc::nul_byte, nul, nul + 1);
        return take(Lexeme::string, close + 1);
    }

    bool take_slash() {
        if (at_[1] == '/') return skip_comment(find(at_, '\n', end_));
        if (at_[1] != '*') return take(Lexeme::slash, at_ + 1);
        const std::string_view rest(at_ + 2, static_cast<std::size_t>(end_ - at_ - 2));
        const std::size_t close = rest.find("*/");
        if (close == std::string_view::npos) return fail_at(Errc::comment_unclosed, at_, at_ + 2);
        return skip_comment(rest.data() + close + 2);
    }

    bool skip_comment(const char* end) {
        if (const char* nul = find(at_, '\0', end); nul != end) {
            if (errors_ == nullptr) return fail_at(Errc::nul_byte, nul, nul + 1);
            report(Errc::nul_byte, nul, nul + 1);
        }
        at_ = end;
        return true;
    }

    // The first such character of [begin, end), or `end`.
    static const char* find(const char* begin, char c, const char* end) {
        const void* found = std::memchr(begin, c, static_cast<std::size_t>(end - begin));
        return found == nullptr ? end : static_cast<const char*>(found);
    }

    // `# 12 "file.cu" 3 4`, as a C preprocessor leaves it; ptxas skips it wherever it stands, with its line
    // end.
    bool skip_line_marker() {
        const char* p = skip_spaces(at_ + 1);
        if (std::string_view(p, static_cast<std::size_t>(end_ - p)).starts_with("line"))
            p = skip_spaces(p + 4);
        const char* number = p;
        p = digits_end(p);
        const char* name = skip_spaces(p);
        if (p == number || name == p || *name != '"')
            return fail_at(Errc::character_unexpected, at_, at_ + 1);
        p = find(name + 1, '"', end_);
        if (p != end_) ++p;
        for (const char* flag = skip_spaces(p); flag != p && is_digit(*flag); flag = skip_spaces(p))
            p = digits_end(flag);
        p = skip_spaces(p);
        if (*p != '\n') return fail_at(Errc::character_unexpected, at_, at_ + 1);
        return skip_comment(p + 1);
    }

    static const char* skip_spaces(const char* p) {
        while (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\f') ++p;
        return p;
    }

    bool at_end_or_nul() { return at_ == end_ ? false : fail_at(Errc::nul_byte, at_, at_ + 1); }

    bool take(Lexeme kind, const char* end) {
        if (end - at_ > static_cast<std::ptrdiff_t>(max_token_size)) return fail_too_long(end);
        push(kind, end);
        at_ = end;
        return true;
    }
    bool fail_too_long(const char* end) {
        report(Errc::token_too_long, at_, at_ + 16);
        if (errors_ == nullptr) return false;
        take_invalid(end);
        return true;
    }
    void push(Lexeme kind, const char* end) {
        tokens_.push_back({offset(at_), static_cast<std::uint32_t>(end - at_) & max_token_size,
                           static_cast<std::uint8_t>(kind)});
    }
    [[nodiscard]] std::uint32_t offset(const char* p) const {
        return base_ + static_cast<std::uint32_t>(p - begin_);
    }

    // Reading on, what is wrong becomes a token, so that nothing of the text is lost.
    bool fail_at(Errc code, const char* begin, const char* end, std::string_view rule = {}) {
        report(code, begin, end, rule);
        if (errors_ == nullptr) return false;
        if (code == Errc::string_unclosed) end = find(at_, '\n', end_);
        if (code == Errc::nul_byte && *at_ == '"') end = find(at_ + 1, '"', end_) + 1;
        if (code == Errc::character_unexpected || code == Errc::nul_byte)
            while (end != end_ && (class_of(*end) == Class::unexpected || class_of(*end) == Class::nul))
                ++end;
        take_invalid(end);
        return true;
    }
    void take_invalid(const char* end) {
        for (; end - at_ > static_cast<std::ptrdiff_t>(max_token_size); at_ += max_token_size)
            push(Lexeme::invalid, at_ + max_token_size);
        push(Lexeme::invalid, end);
        at_ = end;
    }
    void report(Errc code, const char* begin, const char* end, std::string_view rule = {}) {
        const Span span{static_cast<std::uint32_t>(begin - begin_), static_cast<std::uint32_t>(end - begin_)};
        Error error = fail(code, span).value();
        if (!rule.empty() && (errors_ == nullptr || !errors_->is_full()))
            error.detail = std::make_shared<const std::string>(
                std::string(begin, std::min(end, begin + 40)).append(": ").append(rule));
        if (errors_ != nullptr) {
            errors_->add(error);
        } else {
            error_ = std::move(error);
        }
    }

    const char* begin_;
    const char* at_;
    const char* end_;
    std::uint32_t base_;
    Array<RawToken>& tokens_;
    std::size_t first_;  // of our tokens
    ErrorList* errors_;
    Error error_;
};

}  // namespace

Expected<void> lex(std::string_view text, std::uint32_t base, Array<RawToken>& tokens) {
    return Lexer(text, base, tokens, nullptr).run();
}

void lex_all(std::string_view text, Array<RawToken>& tokens, ErrorList& errors) {
    (void)Lexer(text, 0, tokens, &errors).run();
}

bool is_identifier(std::string_view text) {
    if (!text.empty() && text.front() == '%') {
        text.remove_prefix(1);
    } else if (text.empty() || class_of(text.front()) != Class::word) {
        return false;
    }
    for (char c : text)
        if (!is_word(c)) return false;
    return !text.empty();
}

}  // namespace ptxgraft::syntax
