#pragma once
// Checks PTX written by hand against a signature and a policy.

#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/stub.hpp"

namespace ptxgraft::stub_check {

/// What the check finds in the text of a stub.
struct CheckedText {
    struct Rename {
        std::uint32_t begin, end;  ///< bytes of the text
        std::string register_name;
    };
    std::vector<Rename> renames;  ///< plain names of operands; ordered
    Effect effects = Effect::none;
    std::uint32_t instruction_count = 0;
    bool needs_scope = false;  ///< declares registers or labels
};

/// Fails with the first error of the text, whose span is of the text.
[[nodiscard]] Expected<CheckedText> check_text(std::string_view text, const Signature& signature,
                                               const Policy& policy);

}  // namespace ptxgraft::stub_check
