// Calls (PTX ISA 9.7.12.5).
#include <fmt/format.h>

#include <optional>

#include "emulator/decode/decode.hpp"
#include "syntax/constant.hpp"

namespace ptxgraft::emulator {
namespace {

using syntax::Lexeme;
using syntax::Operand;
using syntax::OperandKind;
using syntax::TokenView;

// A floating constant as an argument, as ptxas passes it: an .f32 is rounded from a double, all else takes
// the bits. Nothing for other constants, and for parameters of fewer bits.
std::optional<std::uint64_t> floating_argument(const Operand& operand,
                                               const Signature::Parameter& parameter) {
    if (!operand.constant() || operand.constant()->is_integer() || parameter.is_array || parameter.bytes < 4)
        return std::nullopt;
    if (parameter.bytes == 4 && parameter.is_floating)
        return syntax::convert(*operand.constant(), syntax::ConstantUse::floating, 32);
    return operand.constant()->bits;
}

// `formal`: the callee's parameters that they are for; null where it is not known.
Expected<std::vector<Slot>> decode_slots(FunctionDecoder& decoder, const Operand& list, bool are_results,
                                         const std::vector<Signature::Parameter>* formal) {
    std::vector<Slot> slots;
    for (const Operand& operand : list.children()) {
        const Signature::Parameter parameter = formal != nullptr && slots.size() < formal->size()
                                                   ? (*formal)[slots.size()]
                                                   : Signature::Parameter{};
        if (parameter.registers > 1 && operand.kind() == OperandKind::immediate)
            return fail(Errc::instruction_not_emulated, operand.span(), "a constant for several registers");
        if (const auto bits = floating_argument(operand, parameter)) {
            slots.push_back({0, 8, decoder.constant(*bits, 8), true});
            continue;
        }
        if (operand.kind() == OperandKind::sink) {
            for (unsigned i = 0; i < parameter.registers; ++i)
                slots.push_back({0, 8, TRY(decoder.output(operand, 8)), true});
            continue;
        }
        const Symbol* symbol =
            operand.kind() == OperandKind::identifier ? decoder.find(operand.text()) : nullptr;
        if (symbol != nullptr && symbol->kind == Symbol::Kind::variable && symbol->frame_relative) {
            slots.push_back({static_cast<std::uint32_t>(symbol->address),
                             static_cast<std::uint32_t>(symbol->bytes), no_ref});
        } else if (symbol != nullptr && symbol->kind == Symbol::Kind::vector) {
            for (std::uint32_t i = 0; i < symbol->count; ++i)
                slots.push_back({0, width(symbol->ref), element(symbol->ref, i)});
        } else {
            const auto reg = decoder.find_register(operand.text());
            const std::uint32_t bytes = reg ? width(*reg) : 8;
            auto ref = TRY(are_results ? decoder.output(operand, bytes) : decoder.input(operand, bytes));
            slots.push_back({0, bytes, ref, !reg});
        }
    }
    return slots;
}

// What a call takes by its function, its prototype or the first of its targets; null: not known.
const Signature* callee_of(const Call& call, const Program& program) {
    if (call.target == no_ref) return &program.functions[call.function].signature;
    if (call.prototype < program.prototypes.size()) return &program.prototypes[call.prototype];
    if (call.targets >= program.call_targets.size() || program.call_targets[call.targets].empty())
        return nullptr;
    return &program.functions[program.call_targets[call.targets].front()].signature;
}

}  // namespace

// call{.uni} (returns), target, (arguments) {, targets or prototype}
Expected<Draft> decode_call(FunctionDecoder& decoder, const MatchedInstruction& instruction) {
    const auto& operands = instruction.operands;
    const std::size_t target = operands[0].kind() == OperandKind::list ? 1 : 0;
    Call call;
    const std::string_view name = operands[target].text();
    if (const auto reg = decoder.find_register(name)) {
        call.target = *reg;
    } else if (const auto function = decoder.module().find_function(name)) {
        call.function = *function;
    } else {
        return fail(Errc::name_undeclared, operands[target].span(), fmt::format("function {}", name));
    }
    if (operands.size() > target + 1 && operands.back().kind() == OperandKind::identifier)
        if (const Symbol* const symbol = decoder.find(operands.back().text()); symbol != nullptr) {
            const auto number = static_cast<std::uint32_t>(symbol->address);
            if (symbol->kind == Symbol::Kind::prototype) call.prototype = number;
            if (symbol->kind == Symbol::Kind::call_targets) call.targets = number;
            if (isa::may_be_call_table(symbol->declared))
                call.targets = decoder.call_table(symbol->declared, operands.back().text());
        }
    const Signature* const callee = callee_of(call, decoder.program());
    const auto formal = [&](bool are_results) {
        if (callee == nullptr) return static_cast<const std::vector<Signature::Parameter>*>(nullptr);
        return are_results ? &callee->returns : &callee->parameters;
    };
    for (std::size_t i = 0; i < operands.size(); ++i) {
        if (operands[i].kind() != OperandKind::list || (i != 0 && i != target + 1)) continue;
        auto slots = TRY(decode_slots(decoder, operands[i], i < target, formal(i < target)));
        (i < target ? call.returns : call.arguments) = std::move(slots);
    }
    decoder.know_call();
    decoder.program().calls.push_back(std::move(call));
    return Draft(execute_call, static_cast<std::uint32_t>(decoder.program().calls.size() - 1));
}

// A call that is like the last one of its function that was found right; false when it must be decoded by
// itself.
bool FunctionDecoder::call(const TokenView& tokens, std::size_t at) {
    Call call;
    if (module_.takes_samples || module_.shapes.often == Shapes::never) return false;
    if (!read_plain_call(tokens, at, call) || *known_call_ != plain_call_) return false;
    program().calls.push_back(std::move(call));
    emit(Draft(execute_call, static_cast<std::uint32_t>(program().calls.size() - 1)));
    return true;
}

// {(results),} function {, (arguments)};
bool FunctionDecoder::read_plain_call(const TokenView& tokens, std::size_t at, Call& call) {
    plain_call_.opcode = tokens.text(0, at - 1);
    plain_call_.variables.clear();
    plain_call_.has_results = tokens.kind(at) == Lexeme::open_paren;
    if (plain_call_.has_results) {
        if (!read_variables(tokens, at, call.returns) || tokens.kind(at) != Lexeme::comma) return false;
        ++at;
    }
    if (tokens.kind(at) != Lexeme::identifier) return false;
    const std::string_view name = tokens.text(at++);
    plain_call_.has_arguments = tokens.kind(at) == Lexeme::comma;
    if (plain_call_.has_arguments && !read_variables(tokens, ++at, call.arguments)) return false;
    if (at + 1 != tokens.size()) return false;
    const auto function = module_.find_function(name);
    const auto [symbol, range, number] = scopes().find_register(name);
    if (!function || symbol != nullptr || range != nullptr) return false;
    call.function = *function;
    known_call_ = module_.known_call(name, span_.begin);
    return known_call_ != nullptr;
}

// `(a, b)`; `at` is behind it then.
bool FunctionDecoder::read_variables(const TokenView& tokens, std::size_t& at, std::vector<Slot>& slots) {
    if (tokens.kind(at++) != Lexeme::open_paren) return false;
    bool is_open = tokens.kind(at) != Lexeme::close_paren;
    at += is_open ? 0 : 1;
    for (; is_open; ++at) {
        if (tokens.kind(at) != Lexeme::identifier) return false;
        const Symbol* const symbol = scopes().find(tokens.text(at));
        if (symbol == nullptr || symbol->kind != Symbol::Kind::variable || !symbol->frame_relative ||
            !isa::is_of_a_call(symbol->declared))
            return false;
        const isa::Symbol& declared = symbol->declared;
        plain_call_.variables.push_back(
            {declared.type, declared.vector, declared.is_array, declared.align, declared.bytes});
        slots.push_back(
            {static_cast<std::uint32_t>(symbol->address), static_cast<std::uint32_t>(symbol->bytes), no_ref});
        is_open = tokens.kind(++at) == Lexeme::comma;
        if (!is_open && tokens.kind(at) != Lexeme::close_paren) return false;
    }
    return true;
}

}  // namespace ptxgraft::emulator
