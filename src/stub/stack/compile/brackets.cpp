// Brackets: `repeat`, and `if` with its arms, which are both executed and merged.

#include "stub/stack/compile/runner.hpp"

namespace ptxgraft::stack {

// Open brackets are linked through their own places until they are closed.
void match_brackets(std::span<const Instruction> code, std::uint32_t* matches) {
    std::uint32_t open = no_match;
    for (std::uint32_t at = 0; at < code.size(); ++at) {
        switch (code[at].opcode) {
            case Opcode::repeat:
            case Opcode::if_: matches[at] = std::exchange(open, at); break;
            case Opcode::else_:
                matches[at] = no_match;
                if (open == no_match || code[open].opcode != Opcode::if_) break;
                matches[at] = matches[open];  // the `else` stands in for its `if` among the open ones
                matches[open] = at;
                open = at;
                break;
            case Opcode::end: {
                matches[at] = no_match;
                if (open == no_match) break;
                const std::uint32_t begin = open;
                open = matches[begin];
                matches[begin] = at;
                matches[at] = begin;
                break;
            }
            default: break;
        }
    }
    // What is still open is never closed. An `else` among it belongs to an `if` that points to it.
    while (open != no_match) {
        const std::uint32_t next = matches[open];
        matches[open] = no_match;
        open = next;
    }
}

bool Runner::may_nest() {
    const std::uint32_t most = std::min(options_.limits.depth, max_depth);
    if (frame_count_ + calls_ < most) return true;
    error_ = fail(Errc::stack_limit_exceeded,
                  "brackets and routines stand more than " + std::to_string(most) + " deep in each other");
    return false;
}

// The bracket functions move `at` to the last instruction that is done with.
bool Runner::open_repeat(const Scope& scope, std::uint32_t& at) {
    const std::uint32_t end = scope.matches[at];
    if (end == no_match) return false;
    const std::uint32_t rounds = std::min(scope.code[at].payload, max_repeats);
    if (rounds == 0) return at = end, true;
    if (!may_nest()) return false;
    frames_[frame_count_++] = {at, rounds, nullptr, nullptr, no_node, no_node, false};
    return true;
}

bool Runner::open_if(const Scope& scope, std::uint32_t& at) {
    const std::uint32_t next = scope.matches[at];
    if (next == no_match || scope.matches[next] == no_match) return false;  // it has no end
    const bool has_else = scope.code[next].opcode == Opcode::else_;
    constexpr auto pred = static_cast<std::uint32_t>(Type::pred);
    if (room(pred) == 0) {  // neither arm
        const std::uint32_t begin = std::exchange(at, has_else ? scope.matches[next] : next);
        if (miss(scope.code[begin], begin, scope)) return true;
        at = begin;
        return false;
    }
    if (!may_nest()) return false;
    const NodeId condition = pop(pred);
    Frame& frame = frames_[frame_count_++];
    frame = {at, 0, nullptr, nullptr, no_node, no_node, true};
    frame.pred = condition;
    frame.at_begin = save_at_;
    save_at_ = save(save_at_);
    return true;
}

// At the `else`: what the first arm left is kept, and the second begins where the first began.
bool Runner::turn(const Scope& scope, std::uint32_t& at) {
    if (scope.matches[at] == no_match) return false;
    Frame& frame = frames_[frame_count_ - 1];
    frame.first_arm = save_at_;
    save_at_ = save(save_at_);
    restore(frame.at_begin);
    frame.guard = no_node;
    return true;
}

bool Runner::close(const Scope& scope, std::uint32_t& at) {
    if (scope.matches[at] == no_match) return false;
    Frame& frame = frames_[frame_count_ - 1];
    if (!frame.is_if) {
        if (--frame.left != 0)
            at = frame.begin;
        else
            --frame_count_;
        return true;
    }
    const Frame closed = frame;
    --frame_count_;
    save_at_ = closed.at_begin;
    return merge(closed);
}

// Everything that an arm can change: stacks, cells, assignments.
std::uint32_t* Runner::save(std::uint32_t* to) const {
    for (std::uint32_t t = 0; t < types_; ++t) {
        *to++ = room(t);
        to = std::copy(floor_[t], top_[t], to);
    }
    *to++ = cell_count_;
    for (std::uint32_t k = cell_floor_; k < cell_count_; ++k) *to++ = cells_[k].key, *to++ = cells_[k].node;
    return std::copy_n(flow_.values, machine_.slots.size(), to);
}

void Runner::restore(const std::uint32_t* from) {
    for (std::uint32_t t = 0; t < types_; ++t) {
        const std::uint32_t depth = *from++;
        top_[t] = std::copy_n(from, depth, floor_[t]);
        from += depth;
    }
    cell_count_ = *from++;
    for (std::uint32_t k = cell_floor_; k < cell_count_; ++k) cells_[k] = {from[0], from[1]}, from += 2;
    std::copy_n(from, machine_.slots.size(), flow_.values);
}

NodeId Runner::chosen(std::uint32_t type, NodeId pred, NodeId a, NodeId b) {
    if (a == b) return a;
    if (nodes_[pred].kind == NodeKind::constant) return nodes_[pred].args[0] != 0 ? a : b;
    const NodeId node = add(NodeKind::select, static_cast<TypeId>(type));
    nodes_[node].args[0] = pred;
    nodes_[node].args[1] = a;
    nodes_[node].args[2] = b;
    return shared(node);
}

// The arm that just ended stands in the stacks, the other one aside. Without an `else` that is the state
// before the `if`.
bool Runner::merge(const Frame& frame) {
    const bool has_else = frame.first_arm != nullptr;
    const std::uint32_t* other = has_else ? frame.first_arm : frame.at_begin;
    const auto select = [&](std::uint32_t type, NodeId here, NodeId there) {
        return has_else ? chosen(type, frame.pred, there, here) : chosen(type, frame.pred, here, there);
    };
    for (std::uint32_t t = 0; t < types_; ++t) {
        const std::uint32_t depth = *other++;
        const std::uint32_t here = room(t), kept = std::min(depth, here);
        if (must_ && depth != here) {
            error_ = fail(Errc::stack_bracket_wrong,
                          "the arms of this `if` leave " + std::to_string(std::max(depth, here) - kept) +
                              " more " + std::string(machine_.set->type_name(static_cast<TypeId>(t))) +
                              " in one than in the other");
            return false;
        }
        for (std::uint32_t k = 0; k < kept; ++k) floor_[t][k] = select(t, floor_[t][k], other[k]);
        other += depth;
        top_[t] = floor_[t] + kept;
    }
    other = merge_cells(other, select);
    for (std::uint32_t slot = 0; slot < machine_.slots.size(); ++slot)
        if (other[slot] != flow_.values[slot] && !merge_slot(slot, other[slot], select)) return false;
    return true;
}

// A cell that only one arm has filled is empty.
template <class Select> const std::uint32_t* Runner::merge_cells(const std::uint32_t* other, Select select) {
    const std::uint32_t count = *other++ - cell_floor_;
    for (std::uint32_t k = cell_floor_; k < cell_count_; ++k) {
        NodeId there = no_node;
        for (std::uint32_t j = 0; j < count; ++j)
            if (other[2 * j] == cells_[k].key) there = other[2 * j + 1];
        cells_[k].node = there == no_node || cells_[k].node == no_node
                             ? no_node
                             : select(cells_[k].key / cells_per_type, cells_[k].node, there);
    }
    return other + 2 * count;
}

// An operand that only one arm assigns keeps its value in the other.
template <class Select> bool Runner::merge_slot(std::uint32_t slot, NodeId there, Select select) {
    NodeId here = flow_.values[slot];
    const Slot& s = machine_.slots[slot];
    if (s.direction == Direction::out && must_ && (here == no_node || there == no_node)) {
        error_ =
            fail(Errc::stack_output_missing, "`out` operand " + machine_.signature.operands[s.operand].name +
                                                 " is assigned in one arm of this `if` only");
        return false;
    }
    const auto kept = [&] { return s.direction == Direction::out ? constant(s.type, 0) : NodeId{slot}; };
    if (here == no_node) here = kept();
    if (there == no_node) there = kept();
    flow_.values[slot] = select(s.type, here, there);
    return true;
}

// The pred under which the arms that are open are executed; no_node outside of all, never_executed in one
// that a known pred rules out.
NodeId Runner::guard() {
    NodeId all = no_node;
    for (std::uint32_t k = 0; k < frame_count_; ++k) {
        Frame& frame = frames_[k];
        if (!frame.is_if) continue;
        if (nodes_[frame.pred].kind == NodeKind::constant) {
            if ((nodes_[frame.pred].args[0] != 0) != (frame.first_arm == nullptr)) return never_executed;
            continue;
        }
        if (frame.guard == no_node) {
            NodeId arm = frame.pred;
            if (frame.first_arm != nullptr) {
                arm = add(NodeKind::not_, type_id(Type::pred));
                nodes_[arm].args[0] = frame.pred;
            }
            if (all != no_node) {
                const NodeId both = add(NodeKind::and_, type_id(Type::pred));
                nodes_[both].args[0] = all;
                nodes_[both].args[1] = arm;
                arm = both;
            }
            frame.guard = arm;
        }
        all = frame.guard;
    }
    return all;
}

}  // namespace ptxgraft::stack
