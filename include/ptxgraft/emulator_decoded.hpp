#pragma once
/// @file emulator_decoded.hpp
/// What the emulator makes of a module: its operations, for people.

#include <string>
#include <string_view>

#include "ptxgraft/error.hpp"

namespace ptxgraft {

/// A listing of all functions: each instruction with its line, and below it the operations that it became,
/// with their number in the program, their class, outputs and inputs, and what they depend on:
///
///     entry k: 5 operations, 416 bytes of registers for a warp, 0 of local memory for a thread
///     9: add.f32 %f2, %f1, 0f3F800000;
///          3 pure  %f2 <- %f1, 0x3f800000  definedness: spreads  straight run: 2
///
/// An operand is a register's name, `t` and a number for one that the decoder made, a constant's bits, or
/// `special` and a number. A **micro-op** is one of several operations of an instruction; a **straight run**
/// are pure operations without guards that no branch leads between, which execute in one go. Errors: those of
/// loading the module.
[[nodiscard]] PTXGRAFT_API Expected<std::string> decoded_listing(std::string_view ptx);

}  // namespace ptxgraft
