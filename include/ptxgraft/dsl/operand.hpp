#pragma once
/// @file operand.hpp
/// The operands of emitted instructions, as C++ types that know what stands in PTX: registers by type,
/// constants, vectors, addresses, labels, variables, special registers. Each has a Shape, which the check
/// looks at while C++ compiles, and print(), which appends its text. Operands are small values; the names in
/// them belong to the builder that made them, and live as long as it.
///
/// | in PTX | in C++ |
/// |---|---|
/// | `%f1` | `Reg<f32>`: b.reg<f32>() |
/// | `!%p1` | `!p` |
/// | `7`, `0f3F800000`, `0d3FF0000000000000` | `7`, `1.0f`, `1.0`; `imm<7>`, whose range C++ checks |
/// | `{%f1, %f2}` | vec(a, b), or an array of registers: `Regs<f32, 2>` |
/// | `%p1|%p2` | pair(p, q) |
/// | `[%rd1+16]` | at(p, 16) |
/// | `[%rd1, {%r1, %r2}]` | at(map, vec(x, y)) |
/// | `%tid.x` | special<"%tid.x"> |
/// | `_` | sink |
/// | `%r1.b0` | part<".b0">(r) |
/// | `(%r1, %r2)` | list(a, b): of a call |

#include <array>
#include <bit>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "ptxgraft/dsl/shape.hpp"

namespace ptxgraft::dsl {

// The types of registers: `Reg<f32>`.
inline constexpr Type pred = Type::pred, b8 = Type::b8, b16 = Type::b16, b32 = Type::b32, b64 = Type::b64,
                      b128 = Type::b128, u8 = Type::u8, u16 = Type::u16, u32 = Type::u32, u64 = Type::u64,
                      s8 = Type::s8, s16 = Type::s16, s32 = Type::s32, s64 = Type::s64, f16 = Type::f16,
                      f16x2 = Type::f16x2, bf16 = Type::bf16, bf16x2 = Type::bf16x2, f32 = Type::f32,
                      f64 = Type::f64, tf32 = Type::tf32, f32x2 = Type::f32x2, u16x2 = Type::u16x2,
                      s16x2 = Type::s16x2;

/// A number for a file's name.
[[nodiscard]] constexpr std::uint32_t hash_of_file(std::string_view name) {
    std::uint32_t hash = 2166136261;  // FNV-1a
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
    return hash;
}

/// A text as a template argument, and the place in the C++ source where it stands.
template <std::size_t Size> struct Literal {
    char text[Size] = {};
    std::uint32_t line = 0, file = 0;  ///< hash_of_file
    constexpr Literal() = default;
    consteval Literal(const char (&from)[Size], std::uint32_t at = __builtin_LINE(),
                      const char* in = __builtin_FILE())
        : line(at), file(hash_of_file(in)) {
        for (std::size_t i = 0; i < Size; ++i) text[i] = from[i];
    }
    [[nodiscard]] constexpr std::string_view view() const { return {text, Size - 1}; }
};

template <std::size_t Size> [[nodiscard]] constexpr Literal<Size> without_line(Literal<Size> text) {
    text.line = text.file = 0;
    return text;
}

/// "add" and ".f32" as one name, for what is a template over types: `b.emit<typed<"add", T>()>(d, a, c)`.
template <Literal Stem, Type T> [[nodiscard]] consteval auto typed() {
    constexpr std::string_view word = syntax::row(T).word;
    Literal<sizeof Stem.text + word.size()> name;
    std::size_t size = 0;
    for (const char c : Stem.view()) name.text[size++] = c;
    for (const char c : word) name.text[size++] = c;
    return name;
}

/// A register as it is declared: f16 and bf16 in .b16, their pairs and tf32 in .b32 (PTX ISA 5.2.3).
[[nodiscard]] constexpr Type declared_type(Type type) {
    if (type >= Type::none) return Type::none;
    const syntax::TypeRow& row = syntax::row(type);
    if (row.group == syntax::TypeGroup::fundamental) return syntax::register_type(type);
    return row.bits == 16 ? Type::b16 : row.bits == 32 ? Type::b32 : row.bits == 64 ? Type::b64 : type;
}

/// A register, by its name.
template <Type T> struct Reg {
    static constexpr Type type = T;
    std::string_view name;
};
using Pred = Reg<pred>;

/// A register that no instruction writes: an operand `in` of a site (signature.hpp).
template <Type T> struct ReadReg {
    static constexpr Type type = T;
    std::string_view name;
};

/// `!%p1`
struct NotPred {
    std::string_view name;
};
[[nodiscard]] constexpr NotPred operator!(Pred p) { return {p.name}; }
[[nodiscard]] constexpr NotPred operator!(ReadReg<pred> p) { return {p.name}; }
[[nodiscard]] constexpr Pred operator!(NotPred p) { return {p.name}; }

/// Registers of one type: an array, a fragment; written as a vector.
template <Type T, std::size_t N> using Regs = std::array<Reg<T>, N>;

/// Some of them: Count from `first` on.
template <std::size_t Count, class R, std::size_t N>
[[nodiscard]] constexpr std::array<R, Count> slice(const std::array<R, N>& all, std::size_t first) {
    std::array<R, Count> some;
    for (std::size_t i = 0; i < Count; ++i) some[i] = all[first + i];
    return some;
}

/// A constant whose value is part of its type, so that C++ checks the range that an instruction gives it.
template <auto Value> struct Imm {};
template <auto Value> inline constexpr Imm<Value> imm{};

/// `_`
struct Sink {};
inline constexpr Sink sink{};

/// A special register: `special<"%tid.x">` (PTX ISA 10).
template <Literal Name> struct Special {};
template <Literal Name> inline constexpr Special<without_line(Name)> special{};

/// `{a, b, …}`
template <class... Elements> struct Vector { std::tuple<Elements...> elements; };
template <class... Elements> [[nodiscard]] constexpr Vector<Elements...> vec(const Elements&... elements) {
    return {{elements...}};
}
/// `a|b`
template <class A, class B> struct Pair {
    A first;
    B second;
};
template <class A, class B> [[nodiscard]] constexpr Pair<A, B> pair(const A& a, const B& b) { return {a, b}; }

/// `[base+offset]`
template <class Base> struct Offset {
    Base base;
    std::int64_t bytes;
};
/// `[…]`, with what stands between the brackets.
template <class... Parts> struct Address { std::tuple<Parts...> parts; };
/// `[base]`, and `[base+bytes]`, of a register or a variable.
template <class Base> [[nodiscard]] constexpr Address<Base> at(const Base& base) { return {{base}}; }
template <class Base> [[nodiscard]] constexpr Address<Offset<Base>> at(const Base& base, std::int64_t bytes) {
    return {{{base, bytes}}};
}
/// `[base, part, …]`: of tensor copies and textures.
template <class Base, class Part, class... Parts>
requires(!std::integral<Part>)
    [[nodiscard]] constexpr Address<Base, Part, Parts...> at(const Base& base, const Part& part,
                                                             const Parts&... parts) {
    return {{base, part, parts...}};
}

/// `-%r1`, of vmad (PTX ISA 9.7.18.1.3).
template <class Register> struct Minus { Register of; };
template <class Register> [[nodiscard]] constexpr Minus<Register> minus(const Register& of) { return {of}; }

/// `%r1.b0`, of video instructions.
template <Literal Part, class Register> struct Selector { Register of; };
template <Literal Part, class Register>
[[nodiscard]] constexpr Selector<Part, Register> part(const Register& of) {
    return {of};
}

/// `(…)`: what a call hands over.
template <class... Elements> struct Arguments { std::tuple<Elements...> elements; };

template <class... Elements>
[[nodiscard]] constexpr Arguments<Elements...> list(const Elements&... elements) {
    return {{elements...}};
}

/// A register whose type is known when the program runs: an operand of a site (stub.hpp).
struct AnyReg {
    std::string_view name;
    Type type = Type::none;
};

/// A variable, a parameter: its name stands for its address.
template <Space S> struct Variable {
    static constexpr Space space = S;
    std::string_view name;
};

/// What is neither value nor address: a label, a function …
template <ShapeKind Kind> struct Named { std::string_view name; };
using Label = Named<ShapeKind::label>;
using FunctionName = Named<ShapeKind::function>;
using Targets = Named<ShapeKind::targets>;
using Prototype = Named<ShapeKind::prototype>;
using Texture = Named<ShapeKind::texture>;
using Sampler = Named<ShapeKind::sampler>;
using Surface = Named<ShapeKind::surface>;

// ---- shapes

namespace shaping {

template <class T> struct Of;  // an operand has a specialisation with `value`

template <class... Elements> inline constexpr Shape all[] = {Of<Elements>::value...};

// "%tid.x", "%laneid", "%envreg3": of which row, and whether whole. A sink where there is none.
consteval Shape special_shape(std::string_view name) {
    const auto find = [](std::string_view stem) {
        return isa::find_row(isa::table_special, stem, &isa::SpecialRegister::name);
    };
    const std::string_view stem = name.substr(0, name.find('.')), part = name.substr(stem.size());
    if (const auto* const row = find(stem); row != nullptr && row->count == 0) {
        const bool is_part =
            row->is_vector && part.size() == 2 && std::string_view("xyzw").find(part[1]) != part.npos;
        if (!part.empty() && !is_part) return {};
        const bool is_whole = row->is_vector && part.empty();
        return {.kind = is_whole ? ShapeKind::special_vector : ShapeKind::special, .type = row->type};
    }
    const std::size_t digits = name.size() - 1 - name.find_last_not_of("0123456789");
    const auto* const row = digits == 0 ? nullptr : find(name.substr(0, name.size() - digits));
    unsigned number = 0;
    for (const char digit : name.substr(name.size() - digits))
        number = 10 * number + static_cast<unsigned>(digit - '0');
    if (row == nullptr || number >= row->count) return {};
    return {.kind = ShapeKind::special, .type = row->type};
}

template <Type T> struct Of<Reg<T>> {
    static constexpr Shape value{.kind = ShapeKind::reg, .type = declared_type(T)};
};
template <Type T> struct Of<ReadReg<T>> {
    static constexpr Shape value{.kind = ShapeKind::reg, .type = declared_type(T), .is_read_only = true};
};
template <> struct Of<AnyReg> {
    static constexpr Shape value{.kind = ShapeKind::reg};  // of no type: any, until it runs
};
template <> struct Of<NotPred> {
    static constexpr Shape value{.kind = ShapeKind::negated, .type = Type::pred};
};
template <std::integral T> struct Of<T> { static constexpr Shape value{.kind = ShapeKind::integer}; };
template <> struct Of<float> {
    static constexpr Shape value{.kind = ShapeKind::floating, .type = Type::f32};
};
template <> struct Of<double> {
    static constexpr Shape value{.kind = ShapeKind::floating, .type = Type::f64};
};
template <std::integral T> constexpr Shape integer_shape(T v) {
    return {.kind = ShapeKind::integer,
            .has_value = true,
            .value = static_cast<std::int64_t>(v),
            .is_unsigned = std::is_unsigned_v<T> && static_cast<std::uint64_t>(v) > INT64_MAX};
}
template <auto V> struct Of<Imm<V>> {
    static constexpr Shape value = [] {
        if constexpr (std::integral<decltype(V)>)
            return integer_shape(V);
        else
            return Of<std::remove_const_t<decltype(V)>>::value;
    }();
};
template <> struct Of<Sink> { static constexpr Shape value{.kind = ShapeKind::sink}; };
// One that there is not is no operand, of which the check says so.
template <Literal Name> struct Of<Special<Name>> {
    static constexpr Shape value = [] {
        const Shape shape = special_shape(Name.view());
        return shape.kind == ShapeKind::sink ? Shape{.kind = ShapeKind::invalid, .part = Name.view()} : shape;
    }();
};
template <class... E> struct Of<Vector<E...>> {
    static constexpr Shape value{.kind = ShapeKind::vector, .count = sizeof...(E), .children = all<E...>};
};
template <class E, std::size_t N> struct Of<std::array<E, N>> {
    static constexpr Shape value{.kind = ShapeKind::vector, .count = N, .children = all<E>};
};
template <class A, class B> struct Of<Pair<A, B>> {
    static constexpr Shape value{.kind = ShapeKind::pair, .children = all<A, B>};
};
template <class Base> struct Of<Offset<Base>> {
    static constexpr Shape value{.kind = ShapeKind::sum, .children = all<Base>};
};
template <class... Parts> struct Of<Address<Parts...>> {
    static constexpr Shape value{.kind = ShapeKind::address, .children = all<Parts...>};
};
template <class R> struct Of<Minus<R>> {
    static constexpr Shape value{.kind = ShapeKind::minus, .children = all<R>};
};
template <Literal P, class R> struct Of<Selector<P, R>> {
    static constexpr Shape value = [] {
        Shape shape = Of<R>::value;
        shape.kind = ShapeKind::selector;
        shape.part = P.view();
        return shape;
    }();
};
template <class... E> struct Of<Arguments<E...>> { static constexpr Shape value{.kind = ShapeKind::list}; };
template <Space S> struct Of<Variable<S>> {
    static constexpr Shape value{.kind = ShapeKind::variable,
                                 .space = S == Space::shared_cluster ? Space::shared : S};
};
template <ShapeKind K> struct Of<Named<K>> { static constexpr Shape value{.kind = K}; };

}  // namespace shaping

/// What an instruction may be given.
template <class T>
concept Operand = requires {
    shaping::Of<T>::value;
};
template <Operand T> inline constexpr const Shape& shape_of = shaping::Of<T>::value;

/// The same with what is known when the program runs: constants, and types of an AnyReg.
template <Operand T> [[nodiscard]] constexpr Shape shape_now(const T& operand) {
    if constexpr (std::integral<T>)
        return shaping::integer_shape(operand);
    else if constexpr (std::same_as<T, AnyReg>)
        return {.kind = ShapeKind::reg, .type = declared_type(operand.type)};
    else
        return shape_of<T>;
}

// ---- texts

/// Appends an operand's text as canonical PTX has it.
template <Type T> void print(std::string& out, const Reg<T>& reg) { out.append(reg.name); }
template <Type T> void print(std::string& out, const ReadReg<T>& reg) { out.append(reg.name); }
inline void print(std::string& out, const AnyReg& reg) { out.append(reg.name); }
inline void print(std::string& out, const NotPred& p) { out.append("!").append(p.name); }
inline void print(std::string& out, Sink) { out.push_back('_'); }
template <std::integral T> void print(std::string& out, T value) {
    char text[24];
    if constexpr (std::same_as<T, bool>) {
        out.push_back(value ? '1' : '0');
    } else {
        const auto end = std::to_chars(text, text + sizeof text, value).ptr;
        out.append(text, end);
        if (std::is_unsigned_v<T> && static_cast<std::uint64_t>(value) > INT64_MAX) out.push_back('U');
    }
}
namespace printing {
template <class Bits> void hex(std::string& out, Bits bits) {
    constexpr char digits[] = "0123456789ABCDEF";
    for (int shift = static_cast<int>(sizeof bits) * 8 - 4; shift >= 0; shift -= 4)
        out.push_back(digits[bits >> shift & 15]);
}
}  // namespace printing
inline void print(std::string& out, float value) {
    printing::hex(out.append("0f"), std::bit_cast<std::uint32_t>(value));
}
inline void print(std::string& out, double value) {
    printing::hex(out.append("0d"), std::bit_cast<std::uint64_t>(value));
}
template <auto V> void print(std::string& out, Imm<V>) { print(out, V); }
template <Literal Name> void print(std::string& out, Special<Name>) { out.append(Name.view()); }
template <Space S> void print(std::string& out, const Variable<S>& variable) { out.append(variable.name); }
template <ShapeKind K> void print(std::string& out, const Named<K>& named) { out.append(named.name); }
template <class... E> void print(std::string& out, const Vector<E...>& vector);
template <class E, std::size_t N> void print(std::string& out, const std::array<E, N>& elements);
template <class A, class B> void print(std::string& out, const Pair<A, B>& pair) {
    print(out, pair.first);
    out.push_back('|');
    print(out, pair.second);
}
template <class Base> void print(std::string& out, const Offset<Base>& sum) {
    print(out, sum.base);
    if (sum.bytes == 0) return;
    out.push_back('+');
    print(out, sum.bytes);
}
namespace printing {
template <class Tuple> void list(std::string& out, const Tuple& elements) {
    std::apply(
        [&out](const auto&... element) {
            bool is_first = true;
            const auto one = [&](const auto& e) {
                if (!is_first) out.append(", ");
                is_first = false;
                print(out, e);
            };
            (one(element), ...);
        },
        elements);
}
}  // namespace printing
template <class... Parts> void print(std::string& out, const Address<Parts...>& address) {
    out.push_back('[');
    printing::list(out, address.parts);
    out.push_back(']');
}
template <class... E> void print(std::string& out, const Vector<E...>& vector) {
    out.push_back('{');
    printing::list(out, vector.elements);
    out.push_back('}');
}
template <class... E> void print(std::string& out, const Arguments<E...>& arguments) {
    out.push_back('(');
    printing::list(out, arguments.elements);
    out.push_back(')');
}
template <class E, std::size_t N> void print(std::string& out, const std::array<E, N>& elements) {
    out.push_back('{');
    for (std::size_t i = 0; i < N; ++i) {
        if (i > 0) out.append(", ");
        print(out, elements[i]);
    }
    out.push_back('}');
}
template <class R> void print(std::string& out, const Minus<R>& minus) {
    out.push_back('-');
    print(out, minus.of);
}
template <Literal P, class R> void print(std::string& out, const Selector<P, R>& selector) {
    print(out, selector.of);
    out.append(P.view());
}

}  // namespace ptxgraft::dsl
