#include "stub/registers.hpp"

#include <algorithm>
#include <charconv>

#include "isa/special.hpp"

namespace ptxgraft {
namespace {

std::optional<std::uint32_t> number(std::string_view text) {
    std::uint32_t value = 0;
    const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_plain = !text.empty() && (text.size() == 1 || text[0] != '0');
    return code == std::errc() && stop == text.data() + text.size() && is_plain ? std::optional(value)
                                                                                : std::nullopt;
}

bool is_numbered(std::string_view name, std::string_view stem, std::string_view tail, std::uint32_t count) {
    if (!name.starts_with(stem) || !name.ends_with(tail) || name.size() < stem.size() + tail.size())
        return false;
    const auto n = number(name.substr(stem.size(), name.size() - stem.size() - tail.size()));
    return n && *n < count;
}

}  // namespace

bool is_special_register(std::string_view name) {
    return name == "WARP_SZ" || isa::find_special(name).has_value();
}

Names::Names(const Signature& signature) {
    for (std::size_t o = 0; o < signature.operands.size(); ++o) {
        const SiteOperand& operand = signature.operands[o];
        for (std::uint32_t e = 0; e < std::max<std::uint32_t>(operand.count, 1); ++e) {
            const std::string tail = operand.count == 0 ? "" : std::to_string(e);
            const Name name{OperandRegister{o, e}, operand.register_name + tail};
            operands_.emplace(operand.name + tail, name);
            operands_.insert_or_assign(operand.register_name + tail, name);
        }
    }
}

Expected<void> Names::declare(const syntax::Statement::Variable& variable, Span place) {
    Scope& scope = scopes_.back();
    for (const auto& declarator : variable.declarators) {
        const std::string name(declarator.name);
        const bool is_family = declarator.range != 0;
        const auto clash = [&](std::string_view what) {
            return fail(Errc::name_redeclared, place, name + " is declared here and " + std::string(what));
        };
        for (const auto& [operand, unused] : operands_)
            if (is_family ? is_numbered(operand, name, "", declarator.range) : operand == name)
                return clash("is an operand of the site; take another name");
        const Name meaning{std::nullopt, name};
        if (is_family) {
            scope.families.push_back({name, declarator.range, meaning});
        } else if (!scope.names.emplace(name, meaning).second) {
            return clash("declared before in the same scope");
        }
    }
    return {};
}

const Name* Names::find(std::string_view name) const {
    const auto search = [](const auto& names, std::string_view key) -> const Name* {
        const auto at = names.find(key);
        return at == names.end() ? nullptr : &at->second;
    };
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
        if (const Name* found = search(scope->names, name)) return found;
        for (const Family& family : scope->families)
            if (is_numbered(name, family.stem, "", family.count)) return &family.name;
    }
    if (const Name* found = search(operands_, name)) return found;
    const std::size_t dot = name.rfind('.');  // an element of a vector register: %v.x
    return dot == std::string_view::npos || dot + 2 != name.size() ? nullptr : find(name.substr(0, dot));
}

}  // namespace ptxgraft
