// The types of the operands of forms, as types of stacks.

#include "stub/set/names.hpp"

#include "isa/operands.hpp"
#include "ptxgraft/syntax/types.hpp"

namespace ptxgraft::stack {
namespace {

using isa::RegisterType;
using syntax::row;

// Of a machine. What no register is declared of has the type of bits of its width.
TypeId machine_type(RegisterType type) {
    if (type <= RegisterType::f64) return static_cast<TypeId>(type);
    switch (row(type).bits) {
        case 8: return type_b8;
        case 32: return type_id(Type::b32);
        case 64: return type_id(Type::b64);
        default: return type_b128;
    }
}

RegisterType register_type_of(TypeId type) {
    return type < type_b8      ? static_cast<RegisterType>(type)
           : type == type_b8   ? RegisterType::b8
           : type == type_b128 ? RegisterType::b128
                               : RegisterType::none;
}

}  // namespace

TypeId default_type(const isa::OperandSpec& spec) {
    if (spec.is_wide && spec.type == RegisterType::u8) return type_id(Type::u16);
    if (spec.is_wide && spec.type == RegisterType::s8) return type_id(Type::s16);
    return machine_type(spec.type);
}

std::string_view builtin_name(TypeId type) {
    const RegisterType found = register_type_of(type);
    return found == RegisterType::none ? std::string_view() : syntax::row(found).name();
}

TypeId builtin_type(std::string_view name) {
    for (TypeId type = 0; type < first_user_type; ++type)
        if (builtin_name(type) == name) return type;
    return max_types;
}

bool fits(TypeId base, const isa::OperandSpec& spec) {
    const RegisterType wanted = spec.type;
    const RegisterType given = register_type_of(base);
    if (isa::goes(given, wanted, false, spec.is_wide)) return true;
    // registers of these are declared as .b16 and .b32
    return base < type_b8 && isa::goes(syntax::register_type(given), wanted, false, spec.is_wide);
}

}  // namespace ptxgraft::stack
