// Branches and barriers.
#include "emulator/decode/decode.hpp"

namespace ptxgraft::emulator {
namespace {

Expected<Draft> decode_branch(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    const std::uint32_t label = TRY(decoder.label(instruction.operands[0], Symbol::Kind::label));
    return Draft(execute_branch, label);
}

Expected<Draft> decode_branch_index(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    const Ref index = TRY(decoder.input(instruction.operands[0], 4));
    const std::uint32_t table = TRY(decoder.label(instruction.operands[1], Symbol::Kind::table));
    return Draft(execute_branch_index, table).input(index);
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

template <bool Increases>
Expected<Draft> decode_set_registers(FunctionDecoder&, const MatchedInstruction& instruction) {
    const auto count = static_cast<std::uint32_t>(*instruction.constant("count"));
    return Draft(execute_set_registers, SetRegisters{.count = count, .increases = Increases}.bits());
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
    {"call", decode_call, Shaping::call},
    {"ret", decode_alone<execute_return>, Shaping::plain},
    {"exit", decode_alone<execute_exit>, Shaping::plain},
    {"trap", decode_alone<execute_trap>, Shaping::plain},
    {"brkpt", decode_alone<execute_trap>},
    {"nanosleep", decode_alone<execute_yield>, Shaping::plain},
    {"pmevent", decode_alone<execute_nothing>},
    {"pmevent.mask", decode_alone<execute_nothing>},
    {"griddepcontrol", decode_alone<execute_nothing>},
    {"setmaxnreg.inc", decode_set_registers<true>},
    {"setmaxnreg.dec", decode_set_registers<false>},
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
