// Nodes to instructions: one pass in their order, which is that of the stack machine.

#include <fmt/format.h>

#include <bit>

#include "stub/expr/tree.hpp"
#include "stub/number.hpp"
#include "stub/stack/compile/machine.hpp"

namespace ptxgraft::expr {
namespace {

using stack::Instruction;
using stack::Opcode;

class Emitter {
  public:
    Emitter(std::string_view text, const Scope& scope, const ExpressionOptions& options, Workspace& work)
        : text_(text),
          scope_(scope),
          options_(options),
          work_(work),
          present_(scope.machine ? stack::MachineData::of(*scope.machine).present->data() : nullptr) {}

    std::optional<Error> run() {
        work_.code.clear();
        work_.pool.clear();
        work_.places.clear();
        constexpr std::size_t for_one = 4;  // most nodes are one instruction
        work_.code.reserve(for_one + work_.nodes.size());
        work_.places.reserve(for_one + work_.nodes.size());
        for (const Node& node : work_.nodes)
            if (!visit(node)) return error_;
        scope_.machine != nullptr ? assign_operands() : leave_result();
        return error_;
    }

  private:
    bool visit(const Node& node);
    bool literal(const Node& node);
    bool value(const Node& node);
    bool load(const Node& node);
    bool cast(Type from, Type to, Span place);
    bool to_pred(Type from, Span place);
    bool operate(const Node& node);
    bool fused(const Node& node);
    bool call(Op op, Type type, Span place);
    bool check(const Node& node, Op op, Type type);
    bool splice(const Definition& definition, Span place);
    bool form(std::int32_t entry, Span place);
    void constant(Type type, std::uint64_t bits, Span place);
    std::uint32_t pooled(std::uint64_t bits);
    void assign_operands();
    void leave_result();
    bool not_present(std::int32_t entry, Span place);

    void push(Opcode opcode, Type type, std::uint32_t index, std::uint32_t payload, Span place) {
        work_.code.push_back(
            {opcode, static_cast<stack::TypeId>(type), static_cast<std::uint16_t>(index), payload});
        work_.places.push_back(place);
    }
    bool fail_at(Errc code, Span place, std::string detail) {
        if (!error_) error_ = fail(code, place, std::move(detail)).value();
        return false;
    }
    [[nodiscard]] Type type_of_node(std::uint32_t node) const {
        return static_cast<Type>(work_.nodes[node].type);
    }
    std::uint32_t& height(Type type) { return heights_[static_cast<std::size_t>(type)]; }
    [[nodiscard]] std::string quoted(Span span) const { return expr::quoted(text_, span); }

    std::string_view text_;
    const Scope& scope_;
    const ExpressionOptions& options_;
    Workspace& work_;
    const Entries& entries_ = entries();
    const stack::Present* present_;  ///< by entry; null: all are there
    std::array<std::uint32_t, type_count> heights_{};
    std::optional<Error> error_;
};

bool Emitter::visit(const Node& node) {
    const Type type = static_cast<Type>(node.type);
    switch (node.op) {
        case Op::elided: return true;
        case Op::literal: ++height(type); return literal(node);
        case Op::value: return value(node);
        case Op::input:
            push(Opcode::input, {}, node.a, node.b, node.span);
            ++height(type);
            return true;
        case Op::special: ++height(type); return form(static_cast<std::int32_t>(node.a), node.span);
        case Op::keep:
            if (node.a < scope_.parameters.size()) ++height(type);  // it is there already
            work_.values[node.a].position = height(type) - 1;
            return true;
        case Op::if_:
            if (!node.is_branch) return true;
            --height(Type::pred);
            push(Opcode::if_, {}, 0, 0, node.span);
            return true;
        case Op::else_:
            if (!node.is_branch) return true;
            --height(type);
            push(Opcode::else_, {}, 0, 0, node.span);
            return true;
        default: break;
    }
    if (node.op == Op::select && node.is_branch) {
        push(Opcode::end, {}, 0, 0, node.span);
        return true;
    }
    for (const std::uint32_t operand : {node.a, node.b, node.c})
        if (operand != none && !(node.is_fixed && node.op == Op::load && operand == node.b))
            --height(type_of_node(operand));
    ++height(type);
    if (node.op == Op::load) return load(node);
    if (node.op == Op::cast) return cast(type_of_node(node.a), type, node.span);
    if (node.op == Op::bits) {
        push(Opcode::cast, type, static_cast<std::uint32_t>(type_of_node(node.a)), 0, node.span);
        return true;
    }
    return operate(node);
}

bool Emitter::literal(const Node& node) {
    const Type type = static_cast<Type>(node.type);
    const Literal& literal = work_.literals[node.a];
    if (type == Type::pred) {
        constant(type, literal.magnitude, node.span);
        return true;
    }
    const LiteralBits found = bits_of(literal, type);
    if (found.problem == nullptr) {
        constant(type, found.bits, node.span);
        return true;
    }
    const std::string hint = type == Type::s32 ? "; a suffix gives it another type, as in 7u32 or 7s64" : "";
    return fail_at(Errc::expression_literal_wrong, node.span,
                   fmt::format("{} {} for {}{}", quoted(node.span), found.problem, name(type), hint));
}

void Emitter::constant(Type type, std::uint64_t value, Span place) {
    if (const auto payload = stack::payload_of(value, stack::type_id(type)))
        push(Opcode::constant, type, 0, *payload, place);
    else
        push(Opcode::pooled, type, 0, pooled(value), place);
}

std::uint32_t Emitter::pooled(std::uint64_t value) {
    constexpr std::size_t looked_at = 32;
    const std::size_t size = work_.pool.size();
    for (std::size_t i = size > looked_at ? size - looked_at : 0; i < size; ++i)
        if (work_.pool[i] == value) return static_cast<std::uint32_t>(i);
    work_.pool.push_back(value);
    return static_cast<std::uint32_t>(size);
}

bool Emitter::value(const Node& node) {
    const Type type = static_cast<Type>(node.type);
    const std::uint32_t depth = height(type) - 1 - work_.values[node.a].position;
    depth == 0 ? push(Opcode::dup, type, 0, 0, node.span) : push(Opcode::yank_dup, type, 0, depth, node.span);
    ++height(type);
    return true;
}

// address + index * size: the index is widened by its sign.
bool Emitter::load(const Node& node) {
    const Type type = static_cast<Type>(node.type);
    const auto size = static_cast<std::uint32_t>(std::countr_zero(bits(type) / 8));
    if (node.is_fixed) {
        const Literal& index = work_.literals[work_.nodes[node.b].a];
        const std::uint64_t offset = (index.is_negative ? 0 - index.magnitude : index.magnitude) << size;
        if (offset != 0) {
            constant(Type::u64, offset, node.span);
            if (!call(Op::add, Type::u64, node.span)) return false;
        }
        return form(entries_.loads[static_cast<std::size_t>(type)], node.span);
    }
    const Type index = type_of_node(node.b);
    if (bits(index) == 32) {
        constant(index, std::uint64_t{1} << size, node.span);
        if (!form(index == Type::s32 ? entries_.index_s32 : entries_.index_u32, node.span)) return false;
    } else {
        if (index == Type::s64)
            push(Opcode::cast, Type::u64, static_cast<std::uint32_t>(index), 0, node.span);
        if (size != 0) {
            constant(Type::u32, size, node.span);
            if (!call(Op::shl, Type::u64, node.span)) return false;
        }
        if (!call(Op::add, Type::u64, node.span)) return false;
    }
    return form(entries_.loads[static_cast<std::size_t>(type)], node.span);
}

bool Emitter::to_pred(Type from, Span place) {
    constant(from, 0, place);
    return call(Op::ne, from, place);
}

bool Emitter::cast(Type from, Type to, Span place) {
    if (from == to) return true;
    if (to == Type::pred && !has(pair_types, from)) return to_pred(from, place);
    if (from == Type::pred && !has(pair_types, to)) {
        Literal one{};
        one.magnitude = 1;
        constant(to, bits_of(one, to).bits, place);
        constant(to, 0, place);
        return call(Op::select, to, place);
    }
    if (has(pair_types, from) || has(pair_types, to))
        return fail_at(Errc::expression_type_wrong, place,
                       fmt::format("there is no cast from {} to {}; bits(x) gives the bits of a pair",
                                   name(from), name(to)));
    const bool are_integers = has(integer_types, from) && has(integer_types, to);
    if (are_integers && bits(from) == bits(to)) {
        push(Opcode::cast, to, static_cast<std::uint32_t>(from), 0, place);
        return true;
    }
    const std::int16_t entry = entries_.casts[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
    if (entry != Entries::none) return form(entry, place);
    if (has_definition(Op::to_bf16, from) && to == Type::bf16) return call(Op::to_bf16, from, place);
    return cast(from, Type::f32, place) && cast(Type::f32, to, place);
}

bool Emitter::operate(const Node& node) {
    if (node.op == Op::fma && (node.is_branch || node.is_fixed)) return fused(node);
    Type type = type_of_node(node.op == Op::select ? node.b : node.a);
    if (node.op == Op::shl || node.op == Op::shr) {
        const Type count = type_of_node(node.b);
        if (count == Type::s32)
            push(Opcode::cast, Type::u32, static_cast<std::uint32_t>(count), 0, node.span);
        else if (count != Type::u32)
            return fail_at(Errc::expression_type_wrong, work_.nodes[node.b].span,
                           fmt::format("the count of a shift is u32 or s32, this is {}: write u32({})",
                                       name(count), quoted(work_.nodes[node.b].span)));
    }
    Op op = node.op;
    if (options_.approx && has(entries_.types[static_cast<std::size_t>(approximate(op))], type))
        op = approximate(op);
    return check(node, op, type) && call(op, type, node.span);
}

bool Emitter::check(const Node& node, Op op, Type type) {
    if (!has(entries_.types[static_cast<std::size_t>(op)], type)) {
        error_ = untaken(text_, op, work_.nodes[node.op == Op::select ? node.b : node.a], type);
        return false;
    }
    if ((op == Op::div || op == Op::rem) && has(integer_types, type)) {
        const Node& divisor = work_.nodes[node.b];
        if (divisor.op == Op::literal && work_.literals[divisor.a].magnitude == 0)
            return fail_at(Errc::expression_literal_wrong, divisor.span,
                           "an integer divided by 0 has no value");
    }
    constexpr std::uint32_t bf16_since = 80;
    if (has(only(Type::bf16) | only(Type::bf16x2), type) && op != Op::select && options_.target.sm != 0 &&
        options_.target.sm < bf16_since)
        return fail_at(
            Errc::expression_target_not_able, node.span,
            fmt::format("arithmetic of {} needs sm_80; the target is sm_{}", name(type), options_.target.sm));
    return true;
}

// A sum of a product: a b c on the stack, or c a b.
bool Emitter::fused(const Node& node) {
    const Type type = static_cast<Type>(node.type);
    if (node.is_branch && !call(Op::neg, type, node.span)) return false;
    if (node.is_fixed) push(Opcode::rotate, type, 0, 0, node.span);
    return call(Op::fma, type, node.span);
}

bool Emitter::call(Op op, Type type, Span place) {
    const Entries::Row& row = entries_.rows[static_cast<std::size_t>(op)];
    const auto t = static_cast<std::size_t>(type);
    const std::int16_t entry = options_.ftz ? row.ftz[t] : row.plain[t];
    if (entry != Entries::none && options_.target.sm >= row.since[t]) return form(entry, place);
    const Definition* definition = expr::definition(op, type);
    if (definition != nullptr) return splice(*definition, place);
    if (entry != Entries::none) return form(entry, place);
    return fail_at(Errc::expression_type_wrong, place,
                   fmt::format("{} does not take {}", spelling(op), name(type)));
}

bool Emitter::splice(const Definition& definition, Span place) {
    for (Instruction instruction : definition.code) {
        if (instruction.opcode == Opcode::form && present_ != nullptr &&
            present_[instruction.index] == stack::Present::no)
            return not_present(instruction.index, place);
        if (instruction.opcode == Opcode::pooled)
            instruction.payload = pooled(definition.pool[instruction.payload]);
        work_.code.push_back(instruction);
        work_.places.push_back(place);
    }
    return true;
}

bool Emitter::form(std::int32_t entry, Span place) {
    if (entry < 0)
        return fail_at(Errc::expression_machine_wrong, place,
                       "the expression set lacks an instruction for this");
    if (present_ != nullptr && present_[entry] == stack::Present::no) return not_present(entry, place);
    push(Opcode::form, {}, static_cast<std::uint32_t>(entry), 0, place);
    return true;
}

bool Emitter::not_present(std::int32_t entry, Span place) {
    const stack::Entry& e = scope_.machine->set().entries()[static_cast<std::size_t>(entry)];
    if (e.effects != Effect::none)
        return fail_at(
            Errc::stub_effect_forbidden, place,
            fmt::format("{} reads memory, and the site does not allow `{}`", quoted(place), name(e.effects)));
    return fail_at(Errc::expression_target_not_able, place,
                   fmt::format("{} needs {}, which the target does not have", quoted(place), e.name));
}

// Values stand on the stacks in the order of their making: from the last on, what an operand receives is
// assigned, the rest dropped.
void Emitter::assign_operands() {
    for (std::uint32_t i = static_cast<std::uint32_t>(work_.values.size()); i-- > 0;) {
        const Value& value = work_.values[i];
        const Symbol& symbol = work_.symbols[value.symbol];
        const bool is_result =
            symbol.operand != none && work_.current[symbol.first_slot + value.element] == i;
        if (is_result)
            push(Opcode::assign, {}, symbol.operand, value.element, value.target);
        else
            push(Opcode::drop, type_of_node(value.node), 0, 0, value.target);
    }
}

// The last value takes the place of the first on its stack; the others go.
void Emitter::leave_result() {
    const Type type = type_of_node(work_.values.back().node);
    for (std::size_t t = 0; t < type_count; ++t) {
        const auto stack = static_cast<Type>(t);
        std::uint32_t left = heights_[t];
        if (stack == type && left > 1)
            left == 2 ? push(Opcode::swap, stack, 0, 0, {}) : push(Opcode::swap_with, stack, 0, left - 1, {});
        for (left -= stack == type ? 1 : 0; left > 0; --left) push(Opcode::drop, stack, 0, 0, {});
    }
}

}  // namespace

std::optional<Error> emit(std::string_view text, const Scope& scope, const ExpressionOptions& options,
                          Workspace& work) {
    return Emitter(text, scope, options, work).run();
}

}  // namespace ptxgraft::expr
