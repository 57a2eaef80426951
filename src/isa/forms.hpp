#pragma once
// Parts of find_form, for those who explain why there is no form.

#include <string_view>
#include <vector>

#include "ptxgraft/isa.hpp"

namespace ptxgraft::isa {

/// The row of the table that a form was made from.
struct FormRow {
    static const void*& of(Form& form) { return form.row_; }
    static const void* of(const Form& form) { return form.row_; }
};

/// `mov.b64` of `mov.b64:b32x2`: up to the first ':' that stands alone, or '|'.
[[nodiscard]] std::string_view spelling_of(std::string_view name);

/// The forms of a spelling, modifiers in the manual's order.
[[nodiscard]] std::vector<Form> forms_spelled(std::string_view spelling);

}  // namespace ptxgraft::isa
