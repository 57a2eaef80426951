#pragma once
// The special registers (PTX ISA, chapter 10).

#include <optional>

#include "ptxgraft/isa/table.hpp"

namespace ptxgraft::isa {

struct SpecialUse {
    const SpecialRegister* row = nullptr;
    bool is_whole_vector = false;  // %tid, without .x
    std::uint8_t index = 0;        // of a component, 0 to 3 for .x to .w; of a member of a family: its number
};

/// `%tid.x`, `%laneid`, `%envreg3`; nothing for other names.
[[nodiscard]] std::optional<SpecialUse> find_special(std::string_view name);
/// False when surely no special register is the stem with a 0 behind it.
[[nodiscard]] bool may_be_special_stem(std::string_view stem);

}  // namespace ptxgraft::isa
