#pragma once
/// @file coverage.hpp
/// What of each form of the instruction table works: a row of the table for each, with an example that the
/// emitter (dsl.hpp) prints, which an assembler and the emulator are asked about.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/error.hpp"
#include "ptxgraft/link.hpp"

namespace ptxgraft {

/// One form: a row of the table (isa.hpp).
struct FormCoverage {
    std::string_view opcode;  ///< "mul.wide"
    std::string_view form;    ///< the row's syntax line: "mul.wide.type d, a, b"
    std::string since;  ///< "7.8 sm_90": the first PTX version and the architectures, as isa::rows has them
    std::size_t spellings = 0;  ///< ways to choose its modifiers
    std::string
        example;  ///< one of them: `mul.wide.u16 u32_0, u16_1, u16_2;`, registers named after their type
    std::string target, version;    ///< the first from sm_75 on that have the example; empty: none has
    std::string problem;            ///< what the assembler says of it there; empty where it takes it
    bool is_emulated = false;       ///< the emulator runs it, as sm_90a
    std::string_view out_of_scope;  ///< why the emulator need not: "textures"; else empty
};

/// The forms of opcodes (`add`, `mul.wide`, or `cp` for all that begin so) in the table's order; of all where
/// none is named. Each example is assembled by itself, on all cores: half a minute of one core for the whole
/// table.
[[nodiscard]] PTXGRAFT_API std::vector<FormCoverage> form_coverage(const Assembler& assembler,
                                                                   std::span<const std::string> opcodes = {});

/// The same as a page of Markdown: a table with a row for each form.
[[nodiscard]] PTXGRAFT_API std::string coverage_page(std::span<const FormCoverage> forms);

}  // namespace ptxgraft
