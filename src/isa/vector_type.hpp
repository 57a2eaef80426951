#pragma once
// The one type that ptxas gives a vector in braces, from its first element to its last.

#include <algorithm>
#include <utility>

#include "ptxgraft/constant.hpp"
#include "ptxgraft/isa/types.hpp"

namespace ptxgraft::isa {

inline RegisterType bits_type(std::uint32_t bits) {
    const auto* const at = std::find_if(type_infos.begin(), type_infos.end(), [&](const TypeInfo& t) {
        return t.kind == TypeClass::bits && t.bits == bits;
    });
    return at == type_infos.end() ? RegisterType::none : at->type;
}

/// Elements of one type give the vector that type; others of one class, or beside some of bits, bits of
/// the registers' width. Neighbours of two classes do not go together. A constant is .s64, .u64, .f64 or
/// .f32, and takes the width of the registers. A predicate goes with nothing: ptxas takes it for 32 bits,
/// and fails when it makes code of it.
class VectorType {
  public:
    /// False: ptxas finds them to be of different types.
    bool add(RegisterType reg) {
        const bool goes = reg != RegisterType::pred && join(reg, false);
        has_register_ = true;
        return goes;
    }
    bool add(syntax::Constant::Type constant) {
        using Type = syntax::Constant::Type;
        const bool is_integer = constant == Type::s64 || constant == Type::u64;
        has_integer_ |= is_integer;
        has_integer_behind_ |= is_integer && has_register_;
        if (type_ == RegisterType::none) (is_integer ? begins_with_integer_ : begins_with_float_) = true;
        return join(constant == Type::s64   ? RegisterType::s64
                    : constant == Type::u64 ? RegisterType::u64
                    : constant == Type::f64 ? RegisterType::f64
                                            : RegisterType::f32,
                    true);
    }

    [[nodiscard]] RegisterType type() const { return type_; }
    [[nodiscard]] bool has_register() const { return has_register_; }
    /// A constant that is one.
    [[nodiscard]] bool has_integer() const { return has_integer_; }
    [[nodiscard]] bool has_integer_behind_register() const { return has_integer_behind_; }
    [[nodiscard]] bool begins_with_integer() const { return begins_with_integer_; }
    [[nodiscard]] bool begins_with_float() const { return begins_with_float_; }

  private:
    static bool go_together(RegisterType a, RegisterType b) {
        const TypeClass of_a = info(a).kind, of_b = info(b).kind;
        return a == b || of_a == TypeClass::bits || of_b == TypeClass::bits ||
               (of_a == of_b && (of_a == TypeClass::integer || of_a == TypeClass::floating));
    }
    bool join(RegisterType other, bool is_constant) {
        const RegisterType neighbour = std::exchange(last_, other);
        if (type_ == RegisterType::none) {
            type_ = other;
            return true;
        }
        if (!go_together(type_, other) || !go_together(neighbour, other)) return false;
        if (type_ == other) return true;
        if (!is_constant && has_register_ && info(type_).bits != info(other).bits) return false;
        const bool are_floats = is_constant && !has_register_ && info(type_).kind == TypeClass::floating;
        type_ = bits_type(are_floats                     ? 32u  // 1.5 and 0f3F800000
                          : is_constant || has_register_ ? info(type_).bits
                                                         : info(other).bits);
        return true;
    }

    RegisterType type_ = RegisterType::none, last_ = RegisterType::none;
    bool has_register_ = false, begins_with_integer_ = false, begins_with_float_ = false,
         has_integer_ = false, has_integer_behind_ = false;
};

}  // namespace ptxgraft::isa
