#pragma once
/// @file shape.hpp
/// What the emitter's check sees of an operand: its kind and its types, and, where it is known, the value of
/// a constant. Made while C++ compiles of the operands' types (operand.hpp), or at run time.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

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

struct Shape;
/// Shapes that stand somewhere else. (A std::span of an incomplete type is more than some libraries take.)
class ShapeList {
  public:
    constexpr ShapeList() = default;
    template <std::size_t N> constexpr ShapeList(const Shape (&all)[N]) : first_(all), size_(N) {}
    ShapeList(const std::vector<Shape>& all);
    [[nodiscard]] constexpr const Shape* begin() const { return first_; }
    [[nodiscard]] constexpr const Shape* end() const;
    [[nodiscard]] constexpr std::size_t size() const { return size_; }
    [[nodiscard]] constexpr bool empty() const { return size_ == 0; }
    [[nodiscard]] constexpr const Shape& front() const { return *first_; }
    [[nodiscard]] constexpr const Shape& operator[](std::size_t i) const;
    constexpr operator std::span<const Shape>() const;

  private:
    const Shape* first_ = nullptr;
    std::size_t size_ = 0;
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
    bool is_read_only = false;   ///< a register that no instruction writes
    ShapeList children = {};

    /// An element of a vector.
    [[nodiscard]] constexpr const Shape& element(std::size_t i) const {
        return children[children.size() == 1 ? 0 : i];
    }
    [[nodiscard]] constexpr bool is_constant() const {
        return kind == ShapeKind::integer || kind == ShapeKind::floating;
    }
};

inline ShapeList::ShapeList(const std::vector<Shape>& all) : first_(all.data()), size_(all.size()) {}
constexpr const Shape* ShapeList::end() const { return first_ + size_; }
constexpr const Shape& ShapeList::operator[](std::size_t i) const { return first_[i]; }
constexpr ShapeList::operator std::span<const Shape>() const { return {first_, size_}; }

}  // namespace ptxgraft::dsl
