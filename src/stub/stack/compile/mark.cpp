// Liveness of a graph's nodes, their live ranges, and which values are computed into the registers of
// operands.

#include "stub/stack/compile/runner.hpp"

namespace ptxgraft::stack {

bool takes_literal(const InputCode& input, const Node& constant) {
    if (!input.takes_literal) return false;
    if (input.low == INT64_MIN && input.high == INT64_MAX && input.step == 1) return true;
    const auto value = static_cast<std::int64_t>(constant.bits());
    return value >= input.low && value <= input.high && (value - input.low) % input.step == 0;
}

// A constant is written as a literal where its user takes one, else it is put in a register.
void Runner::use_any(NodeId node, std::uint32_t user, bool takes_literal) {
    use(node, user);
    if (!takes_literal && nodes_[node].kind == NodeKind::constant) nodes_[node].target = 0;
}

void Runner::mark_form(const Node& n, NodeId id) {
    const EntryCode& e = entries_[n.entry];
    if (e.is_plain) {
        for (std::uint32_t k = 0; k < e.inputs; ++k)
            use_any(n.args[k], id, takes_literal(e, k, nodes_[n.args[k]]));
        return;
    }
    const std::uint32_t* const arguments = e.is_inline ? n.args : extra_ + n.args[0] + 1;
    if (!e.is_inline && arguments[-1] != no_node) use(arguments[-1], id);
    const auto inputs = code_.inputs_of(e);
    for (std::uint32_t k = 0; k < e.inputs; ++k)
        if (!inputs[k].is_immediate)
            use_any(arguments[k], id, takes_literal(inputs[k], nodes_[arguments[k]]));
}

// Walks from the last node to the first, so that the first use that it sees ends the live range.
void Runner::mark() {
    for (std::uint32_t k = 0; k < assignment_count_; ++k) use_any(assignments_[k].node, to_the_end, true);
    NodeId* live = flow_.live;
    for (NodeId id = count_; id-- > static_cast<NodeId>(machine_.slots.size());) {
        Node& n = nodes_[id];
        if (n.last_use == not_used) {
            if (n.kind != NodeKind::form || !entries_[n.entry].has_effect ||
                extra_[n.args[0]] == never_executed)
                continue;
            n.last_use = id;
        }
        *live++ = id;
        switch (n.kind) {
            case NodeKind::form: mark_form(n, id); break;
            case NodeKind::result:
                use(n.args[0], id);
                --live;
                break;
            case NodeKind::cast:
            case NodeKind::not_: use_any(n.args[0], id, false); break;
            case NodeKind::and_: use_any(n.args[0], id, false), use_any(n.args[1], id, false); break;
            case NodeKind::select: {
                const bool literal = !info_of(code_.classes[n.type]).select.empty();
                use_any(n.args[0], id, false), use_any(n.args[1], id, literal),
                    use_any(n.args[2], id, literal);
                break;
            }
            case NodeKind::constant:
                flow_.name_of[id] = flow_.names + id;
                name_constant(flow_.names[id], static_cast<Type>(code_.bases[n.type]), n.bits());
                // what is loaded is loaded into a register
                if (options_.constants == Constants::data && may_be_data(n, code_)) n.target = 0;
                if (n.target == no_node) --live;
                break;
            case NodeKind::input:
            case NodeKind::special: break;
        }
    }
    flow_.live_count = static_cast<std::uint32_t>(live - flow_.live);
}

// Coalesces the final moves: a value that an operand receives is computed into its register at once where the
// live range of the old value has ended.
void Runner::choose_targets() {
    for (std::uint32_t k = 0; k < assignment_count_; ++k) {
        const auto [index, id] = assignments_[k];
        Node& n = nodes_[id];
        if (n.kind == NodeKind::input || n.kind == NodeKind::constant || n.target != no_node) continue;
        if (is_half(code_.bases[n.type]) && is_integer(machine_.slots[index].declared)) continue;
        const std::uint32_t last_read = nodes_[index].last_use;
        if (last_read != not_used && last_read > id) continue;
        if (n.kind == NodeKind::form) {
            const EntryCode& e = entries_[n.entry];
            if (e.exact_output && static_cast<std::uint8_t>(e.entry->form->operands[0].type) !=
                                      static_cast<std::uint8_t>(machine_.slots[index].declared))
                continue;
            // under a guard its register is made zero first
            if (!e.is_inline && extra_[n.args[0]] != no_node) continue;
        } else if (n.kind == NodeKind::result) {
            continue;
        }
        n.target = index;
    }
}

}  // namespace ptxgraft::stack
