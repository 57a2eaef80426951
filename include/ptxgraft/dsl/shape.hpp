#pragma once
/// @file shape.hpp
/// What the emitter's check sees of an operand: its kind and its types, and, where it is known, the value of
/// a constant. Made while C++ compiles of the operands' types (operand.hpp), or at run time.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "ptxgraft/isa/match.hpp"
#include "ptxgraft/syntax/spaces.hpp"
#include "ptxgraft/syntax/types.hpp"

namespace ptxgraft::dsl {

using syntax::Space;
using syntax::Type;

enum class ShapeKind : std::uint8_t {
    reg,             ///< `%f1`, of `type`
    integer,         ///< a constant
    floating,        ///< a constant of .f32 or .f64, its `type`
    special,         ///< `%tid.x`: of `type`
    special_vector,  ///< `%tid`, without its .x
    variable,        ///< the name of a variable in `space`, with an offset where it stands for its address
    function,        ///< its name
    label,
    targets,    ///< a .branchtargets list
    prototype,  ///< a .callprototype
    texture,
    sampler,
    surface,
    sink,      ///< `_`
    negated,   ///< `!%p1`
    minus,     ///< `-%r1`
    selector,  ///< `%r1.b0`: `part`
    sum,       ///< `%rd1+4`, within brackets
    vector,    ///< `{…}` of `count`; children: one for all that are alike, or each
    pair,      ///< `a|b`: children
    address,   ///< `[…]`: children
    list,      ///< `(…)`
    invalid,   ///< what is no operand: never right
};

/// One operand; of the composed kinds a tree.
struct Shape {
    ShapeKind kind = ShapeKind::sink;
    Type type = Type::none;      ///< as its register is declared
    Space space = Space::none;   ///< of a variable
    bool has_value = false;      ///< `value` is known
    std::int64_t value = 0;      ///< of an integer constant
    bool is_unsigned = false;    ///< it is one beyond .s64, whose bits `value` has
    std::string_view part = {};  ///< ".b0"
    std::uint32_t count = 1;     ///< elements of a vector
    std::span<const Shape> children = {};

    /// An element of a vector.
    [[nodiscard]] constexpr const Shape& element(std::size_t i) const {
        return children[children.size() == 1 ? 0 : i];
    }
    [[nodiscard]] constexpr bool is_constant() const {
        return kind == ShapeKind::integer || kind == ShapeKind::floating;
    }
};

}  // namespace ptxgraft::dsl
