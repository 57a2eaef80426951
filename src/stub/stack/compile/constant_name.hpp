#pragma once
// The bits of constants, and their literals as names.

#include <bit>
#include <cstdint>
#include <cstring>

#include "stub/number.hpp"
#include "stub/stack/compile/machine.hpp"
#include "stub/stack/compile/writer.hpp"

namespace ptxgraft::stack {

// What of bits a type has.
inline std::uint64_t narrowed(TypeId base, std::uint64_t bits) {
    if (base >= type_b8) return bits;
    const std::uint32_t width = ptxgraft::bits(static_cast<Type>(base));
    return width >= 64 ? bits : bits & ((1ull << width) - 1);
}

// ", 0f3F800000", made and stored as one block
inline Name f32_name(std::uint32_t bits) {
    // its eight digits, the first in the lowest byte
    const auto pair = [bits](int byte) {
        return static_cast<std::uint64_t>(Writer::hexadecimal_pair(bits >> 8 * byte & 0xFF));
    };
    const std::uint64_t digits = pair(3) | pair(2) << 16 | pair(1) << 32 | pair(0) << 48;
    constexpr std::uint64_t begin = ',' | ' ' << 8 | '0' << 16 | std::uint64_t{'f'} << 24, length = 12;
    using Block [[gnu::vector_size(16)]] = std::uint64_t;
    return std::bit_cast<Name>(Block{begin | digits << 32, digits >> 32 | length << 56});
}

// The literal of a constant, where it is short.
inline void name_constant(Name& name, Type type, std::uint64_t bits) {
    if (type == Type::f32) {
        name = f32_name(static_cast<std::uint32_t>(bits));
        return;
    }
    name.length = Name::is_long;
    if (type == Type::f64 || bits >> 32 != 0) return;
    char text[Writer::room + Name::most];
    Writer out(text);
    if (type == Type::s16)
        out.integer(static_cast<std::int16_t>(bits));
    else if (type == Type::s32)
        out.integer(static_cast<std::int32_t>(bits));
    else
        out.number(static_cast<std::uint32_t>(bits));
    std::memcpy(name.text, ", ", Name::prefix);
    std::memcpy(name.text + Name::prefix, text, Name::most);
    name.length = static_cast<std::uint8_t>(Name::prefix + static_cast<std::size_t>(out.end() - text));
}

}  // namespace ptxgraft::stack
