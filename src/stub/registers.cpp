// The scopes of names in the text of a stub.

#include "stub/registers.hpp"

#include <algorithm>

#include "isa/special.hpp"

namespace ptxgraft::stub_check {

bool is_special_register(std::string_view name) {
    return name == "WARP_SZ" || isa::find_special(name).has_value();
}

Names::Names(const Signature& signature)
    : signature_(signature), next_(static_cast<syntax::DeclarationIndex>(signature.operands.size())) {
    for (const auto name : {&SiteOperand::register_name, &SiteOperand::name})
        for (std::size_t o = 0; o < signature.operands.size(); ++o)
            scopes_.declare(signature.operands[o].*name, signature.operands[o].count,
                            static_cast<syntax::DeclarationIndex>(o));
}

Expected<void> Names::declare(const syntax::Statement::Variable& variable, Span place) {
    for (const auto& declarator : variable.declarators) {
        const auto clash = [&](std::string_view what) {
            return fail(Errc::name_redeclared, place,
                        std::string(declarator.name) + " is declared here and " + std::string(what));
        };
        const syntax::DeclarationIndex index = next_++;
        if (scopes_.declare(declarator.name, declarator.range, index) != index)
            return clash("declared before in the same scope");
        if (hides_operand()) return clash("is an operand of the site; take another name");
    }
    return {};
}

// Whether some operand's name means a register of the stub.
bool Names::hides_operand() const {
    const auto is_hidden = [this](const std::string& name) {
        return scopes_.find(name).declaration >= signature_.operands.size();
    };
    for (const SiteOperand& operand : signature_.operands)
        for (std::uint32_t e = 0; e < std::max<std::uint32_t>(operand.count, 1); ++e) {
            const std::string tail = operand.count == 0 ? "" : std::to_string(e);
            if (is_hidden(operand.register_name + tail) || is_hidden(operand.name + tail)) return true;
        }
    return false;
}

std::optional<Names::Meaning> Names::find(std::string_view name) const {
    if (const auto found = scopes_.find(name); found.declaration != syntax::no_declaration) {
        if (found.declaration >= signature_.operands.size()) return Meaning{};
        const bool is_range = found.element != syntax::whole_range;
        return Meaning{OperandRegister{found.declaration, is_range ? found.element : 0}};
    }
    const std::size_t dot = name.rfind('.');  // an element of a vector register: %v.x
    return dot == std::string_view::npos || dot + 2 != name.size() ? std::nullopt : find(name.substr(0, dot));
}

std::string Names::register_name(OperandRegister r) const {
    const SiteOperand& operand = signature_.operands[r.operand];
    return operand.register_name + (operand.count == 0 ? "" : std::to_string(r.element));
}

}  // namespace ptxgraft::stub_check
