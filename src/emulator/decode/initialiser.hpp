#pragma once
/// @file initialiser.hpp
/// Initial values of variables (PTX ISA 5.4.4): constant expressions, nested lists, addresses, bytes of
/// addresses.

#include <cstddef>
#include <span>

#include "emulator/decode/decode.hpp"

namespace ptxgraft::emulator {

/// Writes a variable's initial bytes; those that no value names stay as they are. As ptxas has it, values
/// follow each other in memory, whatever the inner lists leave out: `x[2][2] = {{1}, {3}}` is 1, 3, 0, 0.
[[nodiscard]] Expected<void> initialise_variable(const ModuleDecoder& module, std::span<std::byte> bytes,
                                                 const syntax::Statement::Variable& variable,
                                                 const syntax::Statement::Declarator& declarator);

}  // namespace ptxgraft::emulator
