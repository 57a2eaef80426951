// Finds the function around a site: the head before its opening brace.

#include "site/function.hpp"

#include <algorithm>

#include "site/words.hpp"

namespace ptxgraft::site {
namespace {

std::size_t skip_string(std::string_view text, std::size_t at) {
    std::size_t i = at + 1;
    for (; i < text.size() && text[i] != '\n'; ++i) {
        if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] != '\n')
            ++i;
        else if (text[i] == '"')
            return i + 1;
    }
    return i;
}

// Yields the words of a statement and its brackets, one byte each; comments and strings are passed over.
class Header {
  public:
    Header(std::string_view text, std::size_t begin, std::size_t end)
        : text_(text.substr(0, end)), at_(begin) {}

    std::string_view next() {
        while (at_ < text_.size() && !starts_item()) {
            const char c = text_[at_];
            at_ = c == '/' || c == '"' ? skip_opaque(text_, at_) : at_ + 1;
        }
        begin_ = at_;
        if (at_ < text_.size()) ++at_;
        if (begin_ < text_.size() && is_word(text_[begin_]))
            while (at_ < text_.size() && is_word(text_[at_])) ++at_;
        return text_.substr(begin_, at_ - begin_);
    }
    [[nodiscard]] std::size_t begin() const { return begin_; }

  private:
    [[nodiscard]] bool starts_item() const {
        return is_word(text_[at_]) || text_[at_] == '(' || text_[at_] == ')';
    }

    std::string_view text_;
    std::size_t at_, begin_ = 0;
};

// The first identifier that is no attribute and stands outside of brackets: a `.func` may have its results
// and attributes before its name.
std::string_view name_after_directive(Header& header) {
    std::size_t depth = 0;
    for (std::string_view word = header.next(); !word.empty(); word = header.next()) {
        if (word == "(")
            ++depth;
        else if (word == ")")
            depth -= depth > 0;
        else if (depth == 0 && word[0] != '.')
            return word;
    }
    return {};
}

}  // namespace

std::size_t skip_opaque(std::string_view text, std::size_t at) {
    if (text[at] == '"') return skip_string(text, at);
    if (text.substr(at).starts_with("//")) return std::min(text.find('\n', at), text.size());
    if (!text.substr(at).starts_with("/*")) return at + 1;
    const std::size_t end = text.find("*/", at + 2);
    return end == std::string_view::npos ? text.size() : end + 2;
}

std::optional<Sites::Function> function_before(std::string_view text, std::size_t begin, std::size_t brace) {
    Header header(text, begin, brace);
    std::string_view word = header.next();
    while (!word.empty() && word != ".entry" && word != ".func") word = header.next();
    if (word.empty()) return std::nullopt;
    const Span span{static_cast<std::uint32_t>(header.begin()), static_cast<std::uint32_t>(brace)};
    const bool is_entry = word == ".entry";
    return Sites::Function{std::string(name_after_directive(header)), is_entry, span};
}

}  // namespace ptxgraft::site
