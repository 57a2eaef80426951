#pragma once
// The registers that a compiled program declares, by names that no operand has.

#include <cstdint>
#include <string_view>

#include "ptxgraft/site.hpp"
#include "stub/stack/machine.hpp"
#include "stub/stack/writer.hpp"

namespace ptxgraft::stack {

// Registers of ours: a stem and a number per class.
enum class Class : std::uint8_t { p, r, f };
inline constexpr std::size_t class_count = 3;
inline constexpr std::string_view class_types[class_count] = {".pred", ".b32", ".f32"};

constexpr Class class_of(StackId type) {
    return type == StackId::pred ? Class::p : type == StackId::f32 ? Class::f : Class::r;
}

struct Stem {
    char text[class_count][Writer::room];
    std::uint32_t length;
};

// Whether a name is `%f` and digits, one of ours.
inline bool clashes(std::string_view name, std::string_view stem) {
    return name.starts_with(stem) &&
           name.find_first_not_of("0123456789", stem.size()) == std::string_view::npos;
}

inline bool clashes(const Signature& signature, const Stem& stem) {
    for (const SiteOperand& operand : signature.operands) {
        if (operand.register_name.empty() || operand.register_name[0] != '%') continue;
        for (const auto& text : stem.text)
            if (clashes(operand.register_name, {text, stem.length})) return true;
    }
    return false;
}

// `%f`; where an operand has such a name `%f$0_`, `%f$1_` …
inline Stem stem_for(const Signature& signature) {
    Stem stem{{"%p", "%r", "%f"}, 2};
    for (std::uint32_t attempt = 0; clashes(signature, stem); ++attempt) {
        for (auto& text : stem.text) {
            Writer out(text + 2);
            out.text("$");
            out.number(attempt);
            out.text("_");
            stem.length = static_cast<std::uint32_t>(out.end() - text);
        }
    }
    return stem;
}

}  // namespace ptxgraft::stack
