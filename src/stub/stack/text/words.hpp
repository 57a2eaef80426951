#pragma once
// Splits the text of a program into words; the words that the language has itself.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ptxgraft/error.hpp"
#include "ptxgraft/stack.hpp"

namespace ptxgraft::stack {

/// Words that stand around others.
inline constexpr std::array<std::string_view, 6> language_words = {"if",     "else",    "end",
                                                                   "repeat", "routine", "import"};
inline bool is_language_word(std::string_view word) {
    return std::ranges::find(language_words, word) != language_words.end();
}

/// `repeat`, `if`, `else` or `end`.
constexpr std::string_view bracket_name(Opcode opcode) {
    constexpr std::array<std::string_view, 4> names = {"repeat", "if", "else", "end"};
    return names[static_cast<std::size_t>(opcode) - static_cast<std::size_t>(Opcode::repeat)];
}

/// A word that rearranges the stack of the type behind its dot: `dup.f32`.
struct StackWord {
    std::string_view word;
    Opcode opcode;
    bool has_number = false;           ///< `yank_dup.f32 2`
    std::uint32_t most = 0xFFFFFFFFu;  ///< of the number
};
inline constexpr std::array stack_words = {StackWord{"dup", Opcode::dup},
                                           StackWord{"swap", Opcode::swap},
                                           StackWord{"drop", Opcode::drop},
                                           StackWord{"over", Opcode::over},
                                           StackWord{"rotate", Opcode::rotate},
                                           StackWord{"reverse", Opcode::reverse},
                                           StackWord{"clear", Opcode::clear},
                                           StackWord{"yank_dup", Opcode::yank_dup, true},
                                           StackWord{"swap_with", Opcode::swap_with, true},
                                           StackWord{"replace", Opcode::replace, true},
                                           StackWord{"store", Opcode::store, true, 255},
                                           StackWord{"load", Opcode::load, true, 255}};
/// Null: there is none.
template <class Value> const StackWord* find_stack_word(Value StackWord::*member, const Value& value) {
    const auto found = std::ranges::find(stack_words, value, member);
    return found == stack_words.end() ? nullptr : &*found;
}
/// `dup.f32`, `as.u32.f32` and all else that begins so.
inline bool is_stack_word(std::string_view word) {
    const std::string_view stem = word.substr(0, word.find('.'));
    return stem.size() < word.size() && (stem == "as" || find_stack_word(&StackWord::word, stem) != nullptr);
}

/// What may end a word: all but `-` and `/` do; these may begin an arrow or a comment.
enum class CharKind : std::uint8_t { word, blank, line_end, separator, hash, minus, slash };

inline constexpr auto char_kinds = [] {
    std::array<CharKind, 256> kinds{};
    for (const char c : std::string_view(" \t\r\v\f")) kinds[static_cast<unsigned char>(c)] = CharKind::blank;
    kinds['\n'] = CharKind::line_end;
    kinds[';'] = CharKind::separator;
    kinds['#'] = CharKind::hash;
    kinds['-'] = CharKind::minus;
    kinds['/'] = CharKind::slash;
    return kinds;
}();

/// What some editors begin a file with (UTF-8).
inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// Words between blanks and comments. A line's end and `;` are words of their own, which end an assignment;
/// `->` is one wherever it stands.
class Words {
  public:
    Words() = default;
    explicit Words(std::string_view text)
        : begin_(text.data()),
          at_(begin_ + (text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0)),
          word_(begin_),
          end_(begin_ + text.size()) {}

    // False at the end of the text.
    bool next() {
        const char* at = at_;
        while (at != end_ && kind(at) == CharKind::blank) ++at;
        at_ = at;
        if (at != end_ && kind(at) > CharKind::line_end && skip_comment()) return next_line();
        word_ = at_;
        if (at_ == end_) return false;
        at_ = word_end(word_);
        return true;
    }
    // The next word that is no line's end and no `;`.
    bool next_in_program() {
        while (next())
            if (kind(word_) != CharKind::line_end && kind(word_) != CharKind::separator) return true;
        return false;
    }
    [[nodiscard]] std::string_view word() const { return {word_, static_cast<std::size_t>(at_ - word_)}; }
    /// Bytes of the text from the word on.
    [[nodiscard]] std::size_t rest() const { return static_cast<std::size_t>(end_ - word_); }
    [[nodiscard]] bool is_break() const {
        return kind(word_) == CharKind::line_end || kind(word_) == CharKind::separator;
    }
    [[nodiscard]] bool is_arrow() const { return at_ - word_ == 2 && word_[0] == '-' && word_[1] == '>'; }
    [[nodiscard]] Span place() const {
        return {static_cast<std::uint32_t>(word_ - begin_), static_cast<std::uint32_t>(at_ - begin_)};
    }

  private:
    static CharKind kind(const char* at) { return char_kinds[static_cast<unsigned char>(*at)]; }
    [[nodiscard]] bool follows(const char* at, char c) const { return at + 1 != end_ && at[1] == c; }

    [[nodiscard]] const char* word_end(const char* at) const {
        if (kind(at) == CharKind::line_end || kind(at) == CharKind::separator) return at + 1;
        if (kind(at) == CharKind::minus && follows(at, '>')) return at + 2;
        for (++at; at != end_; ++at) switch (kind(at)) {
                case CharKind::word: continue;
                case CharKind::minus:
                    if (follows(at, '>')) return at;
                    continue;
                case CharKind::slash:
                    if (follows(at, '/')) return at;
                    continue;
                default: return at;
            }
        return at;
    }

    // At a comment: goes to the end of its line.
    bool skip_comment() {
        if (*at_ != '#' && !(*at_ == '/' && follows(at_, '/'))) return false;
        while (at_ != end_ && *at_ != '\n') ++at_;
        return true;
    }
    // The line's end is a word.
    bool next_line() {
        word_ = at_;
        if (at_ == end_) return false;
        ++at_;
        return true;
    }

    const char *begin_ = nullptr, *at_ = nullptr, *word_ = nullptr, *end_ = nullptr;
};

}  // namespace ptxgraft::stack
