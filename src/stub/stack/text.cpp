#include "stub/stack/text.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "ptxgraft/isa.hpp"
#include "stub/stack/machine.hpp"

namespace ptxgraft::stack {
namespace {

constexpr std::array words = {StackWord{"dup", Opcode::dup}, StackWord{"swap", Opcode::swap},
                              StackWord{"drop", Opcode::drop}, StackWord{"over", Opcode::over},
                              StackWord{"rotate", Opcode::rotate}};

struct NamedConstant {
    std::string_view word;
    Type type;
    std::uint32_t bits;
};
// nan is PTX's canonical NaN (PTX ISA 9.7.3)
constexpr std::array named_constants = {
    NamedConstant{"true", Type::pred, 1}, NamedConstant{"false", Type::pred, 0},
    NamedConstant{"inf", Type::f32, 0x7F800000}, NamedConstant{"-inf", Type::f32, 0xFF800000},
    NamedConstant{"nan", Type::f32, 0x7FFFFFFF}};

constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

// Whether a word may end before a character: for all but `-` and `/`, which may begin an arrow or a comment,
// it does.
constexpr auto may_end = [] {
    std::array<bool, 256> table{};
    for (const char c : std::string_view(" \t\r\v\f\n;#-/")) table[static_cast<unsigned char>(c)] = true;
    return table;
}();

// Splits a text into words; newlines and `;` are words of their own, which end an assignment; `->` is one
// wherever it stands.
class Words {
  public:
    explicit Words(std::string_view text) : text_(text) {}

    // False at the end of the text.
    bool next() {
        skip();
        begin_ = at_;
        if (at_ == text_.size()) return false;
        if (text_[at_] == '\n' || text_[at_] == ';')
            ++at_;
        else if (is_arrow())
            at_ += 2;
        else
            while (at_ < text_.size() && !is_end()) ++at_;
        return true;
    }
    [[nodiscard]] std::string_view word() const { return text_.substr(begin_, at_ - begin_); }
    [[nodiscard]] Span place() const {
        return {static_cast<std::uint32_t>(begin_), static_cast<std::uint32_t>(at_)};
    }

  private:
    [[nodiscard]] bool is_arrow() const {
        return text_[at_] == '-' && at_ + 1 < text_.size() && text_[at_ + 1] == '>';
    }
    [[nodiscard]] bool is_comment() const {
        return text_[at_] == '#' || (text_[at_] == '/' && at_ + 1 < text_.size() && text_[at_ + 1] == '/');
    }
    [[nodiscard]] bool is_end() const {
        if (!may_end[static_cast<unsigned char>(text_[at_])]) return false;
        return is_blank(text_[at_]) || text_[at_] == '\n' || text_[at_] == ';' || is_arrow() || is_comment();
    }
    void skip() {
        for (; at_ < text_.size(); ++at_) {
            if (is_blank(text_[at_])) continue;
            if (!is_comment()) return;
            at_ = std::min(text_.find('\n', at_), text_.size());
            if (at_ == text_.size()) return;
            --at_;  // the newline is a word
        }
    }

    std::string_view text_;
    std::size_t at_ = 0, begin_ = 0;
};

class Parser {
  public:
    Parser(std::string_view text, const Signature& signature, Program& program, std::vector<Span>& places)
        : words_(text), signature_(signature), program_(program), places_(places) {}

    Expected<void> parse() {
        while (words_.next()) {
            const std::string_view word = words_.word();
            if (word == "\n" || word == ";") continue;
            const auto done = word == "->" ? assignment() : instruction(word);
            if (!done) return done;
        }
        return {};
    }

  private:
    void add(const Instruction& instruction) {
        program_.push_back(instruction);
        places_.push_back(words_.place());
    }

    // The names after an arrow, up to the end of the line or `;`. The last one takes the top of its stack.
    Expected<void> assignment() {
        const Span arrow = words_.place();
        const std::size_t first = program_.size();
        while (words_.next() && words_.word() != "\n" && words_.word() != ";") {
            const auto target = element(words_.word());
            if (!target) return tl::unexpected(target.error());
            if (!*target)
                return fail(Errc::stack_bad_assignment, words_.place(), not_an_operand(words_.word()));
            add({Opcode::assign, 0, (*target)->index, (*target)->payload});
        }
        if (program_.size() == first) return fail(Errc::stack_bad_assignment, arrow, "-> names no operand");
        std::reverse(program_.begin() + static_cast<std::ptrdiff_t>(first), program_.end());
        std::reverse(places_.begin() + static_cast<std::ptrdiff_t>(first), places_.end());
        return {};
    }

    std::string not_an_operand(std::string_view word) const {
        std::string text =
            fmt::format("{} is not an operand; after -> stand names of operands, a line's end or ; ends them",
                        word.substr(0, 40));
        const char* separator = "; there are ";
        for (const SiteOperand& operand : signature_.operands) {
            if (operand.direction == Direction::in) continue;
            text += separator + operand.name;
            separator = ", ";
        }
        return text;
    }

    Expected<void> instruction(std::string_view word) {
        if (const auto index = scalar(word)) return add({Opcode::input, 0, *index, 0}), Expected<void>{};
        if (const isa::Form* form = isa::find(word)) return add_form(*form);
        if (word[0] >= '0' && word[0] <= '9') return literal(word);
        if (const auto input = element(word); !input)
            return tl::unexpected(input.error());
        else if (*input)
            return add({Opcode::input, 0, (*input)->index, (*input)->payload}), Expected<void>{};
        for (const NamedConstant& named : named_constants)
            if (named.word == word)
                return add({Opcode::constant, static_cast<std::uint8_t>(named.type), 0, named.bits}),
                       Expected<void>{};
        if (word[0] == '.' || word[0] == '-') return literal(word);
        if (word[0] == '!') return raw(word);
        return stack_word(word);
    }

    Expected<void> literal(std::string_view word) {
        const auto constant = parse_literal(word, words_.place());
        if (!constant) return tl::unexpected(constant.error());
        return add(*constant), Expected<void>{};
    }

    // The operand of a name, where it is no fragment.
    [[nodiscard]] std::optional<std::uint16_t> scalar(std::string_view word) const {
        for (std::size_t i = 0; i < signature_.operands.size() && i <= 0xFFFF; ++i)
            if (const SiteOperand& o = signature_.operands[i]; o.name == word && o.count == 0)
                return static_cast<std::uint16_t>(i);
        return std::nullopt;
    }

    Expected<void> add_form(const isa::Form& form) {
        const auto index = static_cast<std::size_t>(&form - isa::forms().data());
        if (machine()[index].inputs == 0)
            return fail(Errc::stack_unknown_word, words_.place(),
                        fmt::format("{}: this instruction is not part of the stack language", form.name));
        return add({Opcode::form, 0, static_cast<std::uint16_t>(index), 0}), Expected<void>{};
    }

    // `acc` or `frag[2]`; nothing if the word does not name an operand.
    struct Element {
        std::uint16_t index;
        std::uint32_t payload;
    };
    Expected<std::optional<Element>> element(std::string_view word) const {
        const std::size_t bracket = word.back() == ']' ? word.find('[') : std::string_view::npos;
        const std::string_view stem = word.substr(0, bracket);
        const auto& operands = signature_.operands;
        for (std::size_t i = 0; i < operands.size() && i <= 0xFFFF; ++i) {
            if (operands[i].name != stem) continue;
            if (bracket == std::string_view::npos && operands[i].count == 0)
                return Element{static_cast<std::uint16_t>(i), 0};
            return fragment(static_cast<std::uint16_t>(i), word, bracket);
        }
        return std::nullopt;
    }

    Expected<std::optional<Element>> fragment(std::uint16_t index, std::string_view word,
                                              std::size_t bracket) const {
        const SiteOperand& operand = signature_.operands[index];
        if (operand.count == 0)
            return fail(Errc::stack_element_out_of_range, words_.place(),
                        fmt::format("{} is not a fragment; write {}", operand.name, operand.name));
        if (bracket == std::string_view::npos)
            return fail(Errc::stack_element_out_of_range, words_.place(),
                        fmt::format("{} has {} elements; name one: {}[0]", operand.name, operand.count,
                                    operand.name));
        const std::string_view digits = word.substr(bracket + 1, word.size() - bracket - 2);
        std::uint32_t number = 0;
        const auto [stop, code] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
        if (code != std::errc() || stop != digits.data() + digits.size() || number >= operand.count)
            return fail(Errc::stack_element_out_of_range, words_.place(),
                        fmt::format("{} has the elements {}[0] to {}[{}]", operand.name, operand.name,
                                    operand.name, operand.count - 1));
        return Element{index, number};
    }

    // `!0123456789ABCDEF`: an instruction that has no other text, byte for byte; see print.
    Expected<void> raw(std::string_view word) {
        std::uint64_t bytes = 0;
        const auto [stop, code] = std::from_chars(word.data() + 1, word.data() + word.size(), bytes, 16);
        if (code != std::errc() || stop != word.data() + word.size() || word.size() != 17)
            return unknown(word);
        return add(std::bit_cast<Instruction>(bytes)), Expected<void>{};
    }

    // `dup.f32`, `as.u32.f32`
    Expected<void> stack_word(std::string_view word) {
        const std::size_t dot = word.find('.');
        if (dot == std::string_view::npos) return unknown(word);
        if (word.substr(0, dot) == "as") return cast(word);
        const auto found = std::find_if(words.begin(), words.end(),
                                        [&](const StackWord& w) { return w.word == word.substr(0, dot); });
        if (found == words.end()) return unknown(word);
        const auto type = stack_type(word, word.substr(dot + 1));
        if (!type) return tl::unexpected(type.error());
        return add({found->opcode, static_cast<std::uint8_t>(*type), 0, 0}), Expected<void>{};
    }

    Expected<void> cast(std::string_view word) {
        const std::size_t dot = word.find('.', 3);
        if (dot == std::string_view::npos) return unknown(word);
        const auto to = stack_type(word, word.substr(3, dot - 3)),
                   from = stack_type(word, word.substr(dot + 1));
        if (!to || !from) return tl::unexpected(!to ? to.error() : from.error());
        if (*to == Type::pred || *from == Type::pred)
            return fail(Errc::stack_unknown_word, words_.place(),
                        fmt::format("{}: a predicate has no bits to take; use selp or setp.ne", word));
        return add({Opcode::cast, static_cast<std::uint8_t>(*to), static_cast<std::uint16_t>(*from), 0}),
               Expected<void>{};
    }

    Expected<Type> stack_type(std::string_view word, std::string_view name) const {
        const auto type = find_type(name);
        if (type && stack_of(*type) != StackId::none) return *type;
        if (type)
            return fail(Errc::stack_type_unsupported, words_.place(),
                        fmt::format("{}: {} is not a type of the stack language: pred, u32, s32, f32, b32",
                                    word, name));
        return tl::unexpected(unknown(word).error());
    }

    Expected<void> unknown(std::string_view word) const {
        return fail(Errc::stack_unknown_word, words_.place(),
                    fmt::format("{}{}", word.substr(0, 60), suggestions(word, signature_)));
    }

    Words words_;
    const Signature& signature_;
    Program& program_;
    std::vector<Span>& places_;
};

std::string element_name(const SiteOperand& operand, std::uint32_t element) {
    return operand.count == 0 ? operand.name : fmt::format("{}[{}]", operand.name, element);
}

// The token of an instruction other than an assignment; empty if it has none.
std::string token(const Instruction& instruction, const Signature& signature) {
    const auto type = static_cast<Type>(instruction.type);
    const bool has_stack = stack_of(instruction.type) != StackId::none;
    switch (instruction.opcode) {
        case Opcode::input:
        case Opcode::assign: {
            if (instruction.index >= signature.operands.size()) return {};
            const SiteOperand& operand = signature.operands[instruction.index];
            return instruction.payload < std::max<std::uint32_t>(operand.count, 1)
                       ? element_name(operand, instruction.payload)
                       : "";
        }
        case Opcode::constant:
            return print_literal(instruction).value_or("");
        case Opcode::form:
            return instruction.index < isa::forms().size() ? std::string(isa::forms()[instruction.index].name)
                                                           : "";
        case Opcode::cast: {
            const auto from = static_cast<Type>(instruction.index);
            if (!has_stack || instruction.index > 0xFF || stack_of(from) == StackId::none) return {};
            return fmt::format("as.{}.{}", name(type), name(from));
        }
        default:
            break;
    }
    const auto found = std::find_if(words.begin(), words.end(),
                                    [&](const StackWord& w) { return w.opcode == instruction.opcode; });
    return found == words.end() || !has_stack ? std::string{} : fmt::format("{}.{}", found->word, name(type));
}

// Whether the token is read back as just this instruction: bytes that a token does not show may differ.
bool reads_back(const std::string& word, const Instruction& instruction, const Signature& signature) {
    if (word.empty()) return false;
    const std::string text = instruction.opcode == Opcode::assign ? "-> " + word : word;
    const auto program = parse(text, signature);
    return program && program->size() == 1 && program->front() == instruction;
}

}  // namespace

std::span<const StackWord> stack_words() { return words; }

Expected<void> parse_into(std::string_view text, const Signature& signature, Program& program,
                          std::vector<Span>& places) {
    program.clear();
    places.clear();
    if (text.size() >= Span::none) return fail(Errc::text_too_large);
    return Parser(text, signature, program, places).parse();
}

Expected<Program> parse(std::string_view text, const Signature& signature) {
    Program program;
    std::vector<Span> places;
    if (auto done = parse_into(text, signature, program, places); !done) return tl::unexpected(done.error());
    return program;
}

std::string print(std::span<const Instruction> program, const Signature& signature) {
    std::string text;
    for (std::size_t i = 0; i < program.size();) {
        std::string word = token(program[i], signature);
        if (!reads_back(word, program[i], signature))
            word = fmt::format("!{:016X}", std::bit_cast<std::uint64_t>(program[i]));
        const bool is_assignment = program[i].opcode == Opcode::assign && word[0] != '!';
        if (!is_assignment) {
            text += (text.empty() || text.back() == '\n' ? "" : " ") + word;
            ++i;
            continue;
        }
        // a run of assignments is one arrow with its names in reverse
        std::size_t end = i;
        std::string names;
        for (; end < program.size() && program[end].opcode == Opcode::assign; ++end) {
            const std::string target = token(program[end], signature);
            if (!reads_back(target, program[end], signature)) break;
            names = " " + target + names;
        }
        text += (text.empty() || text.back() == '\n' ? "->" : " ->") + names + "\n";
        i = end;
    }
    return text;
}

}  // namespace ptxgraft::stack
