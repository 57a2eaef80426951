#pragma once
/// @file module_text.hpp
/// What an assembler has to know of a module's text before it takes it. None of it parses: a GPU's candidates
/// come this way.

#include <string_view>

#include "ptxgraft/error.hpp"

namespace ptxgraft::link {

/// Errc::assemble_failed for a text that the assemblers' front ends do not survive or silently cut: no
/// `.version` first, a zero byte, a block of more threads than they can count, an address in a register or
/// a parameter by the name of a special register; Errc::text_too_large.
[[nodiscard]] Expected<void> check_text(std::string_view ptx);

/// What the `.target` directives say. Comments and strings are no directives.
struct TextTarget {
    std::string_view
        architecture;       ///< "sm_90a": of the first that names one, a view of the text; empty: none
    bool is_debug = false;  ///< `.target …, debug`
};
[[nodiscard]] TextTarget target_of(std::string_view ptx);

/// The first instruction that relocatable assembly would change: setmaxnreg, wgmma.
[[nodiscard]] Span relocatable_loss(std::string_view ptx);

}  // namespace ptxgraft::link
