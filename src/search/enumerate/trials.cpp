// The instructions that an enumeration tries.

#include "search/enumerate/trials.hpp"

#include <algorithm>

#include "base/try.hpp"
#include "ptxgraft/search.hpp"

namespace ptxgraft::search {
namespace {

using stack::Instruction;
using stack::Opcode;
using stack::Program;
using stack::TypeId;

constexpr std::int64_t most_immediates = 256;

// What an immediate may be; one value, without meaning, where there is none.
struct Immediates {
    std::size_t count = 0;
    std::int64_t low = 0, high = 0, step = 1;
    [[nodiscard]] bool is_small() const {
        return count == 0 ||
               (count == 1 && low != INT64_MIN && high != INT64_MAX && (high - low) / step < most_immediates);
    }
};

bool is_commutative(const isa::Form& form, const std::vector<TypeId>& inputs) {
    constexpr std::array<std::string_view, 10> opcodes = {"add", "mul", "and", "or",  "xor",
                                                          "min", "max", "fma", "mad", "sad"};
    const std::string_view opcode = std::string_view(form.spelling).substr(0, form.spelling.find('.'));
    return inputs.size() >= 2 && inputs[0] == inputs[1] &&
           std::ranges::find(opcodes, opcode) != opcodes.end();
}

// As measured, within a factor of two: halves are computed one by one, and pairs of them twice.
std::uint32_t weight_of(const isa::Form& form, const std::vector<TypeId>& inputs, TypeId output) {
    constexpr std::array<std::string_view, 2> slowest = {"sin", "cos"};
    constexpr std::array<std::string_view, 7> slow = {"tanh", "ex2", "lg2", "div", "rem", "prmt", "lop3"};
    const std::string_view spelling = form.spelling, opcode = spelling.substr(0, spelling.find('.'));
    std::uint32_t weight = 1;
    const auto add = [&](TypeId type) {
        const Type of = static_cast<Type>(type);
        const bool is_half = of == Type::f16 || of == Type::bf16;
        const bool is_pair = of == Type::f16x2 || of == Type::bf16x2;
        weight = std::max(weight, is_pair ? 24u : is_half ? 8u : width_of(type) == 64 ? 2u : 1u);
    };
    for (const TypeId type : inputs) add(type);
    add(output);
    if (std::ranges::find(slowest, opcode) != slowest.end()) return 64;
    if (std::ranges::find(slow, opcode) != slow.end() || spelling.starts_with('v'))
        return std::max(weight, 6u);
    return weight;
}

void add_operand(Signature& signature, TypeId type, Direction direction) {
    const std::string name =
        (direction == Direction::in ? "i" : "o") + std::to_string(signature.operands.size());
    signature.operands.push_back({.name = name,
                                  .type = static_cast<Type>(type),
                                  .direction = direction,
                                  .user_type = {},
                                  .register_name = "_" + name});
}

// A site that has the inputs and the output of a form.
Expected<stack::Machine> machine_of(const stack::InstructionSet& set, const std::vector<TypeId>& inputs,
                                    TypeId output) {
    Signature signature;
    for (const TypeId type : inputs) add_operand(signature, type, Direction::in);
    add_operand(signature, output, Direction::out);
    // whoever owns the set outlives the machine
    const std::shared_ptr<const stack::InstructionSet> kept(std::shared_ptr<void>(), &set);
    return stack::Machine::make(kept, signature);
}

Expected<void> add_trials(const stack::InstructionSet& set, std::uint16_t number,
                          std::vector<Trial>& trials) {
    const stack::Entry& entry = set.entries()[number];
    if (entry.form == nullptr || entry.effects != Effect::none) return {};
    std::vector<TypeId> inputs, outputs;
    Immediates immediates;
    for (const stack::EntryOperand& operand : entry.operands) {
        const TypeId type = stack::stack_of(operand.type);
        if (operand.is_immediate)
            immediates = {immediates.count + 1, operand.spec->low, operand.spec->high, operand.spec->step};
        else if (width_of(type) == 0)
            return {};
        else
            (operand.is_output ? outputs : inputs).push_back(type);
    }
    if (outputs.size() != 1 || inputs.empty() || inputs.size() > most_inputs || !immediates.is_small())
        return {};
    const auto machine = TRY(machine_of(set, inputs, outputs[0]));
    for (std::int64_t value = immediates.low; value <= immediates.high; value += immediates.step) {
        Program program;
        for (std::uint16_t k = 0; k < inputs.size(); ++k) program.code.push_back({Opcode::input, 0, k, 0});
        program.code.push_back({Opcode::form, 0, number, static_cast<std::uint32_t>(value)});
        auto evaluator = stack::Evaluator::make(program, machine, program_options);
        if (!evaluator || evaluator->instruction_count() == 0) break;  // it cannot be evaluated
        trials.push_back({.instruction = program.code.back(),
                          .inputs = inputs,
                          .output = outputs[0],
                          .is_commutative = is_commutative(*entry.form, inputs),
                          .weight = weight_of(*entry.form, inputs, outputs[0]),
                          .evaluator = std::move(*evaluator)});
    }
    return {};
}

}  // namespace

Expected<std::vector<Trial>> trials_of(const stack::InstructionSet& set) {
    std::vector<Trial> trials;
    for (std::size_t k = 0; k < set.entries().size() && k <= 0xFFFF; ++k)
        TRY(add_trials(set, static_cast<std::uint16_t>(k), trials));
    return trials;
}

void run(const Trial& trial, std::span<const void* const> in, void* out, std::size_t count) {
    std::array<const void*, most_inputs + 1> inputs{};
    std::array<void*, most_inputs + 1> outputs{};
    std::ranges::copy(in, inputs.begin());
    outputs[in.size()] = out;
    const std::size_t registers = in.size() + 1;
    trial.evaluator.run({std::span(inputs).first(registers), std::span(outputs).first(registers), count});
}

}  // namespace ptxgraft::search
