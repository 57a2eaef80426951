// Looks over the text of a module before an assembler gets it.

#include "link/module_text.hpp"

#include <algorithm>
#include <cctype>

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
    return {};
}

std::string_view target_of(std::string_view ptx) {
    Words words(ptx);
    for (auto word = words.next(); !word.empty(); word = words.next()) {
        if (word != ".target") continue;
        // PTX ISA 11.1.2: platform options such as debug or texmode_independent may stand before or after.
        do {
            word = words.next();
            if (word.starts_with("sm_")) return word;
            word = words.next();
        } while (word == ",");
    }
    return {};
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
