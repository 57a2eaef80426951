// Looks over the text of a module before an assembler gets it.

#include "link/module_text.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "ptx/special_names.hpp"
#include "ptx/target.hpp"
#include "ptx/target_list.hpp"

namespace ptxgraft::link {
namespace {

// PTX ISA 4.4: letters, digits, `_`, `$`, `%` make identifiers; with the dot, an instruction is one word.
bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%' || c == '.';
}

// The words of a PTX text, without comments and strings.
class Words {
  public:
    explicit Words(std::string_view text) : text_(text) {}

    // The next word or punctuation; empty at the end.
    std::string_view next() {
        skip();
        const std::size_t begin = at_;
        if (at_ < text_.size() && !is_word(text_[at_])) {
            ++at_;
        } else {
            while (at_ < text_.size() && is_word(text_[at_])) ++at_;
        }
        return text_.substr(begin, at_ - begin);
    }

  private:
    void skip() {
        while (at_ < text_.size()) {
            if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
                ++at_;
            } else if (text_.substr(at_, 2) == "//") {
                to(text_.find('\n', at_), 1);
            } else if (text_.substr(at_, 2) == "/*") {
                to(text_.find("*/", at_ + 2), 2);
            } else if (text_[at_] == '"') {
                to(text_.find('"', at_ + 1), 1);
            } else {
                return;
            }
        }
    }
    void to(std::size_t found, std::size_t length) {
        at_ = found == std::string_view::npos ? text_.size() : found + length;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

constexpr std::string_view lost[] = {"setmaxnreg.", "wgmma."};

// PTX ISA 4.5.1: `42`, `0x2A`, `052`, `0b101`, each with an optional `U`.
std::optional<std::uint64_t> number(std::string_view word) {
    if (word.ends_with('U')) word.remove_suffix(1);
    int base = 10;
    if (word.size() > 1 && word[0] == '0') {
        const bool is_hexadecimal = word[1] == 'x' || word[1] == 'X',
                   is_binary = word[1] == 'b' || word[1] == 'B';
        base = is_hexadecimal ? 16 : is_binary ? 2 : 8;
        word.remove_prefix(base == 8 ? 1 : 2);
    }
    std::uint64_t value = 0;
    const auto read = std::from_chars(word.data(), word.data() + word.size(), value, base);
    if (word.empty() || read.ec != std::errc() || read.ptr != word.data() + word.size()) return std::nullopt;
    return value;
}

// Whether the numbers behind a .maxntid or .reqntid are more threads than assemblers survive.
bool has_too_many_threads(std::string_view behind) {
    Words words(behind);
    std::uint64_t product = 1;
    do {
        const auto size = number(words.next());
        if (!size) break;
        const bool is_beyond = *size != 0 && product > most_counted_threads / *size;
        product = is_beyond ? most_counted_threads + 1 : product * *size;
    } while (words.next() == ",");
    return product > most_counted_threads;
}

// The first .maxntid or .reqntid that asks for so many; empty when there is none.
std::string_view too_many_threads(std::string_view ptx) {
    constexpr std::string_view directives[] = {".maxntid", ".reqntid"};
    const auto behind = [&](std::string_view word) {
        return ptx.substr(static_cast<std::size_t>(word.data() - ptx.data()) + word.size());
    };
    // Nearly every text needs no walk over its words to see that.
    const auto may_have = [&](std::string_view directive) {
        for (std::size_t at = ptx.find(directive); at != std::string_view::npos;
             at = ptx.find(directive, at + directive.size()))
            if (has_too_many_threads(behind(ptx.substr(at, directive.size())))) return true;
        return false;
    };
    if (std::ranges::none_of(directives, may_have)) return {};
    Words words(ptx);
    for (auto word = words.next(); !word.empty(); word = words.next())
        if (std::ranges::find(directives, word) != std::end(directives) && has_too_many_threads(behind(word)))
            return word;
    return {};
}

constexpr std::string_view special_spaces[] = {".param", ".reg"};

// The names that a walk over words has seen declared: registers, and scalars in .param, by the names of
// special registers.
class SpecialNames {
  public:
    // In the order of the text, from the state space of a list or a declaration to its end.
    void see(std::string_view word) {
        if (word == "<" && !stem_.empty()) stems_.push_back(stem_);
        if (word != "[" && !last_.empty()) names_.push_back(last_);
        if (is_space(word)) is_within_ = true;
        if (word == ")" || word == ";") is_within_ = false;
        const bool may_be = is_within_ && word.starts_with('%');
        stem_ = may_be && is_special_name(std::string(word) + "0") ? word : std::string_view();
        last_ = may_be && is_special_name(word) ? word : std::string_view();
    }
    [[nodiscard]] bool has(std::string_view name) const {
        const auto is_in = [&](std::string_view stem) {
            return name.starts_with(stem) && is_special_name(name);
        };
        return std::ranges::find(names_, name) != names_.end() || std::ranges::any_of(stems_, is_in);
    }
    [[nodiscard]] bool is_empty() const { return names_.empty() && stems_.empty(); }
    [[nodiscard]] bool is_within() const { return is_within_; }
    [[nodiscard]] static bool is_space(std::string_view word) {
        return std::ranges::find(special_spaces, word) != std::end(special_spaces);
    }

  private:
    bool is_within_ = false;
    std::string_view last_;  // may be an array, which can be read
    std::string_view stem_;  // may be of a range: %envreg<4>
    std::vector<std::string_view> names_, stems_;
};

// Whether what follows a state space declares such a name, as nearly no text does.
bool declares_special(std::string_view space, std::string_view behind) {
    if (!behind.empty() && is_word(behind[0])) return false;  // ld.param.u64
    Words words(behind);
    SpecialNames seen;
    seen.see(space);
    for (auto word = words.next(); seen.is_within() && !word.empty() && !seen.is_space(word);
         word = words.next())
        seen.see(word);
    return !seen.is_empty();
}
bool declares_special(std::string_view ptx) {
    return std::ranges::any_of(special_spaces, [&](std::string_view space) {
        std::size_t at = ptx.find(space);
        while (at != std::string_view::npos && !declares_special(space, ptx.substr(at + space.size())))
            at = ptx.find(space, at + space.size());
        return at != std::string_view::npos;
    });
}

// The first address that is of such a name; empty when there is none.
std::string_view special_address(std::string_view ptx) {
    if (!declares_special(ptx)) return {};
    SpecialNames seen;
    Words words(ptx);
    std::string_view before;
    for (auto word = words.next(); !word.empty(); before = word, word = words.next()) {
        seen.see(word);
        if (before == "[" && seen.has(word)) return word;
    }
    return {};
}

Span span_of(std::string_view part, std::string_view text) {
    const auto begin = static_cast<std::uint32_t>(part.data() - text.data());
    return {begin, begin + static_cast<std::uint32_t>(part.size())};
}

}  // namespace

Expected<void> check_text(std::string_view ptx) {
    if (ptx.size() >= Span::none) return fail(Errc::text_too_large);
    if (const auto at = ptx.find('\0'); at != std::string_view::npos) {
        const auto begin = static_cast<std::uint32_t>(at);
        return fail(Errc::assemble_failed, {begin, begin + 1}, "the PTX contains a zero byte");
    }
    if (const std::string_view first = Words(ptx).next(); first != ".version")
        return fail(Errc::assemble_failed, span_of(first, ptx),
                    "PTX begins with .version, as in: .version 9.0");
    if (const std::string_view directive = too_many_threads(ptx); !directive.empty())
        return fail(Errc::assemble_failed, span_of(directive, ptx),
                    "more threads than ptxas can count; a block has at most 1024");
    if (const std::string_view name = special_address(ptx); !name.empty())
        return fail(Errc::assemble_failed, span_of(name, ptx),
                    fmt::format("{} is a special register too, and ptxas dies of it in an address; take "
                                "another name",
                                name));
    return {};
}

TextTarget target_of(std::string_view ptx) {
    Words words(ptx);
    TextTarget target;
    std::string_view word = words.next();
    while (!word.empty() && (word == ".target" || target.architecture.empty())) {
        const bool is_list = word == ".target";
        word = words.next();
        if (!is_list) continue;
        // PTX ISA 11.1.2: platform options such as debug or texmode_independent may stand before or after.
        for (;; word = words.next()) {
            if (is_architecture_name(word)) target.architecture = target_with(target.architecture, word);
            target.is_debug |= word == "debug";
            if (word = words.next(); word != ",") break;
        }
    }
    return target;
}

Span relocatable_loss(std::string_view ptx) {
    const auto occurs = [&](std::string_view word) { return ptx.find(word) != std::string_view::npos; };
    if (std::ranges::none_of(lost, occurs)) return {};
    Words words(ptx);
    for (auto word = words.next(); !word.empty(); word = words.next())
        if (std::ranges::any_of(lost, [&](std::string_view start) { return word.starts_with(start); }))
            return span_of(word, ptx);
    return {};
}

}  // namespace ptxgraft::link
