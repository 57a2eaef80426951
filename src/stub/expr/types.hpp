#pragma once
// The types of expressions: those of operands, where b16, b32 and b64 are the unsigned integers of their
// width.

#include <array>
#include <cstdint>
#include <string_view>

#include "ptxgraft/set.hpp"
#include "ptxgraft/site.hpp"

namespace ptxgraft::expr {

/// Types by bit: bit i is the type with the number i.
using TypeSet = std::uint32_t;
constexpr TypeSet only(Type type) { return 1u << static_cast<unsigned>(type); }
constexpr bool has(TypeSet set, Type type) { return (set & only(type)) != 0; }

inline constexpr std::size_t type_count = 16;
inline constexpr TypeSet pred_type = only(Type::pred);
inline constexpr TypeSet signed_types = only(Type::s16) | only(Type::s32) | only(Type::s64);
inline constexpr TypeSet unsigned_types = only(Type::u16) | only(Type::u32) | only(Type::u64);
inline constexpr TypeSet integer_types = signed_types | unsigned_types;
inline constexpr TypeSet half_types = only(Type::f16) | only(Type::bf16);
inline constexpr TypeSet float_types = half_types | only(Type::f32) | only(Type::f64);
inline constexpr TypeSet pair_types = only(Type::f16x2) | only(Type::bf16x2);
inline constexpr TypeSet f16_ = only(Type::f16), bf16_ = only(Type::bf16), f32_ = only(Type::f32),
                         f64_ = only(Type::f64);
inline constexpr TypeSet value_types = pred_type | integer_types | float_types | pair_types;

/// The type that an operand's values have in an expression.
constexpr Type type_of(Type declared) { return static_cast<Type>(stack::stack_of(stack::type_id(declared))); }

/// "f16, f32 and f64".
[[nodiscard]] std::string names(TypeSet set);

/// The type of a word, `f32`; type_count when it is none of an expression's.
[[nodiscard]] std::size_t find_type(std::string_view word);

}  // namespace ptxgraft::expr
