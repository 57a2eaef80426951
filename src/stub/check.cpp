// The text is parsed as the body of a function and walked once. The text's own braces balance (checked
// first), so nothing in it can end the function around it.

#include "stub/check.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "ptxgraft/isa.hpp"
#include "ptxgraft/syntax.hpp"
#include "stub/registers.hpp"

namespace ptxgraft {
namespace {

using syntax::Operand;
using syntax::OperandKind;
using syntax::Statement;
using syntax::StatementKind;

constexpr std::string_view before =
    ".version 9.0\n.target sm_100a\n.address_size 64\n.func ptxgraft_stub()\n{\n";
constexpr std::string_view after = "\n}\n";
constexpr std::array markers = {"PTXGRAFT_SITE", "PTXGRAFT_STUB", "PTXGRAFT_END", "PTX_INJECT_START",
                                "PTX_INJECT_END"};
// Directives that belong to instructions, PTX ISA 9.7.12 and 11.4
constexpr std::array instruction_directives = {".pragma", ".branchtargets", ".callprototype", ".calltargets"};
// Opcodes whose first operand, where it is a register, is read
constexpr std::array no_destination = {"bar",          "barrier",   "bra",     "brx",        "cp",
                                       "discard",      "nanosleep", "pmevent", "setmaxnreg", "st",
                                       "stackrestore", "red",       "sust"};

struct Writes {
    bool always = false;
    std::set<std::string, std::less<>> if_true, if_false;  // values of guards
};

class Checker {
  public:
    Checker(const Signature& signature, const Policy& policy, std::uint32_t text_size)
        : signature_(signature),
          policy_(policy),
          text_size_(text_size),
          names_(signature),
          written_(signature.operands.size()) {
        for (std::size_t o = 0; o < written_.size(); ++o)
            written_[o].resize(std::max<std::uint32_t>(signature.operands[o].count, 1));
    }

    Expected<CheckedText> run(const syntax::Module& module) {
        source_ = module.source();
        const auto functions = module.functions();
        if (functions.empty())
            return fail(Errc::stub_unbalanced_brace, Span{}, "the text is not a sequence of instructions");
        if (auto done = scope(functions.front().body(), 0); !done) return tl::unexpected(done.error());
        if (auto done = check_outputs(); !done) return tl::unexpected(done.error());
        std::sort(result_.renames.begin(), result_.renames.end(),
                  [](const auto& a, const auto& b) { return a.begin < b.begin; });
        return std::move(result_);
    }

  private:
    // A place of the parsed module as a place of the text.
    [[nodiscard]] Span place(Span span) const {
        if (!span.known()) return span;
        const auto map = [&](std::uint32_t at) {
            return static_cast<std::uint32_t>(
                std::clamp<std::int64_t>(std::int64_t{at} - std::int64_t(before.size()), 0, text_size_));
        };
        return {map(span.begin), map(span.end)};
    }

    Expected<void> scope(const std::vector<Statement>& statements, std::uint32_t depth) {
        if (depth > 64)
            return fail(Errc::stub_unbalanced_brace,
                        place(statements.empty() ? Span{} : statements[0].span()),
                        "more than 64 scopes stand in each other");
        names_.open();
        labels_.emplace_back();
        for (const Statement& s : statements)
            if (s.kind() == StatementKind::label && !labels_.back().insert(std::string(s.name())).second)
                return fail(Errc::stub_name_clash, place(s.span()),
                            fmt::format("label {} stands twice", s.name()));
        for (const Statement& s : statements)
            if (auto done = statement(s, depth); !done) return done;
        labels_.pop_back();
        names_.close();
        return {};
    }

    Expected<void> statement(const Statement& s, std::uint32_t depth) {
        switch (s.kind()) {
            case StatementKind::instruction:
                return instruction(s);
            case StatementKind::block:
                return scope(s.body(), depth + 1);
            case StatementKind::variable:
                return variable(s);
            case StatementKind::label:
                return label(s);
            case StatementKind::end:
                return {};
            default:
                return directive(s);
        }
    }

    Expected<void> label(const Statement& s) {
        result_.needs_scope = true;
        return allow(Effect::branch, place(s.span()), "a label");
    }

    Expected<void> variable(const Statement& s) {
        const auto declared = s.variable();
        const bool is_register = declared && declared->space == ".reg" && declared->linkage.empty();
        const bool is_argument =
            declared && declared->space == ".param" && contains(policy_.allowed, Effect::call);
        if (!is_register && !is_argument)
            return fail(Errc::stub_directive_forbidden, place(s.span()),
                        "a stub declares registers (.reg) only");
        result_.needs_scope = true;
        return names_.declare(*declared, place(s.span()));
    }

    Expected<void> directive(const Statement& s) {
        const auto tokens = s.tokens();
        const std::string_view word = tokens.empty() ? std::string_view{} : tokens.front().text;
        if (std::find(instruction_directives.begin(), instruction_directives.end(), word) !=
            instruction_directives.end())
            return {};
        return fail(
            Errc::stub_directive_forbidden, place(s.span()),
            fmt::format("{} cannot stand in a stub: it holds instructions, labels, .reg and scopes", word));
    }

    Expected<void> allow(Effect effect, Span where, std::string_view what) {
        result_.effects = result_.effects | effect;
        const auto missing = static_cast<std::uint16_t>(static_cast<std::uint16_t>(effect) &
                                                        ~static_cast<std::uint16_t>(policy_.allowed));
        if (missing == 0) return {};
        const auto first = static_cast<Effect>(missing & (0u - missing));
        return fail(Errc::stub_effect_forbidden, where,
                    fmt::format("the site's policy forbids {}: it does not allow `{}`", what, name(first)));
    }

    Expected<void> effects(const syntax::Instruction& i) {
        std::uint16_t bits = isa::effects(i.opcode);
        if (bits == isa::unknown_opcode) {
            if (policy_.allowed == Effect::all) return {};
            return fail(
                Errc::stub_unknown_opcode, place(i.span),
                fmt::format("{}; what it may do is not known, so only a site that allows everything takes it",
                            i.opcode));
        }
        if (bits != 0 && i.has(".async"))
            bits = static_cast<std::uint16_t>(bits | static_cast<std::uint16_t>(Effect::barrier));
        return allow(static_cast<Effect>(bits), place(i.span), i.name);
    }

    Expected<void> instruction(const Statement& s) {
        const auto i = s.instruction();
        if (!i) return fail(Errc::stub_bad_operand, place(s.span()), "not an instruction");
        ++result_.instruction_count;
        if (auto done = effects(*i); !done) return done;
        if (i->guard)
            if (auto done = guard(*i); !done) return done;
        if (i->opcode == "bra") return branch(*i);
        const isa::Form* form = isa::find(i->name);
        if (form)
            if (auto done = count(*i, *form); !done) return done;
        for (std::size_t k = 0; k < i->operands.size(); ++k)
            if (auto done = operand(*i, i->operands[k],
                                    form && k < form->operands.size() ? &form->operands[k] : nullptr,
                                    is_destination(*i, k, form));
                !done)
                return done;
        return {};
    }

    static bool is_destination(const syntax::Instruction& i, std::size_t k, const isa::Form* form) {
        if (form) return k < form->operands.size() && form->operands[k].is_output;
        if (k != 0 || i.operands.size() < 2)
            return k == 0 && i.operands.size() == 1 && i.opcode == "activemask";
        if (i.opcode == "tcgen05") return i.has(".ld");
        if (i.opcode == "call") return i.operands[0].kind() == OperandKind::list;
        return std::find(no_destination.begin(), no_destination.end(), i.opcode) == no_destination.end();
    }

    // min.f32 and max.f32 have a form with three inputs as well (PTX ISA 9.7.3.11)
    Expected<void> count(const syntax::Instruction& i, const isa::Form& form) const {
        const bool three_inputs =
            (i.opcode == "min" || i.opcode == "max") && i.name.ends_with(".f32") && i.operands.size() == 4;
        if (i.operands.size() == form.operands.size() || three_inputs) return {};
        return fail(Errc::stub_operand_count, place(i.span),
                    fmt::format("{} takes {} operands, {} stand here", form.name, form.operands.size(),
                                i.operands.size()));
    }

    Expected<void> guard(const syntax::Instruction& i) {
        const Name* found = names_.find(i.guard->predicate);
        if (!found) return unknown(i.guard->predicate, i.span);
        if (found->type && *found->type != Type::pred)
            return fail(Errc::stub_operand_type, place(i.span),
                        fmt::format("the guard {} is {}, not pred", i.guard->predicate, name(*found->type)));
        const auto begin = static_cast<std::uint32_t>(i.guard->predicate.data() - source_.data());
        rename(*found, i.guard->predicate, place({begin, begin}).begin);
        return {};
    }

    Expected<void> branch(const syntax::Instruction& i) {
        for (const Operand& target : i.operands) {
            const auto known = [&](const auto& labels) {
                return labels.count(std::string(target.text())) != 0;
            };
            if (std::none_of(labels_.begin(), labels_.end(), known))
                return fail(Errc::stub_unknown_label, place(target.span()),
                            fmt::format("{}: a stub branches to labels of its own only", target.text()));
        }
        return {};
    }

    tl::unexpected<Error> unknown(std::string_view name, Span where) const {
        std::string known;
        for (const SiteOperand& operand : signature_.operands)
            known += (known.empty() ? "; operands are " : ", ") + operand.register_name +
                     (operand.count == 0 ? "" : "0 …");
        return fail(Errc::stub_unknown_register, place(where),
                    fmt::format("{}: it is no operand and is not declared{}", name, known));
    }

    void rename(const Name& found, std::string_view written, std::uint32_t begin) {
        if (found.operand && written != found.register_name)
            result_.renames.push_back(
                {begin, begin + static_cast<std::uint32_t>(written.size()), found.register_name});
    }

    // One operand, and the operands in it. `spec` is known for the forms of the table.
    Expected<void> operand(const syntax::Instruction& i, const Operand& o, const isa::OperandSpec* spec,
                           bool is_write) {
        switch (o.kind()) {
            case OperandKind::identifier:
                return register_operand(i, o, spec, is_write);
            case OperandKind::immediate:
                return immediate(i, o, spec, is_write);
            case OperandKind::sink:
                return {};
            case OperandKind::address:
                is_write = false;
                spec = nullptr;
                break;
            case OperandKind::vector:
                spec = nullptr;
                break;
            case OperandKind::sum:
                return symbol(o.base(), o);
            default:
                break;
        }
        for (const Operand& child : o.children())
            if (auto done = operand_in(i, child, o, spec, is_write); !done) return done;
        return {};
    }

    Expected<void> operand_in(const syntax::Instruction& i, const Operand& child, const Operand& parent,
                              const isa::OperandSpec* spec, bool is_write) {
        const bool is_symbol = parent.kind() == OperandKind::address || i.opcode == "call";
        if (is_symbol && child.kind() == OperandKind::identifier && !names_.find(child.text()))
            return symbol(child.text(), child);
        return operand(i, child, spec, is_write);
    }

    // A name that may be a variable or function of the module: only a name with a % is certainly a register.
    Expected<void> symbol(std::string_view name, const Operand& o) {
        if (const Name* found = names_.find(name))
            return rename(*found, name, place(o.span()).begin), Expected<void>{};
        if (name.starts_with('%') && !is_special_register(name)) return unknown(name, o.span());
        return {};
    }

    Expected<void> register_operand(const syntax::Instruction& i, const Operand& o,
                                    const isa::OperandSpec* spec, bool is_write) {
        const Name* found = names_.find(o.text());
        if (!found) {
            const bool may_be_symbol =
                (i.opcode == "mov" || i.opcode == "cvta" || i.opcode == "call" || i.opcode == "brx") &&
                !is_write && policy_.allowed != Effect::none;
            if (is_special_register(o.text()) && !is_write) return {};
            return may_be_symbol ? symbol(o.text(), o) : unknown(o.text(), o.span());
        }
        rename(*found, o.text(), place(o.span()).begin);
        if (spec)
            if (auto done = check_type(i, o, *spec, *found); !done) return done;
        auto done = is_write && found->operand ? write(i, o, *found->operand) : Expected<void>{};
        if (is_write) ++register_writes_[std::string(o.text())];
        return done;
    }

    // PTX ISA 9.4.1: cvt takes registers wider than its types
    Expected<void> check_type(const syntax::Instruction& i, const Operand& o, const isa::OperandSpec& spec,
                              const Name& found) const {
        if (spec.is_immediate)
            return fail(Errc::stub_operand_type, place(o.span()),
                        fmt::format("{} takes an immediate here, not {}", i.name, o.text()));
        if (!found.type || spec.type == isa::OperandType::other) return {};
        const auto wanted = static_cast<Type>(spec.type);
        if ((spec.is_exact ? wanted == *found.type : agree(wanted, *found.type)) ||
            (i.opcode == "cvt" && bits(*found.type) > bits(wanted) && bits(wanted) > 1))
            return {};
        return fail(
            Errc::stub_operand_type, place(o.span()),
            fmt::format("{} takes {} here; {} is {}", i.name, name(wanted), o.text(), name(*found.type)));
    }

    // PTX ISA 9.4: bits agree with all types of their size, signed with unsigned
    static bool agree(Type a, Type b) {
        if (a == b) return true;
        if (bits(a) != bits(b) || a == Type::pred || b == Type::pred) return false;
        const auto first = [](Type t) { return register_type(t)[1]; };  // b, u, s or f
        const char x = first(a), y = first(b);
        return x == 'b' || y == 'b' || (x != 'f' && y != 'f');
    }

    Expected<void> immediate(const syntax::Instruction& i, const Operand& o, const isa::OperandSpec* spec,
                             bool is_write) const {
        if (is_write)
            return fail(Errc::stub_bad_operand, place(o.span()),
                        fmt::format("{} writes this operand; {} is an immediate", i.name, o.text()));
        if (!spec) return {};
        const bool is_float = syntax::parse_float(o.text()).has_value() && !syntax::parse_integer(o.text());
        const bool wants_float = spec->type == isa::OperandType::f32;
        if (is_float && !wants_float && spec->type != isa::OperandType::b32)
            return fail(Errc::stub_operand_type, place(o.span()),
                        fmt::format("{} takes an integer here, not {}", i.name, o.text()));
        if (!is_float && wants_float && syntax::parse_integer(o.text()))
            return fail(Errc::stub_operand_type, place(o.span()),
                        fmt::format("{} takes an f32 here; write {}.0 or 0f3F800000", i.name, o.text()));
        return {};
    }

    Expected<void> write(const syntax::Instruction& i, const Operand& o, OperandRegister target) {
        const SiteOperand& operand = signature_.operands[target.operand];
        if (operand.direction == Direction::in)
            return fail(Errc::stub_input_written, place(o.span()),
                        fmt::format("{} is an `in` operand: it cannot be written", o.text()));
        Writes& writes = written_[target.operand][target.element];
        if (!i.guard)
            writes.always = true;
        else
            (i.guard->negated ? writes.if_false : writes.if_true).insert(guard_value(i.guard->predicate));
        return {};
    }

    // A guard's name and how often it had been written: two guards are of one value only where both agree.
    [[nodiscard]] std::string guard_value(std::string_view predicate) const {
        const auto writes = register_writes_.find(predicate);
        return fmt::format("{} {}", predicate, writes == register_writes_.end() ? 0 : writes->second);
    }

    // An `out` is written by an instruction without a guard, or by two with guards of which one holds.
    Expected<void> check_outputs() const {
        for (std::size_t o = 0; o < written_.size(); ++o) {
            if (signature_.operands[o].direction != Direction::out) continue;
            for (std::size_t e = 0; e < written_[o].size(); ++e) {
                const Writes& writes = written_[o][e];
                const auto also_false = [&](const std::string& guard) {
                    return writes.if_false.count(guard) != 0;
                };
                if (writes.always || std::any_of(writes.if_true.begin(), writes.if_true.end(), also_false))
                    continue;
                const std::string written = signature_.operands[o].register_name +
                                            (signature_.operands[o].count == 0 ? "" : std::to_string(e));
                const bool is_guarded = !writes.if_true.empty() || !writes.if_false.empty();
                return fail(Errc::stub_output_not_written, Span{0, text_size_},
                            fmt::format("the `out` operand {} is {}", written,
                                        is_guarded ? "written only under a guard: write it without one first"
                                                   : "never written"));
            }
        }
        return {};
    }

    std::map<std::string, std::uint32_t, std::less<>> register_writes_;
    const Signature& signature_;
    const Policy& policy_;
    std::string_view source_;
    std::uint32_t text_size_;
    Names names_;
    std::vector<std::set<std::string, std::less<>>> labels_;
    std::vector<std::vector<Writes>> written_;
    CheckedText result_;
};

// Braces of the text alone: they never close more than they opened, and all are closed.
Expected<void> check_braces(std::string_view text) {
    const auto tokens = syntax::tokenize(text);
    if (!tokens) return tl::unexpected(tokens.error());
    std::vector<std::uint32_t> open;
    for (const syntax::Token& token : *tokens) {
        if (token.kind != syntax::TokenKind::punctuation) continue;
        if (token.text == "{") open.push_back(token.offset);
        if (token.text != "}") continue;
        if (open.empty())
            return fail(Errc::stub_unbalanced_brace, Span{token.offset, token.offset + 1},
                        "} closes no brace of the stub");
        open.pop_back();
    }
    if (!open.empty())
        return fail(Errc::stub_unbalanced_brace, Span{open.back(), open.back() + 1}, "{ is not closed");
    return {};
}

}  // namespace

Expected<CheckedText> check_text(std::string_view text, const Signature& signature, const Policy& policy) {
    if (text.size() >= Span::none - before.size() - after.size()) return fail(Errc::text_too_large);
    for (const std::string_view marker : markers)
        if (const std::size_t at = text.find(marker); at != std::string_view::npos)
            return fail(
                Errc::stub_marker,
                Span{static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + marker.size())},
                fmt::format("{} marks a site; it cannot stand in a stub, not even in a comment", marker));
    if (auto balanced = check_braces(text); !balanced) return tl::unexpected(balanced.error());
    const auto size = static_cast<std::uint32_t>(text.size());
    auto module = syntax::parse(fmt::format("{}{}{}", before, text, after));
    if (!module) {
        Error error = module.error();
        const auto shift = static_cast<std::uint32_t>(before.size());
        if (error.span.known())
            error.span = {std::min(std::max(error.span.begin, shift) - shift, size),
                          std::min(std::max(error.span.end, shift) - shift, size)};
        return tl::unexpected(std::move(error));
    }
    return Checker(signature, policy, size).run(*module);
}

}  // namespace ptxgraft
