#pragma once
// Operands for a spelling of a row, so that it can be asked of an assembler: registers named after their type
// (`f32_3`), variables `gv`, `tex_` and `surf_`, a function `fn1`, the labels `L` and `T`, a prototype `P`.

#include <string>
#include <vector>

#include "isa/spellings.hpp"

namespace ptxgraft::isa {

/// `sampler`: what stands for one where a row has it; empty: nothing.
[[nodiscard]] std::vector<std::string> sample_operands(const Match& match, bool with_optional,
                                                       std::string sampler = {});
/// An instruction, and the labels that it names.
[[nodiscard]] std::string sample_line(const std::string& name, const std::vector<std::string>& operands);

}  // namespace ptxgraft::isa
