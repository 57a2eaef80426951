#pragma once
// The dataflow of a program: what `run` (run.cpp) makes of its instructions, and what emit, hash and evaluate
// read. All of it stands in the caller's arena.

#include <array>
#include <cstdint>
#include <span>

#include "ptxgraft/stack.hpp"
#include "stub/stack/compile/arena.hpp"
#include "stub/stack/compile/machine.hpp"

namespace ptxgraft::stack {

using NodeId = std::uint32_t;
inline constexpr NodeId no_node = 0xFFFFFFFFu;
/// the guard of a form in an arm that a known pred rules out: nobody reads its results
inline constexpr NodeId never_executed = 0xFFFFFFFEu;

enum class NodeKind : std::uint8_t {
    input,     ///< args[0]: the slot (register of the signature) that it reads
    constant,  ///< args[0], args[1]: the bits, low half first
    form,      ///< an entry: its first result, see Graph::arguments
    /// args[0]: the form's node, args[1]: which of its results, from 1; results follow their form's node
    result,
    special,  ///< a special register, `entry` of the set
    cast,     ///< args[0] as another register class of the same width
    select,   ///< args[0] (pred) ? args[1] : args[2]
    not_,     ///< of a pred
    and_,     ///< of preds
};

inline constexpr std::uint32_t not_used = 0xFFFFFFFFu;
inline constexpr std::uint32_t to_the_end = 0xFFFFFFFEu;  ///< last use: the final moves

struct alignas(32) Node {
    std::uint32_t args[4];
    std::uint16_t entry;  ///< of form and special: its number in the set
    NodeKind kind;
    TypeId type;  ///< the stack that the value was pushed on
    /// the end of its live range: the last node that reads it, or to_the_end; not_used: dead. A dead form may
    /// still have live results
    std::uint32_t last_use;
    /// slot that it is computed into, or no_node; of a constant 0: it needs a register
    std::uint32_t target;

    /// Of a constant.
    [[nodiscard]] std::uint64_t bits() const { return args[0] | std::uint64_t{args[1]} << 32; }
};

/// The assignments of a program: what each slot receives, in order of the first assignment.
struct Assignment {
    std::uint32_t slot;
    NodeId node;
};

struct Graph {
    /// in program order: arguments before their users; first one input for each slot
    std::span<Node> nodes;
    std::span<const std::uint32_t> extra;  ///< arguments of forms that have no room in the node
    std::span<const Assignment> assignments;

    /// The inputs of a form, in the order of its entry's operands without the outputs: nodes, and for an
    /// immediate operand its bits.
    [[nodiscard]] std::span<const std::uint32_t> arguments(const Node& form, const EntryCode& code) const {
        return code.is_inline ? std::span<const std::uint32_t>(form.args, code.inputs)
                              : extra.subspan(form.args[0] + 1, code.inputs);
    }
    /// The pred under which a form with effects is executed; no_node: always.
    [[nodiscard]] NodeId guard(const Node& form, const EntryCode& code) const {
        return code.is_inline ? no_node : extra[form.args[0]];
    }
};

/// Runs a program and marks what is live: the first half of compile. The graph stands in `memory`, until the
/// next one does.
[[nodiscard]] Expected<Graph> make_graph(ProgramView program, const Machine& machine, GrowingMemory& memory,
                                         const CompileOptions& options);

}  // namespace ptxgraft::stack
