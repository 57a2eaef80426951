// What functions take and give: calls through addresses say it once more, and may say something else.
#include <fmt/format.h>

#include <algorithm>

#include "emulator/machine/program.hpp"

namespace ptxgraft::emulator {
namespace {

using Parameter = Signature::Parameter;

std::string to_text(const Parameter& parameter) {
    if (!parameter.is_array) return fmt::format(".b{}", 8 * parameter.bytes);
    const std::string align =
        parameter.align > 1 ? fmt::format(".align {} ", parameter.align) : std::string();
    return parameter.is_open ? align + ".b8[]" : fmt::format("{}.b8[{}]", align, parameter.bytes);
}

std::string to_text(const std::vector<Parameter>& parameters) {
    std::string text;
    for (const Parameter& parameter : parameters)
        text.append(text.empty() ? "" : ", ").append(to_text(parameter));
    return "(" + text + ")";
}

// PTX ISA 11.2.2: the last parameter of a function may be an array without a size.
template <class List, class Same>
bool all_fit(const List& given, const std::vector<Parameter>& taken, Same&& same) {
    const bool is_open = !taken.empty() && taken.back().is_open;
    const std::size_t least = taken.size() - (is_open ? 1 : 0);
    if (given.size() != taken.size() && !(is_open && given.size() == least)) return false;
    return std::equal(taken.begin(), taken.begin() + static_cast<std::ptrdiff_t>(least), given.begin(), same);
}

}  // namespace

std::string to_text(const Signature& signature, std::string_view name) {
    return fmt::format("{}{} {}", signature.returns.empty() ? "" : to_text(signature.returns) + " ", name,
                       to_text(signature.parameters));
}

bool fits(const Signature& call, const Signature& function) {
    const auto is_same = [](const Parameter& a, const Parameter& b) {
        return a.bytes == b.bytes && a.align == b.align && a.is_array == b.is_array;
    };
    return all_fit(call.returns, function.returns, is_same) &&
           all_fit(call.parameters, function.parameters, is_same);
}

bool fits(const Call& call, const Signature& function) {
    const auto is_same = [](const Parameter& taken, const Slot& given) {
        return given.goes_with_any || given.bytes == taken.bytes;
    };
    return all_fit(call.returns, function.returns, is_same) &&
           all_fit(call.arguments, function.parameters, is_same);
}

Signature signature_of(const Call& call) {
    const auto shapes = [](const std::vector<Slot>& slots) {
        std::vector<Parameter> all;
        for (const Slot& slot : slots) all.push_back({.bytes = slot.bytes, .is_array = slot.bytes > 16});
        return all;
    };
    return {shapes(call.returns), shapes(call.arguments)};
}

}  // namespace ptxgraft::emulator
