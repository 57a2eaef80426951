#pragma once
/// @file signature.hpp
/// Signatures as types: the operands of a site (site.hpp) with names, types and directions that C++ knows, so
/// that a stub which computes with the wrong class of register, or writes an operand that is only read, does
/// not compile. stub.hpp makes stubs of them; FunctionBuilder::site (module.hpp) hands them on.
///
/// @code
/// using Epilogue = SignatureOf<Mod<"acc", f32>, In<"bias", f32>, In<"scale", f32, 2>>;
/// @endcode
///
/// | operand | in a body it is |
/// |---|---|
/// | `Mod<"acc", f32>`, `Out<"y", f32>` | a `Reg<f32>` |
/// | `In<"bias", f32>` | a `ReadReg<f32>`, which no instruction writes |
/// | `Mod<"acc", f32, 4>` | a fragment of 4, `Regs<f32, 4>`: `acc[0]`, or as a vector `acc` |
/// | `In<"scale", f32, 2>` | an array of `ReadReg<f32>` |

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "ptxgraft/dsl/check.hpp"
#include "ptxgraft/dsl/operand.hpp"
#include "ptxgraft/site.hpp"

namespace ptxgraft::dsl {

/// The name of an operand as a template argument. (A Literal also knows its place: two of one name differ.)
template <std::size_t Size> struct OperandName {
    char text[Size] = {};
    consteval OperandName(const char (&from)[Size]) {
        for (std::size_t i = 0; i < Size; ++i) text[i] = from[i];
    }
    [[nodiscard]] constexpr std::string_view view() const { return {text, Size - 1}; }
};

namespace emitting {
template <Direction D, Type T> using OperandReg = std::conditional_t<D == Direction::in, ReadReg<T>, Reg<T>>;
template <Direction D, Type T, std::size_t N>
using OperandBase = std::conditional_t<N == 0, OperandReg<D, T>, std::array<OperandReg<D, T>, N>>;
}  // namespace emitting

/// An operand of a site: a register, or with N elements a fragment.
template <Direction D, OperandName Name, Type T, std::size_t N = 0>
struct SiteReg : emitting::OperandBase<D, T, N> {
    static constexpr Direction direction = D;
    static constexpr Type type = T;
    static constexpr std::size_t count = N;  ///< 0: a scalar
    [[nodiscard]] static constexpr std::string_view operand() { return Name.view(); }

    /// Of its registers' names: one, or of a fragment one for each element.
    [[nodiscard]] static SiteReg of(const std::vector<std::string_view>& registers) {
        SiteReg made;
        if constexpr (N == 0)
            made.name = registers.front();
        else
            for (std::size_t i = 0; i < N; ++i) made[i] = {registers[i]};
        return made;
    }
};
template <OperandName Name, Type T, std::size_t N = 0> using In = SiteReg<Direction::in, Name, T, N>;
template <OperandName Name, Type T, std::size_t N = 0> using Mod = SiteReg<Direction::mod, Name, T, N>;
template <OperandName Name, Type T, std::size_t N = 0> using Out = SiteReg<Direction::out, Name, T, N>;

template <Direction D, OperandName Name, Type T, std::size_t N>
struct shaping::Of<SiteReg<D, Name, T, N>> : shaping::Of<emitting::OperandBase<D, T, N>> {};

template <Type T, Target On> struct Value;  // value.hpp

/// The operands of a site, in any order.
template <class... Operands> struct SignatureOf {};

/// An operand of a site that a function declares, with the registers that go in and come out.
template <class Operand> struct TypedArgument { std::vector<std::string_view> registers; };
namespace emitting {
template <Type T, std::size_t N> std::vector<std::string_view> names_of(const Regs<T, N>& regs) {
    std::vector<std::string_view> names;
    for (const Reg<T>& reg : regs) names.push_back(reg.name);
    return names;
}
}  // namespace emitting
/// `in<"bias">(b)`, for operands().
template <OperandName Name, Type T> [[nodiscard]] TypedArgument<In<Name, T>> in(const Reg<T>& reg) {
    return {{reg.name}};
}
template <OperandName Name, Type T> [[nodiscard]] TypedArgument<Mod<Name, T>> mod(const Reg<T>& reg) {
    return {{reg.name}};
}
template <OperandName Name, Type T> [[nodiscard]] TypedArgument<Out<Name, T>> out(const Reg<T>& reg) {
    return {{reg.name}};
}
template <OperandName Name, Type T, std::size_t N>
[[nodiscard]] TypedArgument<In<Name, T, N>> in(const Regs<T, N>& regs) {
    return {emitting::names_of(regs)};
}
template <OperandName Name, Type T, std::size_t N>
[[nodiscard]] TypedArgument<Mod<Name, T, N>> mod(const Regs<T, N>& regs) {
    return {emitting::names_of(regs)};
}
template <OperandName Name, Type T, std::size_t N>
[[nodiscard]] TypedArgument<Out<Name, T, N>> out(const Regs<T, N>& regs) {
    return {emitting::names_of(regs)};
}

template <OperandName Name, Type T, Target On>
[[nodiscard]] TypedArgument<In<Name, T>> in(const Value<T, On>& value) {
    return in<Name>(value.reg);
}
template <OperandName Name, Type T, Target On>
[[nodiscard]] TypedArgument<Mod<Name, T>> mod(const Value<T, On>& value) {
    return mod<Name>(value.reg);
}
template <OperandName Name, Type T, Target On>
[[nodiscard]] TypedArgument<Out<Name, T>> out(const Value<T, On>& value) {
    return out<Name>(value.reg);
}

/// What a site is declared with: `operands(mod<"acc">(sum), in<"bias">(b))`.
template <class... Operands> struct TypedArguments { std::tuple<TypedArgument<Operands>...> all; };
template <class... Operands>
[[nodiscard]] TypedArguments<Operands...> operands(TypedArgument<Operands>... arguments) {
    return {{std::move(arguments)...}};
}

namespace emitting {

template <class T> inline constexpr bool is_site_reg = false;
template <Direction D, OperandName Name, Type T, std::size_t N>
inline constexpr bool is_site_reg<SiteReg<D, Name, T, N>> = true;

// The operands that a function object wants behind its builder, by its parameters.
template <class Call> struct Parameters {
    static_assert(!std::is_same_v<Call, Call>,
                  "a body takes its builder, then operands: Mod<\"acc\", f32> acc");
};
template <class Result, class Object, class Builder, class... P>
struct Parameters<Result (Object::*)(Builder, P...) const> {
    static_assert((is_site_reg<std::remove_cvref_t<P>> && ...),
                  "behind its builder a body takes operands: Mod<\"acc\", f32> acc, In<\"bias\", f32> bias");
    using Signature = SignatureOf<std::remove_cvref_t<P>...>;
};
template <class Result, class Object, class Builder, class... P>
struct Parameters<Result (Object::*)(Builder, P...)> : Parameters<Result (Object::*)(Builder, P...) const> {};
template <class Result, class Builder, class... P>
struct Parameters<Result (*)(Builder, P...)> : Parameters<Result (std::true_type::*)(Builder, P...) const> {};
template <class Result, class Object, class Builder, class... P>
struct Parameters<Result (Object::*)(Builder, P...) const noexcept>
    : Parameters<Result (Object::*)(Builder, P...) const> {};
template <class Result, class Object, class Builder, class... P>
struct Parameters<Result (Object::*)(Builder, P...) noexcept>
    : Parameters<Result (Object::*)(Builder, P...) const> {};

// How a body is called: a function, or an object with one operator().
template <class Body> struct CallOf { using type = decltype(&Body::operator()); };
template <class Result, class... P> struct CallOf<Result (*)(P...)> { using type = Result (*)(P...); };
template <class Result, class... P> struct CallOf<Result (*)(P...) noexcept> {
    using type = Result (*)(P...);
};

}  // namespace emitting

}  // namespace ptxgraft::dsl
