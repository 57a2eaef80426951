// Branches, calls, barriers.
#include <fmt/format.h>

#include "base/try.hpp"
#include "emulator/decode/decode.hpp"

namespace ptxgraft::emulator {
namespace {

using syntax::Instruction;
using syntax::Operand;
using syntax::OperandKind;

Expected<Draft> decode_branch(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    words.take(".uni");
    if (!words.empty()) return decoder.missing(instruction);
    auto label = TRY(decoder.label(instruction.operands[0], Symbol::Kind::label));
    return Draft(execute_branch, label);
}

Expected<Draft> decode_branch_index(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    words.take(".uni");
    if (!words.take(".idx") || !words.empty() || instruction.operands.size() != 2)
        return decoder.missing(instruction);
    auto index = decoder.input(instruction.operands[0], 4);
    auto table = decoder.label(instruction.operands[1], Symbol::Kind::table);
    if (!index) return tl::unexpected<Error>(index.error());
    if (!table) return tl::unexpected<Error>(table.error());
    return Draft(execute_branch_index, *table).input(*index);
}

Expected<std::vector<Slot>> decode_slots(FunctionDecoder& decoder, const Operand& list, bool are_results) {
    std::vector<Slot> slots;
    for (const Operand& operand : list.children()) {
        const Symbol* symbol =
            operand.kind() == OperandKind::identifier ? decoder.find(operand.text()) : nullptr;
        if (symbol != nullptr && symbol->kind == Symbol::Kind::variable && symbol->frame_relative) {
            slots.push_back({static_cast<std::uint32_t>(symbol->address),
                             static_cast<std::uint32_t>(symbol->bytes), no_ref});
        } else {
            const auto reg = decoder.find_register(operand.text());
            const std::uint32_t bytes = reg ? width(*reg) : 8;
            auto ref = TRY(are_results ? decoder.output(operand, bytes) : decoder.input(operand, bytes));
            slots.push_back({0, bytes, ref, !reg});
        }
    }
    return slots;
}

// call{.uni} (returns), target, (arguments) {, targets or prototype}
Expected<Draft> decode_call(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    words.take(".uni");
    const auto& operands = instruction.operands;
    const std::size_t target = !operands.empty() && operands[0].kind() == OperandKind::list ? 1 : 0;
    if (!words.empty() || operands.size() <= target) return decoder.missing(instruction);
    Call call;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        if (operands[i].kind() != OperandKind::list || (i != 0 && i != target + 1)) continue;
        auto slots = TRY(decode_slots(decoder, operands[i], i < target));
        (i < target ? call.returns : call.arguments) = std::move(slots);
    }
    const std::string_view name = operands[target].text();
    if (const auto reg = decoder.find_register(name)) {
        call.target = *reg;
    } else if (const auto function = decoder.module().find_function(name)) {
        call.function = *function;
    } else {
        return fail(Errc::name_undeclared, operands[target].span(), fmt::format("function {}", name));
    }
    if (operands.size() > target + 1 && operands.back().kind() == OperandKind::identifier)
        if (const Symbol* const symbol = decoder.find(operands.back().text());
            symbol != nullptr && symbol->kind == Symbol::Kind::prototype)
            call.prototype = static_cast<std::uint32_t>(symbol->address);
    decoder.program().calls.push_back(std::move(call));
    return Draft(execute_call, static_cast<std::uint32_t>(decoder.program().calls.size() - 1));
}

Expected<Draft> decode_return(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    words.take(".uni");
    return words.empty() ? Expected<Draft>(Draft(execute_return)) : decoder.missing(instruction);
}

Expected<Draft> decode_exit(FunctionDecoder&, const Instruction&) { return Draft(execute_exit); }
Expected<Draft> decode_trap(FunctionDecoder&, const Instruction&) { return Draft(execute_trap); }
Expected<Draft> decode_yield(FunctionDecoder&, const Instruction&) { return Draft(execute_yield); }
Expected<Draft> decode_set_registers(FunctionDecoder&, const Instruction&) {
    return Draft(execute_set_registers);
}
Expected<Draft> decode_nothing(FunctionDecoder&, const Instruction&) { return Draft(execute_nothing); }

Expected<Draft> decode_warp_barrier(FunctionDecoder& decoder, const Instruction& instruction) {
    auto mask = TRY(decoder.input(instruction.operands[0], 4));
    return Draft(execute_collective, decoder.add(CollectiveCall{sync_collective(), 0, mask}));
}

// bar.red: d, a {, b}, {!}c
Expected<void> decode_reduction(FunctionDecoder& decoder, const Instruction& instruction, Words& words,
                                Barrier& barrier) {
    const std::string_view op = words.take_of({".popc", ".and", ".or"});
    const bool typed = words.take(op == ".popc" ? ".u32" : ".pred");
    if (op.empty() || !typed) return decoder.missing(instruction);
    barrier.kind = op == ".popc"  ? Barrier::Kind::popc
                   : op == ".and" ? Barrier::Kind::and_
                                  : Barrier::Kind::or_;
    auto destination =
        decoder.output(instruction.operands.front(), barrier.kind == Barrier::Kind::popc ? 4 : 1);
    auto predicate = decoder.predicate(instruction.operands.back(), barrier.negated);
    if (!destination) return tl::unexpected<Error>(destination.error());
    if (!predicate) return tl::unexpected<Error>(predicate.error());
    barrier.destination = *destination;
    barrier.predicate = *predicate;
    return {};
}

Expected<Draft> decode_cluster_barrier(FunctionDecoder& decoder, const Instruction& instruction,
                                       Words& words) {
    const bool arrives = words.take(".arrive");
    const bool is_relaxed = arrives && words.take_of({".release", ".relaxed"}) == ".relaxed";
    if (!arrives) words.take(".acquire");
    if (arrives && words.empty()) return Draft(execute_cluster_arrive, is_relaxed ? 1 : 0);
    if (!words.take(".wait") || !words.empty()) return decoder.missing(instruction);
    return Draft(execute_cluster_wait, decoder.add(Barrier{}));  // where a released warp looks for a result
}

Expected<Draft> decode_barrier(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    const bool is_aligned = words.take(".aligned") || instruction.opcode == "bar";
    const auto& operands = instruction.operands;
    if (words.take(".warp")) {
        if (!words.take(".sync") || !words.empty() || operands.size() != 1)
            return decoder.missing(instruction);
        return decode_warp_barrier(decoder, instruction);
    }
    if (words.take(".cluster")) return decode_cluster_barrier(decoder, instruction, words);
    words.take(".cta");
    Barrier barrier{.is_aligned = is_aligned};
    const bool reduces = words.take(".red"), arrives = words.take(".arrive");
    if (!reduces && !arrives && !words.take(".sync")) return decoder.missing(instruction);
    const std::size_t first = reduces ? 1 : 0, least = reduces ? 3 : 1;
    if (operands.size() < least || operands.size() > least + 1) return decoder.missing(instruction);
    if (arrives) barrier.kind = Barrier::Kind::arrive;
    if (reduces) { TRY(decode_reduction(decoder, instruction, words, barrier)); }
    if (!words.empty()) return decoder.missing(instruction);
    auto id = TRY(decoder.input(operands[first], 4));
    barrier.id = id;
    if (operands.size() > least) {
        auto count = TRY(decoder.input(operands[first + 1], 4));
        barrier.count = count;
    }
    return Draft(execute_barrier, decoder.add(barrier));
}

constexpr InstructionRow rows[] = {
    {"bra", decode_branch},
    {"brx", decode_branch_index},
    {"call", decode_call},
    {"ret", decode_return},
    {"exit", decode_exit},
    {"trap", decode_trap},
    {"brkpt", decode_trap},
    {"nanosleep", decode_yield},
    {"pmevent", decode_nothing},
    {"griddepcontrol", decode_nothing},
    {"setmaxnreg", decode_set_registers},
    {"bar", decode_barrier},
    {"barrier", decode_barrier},
};

}  // namespace

std::span<const InstructionRow> control_rows() { return rows; }

}  // namespace ptxgraft::emulator
