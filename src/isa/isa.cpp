#include "ptxgraft/isa.hpp"

#include <algorithm>

#include "isa/hash.hpp"
#include "isa/table.hpp"

namespace ptxgraft::isa {

std::span<const Form> forms() { return table_forms; }

const Form* find(std::string_view name) {
    const std::size_t mask = table_slots.size() - 1;
    for (std::size_t at = name_hash(name) & mask; table_slots[at] != 0xFFFF; at = (at + 1) & mask)
        if (table_forms[table_slots[at]].name == name) return &table_forms[table_slots[at]];
    return nullptr;
}

std::uint16_t effects(std::string_view opcode) {
    const auto at =
        std::lower_bound(table_effects.begin(), table_effects.end(), opcode,
                         [](const OpcodeEffects& row, std::string_view name) { return row.opcode < name; });
    return at != table_effects.end() && at->opcode == opcode ? at->bits : unknown_opcode;
}

}  // namespace ptxgraft::isa
