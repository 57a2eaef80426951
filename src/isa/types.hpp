#pragma once
// The types of registers: their width and class. Shared by the table's generator and its readers.

#include <array>
#include <cstdint>
#include <string_view>

namespace ptxgraft::isa {

enum class RegisterType : std::uint8_t {
    pred,
    b8,
    b16,
    b32,
    b64,
    b128,
    u8,
    u16,
    u32,
    u64,
    s8,
    s16,
    s32,
    s64,
    f16,
    f16x2,
    bf16,
    bf16x2,
    tf32,
    f32,
    f32x2,
    f64,
    u8x4,
    s8x4,
    u16x2,
    s16x2,
    none
};

/// What decides with which registers a type goes: integers of one width go together, the rest only with its
/// own.
enum class TypeClass : std::uint8_t { none, pred, bits, integer, floating, packed };

struct TypeInfo {
    std::string_view name;
    RegisterType type;
    std::uint16_t bits;
    TypeClass kind;
    bool is_declared;  // a `.reg` of it can be declared
};

constexpr std::array<TypeInfo, 26> type_infos = {{
    {"pred", RegisterType::pred, 1, TypeClass::pred, true},
    {"b8", RegisterType::b8, 8, TypeClass::bits, true},
    {"b16", RegisterType::b16, 16, TypeClass::bits, true},
    {"b32", RegisterType::b32, 32, TypeClass::bits, true},
    {"b64", RegisterType::b64, 64, TypeClass::bits, true},
    {"b128", RegisterType::b128, 128, TypeClass::bits, true},
    {"u8", RegisterType::u8, 8, TypeClass::integer, true},
    {"u16", RegisterType::u16, 16, TypeClass::integer, true},
    {"u32", RegisterType::u32, 32, TypeClass::integer, true},
    {"u64", RegisterType::u64, 64, TypeClass::integer, true},
    {"s8", RegisterType::s8, 8, TypeClass::integer, true},
    {"s16", RegisterType::s16, 16, TypeClass::integer, true},
    {"s32", RegisterType::s32, 32, TypeClass::integer, true},
    {"s64", RegisterType::s64, 64, TypeClass::integer, true},
    {"f16", RegisterType::f16, 16, TypeClass::floating, true},
    {"f16x2", RegisterType::f16x2, 32, TypeClass::packed, true},
    {"bf16", RegisterType::bf16, 16, TypeClass::packed, false},
    {"bf16x2", RegisterType::bf16x2, 32, TypeClass::packed, false},
    {"tf32", RegisterType::tf32, 32, TypeClass::packed, false},
    {"f32", RegisterType::f32, 32, TypeClass::floating, true},
    {"f32x2", RegisterType::f32x2, 64, TypeClass::packed, false},
    {"f64", RegisterType::f64, 64, TypeClass::floating, true},
    {"u8x4", RegisterType::u8x4, 32, TypeClass::packed, false},
    {"s8x4", RegisterType::s8x4, 32, TypeClass::packed, false},
    {"u16x2", RegisterType::u16x2, 32, TypeClass::packed, false},
    {"s16x2", RegisterType::s16x2, 32, TypeClass::packed, false},
}};

constexpr const TypeInfo* type_info(std::string_view name) {
    for (const TypeInfo& info : type_infos)
        if (info.name == name) return &info;
    return nullptr;
}
constexpr const TypeInfo& info(RegisterType type) { return type_infos[static_cast<std::size_t>(type)]; }

}  // namespace ptxgraft::isa
