// The text is parsed in a block of a function that declares the operands' registers, and walked once; what
// instructions may be, isa::verify says. The text's own braces balance (checked first), so nothing in it can
// end the function around it.

#include "stub/check.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "isa/special.hpp"
#include "ptxgraft/isa.hpp"
#include "ptxgraft/syntax.hpp"
#include "stub/outputs.hpp"
#include "syntax/scopes.hpp"

namespace ptxgraft::stub_check {
namespace {

using syntax::Operand;
using syntax::OperandKind;
using syntax::Statement;
using syntax::StatementKind;

// Without a target: which one the stub will be assembled for is not known.
constexpr std::string_view header = ".version 9.0\n.address_size 64\n.func ptxgraft_stub()\n{\n";
constexpr std::string_view after = "\n}\n}\n";
constexpr std::array markers = {"PTXGRAFT_SITE", "PTXGRAFT_STUB", "PTXGRAFT_END", "PTX_INJECT_START",
                                "PTX_INJECT_END"};
// Directives that belong to instructions, PTX ISA 9.7.12 and 11.4
constexpr std::array instruction_directives = {".pragma", ".branchtargets", ".callprototype", ".calltargets"};
// True for `%tid`, `%laneid`, `%envreg3` … (PTX ISA chapter 10), and for WARP_SZ.
bool is_special_register(std::string_view name) {
    return name == "WARP_SZ" || isa::find_special(name).has_value();
}

/// The register of an operand: one of its elements.
struct OperandRegister {
    std::size_t operand;
    std::uint32_t element;
};

/// Of a declared register, `operand` is the number of its declaration.
Outputs::Register number_of(OperandRegister r) { return Outputs::Register{r.operand} << 32 | r.element; }

/// The names that a walk over a stub's text sees: the operands' outside, the declared ones in nested scopes.
/// The signature and the declared names must outlive it.
class Names {
  public:
    /// What a name stands for: an operand's register, or one that the stub declares.
    struct Meaning {
        Outputs::Register reg = 0;
        std::optional<OperandRegister> operand = {};
    };

    explicit Names(const Signature& signature);

    void open() { scopes_.open(); }
    void close() { scopes_.close(); }
    /// Declares registers in the innermost scope. Refuses names that an operand or the same scope has.
    Expected<void> declare(const syntax::Statement::Variable& variable, Span place);
    /// Finds an operand by its register's name or its plain one, and declared registers; nothing for another
    /// name.
    [[nodiscard]] std::optional<Meaning> find(std::string_view name) const;
    /// The name of an operand's register, as the site has it.
    [[nodiscard]] std::string register_name(OperandRegister r) const;

  private:
    [[nodiscard]] bool hides_operand() const;

    const Signature& signature_;
    syntax::Scopes scopes_;  // an operand has its number in the signature, what is declared a larger one
    syntax::DeclarationIndex next_;
};

Names::Names(const Signature& signature)
    : signature_(signature), next_(static_cast<syntax::DeclarationIndex>(signature.operands.size())) {
    for (const auto name : {&SiteOperand::register_name, &SiteOperand::name})
        for (std::size_t o = 0; o < signature.operands.size(); ++o)
            scopes_.declare(signature.operands[o].*name, signature.operands[o].count,
                            static_cast<syntax::DeclarationIndex>(o));
}

Expected<void> Names::declare(const syntax::Statement::Variable& variable, Span place) {
    for (const auto& declarator : variable.declarators) {
        const auto clash = [&](std::string_view what) {
            return fail(Errc::name_redeclared, place,
                        std::string(declarator.name) + " is declared here and " + std::string(what));
        };
        const syntax::DeclarationIndex index = next_++;
        if (scopes_.declare(declarator.name, declarator.range, index) != index)
            return clash("declared before in the same scope");
        if (hides_operand()) return clash("is an operand of the site; take another name");
    }
    return {};
}

// Whether some operand's name means a register of the stub.
bool Names::hides_operand() const {
    const auto is_hidden = [this](const std::string& name) {
        return scopes_.find(name).declaration >= signature_.operands.size();
    };
    for (const SiteOperand& operand : signature_.operands)
        for (std::uint32_t e = 0; e < std::max<std::uint32_t>(operand.count, 1); ++e) {
            const std::string tail = operand.count == 0 ? "" : std::to_string(e);
            if (is_hidden(operand.register_name + tail) || is_hidden(operand.name + tail)) return true;
        }
    return false;
}

std::optional<Names::Meaning> Names::find(std::string_view name) const {
    if (const auto found = scopes_.find(name); found.declaration != syntax::no_declaration) {
        const OperandRegister r{found.declaration, found.element != syntax::whole_range ? found.element : 0};
        if (found.declaration >= signature_.operands.size()) return Meaning{number_of(r)};
        return Meaning{number_of(r), r};
    }
    const std::size_t dot = name.rfind('.');  // an element of a vector register: %v.x
    return dot == std::string_view::npos || dot + 2 != name.size() ? std::nullopt : find(name.substr(0, dot));
}

std::string Names::register_name(OperandRegister r) const {
    const SiteOperand& operand = signature_.operands[r.operand];
    return operand.register_name + (operand.count == 0 ? "" : std::to_string(r.element));
}

class Checker {
  public:
    Checker(const Signature& signature, const Policy& policy, std::uint32_t text_begin,
            std::uint32_t text_size)
        : signature_(signature),
          policy_(policy),
          text_begin_(text_begin),
          text_size_(text_size),
          names_(signature) {
        for (std::size_t o = 0; o < signature.operands.size(); ++o) {
            const SiteOperand& operand = signature.operands[o];
            for (std::uint32_t e = 0; e < std::max<std::uint32_t>(operand.count, 1); ++e)
                if (operand.direction == Direction::out) outputs_.add(number_of({o, e}));
        }
    }

    Expected<CheckedText> run(const syntax::Module& module) {
        source_ = module.source();
        const auto functions = module.functions();
        if (functions.empty())
            return fail(Errc::stub_brace_unbalanced, Span{}, "the text is not a sequence of instructions");
        const auto body = functions.front().body();
        const auto block = std::find_if(body.rbegin(), body.rend(), [](const Statement& statement) {
            return statement.kind() == StatementKind::block;
        });
        if (block == body.rend())
            return fail(Errc::stub_brace_unbalanced, Span{}, "the text is not a sequence of instructions");
        const auto walked = scope(block->body(), 0);
        if (!walked && is_too_deep_) return tl::unexpected(walked.error());
        if (const auto found = first_finding(module);
            found && (walked || found->span.begin < walked.error().span.begin))
            return tl::unexpected(*found);
        if (!walked) return tl::unexpected(walked.error());
        TRY(check_outputs(functions.front()));
        std::sort(result_.renames.begin(), result_.renames.end(),
                  [](const auto& a, const auto& b) { return a.begin < b.begin; });
        return std::move(result_);
    }

    // A place of the parsed module as a place of the text.
    [[nodiscard]] Span place(Span span) const {
        if (!span.known()) return span;
        const auto map = [&](std::uint32_t at) {
            return static_cast<std::uint32_t>(
                std::clamp<std::int64_t>(std::int64_t{at} - std::int64_t{text_begin_}, 0, text_size_));
        };
        return {map(span.begin), map(span.end)};
    }

  private:
    Expected<void> scope(const std::vector<Statement>& statements, std::uint32_t depth) {
        is_too_deep_ = depth > 64;
        if (is_too_deep_)
            return fail(Errc::stub_brace_unbalanced,
                        place(statements.empty() ? Span{} : statements[0].span()),
                        "more than 64 scopes stand in each other");
        names_.open();
        labels_.emplace_back();
        for (const Statement& s : statements)
            if (s.kind() == StatementKind::label && !labels_.back().insert(std::string(s.name())).second)
                return fail(Errc::name_redeclared, place(s.span()),
                            fmt::format("label {} stands twice", s.name()));
        for (const Statement& s : statements) TRY(statement(s, depth));
        labels_.pop_back();
        names_.close();
        return {};
    }

    Expected<void> statement(const Statement& s, std::uint32_t depth) {
        switch (s.kind()) {
            case StatementKind::instruction: return instruction(s);
            case StatementKind::block: return scope(s.body(), depth + 1);
            case StatementKind::variable: return variable(s);
            case StatementKind::label: return label(s);
            case StatementKind::end: return {};
            default: return directive(s);
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
                Errc::opcode_unknown, place(i.span),
                fmt::format("{}; what it may do is not known, so only a site that allows everything takes it",
                            i.opcode));
        }
        if (bits != 0 && i.has(".async"))
            bits = static_cast<std::uint16_t>(bits | static_cast<std::uint16_t>(Effect::barrier));
        return allow(static_cast<Effect>(bits), place(i.span), i.name);
    }

    Expected<void> instruction(const Statement& s) {
        const auto i = s.instruction();
        if (!i) return fail(Errc::stub_directive_forbidden, place(s.span()), "not an instruction");
        ++result_.instruction_count;
        TRY(effects(*i));
        const auto predicate = TRY(guard(*i));
        outputs_.begin(s.span().begin, std::nullopt);
        if (predicate) outputs_.read(predicate->predicate, i->span);
        outputs_.begin(s.span().begin, predicate);
        if (i->opcode == "bra") return branch(*i);
        for (std::size_t k = 0; k < i->operands.size(); ++k)
            TRY(operand(*i, i->operands[k], is_destination(*i, k)));
        for (const Outputs::Register reg : written_) outputs_.write(reg);
        written_.clear();
        if (ends_block(*i)) outputs_.jump();
        return {};
    }

    static bool ends_block(const syntax::Instruction& i) {
        return i.opcode == "brx" || i.opcode == "ret" || i.opcode == "exit" || i.opcode == "trap";
    }

    static bool is_destination(const syntax::Instruction& i, std::size_t k) {
        if (i.opcode == "call") return k == 0 && i.operands[0].kind() == OperandKind::list;
        return isa::access(i, k) != syntax::Access::read;
    }

    // What verify says of the instructions, as an error of the text.
    [[nodiscard]] std::optional<Error> first_finding(const syntax::Module& module) const {
        for (Error& finding : isa::verify(module)) {
            const bool is_in_text = finding.span.known() && finding.span.begin >= text_begin_ &&
                                    finding.span.begin < text_begin_ + text_size_;
            const bool may_be_newer = finding.code == Errc::opcode_unknown && policy_.allowed == Effect::all;
            // whether a name is one of the module around the site is seen in the walk
            if (!is_in_text || may_be_newer || finding.code == Errc::name_undeclared) continue;
            finding.span = place(finding.span);
            return std::move(finding);
        }
        return std::nullopt;
    }

    Expected<std::optional<Outputs::Guard>> guard(const syntax::Instruction& i) {
        if (!i.guard) return std::nullopt;
        const auto found = names_.find(i.guard->predicate);
        if (!found) return unknown(i.guard->predicate, i.span);
        const auto begin = static_cast<std::uint32_t>(i.guard->predicate.data() - source_.data());
        rename(*found, i.guard->predicate, place({begin, begin}).begin);
        return Outputs::Guard{found->reg, i.guard->negated};
    }

    Expected<void> branch(const syntax::Instruction& i) {
        for (const Operand& target : i.operands) {
            const auto known = [&](const auto& labels) {
                return labels.count(std::string(target.text())) != 0;
            };
            if (std::none_of(labels_.begin(), labels_.end(), known))
                return fail(Errc::label_undefined, place(target.span()),
                            fmt::format("unknown label {}: a stub branches to labels of its own only",
                                        target.text()));
        }
        outputs_.jump();
        return {};
    }

    tl::unexpected<Error> unknown(std::string_view name, Span where) const {
        std::string known;
        for (const SiteOperand& operand : signature_.operands)
            known += (known.empty() ? "; operands are " : ", ") + operand.register_name +
                     (operand.count == 0 ? "" : "0 …");
        return fail(Errc::stub_register_unknown, place(where),
                    fmt::format("{}: it is no operand and is not declared{}", name, known));
    }

    void rename(const Names::Meaning& found, std::string_view written, std::uint32_t begin) {
        if (!found.operand) return;
        std::string name = names_.register_name(*found.operand);
        if (written != name)
            result_.renames.push_back(
                {begin, begin + static_cast<std::uint32_t>(written.size()), std::move(name)});
    }

    // One operand, and the operands in it.
    Expected<void> operand(const syntax::Instruction& i, const Operand& o, bool is_write) {
        switch (o.kind()) {
            case OperandKind::identifier: return register_operand(i, o, is_write);
            case OperandKind::immediate:
            case OperandKind::sink: return {};
            case OperandKind::address: is_write = false; break;
            case OperandKind::sum: return symbol(o.base(), o);
            case OperandKind::element:
                TRY(symbol(o.base(), o));
                is_write = false;
                break;
            default: break;
        }
        for (const Operand& child : o.children()) TRY(operand_in(i, child, o, is_write));
        return {};
    }

    Expected<void> operand_in(const syntax::Instruction& i, const Operand& child, const Operand& parent,
                              bool is_write) {
        const bool is_symbol = parent.kind() == OperandKind::address || i.opcode == "call";
        if (is_symbol && child.kind() == OperandKind::identifier && !names_.find(child.text()))
            return symbol(child.text(), child);
        return operand(i, child, is_write);
    }

    // A name that may be a variable or function of the module: only a name with a % is certainly a register.
    Expected<void> symbol(std::string_view name, const Operand& o) {
        if (const auto found = names_.find(name)) {
            outputs_.read(found->reg, o.span());
            return rename(*found, name, place(o.span()).begin), Expected<void>{};
        }
        if (name.starts_with('%') && !is_special_register(name)) return unknown(name, o.span());
        return {};
    }

    Expected<void> register_operand(const syntax::Instruction& i, const Operand& o, bool is_write) {
        const auto found = names_.find(o.text());
        if (!found) {
            const bool may_be_symbol =
                (i.opcode == "mov" || i.opcode == "cvta" || i.opcode == "call" || i.opcode == "brx") &&
                !is_write && policy_.allowed != Effect::none;
            if (is_special_register(o.text()) && !is_write) return {};
            return may_be_symbol ? symbol(o.text(), o) : unknown(o.text(), o.span());
        }
        rename(*found, o.text(), place(o.span()).begin);
        if (!is_write) return outputs_.read(found->reg, o.span()), Expected<void>{};
        written_.push_back(found->reg);
        if (found->operand && signature_.operands[found->operand->operand].direction == Direction::in)
            return fail(Errc::stub_input_written, place(o.span()), std::string(o.text()));
        return {};
    }

    Expected<void> check_outputs(const Statement& function) const {
        const auto problem = outputs_.find_problem(
            outputs_.has_jumps() ? syntax::basic_blocks(function)
                                 : std::vector<syntax::BasicBlock>{{function.span(), function.span()}});
        if (!problem) return {};
        const std::string name =
            names_.register_name({problem->output >> 32, static_cast<std::uint32_t>(problem->output)});
        const auto say = [&](std::string_view what) {
            return fail(Errc::stub_output_not_written, Span{0, text_size_},
                        fmt::format("the `out` operand {} is {}", name, what));
        };
        switch (problem->kind) {
            case Outputs::Problem::Kind::read:
                return fail(Errc::stub_output_read, place(problem->where), name);
            case Outputs::Problem::Kind::never_written: return say("never written");
            case Outputs::Problem::Kind::guarded:
                return say("written only under a guard: write it without one first");
            case Outputs::Problem::Kind::on_some_paths:
                return say("not written on every path: write it before the first branch");
        }
        return {};
    }

    Outputs outputs_;
    std::vector<Outputs::Register> written_;  // by the instruction that is looked at
    const Signature& signature_;
    const Policy& policy_;
    std::string_view source_;
    std::uint32_t text_begin_, text_size_;
    bool is_too_deep_ = false;
    Names names_;
    std::vector<std::set<std::string, std::less<>>> labels_;
    CheckedText result_;
};

// Braces of the text alone: they never close more than they opened, and all are closed.
Expected<void> check_braces(std::string_view text) {
    const auto tokens = TRY(syntax::tokenize(text));
    std::vector<std::uint32_t> open;
    for (const syntax::Token& token : tokens) {
        if (token.kind != syntax::TokenKind::punctuation) continue;
        if (token.text == "{") open.push_back(token.offset);
        if (token.text != "}") continue;
        if (open.empty())
            return fail(Errc::stub_brace_unbalanced, Span{token.offset, token.offset + 1},
                        "} closes no brace of the stub");
        open.pop_back();
    }
    if (!open.empty())
        return fail(Errc::stub_brace_unbalanced, Span{open.back(), open.back() + 1}, "{ is not closed");
    return {};
}

// What stands before the text: declarations of the operands, by their registers' names and by their plain
// ones.
std::string before(const Signature& signature) {
    std::string text(header);
    std::set<std::string> names;
    const auto declare = [&](const std::string& name, Type type) {
        if (names.insert(name).second) text += fmt::format(".reg {} {};\n", register_type(type), name);
    };
    for (const bool plainly : {false, true}) {
        for (const SiteOperand& operand : signature.operands) {
            const std::string& stem = plainly ? operand.name : operand.register_name;
            if (operand.count == 0) declare(stem, operand.type);
            for (std::uint32_t e = 0; e < operand.count; ++e) declare(stem + std::to_string(e), operand.type);
        }
    }
    return text + "{\n";
}

}  // namespace

Expected<CheckedText> check_text(std::string_view text, const Signature& signature, const Policy& policy) {
    const std::string frame = before(signature);
    if (text.size() >= Span::none - frame.size() - after.size()) return fail(Errc::text_too_large);
    for (const std::string_view marker : markers)
        if (const std::size_t at = text.find(marker); at != std::string_view::npos)
            return fail(Errc::stub_marker_forbidden,
                        Span{static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + marker.size())},
                        std::string(marker));
    TRY(check_braces(text));
    Checker checker(signature, policy, static_cast<std::uint32_t>(frame.size()),
                    static_cast<std::uint32_t>(text.size()));
    auto module = syntax::parse(fmt::format("{}{}{}", frame, text, after));
    if (!module) {
        Error error = module.error();
        error.span = checker.place(error.span);
        return tl::unexpected(std::move(error));
    }
    return checker.run(*module);
}

}  // namespace ptxgraft::stub_check
