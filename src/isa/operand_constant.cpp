// Whether a constant may stand as an operand of a type, and within the range that the row gives it.

#include "isa/operands.hpp"
#include "syntax/constant.hpp"

namespace ptxgraft::isa {
namespace {

std::optional<syntax::ConstantUse> use_of(TypeClass kind) {
    switch (kind) {
        case TypeClass::pred: return syntax::ConstantUse::predicate;
        case TypeClass::integer: return syntax::ConstantUse::integer;
        case TypeClass::floating: return syntax::ConstantUse::floating;
        case TypeClass::bits: return syntax::ConstantUse::bits;
        default: return std::nullopt;
    }
}

}  // namespace

bool takes_constant(RegisterType type, syntax::Constant::Type constant) {
    const auto use = use_of(info(type).kind);
    return use && syntax::convert({constant, 0}, *use, info(type).bits).has_value();
}

}  // namespace ptxgraft::isa
