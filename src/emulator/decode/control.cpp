// Branches, calls, barriers.
#include <fmt/format.h>

#include <optional>

#include "emulator/decode/decode.hpp"
#include "syntax/constant.hpp"

namespace ptxgraft::emulator {
namespace {

using syntax::Operand;
using syntax::OperandKind;

Expected<Draft> decode_branch(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    const std::uint32_t label = TRY(decoder.label(instruction.operands[0], Symbol::Kind::label));
    return Draft(execute_branch, label);
}

Expected<Draft> decode_branch_index(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    const Ref index = TRY(decoder.input(instruction.operands[0], 4));
    const std::uint32_t table = TRY(decoder.label(instruction.operands[1], Symbol::Kind::table));
    return Draft(execute_branch_index, table).input(index);
}

// A floating constant as an argument, as ptxas passes it: an .f32 is rounded from a double, all else takes
// the bits. Nothing for other constants, and for parameters of fewer bits.
std::optional<std::uint64_t> floating_argument(const Operand& operand,
                                               const Signature::Parameter& parameter) {
    if (!operand.constant() || operand.constant()->is_integer() || parameter.is_array || parameter.bytes < 4)
        return std::nullopt;
    if (parameter.bytes == 4 && parameter.is_floating)
        return syntax::convert(*operand.constant(), syntax::ConstantUse::floating, 32);
    return operand.constant()->bits;
}

// `formal`: the callee's parameters that they are for; null where it is not known.
Expected<std::vector<Slot>> decode_slots(FunctionDecoder& decoder, const Operand& list, bool are_results,
                                         const std::vector<Signature::Parameter>* formal) {
    std::vector<Slot> slots;
    for (const Operand& operand : list.children()) {
        const Signature::Parameter parameter = formal != nullptr && slots.size() < formal->size()
                                                   ? (*formal)[slots.size()]
                                                   : Signature::Parameter{};
        if (parameter.registers > 1 && operand.kind() == OperandKind::immediate)
            return fail(Errc::instruction_not_emulated, operand.span(), "a constant for several registers");
        if (const auto bits = floating_argument(operand, parameter)) {
            slots.push_back({0, 8, decoder.constant(*bits, 8), true});
            continue;
        }
        if (operand.kind() == OperandKind::sink) {
            for (unsigned i = 0; i < parameter.registers; ++i)
                slots.push_back({0, 8, TRY(decoder.output(operand, 8)), true});
            continue;
        }
        const Symbol* symbol =
            operand.kind() == OperandKind::identifier ? decoder.find(operand.text()) : nullptr;
        if (symbol != nullptr && symbol->kind == Symbol::Kind::variable && symbol->frame_relative) {
            slots.push_back({static_cast<std::uint32_t>(symbol->address),
                             static_cast<std::uint32_t>(symbol->bytes), no_ref});
        } else if (symbol != nullptr && symbol->kind == Symbol::Kind::vector) {
            for (std::uint32_t i = 0; i < symbol->count; ++i)
                slots.push_back({0, width(symbol->ref), element(symbol->ref, i)});
        } else {
            const auto reg = decoder.find_register(operand.text());
            const std::uint32_t bytes = reg ? width(*reg) : 8;
            auto ref = TRY(are_results ? decoder.output(operand, bytes) : decoder.input(operand, bytes));
            slots.push_back({0, bytes, ref, !reg});
        }
    }
    return slots;
}

// What a call takes by its function, its prototype or the first of its targets; null: not known.
const Signature* callee_of(const Call& call, const Program& program) {
    if (call.target == no_ref) return &program.functions[call.function].signature;
    if (call.prototype < program.prototypes.size()) return &program.prototypes[call.prototype];
    if (call.targets >= program.call_targets.size() || program.call_targets[call.targets].empty())
        return nullptr;
    return &program.functions[program.call_targets[call.targets].front()].signature;
}

// call{.uni} (returns), target, (arguments) {, targets or prototype}
Expected<Draft> decode_call(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    const auto& operands = instruction.operands;
    const std::size_t target = operands[0].kind() == OperandKind::list ? 1 : 0;
    Call call;
    const std::string_view name = operands[target].text();
    if (const auto reg = decoder.find_register(name)) {
        call.target = *reg;
    } else if (const auto function = decoder.module().find_function(name)) {
        call.function = *function;
    } else {
        return fail(Errc::name_undeclared, operands[target].span(), fmt::format("function {}", name));
    }
    if (operands.size() > target + 1 && operands.back().kind() == OperandKind::identifier)
        if (const Symbol* const symbol = decoder.find(operands.back().text()); symbol != nullptr) {
            const auto number = static_cast<std::uint32_t>(symbol->address);
            if (symbol->kind == Symbol::Kind::prototype) call.prototype = number;
            if (symbol->kind == Symbol::Kind::call_targets) call.targets = number;
        }
    const Signature* const callee = callee_of(call, decoder.program());
    const auto formal = [&](bool are_results) {
        if (callee == nullptr) return static_cast<const std::vector<Signature::Parameter>*>(nullptr);
        return are_results ? &callee->returns : &callee->parameters;
    };
    for (std::size_t i = 0; i < operands.size(); ++i) {
        if (operands[i].kind() != OperandKind::list || (i != 0 && i != target + 1)) continue;
        auto slots = TRY(decode_slots(decoder, operands[i], i < target, formal(i < target)));
        (i < target ? call.returns : call.arguments) = std::move(slots);
    }
    decoder.program().calls.push_back(std::move(call));
    return Draft(execute_call, static_cast<std::uint32_t>(decoder.program().calls.size() - 1));
}

Expected<Draft> decode_warp_barrier(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    const Ref mask = TRY(decoder.input(instruction.operands[0], 4));
    return Draft(execute_collective, decoder.add(CollectiveCall{sync_collective(), 0, mask}));
}

Expected<Draft> decode_cluster_arrive(FunctionDecoder&, const MatchedInstruction& instruction) {
    return Draft(execute_cluster_arrive, instruction.has(".relaxed") ? 1 : 0);
}

Expected<Draft> decode_cluster_wait(FunctionDecoder& decoder, const MatchedInstruction&) {
    return Draft(execute_cluster_wait, decoder.add(Barrier{}));  // where a released warp looks for a result
}

Barrier::Kind kind_of(const MatchedInstruction& instruction) {
    constexpr std::pair<std::string_view, Barrier::Kind> words[] = {{".arrive", Barrier::Kind::arrive},
                                                                    {".popc", Barrier::Kind::popc},
                                                                    {".and", Barrier::Kind::and_},
                                                                    {".or", Barrier::Kind::or_}};
    for (const auto& [word, kind] : words)
        if (instruction.has(word)) return kind;
    return Barrier::Kind::sync;
}

// a {, b}; of .red: d, a {, b}, {!}c
Expected<Draft> decode_barrier(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    MatchedInstruction given = instruction;
    const bool reduces = instruction.has(".red");
    Barrier barrier{.kind = kind_of(instruction),
                    .negated = reduces && take_negation(given.operands.back()),
                    .is_aligned = instruction.opcode == "bar" || instruction.has(".aligned")};
    Draft operands(execute_barrier);
    TRY(decoder.bind(operands, given));
    if (reduces) {
        barrier.destination = operands.refs().front();
        barrier.predicate = operands.take_input();
    }
    const auto inputs = operands.inputs();
    barrier.id = inputs[0];
    if (inputs.size() > 1) barrier.count = inputs[1];
    return Draft(execute_barrier, decoder.add(barrier));
}

constexpr InstructionRow control_instructions[] = {
    {"bra", decode_branch, Shaping::branch},
    {"brx.idx", decode_branch_index},
    {"call", decode_call},
    {"ret", decode_alone<execute_return>, Shaping::plain},
    {"exit", decode_alone<execute_exit>, Shaping::plain},
    {"trap", decode_alone<execute_trap>, Shaping::plain},
    {"brkpt", decode_alone<execute_trap>},
    {"nanosleep", decode_alone<execute_yield>, Shaping::plain},
    {"pmevent", decode_alone<execute_nothing>},
    {"pmevent.mask", decode_alone<execute_nothing>},
    {"griddepcontrol", decode_alone<execute_nothing>},
    {"setmaxnreg.inc", decode_alone<execute_set_registers>},
    {"setmaxnreg.dec", decode_alone<execute_set_registers>},
    {"bar", decode_barrier, Shaping::plain},
    {"bar.arrive", decode_barrier, Shaping::plain},
    {"bar.red", decode_barrier, Shaping::plain},
    {"bar.cta", decode_barrier, Shaping::plain},
    {"bar.cta.arrive", decode_barrier, Shaping::plain},
    {"bar.cta.red", decode_barrier, Shaping::plain},
    {"bar.warp", decode_warp_barrier, Shaping::plain},
    {"barrier", decode_barrier, Shaping::plain},
    {"barrier.arrive", decode_barrier, Shaping::plain},
    {"barrier.red", decode_barrier, Shaping::plain},
    {"barrier.cta", decode_barrier, Shaping::plain},
    {"barrier.cta.arrive", decode_barrier, Shaping::plain},
    {"barrier.cta.red", decode_barrier, Shaping::plain},
    {"barrier.cluster.arrive", decode_cluster_arrive, Shaping::plain},
    {"barrier.cluster.wait", decode_cluster_wait, Shaping::plain},
};

}  // namespace

std::span<const InstructionRow> control_rows() { return control_instructions; }

}  // namespace ptxgraft::emulator
