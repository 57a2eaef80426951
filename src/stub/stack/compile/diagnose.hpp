#pragma once
// Why a program does not compile: the slow half of the compiler, run only once something is wrong.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "ptxgraft/stack.hpp"
#include "stub/stack/compile/machine.hpp"

namespace ptxgraft::stack {

/// Where an instruction could not be carried out.
struct Situation {
    const Machine::Data& machine;
    std::span<const Routine> routines;            ///< those that it may call
    std::array<std::uint32_t, max_types> depths;  ///< values on each stack
    bool is_program;                              ///< not in a routine
};

/// Why instruction `i`, at place `at` of the program, is wrong.
[[nodiscard]] Error diagnose(const Instruction& i, std::uint32_t at, const Situation& situation);
/// An assignment or request that finds its stack empty.
[[nodiscard]] Error diagnose_request(const Machine::Data& machine, std::uint32_t slot, std::uint32_t at);
/// An `out` that nothing assigns.
[[nodiscard]] Error diagnose_output(const Machine::Data& machine, std::uint32_t slot, std::uint32_t at);
/// `count` values are left on a stack; `at` pushed the last of them.
[[nodiscard]] Error diagnose_leftover(std::string_view stack, std::uint32_t at, std::uint32_t count);

}  // namespace ptxgraft::stack
