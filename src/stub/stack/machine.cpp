#include "stub/stack/machine.hpp"

#include <algorithm>
#include <vector>

namespace ptxgraft::stack {
namespace {

StackId stack_of(isa::OperandType type) {
    return type == isa::OperandType::other ? StackId::none : stack::stack_of(static_cast<std::uint8_t>(type));
}

bool fits(const isa::Form& form) {
    return form.stack && form.operands.size() >= 2 && form.operands.size() <= 1 + max_inputs &&
           form.operands[0].is_output && !form.operands[1].is_output &&
           form.name.size() + 2 <= sizeof(StackForm::text) &&
           std::all_of(form.operands.begin(), form.operands.end(),
                       [](const isa::OperandSpec& spec) { return stack_of(spec.type) != StackId::none; });
}

StackForm stack_form(const isa::Form& form) {
    StackForm result{};
    result.output = StackId::none;
    if (!fits(form)) return result;
    result.text[0] = '\t';
    std::copy(form.name.begin(), form.name.end(), result.text.begin() + 1);
    result.text[form.name.size() + 1] = ' ';
    result.text_length = static_cast<std::uint8_t>(form.name.size() + 2);
    result.output = stack_of(form.operands[0].type);
    result.exact_output = form.operands[0].is_exact;
    result.inputs = static_cast<std::uint8_t>(form.operands.size() - 1);
    for (std::size_t i = 0; i < result.inputs; ++i) {
        const isa::OperandSpec& spec = form.operands[i + 1];
        result.stacks[i] = stack_of(spec.type);
        ++result.needs[static_cast<std::size_t>(result.stacks[i])];
        if (spec.is_immediate)
            result.immediate_inputs = static_cast<std::uint8_t>(result.immediate_inputs | 1u << i);
        if (spec.is_byte || spec.is_immediate)
            result.byte_inputs = static_cast<std::uint8_t>(result.byte_inputs | 1u << i);
    }
    result.one_stack = result.immediate_inputs == 0 && result.output != StackId::none &&
                       result.needs[static_cast<std::size_t>(result.output)] == result.inputs;
    return result;
}

}  // namespace

StackId stack_of(std::uint8_t type) {
    switch (static_cast<Type>(type)) {
        case Type::pred:
            return StackId::pred;
        case Type::b32:
        case Type::u32:
            return StackId::u32;
        case Type::s32:
            return StackId::s32;
        case Type::f32:
            return StackId::f32;
        default:
            return StackId::none;
    }
}

std::span<const StackForm> machine() {
    static const std::vector<StackForm> forms = [] {
        std::vector<StackForm> all;
        all.reserve(isa::forms().size());
        for (const isa::Form& form : isa::forms()) all.push_back(stack_form(form));
        return all;
    }();
    return forms;
}

}  // namespace ptxgraft::stack
