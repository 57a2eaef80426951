// Lists of names and values in a text.

#include "capi/named.hpp"

#include <charconv>

#include "base/try.hpp"

namespace ptxgraft::capi {
namespace {

using Named = std::pair<std::string, std::string>;

// `what` is the noun of messages: "tunable".
Expected<std::vector<Named>> named(const char* given, const std::string& what) {
    std::vector<Named> all;
    std::string_view text = given != nullptr ? given : "";
    while (!text.empty()) {
        const std::string_view one = text.substr(0, text.find(','));
        text.remove_prefix(std::min(one.size() + 1, text.size()));
        const std::size_t equals = one.find('=');
        if (equals == std::string_view::npos)
            return fail(Errc::argument_invalid,
                        what + "s are NAME=VALUE with commas between, not '" + std::string(one) + "'");
        Named made(one.substr(0, equals), one.substr(equals + 1));
        for (const Named& other : all)
            if (other.first == made.first)
                return fail(Errc::argument_invalid, what + " " + made.first + " is given twice");
        all.push_back(std::move(made));
    }
    return all;
}

template <class Number> Expected<Number> number_of(const Named& given, const std::string& what) {
    Number value = 0;
    const auto& [name, text] = given;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && stop == end) return value;
    return fail(Errc::argument_invalid, what + " " + name + " is no number: '" + text + "'");
}

}  // namespace

Expected<Choices> choices_of(const char* text) {
    Choices choices;
    const auto all = TRY(named(text, "tunable"));
    for (const auto& [name, value] : all) choices.emplace(name, Choice(value));
    return choices;
}

Expected<Dimensions> dimensions_of(const char* text) {
    Dimensions dimensions;
    const auto all = TRY(named(text, "dimension"));
    for (const Named& one : all) {
        const auto value = TRY(number_of<std::uint64_t>(one, "dimension"));
        dimensions.emplace(one.first, value);
    }
    return dimensions;
}

Expected<std::map<std::string, double, std::less<>>> numbers_of(const char* text) {
    std::map<std::string, double, std::less<>> numbers;
    const auto all = TRY(named(text, "number"));
    for (const Named& one : all) {
        const auto value = TRY(number_of<double>(one, "number"));
        numbers.emplace(one.first, value);
    }
    return numbers;
}

std::string to_text(const Choices& choices) {
    std::string text;
    for (const auto& [name, choice] : choices) {
        if (!text.empty()) text += ',';
        text += name + '=' + choice.text;
    }
    return text;
}

}  // namespace ptxgraft::capi
