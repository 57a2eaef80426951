#pragma once
/// @file value.hpp
/// Arithmetic with operators: each is one instruction into a new register, in the order in which C++
/// evaluates them (which of `a * b` and `c * d` comes first in a sum of both is the compiler's choice).
///
/// @code
/// const auto row = value(b, i), stride = value(b, n);
/// const Reg<u32> index = row * stride + 4;      // mul.lo.u32 %u3, %u1, %u2;  add.u32 %u4, %u3, 4;
/// @endcode
///
/// | operator | integers | .f32, .f64 |
/// |---|---|---|
/// | `+ -` | add, sub | add, sub |
/// | `*` | mul.lo | mul |
/// | `/ %` | div, rem | |
/// | `& \| ^` | and, or, xor of .bN | |
/// | `<< >>` | shl.bN, shr of the type: by an unsigned value or a constant | |
/// | `-a` | neg (of signed types) | neg |
/// | `== != < <= > >=` | setp: a predicate | setp; `!=` is neu: true of NaN, as in C++ |
///
/// Both sides have one type; a constant may be the right one.

#include <concepts>
#include <type_traits>

#include "ptxgraft/dsl/builder.hpp"

namespace ptxgraft::dsl {

/// A register, and the builder that calculates with it; as an operand, the register.
template <Type T, Target On> struct Value {
    Builder<On>& builder;
    Reg<T> reg;
    operator Reg<T>() const { return reg; }
};
template <Type T, Target On> struct shaping::Of<Value<T, On>> : shaping::Of<Reg<T>> {};
template <Type T, Target On> void print(std::string& out, const Value<T, On>& value) {
    print(out, value.reg);
}

template <Target On, Type T> [[nodiscard]] Value<T, On> value(Builder<On>& builder, const Reg<T>& reg) {
    return {builder, reg};
}

/// Of what is one already: with this builder.
template <Target On, Type T, Target Other>
[[nodiscard]] Value<T, On> value(Builder<On>& builder, const Value<T, Other>& of) {
    return {builder, of.reg};
}

/// Of an operand that is only read; instructions must not write the value.
template <Target On, Type T> [[nodiscard]] Value<T, On> value(Builder<On>& builder, const ReadReg<T>& reg) {
    return {builder, {reg.name}};
}

/// What a special register has: `mov.u32 %u1, %tid.x;` of `read<"%tid.x">(b)`.
template <Literal Name, Target On> [[nodiscard]] auto read(Builder<On>& builder) {
    constexpr Type type = shape_of<Special<Name>>.type;
    static_assert(shape_of<Special<Name>>.kind == ShapeKind::special,
                  "there is no special register of this name (PTX ISA, chapter 10), or it wants a part: .x");
    const auto number = builder.template reg<type>();
    builder.template emit<typed<"mov", type>()>(number, special<Name>);
    return value(builder, number);
}
/// The address of a variable: `mov.u32 %u1, tiles;` in .shared, `mov.u64` in other spaces. There it is one in
/// that space; cvta makes a generic one of it.
template <Target On, Space S>
[[nodiscard]] auto address_of(Builder<On>& builder, const Variable<S>& variable) {
    constexpr Type type = S == Space::shared ? u32 : u64;
    const auto address = builder.template reg<type>();
    builder.template emit<typed<"mov", type>()>(address, variable);
    return value(builder, address);
}

namespace calculating {

constexpr bool is_integer(Type type) { return syntax::row(type).is_integer(); }
constexpr Type bits_of(Type type) {
    const std::uint16_t bits = syntax::row(type).bits;
    return bits == 16 ? Type::b16 : bits == 32 ? Type::b32 : Type::b64;
}

// What may stand on the right of a value: another of its type, or a constant.
template <class R, Type T, Target On>
concept Right = std::same_as<R, Value<T, On>> || std::derived_from<R, Reg<T>> ||
    std::derived_from<R, ReadReg<T>> || std::is_arithmetic_v<R>;

template <Type T, Target On> const Reg<T>& operand(const Value<T, On>& value) { return value.reg; }
template <Type T> const Reg<T>& operand(const Reg<T>& reg) { return reg; }
template <Type T> const ReadReg<T>& operand(const ReadReg<T>& reg) { return reg; }
template <class R>
requires std::is_arithmetic_v<R>
const R& operand(const R& constant) { return constant; }

template <Literal Name, Type D, Type T, Target On, class R>
Value<D, On> calculate(const Value<T, On>& left, const R& right) {
    const auto result = left.builder.template reg<D>();
    left.builder.template emit<Name>(result, left.reg, operand(right));
    return {left.builder, result};
}

}  // namespace calculating

template <Type T, Target On, calculating::Right<T, On> R>
Value<T, On> operator+(const Value<T, On>& a, const R& b) {
    return calculating::calculate<typed<"add", T>(), T>(a, b);
}
template <Type T, Target On, calculating::Right<T, On> R>
Value<T, On> operator-(const Value<T, On>& a, const R& b) {
    return calculating::calculate<typed<"sub", T>(), T>(a, b);
}
template <Type T, Target On, calculating::Right<T, On> R>
Value<T, On> operator*(const Value<T, On>& a, const R& b) {
    if constexpr (calculating::is_integer(T))
        return calculating::calculate<typed<"mul.lo", T>(), T>(a, b);
    else
        return calculating::calculate<typed<"mul", T>(), T>(a, b);
}
template <Type T, Target On, calculating::Right<T, On> R>
requires(calculating::is_integer(T)) Value<T, On>
operator/(const Value<T, On>& a, const R& b) { return calculating::calculate<typed<"div", T>(), T>(a, b); }
template <Type T, Target On, calculating::Right<T, On> R>
requires(calculating::is_integer(T)) Value<T, On>
operator%(const Value<T, On>& a, const R& b) { return calculating::calculate<typed<"rem", T>(), T>(a, b); }
template <Type T, Target On, calculating::Right<T, On> R>
requires(calculating::is_integer(T)) Value<T, On>
operator&(const Value<T, On>& a, const R& b) {
    return calculating::calculate<typed<"and", calculating::bits_of(T)>(), T>(a, b);
}
template <Type T, Target On, calculating::Right<T, On> R>
requires(calculating::is_integer(T)) Value<T, On>
operator|(const Value<T, On>& a, const R& b) {
    return calculating::calculate<typed<"or", calculating::bits_of(T)>(), T>(a, b);
}
template <Type T, Target On, calculating::Right<T, On> R>
requires(calculating::is_integer(T)) Value<T, On>
operator^(const Value<T, On>& a, const R& b) {
    return calculating::calculate<typed<"xor", calculating::bits_of(T)>(), T>(a, b);
}
template <Type T, Target On, calculating::Right<u32, On> R>
requires(calculating::is_integer(T)) Value<T, On>
operator<<(const Value<T, On>& a, const R& by) {
    return calculating::calculate<typed<"shl", calculating::bits_of(T)>(), T>(a, by);
}
template <Type T, Target On, calculating::Right<u32, On> R>
requires(calculating::is_integer(T)) Value<T, On>
operator>>(const Value<T, On>& a, const R& by) { return calculating::calculate<typed<"shr", T>(), T>(a, by); }
template <Type T, Target On> Value<T, On> operator-(const Value<T, On>& a) {
    const auto result = a.builder.template reg<T>();
    a.builder.template emit<typed<"neg", T>()>(result, a.reg);
    return {a.builder, result};
}

template <Type T, Target On, calculating::Right<T, On> R> Pred operator==(const Value<T, On>& a, const R& b) {
    return calculating::calculate<typed<"setp.eq", T>(), pred>(a, b);
}
template <Type T, Target On, calculating::Right<T, On> R> Pred operator!=(const Value<T, On>& a, const R& b) {
    if constexpr (calculating::is_integer(T))
        return calculating::calculate<typed<"setp.ne", T>(), pred>(a, b);
    else
        return calculating::calculate<typed<"setp.neu", T>(), pred>(a, b);
}
template <Type T, Target On, calculating::Right<T, On> R> Pred operator<(const Value<T, On>& a, const R& b) {
    return calculating::calculate<typed<"setp.lt", T>(), pred>(a, b);
}
template <Type T, Target On, calculating::Right<T, On> R> Pred operator<=(const Value<T, On>& a, const R& b) {
    return calculating::calculate<typed<"setp.le", T>(), pred>(a, b);
}
template <Type T, Target On, calculating::Right<T, On> R> Pred operator>(const Value<T, On>& a, const R& b) {
    return calculating::calculate<typed<"setp.gt", T>(), pred>(a, b);
}
template <Type T, Target On, calculating::Right<T, On> R> Pred operator>=(const Value<T, On>& a, const R& b) {
    return calculating::calculate<typed<"setp.ge", T>(), pred>(a, b);
}

}  // namespace ptxgraft::dsl
