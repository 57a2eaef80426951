#pragma once
/// @file any_operand.hpp
/// Operands that are known when a program runs: for whoever makes instructions from data.
///
/// @code
/// std::vector<dsl::AnyOperand> operands = {b.reg<f32>(), a, 1.0f};   // any operand, or:
/// operands[1] = dsl::AnyOperand::reg("%f7", Type::f32);
/// b.emit_list("add.f32", operands);
/// @endcode

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "ptxgraft/dsl/operand.hpp"

namespace ptxgraft::dsl {

/// One operand: its text and its shape, which it owns. What cannot be one (a name that is no identifier, a
/// special register that there is not, the negation of a number) is of ShapeKind::invalid, which no
/// instruction takes.
class PTXGRAFT_API AnyOperand {
  public:
    template <Operand T> AnyOperand(const T& operand) : shape_(shape_now(operand)) { print(text_, operand); }

    /// A register, of the type that it is declared with.
    [[nodiscard]] static AnyOperand reg(std::string_view name, Type type);
    [[nodiscard]] static AnyOperand variable(std::string_view name, Space space);
    [[nodiscard]] static AnyOperand special(std::string_view name);
    /// A label, a function, a list of targets, a prototype, a texture, a sampler or a surface.
    [[nodiscard]] static AnyOperand named(std::string_view name, ShapeKind kind);
    [[nodiscard]] static AnyOperand vector(std::span<const AnyOperand> elements);
    [[nodiscard]] static AnyOperand pair(const AnyOperand& first, const AnyOperand& second);
    [[nodiscard]] static AnyOperand address(std::span<const AnyOperand> parts);
    [[nodiscard]] static AnyOperand sum(const AnyOperand& base, std::int64_t bytes);
    [[nodiscard]] static AnyOperand list(std::span<const AnyOperand> elements);
    [[nodiscard]] static AnyOperand negated(const AnyOperand& predicate);
    [[nodiscard]] static AnyOperand minus(const AnyOperand& reg);
    [[nodiscard]] static AnyOperand part(const AnyOperand& reg, std::string_view part);

    [[nodiscard]] const Shape& shape() const { return shape_; }
    [[nodiscard]] const std::string& text() const { return text_; }

  private:
    AnyOperand() { shape_.kind = ShapeKind::invalid; }
    AnyOperand(ShapeKind kind, std::string text, std::span<const AnyOperand> children);

    std::string text_;
    Shape shape_;
    std::shared_ptr<const std::vector<Shape>> children_;  // that shape_ refers to,
    std::vector<std::shared_ptr<const void>> kept_;       // and what those refer to
};

inline void print(std::string& out, const AnyOperand& operand) { out.append(operand.text()); }

/// Any operand as one, with the values and types of its parts.
template <Operand T> [[nodiscard]] AnyOperand any(const T& operand) { return operand; }
template <class... E> [[nodiscard]] AnyOperand any(const Vector<E...>& vector);
template <class A, class B> [[nodiscard]] AnyOperand any(const Pair<A, B>& pair);
template <class Base> [[nodiscard]] AnyOperand any(const Offset<Base>& sum);
template <class... Parts> [[nodiscard]] AnyOperand any(const Address<Parts...>& address);
template <class... E> [[nodiscard]] AnyOperand any(const Arguments<E...>& arguments);

namespace making {
template <class Tuple> std::vector<AnyOperand> all(const Tuple& parts) {
    return std::apply([](const auto&... part) { return std::vector<AnyOperand>{any(part)...}; }, parts);
}
}  // namespace making
template <class... E> AnyOperand any(const Vector<E...>& vector) {
    return AnyOperand::vector(making::all(vector.elements));
}
template <class A, class B> AnyOperand any(const Pair<A, B>& pair) {
    return AnyOperand::pair(any(pair.first), any(pair.second));
}
template <class Base> AnyOperand any(const Offset<Base>& sum) {
    return AnyOperand::sum(any(sum.base), sum.bytes);
}
template <class... Parts> AnyOperand any(const Address<Parts...>& address) {
    return AnyOperand::address(making::all(address.parts));
}
template <class... E> AnyOperand any(const Arguments<E...>& arguments) {
    return AnyOperand::list(making::all(arguments.elements));
}

}  // namespace ptxgraft::dsl
