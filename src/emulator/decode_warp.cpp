// Instructions of a warp: shfl, vote, match, redux, elect, activemask.
#include "emulator/decode.hpp"

namespace ptxgraft::emulator {
namespace {

using syntax::Instruction;
using syntax::OperandKind;

// Outputs, inputs and the member mask, which is the last operand of all .sync forms.
Expected<Operation> collective(FunctionDecoder& decoder, const Instruction& instruction, Collective function,
                               std::uint32_t extra, std::size_t outputs, std::size_t inputs,
                               bool has_members) {
    const auto& operands = instruction.operands;
    const std::size_t written = 1 + inputs + (has_members ? 1 : 0);
    if (function == nullptr) return decoder.missing(instruction);
    if (operands.size() != written)
        return fail(Errc::invalid_operand, instruction.span, std::string(instruction.name));
    auto results = decoder.outputs(operands[0]);
    if (!results) return tl::unexpected<Error>(results.error());
    if (results->size() > outputs)
        return fail(Errc::invalid_operand, operands[0].span(), std::string(operands[0].text()));
    while (results->size() < outputs) results->push_back(decoder.temporary());
    Operation operation{.execute = execute_collective,
                        .outputs = static_cast<std::uint8_t>(outputs),
                        .inputs = static_cast<std::uint8_t>(inputs)};
    std::copy(results->begin(), results->end(), operation.operands.begin());
    for (std::size_t i = 0; i < inputs; ++i) {
        bool negated = false;
        auto value = decoder.predicate(operands[1 + i], negated);
        if (!value) return tl::unexpected<Error>(value.error());
        if (negated) extra = 1;
        operation.operands[outputs + i] = *value;
    }
    CollectiveCall call{function, extra, no_ref};
    if (has_members) {
        auto members = decoder.input(operands.back());
        if (!members) return tl::unexpected<Error>(members.error());
        call.member_mask = *members;
    }
    operation.extra = static_cast<std::uint32_t>(decoder.program().collectives.size());
    decoder.program().collectives.push_back(call);
    return operation;
}

Expected<Operation> decode_shuffle(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    const bool sync = words.take(".sync"), typed = words.take(".b32");
    const Collective function = shuffle_collective(words.take_of({".up", ".down", ".bfly", ".idx"}));
    if (!words.empty() || !typed) return decoder.missing(instruction);
    return collective(decoder, instruction, function, 0, 2, 3, sync);
}

Expected<Operation> decode_vote(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    const bool sync = words.take(".sync");
    const std::string_view mode = words.take_of({".all", ".any", ".uni", ".ballot"});
    const bool typed = words.take(mode == ".ballot" ? ".b32" : ".pred");
    if (!words.empty() || !typed) return decoder.missing(instruction);
    return collective(decoder, instruction, vote_collective(mode), 0, 1, 1, sync);
}

Expected<Operation> decode_match(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    const std::string_view mode = words.take_of({".any", ".all"}), type = words.take_of({".b32", ".b64"});
    if (!words.take(".sync") || !words.empty() || type.empty()) return decoder.missing(instruction);
    return collective(decoder, instruction, match_collective(mode), type_bits(type), mode == ".all" ? 2 : 1,
                      1, true);
}

Expected<Operation> decode_redux(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    const std::string_view op = words.take_of({".add", ".min", ".max", ".and", ".or", ".xor"});
    const std::string_view type = words.take_of({".u32", ".s32", ".b32"});
    if (!words.take(".sync") || !words.empty()) return decoder.missing(instruction);
    return collective(decoder, instruction, reduce_collective(op, type), 0, 1, 1, true);
}

Expected<Operation> decode_elect(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    if (!words.take(".sync") || !words.empty()) return decoder.missing(instruction);
    return collective(decoder, instruction, elect_collective(), 0, 2, 0, true);
}

Expected<Operation> decode_activemask(FunctionDecoder& decoder, const Instruction& instruction) {
    Words words(instruction);
    if (!words.take(".b32") || !words.empty() || instruction.operands.size() != 1)
        return decoder.missing(instruction);
    auto d = decoder.output(instruction.operands[0]);
    if (!d) return tl::unexpected<Error>(d.error());
    return Operation{.execute = execute_activemask, .outputs = 1, .operands = {*d}};
}

constexpr InstructionRow rows[] = {
    {"shfl", decode_shuffle}, {"vote", decode_vote},   {"match", decode_match},
    {"redux", decode_redux},  {"elect", decode_elect}, {"activemask", decode_activemask},
};

}  // namespace

std::span<const InstructionRow> warp_rows() { return rows; }

}  // namespace ptxgraft::emulator
