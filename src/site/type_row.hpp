#pragma once
// Types of operands as rows of the table of all types.

#include "ptxgraft/site.hpp"
#include "ptxgraft/syntax/types.hpp"

namespace ptxgraft {

// The enumerators of ptxgraft::Type are the first ones of syntax::Type.
static_assert(static_cast<syntax::Type>(Type::f64) == syntax::Type::f64);
[[nodiscard]] constexpr const syntax::TypeRow& row(Type type) {
    return syntax::row(static_cast<syntax::Type>(type));
}

/// Of a floating-point number, or of several.
[[nodiscard]] constexpr bool is_floating(Type type) { return row(type).kind == syntax::TypeKind::floating; }

}  // namespace ptxgraft
