#pragma once
/// @file check.hpp
/// Whether a name and operands are an instruction of PTX, by the rows of the table: constant expressions, so
/// that `emit<"…">` is checked while C++ compiles; `emit("…")` asks the same at run time. What the manual
/// says is taken, modifiers in its order; a few things that ptxas takes beyond it are not. explain.hpp says
/// why there is no such instruction.

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>

#include "ptxgraft/architectures.hpp"
#include "ptxgraft/dsl/shape.hpp"
#include "ptxgraft/isa/match.hpp"

namespace ptxgraft::dsl {

/// A target and PTX version; `sm` 0: any target, `version` 0: any version.
struct Target {
    Architecture architecture = {};
    std::uint16_t version = 0;  ///< 86: PTX ISA 8.6
    friend bool operator==(Target, Target) = default;
};

/// The row that an instruction follows; `row` is null when there is none.
[[nodiscard]] constexpr isa::Match find_form(std::string_view name, std::span<const Shape> operands,
                                             Target target = {});
/// Whether a target has the form that was found, and a version: the alternatives that it needs one of.
[[nodiscard]] constexpr bool is_available(const isa::Match& match, Target target);

// ---- what follows is how

namespace checking {

using isa::Match;
using isa::OperandRule;
using isa::RuleKind;
using isa::TypeClass;

/// "fma.rn.f32" in its words: the first, and each modifier with its dot. Each letter is looked at once.
class Words {
  public:
    static constexpr std::size_t most = 32;  // modifiers

    constexpr explicit Words(std::string_view name) : text_(name.data()) {
        std::uint32_t key = isa::first_key, word = isa::first_key;
        const std::size_t size = name.size();
        for (std::size_t i = 0; i < size; ++i) {
            const char c = text_[i];
            if (c == '.') {
                if (size_ == most) {
                    ends_[size_] = {i, key, word};
                    return;
                }
                ends_[size_++] = {i, key, word};
                word = isa::first_key;
            }
            key = isa::next_key(key, c);
            word = isa::next_key(word, c);
        }
        ends_[size_] = {size, key, word};
    }
    [[nodiscard]] constexpr std::size_t modifier_count() const { return size_; }
    [[nodiscard]] constexpr std::string_view modifier(std::size_t i) const {
        return {text_ + ends_[i].at, ends_[i + 1].at - ends_[i].at};
    }
    [[nodiscard]] constexpr isa::WordId modifier_id(std::size_t i) const {
        return isa::find_word(modifier(i), ends_[i + 1].word_key);
    }
    // The first word with so many modifiers behind it.
    [[nodiscard]] constexpr std::string_view beginning(std::size_t modifiers) const {
        return {text_, ends_[modifiers].at};
    }
    [[nodiscard]] constexpr const isa::Opcode* opcode(std::size_t modifiers) const {
        return isa::find_opcode(beginning(modifiers), ends_[modifiers].key);
    }

  private:
    // Where a word ends, and the keys of the name as far as there, and of the word.
    struct End {
        std::size_t at;
        std::uint32_t key, word_key;
    };
    const char* text_;
    std::array<End, most + 1> ends_ = {};
    std::size_t size_ = 0;
};

// Calls `visit(const Opcode&, modifiers that it has)` for the opcodes that a name begins with, the longest
// first, until one gives true.
template <class Visit> constexpr bool any_opcode(const Words& words, Visit visit) {
    for (std::size_t modifiers = words.modifier_count() + 1; modifiers-- > 0;) {
        const isa::Opcode* const opcode = words.opcode(modifiers);
        if (opcode != nullptr && visit(*opcode, modifiers)) return true;
    }
    return false;
}

// Whether a row can have the words at all: quicker to see than how it takes them, which matters to compilers.
constexpr bool may_have(const isa::Row& row, std::span<const isa::WordId> words) {
    if (words.size() > row.slots.size()) return false;
    std::size_t needed = 0;
    for (const isa::Slot& slot : row.slots) needed += !slot.is_optional;
    if (needed > words.size()) return false;
    // The last is the type, by which most rows differ.
    for (std::size_t i = words.size(); i-- > 0;) {
        bool is_there = false;
        for (const isa::Slot& slot : row.slots)
            for (const isa::WordId member : slot.members) is_there |= member == words[i];
        if (!is_there) return false;
    }
    return true;
}

// Calls `visit(const Attempt&)` for the rows that the words of a name fit, until one gives true; forms of old
// versions are not emitted.
template <class Visit> constexpr bool any_fit(const Words& words, Visit visit) {
    return any_opcode(words, [&](const isa::Opcode& opcode, std::size_t first) {
        std::array<isa::WordId, Words::most> ids = {};
        const std::size_t size = words.modifier_count() - first;
        for (std::size_t i = 0; i < size; ++i) ids[i] = words.modifier_id(first + i);
        const std::span<const isa::WordId> chosen(ids.data(), size);
        for (const isa::Row& row : opcode.rows) {
            if (!row.implied.empty() || !may_have(row, chosen)) continue;
            const isa::Attempt a = isa::attempt(row, chosen, isa::Aim::fit);
            if (a.fits() && visit(a)) return true;
        }
        return false;
    });
}

enum class Fault : std::uint8_t {
    none,
    count,
    kind,           // of operand
    constant,       // where none may stand
    constant_kind,  // a floating constant for an integer …
    constant_size,  // too many bits
    range,
    type,
    width,   // of an address
    length,  // of a vector
    space,   // of a variable in an address
    sink,
    sinks,    // a vector of nothing else
    special,  // which mov reads
    written,  // a special register
    no_special,
    read_only,
    negation,
    minus,
};

// The operands of one instruction against the rules of one row. Stops at the first fault.
class Checker {
  public:
    constexpr explicit Checker(const Match& match) : match_(match) {
        for (std::size_t i = 0; i < match.row->slots.size(); ++i) {
            if (match.chosen[i] == isa::no_word) continue;
            Space space = isa::table::words[match.chosen[i]].space;
            if (space == Space::shared_cluster) space = Space::shared;
            if (space != Space::none && space_count_ < spaces_.size()) spaces_[space_count_++] = space;
        }
    }

    constexpr bool run(std::span<const Shape> operands) {
        return all(match_.row->operands, operands, nullptr);
    }

    Fault fault = Fault::none;
    const OperandRule* rule = nullptr;
    const Shape* shape = nullptr;
    std::size_t right = 0;   // operands that were right before it
    std::size_t wanted = 0;  // where their number is wrong: those that the form has
    Space wanted_space = Space::none;

  private:
    constexpr bool all(std::span<const OperandRule> rules, std::span<const Shape> operands,
                       const Shape* around) {
        const isa::ActiveRules active(match_, rules, operands.size());
        if (active.size() != operands.size()) {
            wanted = active.size();
            return wrong(Fault::count, around, nullptr);
        }
        for (std::size_t i = 0; i < active.size(); ++i) {
            if (!one(active[i], operands[i])) return false;
            right += around == nullptr;
        }
        return true;
    }
    constexpr bool wrong(Fault what, const Shape* at, const OperandRule* by) {
        fault = what, shape = at, rule = by;
        return false;
    }
    constexpr bool wrong(Fault what, const Shape& at, const OperandRule& by) { return wrong(what, &at, &by); }

    constexpr bool one(const OperandRule& r, const Shape& s) {
        if (s.kind == ShapeKind::invalid && !s.part.empty()) return wrong(Fault::no_special, s, r);
        switch (r.kind) {
            case RuleKind::value: return value(r, s);
            case RuleKind::vector: return vector(r, s);
            case RuleKind::pair: return pair(r, s);
            case RuleKind::address:
                if (s.kind != ShapeKind::address) return wrong(Fault::kind, s, r);
                return all(r.children, s.children, &s);
            case RuleKind::list: return is_list(s) || wrong(Fault::kind, s, r);
            case RuleKind::base: return base(r, s);
            case RuleKind::label: return s.kind == ShapeKind::label || wrong(Fault::kind, s, r);
            case RuleKind::labels: return s.kind == ShapeKind::targets || wrong(Fault::kind, s, r);
            case RuleKind::callee:
                return s.kind == ShapeKind::function || is_handle(s) || wrong(Fault::kind, s, r);
            case RuleKind::prototype: return s.kind == ShapeKind::prototype || wrong(Fault::kind, s, r);
            case RuleKind::texref:
                return s.kind == ShapeKind::texture || is_handle(s) || wrong(Fault::kind, s, r);
            case RuleKind::samplerref:
                return s.kind == ShapeKind::sampler || is_handle(s) || wrong(Fault::kind, s, r);
            case RuleKind::surfref:
                return s.kind == ShapeKind::surface || is_handle(s) || wrong(Fault::kind, s, r);
            default: return selector(r, s);
        }
    }

    static constexpr bool is_list(const Shape& s) {
        return s.kind == ShapeKind::list &&
               std::none_of(s.children.begin(), s.children.end(),
                            [](const Shape& e) { return e.kind == ShapeKind::invalid; });
    }
    static constexpr bool is_integer_or_bits(Type type) {
        const TypeClass kind = isa::info(type).kind;
        return kind == TypeClass::integer || kind == TypeClass::bits;
    }
    static constexpr bool is_handle(const Shape& s) {
        if (s.type == Type::none) return s.kind == ShapeKind::reg;
        return s.kind == ShapeKind::reg && isa::info(s.type).bits == 64 && is_integer_or_bits(s.type);
    }

    constexpr bool value(const OperandRule& r, const Shape& s) {
        switch (s.kind) {
            case ShapeKind::integer:
            case ShapeKind::floating: return constant(r, s);
            case ShapeKind::reg:
                if (r.constant_only) return wrong(Fault::kind, s, r);
                if (r.is_output && s.is_read_only) return wrong(Fault::read_only, s, r);
                if (s.type == Type::none) return true;
                return (!(r.is_plain && s.type == Type::f16x2) &&
                        isa::goes(s.type, match_.type(r.type), r.is_exact, r.is_wide)) ||
                       wrong(Fault::type, s, r);
            case ShapeKind::sink: return r.takes_sink || wrong(Fault::sink, s, r);
            case ShapeKind::special: return special(r, s);
            case ShapeKind::negated:
                return (!r.is_output && !r.constant_only && match_.type(r.type) == Type::pred) ||
                       wrong(Fault::negation, s, r);
            case ShapeKind::minus:
                return r.takes_minus ? value(r, s.children.front()) : wrong(Fault::minus, s, r);
            case ShapeKind::variable:
            case ShapeKind::function: return address_of(r, s);
            case ShapeKind::vector:
                if (s.count == 1 && r.kind == RuleKind::vector) return value(r, s.element(0));
                [[fallthrough]];
            default: return wrong(Fault::kind, s, r);
        }
    }

    constexpr bool constant(const OperandRule& r, const Shape& s) {
        if (r.is_output || r.register_only || r.takes_sink) return wrong(Fault::constant, s, r);
        const bool is_integer = s.kind == ShapeKind::integer;
        const Type wanted = match_.type(r.type);
        if (r.constant_only && wanted == Type::none) {
            if (!is_integer) return wrong(Fault::constant_kind, s, r);
        } else {
            const isa::TypeInfo& type = isa::info(wanted);
            const bool is_half = type.kind == TypeClass::floating && type.bits == 16;
            if (type.kind == TypeClass::packed || is_half) return wrong(Fault::constant, s, r);
            const bool wants_floating = type.kind == TypeClass::floating;
            const bool fits = is_integer ? !wants_floating
                                         : (wants_floating || type.kind == TypeClass::bits) &&
                                               isa::info(s.type).bits == type.bits;
            if (!fits) return wrong(Fault::constant_kind, s, r);
            if (is_integer && s.has_value && !has_room(type, s)) return wrong(Fault::constant_size, s, r);
        }
        if (r.range != nullptr && s.has_value && (s.is_unsigned || !isa::is_in(*r.range, s.value)))
            return wrong(Fault::range, s, r);
        return true;
    }
    // As signed or as unsigned: -1 and 0xFFFFFFFF are both constants of 32 bits.
    static constexpr bool has_room(const isa::TypeInfo& type, const Shape& s) {
        if (type.kind == TypeClass::pred) return s.value == 0 || s.value == 1;
        if (type.bits >= 64) return true;
        const std::int64_t end = std::int64_t{1} << type.bits;
        return !s.is_unsigned && s.value < end && s.value >= -(end / 2);
    }

    constexpr bool special(const OperandRule& r, const Shape& s) {
        if (!r.takes_special) return wrong(r.is_output ? Fault::written : Fault::special, s, r);
        return isa::goes(s.type, match_.type(r.type), false, r.is_wide) || wrong(Fault::type, s, r);
    }

    constexpr bool address_of(const OperandRule& r, const Shape& s) {
        if (!r.takes_symbol) return wrong(Fault::kind, s, r);
        const isa::TypeInfo& wanted = isa::info(match_.type(r.type));
        if (wanted.bits < 32 || !is_integer_or_bits(wanted.type)) return wrong(Fault::type, s, r);
        const Space named = isa::space_of_names(match_.row->opcode);
        wanted_space = named != Space::none ? named : space_count_ == 0 ? Space::none : spaces_[0];
        return s.kind == ShapeKind::function || wanted_space == Space::none || wanted_space == s.space ||
               wrong(Fault::space, s, r);
    }

    constexpr bool vector(const OperandRule& r, const Shape& s) {
        const std::uint32_t count = match_.count(r.count);
        if (s.kind == ShapeKind::special_vector)
            return (r.takes_special && count == 4) || wrong(Fault::special, s, r);
        if (s.kind != ShapeKind::vector)
            return count == 1 && !r.needs_braces ? value(r, s) : wrong(Fault::length, s, r);
        const bool has_more = r.count.or_more && s.count > count && (s.count == 2 || s.count == 4);
        if (s.count != count && !has_more) return wrong(Fault::length, s, r);
        bool are_sinks = true;
        for (std::size_t i = 0; i < s.children.size(); ++i) {
            const Shape& e = s.children[i];
            are_sinks &= e.kind == ShapeKind::sink;
            if (e.kind == ShapeKind::sink && r.is_output && !r.is_inout) continue;
            const OperandRule& of = i == 0 || r.children.empty() ? r : r.children.front();
            if (r.is_mixed && e.kind == ShapeKind::reg && e.type != Type::none) {
                const bool fits = isa::info(e.type).bits == isa::info(match_.type(r.type)).bits &&
                                  e.type != Type::pred && e.type != Type::f16x2 &&
                                  !(i == 0 && isa::info(e.type).kind == TypeClass::floating);
                if (!fits) return wrong(Fault::type, e, r);
                continue;
            }
            if (!value(of, e)) return false;
        }
        if (are_sinks) return wrong(Fault::sinks, s, r);
        return are_one_class(r, s);
    }
    // ptxas looks at the registers of a vector together: of one class, where .bX goes with any.
    constexpr bool are_one_class(const OperandRule& r, const Shape& s) {
        Type joined = Type::none;
        for (const Shape& e : s.children) {
            if (e.kind != ShapeKind::reg || e.type == Type::none || r.is_mixed) continue;
            const TypeClass kind = isa::info(e.type).kind;
            const bool is_bits = joined != Type::none && isa::info(joined).kind == TypeClass::bits;
            if (joined == Type::none || is_bits) {
                if (joined != Type::none && isa::info(joined).bits != isa::info(e.type).bits)
                    return wrong(Fault::type, e, r);
                joined = e.type;
            } else if (isa::info(joined).bits != isa::info(e.type).bits ||
                       (kind != TypeClass::bits && kind != isa::info(joined).kind)) {
                return wrong(Fault::type, e, r);
            }
        }
        return true;
    }

    constexpr bool pair(const OperandRule& r, const Shape& s) {
        if (s.kind != ShapeKind::pair)
            return r.children[1].is_optional ? one(r.children[0], s) : wrong(Fault::kind, s, r);
        if (s.children[0].kind == ShapeKind::sink && s.children[1].kind == ShapeKind::sink)
            return wrong(Fault::sinks, s, r);
        return one(r.children[0], s.children[0]) && one(r.children[1], s.children[1]);
    }

    // The state spaces among the modifiers belong to the addresses in their order; the mbarrier of a bulk
    // copy, which comes behind them, is in .shared.
    constexpr bool base(const OperandRule& r, const Shape& whole) {
        const std::size_t index = address_++;
        const Shape& s = whole.kind == ShapeKind::sum ? whole.children.front() : whole;
        if (s.kind == ShapeKind::reg && s.type == Type::none) return true;
        if (s.kind == ShapeKind::reg) {
            const std::uint32_t bits = isa::info(s.type).bits;
            const bool is_address = is_integer_or_bits(s.type) && (bits == 32 || bits == 64) &&
                                    (!r.register_only || bits == 32) && (!r.is_exact || s.type == Type::b32);
            const bool is_wide_space =
                space_count_ == 0 || (index < space_count_ && spaces_[index] == Space::global);
            if (!is_address) return wrong(Fault::type, s, r);
            return bits == 64 || !is_wide_space || r.register_only || r.is_exact || wrong(Fault::width, s, r);
        }
        if (s.kind != ShapeKind::variable || r.is_exact) return wrong(Fault::kind, s, r);
        const bool is_generic = space_count_ == 0;
        wanted_space = is_generic ? Space::none : index < space_count_ ? spaces_[index] : Space::shared;
        const Space named = is_generic ? isa::space_of_names(match_.row->opcode) : Space::none;
        const bool has_generic =
            named == Space::none
                ? s.space == Space::global || s.space == Space::shared || s.space == Space::local
                : s.space == named;
        return (is_generic ? has_generic : s.space == wanted_space) || wrong(Fault::space, s, r);
    }

    constexpr bool selector(const OperandRule& r, const Shape& s) {
        if (s.is_constant() && !r.is_output && r.kind == RuleKind::selector)
            return s.kind == ShapeKind::integer || wrong(Fault::constant_kind, s, r);
        if (s.kind == ShapeKind::minus && r.takes_minus) return selector(r, s.children.front());
        if (s.kind != ShapeKind::reg && s.kind != ShapeKind::selector) return wrong(Fault::kind, s, r);
        if (s.type == Type::none) return true;
        if (!isa::goes(s.type, Type::u32, false, false) || (r.is_plain && s.type == Type::f16x2))
            return wrong(Fault::type, s, r);
        return isa::is_part(r.kind, s.part) || wrong(Fault::kind, s, r);
    }

    const Match& match_;
    std::array<Space, 4> spaces_ = {};
    std::size_t space_count_ = 0, address_ = 0;
};

// What an integer constant must lie within.
struct Limit {
    std::int64_t low = INT64_MIN, high = INT64_MAX;
    const isa::Range* range = nullptr;

    template <std::integral T> [[nodiscard]] constexpr bool holds(T value) const {
        if (std::is_unsigned_v<T> && static_cast<std::uint64_t>(value) > INT64_MAX)
            return low == INT64_MIN && high == INT64_MAX && range == nullptr;
        const auto number = static_cast<std::int64_t>(value);
        return number >= low && number <= high && (range == nullptr || isa::is_in(*range, number));
    }
};
// Of an operand of an instruction whose other operands are right.
constexpr Limit limit_of(const Match& match, std::size_t operand, std::size_t operand_count) {
    const isa::ActiveRules rules(match, match.row->operands, operand_count);
    const OperandRule& rule = rules[operand];
    const bool is_value = rule.kind == RuleKind::value || rule.kind == RuleKind::vector;
    Limit limit{.range = rule.range};
    const Type type = is_value ? match.type(rule.type) : Type::none;
    if (type == Type::none || isa::info(type).bits >= 64) return limit;
    if (type == Type::pred) return {.low = 0, .high = 1, .range = rule.range};
    limit.high = (std::int64_t{1} << isa::info(type).bits) - 1;
    limit.low = -(limit.high + 1) / 2;
    return limit;
}

constexpr bool supports_any(std::span<const isa::Since> since, Target target) {
    return std::any_of(since.begin(), since.end(), [&](const isa::Since& s) {
        return (target.version == 0 || target.version >= s.ptx_version) &&
               (target.architecture.sm == 0 ||
                std::any_of(s.architectures.begin(), s.architectures.end(),
                            [&](Architecture a) { return ptxgraft::supports(target.architecture, a); }));
    });
}

// The version that instructions are held against: without one the first that has the architecture.
constexpr std::uint16_t version_at_least(Target target) {
    return target.version != 0 ? target.version : first_version(target.architecture);
}
constexpr bool is_gone(const isa::Row& row, Target target) {
    return row.until_version != 0 && version_at_least(target) > row.until_version &&
           target.architecture.sm >= row.until_sm;
}

}  // namespace checking

constexpr bool is_available(const isa::Match& match, Target target) {
    if (target.architecture.sm == 0 && target.version == 0) return true;
    const isa::Row& row = *match.row;
    if (checking::is_gone(row, target)) return false;
    return checking::supports_any(row.since, target) &&
           std::all_of(row.constraints.begin(), row.constraints.end(), [&](const isa::Constraint& c) {
               return c.kind != isa::Constraint::Kind::since || !match.any_holds(c.left) ||
                      checking::supports_any(c.since, target);
           });
}

constexpr isa::Match find_form(std::string_view name, std::span<const Shape> operands, Target target) {
    const checking::Words words(name);
    isa::Match found;
    checking::any_fit(words, [&](const isa::Attempt& a) {
        if (!a.match.in_order || !checking::Checker(a.match).run(operands)) return false;
        if (!is_available(a.match, target)) return false;
        found = a.match;
        return true;
    });
    return found;
}

}  // namespace ptxgraft::dsl
