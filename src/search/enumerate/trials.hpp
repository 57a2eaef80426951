#pragma once
/// @file trials.hpp
/// The instructions that an enumeration tries: forms of one result, each with each of its immediates.

#include <array>
#include <vector>

#include "ptxgraft/evaluate.hpp"
#include "ptxgraft/stack.hpp"

namespace ptxgraft::search {

inline constexpr std::size_t most_inputs = 4;

struct Trial {
    stack::Instruction instruction;
    std::vector<stack::TypeId> inputs;
    stack::TypeId output = 0;
    bool is_commutative = false;  ///< of its first two inputs
    std::uint32_t weight = 1;     ///< its time, in those of an addition of 32 bits
    stack::Evaluator evaluator;   ///< reads the inputs, writes the output
};

/// In bits, 1 for a pred; 0 for types that take no part.
[[nodiscard]] inline std::uint32_t width_of(stack::TypeId type) {
    return type < stack::type_b8 ? bits(static_cast<Type>(type)) : 0;
}
/// In a column.
[[nodiscard]] inline std::size_t bytes_of(std::uint32_t width) { return width < 8 ? 1 : width / 8; }

/// Those of a set that are pure, have one result and at most four inputs, and at most one immediate of at
/// most 256 values, and can be evaluated.
[[nodiscard]] Expected<std::vector<Trial>> trials_of(const stack::InstructionSet& set);

/// Runs one: `in` for its inputs, `count` points.
void run(const Trial& trial, std::span<const void* const> in, void* out, std::size_t count);

}  // namespace ptxgraft::search
