#pragma once
// The types of operands, as the table groups them. Shared by the table's generator and its readers.

#include <array>
#include <cstdint>
#include <string_view>

#include "ptxgraft/syntax/types.hpp"

namespace ptxgraft::isa {

using RegisterType = syntax::Type;

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

/// An alternate format lies in a register as packed values do: as bits.
constexpr TypeClass class_of(const syntax::TypeRow& row) {
    if (row.group != syntax::TypeGroup::fundamental || row.elements > 1) return TypeClass::packed;
    if (row.is_integer()) return TypeClass::integer;
    return row.kind == syntax::TypeKind::predicate  ? TypeClass::pred
           : row.kind == syntax::TypeKind::floating ? TypeClass::floating
                                                    : TypeClass::bits;
}

/// Those that operands have, which are the first of all types.
constexpr auto type_infos = [] {
    std::array<TypeInfo, static_cast<std::size_t>(RegisterType::s8x4) + 1> all = {};
    for (std::size_t i = 0; i < all.size(); ++i) {
        const syntax::TypeRow& row = syntax::types[i];
        all[i] = {row.name(), row.type, row.bits, class_of(row), row.group == syntax::TypeGroup::fundamental};
    }
    return all;
}();

/// A number for a name of the table, by which it is found; of "mul.hi" it goes on from that of "mul".
constexpr std::uint32_t first_key = 2166136261;  // FNV-1a
constexpr std::uint32_t next_key(std::uint32_t key, char c) {
    return (key ^ static_cast<unsigned char>(c)) * 16777619;
}
constexpr std::uint32_t key_of(std::string_view name) {
    std::uint32_t key = first_key;
    for (const char c : name) key = next_key(key, c);
    return key;
}

constexpr const TypeInfo* type_info(std::string_view name) {
    for (const TypeInfo& info : type_infos)
        if (info.name == name) return &info;
    return nullptr;
}
constexpr const TypeInfo& info(RegisterType type) { return type_infos[static_cast<std::size_t>(type)]; }

}  // namespace ptxgraft::isa
