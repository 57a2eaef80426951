// The messages of what a program lacks or leaves.

#include "stub/stack/compile/diagnose.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "stub/stack/compile/bound.hpp"
#include "stub/stack/text/literal.hpp"
#include "stub/stack/text/text.hpp"

namespace ptxgraft::stack {
namespace {

Error error_at(Errc code, std::uint32_t at, std::string detail) {
    Error error = fail(code, std::move(detail)).value();
    error.index = at;
    return error;
}

// What is wrong with one instruction.
class Diagnosis {
  public:
    Diagnosis(const Instruction& i, std::uint32_t at, const Situation& situation)
        : i_(i), at_(at), situation_(situation), machine_(situation.machine), set_(*situation.machine.set) {}

    [[nodiscard]] Error find() const {
        switch (i_.opcode) {
            case Opcode::input: return input();
            case Opcode::constant:
            case Opcode::pooled:
                return is_type(i_.type)
                           ? bad(fmt::format("constants of {} cannot be written", type_name(i_.type)))
                           : no_type(i_.type);
            case Opcode::form: return form();
            case Opcode::assign: return assignment();
            case Opcode::cast: return cast();
            case Opcode::call: return call();
            case Opcode::repeat:
            case Opcode::if_:
            case Opcode::else_:
            case Opcode::end: return bracket();
            default: return stack_word();
        }
    }

  private:
    [[nodiscard]] Error make(Errc code, std::string detail) const {
        return error_at(code, at_,
                        situation_.is_program ? std::move(detail) : fmt::format("in a routine: {}", detail));
    }
    [[nodiscard]] Error bad(std::string detail) const {
        return make(Errc::stack_instruction_invalid, std::move(detail));
    }
    [[nodiscard]] bool is_type(std::uint32_t type) const {
        return type < max_types && !set_.type_name(static_cast<TypeId>(type)).empty();
    }
    [[nodiscard]] std::string_view type_name(std::uint32_t type) const {
        return set_.type_name(static_cast<TypeId>(type));
    }
    [[nodiscard]] Error no_type(std::uint32_t type) const {
        return bad(fmt::format("there is no type {}", type));
    }
    [[nodiscard]] std::uint32_t depth(TypeId type) const { return situation_.depths[stack_of(type)]; }

    // Values of another type that could be meant, and how to turn them into the missing ones.
    [[nodiscard]] std::string hint(TypeId wanted) const {
        for (std::uint32_t t = 0; t < max_types; ++t) {
            const auto other = static_cast<TypeId>(t);
            if (situation_.depths[t] == 0 || stack_of(other) == stack_of(wanted) || !is_type(t) ||
                other == type_id(Type::pred))
                continue;
            const std::uint32_t count = situation_.depths[t];
            return fmt::format("; there {} {} {} value{}{}", count == 1 ? "is" : "are", count, type_name(t),
                               count == 1 ? "" : "s", conversions(wanted, other));
        }
        return {};
    }

    [[nodiscard]] std::string conversions(TypeId wanted, TypeId have) const {
        const std::string_view to = type_name(wanted), from = type_name(have);
        if (wanted == type_id(Type::pred)) return fmt::format(": setp.ne.{} makes a predicate", from);
        std::string text;
        for (const std::string_view rounding : {"", ".rn", ".rni", ".rzi"}) {
            const std::string name = fmt::format("cvt{}.{}.{}", rounding, to, from);
            if (set_.find(name) < 0) continue;
            text = fmt::format(": {} converts it", name);
            break;
        }
        const TypeId to_base = base_of(wanted, set_), from_base = base_of(have, set_);
        if (width_of(to_base) != width_of(from_base)) return text;
        return fmt::format("{}{}as.{}.{} takes its bits", text, text.empty() ? ": " : ", ", to, from);
    }

    [[nodiscard]] Error missing(std::string_view what, TypeId type, std::uint32_t needed) const {
        const std::uint32_t have = depth(type);
        const std::string there = have == 0   ? "none is"
                                  : have == 1 ? "only 1 is"
                                              : fmt::format("only {} are", have);
        return make(Errc::stack_values_missing,
                    fmt::format("{} takes {} {} value{}, {} there{}", what, needed, type_name(type),
                                needed == 1 ? "" : "s", there, hint(type)));
    }

    // The first stack that holds fewer values than are taken.
    [[nodiscard]] std::optional<Error> missing_of(std::string_view what,
                                                  std::span<const TypeId> taken) const {
        std::array<std::uint32_t, max_types> needs{};
        for (const TypeId type : taken) ++needs[stack_of(type)];
        for (const TypeId type : taken)
            if (needs[stack_of(type)] > depth(type)) return missing(what, type, needs[stack_of(type)]);
        return std::nullopt;
    }

    [[nodiscard]] const SiteOperand* operand() const {
        const auto& operands = machine_.signature.operands;
        return i_.index < operands.size() ? &operands[i_.index] : nullptr;
    }

    // What is wrong with the name of an operand, if anything is.
    [[nodiscard]] std::optional<Error> naming() const {
        if (!situation_.is_program)
            return make(Errc::stack_routine_wrong, "operands do not stand in routines");
        const SiteOperand* o = operand();
        if (o == nullptr) return bad(fmt::format("there is no operand {}", i_.index));
        if (i_.payload < std::max(o->count, 1u)) return std::nullopt;
        return make(
            Errc::stack_element_out_of_range,
            fmt::format("{} has {} element(s), there is no {}", o->name, std::max(o->count, 1u), i_.payload));
    }

    [[nodiscard]] Error input() const {
        if (auto wrong = naming()) return *wrong;
        return make(Errc::stack_output_read, element_name(*operand(), i_.payload));
    }

    [[nodiscard]] Error assignment() const {
        if (auto wrong = naming()) return *wrong;
        const std::string name = element_name(*operand(), i_.payload);
        if (operand()->direction == Direction::in) return make(Errc::stack_input_assigned, name);
        const TypeId type = machine_.slots[machine_.operands[i_.index].first + i_.payload].type;
        if (depth(type) == 0) return missing(fmt::format("-> {}", name), type, 1);
        return make(Errc::stack_assigned_twice, name);
    }

    [[nodiscard]] Error form() const {
        if (i_.index >= set_.entries().size())
            return bad(fmt::format("the set has no instruction {}", i_.index));
        const Entry& entry = set_.entries()[i_.index];
        if ((*machine_.present)[i_.index] == Present::no) return not_there(entry);
        std::vector<TypeId> taken;
        for (const EntryOperand& o : entry.operands)
            if (!o.is_output && !o.is_immediate) taken.push_back(o.type);
        if (auto wrong = missing_of(entry.name, taken)) return *wrong;
        return bad(fmt::format("{} cannot stand here", entry.name));
    }

    // The site forbids it, or the target lacks it.
    [[nodiscard]] Error not_there(const Entry& entry) const {
        std::string needed;
        for (std::uint16_t bit = 1; bit < static_cast<std::uint16_t>(Effect::all);
             bit = static_cast<std::uint16_t>(bit * 2))
            if (contains(entry.effects, Effect{bit}) &&
                !contains(machine_.options.policy.allowed, Effect{bit}))
                needed.append(" ").append(ptxgraft::name(Effect{bit}));
        if (!needed.empty())
            return make(Errc::stub_effect_forbidden,
                        fmt::format("{} is not allowed here: the site, and the signature line where there is "
                                    "one, must say: allow{}",
                                    entry.name, needed));
        if (is_macro(entry) && !machine_.not_for_macros.empty())
            return make(
                Errc::stack_not_available,
                fmt::format("{} is not available: ptxas fails on video instructions and names of 16, 24, 32 "
                            "… characters, and the site has a register {}; give it another name",
                            entry.name, machine_.not_for_macros));
        return make(Errc::stack_not_available, fmt::format("{} is not available for the target", entry.name));
    }

    [[nodiscard]] Error cast() const {
        if (!is_type(i_.type)) return no_type(i_.type);
        if (!is_type(i_.index)) return no_type(i_.index);
        const auto from = static_cast<TypeId>(i_.index);
        const std::string word = fmt::format("as.{}.{}", type_name(i_.type), type_name(from));
        if (depth(from) == 0) return missing(word, from, 1);
        return bad(fmt::format("{}: the two types must have one width, and be no predicates", word));
    }

    [[nodiscard]] Error call() const {
        if (i_.index >= situation_.routines.size())
            return make(Errc::stack_routine_wrong, fmt::format("there is no routine {} here", i_.index));
        const Routine& routine = situation_.routines[i_.index];
        for (const auto* types : {&routine.arguments, &routine.results})
            for (const TypeId type : *types)
                if (!is_type(type)) return no_type(type);
        if (auto wrong = missing_of(routine.name, routine.arguments)) return *wrong;
        return make(Errc::stack_routine_wrong,
                    fmt::format("routine {} has too many arguments or results", routine.name));
    }

    [[nodiscard]] Error bracket() const {
        if (i_.opcode == Opcode::if_ && depth(type_id(Type::pred)) == 0)
            return missing("if", type_id(Type::pred), 1);
        return make(Errc::stack_bracket_wrong,
                    fmt::format("this {} has no partner", bracket_name(i_.opcode)));
    }

    [[nodiscard]] Error stack_word() const {
        const StackWord* const word = find_stack_word(&StackWord::opcode, i_.opcode);
        if (word == nullptr) return bad(fmt::format("{} is no opcode", static_cast<unsigned>(i_.opcode)));
        if (!is_type(i_.type)) return no_type(i_.type);
        const std::string written = fmt::format("{}.{}{}", word->word, type_name(i_.type),
                                                word->has_number ? fmt::format(" {}", i_.payload) : "");
        if (word->opcode == Opcode::load || (word->opcode == Opcode::store && i_.payload > word->most))
            return make(Errc::stack_values_missing,
                        i_.payload > word->most
                            ? fmt::format("{}: there are the cells 0 to {}", written, word->most)
                            : fmt::format("{}: nothing was stored there", written));
        return missing(written, i_.type, needs(*word));
    }

    [[nodiscard]] std::uint32_t needs(const StackWord& word) const {
        switch (word.opcode) {
            case Opcode::rotate: return 3;
            case Opcode::swap:
            case Opcode::over: return 2;
            case Opcode::yank_dup:
            case Opcode::swap_with:
            case Opcode::replace:
                return static_cast<std::uint32_t>(
                    std::min<std::uint64_t>(std::uint64_t{i_.payload} + 1, 0xFFFFFFFFu));
            default: return 1;
        }
    }

    const Instruction& i_;
    const std::uint32_t at_;
    const Situation& situation_;
    const Machine::Data& machine_;
    const InstructionSet& set_;
};

std::string slot_name(const Machine::Data& machine, std::uint32_t slot) {
    const Slot& s = machine.slots[slot];
    return element_name(machine.signature.operands[s.operand], s.element);
}

}  // namespace

Error diagnose(const Instruction& i, std::uint32_t at, const Situation& situation) {
    return Diagnosis(i, at, situation).find();
}

Error diagnose_request(const Machine::Data& machine, std::uint32_t slot, std::uint32_t at) {
    const std::string name = slot_name(machine, slot);
    return error_at(Errc::stack_values_missing, at,
                    fmt::format("-> {} takes 1 {} value, none is there", name,
                                machine.set->type_name(machine.slots[slot].type)));
}

Error diagnose_output(const Machine::Data& machine, std::uint32_t slot, std::uint32_t at) {
    const std::string name = slot_name(machine, slot);
    return error_at(Errc::stack_output_missing, at,
                    fmt::format("operand {} is `out` and is not assigned: end with -> {}", name, name));
}

Error diagnose_leftover(std::string_view stack, std::uint32_t at, std::uint32_t count) {
    const std::string_view it = count == 1 ? "it" : "them";
    return error_at(
        Errc::stack_leftover, at,
        fmt::format("{} {} value{} left over at the end; assign {} with -> or remove {} with drop.{}", count,
                    stack, count == 1 ? "" : "s", it, it, stack));
}

}  // namespace ptxgraft::stack
