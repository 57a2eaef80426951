#pragma once
/// @file explain.hpp
/// Why a name and operands are no instruction of PTX, and what would be right: constant expressions as those
/// of check.hpp, which are asked first.

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "ptxgraft/dsl/check.hpp"

namespace ptxgraft::dsl {

/// What is wrong with an instruction.
struct InstructionProblem {
    Errc code = Errc::ok;
    int operand = -1;  ///< counted from 0; -1: the instruction as a whole
    isa::Message message = {};
};

/// Why find_form has no row. The message names the operand (counted from 1), what it is, what is expected,
/// and the form that most of the operands fit; of a wrong name the nearest ones.
[[nodiscard]] constexpr InstructionProblem explain(std::string_view name, std::span<const Shape> operands,
                                                   Target target = {});
/// Its two parts, as a compiler may take so many steps in one expression and no more: what is wrong with the
/// operands of a name that some row takes, Errc::ok if none does; and what is wrong with such a name.
[[nodiscard]] constexpr InstructionProblem explain_operands(std::string_view name,
                                                            std::span<const Shape> operands,
                                                            Target target = {});
[[nodiscard]] constexpr InstructionProblem explain_name(std::string_view name);

// ---- what follows is how

namespace checking {

constexpr void add_type(isa::Message& to, Type type) {
    to.add(type < Type::none ? syntax::row(type).word : "no known type");
}

constexpr void add_found(isa::Message& to, const Shape& s) {
    switch (s.kind) {
        case ShapeKind::reg: add_type(to.add("a register of "), s.type); return;
        case ShapeKind::integer:
            if (s.has_value && !s.is_unsigned)
                to.add("the constant ").add(s.value);
            else
                to.add("an integer constant");
            return;
        case ShapeKind::floating: add_type(to.add("a constant of "), s.type); return;
        case ShapeKind::special: add_type(to.add("a special register of "), s.type); return;
        case ShapeKind::special_vector: to.add("a special register without .x, .y or .z"); return;
        case ShapeKind::variable: to.add("a variable in ").add(syntax::row(s.space).word); return;
        case ShapeKind::function: to.add("a function"); return;
        case ShapeKind::label: to.add("a label"); return;
        case ShapeKind::targets: to.add("a list of targets"); return;
        case ShapeKind::prototype: to.add("a prototype"); return;
        case ShapeKind::texture: to.add("a .texref"); return;
        case ShapeKind::sampler: to.add("a .samplerref"); return;
        case ShapeKind::surface: to.add("a .surfref"); return;
        case ShapeKind::sink: to.add("'_'"); return;
        case ShapeKind::negated: to.add("a negated predicate"); return;
        case ShapeKind::minus: to.add("a register with a minus"); return;
        case ShapeKind::selector:
            add_type(to.add("the part ").add(s.part).add(" of a register of "), s.type);
            return;
        case ShapeKind::sum: to.add("a register with an offset"); return;
        case ShapeKind::vector: to.add("a vector of ").add(std::int64_t{s.count}); return;
        case ShapeKind::pair: to.add("a pair a|b"); return;
        case ShapeKind::address: to.add("an address in brackets"); return;
        case ShapeKind::list: to.add("a list in parentheses"); return;
        case ShapeKind::invalid: to.add("what is no operand"); return;
    }
}

constexpr void add_wanted(isa::Message& to, const OperandRule& r, const Match& match) {
    if (r.kind == RuleKind::vector && (match.count(r.count) != 1 || r.needs_braces)) {
        to.add("a vector of ").add(std::int64_t{match.count(r.count)});
        to.add(match.count(r.count) == 1 ? " register of " : " registers of ");
        return add_type(to, match.type(r.type));
    }
    if (r.kind == RuleKind::base) {
        to.add(r.is_exact ? "a register of .b32" : "a register of 32");
        to.add(r.is_exact ? "" : r.register_only ? " bits" : " or 64 bits, or a variable,");
        return;
    }
    if (r.kind != RuleKind::value && r.kind != RuleKind::vector) {
        to.add(isa::rule_text(r));
        return;
    }
    if (r.constant_only) {
        to.add(r.takes_sink ? "'_'" : "an integer constant");
        return;
    }
    const Type type = match.type(r.type);
    add_type(to.add("a register of "), type);
    if (r.is_wide) to.add(" or wider");
    const isa::TypeInfo& info = isa::info(type);
    const bool takes_none =
        info.kind == TypeClass::packed || (info.kind == TypeClass::floating && info.bits == 16);
    if (r.is_output || r.register_only || takes_none) return;
    to.add(info.kind == TypeClass::integer ? " or an integer constant" : " or a constant");
    if (info.kind == TypeClass::floating) add_type(to.add(" of "), type);
    if (info.kind == TypeClass::bits) to.add(" of ").add(std::int64_t{info.bits}).add(" bits");
}

// The special register nearest to a name.
constexpr std::string_view nearest_special(std::string_view name) {
    isa::Nearest nearest(name.substr(0, name.find('.')));
    for (const isa::SpecialRegister& one : isa::table_special) nearest.offer(one.name);
    return nearest.found();
}

constexpr void add_range(isa::Message& to, const isa::Range& range) {
    const bool is_one = range.values.empty()
                            ? range.low == range.high
                            : std::all_of(range.values.begin(), range.values.end(),
                                          [&](std::int64_t v) { return v == range.values.front(); });
    if (is_one) {
        to.add("it is always ").add(range.values.empty() ? range.low : range.values.front());
        return;
    }
    if (!range.values.empty()) {
        to.add("one of");
        for (std::size_t i = 0; i < range.values.size(); ++i)
            to.add(i == 0 ? " " : ", ").add(range.values[i]);
        return;
    }
    to.add(range.low).add(" to ").add(range.high);
    if (range.step != 1) to.add(", a multiple of ").add(range.step);
}

constexpr Errc code_of(Fault fault) {
    switch (fault) {
        case Fault::count: return Errc::operand_count_wrong;
        case Fault::type:
        case Fault::width:
        case Fault::constant_kind: return Errc::operand_type_wrong;
        case Fault::constant_size:
        case Fault::range: return Errc::immediate_out_of_range;
        case Fault::length: return Errc::vector_length_wrong;
        case Fault::space: return Errc::state_space_mismatch;
        case Fault::special:
        case Fault::written:
        case Fault::no_special: return Errc::special_register_invalid;
        default: return Errc::operand_kind_wrong;
    }
}

constexpr void add_count(isa::Message& to, std::size_t count, std::string_view of) {
    if (count == 0)
        to.add("no ");
    else
        to.add(static_cast<std::int64_t>(count)).add(" ");
    to.add(of).add(count == 1 ? "" : "s");
}
constexpr void add_counts(isa::Message& to, std::size_t found, std::size_t wanted, std::string_view of) {
    add_count(to, found, of);
    to.add(", but the form has ");
    if (wanted == 0)
        to.add("none");
    else
        to.add(static_cast<std::int64_t>(wanted));
}

constexpr void add_problem(isa::Message& to, const Checker& c, const Match& match) {
    const Shape& s = *c.shape;
    switch (c.fault) {
        case Fault::count: add_counts(to.add("an address of "), s.children.size(), c.wanted, "part"); return;
        case Fault::range:
            add_found(to, s);
            add_range(to.add(" is out of range: "), *c.rule->range);
            return;
        case Fault::constant_size:
            add_found(to, s);
            add_type(to.add(" does not fit into "), match.type(c.rule->type));
            return;
        case Fault::space:
            add_found(to, s);
            to.add(", but the instruction addresses ")
                .add(c.wanted_space == Space::none ? "generic" : syntax::row(c.wanted_space).word);
            return;
        case Fault::width:
            add_found(to, s);
            to.add(", but a generic or .global address has 64 bits");
            return;
        case Fault::sinks: to.add("'_' alone, where one register at least is expected"); return;
        case Fault::special:
            add_found(to, s);
            to.add(" cannot stand here; move it to a register first (mov)");
            return;
        case Fault::written:
            add_found(to, s);
            to.add(" cannot be written");
            return;
        case Fault::read_only:
            add_found(to, s);
            to.add(" that is only read, an operand `in` of a site, where one that is written is expected");
            return;
        case Fault::no_special: {
            to.add("'").add(s.part).add("' is no special register");
            const std::string_view nearest = nearest_special(s.part);
            if (!nearest.empty()) to.add("; did you mean ").add(nearest).add("?");
            return;
        }
        default:
            add_found(to, s);
            add_wanted(to.add(" where "), *c.rule, match);
            to.add(" is expected");
    }
}

constexpr InstructionProblem problem_of(const Checker& c, const Match& match, std::size_t operands) {
    InstructionProblem out{.code = code_of(c.fault),
                           .operand = c.fault == Fault::count ? -1 : static_cast<int>(c.right)};
    isa::Message& to = out.message;
    if (c.fault == Fault::count && c.shape == nullptr)
        add_counts(to, operands, c.wanted, "operand");
    else
        add_problem(to.add("operand ").add(std::int64_t(c.right) + 1).add(": "), c, match);
    to.add("; form: ").add(match.row->syntax);
    return out;
}

constexpr void add_architecture(isa::Message& to, Architecture a) {
    to.add("sm_").add(std::int64_t{a.sm});
    if (a.variant != 0) to.add({&a.variant, 1});
}
constexpr void add_version(isa::Message& to, std::uint16_t version) {
    to.add(std::int64_t{version / 10}).add(".").add(std::int64_t{version % 10});
}

// With the rows of its opcode that remain.
constexpr InstructionProblem gone(std::string_view name, const isa::Row& row, Target target) {
    InstructionProblem out{.code = Errc::target_not_able};
    add_version(out.message.add(name).add(" is gone after PTX ISA "), row.until_version);
    add_architecture(out.message.add(" from "), {row.until_sm, 0});
    out.message.add(" on");
    const isa::Opcode* const opcode = isa::find_opcode(row.opcode);
    bool is_first = true;
    for (const isa::Row& other : opcode->rows) {
        if (is_gone(other, target)) continue;
        out.message.add(is_first ? "; forms: " : "; ").add(other.syntax);
        is_first = false;
    }
    return out;
}

constexpr InstructionProblem unavailable(std::string_view name, const Match& match, Target target) {
    if (is_gone(*match.row, target)) return gone(name, *match.row, target);
    std::span<const isa::Since> since = match.row->since;
    for (const isa::Constraint& c : match.row->constraints)
        if (c.kind == isa::Constraint::Kind::since && match.any_holds(c.left) &&
            !supports_any(c.since, target))
            since = c.since;
    const bool has_target = supports_any(since, {target.architecture, 0});
    InstructionProblem out{.code = has_target ? Errc::version_too_old : Errc::target_not_able};
    out.message.add(name).add(" needs ");
    bool is_first = true;
    for (const isa::Since& s : since) {
        if (has_target && !supports_any({&s, 1}, {target.architecture, 0})) continue;
        if (!is_first) out.message.add(", or ");
        is_first = false;
        add_version(out.message.add("PTX ISA "), s.ptx_version);
        out.message.add(" and ");
        for (std::size_t i = 0; i < s.architectures.size(); ++i) {
            if (i > 0) out.message.add(", ");
            add_architecture(out.message, s.architectures[i]);
        }
    }
    out.message.add("; the target is ");
    add_architecture(out.message, target.architecture);
    if (target.version != 0) add_version(out.message.add(", PTX ISA "), target.version);
    return out;
}

// Where a name has what no name has: a blank, a semicolon, operands, nothing between dots; npos: nowhere.
constexpr std::size_t odd_letter(std::string_view name) {
    for (std::size_t i = 0; i < name.size(); ++i) {
        const char c = name[i];
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        const bool ends_word = i + 1 == name.size() || name[i + 1] == '.';
        if (c == '.' ? i == 0 || ends_word : !is_letter && c != '_' && c != ':') return i;
    }
    return name.empty() ? 0 : std::string_view::npos;
}

// Of the rows that take a name, the one that was meant, and what is wrong with the operands.
class Explanation {
  public:
    constexpr Explanation(std::string_view name, std::span<const Shape> operands, Target target)
        : name_(name), operands_(operands), target_(target) {}

    constexpr void look_at(const isa::Attempt& a) {
        if (!a.match.in_order) {
            if (best.code == Errc::ok) set_order(a.match);
            return;
        }
        Checker checker(a.match);
        if (checker.run(operands_)) {
            best = unavailable(name_, a.match, target_);
            nearness_ = SIZE_MAX;
            return;
        }
        const std::size_t near = nearness(checker);
        if (near <= nearness_) return;
        best = problem_of(checker, a.match, operands_.size());
        nearness_ = near;
    }

    InstructionProblem best;

  private:
    // The row with as many operands that most of them fit; of several the one that wants such a kind of
    // operand there.
    static constexpr std::size_t nearness(const Checker& c) {
        if (c.fault == Fault::count && c.shape == nullptr) return 1;
        return 2 + 2 * c.right + (c.fault != Fault::kind);
    }
    constexpr void set_order(const Match& match) {
        best.code = Errc::modifier_out_of_order;
        best.message.add(match.row->opcode);
        for (std::size_t i = 0; i < match.row->slots.size(); ++i)
            if (match.chosen[i] != isa::no_word) best.message.add(isa::table_words[match.chosen[i]]);
        best.message.add(" is the manual's order; form: ").add(match.row->syntax);
    }

    std::string_view name_;
    std::span<const Shape> operands_;
    Target target_;
    std::size_t nearness_ = 0;
};

constexpr InstructionProblem explain_odd(std::string_view name, std::size_t at) {
    InstructionProblem out{.code = Errc::argument_invalid};
    out.message.add("'").add(name).add("' is no name: ");
    if (name.empty())
        out.message.add("it is empty");
    else if (name[at] == '.')
        out.message.add(at == 0 ? "it begins with a dot" : "nothing stands behind a dot");
    else
        out.message.add("it has '").add(name.substr(at, 1)).add("'; operands are arguments of emit");
    return out;
}

}  // namespace checking

constexpr InstructionProblem explain_operands(std::string_view name, std::span<const Shape> operands,
                                              Target target) {
    const checking::Words words(name);
    checking::Explanation explanation(name, operands, target);
    checking::any_fit(words, [&](const isa::Attempt& a) {
        explanation.look_at(a);
        return false;
    });
    return explanation.best;
}

constexpr InstructionProblem explain_name(std::string_view name) {
    if (const std::size_t odd = checking::odd_letter(name); odd != std::string_view::npos)
        return checking::explain_odd(name, odd);
    const checking::Words words(name);
    const isa::Opcode* longest = nullptr;
    checking::any_opcode(words, [&](const isa::Opcode& opcode, std::size_t) {
        longest = &opcode;
        return true;
    });
    std::array<std::string_view, checking::Words::most> modifiers = {};
    for (std::size_t i = 0; i < words.modifier_count(); ++i) modifiers[i] = words.modifier(i);
    const isa::NameProblem problem =
        isa::explain_name(longest, words.beginning(0), std::span(modifiers).first(words.modifier_count()));
    return {.code = problem.code, .operand = -1, .message = problem.message};
}

constexpr InstructionProblem explain(std::string_view name, std::span<const Shape> operands, Target target) {
    const InstructionProblem problem = explain_operands(name, operands, target);
    return problem.code != Errc::ok ? problem : explain_name(name);
}

}  // namespace ptxgraft::dsl
