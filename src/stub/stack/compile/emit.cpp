// Writes the live nodes of a graph in program order, then the assignments as a parallel copy.

#include <algorithm>
#include <cstring>
#include <initializer_list>

#include "stub/stack/compile/constant_name.hpp"
#include "stub/stack/compile/registers.hpp"
#include "stub/stack/compile/run.hpp"
#include "stub/stack/compile/writer.hpp"

namespace ptxgraft::stack {
namespace {

class Emitter {
  public:
    Emitter(Dataflow& flow, const Machine::Data& machine, Arena& arena)
        : flow_(flow),
          machine_(machine),
          code_(*machine.code),
          entries_(code_.entries.data()),
          nodes_(flow.graph.nodes.data()),
          names_(flow.names),
          name_of_(flow.name_of),
          moves_(arena.take<SlotMove>(machine.slots.size() + 1)),
          ready_(arena.take<std::uint32_t>(machine.slots.size() + 1)),
          text_(reinterpret_cast<char*>(arena.rest().data())),
          registers_(machine) {}

    std::string_view emit();
    std::uint32_t instructions = 0;

  private:
    // Writers go by value: they stay in a register, where no store through a char* can reach them.
    Writer node(Writer out, NodeId id);
    Writer plain(Writer out, NodeId id, const EntryCode& e);
    Writer general(Writer out, NodeId id, const EntryCode& e);
    Writer zeros(Writer out, NodeId id, const EntryCode& e);
    Writer operands(Writer out, NodeId id, const EntryCode& e);
    Writer special(Writer out, NodeId id);
    Writer constant(Writer out, NodeId id);
    Writer loaded(Writer out, NodeId id);
    Writer select(Writer out, NodeId id);
    Writer select_pred(Writer out, NodeId id);
    Writer select_in_parts(Writer out, NodeId id);

    RegisterClass class_of(const Node& n) const { return code_.classes[n.type]; }
    void take_register(NodeId id, RegisterClass c);
    Writer destination(Writer out, NodeId id);
    // A value as an argument.
    Writer value(Writer out, NodeId id, bool as_literal);
    static Writer name(Writer out, const Name& n) { return write_name(out, n); }
    Writer long_name(Writer out, NodeId id);
    Writer literal(Writer out, const Node& n);
    Writer op(Writer out, std::string_view opcode) {
        ++instructions;
        return write_opcode(out, opcode);
    }
    // `op d, a, b;`
    Writer whole(Writer out, std::string_view opcode, NodeId id, std::initializer_list<NodeId> arguments,
                 bool as_literals = false) {
        out = destination(op(out, opcode), id);
        for (const NodeId argument : arguments) out = value(comma(out), argument, as_literals);
        return end(out);
    }
    static Writer comma(Writer out) {
        out.text(", ");
        return out;
    }
    static Writer end(Writer out) {
        out.text(";\n");
        return out;
    }

    // --- the parallel copy
    Writer slot(Writer out, std::uint32_t s) {
        out.text(machine_.slots[s].name);
        return out;
    }
    Writer move_of(Writer out, RegisterClass c) { return op(out, info_of(c).move); }
    std::uint32_t sort_moves();
    Writer operand_moves(Writer out, std::uint32_t waiting);
    Writer open_cycle(Writer out, std::uint32_t s);
    Writer move(Writer out, std::uint32_t s);

    Dataflow& flow_;
    const Machine::Data& machine_;
    const SetCode& code_;
    const EntryCode* const entries_;
    Node* const nodes_;
    Name* const names_;
    const Name** const name_of_;
    SlotMove* const moves_;
    std::uint32_t* const ready_;
    char* const text_;
    Registers registers_;
};

// ---- registers and values ---------------------------------------------------------------------------------

inline void Emitter::take_register(NodeId id, RegisterClass c) {
    const std::uint32_t target = nodes_[id].target;
    if (target != no_node) {
        name_of_[id] = machine_.names.data() + target;
        return;
    }
    name_of_[id] = registers_.next(c, names_[id]);
}

inline Writer Emitter::destination(Writer out, NodeId id) {
    take_register(id, class_of(nodes_[id]));
    return value(out, id, false);
}

// An operand's name that is not short, or a constant's literal.
Writer Emitter::long_name(Writer out, NodeId id) {
    const Node& n = nodes_[id];
    if (n.kind == NodeKind::constant) return literal(out, n);
    return slot(out, n.kind == NodeKind::input ? n.args[0] : n.target);
}

// 64 bits that are not small.
Writer Emitter::literal(Writer out, const Node& n) {
    out.text(class_of(n) == RegisterClass::e ? "0d" : "0x");
    out.hexadecimal(n.bits());
    return out;
}

Writer Emitter::value(Writer out, NodeId id, bool as_literal) {
    const Node& n = nodes_[id];
    if (n.kind == NodeKind::constant && !as_literal) {  // its own name is its literal
        out = name(out, machine_.stems[index_of(class_of(n))]);
        out.number(n.args[2]);
        return out;
    }
    return name_of_[id]->length != Name::is_long ? name(out, *name_of_[id]) : long_name(out, id);
}

// ---- instructions -----------------------------------------------------------------------------------------

// `op d, a, b;`
Writer Emitter::plain(Writer out, NodeId id, const EntryCode& e) {
    const Node& n = nodes_[id];
    out.text(e.text_length != 0 ? std::string_view(e.text, e.text_length) : e.long_text);
    out = value(out, id, false);
    for (std::uint32_t k = 0; k < e.inputs; ++k) {
        const bool as_literal = (e.ranged >> k & 1) == 0
                                    ? (e.literals >> k & 1) != 0
                                    : takes_literal(code_.inputs_of(e)[k], nodes_[n.args[k]]);
        out = value(comma(out), n.args[k], as_literal);
    }
    return end(out);
}

Writer Emitter::general(Writer out, NodeId id, const EntryCode& e) {
    const NodeId guard = e.is_inline ? no_node : flow_.graph.extra[nodes_[id].args[0]];
    for (std::uint32_t k = 0; k < e.outputs; ++k) take_register(id + k, class_of(nodes_[id + k]));
    if (guard != no_node) out = zeros(out, id, e);
    std::string_view text = e.text_length != 0 ? std::string_view(e.text, e.text_length) : e.long_text;
    if (guard != no_node) {
        out.text("\t@");
        out = value(out, guard, false);
        out.text(" ");
        text.remove_prefix(1);
    }
    out.text(text);
    return end(operands(out, id, e));
}

// Results that stay unwritten where the guard is false.
Writer Emitter::zeros(Writer out, NodeId id, const EntryCode& e) {
    for (std::uint32_t k = 0; k < e.outputs; ++k) {
        const RegisterClass c = class_of(nodes_[id + k]);
        if (c == RegisterClass::b || c == RegisterClass::q) continue;
        out = comma(value(move_of(out, c), id + k, false));
        out.text(c == RegisterClass::f ? "0f00000000" : c == RegisterClass::e ? "0d0000000000000000" : "0");
        out = end(out);
    }
    return out;
}

// In the order of PTX: results, arguments, braces around vectors, brackets around addresses.
Writer Emitter::operands(Writer out, NodeId id, const EntryCode& e) {
    const Node& n = nodes_[id];
    const std::uint32_t* argument = e.is_inline ? n.args : flow_.graph.extra.data() + n.args[0] + 1;
    const InputCode* input = code_.inputs_of(e).data();
    NodeId result = id;
    bool is_first = true;
    for (const isa::OperandSpec& spec : e.entry->form->operands) {
        if (!is_first) out.text(spec.is_second ? std::string_view("|") : std::string_view(", "));
        is_first = false;
        if (spec.is_vector) out.text("{");
        if (spec.is_address) out.text("[");
        for (std::uint32_t element = 0; element < spec.count; ++element) {
            if (element != 0) out.text(", ");
            if (spec.is_output) {
                out = value(out, result++, false);
                continue;
            }
            if (!input->is_immediate)
                out = value(out, *argument, takes_literal(*input, nodes_[*argument]));
            else if (input->low < 0)
                out.integer(static_cast<std::int32_t>(*argument));
            else
                out.number(*argument);
            ++argument;
            ++input;
        }
        if (spec.is_address) out.text("]");
        if (spec.is_vector) out.text("}");
    }
    return out;
}

Writer Emitter::special(Writer out, NodeId id) {
    out = comma(destination(op(out, info_of(class_of(nodes_[id])).move_special), id));
    out.text(entries_[nodes_[id].entry].entry->special);
    return end(out);
}

// `ld.const.f32 %f0, [ptxgraft_constants+8];`
Writer Emitter::loaded(Writer out, NodeId id) {
    Node& n = nodes_[id];
    ++instructions;
    out.text("\tld.const");
    out.text(info_of(class_of(n)).declared);
    out.text(" ");
    name_of_[id] = registers_.next(class_of(n), names_[id]);
    out = comma(name(out, *name_of_[id]));
    out.text(constant_place);
    out.number(constant_bytes * flow_.constant_count);
    out.text("];\n");
    flow_.constants[flow_.constant_count++] = n.bits();
    n.kind = NodeKind::cast;  // from here on it is a value of ours
    n.target = no_node;
    return out;
}

// In a register, for those that take no literal.
Writer Emitter::constant(Writer out, NodeId id) {
    Node& n = nodes_[id];
    if (flow_.constants != nullptr && may_be_data(n, code_)) return loaded(out, id);
    const RegisterClass c = class_of(n);
    out = move_of(out, c);
    n.args[2] = registers_.count(c);
    out = comma(name(out, registers_.next(c)));
    return end(value(out, id, true));
}

Writer Emitter::select(Writer out, NodeId id) {
    const Node& n = nodes_[id];
    const std::string_view opcode = info_of(class_of(n)).select;
    if (opcode.empty())
        return class_of(n) == RegisterClass::p ? select_pred(out, id) : select_in_parts(out, id);
    return whole(out, opcode, id, {n.args[1], n.args[2], n.args[0]}, true);
}

// p ? a : b of preds: (a and p) or (b and not p)
Writer Emitter::select_pred(Writer out, NodeId id) {
    const Node& n = nodes_[id];
    const Name first = registers_.next(RegisterClass::p), second = registers_.next(RegisterClass::p);
    out = comma(name(op(out, "and.pred"), first));
    out = end(value(comma(value(out, n.args[1], false)), n.args[0], false));
    out = comma(name(op(out, "not.pred"), second));
    out = end(value(out, n.args[0], false));
    out = comma(name(comma(name(op(out, "and.pred"), second)), second));
    out = end(value(out, n.args[2], false));
    out = comma(destination(op(out, "or.pred"), id));
    return end(name(comma(name(out, first)), second));
}

// Types without a selp: .b8 by way of .b32, .b128 by its halves.
Writer Emitter::select_in_parts(Writer out, NodeId id) {
    const Node& n = nodes_[id];
    const bool is_byte = class_of(n) == RegisterClass::b;
    const RegisterClass part = is_byte ? RegisterClass::r : RegisterClass::d;
    Name parts[4];
    for (Name& p : parts) p = registers_.next(part);
    const auto pair = [&](Writer w, const Name& low, const Name& high) {
        w.text("{");
        w = name(comma(name(w, low)), high);
        w.text("}");
        return w;
    };
    for (std::size_t k = 0; k < 2; ++k) {
        out = op(out, is_byte ? "cvt.u32.u8" : "mov.b128");
        out = comma(is_byte ? name(out, parts[k]) : pair(out, parts[2 * k], parts[2 * k + 1]));
        out = end(value(out, n.args[1 + k], false));
    }
    for (std::size_t k = 0; k < (is_byte ? 1u : 2u); ++k) {
        out = comma(name(op(out, is_byte ? "selp.b32" : "selp.b64"), parts[k]));
        out = comma(name(comma(name(out, parts[k])), parts[is_byte ? 1 : 2 + k]));
        out = end(value(out, n.args[0], false));
    }
    out = comma(destination(op(out, is_byte ? "cvt.u8.u32" : "mov.b128"), id));
    return end(is_byte ? name(out, parts[0]) : pair(out, parts[0], parts[1]));
}

Writer Emitter::node(Writer out, NodeId id) {
    const Node& n = nodes_[id];
    switch (n.kind) {
        case NodeKind::form: {
            const EntryCode& e = entries_[n.entry];
            ++instructions;
            if (!e.is_plain) return general(out, id, e);
            take_register(id, e.register_class);
            return plain(out, id, e);
        }
        case NodeKind::constant: return constant(out, id);
        case NodeKind::special: return special(out, id);
        case NodeKind::cast: return whole(out, info_of(class_of(n)).move_bits, id, {n.args[0]});
        case NodeKind::select: return select(out, id);
        case NodeKind::not_: return whole(out, "not.pred", id, {n.args[0]});
        case NodeKind::and_: return whole(out, "and.pred", id, {n.args[0], n.args[1]});
        default: return out;  // inputs, and results, which stand with their form
    }
}

// ---- the parallel copy ------------------------------------------------------------------------------------

Writer Emitter::move(Writer out, std::uint32_t s) {
    out = comma(slot(move_of(out, machine_.slots[s].register_class), s));
    return end(value(out, flow_.values[s], true));
}

// Sorts the assignments: what is in place already, what is copied from operands, what comes from other
// values.
std::uint32_t Emitter::sort_moves() {
    std::uint32_t waiting = 0;
    std::fill_n(moves_, machine_.slots.size(), SlotMove{Move::done, 0});
    for (const auto& [s, id] : flow_.graph.assignments) {
        const Node& n = nodes_[id];
        const bool from_operand = n.kind == NodeKind::input;
        if (from_operand ? n.args[0] == s : n.target == s && n.kind != NodeKind::constant) continue;
        moves_[s].move = from_operand ? Move::from_operand : Move::from_value;
        if (from_operand) ++moves_[n.args[0]].readers, ++waiting;
    }
    return waiting;
}

// Saves an operand that the other moves of its cycle would overwrite; the move that reads it reads the copy.
Writer Emitter::open_cycle(Writer out, std::uint32_t s) {
    const NodeId id = s;  // the node of a slot has its number
    Node& n = nodes_[id];
    const Name copy = registers_.next(class_of(n));
    out = comma(name(move_of(out, class_of(n)), copy));
    out = end(slot(out, s));
    names_[id] = copy;
    name_of_[id] = names_ + id;
    n.kind = NodeKind::cast;  // from here on it is a value of ours
    moves_[s].readers = 0;
    return out;
}

// A move is emitted once nobody has to read its destination any more; where only cycles are left, one is
// opened.
Writer Emitter::operand_moves(Writer out, std::uint32_t waiting) {
    const auto assignments = flow_.graph.assignments;
    std::uint32_t queued = 0;
    std::size_t cycle = 0;
    for (const auto& [s, id] : assignments)
        if (moves_[s].move == Move::from_operand && moves_[s].readers == 0) ready_[queued++] = s;
    for (; waiting != 0; --waiting) {
        if (queued == 0) {
            while (moves_[assignments[cycle].slot].move != Move::from_operand) ++cycle;
            ready_[queued++] = assignments[cycle].slot;
            out = open_cycle(out, ready_[0]);
        }
        const std::uint32_t to = ready_[--queued];
        const Node& n = nodes_[flow_.values[to]];
        out = move(out, to);
        moves_[to].move = Move::done;
        if (n.kind != NodeKind::input) continue;
        const std::uint32_t from = n.args[0];
        if (--moves_[from].readers == 0 && moves_[from].move == Move::from_operand) ready_[queued++] = from;
    }
    return out;
}

std::string_view Emitter::emit() {
    char* begin = text_ + header_room;
    Writer out(begin);
    for (std::uint32_t k = flow_.live_count; k-- > 0;) out = node(out, flow_.live[k]);
    out = operand_moves(out, sort_moves());
    for (const auto& [s, id] : flow_.graph.assignments)
        if (moves_[s].move == Move::from_value) out = move(out, s);
    return registers_.enclose(begin, out);
}

}  // namespace

std::string_view emit(Dataflow& flow, const Machine::Data& machine, Arena& arena,
                      std::uint32_t& instruction_count) {
    Emitter emitter(flow, machine, arena);
    const std::string_view text = emitter.emit();
    instruction_count = emitter.instructions;
    return text;
}

}  // namespace ptxgraft::stack
