#pragma once
/// @file sass.hpp
/// Machine code as nvdisasm prints it, read back.

#include <string_view>

#include "ptxgraft/static_cost.hpp"

namespace ptxgraft::link {

/// What nvdisasm has to be asked for.
inline constexpr std::string_view sass_arguments[] = {"--print-code", "--print-life-ranges"};

/// The class of an instruction by its opcode: "IMAD.MOV.U32".
[[nodiscard]] InstructionClass class_of(std::string_view opcode);

/// The section `.text.<function>` of a disassembly with life ranges. Errors: Errc::disassemble_failed where
/// there is none.
[[nodiscard]] Expected<Disassembly> read_sass(std::string_view text, std::string_view function);

}  // namespace ptxgraft::link
