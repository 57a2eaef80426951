#pragma once
/// @file program_view.hpp
/// The bytes of stack programs (program.hpp) as programs where they stand: for whoever compiles a million of
/// them.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "ptxgraft/error.hpp"
#include "ptxgraft/program.hpp"

namespace ptxgraft::stack {

/// The program of such bytes, which have to live as long as it; nothing for a program with routines, and for
/// bytes that do not begin at a multiple of 8: program_from_bytes() reads those. Errors: as that.
[[nodiscard]] PTXGRAFT_API Expected<std::optional<ProgramView>> view_of_bytes(
    std::span<const std::byte> bytes, std::uint64_t machine = any_machine);

}  // namespace ptxgraft::stack
