#pragma once
// A graph as steps over blocks of columns: what Evaluator runs.

#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "arithmetic/arithmetic.hpp"
#include "ptxgraft/evaluate.hpp"
#include "stub/stack/compile/graph.hpp"

namespace ptxgraft::stack {

/// Where the values of one node are, block by block.
struct Place {
    enum class Kind : std::uint8_t {
        scratch,  ///< `at` bytes per point from the beginning of the scratch memory
        /// `at` bytes per point from the beginning of the plan's constants, the same for every block
        constant,
        input,  ///< column `at` of the caller
    };
    Kind kind = Kind::scratch;
    std::uint8_t bytes = 4;
    std::uint32_t at = 0;
};

/// Outputs, then inputs of a step are consecutive places of the plan.
struct PlanStep {
    enum class Kind : std::uint8_t { pure, select, move };
    Kind kind = Kind::pure;
    std::uint8_t outputs = 1;
    std::uint8_t inputs = 1;
    bool is_counted = true;         ///< an instruction of the program, not a copy of ours
    std::uint32_t instruction = 0;  ///< of a pure one, in `instructions`
    std::uint32_t places = 0;       ///< the first
};

inline constexpr std::size_t most_pieces = 8;  ///< operands of one step, each way

struct FreeAligned {
    void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{64}); }
};
using AlignedBytes = std::unique_ptr<std::byte[], FreeAligned>;
[[nodiscard]] inline AlignedBytes aligned_bytes(std::size_t size) {
    return AlignedBytes(
        static_cast<std::byte*>(::operator new[](size == 0 ? 1 : size, std::align_val_t{64})));
}

struct Evaluator::Plan {
    struct Output {
        std::uint32_t slot;
        Place from;
    };
    std::vector<PlanStep> steps;
    std::vector<Place> places;
    std::vector<arithmetic::PureInstruction> instructions;
    std::vector<Output> outputs;
    AlignedBytes constants;   ///< each repeated for a block
    std::uint32_t block = 0;  ///< points worked on at a time
    std::uint32_t scratch_per_point = 0;
    std::uint32_t instruction_count = 0;
};

/// Errors: Errc::instruction_not_evaluable.
[[nodiscard]] Expected<std::shared_ptr<const Evaluator::Plan>> make_plan(const Graph& graph,
                                                                         const Machine::Data& machine);

}  // namespace ptxgraft::stack
