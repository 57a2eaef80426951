// The marker comments that site.cuh writes: which kind one is, and what it says of site, policy and operands.

#include "site/marker.hpp"
#include "base/try.hpp"

#include "site/words.hpp"

namespace ptxgraft::site {
namespace {

struct MarkerRow {
    std::string_view word;
    Marker marker;
};
constexpr MarkerRow markers[] = {{"PTXGRAFT_SITE", Marker::site},
                                 {"PTXGRAFT_STUB", Marker::stub},
                                 {"PTXGRAFT_END", Marker::end},
                                 {"PTX_INJECT_START", Marker::inject_start},
                                 {"PTX_INJECT_END", Marker::inject_end}};

std::string_view first_word(std::string_view comment) { return Words(comment, 2, comment.size()).next(); }

// The words after the two slashes.
Words words_of(std::string_view text, Span comment) { return {text, comment.begin + 2u, comment.end}; }

Span trimmed(std::string_view text, Span comment) {
    while (comment.end > comment.begin && is_blank(text[comment.end - 1])) --comment.end;
    return comment;
}

bool is_heat(std::string_view word) { return word == name(Heat::hot) || word == name(Heat::cold); }

Expected<Policy> read_policy(Words& words) {
    Policy policy;
    std::string_view word = words.next();
    if (word == "pure") {
        policy.pure = true;
        word = words.next();
    }
    const auto read_heat = [&] { policy.heat = word == name(Heat::hot) ? Heat::hot : Heat::cold; };
    if (is_heat(word)) {
        read_heat();
        word = words.next();
    }
    if (word.empty()) return policy;
    if (word != "allow") return fail(Errc::site_malformed, words.span());
    word = words.next();
    if (word.empty()) return fail(Errc::site_malformed, words.span());
    for (; !word.empty(); word = words.next()) {
        if (is_heat(word)) {
            if (policy.heat != Heat::unsaid) return fail(Errc::site_malformed, words.span());
            read_heat();
            continue;
        }
        const auto effect = effect_from_name(word);
        if (!effect) return fail(Errc::effect_unknown, words.span(), std::string(word));
        policy.allowed = policy.allowed | *effect;
    }
    return policy;
}

struct DirectionRow {
    std::string_view word, foreign_word;
    Direction direction;
};
constexpr DirectionRow direction_rows[] = {
    {"in", "i", Direction::in}, {"mod", "m", Direction::mod}, {"out", "o", Direction::out}};

}  // namespace

Marker marker_of(std::string_view comment) {
    std::size_t begin = 2;
    while (begin < comment.size() && is_blank(comment[begin])) ++begin;
    if (!comment.substr(begin).starts_with("PTX")) return Marker::none;
    const std::string_view word = first_word(comment);
    for (const MarkerRow& row : markers)
        if (row.word == word) return row.marker;
    return Marker::none;
}

Expected<Heading> read_heading(std::string_view text, Span comment, Marker marker) {
    Words words = words_of(text, comment);
    words.next();  // the marker itself
    Heading heading;
    heading.name = words.next();
    heading.name_span = words.span();
    if (heading.name.empty()) return fail(Errc::site_name_missing, trimmed(text, comment));
    if (marker == Marker::inject_start) {
        // mm-ptx says nothing about what a stub may do there.
        heading.policy.allowed = Effect::all;
        if (!words.next().empty()) return fail(Errc::site_malformed, words.span());
        return heading;
    }
    const auto policy = TRY(read_policy(words));
    heading.policy = policy;
    return heading;
}

Expected<OperandText> read_operand_line(std::string_view text, Span comment) {
    Words words = words_of(text, comment);
    OperandText operand;
    operand.span = trimmed(text, comment);
    const std::string_view direction = words.next();
    const DirectionRow* row = nullptr;
    for (const DirectionRow& candidate : direction_rows)
        if (candidate.word == direction) row = &candidate;
    if (!row) return fail(Errc::operand_malformed, operand.span);
    operand.direction = row->direction;
    const std::string_view type = words.next();
    const Span type_span = words.span();
    operand.name = words.next();
    if (!is_name(operand.name)) return fail(Errc::operand_malformed, operand.span);
    TRY(read_type(type, type_span, operand));
    if (const std::string_view count = words.next(); !count.empty()) {
        const auto number = TRY(read_count(count, words.span()));
        operand.count = number;
        if (!words.next().empty()) return fail(Errc::operand_malformed, operand.span);
    }
    return operand;
}

bool is_foreign_operand(std::string_view comment) {
    std::string_view word = first_word(comment);
    if (word.starts_with('%')) word.remove_prefix(1);
    return word.size() > 2 && word.starts_with("_x") && is_digit(word[2]);
}

Expected<OperandText> read_foreign_operand(std::string_view text, Span comment) {
    Words words = words_of(text, comment);
    OperandText operand;
    operand.span = trimmed(text, comment);
    operand.foreign_register = words.next();
    if (operand.foreign_register.starts_with('%')) operand.foreign_register.remove_prefix(1);
    const std::string_view direction = words.next();
    const DirectionRow* row = nullptr;
    for (const DirectionRow& candidate : direction_rows)
        if (candidate.foreign_word == direction) row = &candidate;
    if (!row || !is_name(operand.foreign_register))
        return fail(Errc::foreign_operand_malformed, operand.span);
    operand.direction = row->direction;
    const std::string_view type = words.next();
    const Span type_span = words.span();
    words.next();  // the type's C++ token, which says no more than the PTX type
    operand.name = words.next();
    if (operand.name.empty() || !words.next().empty())
        return fail(Errc::foreign_operand_malformed, operand.span);
    TRY(read_type(type, type_span, operand));
    return operand;
}

}  // namespace ptxgraft::site
