#pragma once
#include <string_view>

#include "ptxgraft/error.hpp"

namespace ptxgraft::link {

/// What an assembler has to know of a module before it takes it. Views point into the text.
struct ModuleFacts {
    std::string_view target;  ///< "sm_90a": the architecture of `.target`; empty when there is none
    Span relocatable_loss =
        {};  ///< the first instruction that relocatable assembly would change: setmaxnreg, wgmma
};

/// Reads them. Comments and strings are no instructions. Errors: Errc::assemble_failed for a text that the
/// assemblers' front ends do not survive or silently cut: no `.version` first, a zero byte;
/// Errc::text_too_large.
[[nodiscard]] Expected<ModuleFacts> module_facts(std::string_view ptx);

}  // namespace ptxgraft::link
