// Programs as text. What is written is read back word by word: a word that would give another instruction is
// not used.

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "stub/number.hpp"
#include "stub/stack/compile/run.hpp"
#include "stub/stack/text/text.hpp"

namespace ptxgraft::stack {
namespace {

std::string raw(const Instruction& instruction) {
    return fmt::format("!{:016X}", std::bit_cast<std::uint64_t>(instruction));
}

// The word of a bracket; empty if it has none.
std::string bracket_word(const Instruction& i) {
    const bool is_repeat = i.opcode == Opcode::repeat;
    if (i != Instruction{i.opcode, 0, 0, is_repeat ? std::min(i.payload, max_repeats) : 0}) return {};
    return is_repeat ? fmt::format("repeat {}", i.payload) : std::string(bracket_name(i.opcode));
}

// Which brackets may be written as words: those with a partner that can be, too.
std::vector<bool> bracket_words(std::span<const Instruction> code) {
    std::vector<std::uint32_t> matches(code.size(), no_match);
    match_brackets(code, matches.data());
    std::vector<bool> words(code.size());
    const auto is_word = [&](std::size_t at) { return !bracket_word(code[at]).empty(); };
    for (std::size_t begin = 0; begin < code.size(); ++begin) {
        const std::uint32_t next = matches[begin];
        const bool begins = code[begin].opcode == Opcode::repeat || code[begin].opcode == Opcode::if_;
        if (!begins || next == no_match) continue;
        const bool has_else = code[next].opcode == Opcode::else_;
        const std::uint32_t end = has_else ? matches[next] : next;
        if (end == no_match || !is_word(begin) || !is_word(end)) continue;
        words[begin] = words[end] = true;
        if (has_else && is_word(next)) words[next] = true;
    }
    return words;
}

class Printer {
  public:
    Printer(ProgramView program, const InstructionSet& set, const Signature& signature)
        : program_(program), set_(set), signature_(signature) {
        reader_.begin(set, signature, read_);
    }

    // The pool as the literals make it, or else written out.
    std::string print() {
        program(false);
        if (std::equal(read_.pool.begin(), read_.pool.end(), program_.pool.begin(), program_.pool.end()))
            return std::move(text_);
        program(true);
        return std::move(text_);
    }

  private:
    void program(bool writes_pool) {
        text_.clear();
        read_ = {};
        reader_.begin(set_, signature_, read_);
        may_add_ = !writes_pool;
        if (writes_pool) {
            for (const std::uint64_t value : program_.pool) word(fmt::format("!!{:016X}", value));
            read_.pool.assign(program_.pool.begin(), program_.pool.end());
            if (!read_.pool.empty()) text_ += '\n';
        }
        for (const Routine& r : program_.routines.first(std::min(program_.routines.size(), most_routines)))
            routine(r);
        code(program_.code, false);
    }

    void word(std::string_view word) {
        if (!text_.empty() && text_.back() != '\n') text_ += ' ';
        text_ += word;
    }

    // Routines keep their places; a name that could not be read is replaced.
    void routine(const Routine& routine) {
        std::string name = routine.name;
        for (std::size_t i = read_.routines.size(); !reader_.why_taken(name).empty(); ++i)
            name = fmt::format("routine_{}", i);
        word("routine");
        word(name);
        for (const TypeId type : routine.arguments) word(type_name(type));
        word("->");
        for (const TypeId type : routine.results) word(type_name(type));
        text_ += " :";
        code(routine.code, true);
        word("end\n");
        read_.routines.push_back({std::move(name), routine.arguments, routine.results, {}});
    }

    // A type that the set does not have is written as its number: a routine of it does nothing, and so does
    // the one that is read.
    [[nodiscard]] std::string type_name(TypeId type) const {
        const std::string_view name = type < max_types ? set_.type_name(type) : "";
        return name.empty() ? fmt::format("!{:02X}", type) : std::string(name);
    }

    void code(std::span<const Instruction> code, bool in_routine) {
        const std::vector<bool> is_bracket = bracket_words(code);
        std::size_t open = 0;  // brackets: in them an operand cannot be called `end`
        for (std::size_t i = 0; i < code.size();) {
            if (code[i].opcode == Opcode::assign && !in_routine &&
                reads_back("-> " + token(code[i]), code[i])) {
                i = assignments(code, i);
                continue;
            }
            const std::string text = is_bracket[i] ? bracket_word(code[i]) : token(code[i]);
            const bool is_free = !is_operand(code[i], in_routine) && (open == 0 || !is_language_word(text));
            const bool is_word = is_bracket[i] || (is_free && reads_back(text, code[i]));
            if (is_bracket[i] && code[i].opcode != Opcode::else_)
                code[i].opcode == Opcode::end ? --open : ++open;
            word(is_word ? text : raw(code[i]));
            ++i;
        }
    }

    static bool is_operand(const Instruction& instruction, bool in_routine) {
        return instruction.opcode == Opcode::assign || (in_routine && instruction.opcode == Opcode::input);
    }

    // A run of assignments is one arrow with its names in reverse.
    std::size_t assignments(std::span<const Instruction> code, std::size_t i) {
        const std::size_t begin = i;
        for (++i; i < code.size() && code[i].opcode == Opcode::assign &&
                  reads_back("-> " + token(code[i]), code[i]);)
            ++i;
        word("->");
        for (std::size_t k = i; k-- > begin;) word(token(code[k]));
        text_ += '\n';
        return i;
    }

    // What an instruction would be written as; empty if it has no text.
    [[nodiscard]] std::string token(const Instruction& instruction) const {
        switch (instruction.opcode) {
            case Opcode::input:
            case Opcode::assign: {
                const auto& operands = signature_.operands;
                return instruction.index < operands.size()
                           ? element_name(operands[instruction.index], instruction.payload)
                           : "";
            }
            case Opcode::constant: return constant(instruction);
            case Opcode::pooled:
                if (!has_type(instruction.type) || instruction.payload >= program_.pool.size()) return {};
                return print_literal({instruction.type, program_.pool[instruction.payload]}, set_);
            case Opcode::form: return form(instruction);
            case Opcode::cast:
                if (!has_type(instruction.type) || instruction.index >= max_types ||
                    !has_type(static_cast<TypeId>(instruction.index)))
                    return {};
                return fmt::format("as.{}.{}", set_.type_name(instruction.type),
                                   set_.type_name(static_cast<TypeId>(instruction.index)));
            case Opcode::call:
                return instruction.index < read_.routines.size() ? read_.routines[instruction.index].name
                                                                 : "";
            default: return stack_word(instruction);
        }
    }

    [[nodiscard]] bool has_type(TypeId type) const {
        return type < max_types && !set_.type_name(type).empty();
    }

    [[nodiscard]] std::string constant(const Instruction& instruction) const {
        if (!has_type(instruction.type)) return {};
        const auto bits = bits_of(instruction.payload, base_of(instruction.type, set_));
        return bits ? print_literal({instruction.type, *bits}, set_) : "";
    }

    // `0xE8 lop3.b32`
    [[nodiscard]] std::string form(const Instruction& instruction) const {
        if (instruction.index >= set_.entries().size()) return {};
        const Entry& entry = set_.entries()[instruction.index];
        std::vector<const EntryOperand*> immediates;
        for (const EntryOperand& operand : entry.operands)
            if (operand.is_immediate) immediates.push_back(&operand);
        std::string text;
        for (std::size_t i = 0; i < immediates.size(); ++i) {
            // the last one stands in the instruction, those before it in the pool, last first
            const std::size_t behind = immediates.size() - 1 - i;
            if (behind != 0 && instruction.type + behind - 1 >= program_.pool.size()) return {};
            const std::uint32_t value =
                behind == 0 ? instruction.payload
                            : static_cast<std::uint32_t>(program_.pool[instruction.type + behind - 1]);
            text += immediate(*immediates[i], value) + " ";
        }
        return text + entry.name;
    }

    static std::string immediate(const EntryOperand& operand, std::uint32_t value) {
        const auto type = operand.spec->type;
        const bool is_signed = type == isa::OperandType::s8 || type == isa::OperandType::s16 ||
                               type == isa::OperandType::s32 || type == isa::OperandType::s64;
        const auto number = static_cast<std::int32_t>(value);
        if (is_signed || (number < 0 && operand.spec->low < 0 && operand.spec->low != INT64_MIN))
            return number < 0 ? fmt::format("{}", number) : fmt::format("{}", value);
        return type == isa::OperandType::b32 && value > 9 ? fmt::format("0x{:X}", value)
                                                          : fmt::format("{}", value);
    }

    [[nodiscard]] std::string stack_word(const Instruction& instruction) const {
        const StackWord* const found = find_stack_word(&StackWord::opcode, instruction.opcode);
        if (found == nullptr || !has_type(instruction.type)) return {};
        return fmt::format("{}.{}{}", found->word, set_.type_name(instruction.type),
                           found->has_number ? fmt::format(" {}", instruction.payload) : "");
    }

    // Whether a text is this instruction, and needs no constant that the program's pool does not have at that
    // place.
    bool reads_back(std::string_view text, const Instruction& instruction) {
        if (text.empty() || text == "-> ") return false;
        const std::size_t constants = read_.pool.size();
        const auto read = reader_.read_more(text, read_);
        const bool is_same = read && read_.code.size() == 1 && read_.code[0] == instruction;
        const bool is_as_pooled = read_.pool.size() == constants || (may_add_ && is_same);
        if (!is_as_pooled || !is_same) forget(constants);
        return is_same && is_as_pooled;
    }

    void forget(std::size_t constants) {
        if (read_.pool.size() == constants) return;
        read_.pool.resize(constants);
        reader_.forget_pool();
    }

    ProgramView program_;
    const InstructionSet& set_;
    const Signature& signature_;
    Reader reader_;
    Program read_;  // what reading the text so far gives, but for the code
    std::string text_;
    bool may_add_ = true;  // literals make the pool
};

}  // namespace

std::string print(ProgramView program, const Machine& machine) {
    return Printer(program, machine.set(), machine.signature()).print();
}

}  // namespace ptxgraft::stack
