#pragma once
// Why a program does not compile: the slow half of the compiler, run only once something is wrong.

#include <cstdint>
#include <span>
#include <string_view>

#include "ptxgraft/stack.hpp"

namespace ptxgraft::stack {

/// Why instruction `at`, which the compiler could not carry out, is wrong; `depth` has the sizes of the four
/// stacks.
tl::unexpected<Error> diagnose(std::span<const Instruction> program, std::uint32_t at,
                               const Signature& signature, const std::uint32_t* depth);
tl::unexpected<Error> diagnose_output(const SiteOperand& operand, std::uint32_t element, std::uint32_t at);
tl::unexpected<Error> diagnose_leftover(std::string_view stack, std::uint32_t at, std::uint32_t count);

}  // namespace ptxgraft::stack
