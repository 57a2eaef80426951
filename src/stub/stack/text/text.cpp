// Words that push, compute and assign. Brackets, routines and imports: text_blocks.cpp.

#include "stub/stack/text/text.hpp"
#include "base/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "stub/number.hpp"
#include "stub/suggest.hpp"

namespace ptxgraft::stack {
namespace {

struct Range {
    std::int64_t low, high;
};

// What an immediate may be: its range in the table, within its type and the 32 bits of a payload.
Range range_of(const isa::OperandSpec& spec) {
    using enum syntax::Type;
    Range range{INT32_MIN, 0xFFFFFFFF};
    switch (spec.type) {
        case u8: range = {0, 0xFF}; break;
        case s8: range = {-0x80, 0x7F}; break;
        case u16: range = {0, 0xFFFF}; break;
        case b16: range = {-0x8000, 0xFFFF}; break;
        case s16: range = {-0x8000, 0x7FFF}; break;
        case u32:
        case u64: range.low = 0; break;
        case s32:
        case s64: range.high = INT32_MAX; break;
        default: break;
    }
    return {std::max(range.low, spec.low), std::min(range.high, spec.high)};
}

std::string text_of(Range range, std::int64_t step) {
    return fmt::format("from {} to {}{}", range.low, range.high,
                       step > 1 ? fmt::format(", a multiple of {}", step) : "");
}

}  // namespace

std::string element_name(const SiteOperand& operand, std::uint32_t element) {
    return operand.count == 0 ? operand.name : fmt::format("{}[{}]", operand.name, element);
}

Expected<void> Reader::read(std::string_view text, const Machine& machine, Program& program,
                            std::vector<Span>& places) {
    const Machine::Data& data = MachineData::of(machine);
    if (machine_ != data.id) {
        begin(*data.set, data.signature, program);
        machine_ = data.id;
    }
    chain_ = nullptr;
    return read_text(text, program, places);
}

Expected<void> Reader::read_import(std::string_view text, const InstructionSet& set,
                                   const Signature& signature, Program& program, std::vector<Span>& places,
                                   const ImportChain& chain) {
    begin(set, signature, program);
    chain_ = &chain;
    return read_text(text, program, places);
}

Expected<void> Reader::read_text(std::string_view text, Program& program, std::vector<Span>& places) {
    program.pool.clear();
    program.routines.clear();
    imports_.clear();
    routine_places_.clear();
    pool_.clear();
    return read_behind(text, program, places);
}

Expected<void> Reader::read_behind(std::string_view text, Program& program, std::vector<Span>& places) {
    program.code.clear();
    places.clear();
    if (text.size() >= Span::none) return fail(Errc::text_too_large);
    program_ = &program;
    code_ = &program.code;
    places_ = &places;
    in_routine_ = 0;
    brackets_.clear();
    routine_place_.clear();
    words_ = Words(text);
    return read_words();
}

void Reader::begin(const InstructionSet& set, const Signature& signature, Program& program) {
    set_ = &set;
    signature_ = &signature;
    program_ = &program;
    cache_.forget();
    pool_.clear();
    machine_ = 0;
    chain_ = nullptr;
}

Expected<void> Reader::read_words() {
    while (words_.next()) {
        if (const Instruction* known = cache_.find(words_.word(), words_.rest());
            known != nullptr && (in_routine_ == 0 || known->opcode != Opcode::input)) {
            add(*known);
            continue;
        }
        if (words_.is_break()) continue;
        if (auto read = word(); !read) return read;
    }
    if (brackets_.empty()) return {};
    const Bracket& open = brackets_.back();
    const std::string_view name = open.opcode == Opcode::call ? "routine" : bracket_name(open.opcode);
    return fail(Errc::stack_bracket_wrong, open.place, fmt::format("this {} has no end", name));
}

Expected<void> Reader::word() {
    const std::string_view word = words_.word();
    if (words_.is_arrow()) return assignment();
    if (const std::int32_t index = find_operand(word); index >= 0)
        return operand(word, static_cast<std::uint32_t>(index));
    const char first = word[0];
    if (is_digit(first) || first == '.' || first == '-') return literal(word);
    if (first == '!') return raw(word);
    return word.find('.') != std::string_view::npos ? dotted(word) : plain(word);
}

// `add.f32`, `%tid.x`, `dup.f32`
Expected<void> Reader::dotted(std::string_view word) {
    if (const std::int32_t index = set_->find(word); index >= 0)
        return entry(static_cast<std::uint32_t>(index));
    if (const std::int32_t routine = find_routine(word); routine >= 0)
        return done({Opcode::call, 0, static_cast<std::uint16_t>(routine), 0});
    const auto is_known = TRY(stack_word(word));
    return is_known ? Expected<void>{} : unknown(word);
}

// A word without a dot
Expected<void> Reader::plain(std::string_view word) {
    const bool is_language = TRY(language_word(word));
    if (is_language) return {};
    if (const std::int32_t routine = find_routine(word); routine >= 0)
        return done({Opcode::call, 0, static_cast<std::uint16_t>(routine), 0});
    if (const std::int32_t index = set_->find(word); index >= 0)
        return entry(static_cast<std::uint32_t>(index));
    const bool is_element = TRY(element(word, Opcode::input));
    if (is_element) return {};
    if (is_literal_word(word, *set_)) return literal(word);
    return unknown(word);
}

Expected<void> Reader::literal(std::string_view word) {
    const auto constant = TRY(parse_literal(word, words_.place(), *set_));
    push_constant(constant);
    return {};
}

void Reader::push_constant(const Constant& constant) {
    if (const auto payload = payload_of(constant.bits, base_of(constant.type, *set_)))
        return (void)kept({Opcode::constant, constant.type, 0, *payload});
    add({Opcode::pooled, constant.type, 0, pool_.place(program_->pool, constant.bits)});
}

// ---- operands

Expected<void> Reader::operand(std::string_view word, std::uint32_t index) {
    const SiteOperand& operand = signature_->operands[index];
    if (in_routine_ != 0)
        return fail_here(
            Errc::stack_routine_wrong,
            fmt::format("{} is an operand: a routine sees only its arguments, which stand on its stacks",
                        word));
    if (operand.count != 0)
        return fail_here(Errc::stack_element_out_of_range,
                         fmt::format("{} has {} elements; name one: {}[0]", word, operand.count, word));
    return is_language_word(word) ? done({Opcode::input, 0, static_cast<std::uint16_t>(index), 0})
                                  : kept({Opcode::input, 0, static_cast<std::uint16_t>(index), 0});
}

// Behind an arrow, where no other word can stand, operands may have the name of a word of the language.
std::int32_t Reader::find_operand(std::string_view name, bool is_target) const {
    const auto& operands = signature_->operands;
    const auto at = std::ranges::find(operands, name, &SiteOperand::name);
    const bool is_there = at != operands.end() && !name.empty() && (is_target || !is_language_word(name));
    return is_there ? static_cast<std::int32_t>(at - operands.begin()) : -1;
}

// `frag[2]`: adds the instruction. False if the word does not name an operand.
Expected<bool> Reader::element(std::string_view word, Opcode opcode) {
    const std::size_t bracket = word.back() == ']' ? word.find('[') : std::string_view::npos;
    const std::string_view stem = word.substr(0, bracket);
    const std::int32_t index = find_operand(stem, opcode == Opcode::assign);
    if (index < 0) return false;
    const SiteOperand& operand = signature_->operands[static_cast<std::size_t>(index)];
    if (bracket == std::string_view::npos || in_routine_ != 0) {
        if (operand.count != 0 || in_routine_ != 0)
            return Reader::operand(word, static_cast<std::uint32_t>(index)).map([] { return true; });
        add({opcode, 0, static_cast<std::uint16_t>(index), 0});
        return true;
    }
    if (operand.count == 0)
        return fail_here(Errc::stack_element_out_of_range,
                         fmt::format("{} is not a fragment; write {}", stem, stem));
    const auto number = whole_number(word.substr(bracket + 1, word.size() - bracket - 2));
    if (!number || *number >= operand.count)
        return fail_here(Errc::stack_element_out_of_range, fmt::format("{} has the elements {}[0] to {}[{}]",
                                                                       stem, stem, stem, operand.count - 1));
    const Instruction instruction{opcode, 0, static_cast<std::uint16_t>(index),
                                  static_cast<std::uint32_t>(*number)};
    if (opcode == Opcode::input) cache_.remember(word, instruction);
    add(instruction);
    return true;
}

// The names after an arrow, up to the end of the line or `;`. The last one takes the top of its stack.
Expected<void> Reader::assignment() {
    const Span arrow = words_.place();
    if (in_routine_ != 0)
        return fail_here(Errc::stack_routine_wrong,
                         "a routine assigns nothing: what stands on its stacks at its end are its results");
    const std::size_t first = code_->size();
    while (words_.next() && !words_.is_break()) {
        const std::string_view word = words_.word();
        const auto is_element = TRY(element(word, Opcode::assign));
        if (is_element) continue;
        std::string text =
            fmt::format("{} is not an operand; after -> stand names of operands, a line's end or ; ends them",
                        word.substr(0, 40));
        const char* separator = "; there are ";
        for (const SiteOperand& operand : signature_->operands) {
            if (operand.direction == Direction::in) continue;
            text.append(separator).append(element_name(operand, 0));
            separator = ", ";
        }
        return fail_here(Errc::stack_assignment_wrong, std::move(text));
    }
    if (code_->size() == first) return fail(Errc::stack_assignment_wrong, arrow, "-> names no operand");
    std::reverse(code_->begin() + static_cast<std::ptrdiff_t>(first), code_->end());
    std::reverse(places_->begin() + static_cast<std::ptrdiff_t>(first), places_->end());
    return {};
}

// ---- instructions of the set

Expected<void> Reader::entry(std::uint32_t index) {
    std::size_t count = 0;
    for (const EntryOperand& operand : set_->entries()[index].operands) count += operand.is_immediate ? 1 : 0;
    return count == 0 ? kept({Opcode::form, 0, static_cast<std::uint16_t>(index), 0})
                      : immediates(index, count);
}

// The literals before an instruction become part of it: the last one its payload, the others, last first, a
// row of the pool.
Expected<void> Reader::immediates(std::uint32_t index, std::size_t count) {
    const Entry& entry = set_->entries()[index];
    std::size_t at = code_->size() - std::min(code_->size(), count), seen = code_->size() - at;
    std::vector<std::uint64_t> values;
    for (const EntryOperand& operand : entry.operands) {
        if (!operand.is_immediate) continue;
        const auto value = TRY(immediate(operand, seen < count ? code_->size() : at++, entry.name));
        values.push_back(value);
    }
    code_->resize(code_->size() - count);
    (in_routine_ == 0 ? *places_ : routine_place_).resize(code_->size());
    const auto payload = static_cast<std::uint32_t>(values.back());
    values.pop_back();
    std::reverse(values.begin(), values.end());
    const std::uint32_t row = values.empty() ? 0 : PoolPlaces::row(program_->pool, values);
    if (row > 0xFF)
        return fail_here(
            Errc::stack_too_large,
            fmt::format("{}: its literals do not fit: a program has at most 256 such constants", entry.name));
    return done({Opcode::form, static_cast<TypeId>(row), static_cast<std::uint16_t>(index), payload});
}

// The literal at a place of the code, as the immediate of an instruction.
Expected<std::uint64_t> Reader::immediate(const EntryOperand& operand, std::size_t at,
                                          const std::string& name) const {
    const Range range = range_of(*operand.spec);
    const auto required = [&](std::string_view found) {
        return fail_here(Errc::stack_literal_required,
                         fmt::format("{} takes a literal {}, written before it{}", name,
                                     text_of(range, operand.spec->step), found));
    };
    if (at >= code_->size()) return required("");
    const Instruction& instruction = (*code_)[at];
    if (instruction.opcode == Opcode::pooled) return required("; a longer one stands there");
    // a raw word may have any type
    if (instruction.opcode != Opcode::constant || name_of(instruction.type).empty()) return required("");
    const TypeId base = base_of(instruction.type, *set_);
    const auto bits = bits_of(instruction.payload, base);
    const std::string_view type = set_->type_name(base);
    if (!bits || (type[0] != 'u' && type[0] != 's' && !(type[0] == 'b' && type[1] != 'f')))
        return required("; it must be an integer");
    const std::uint32_t shift = 64 - std::min(width_of(base), 64u);
    const std::int64_t value = type[0] == 's' ? static_cast<std::int64_t>(*bits << shift) >> shift
                                              : static_cast<std::int64_t>(*bits);
    if (value >= range.low && value <= range.high && value % operand.spec->step == 0)
        return static_cast<std::uint64_t>(value);
    return required(fmt::format("; {} is not", value));
}

// ---- the other words

// `dup.f32`, `as.u32.f32`. False if it is none.
Expected<bool> Reader::stack_word(std::string_view word) {
    const std::size_t dot = word.find('.');
    const std::string_view stem = word.substr(0, dot);
    if (stem == "as") return cast(word).map([] { return true; });
    const StackWord* const found = find_stack_word(&StackWord::word, stem);
    if (found == nullptr) return false;
    const auto type = TRY(stack_type(word, word.substr(dot + 1)));
    const Instruction instruction{found->opcode, type, 0, 0};
    if (!found->has_number) return kept(instruction).map([] { return true; });
    add(instruction);
    const auto read = TRY(number(word, found->most));
    code_->back().payload = read;
    return true;
}

Expected<void> Reader::cast(std::string_view word) {
    const std::size_t dot = word.find('.', 3);
    if (dot == std::string_view::npos)
        return fail_here(
            Errc::stack_word_unknown,
            fmt::format("{}: a cast names two types, what it makes and what it takes: as.u32.f32",
                        word.substr(0, 60)));
    const auto to = stack_type(word, word.substr(3, dot - 3)), from = stack_type(word, word.substr(dot + 1));
    if (!to || !from) return tl::unexpected(!to ? to.error() : from.error());
    const TypeId to_base = base_of(*to, *set_), from_base = base_of(*from, *set_);
    if (to_base == type_id(Type::pred) || from_base == type_id(Type::pred))
        return fail_here(Errc::stack_word_unknown,
                         fmt::format("{}: a predicate has no bits to take; use selp or setp.ne", word));
    if (width_of(to_base) != width_of(from_base))
        return fail_here(Errc::stack_word_unknown,
                         fmt::format("{}: {} has {} bits and {} has {}; cvt converts", word, name_of(*to),
                                     width_of(to_base), name_of(*from), width_of(from_base)));
    return kept({Opcode::cast, *to, *from, 0});
}

Expected<TypeId> Reader::stack_type(std::string_view word, std::string_view name) const {
    if (const TypeId type = set_->find_type(name); type != max_types) return type;
    return fail_here(
        Errc::stack_word_unknown,
        fmt::format(
            "{}: {} is no type; the types are those of PTX, such as f32, s32, pred, and those of the set",
            word.substr(0, 60), name.empty() ? "nothing" : name.substr(0, 40)));
}

// The number behind a word.
Expected<std::uint32_t> Reader::number(std::string_view what, std::uint32_t most) {
    const Span place = words_.place();
    if (!words_.next() || words_.is_break())
        return fail(Errc::stack_number_missing, place,
                    fmt::format("{} takes a number behind it: {} 2", what, what));
    const std::string_view word = words_.word();
    std::uint32_t value = 0;
    const auto [stop, code] = std::from_chars(word.data(), word.data() + word.size(), value);
    const bool is_number =
        stop == word.data() + word.size() && (code == std::errc() || code == std::errc::result_out_of_range);
    if (!is_number || (word.size() > 1 && word[0] == '0'))
        return fail_here(Errc::stack_number_missing,
                         fmt::format("{} takes a number behind it, not {}", what, word.substr(0, 40)));
    if (code != std::errc() || value > most)
        return fail_here(Errc::stack_literal_out_of_range,
                         fmt::format("{} ({} takes 0 to {})", word.substr(0, 40), what, most));
    return value;
}

// `!0123456789ABCDEF`: an instruction that has no other text, byte for byte; `!!0123456789ABCDEF` a constant
// of the pool. See print.
Expected<void> Reader::raw(std::string_view word) {
    const bool is_constant = word.starts_with("!!");
    const std::string_view digits = word.substr(is_constant ? 2 : 1);
    const auto bytes = whole_number(digits, 16);
    if (digits.size() != 16 || !bytes)
        return fail_here(
            Errc::stack_word_unknown,
            fmt::format("{}: ! takes the 16 hexadecimal digits of an instruction, !! of a constant",
                        word.substr(0, 40)));
    if (is_constant) return program_->pool.push_back(*bytes), Expected<void>{};
    return done(std::bit_cast<Instruction>(*bytes));
}

namespace {

std::vector<std::string> all_words(const InstructionSet& set, const Signature& signature,
                                   std::span<const Routine> routines) {
    std::vector<std::string> all(language_words.begin(), language_words.end());
    for (const SiteOperand& operand : signature.operands) all.push_back(element_name(operand, 0));
    for (const Routine& routine : routines) all.push_back(routine.name);
    for (const Entry& entry : set.entries()) all.push_back(entry.name);
    for (const StackWord& word : stack_words)
        for (TypeId type = 0; type < max_types; ++type)
            if (const auto name = set.type_name(type); !name.empty())
                all.push_back(fmt::format("{}.{}", word.word, name));
    return all;
}

}  // namespace

Expected<void> Reader::unknown(std::string_view word) const {
    std::string shown(word.substr(0, 60));
    std::replace_if(
        shown.begin(), shown.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7F; },
        '?');
    if (in_routine_ != 0 && word == routine_.name)
        return fail_here(Errc::stack_word_unknown,
                         fmt::format("{}: a routine uses only those above it, not itself", shown));
    const std::vector<std::string> words = all_words(*set_, *signature_, program_->routines);
    const std::vector<std::string_view> names(words.begin(), words.end());
    return fail_here(Errc::stack_word_unknown, shown + did_you_mean(word, names, most_suggestions));
}

}  // namespace ptxgraft::stack
