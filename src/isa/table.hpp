#pragma once
// The generated table, see generate.cpp.

#include "ptxgraft/isa.hpp"

namespace ptxgraft::isa {

struct OpcodeEffects {
    std::string_view opcode;
    std::uint16_t bits;
};

extern const std::span<const Form> table_forms;             // ordered by name
extern const std::span<const std::uint16_t> table_slots;    // open addressing by name_hash; 0xFFFF: empty
extern const std::span<const OpcodeEffects> table_effects;  // ordered by opcode

}  // namespace ptxgraft::isa
