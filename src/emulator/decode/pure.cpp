// Pure instructions: functions of arithmetic over columns, and how definedness bits pass through them.
#include <algorithm>
#include <array>
#include <string_view>

#include "base/try.hpp"
#include "emulator/decode/decode.hpp"

namespace ptxgraft::emulator {

namespace {

// Instructions that move bits, and how many of their last sources say where to.
struct BitMover {
    std::string_view opcode;
    std::uint8_t controls;
};
constexpr BitMover bit_movers[] = {{"mov", 0}, {"selp", 1}, {"prmt", 1}, {"shl", 1},
                                   {"shr", 1}, {"shf", 1},  {"bfe", 2},  {"bfi", 2}};

constexpr std::string_view bit_by_bit[] = {"and", "or", "xor", "not", "lop3"};
constexpr std::string_view carrying[] = {"add", "sub", "mul", "mad", "neg"};

bool is_integer_type(std::string_view word) {
    return word.size() > 2 && (word[1] == 'u' || word[1] == 's') && word[2] >= '0' && word[2] <= '9';
}

// The lower half of an integer's product, or all of it; a saturated sum has all bits from all bits.
bool is_carrying(const syntax::Instruction& instruction) {
    return std::ranges::find(carrying, instruction.opcode) != std::end(carrying) &&
           std::ranges::all_of(instruction.modifiers, [](std::string_view word) {
               return word == ".lo" || word == ".wide" ||
                      (is_integer_type(word) && word.find('x') == std::string_view::npos);
           });
}

bool is_integer_conversion(const syntax::Instruction& instruction) {
    return instruction.opcode == "cvt" && std::ranges::all_of(instruction.modifiers, is_integer_type);
}

void set_undefined(Operation& operation, const syntax::Instruction& instruction) {
    if (std::ranges::find(bit_by_bit, instruction.opcode) != std::end(bit_by_bit) && operation.outputs == 1)
        operation.undefined = Undefined::bits;
    if (instruction.opcode != "cvt" && operation.outputs == 1 && !instruction.modifiers.empty() &&
        instruction.modifiers.back().ends_with("x2"))
        operation.undefined = Undefined::halves;
    if (const auto n = instruction.modifiers.size();
        instruction.opcode == "cvt" && n >= 2 && operation.outputs == 1 &&
        (instruction.modifiers[n - 2].ends_with("x2") || instruction.modifiers.front() == ".pack")) {
        const bool is_of_pair = instruction.modifiers[n - 1].ends_with("x2");
        if (operation.inputs == 1 && is_of_pair) operation.undefined = Undefined::halves;
        if (operation.inputs == 2 && !is_of_pair) operation.undefined = Undefined::packs;
        if (operation.inputs == 3 && instruction.modifiers.front() == ".pack")
            operation.undefined = Undefined::inserts;
    }
    if (instruction.opcode == "setp" && instruction.modifiers.back().ends_with("x2"))
        operation.undefined = Undefined::splits;
    if (is_carrying(instruction)) operation.undefined = Undefined::carries;
    if (is_integer_conversion(instruction)) operation.undefined = Undefined::moves;
    for (const BitMover& row : bit_movers) {
        if (row.opcode != instruction.opcode) continue;
        operation.undefined = Undefined::moves;
        operation.controls = row.controls;
    }
}

}  // namespace

// The last operation; one that comes before it is emitted.
Draft draft_of(FunctionDecoder& decoder, const PureInstruction& pure, const syntax::Instruction& instruction,
               PureOperands operands) {
    auto& [outputs, inputs] = operands;
    if (pure.writes_carry) outputs[pure.outputs] = decoder.carry();
    if (pure.reads_carry) inputs[pure.inputs] = decoder.carry();
    if (!pure.has_second()) {
        Draft draft(pure.first_function());
        for (std::size_t i = 0; i < pure.all_outputs(); ++i) draft.output(outputs[i]);
        for (std::size_t i = 0; i < pure.all_inputs(); ++i) draft.input(inputs[i]);
        draft.operation.elements = static_cast<std::uint8_t>(lane_count * pure.column_elements);
        set_undefined(draft.operation, instruction);
        return draft;
    }
    Draft first(pure.first_function()), second(pure.second_function());
    for (std::size_t i = 0; i < pure.all_outputs(); ++i) second.output(outputs[i]);
    for (std::size_t i = 0; i < pure.first_outputs; ++i) {
        const Ref between = decoder.temporary(pure.between_bytes[i]);
        first.output(between);
        second.input(between);
    }
    for (std::size_t i = 0; i < pure.all_inputs(); ++i)
        (i < pure.first_inputs ? first : second).input(inputs[i]);
    first.operation.is_micro_op = true;
    if (is_integer_conversion(instruction))
        first.operation.undefined = second.operation.undefined = Undefined::moves;
    const auto n = instruction.modifiers.size();
    if ((instruction.opcode == "set" && n >= 2 && instruction.modifiers[n - 1].ends_with("x2") &&
         instruction.modifiers[n - 2].ends_with("x2")) ||
        (instruction.opcode == "setp" && instruction.modifiers.back().ends_with("x2")))
        first.operation.undefined = Undefined::splits;
    if (instruction.opcode == "set" && first.operation.undefined == Undefined::splits)
        second.operation.undefined = Undefined::joins;
    decoder.emit(first);
    return second;
}

Expected<Draft> decode_pure(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    std::vector<const syntax::Operand*> operands;
    bool pair = false;
    for (const syntax::Operand& operand : instruction.operands) {
        if (operand.kind() == syntax::OperandKind::pair) {
            pair = true;
            for (const syntax::Operand& child : operand.children()) operands.push_back(&child);
        } else {
            operands.push_back(&operand);
        }
    }
    const auto& pure = decoder.module().pure(instruction, pair);
    if (!pure) return decoder.missing(instruction);
    std::array<Ref, arithmetic::most_outputs + 1> outputs;
    std::array<Ref, arithmetic::most_inputs + 1> inputs;
    for (std::size_t i = 0; i < pure->outputs; ++i) {
        const auto extension = pure->output_signed[i] ? Extension::sign : Extension::zeros;
        outputs[i] = TRY(decoder.output(*operands[i], pure->output_bytes[i], extension));
    }
    for (std::size_t i = 0; i < pure->inputs; ++i) {
        inputs[i] =
            TRY(decoder.input(*operands[pure->outputs + i], pure->input_bytes[i], pure->input_types[i]));
    }
    return draft_of(decoder, *pure, instruction, {outputs, inputs});
}

}  // namespace ptxgraft::emulator
