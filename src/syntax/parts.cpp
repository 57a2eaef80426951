// Edits of the parts of an instruction: its text is put together anew around the part, and must then have
// exactly that part in that place.

#include "base/try.hpp"
#include "syntax/editor.hpp"

namespace ptxgraft::syntax {
namespace {

// An instruction's text with [begin, end) replaced.
std::string with(std::string_view text, std::string_view part, std::string_view replacement) {
    const auto begin = static_cast<std::size_t>(part.data() - text.data());
    return std::string(text.substr(0, begin)).append(replacement).append(text.substr(begin + part.size()));
}

tl::unexpected<Error> out_of_range(std::string_view what, std::size_t count, std::size_t index) {
    return fail(Errc::argument_invalid, std::string("the instruction has ")
                                            .append(std::to_string(count))
                                            .append(" ")
                                            .append(what)
                                            .append("; there is none of index ")
                                            .append(std::to_string(index)));
}

tl::unexpected<Error> not_one(std::string_view what, std::string_view text) {
    return fail(Errc::argument_invalid, Span{0, static_cast<std::uint32_t>(text.size())},
                std::string("'").append(text.substr(0, 60)).append("' is not ").append(what));
}

bool is_token(std::string_view text, TokenKind kind) {
    const auto tokens = tokenize(text);
    return tokens && tokens->size() == 1 && tokens->front().kind == kind && tokens->front().text == text;
}

}  // namespace

// The text of an instruction in the module, which its views point into.
Expected<std::string_view> Module::instruction_text(Statement at) const {
    if (!owns(at)) return not_here();
    if (at.kind() != StatementKind::instruction)
        return fail(Errc::argument_invalid, "the statement is no instruction");
    const Node& n = *at.node();
    return data_->text.at(data_->tokens[n.first_token].begin, data_->end_of(n));
}

// Tries a text whose instruction must look like `shape`; otherwise nothing has changed.
Expected<void> Module::reshape(Statement at, const std::string& text, std::size_t modifiers,
                               std::size_t operands) {
    const auto trial = parse(std::string(".func f{").append(text).append("}"));
    if (!trial) return tl::unexpected<Error>(Error{trial.error().code, {}, 0, trial.error().detail, {}});
    const auto body = trial->functions().front().body();
    const auto made = body.size() == 1 ? body.front().instruction() : std::nullopt;
    if (!made || made->modifiers.size() != modifiers || made->operands.size() != operands)
        return fail(Errc::argument_invalid, "the new text is not exactly one part of the instruction");
    return Editor(*data_).rewrite(at.node_, text);
}

Expected<void> Module::set_opcode(Statement at, std::string_view opcode) {
    const auto text = TRY(instruction_text(at));
    if (!is_identifier(opcode)) return not_one("an opcode", opcode);
    const Instruction i = *at.instruction();
    return reshape(at, with(text, i.opcode, opcode), i.modifiers.size(), i.operands.size());
}

Expected<void> Module::set_modifier(Statement at, std::size_t index, std::string_view modifier) {
    const auto text = TRY(instruction_text(at));
    if (!modifier.empty() && !is_token(modifier, TokenKind::directive))
        return not_one("one modifier, as .rn", modifier);
    const Instruction i = *at.instruction();
    if (index >= i.modifiers.size()) return out_of_range("modifiers", i.modifiers.size(), index);
    return reshape(at, with(text, i.modifiers[index], modifier), i.modifiers.size() - modifier.empty(),
                   i.operands.size());
}

Expected<void> Module::insert_modifier(Statement at, std::size_t index, std::string_view modifier) {
    const auto text = TRY(instruction_text(at));
    if (!is_token(modifier, TokenKind::directive)) return not_one("one modifier, as .rn", modifier);
    const Instruction i = *at.instruction();
    if (index > i.modifiers.size()) return out_of_range("modifiers", i.modifiers.size(), index);
    // Directly behind the word before it.
    const std::string_view before = index == 0 ? i.opcode : i.modifiers[index - 1];
    return reshape(at, with(text, before.substr(before.size()), modifier), i.modifiers.size() + 1,
                   i.operands.size());
}

Expected<void> Module::set_operand(Statement at, std::size_t index, std::string_view operand) {
    const auto text = TRY(instruction_text(at));
    const Instruction i = *at.instruction();
    if (index >= i.operands.size()) return out_of_range("operands", i.operands.size(), index);
    const auto tokens = tokenize(operand);
    if (!tokens || tokens->empty()) return not_one("an operand", operand);
    return reshape(at, with(text, i.operands[index].text(), operand), i.modifiers.size(), i.operands.size());
}

Expected<void> Module::set_guard(Statement at, std::string_view guard) {
    const auto text = TRY(instruction_text(at));
    const std::string_view predicate = guard.starts_with('!') ? guard.substr(1) : guard;
    if (!guard.empty() && !is_identifier(predicate)) return not_one("a guard, as %p1 or !%p1", guard);
    const Instruction i = *at.instruction();
    const auto opcode = static_cast<std::size_t>(i.opcode.data() - text.data());
    const std::string_view old = i.guard ? text.substr(0, opcode) : text.substr(0, 0);
    const std::string wanted = guard.empty() ? std::string() : std::string("@").append(guard).append(" ");
    // Only the predicate changes where there was a guard: blanks and comments behind it stay.
    if (i.guard && !guard.empty()) {
        const auto end =
            static_cast<std::size_t>(i.guard->predicate.data() - text.data()) + i.guard->predicate.size();
        return reshape(at, std::string("@").append(guard).append(text.substr(end)), i.modifiers.size(),
                       i.operands.size());
    }
    return reshape(at, with(text, old, wanted), i.modifiers.size(), i.operands.size());
}

}  // namespace ptxgraft::syntax
