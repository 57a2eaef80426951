// PTX ISA 9.7.18: parts of the operands of video instructions. A prmt before the operation selects what it
// takes of a register, extended by its sign or by zeros, and one behind it merges the result with the rest of
// the register of c. So the bytes that an instruction leaves alone stay as undefined as they were.
#include "emulator/decode/decode.hpp"

namespace ptxgraft::emulator {
namespace {

using syntax::Operand;
using syntax::OperandKind;

constexpr std::uint32_t word_bytes = 4;
constexpr std::uint32_t register_a = 0x3210, register_b = 0x7654;  // selectors of a prmt

// `-%r1.h0`: a register or something else that is read, and what the instruction takes of it.
struct Source {
    const Operand* operand = nullptr;
    Ref column = no_ref;         // of a register with a part
    std::string_view part = {};  // ".h0"; empty: all of it
    bool is_negated = false;
};

Source source_of(FunctionDecoder& decoder, const Operand& operand, const isa::OperandRule& rule) {
    Source source{.operand = &operand};
    if (operand.kind() == OperandKind::negation) {
        source.is_negated = true;
        source.operand = &operand.children().front();
    }
    const std::string_view text = source.operand->text();
    const std::size_t dot = text.find('.');
    if (rule.kind < isa::RuleKind::selector || source.operand->kind() != OperandKind::identifier ||
        dot == std::string_view::npos)
        return source;
    source.column = *decoder.find_register(text.substr(0, dot));
    source.part = text.substr(dot);
    return source;
}

Expected<Ref> column_of(FunctionDecoder& decoder, const Source& source) {
    if (source.column != no_ref) return source.column;
    return decoder.input(*source.operand, word_bytes);
}

// The operation of `prmt.b32 d, a, b, selector`.
Draft permutation(FunctionDecoder& decoder, Ref d, Ref a, Ref b, std::uint32_t selector) {
    constexpr std::string_view type = ".b32";
    Draft draft(arithmetic::find_pure("prmt", {&type, 1}, 4, false)->first_function());
    draft.output(d).input(a).input(b).input(decoder.constant(selector, word_bytes));
    draft.operation.undefined = Undefined::moves;
    draft.operation.controls = 1;
    return draft;
}
Ref permuted(FunctionDecoder& decoder, Ref a, Ref b, std::uint32_t selector) {
    const Ref result = decoder.temporary(word_bytes);
    Draft draft = permutation(decoder, result, a, b, selector);
    draft.operation.is_micro_op = true;
    decoder.emit(draft);
    return result;
}

// The type modifiers: of d, a and b; those of vset are of a and b.
bool is_signed(const MatchedInstruction& instruction, std::size_t source) {
    std::vector<std::string_view> types;
    for (const std::string_view modifier : instruction.modifiers)
        if (modifier == ".u32" || modifier == ".s32") types.push_back(modifier);
    const std::size_t at = instruction.opcode == "vset" ? source : source + 1;
    return at < types.size() && types[at] == ".s32";
}

// --- scalar: one byte or half

// Selects a part and extends it: a byte number with 8 set stands for its sign, 4 for the first byte of a
// zero.
std::uint32_t extending_selector(std::string_view part, bool by_sign) {
    const auto number = static_cast<std::uint32_t>(part[2] - '0');
    const std::uint32_t bytes = part[1] == 'b' ? 1 : 2, last = (number + 1) * bytes - 1,
                        above = by_sign ? 8 | last : 4;
    std::uint32_t selector = 0;
    for (std::uint32_t i = 0; i < word_bytes; ++i)
        selector |= (i < bytes ? number * bytes + i : above) << 4 * i;
    return selector;
}
// Puts the low bits of a into a part of b.
std::uint32_t merging_selector(std::string_view part) {
    const auto number = static_cast<std::uint32_t>(part[2] - '0');
    const std::uint32_t bytes = part[1] == 'b' ? 1 : 2, first = number * bytes;
    std::uint32_t selector = register_b;
    for (std::uint32_t i = 0; i < bytes; ++i) {
        const std::uint32_t at = 4 * (first + i);
        selector = (selector & ~(0xFu << at)) | i << at;
    }
    return selector;
}

// --- two halves, four bytes

// `.h32`, `.b7654`: which parts of both registers each lane takes, the highest first.
std::uint32_t lane_selector(std::string_view part, std::uint32_t otherwise) {
    if (part.empty()) return otherwise;
    std::uint32_t selector = 0;
    for (const char digit : part.substr(2)) {
        const auto number = static_cast<std::uint32_t>(digit - '0');
        selector =
            part[1] == 'b' ? selector << 4 | number : selector << 8 | (2 * number + 1) << 4 | 2 * number;
    }
    return selector;
}
// `.h10`, `.b320`: four bits a byte, all of them or none.
std::uint32_t lane_mask(std::string_view part) {
    if (part.empty()) return 0xFFFF;
    std::uint32_t mask = 0;
    for (const char digit : part.substr(2)) {
        const auto number = static_cast<std::uint32_t>(digit - '0');
        mask |= part[1] == 'b' ? 0xFu << 4 * number : 0xFFu << 8 * number;
    }
    return mask;
}
// Lanes whose results nobody wants take what the lowest one that is wanted takes: nothing undefined comes in
// by them.
std::uint32_t without_others(std::uint32_t selector, std::uint32_t mask, std::uint32_t lane_bits) {
    std::uint32_t lowest = 0;
    while ((mask >> lowest & 1) == 0) lowest += lane_bits;
    const std::uint32_t lane = (1u << lane_bits) - 1, wanted = selector >> lowest & lane;
    std::uint32_t result = 0;
    for (std::uint32_t at = 0; at < 16; at += lane_bits)
        result |= ((mask >> at & 1) != 0 ? selector >> at & lane : wanted) << at;
    return result;
}

// --- instructions

const std::optional<PureInstruction>& resolved(FunctionDecoder& decoder, MatchedInstruction instruction,
                                               std::string_view last, std::size_t operands) {
    if (!last.empty()) instruction.modifiers.push_back(last);
    while (instruction.operands.size() > operands) instruction.operands.pop_back();
    return decoder.module().pure(instruction, false);
}

Expected<Draft> decode_scalar(FunctionDecoder& decoder, const MatchedInstruction& instruction,
                              const std::vector<Source>& operands) {
    const Source& d = operands[0];
    const bool merges = !d.part.empty(), negates_product = operands[1].is_negated != operands[2].is_negated;
    const bool negates_third = operands.size() == 4 && operands[3].is_negated;
    const std::string_view last = merges ? d.part : negates_product ? ".negab" : negates_third ? ".negc" : "";
    const auto& pure = resolved(decoder, instruction, last, merges ? 3 : operands.size());
    if (!pure) return decoder.missing(instruction);
    PureOperands columns;
    for (std::size_t i = 1; i < operands.size(); ++i) {
        Ref column = TRY(column_of(decoder, operands[i]));
        const std::string_view part = operands[i].part;
        if (!part.empty())
            column = permuted(decoder, column, decoder.constant(0, word_bytes),
                              extending_selector(part, is_signed(instruction, i - 1)));
        columns.inputs[i - 1] = column;
    }
    if (!merges) {
        const auto result = TRY(decoder.output(*d.operand, word_bytes));
        columns.outputs[0] = result;
        return draft_of(decoder, *pure, instruction, columns);
    }
    const Ref value = decoder.temporary(word_bytes), third = columns.inputs[2];
    columns.outputs[0] = value;
    Draft operation = draft_of(decoder, *pure, instruction, columns);
    operation.operation.is_micro_op = true;
    decoder.emit(operation);
    return permutation(decoder, d.column, value, third, merging_selector(d.part));
}

Expected<Draft> decode_lanes(FunctionDecoder& decoder, const MatchedInstruction& instruction,
                             const std::vector<Source>& operands) {
    const Source &d = operands[0], &a = operands[1], &b = operands[2], &c = operands[3];
    const bool adds = instruction.has(".add");
    const std::size_t lanes = instruction.opcode.ends_with('2') ? 2 : 4;
    const std::uint32_t mask = lane_mask(d.part), lane_bits = static_cast<std::uint32_t>(16 / lanes);
    const auto& pure = resolved(decoder, instruction, adds ? d.part : "", operands.size());
    if (!pure) return decoder.missing(instruction);
    const Ref left = TRY(column_of(decoder, a)), right = TRY(column_of(decoder, b)),
              third = TRY(column_of(decoder, c));
    const std::uint32_t lanes_a = without_others(lane_selector(a.part, register_a), mask, lane_bits);
    const std::uint32_t lanes_b = without_others(lane_selector(b.part, register_b), mask, lane_bits);
    PureOperands columns;
    columns.inputs[0] = lanes_a == register_a ? left : permuted(decoder, left, right, lanes_a);
    columns.inputs[1] = lanes_b == register_b ? right : permuted(decoder, left, right, lanes_b);
    columns.inputs[2] = adds ? third : decoder.constant(0, word_bytes);  // all lanes come from the operation
    const auto result =
        TRY(d.column != no_ref ? Expected<Ref>(d.column) : decoder.output(*d.operand, word_bytes));
    columns.outputs[0] = adds || mask == 0xFFFF ? result : decoder.temporary(word_bytes);
    Draft operation = draft_of(decoder, *pure, instruction, columns);
    if (adds || mask == 0xFFFF) return operation;
    operation.operation.is_micro_op = true;
    decoder.emit(operation);
    return permutation(decoder, result, columns.outputs[0], third,
                       (register_a & mask) | (register_b & ~mask & 0xFFFF));
}

Expected<Draft> decode_video(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    std::vector<Source> operands;
    const isa::ActiveRules rules(*instruction.match, instruction.match->row->operands,
                                 instruction.operands.size());
    for (std::size_t i = 0; i < rules.size(); ++i)
        operands.push_back(source_of(decoder, instruction.operands[i], rules[i]));
    const bool has_lanes = instruction.opcode.ends_with('2') || instruction.opcode.ends_with('4');
    return has_lanes ? decode_lanes(decoder, instruction, operands)
                     : decode_scalar(decoder, instruction, operands);
}

constexpr InstructionRow video_instructions[] = {
    {"vadd", decode_video},      {"vsub", decode_video},      {"vabsdiff", decode_video},
    {"vmin", decode_video},      {"vmax", decode_video},      {"vshl", decode_video},
    {"vshr", decode_video},      {"vmad", decode_video},      {"vset", decode_video},
    {"vadd2", decode_video},     {"vsub2", decode_video},     {"vavrg2", decode_video},
    {"vabsdiff2", decode_video}, {"vmin2", decode_video},     {"vmax2", decode_video},
    {"vset2", decode_video},     {"vadd4", decode_video},     {"vsub4", decode_video},
    {"vavrg4", decode_video},    {"vabsdiff4", decode_video}, {"vmin4", decode_video},
    {"vmax4", decode_video},     {"vset4", decode_video},
};

}  // namespace

std::span<const InstructionRow> video_rows() { return video_instructions; }

}  // namespace ptxgraft::emulator
