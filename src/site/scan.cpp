// Finds sites in PTX, in one pass over its text and without a parse.

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/try.hpp"
#include "site/function.hpp"
#include "site/marker.hpp"
#include "site/name_table.hpp"
#include "site/search.hpp"
#include "site/words.hpp"

namespace ptxgraft {
namespace site {
namespace {

Span span_of(std::size_t begin, std::size_t end) {
    return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
}

// One pass over the text: braces, so that the function around a copy is known; comments, some of which are
// markers.
class Scanner {
  public:
    explicit Scanner(std::string_view text) : text_(text) { operands_.reserve(max_operands); }

    Expected<Sites> scan();

  private:
    enum class State : std::uint8_t { outside, operands, stub, foreign_operands, foreign_stub };

    std::size_t next_mark(std::size_t at) {
        return depth_ == 0 ? next_mark_outside(text_, at)
                           : next_mark_within(text_, at, depth_, inside() ? stub_depth_ : 1);
    }
    Expected<void> comment(Span comment);
    Expected<void> begin_site(Span comment, Marker marker);
    Expected<void> begin_stub(Span comment);
    Expected<void> end_site(Span comment, Marker marker);
    Expected<void> operand_line(Span comment);
    Expected<void> foreign_operand_line(Span comment);
    Expected<void> add_copy();
    Expected<void> agree(const Site& site) const;
    Expected<void> enter_function(Span comment);
    Expected<void> close_brace(std::size_t at);
    void open_brace(std::size_t at);
    [[nodiscard]] bool inside() const { return state_ != State::outside; }
    [[nodiscard]] std::size_t line_begin(std::size_t at) const;
    [[nodiscard]] std::size_t line_after(std::size_t at) const { return std::min(at + 1, text_.size()); }
    [[nodiscard]] bool only_blanks(std::size_t begin, std::size_t end) const;

    std::string_view text_;
    Sites sites_;

    // Where we are: braces, the statement outside of functions, and the function if it holds a copy.
    std::size_t depth_ = 0, statement_ = 0, brace_ = 0;
    bool function_known_ = false;

    // The copy that is being read.
    State state_ = State::outside;
    Heading heading_;
    Span heading_span_, copy_, stub_;
    std::size_t stub_depth_ = 0;
    bool block_ended_ = false;  // the one in which the stub began
    std::vector<OperandText> operands_;
};

Expected<Sites> Scanner::scan() {
    for (std::size_t at = next_mark(0); at < text_.size(); at = next_mark(at)) {
        switch (text_[at]) {
            case '{': open_brace(at++); break;
            case '}': TRY(close_brace(at++)); break;
            case ';':
                if (depth_ == 0) statement_ = at + 1;
                ++at;
                break;
            default: {
                const std::size_t end = skip_opaque(text_, at);
                if (text_[at] == '/' && text_.substr(at, 2) == "//") TRY(comment(span_of(at, end)));
                at = end;
            }
        }
    }
    if (inside()) return fail(Errc::marker_without_end, heading_span_, std::string(heading_.name));
    if (function_known_) sites_.functions.back().span.end = static_cast<std::uint32_t>(text_.size());
    return std::move(sites_);
}

void Scanner::open_brace(std::size_t at) {
    if (depth_++ > 0) return;
    brace_ = at;
    function_known_ = false;
}

Expected<void> Scanner::close_brace(std::size_t at) {
    if (depth_ == 0) return {};  // stray: the parser's business
    if (--depth_ < stub_depth_) block_ended_ = true;
    if (depth_ > 0) return {};
    if (inside()) return fail(Errc::marker_without_end, heading_span_, std::string(heading_.name));
    if (function_known_) sites_.functions.back().span.end = static_cast<std::uint32_t>(at + 1);
    function_known_ = false;
    statement_ = at + 1;
    return {};
}

std::size_t Scanner::line_begin(std::size_t at) const {
    while (at > 0 && text_[at - 1] != '\n') --at;
    return at;
}

bool Scanner::only_blanks(std::size_t begin, std::size_t end) const {
    return std::all_of(text_.begin() + static_cast<std::ptrdiff_t>(begin),
                       text_.begin() + static_cast<std::ptrdiff_t>(end),
                       [](char c) { return is_blank(c) || c == '\n'; });
}

Expected<void> Scanner::comment(Span comment) {
    const std::string_view text = text_.substr(comment.begin, comment.end - comment.begin);
    switch (const Marker marker = marker_of(text)) {
        case Marker::site:
        case Marker::inject_start: return begin_site(comment, marker);
        case Marker::stub: return begin_stub(comment);
        case Marker::end:
        case Marker::inject_end: return end_site(comment, marker);
        case Marker::none: break;
    }
    if (state_ == State::operands) return operand_line(comment);
    if (state_ == State::foreign_operands) return foreign_operand_line(comment);
    return {};
}

Expected<void> Scanner::begin_site(Span comment, Marker marker) {
    if (inside()) return fail(Errc::marker_nested, comment, std::string(heading_.name));
    const auto heading = TRY(read_heading(text_, comment, marker));
    heading_ = heading;
    heading_span_ = comment;
    while (is_blank(text_[heading_span_.end - 1])) --heading_span_.end;
    if (const auto entered = enter_function(heading_span_); !entered) return entered;
    copy_.begin = comment.begin;
    state_ = marker == Marker::site ? State::operands : State::foreign_operands;
    stub_.begin = static_cast<std::uint32_t>(line_after(comment.end));
    stub_depth_ = depth_;
    block_ended_ = false;
    operands_.clear();
    return {};
}

Expected<void> Scanner::enter_function(Span comment) {
    if (function_known_) return {};
    auto function = depth_ > 0 ? function_before(text_, statement_, brace_) : std::nullopt;
    if (!function) return fail(Errc::site_outside_function, comment, std::string(heading_.name));
    function_known_ = true;
    sites_.functions.push_back(std::move(*function));
    return {};
}

Expected<void> Scanner::begin_stub(Span comment) {
    if (state_ != State::operands) return fail(Errc::marker_without_begin, comment);
    state_ = State::stub;
    stub_.begin = static_cast<std::uint32_t>(line_after(comment.end));
    stub_depth_ = depth_;
    return {};
}

Expected<void> Scanner::operand_line(Span comment) {
    const auto operand = TRY(read_operand_line(text_, comment));
    operands_.push_back(operand);
    return {};
}

Expected<void> Scanner::foreign_operand_line(Span comment) {
    const std::string_view text = text_.substr(comment.begin, comment.end - comment.begin);
    // The first line that is no operand begins the stub.
    if (!is_foreign_operand(text) || !only_blanks(stub_.begin, comment.begin)) {
        state_ = State::foreign_stub;
        return {};
    }
    const auto operand = TRY(read_foreign_operand(text_, comment));
    operands_.push_back(operand);
    stub_.begin = static_cast<std::uint32_t>(line_after(comment.end));
    return {};
}

Expected<void> Scanner::end_site(Span comment, Marker marker) {
    const bool foreign = marker == Marker::inject_end;
    if (!inside() || foreign != (state_ == State::foreign_operands || state_ == State::foreign_stub))
        return fail(Errc::marker_without_begin, comment);
    if (state_ == State::operands)
        return fail(Errc::site_without_stub, heading_span_, std::string(heading_.name));
    const std::size_t line = line_begin(comment.begin);
    // Text before the marker on its line would stay when the stub is replaced.
    if (line < stub_.begin || !only_blanks(line, comment.begin))
        return fail(Errc::end_marker_not_alone, comment);
    if (depth_ != stub_depth_ || block_ended_)
        return fail(Errc::site_unbalanced, heading_span_, std::string(heading_.name));
    stub_.end = static_cast<std::uint32_t>(line);
    copy_.end = comment.end;
    state_ = State::outside;
    return add_copy();
}

Expected<void> Scanner::add_copy() {
    const std::uint32_t next = static_cast<std::uint32_t>(sites_.sites.size());
    const std::uint32_t index = find_or_add(SitesBuilder::names(sites_), heading_.name, next, sites_.sites);
    if (index == next) {
        if (const auto checked = check_operands(operands_); !checked) return checked;
        sites_.sites.push_back({std::string(heading_.name), make_signature(operands_), heading_.policy, {}});
    } else if (const auto agreed = agree(sites_.sites[index]); !agreed) {
        return agreed;
    }
    std::vector<SiteCopy>& copies = sites_.sites[index].copies;
    sites_.order.push_back({index, static_cast<std::uint32_t>(copies.size())});
    copies.push_back({copy_, stub_, static_cast<std::uint32_t>(sites_.functions.size() - 1)});
    return {};
}

Expected<void> Scanner::agree(const Site& site) const {
    const auto where = [&] {
        return site.name + " at line " + std::to_string(position(text_, site.copies[0].marker.begin).line);
    };
    const std::vector<SiteOperand>& expected = site.signature.operands;
    for (std::size_t i = 0; i < std::min(expected.size(), operands_.size()); ++i)
        if (!same(expected[i], operands_[i]))
            return fail(Errc::signatures_disagree, operands_[i].span, where());
    if (expected.size() != operands_.size()) return fail(Errc::signatures_disagree, heading_span_, where());
    if (site.policy != heading_.policy) return fail(Errc::policies_disagree, heading_span_, where());
    return {};
}

}  // namespace
}  // namespace site

Expected<Sites> scan(std::string_view ptx) {
    if (ptx.size() >= Span::none) return fail(Errc::text_too_large);
    return site::Scanner(ptx).scan();
}

}  // namespace ptxgraft
