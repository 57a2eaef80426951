// Writes expressions from a dataflow.

#include "stub/stack/program/rebuild.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "stub/stack/compile/graph.hpp"
#include "stub/stack/compile/machine.hpp"
#include "stub/stack/program/genes.hpp"
#include "stub/stack/text/text.hpp"

namespace ptxgraft::stack {
namespace {

constexpr std::size_t most_values = 4096;  // expressions are walked by recursion

class Rebuilder {
  public:
    Rebuilder(const Graph& graph, const Machine::Data& machine)
        : graph_(graph),
          machine_(machine),
          code_(*machine.code),
          uses_(graph.nodes.size()),
          cells_(uses_.size(), no_cell) {}

    std::optional<Program> rebuild() {
        if (!count_uses()) return std::nullopt;
        const auto assignments = graph_.assignments;
        for (std::size_t k = 0; k < assignments.size(); ++k) {
            const NodeId node = assignments[k].node;
            const TypeId type = machine_.slots[assignments[k].slot].type;
            if (k == 0 || !dups_ || assignments[k - 1].node != node) push(node, type);
            dups_ = k + 1 < assignments.size() && assignments[k + 1].node == node && !is_leaf(node) &&
                    machine_.slots[assignments[k + 1].slot].type == type;
            if (dups_) program_.code.push_back({Opcode::dup, type, 0, 0});
            program_.code.push_back(assignment_to(machine_.slots[assignments[k].slot]));
        }
        if (stored_ > cells_of_a_type) return std::nullopt;
        return std::move(program_);
    }

  private:
    static constexpr std::uint32_t no_cell = 0xFFFFFFFFu, cells_of_a_type = 256;

    const Node& node(NodeId id) const { return graph_.nodes[id]; }
    bool is_leaf(NodeId id) const {
        return node(id).kind == NodeKind::input || node(id).kind == NodeKind::constant ||
               node(id).kind == NodeKind::special;
    }

    // How often each value is read.
    bool count_uses() {
        std::size_t live = 0;
        for (const Assignment& a : graph_.assignments) ++uses_[a.node];
        for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
            const Node& n = node(id);
            if (n.last_use == not_used) continue;
            if (++live > most_values || !is_expression(n)) return false;
            if (n.kind == NodeKind::cast) ++uses_[n.args[0]];
            if (n.kind != NodeKind::form) continue;
            const EntryCode& e = code_.entries[n.entry];
            const auto inputs = code_.inputs_of(e);
            const auto arguments = graph_.arguments(n, e);
            for (std::size_t k = 0; k < inputs.size(); ++k)
                if (!inputs[k].is_immediate) ++uses_[arguments[k]];
        }
        // dead forms with effects count, too
        return std::ranges::none_of(graph_.nodes, [this](const Node& n) {
            return n.kind == NodeKind::form && code_.entries[n.entry].has_effect;
        });
    }
    bool is_expression(const Node& n) const {
        switch (n.kind) {
            case NodeKind::input:
            case NodeKind::constant:
            case NodeKind::cast: return true;
            case NodeKind::special: return !code_.entries[n.entry].is_ordered;
            case NodeKind::form:
                return !code_.entries[n.entry].is_ordered && code_.entries[n.entry].outputs == 1;
            default: return false;
        }
    }

    // Pushes a value on the stack of a type.
    void push(NodeId id, TypeId type) {
        const Node& n = node(id);
        if (cells_[id] != no_cell) {
            program_.code.push_back({Opcode::load, n.type, 0, cells_[id]});
        } else {
            compute(n, id);
            std::uint32_t left = uses_[id] - std::min(uses_[id], 1 + next_to_each_other_);
            next_to_each_other_ = 0;
            if (left != 0 && !is_leaf(id)) {
                cells_[id] = stored_++;
                program_.code.push_back({Opcode::dup, n.type, 0, 0});
                program_.code.push_back({Opcode::store, n.type, 0, cells_[id]});
            }
        }
        if (home_of(id) != type) program_.code.push_back({Opcode::cast, type, home_of(id), 0});
    }
    TypeId home_of(NodeId id) const {
        return node(id).kind == NodeKind::input ? machine_.slots[id].type : node(id).type;
    }

    void compute(const Node& n, NodeId id) {
        const std::uint32_t outer = std::exchange(next_to_each_other_, 0);
        switch (n.kind) {
            case NodeKind::input: program_.code.push_back(input_of(machine_.slots[id])); break;
            case NodeKind::constant:
                program_.code.push_back(
                    constant_instruction(n.type, code_.bases[n.type], n.bits(), program_.pool));
                break;
            case NodeKind::special: program_.code.push_back({Opcode::form, 0, n.entry, 0}); break;
            case NodeKind::cast:
                push(n.args[0], home_of(n.args[0]));
                program_.code.push_back({Opcode::cast, n.type, home_of(n.args[0]), 0});
                break;
            default: form(n); break;
        }
        next_to_each_other_ = outer;
    }

    void form(const Node& n) {
        const EntryCode& e = code_.entries[n.entry];
        const auto inputs = code_.inputs_of(e);
        const auto arguments = graph_.arguments(n, e);
        std::vector<std::uint64_t> immediates;
        for (std::size_t k = 0; k < inputs.size(); ++k) {
            if (inputs[k].is_immediate) {
                immediates.push_back(arguments[k]);
                continue;
            }
            // a copy into a register of an exact type, which the compiler makes by itself
            const auto argument = [&](std::size_t at) {
                const Node& a = node(arguments[at]);
                const bool is_copy =
                    inputs[at].is_exact && inputs[at].stack != type_b8 && a.kind == NodeKind::cast;
                return is_copy ? a.args[0] : arguments[at];
            };
            const NodeId value = argument(k);
            const auto is_same = [&](std::size_t at) {
                return at < inputs.size() && !inputs[at].is_immediate &&
                       inputs[at].stack == inputs[k].stack && argument(at) == value;
            };
            if (k != 0 && is_same(k - 1) && !is_leaf(value)) {
                program_.code.push_back({Opcode::dup, inputs[k].stack, 0, 0});
                continue;
            }
            next_to_each_other_ = 0;
            for (std::size_t next = k + 1; is_same(next); ++next) ++next_to_each_other_;
            push(value, inputs[k].stack);
            next_to_each_other_ = 0;
        }
        Instruction i{Opcode::form, 0, n.entry, 0};
        if (!immediates.empty()) i.payload = static_cast<std::uint32_t>(immediates.back());
        if (immediates.size() > 1) {
            const std::vector<std::uint64_t> row(immediates.rbegin() + 1, immediates.rend());
            i.type = static_cast<TypeId>(PoolPlaces::row(program_.pool, row));
        }
        program_.code.push_back(i);
    }

    const Graph& graph_;
    const Machine::Data& machine_;
    const SetCode& code_;
    std::vector<std::uint32_t> uses_;
    std::vector<std::uint32_t> cells_;  // by node: where it is stored
    std::uint32_t stored_ = 0;
    std::uint32_t next_to_each_other_ = 0;  // further uses of a value that its user makes copies for
    bool dups_ = false;                     // the value of the assignment before lies there once more
    Program program_;
};

}  // namespace

std::optional<Program> rebuild(ProgramView program, const Machine& machine, const CompileOptions& options) {
    GrowingMemory memory;
    const auto graph = make_graph(program, machine, memory, options);
    if (!graph) return std::nullopt;
    return Rebuilder(*graph, MachineData::of(machine)).rebuild();
}

}  // namespace ptxgraft::stack
