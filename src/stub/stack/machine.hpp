#pragma once
// The stack machine's view of the instruction table: which stacks a form pops and pushes, and its text as
// emitted.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "ptxgraft/isa.hpp"
#include "ptxgraft/site.hpp"

namespace ptxgraft::stack {

/// The stacks. b32 values live on the u32 stack.
enum class StackId : std::uint8_t { pred, u32, s32, f32, none };
inline constexpr std::size_t stack_count = 4;
inline constexpr std::array<std::string_view, stack_count> stack_names = {"pred", "u32", "s32", "f32"};

/// The stack of a type; none for the types that the stack language does not have. `type` may be any byte.
StackId stack_of(std::uint8_t type);
inline StackId stack_of(Type type) { return stack_of(static_cast<std::uint8_t>(type)); }

inline constexpr std::size_t max_inputs = 4;

struct StackForm {
    std::array<char, 48> text;  ///< "\tadd.f32 ", not terminated
    std::uint8_t text_length;
    std::uint8_t inputs;  ///< 0: not a form of the stack language
    StackId output;
    std::array<StackId, max_inputs> stacks;       ///< of the inputs, in writing order
    std::array<std::uint8_t, stack_count> needs;  ///< values that it pops from each stack
    std::uint8_t immediate_inputs;                ///< bit i: input i must be a literal below 256
    bool one_stack;     ///< inputs and output are of one type, and no input must be a literal
    bool exact_output;  ///< only a register declared .b32 receives the result: never an operand of another
                        ///< type
    std::uint8_t byte_inputs;  ///< bit i: a literal in input i is written by its low 8 bits
};

/// One per form of isa::forms(), in its order.
std::span<const StackForm> machine();

}  // namespace ptxgraft::stack
