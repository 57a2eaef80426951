#pragma once
// The types of PTX (PTX ISA 5.2), one row each. Whoever needs a type's name, width or class asks here.

#include <array>
#include <cstdint>
#include <string_view>

namespace ptxgraft::syntax {

/// In the order of their rows. The first of them have the numbers of ptxgraft::Type.
enum class Type : std::uint8_t {
    pred,
    b16,
    b32,
    b64,
    u16,
    u32,
    u64,
    s16,
    s32,
    s64,
    f16,
    f16x2,
    bf16,
    bf16x2,
    f32,
    f64,
    b8,
    u8,
    s8,
    b128,
    tf32,
    f32x2,
    u16x2,
    s16x2,
    u8x4,
    s8x4,
    e4m3,
    e5m2,
    b1,
    u4,
    s4,
    e4m3x2,
    e5m2x2,
    e4m3x4,
    e5m2x4,
    e2m1x2,
    e2m1x4,
    e2m3x2,
    e2m3x4,
    e3m2x2,
    e3m2x4,
    ue8m0x2,
    s2f6x2,
    texref,
    samplerref,
    surfref,
    none
};

/// What a value of a type is; of a packed one, each of its elements.
enum class TypeKind : std::uint8_t { predicate, bits, unsigned_, signed_, floating, handle };

enum class TypeGroup : std::uint8_t {
    fundamental,  // PTX ISA 5.2.1: registers are declared of it
    alternate,    // 5.2.3: a floating-point format that lies in registers of bits, or a pair of them
    packed,       // 5.2.5: several fundamental values that lie in a register of bits
    narrow,       // 5.2.3 to 5.2.5: a format that only conversions and matrix instructions know
    opaque,       // 5.3: of textures, samplers and surfaces
};

struct TypeRow {
    Type type;
    std::string_view word;  // ".b32"
    std::uint16_t bits;     // of a handle those of the address that stands for it
    TypeKind kind;
    std::uint8_t elements;
    TypeGroup group;
    bool is_declared;  // the parser takes it for the type of a declaration; ptxas takes more than the manual

    [[nodiscard]] constexpr std::string_view name() const { return word.substr(1); }
    [[nodiscard]] constexpr std::uint32_t bytes() const { return bits / 8u; }  // 0 of a predicate
    [[nodiscard]] constexpr bool is_integer() const {
        return kind == TypeKind::unsigned_ || kind == TypeKind::signed_;
    }
};

namespace type_rows {
using enum TypeKind;
using enum TypeGroup;
inline constexpr TypeRow all[] = {
    {Type::pred, ".pred", 1, predicate, 1, fundamental, true},
    {Type::b16, ".b16", 16, bits, 1, fundamental, true},
    {Type::b32, ".b32", 32, bits, 1, fundamental, true},
    {Type::b64, ".b64", 64, bits, 1, fundamental, true},
    {Type::u16, ".u16", 16, unsigned_, 1, fundamental, true},
    {Type::u32, ".u32", 32, unsigned_, 1, fundamental, true},
    {Type::u64, ".u64", 64, unsigned_, 1, fundamental, true},
    {Type::s16, ".s16", 16, signed_, 1, fundamental, true},
    {Type::s32, ".s32", 32, signed_, 1, fundamental, true},
    {Type::s64, ".s64", 64, signed_, 1, fundamental, true},
    {Type::f16, ".f16", 16, floating, 1, fundamental, true},
    {Type::f16x2, ".f16x2", 32, floating, 2, fundamental, true},
    {Type::bf16, ".bf16", 16, floating, 1, alternate, false},
    {Type::bf16x2, ".bf16x2", 32, floating, 2, alternate, false},
    {Type::f32, ".f32", 32, floating, 1, fundamental, true},
    {Type::f64, ".f64", 64, floating, 1, fundamental, true},
    {Type::b8, ".b8", 8, bits, 1, fundamental, true},
    {Type::u8, ".u8", 8, unsigned_, 1, fundamental, true},
    {Type::s8, ".s8", 8, signed_, 1, fundamental, true},
    {Type::b128, ".b128", 128, bits, 1, fundamental, true},
    {Type::tf32, ".tf32", 32, floating, 1, alternate, false},
    {Type::f32x2, ".f32x2", 64, floating, 2, packed, true},
    {Type::u16x2, ".u16x2", 32, unsigned_, 2, packed, true},
    {Type::s16x2, ".s16x2", 32, signed_, 2, packed, true},
    {Type::u8x4, ".u8x4", 32, unsigned_, 4, packed, false},
    {Type::s8x4, ".s8x4", 32, signed_, 4, packed, false},
    {Type::e4m3, ".e4m3", 8, floating, 1, narrow, true},
    {Type::e5m2, ".e5m2", 8, floating, 1, narrow, true},
    {Type::b1, ".b1", 1, bits, 1, narrow, false},
    {Type::u4, ".u4", 4, unsigned_, 1, narrow, false},
    {Type::s4, ".s4", 4, signed_, 1, narrow, false},
    {Type::e4m3x2, ".e4m3x2", 16, floating, 2, narrow, true},
    {Type::e5m2x2, ".e5m2x2", 16, floating, 2, narrow, true},
    {Type::e4m3x4, ".e4m3x4", 32, floating, 4, narrow, true},
    {Type::e5m2x4, ".e5m2x4", 32, floating, 4, narrow, true},
    {Type::e2m1x2, ".e2m1x2", 8, floating, 2, narrow, true},
    {Type::e2m1x4, ".e2m1x4", 16, floating, 4, narrow, true},
    {Type::e2m3x2, ".e2m3x2", 16, floating, 2, narrow, true},
    {Type::e2m3x4, ".e2m3x4", 32, floating, 4, narrow, true},
    {Type::e3m2x2, ".e3m2x2", 16, floating, 2, narrow, true},
    {Type::e3m2x4, ".e3m2x4", 32, floating, 4, narrow, true},
    {Type::ue8m0x2, ".ue8m0x2", 16, floating, 2, narrow, true},
    {Type::s2f6x2, ".s2f6x2", 16, signed_, 2, narrow, true},
    {Type::texref, ".texref", 64, handle, 1, opaque, true},
    {Type::samplerref, ".samplerref", 64, handle, 1, opaque, true},
    {Type::surfref, ".surfref", 64, handle, 1, opaque, true},
};
}  // namespace type_rows

inline constexpr auto& types = type_rows::all;
static_assert([] {
    for (std::size_t i = 0; i < std::size(types); ++i)
        if (types[i].type != static_cast<Type>(i)) return false;
    return std::size(types) == static_cast<std::size_t>(Type::none);
}());

/// The row of a type, which is not `none`.
[[nodiscard]] constexpr const TypeRow& row(Type type) { return types[static_cast<std::size_t>(type)]; }

/// The first eight characters of a word as one number: words are told apart by it without comparing texts.
[[nodiscard]] constexpr std::uint64_t type_key(std::string_view word) {
    std::uint64_t key = 0;
    for (const char c : word.substr(0, 8)) key = key << 8 | static_cast<unsigned char>(c);
    return key;
}
inline constexpr auto type_keys = [] {
    std::array<std::uint64_t, std::size(types)> all = {};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = type_key(types[i].word);
    return all;
}();

/// Where the row of a key is looked for first.
[[nodiscard]] constexpr std::uint8_t type_place(std::uint64_t key) {
    return static_cast<std::uint8_t>(key * 0x9E3779B97F4A7C15u >> 56);
}
/// The numbers of the rows, each in its own place or the next free one behind it; in places that are empty
/// stands how many rows there are.
inline constexpr auto type_places = [] {
    constexpr auto none = static_cast<std::uint8_t>(std::size(types));
    std::array<std::uint8_t, 256> all = {};
    all.fill(none);
    for (std::uint8_t i = 0; i < none; ++i) {
        std::uint8_t at = type_place(type_keys[i]);
        while (all[at] != none) ++at;
        all[at] = i;
    }
    return all;
}();

/// The row of a word such as ".b32"; null for other words.
[[nodiscard]] constexpr const TypeRow* find_type(std::string_view word) {
    const std::uint64_t key = type_key(word);
    for (std::uint8_t at = type_place(key);; ++at) {
        const std::uint8_t i = type_places[at];
        if (i == std::size(types)) return nullptr;
        if (type_keys[i] == key && types[i].word == word) return &types[i];
    }
}

/// `.texref`, `.samplerref` or `.surfref`.
[[nodiscard]] constexpr bool is_handle(std::string_view word) {
    const TypeRow* const found = find_type(word);
    return found != nullptr && found->group == TypeGroup::opaque;
}

/// The type of registers that every instruction on a type takes: .b16 for the floats of 16 bits, .b32 for
/// pairs of them; that of other fundamental types is the type itself.
[[nodiscard]] constexpr Type register_type(Type type) {
    const TypeRow& of = row(type);
    if (of.kind != TypeKind::floating || of.bits != 16u * of.elements) return type;
    return of.elements == 1 ? Type::b16 : Type::b32;
}

}  // namespace ptxgraft::syntax
