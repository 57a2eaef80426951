// Instructions of a warp: shfl, vote, match, redux, elect, activemask.
#include "emulator/decode/decode.hpp"

namespace ptxgraft::emulator {
namespace {

// The member mask is the last operand of all .sync forms.
Expected<Draft> bind_collective(FunctionDecoder& decoder, const MatchedInstruction& instruction,
                                CollectiveCall call) {
    Draft draft(execute_collective);
    TRY(decoder.bind(draft, instruction));
    if (instruction.has(".sync")) call.member_mask = draft.take_input();
    draft.set(decoder.add(call));
    return draft;
}

Expected<Draft> decode_shuffle(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    const Collective function = shuffle_collective(one_of(instruction, {".up", ".down", ".bfly", ".idx"}));
    Draft draft = TRY(bind_collective(decoder, instruction, {.function = function, .moves = true}));
    // what nobody uses may be undefined
    draft.operation.strict = 0;
    draft.operation.self_marked_outputs = 1;
    return draft;
}

Expected<Draft> decode_vote(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    MatchedInstruction vote = instruction;
    const bool is_negated = take_negation(vote.operands[1]);
    const Collective function = vote_collective(one_of(instruction, {".all", ".any", ".uni", ".ballot"}));
    return bind_collective(decoder, vote, {.function = function, .extra = is_negated ? 1u : 0u});
}

Expected<Draft> decode_match(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    return bind_collective(
        decoder, instruction,
        {.function = match_collective(one_of(instruction, {".any", ".all"}), type_of(instruction))});
}

Expected<Draft> decode_redux(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    const std::string_view operation = one_of(instruction, {".add", ".min", ".max", ".and", ".or", ".xor"});
    return bind_collective(decoder, instruction,
                           {.function = reduce_collective(operation, type_of(instruction))});
}

Expected<Draft> decode_elect(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    return bind_collective(decoder, instruction, {.function = elect_collective()});
}

constexpr InstructionRow warp_instructions[] = {
    {"shfl", decode_shuffle, Shaping::plain},
    {"vote", decode_vote, Shaping::plain},
    {"match", decode_match, Shaping::plain},
    {"redux", decode_redux, Shaping::plain},
    {"elect", decode_elect, Shaping::plain},
    {"activemask", decode_bound<execute_activemask>, Shaping::plain},
};

}  // namespace

std::span<const InstructionRow> warp_rows() { return warp_instructions; }

}  // namespace ptxgraft::emulator
