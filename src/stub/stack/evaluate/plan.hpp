#pragma once
// A graph as steps over blocks of columns: what Evaluator runs.

#include <cstdint>
#include <memory>
#include <span>

#include "arithmetic/approximate.hpp"
#include "arithmetic/arithmetic.hpp"
#include "ptxgraft/evaluate.hpp"
#include "stub/stack/compile/graph.hpp"

namespace ptxgraft::stack {

/// Where the values of one node are, block by block.
struct Place {
    enum class Kind : std::uint8_t {
        scratch,  ///< `at` bytes per point from the beginning of the scratch memory
        input,    ///< column `at` of the caller
    };
    Kind kind = Kind::scratch;
    std::uint8_t bytes = 4;
    std::uint32_t at = 0;
};

/// Outputs, then inputs of a step are consecutive places of the plan.
struct PlanStep {
    enum class Kind : std::uint8_t { pure, select, move };
    Kind kind = Kind::pure;
    std::uint8_t outputs = 0;
    std::uint8_t inputs = 0;
    std::uint32_t places = 0;                                  ///< the first
    const arithmetic::PureInstruction* instruction = nullptr;  ///< of a pure one; the set's
    arithmetic::PerturbFunction perturb = nullptr;             ///< of an approximate one
};

inline constexpr std::size_t most_pieces = 8;  ///< operands of one step, each way

/// A constant as a column of the scratch memory.
struct ConstantColumn {
    std::uint32_t at;
    std::uint8_t bytes;
};

/// One plan after the other, each in the memory of the one before. The spans are into it.
struct Evaluator::Plan {
    struct Output {
        std::uint32_t slot;
        Place from;
    };
    std::span<const PlanStep> steps;
    std::span<const Place> places;
    std::span<const Output> outputs;
    std::span<const ConstantColumn> columns;  ///< of the constants; those that are data come first
    std::span<std::uint64_t> constants;       ///< their bits
    std::uint32_t data_constants = 0;
    std::uint32_t block = 0;  ///< points worked on at a time
    std::uint32_t scratch_per_point = 0;
    std::uint32_t instruction_count = 0;

    /// Nothing to run. Its memory stays.
    void clear() {
        steps = {}, places = {}, outputs = {}, columns = {}, constants = {};
        data_constants = block = scratch_per_point = instruction_count = 0;
    }

    GrowingMemory graph_memory, memory;
    std::shared_ptr<const InstructionSet> set;  ///< keeps the steps' instructions
};

/// Makes `plan` the one of a graph. Errors: Errc::instruction_not_evaluable.
[[nodiscard]] Expected<void> make_plan(const Graph& graph, const Machine::Data& machine, Constants constants,
                                       Evaluator::Plan& plan);

}  // namespace ptxgraft::stack
