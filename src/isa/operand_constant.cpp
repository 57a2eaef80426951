#include <cctype>

#include "isa/operands.hpp"

namespace ptxgraft::isa {

ConstantKind constant_kind(const syntax::Operand& operand) {
    std::string_view text = operand.text();
    auto kind = ConstantKind::integer;
    for (std::size_t at = 0; at < text.size();) {
        if (text[at] < '0' || text[at] > '9') {
            if (text[at] == '.') return ConstantKind::decimal;
            ++at;
            continue;
        }
        std::size_t end = at;
        while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '.')) ++end;
        const std::string_view number = text.substr(at, end - at);
        const bool is_hex = number.starts_with("0x") || number.starts_with("0X");
        if (number.starts_with("0f") || number.starts_with("0F")) return ConstantKind::single;
        if (number.starts_with("0d") || number.starts_with("0D")) return ConstantKind::decimal;
        if (!is_hex && number.find_first_of(".eE") != std::string_view::npos) return ConstantKind::decimal;
        at = end;
    }
    return kind;
}

bool takes_constant(RegisterType type, ConstantKind kind) {
    const TypeInfo& t = info(type);
    switch (t.kind) {
        case TypeClass::pred:
        case TypeClass::integer:
            return kind == ConstantKind::integer;
        case TypeClass::floating:
            return t.bits >= 32 && kind != ConstantKind::integer;
        case TypeClass::bits:
            return kind == ConstantKind::integer || (t.bits == 32 && kind == ConstantKind::single) || (t.bits == 64 && kind == ConstantKind::decimal);
        default:
            return false;
    }
}

}  // namespace ptxgraft::isa
