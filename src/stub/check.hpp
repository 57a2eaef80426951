#pragma once
// Checks PTX written by hand against a signature and a policy.

#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/stub.hpp"

namespace ptxgraft {

/// What the text of a stub is found to be.
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

Expected<CheckedText> check_text(std::string_view text, const Signature& signature, const Policy& policy);

}  // namespace ptxgraft
