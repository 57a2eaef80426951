// Instructions of a warp: shfl, vote, match, redux, elect, activemask.
#include "base/try.hpp"
#include "emulator/decode/decode.hpp"

namespace ptxgraft::emulator {
namespace {

using syntax::Instruction;
using syntax::OperandKind;

// What a collective computes: the widths of its results and sources. The member mask is the last operand of
// all .sync forms; results that are not written down go nowhere.
struct Shape {
    std::vector<std::uint32_t> outputs, inputs;
    bool has_members = true;
    bool moves = false;
};

Expected<Draft> collective(FunctionDecoder& decoder, const Instruction& instruction, Collective function,
                           const Shape& shape, std::uint32_t extra = 0) {
    const auto& operands = instruction.operands;
    if (function == nullptr) return decoder.missing(instruction);
    if (operands.size() != 1 + shape.inputs.size() + (shape.has_members ? 1 : 0))
        return fail(Errc::operand_invalid, instruction.span, std::string(instruction.name));
    const bool is_pair = operands[0].kind() == OperandKind::pair;
    const std::size_t written = is_pair ? operands[0].children().size() : 1;
    if (written > shape.outputs.size())
        return fail(Errc::operand_invalid, operands[0].span(), std::string(operands[0].text()));
    Draft draft(execute_collective);
    for (std::size_t i = 0; i < shape.outputs.size(); ++i) {
        auto result = TRY(i >= written ? Expected<Ref>(decoder.temporary(shape.outputs[i]))
                                       : decoder.output(is_pair ? operands[0].children()[i] : operands[0],
                                                        shape.outputs[i]));
        draft.output(result);
    }
    for (std::size_t i = 0; i < shape.inputs.size(); ++i) {
        bool negated = false;
        auto value = TRY(shape.inputs[i] == 1 ? decoder.predicate(operands[1 + i], negated)
                                              : decoder.input(operands[1 + i], shape.inputs[i]));
        if (negated) extra = 1;
        draft.input(value);
    }
    CollectiveCall call{function, extra, no_ref, shape.moves};
    // what nobody uses may be undefined
    if (shape.moves) draft.operation.strict = 0, draft.operation.self_marked_outputs = 1;
    if (shape.has_members) {
        auto members = TRY(decoder.input(operands.back(), 4));
        call.member_mask = members;
    }
    draft.set(decoder.add(call));
    return draft;
}

Expected<Draft> decode_shuffle(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    const bool sync = words.take(".sync"), typed = words.take(".b32");
    const Collective function = shuffle_collective(words.take_of({".up", ".down", ".bfly", ".idx"}));
    if (!words.empty() || !typed) return decoder.missing(instruction);
    return collective(decoder, instruction, function, {{4, 1}, {4, 4, 4}, sync, true});
}

Expected<Draft> decode_vote(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    const bool sync = words.take(".sync");
    const std::string_view mode = words.take_of({".all", ".any", ".uni", ".ballot"});
    const bool is_ballot = mode == ".ballot", typed = words.take(is_ballot ? ".b32" : ".pred");
    if (!words.empty() || !typed) return decoder.missing(instruction);
    return collective(decoder, instruction, vote_collective(mode), {{is_ballot ? 4u : 1u}, {1}, sync});
}

Expected<Draft> decode_match(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    const std::string_view mode = words.take_of({".any", ".all"}), type = words.take_of({".b32", ".b64"});
    if (!words.take(".sync") || !words.empty() || type.empty()) return decoder.missing(instruction);
    Shape shape{{4}, {type_bits(type) / 8}};
    if (mode == ".all") shape.outputs.push_back(1);
    return collective(decoder, instruction, match_collective(mode, type), shape);
}

Expected<Draft> decode_redux(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    const std::string_view op = words.take_of({".add", ".min", ".max", ".and", ".or", ".xor"});
    const std::string_view type = words.take_of({".u32", ".s32", ".b32"});
    if (!words.take(".sync") || !words.empty()) return decoder.missing(instruction);
    return collective(decoder, instruction, reduce_collective(op, type), {{4}, {4}});
}

Expected<Draft> decode_elect(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    if (!words.take(".sync") || !words.empty()) return decoder.missing(instruction);
    return collective(decoder, instruction, elect_collective(), {{4, 1}, {}});
}

Expected<Draft> decode_activemask(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    if (!words.take(".b32") || !words.empty() || instruction.operands.size() != 1)
        return decoder.missing(instruction);
    auto d = TRY(decoder.output(instruction.operands[0], 4));
    return Draft(execute_activemask).output(d);
}

constexpr InstructionRow rows[] = {
    {"shfl", decode_shuffle}, {"vote", decode_vote},   {"match", decode_match},
    {"redux", decode_redux},  {"elect", decode_elect}, {"activemask", decode_activemask},
};

}  // namespace

std::span<const InstructionRow> warp_rows() { return rows; }

}  // namespace ptxgraft::emulator
