#pragma once
/// @file initialiser.hpp
/// Initial values of variables (PTX ISA 5.4.4): numbers, nested lists, strings, addresses, bytes of
/// addresses.

#include <cstddef>
#include <span>

#include "emulator/decode.hpp"

namespace ptxgraft::emulator {

/// The number of elements that an initialiser spells, for `a[] = {…}`.
[[nodiscard]] std::uint64_t count_elements(std::span<const syntax::Token> initialiser);

/// Writes a variable's initial bytes; those that no value names stay as they are.
[[nodiscard]] Expected<void> initialise_variable(const ModuleDecoder& module, std::byte* bytes,
                                                 std::uint64_t size,
                                                 const syntax::Statement::Variable& variable,
                                                 const syntax::Statement::Declarator& declarator, Span span);

}  // namespace ptxgraft::emulator
