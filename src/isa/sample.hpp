#pragma once
// Operands for a spelling of a row, so that it can be asked of an assembler: registers named after their type
// (`f32_3`), variables `gv`, `tex_` and `surf_`, a function `fn1`, the labels `L` and `T`, a prototype `P`.

#include <string>
#include <string_view>
#include <vector>

#include "isa/spellings.hpp"

namespace ptxgraft::isa {

/// `sampler`: what stands for one where a row has it; empty: nothing.
[[nodiscard]] std::vector<std::string> sample_operands(const Match& match, bool with_optional,
                                                       std::string sampler = {});
/// Whether a row wants an address in a register where others take the name of a function.
[[nodiscard]] bool calls_by_address(const Row& row);
/// An instruction, and the labels that it names.
[[nodiscard]] std::string sample_line(const std::string& name, const std::vector<std::string>& operands);
/// A line as it is, and the labels that it names.
[[nodiscard]] std::string with_labels(std::string line);

/// A module up to the body of an entry, with all that such lines name. `line`: only what this one names.
[[nodiscard]] std::string sample_head(std::string_view version, std::string_view target,
                                      std::string_view line = {});

}  // namespace ptxgraft::isa
