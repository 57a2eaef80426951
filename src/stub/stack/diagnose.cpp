#include "stub/stack/diagnose.hpp"

#include <fmt/format.h>

#include "stub/stack/machine.hpp"

namespace ptxgraft::stack {
namespace {

tl::unexpected<Error> fail_at(Errc code, std::uint32_t at, std::string detail) {
    auto error = fail(code, std::move(detail));
    error.value().index = at;
    return error;
}

std::string values(std::uint32_t count, std::string_view type) {
    return fmt::format("{} {} value{}", count, type, count == 1 ? "" : "s");
}

// Values of another type that could be meant, and how to turn them into the missing ones.
std::string hint(StackId wanted, const std::uint32_t* depth) {
    const auto name = stack_names[static_cast<std::size_t>(wanted)];
    for (const StackId other : {StackId::f32, StackId::s32, StackId::u32}) {
        const auto i = static_cast<std::size_t>(other);
        if (other == wanted || depth[i] == 0) continue;
        const auto have =
            fmt::format("; there {} {}: ", depth[i] == 1 ? "is" : "are", values(depth[i], stack_names[i]));
        if (wanted == StackId::pred)
            return fmt::format("{}setp.ne.{} makes a predicate", have, stack_names[i]);
        const std::string_view rounding = wanted == StackId::f32  ? ".rn"
                                          : other == StackId::f32 ? ".rzi"
                                                                  : "";
        if (rounding.empty()) return fmt::format("{}as.{}.{} takes its bits", have, name, stack_names[i]);
        return fmt::format("{}cvt{}.{}.{} converts it, as.{}.{} takes its bits", have, rounding, name,
                           stack_names[i], name, stack_names[i]);
    }
    return {};
}

tl::unexpected<Error> missing(std::string_view what, std::uint32_t at, StackId type, std::uint32_t needed,
                              const std::uint32_t* depth) {
    const auto i = static_cast<std::size_t>(type);
    return fail_at(Errc::stack_values_missing, at,
                   fmt::format("{} takes {}, {} there{}", what, values(needed, stack_names[i]),
                               depth[i] == 0   ? "none is"
                               : depth[i] == 1 ? "only 1 is"
                                               : fmt::format("only {} are", depth[i]),
                               hint(type, depth)));
}

tl::unexpected<Error> bad(std::uint32_t at, std::string detail) {
    return fail_at(Errc::stack_bad_instruction, at, std::move(detail));
}

std::string operand_name(const SiteOperand& operand, std::uint32_t element) {
    return operand.count == 0 ? operand.name : fmt::format("{}[{}]", operand.name, element);
}

tl::unexpected<Error> diagnose_operand(const Instruction& instruction, std::uint32_t at,
                                       const Signature& signature) {
    const SiteOperand& operand = signature.operands[instruction.index];
    if (instruction.payload >= std::max<std::uint32_t>(operand.count, 1))
        return fail_at(Errc::stack_element_out_of_range, at,
                       fmt::format("{} has {} element(s), there is no {}", operand.name,
                                   std::max<std::uint32_t>(operand.count, 1), instruction.payload));
    return fail_at(Errc::stack_type_unsupported, at,
                   fmt::format("operand {} is {}; the stack language has pred, u32, s32, f32 and b32",
                               operand.name, name(operand.type)));
}

tl::unexpected<Error> diagnose_input(const Instruction& instruction, std::uint32_t at,
                                     const Signature& signature) {
    if (instruction.index >= signature.operands.size())
        return bad(at, fmt::format("there is no operand {}", instruction.index));
    const SiteOperand& operand = signature.operands[instruction.index];
    if (operand.direction == Direction::out)
        return fail_at(Errc::stack_output_read, at,
                       fmt::format("operand {} is `out`: it has no value to read", operand.name));
    return diagnose_operand(instruction, at, signature);
}

tl::unexpected<Error> diagnose_assign(std::span<const Instruction> program, std::uint32_t at,
                                      const Signature& signature, const std::uint32_t* depth) {
    const Instruction& instruction = program[at];
    if (instruction.index >= signature.operands.size())
        return bad(at, fmt::format("there is no operand {}", instruction.index));
    const SiteOperand& operand = signature.operands[instruction.index];
    const std::string written = operand_name(operand, instruction.payload);
    if (operand.direction == Direction::in)
        return fail_at(Errc::stack_input_assigned, at,
                       fmt::format("operand {} is `in`: it cannot be assigned", written));
    const StackId type = stack_of(operand.type);
    if (instruction.payload >= std::max<std::uint32_t>(operand.count, 1) || type == StackId::none)
        return diagnose_operand(instruction, at, signature);
    for (const Instruction& before : program.first(at))
        if (before.opcode == Opcode::assign && before.index == instruction.index &&
            before.payload == instruction.payload)
            return fail_at(Errc::stack_assigned_twice, at,
                           fmt::format("operand {} is assigned twice", written));
    return missing(fmt::format("-> {}", written), at, type, 1, depth);
}

tl::unexpected<Error> diagnose_form(const Instruction& instruction, std::uint32_t at,
                                    const std::uint32_t* depth) {
    if (instruction.index >= machine().size())
        return bad(at, fmt::format("there is no form {}", instruction.index));
    const StackForm& form = machine()[instruction.index];
    const std::string_view form_name = isa::forms()[instruction.index].name;
    if (form.inputs == 0)
        return bad(at, fmt::format("{} is not an instruction of the stack language", form_name));
    for (std::size_t i = 0; i < stack_count; ++i)
        if (depth[i] < form.needs[i])
            return missing(form_name, at, static_cast<StackId>(i), form.needs[i], depth);
    return fail_at(Errc::stack_literal_required, at,
                   fmt::format("the last operand of {} must be a literal from 0 to 255", form_name));
}

tl::unexpected<Error> diagnose_type(const Instruction& instruction, std::uint32_t at) {
    return bad(at, fmt::format("type {} is not one of pred, u32, s32, f32, b32", instruction.type));
}

tl::unexpected<Error> diagnose_rearrange(const Instruction& instruction, std::uint32_t at,
                                         const std::uint32_t* depth) {
    const StackId type = stack_of(instruction.type);
    if (type == StackId::none) return diagnose_type(instruction, at);
    const bool one = instruction.opcode == Opcode::dup || instruction.opcode == Opcode::drop;
    const std::string_view word = instruction.opcode == Opcode::dup    ? "dup"
                                  : instruction.opcode == Opcode::drop ? "drop"
                                  : instruction.opcode == Opcode::swap ? "swap"
                                  : instruction.opcode == Opcode::over ? "over"
                                                                       : "rotate";
    return missing(word, at, type, one ? 1 : instruction.opcode == Opcode::rotate ? 3 : 2, depth);
}

tl::unexpected<Error> diagnose_cast(const Instruction& instruction, std::uint32_t at,
                                    const std::uint32_t* depth) {
    const StackId to = stack_of(instruction.type);
    const StackId from =
        instruction.index > 0xFF ? StackId::none : stack_of(static_cast<std::uint8_t>(instruction.index));
    if (to == StackId::none || from == StackId::none || to == StackId::pred || from == StackId::pred)
        return bad(at, "a cast goes between u32, s32, f32 and b32");
    return missing(fmt::format("as.{}.{}", stack_names[static_cast<std::size_t>(to)],
                               stack_names[static_cast<std::size_t>(from)]),
                   at, from, 1, depth);
}

}  // namespace

tl::unexpected<Error> diagnose(std::span<const Instruction> program, std::uint32_t at,
                               const Signature& signature, const std::uint32_t* depth) {
    const Instruction& instruction = program[at];
    switch (instruction.opcode) {
        case Opcode::input:
            return diagnose_input(instruction, at, signature);
        case Opcode::constant:
            return diagnose_type(instruction, at);
        case Opcode::form:
            return diagnose_form(instruction, at, depth);
        case Opcode::assign:
            return diagnose_assign(program, at, signature, depth);
        case Opcode::dup:
        case Opcode::swap:
        case Opcode::drop:
        case Opcode::over:
        case Opcode::rotate:
            return diagnose_rearrange(instruction, at, depth);
        case Opcode::cast:
            return diagnose_cast(instruction, at, depth);
    }
    return bad(at, fmt::format("{} is no opcode", static_cast<unsigned>(instruction.opcode)));
}

tl::unexpected<Error> diagnose_output(const SiteOperand& operand, std::uint32_t element, std::uint32_t at) {
    const std::string written = operand_name(operand, element);
    if (stack_of(operand.type) == StackId::none)
        return fail_at(Errc::stack_type_unsupported, at,
                       fmt::format("operand {} is {}; the stack language has pred, u32, s32, f32 and b32",
                                   written, name(operand.type)));
    return fail_at(Errc::stack_output_missing, at,
                   fmt::format("operand {} is `out` and is not assigned: end with -> {}", written, written));
}

tl::unexpected<Error> diagnose_leftover(std::string_view stack, std::uint32_t at, std::uint32_t count) {
    return fail_at(
        Errc::stack_leftover, at,
        fmt::format("{} left over at the end; assign {} with -> or remove {} with drop.{}",
                    values(count, stack), count == 1 ? "it" : "them", count == 1 ? "it" : "them", stack));
}

}  // namespace ptxgraft::stack
