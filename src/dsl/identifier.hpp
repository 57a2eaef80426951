#pragma once
// Names that callers give, before they become text.

#include <algorithm>
#include <cctype>
#include <string_view>

namespace ptxgraft::dsl {

// PTX ISA 4.4; a part of a vector register too: `%v.x`.
inline bool is_identifier(std::string_view name) {
    const auto is_letter = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    };
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0) return false;
    const std::size_t first = name.front() == '%' ? 1 : 0;
    return name.size() > first && std::all_of(name.begin() + static_cast<std::ptrdiff_t>(first), name.end(),
                                              [&](char c) { return is_letter(c) || c == '$' || c == '.'; });
}

}  // namespace ptxgraft::dsl
