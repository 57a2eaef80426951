// The types of the operands of forms, as types of stacks.

#include "stub/set/types.hpp"

#include <algorithm>
#include <array>

#include "isa/operands.hpp"

namespace ptxgraft::stack {
namespace {

using isa::OperandType;
using isa::RegisterType;

// By OperandType.
struct Row {
    std::string_view name;
    TypeId type;  // of a machine
};
constexpr std::array<Row, 26> rows = {{
    {"pred", 0},
    {"b16", 1},
    {"b32", 2},
    {"b64", 3},
    {"u16", 4},
    {"u32", 5},
    {"u64", 6},
    {"s16", 7},
    {"s32", 8},
    {"s64", 9},
    {"f16", 10},
    {"f16x2", 11},
    {"bf16", 12},
    {"bf16x2", 13},
    {"f32", 14},
    {"f64", 15},
    {"b8", type_b8},
    {"u8", type_b8},
    {"s8", type_b8},
    {"b128", type_b128},
    {"tf32", type_id(Type::b32)},
    {"f32x2", type_id(Type::b64)},
    {"u16x2", type_id(Type::b32)},
    {"s16x2", type_id(Type::b32)},
    {"u8x4", type_id(Type::b32)},
    {"s8x4", type_id(Type::b32)},
}};

RegisterType register_type_of(std::string_view name) {
    const isa::TypeInfo* info = isa::type_info(name);
    return info == nullptr ? RegisterType::none : info->type;
}

}  // namespace

TypeId default_type(const isa::OperandSpec& spec) {
    if (spec.is_wide && spec.type == OperandType::u8) return type_id(Type::u16);
    if (spec.is_wide && spec.type == OperandType::s8) return type_id(Type::s16);
    return rows[static_cast<std::size_t>(spec.type)].type;
}

std::string_view builtin_name(TypeId type) {
    const auto at = std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.type == type; });
    return at == rows.end() ? std::string_view() : at->name;
}

TypeId builtin_type(std::string_view name) {
    for (TypeId type = 0; type < first_user_type; ++type)
        if (builtin_name(type) == name) return type;
    return max_types;
}

bool fits(TypeId base, const isa::OperandSpec& spec) {
    const RegisterType wanted = register_type_of(rows[static_cast<std::size_t>(spec.type)].name);
    const RegisterType given = register_type_of(builtin_name(base));
    if (isa::goes(given, wanted, false, spec.is_wide)) return true;
    // registers of these are declared as .b16 and .b32
    return base < first_user_type && base < type_b8 &&
           isa::goes(register_type_of(register_type(static_cast<Type>(base)).substr(1)), wanted, false,
                     spec.is_wide);
}

}  // namespace ptxgraft::stack
