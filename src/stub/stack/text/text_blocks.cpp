// Words that stand around others: brackets and routines.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/try.hpp"
#include "stub/stack/compile/bound.hpp"
#include "stub/stack/text/text.hpp"

namespace ptxgraft::stack {
namespace {

// A name that no literal, bracket or operand's element can be.
bool is_name(std::string_view name) {
    const auto is_letter = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    return !name.empty() && is_letter(name[0]) && name.find("//") == std::string_view::npos &&
           std::all_of(name.begin(), name.end(), [&](char c) {
               return is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '/' || c == '$';
           });
}

}  // namespace

// Brackets, routines, imports. False if it is none.
Expected<bool> Reader::language_word(std::string_view word) {
    constexpr std::array<Expected<void> (Reader::*)(), language_words.size()> readers = {
        &Reader::if_word, &Reader::else_word, &Reader::end_word,
        &Reader::repeat,  &Reader::routine,   &Reader::import};
    const auto found = std::ranges::find(language_words, word);
    if (found == language_words.end()) return false;
    if ((word == "end" || word == "else") &&
        brackets_.empty())  // it closes nothing: an operand may have the name
        if (const std::int32_t index = find_operand(word, true); index >= 0)
            return operand(word, static_cast<std::uint32_t>(index)).map([] { return true; });
    const auto read = readers[static_cast<std::size_t>(found - language_words.begin())];
    return (this->*read)().map([] { return true; });
}

Expected<void> Reader::if_word() {
    brackets_.push_back({Opcode::if_, false, words_.place()});
    return done({Opcode::if_, 0, 0, 0});
}

Expected<void> Reader::repeat() {
    brackets_.push_back({Opcode::repeat, false, words_.place()});
    add({Opcode::repeat, 0, 0, 0});
    const auto count = TRY(number("repeat", max_repeats));
    code_->back().payload = count;
    return {};
}

Expected<void> Reader::else_word() {
    if (brackets_.empty() || brackets_.back().opcode != Opcode::if_)
        return fail_here(Errc::stack_bracket_wrong, "else stands between an if and its end");
    if (brackets_.back().has_else) return fail_here(Errc::stack_bracket_wrong, "this if has an else already");
    brackets_.back().has_else = true;
    return done({Opcode::else_, 0, 0, 0});
}

Expected<void> Reader::end_word() {
    if (brackets_.empty())
        return fail_here(Errc::stack_bracket_wrong, "end without a repeat, if or routine before it");
    const Opcode opcode = brackets_.back().opcode;
    brackets_.pop_back();
    if (opcode != Opcode::call) return done({Opcode::end, 0, 0, 0});
    routine_place_.push_back(words_.place());
    routine_places_.resize(program_->routines.size());
    routine_places_.push_back(std::exchange(routine_place_, {}));
    program_->routines.push_back(std::move(routine_));
    code_ = &program_->code;
    in_routine_ = 0;
    return {};
}

// ---- routines

std::int32_t Reader::find_routine(std::string_view name) const {
    for (std::size_t i = program_->routines.size(); i-- > 0;)
        if (program_->routines[i].name == name) return static_cast<std::int32_t>(i);
    return -1;
}

std::string Reader::why_taken(std::string_view name) const {
    if (!is_name(name))
        return fmt::format("{} is not a name: a letter or _, then letters, digits, _, ., $",
                           name.substr(0, 40));
    const auto taken = [&](std::string_view what) {
        return fmt::format("{} is {}; choose another name", name, what);
    };
    if (find_operand(name) >= 0) return taken("an operand");
    if (is_language_word(name)) return taken("a word of the language");
    if (find_routine(name) >= 0) return taken("a routine already");
    if (set_->find(name) >= 0) return taken("an instruction of the set");
    if (is_literal_word(name, *set_)) return taken("a literal");
    return is_stack_word(name) ? taken("a word of the language") : "";
}

// `routine square f32 -> f32 :`
Expected<void> Reader::routine() {
    const Span place = words_.place();
    if (in_routine_ != 0 || !brackets_.empty())
        return fail_here(Errc::stack_routine_wrong,
                         "a routine stands outside of all brackets and other routines");
    if (program_->routines.size() >= most_routines)
        return fail_here(Errc::stack_routine_wrong, "a program has at most 256 routines");
    if (!words_.next_in_program())
        return fail(Errc::stack_routine_wrong, place,
                    "routine takes a name and types: routine square f32 -> f32 : … end");
    if (std::string why = why_taken(words_.word()); !why.empty())
        return fail_here(Errc::stack_routine_wrong, std::move(why));
    routine_ = Routine{std::string(words_.word()), {}, {}, {}};
    TRY(routine_types(routine_));
    code_ = &routine_.code;
    brackets_.push_back({Opcode::call, false, place});
    in_routine_ = 1;
    return {};
}

namespace {

// `!3E`: the number of a type that the set does not have, as bytes of any program may.
bool is_raw_type(std::string_view word, TypeId& type) {
    if (word.size() != 3 || word[0] != '!') return false;
    return std::from_chars(word.data() + 1, word.data() + 3, type, 16).ptr == word.data() + 3;
}

}  // namespace

Expected<void> Reader::routine_types(Routine& routine) {
    std::vector<TypeId>* types = &routine.arguments;
    while (words_.next_in_program()) {
        std::string_view word = words_.word();
        if (words_.is_arrow() && types == &routine.arguments) {
            types = &routine.results;
            continue;
        }
        const bool is_last = word.ends_with(':');
        if (is_last) word.remove_suffix(1);
        if (!word.empty()) {
            TypeId type = words_.is_arrow() ? max_types : set_->find_type(word);
            if (type == max_types && !is_raw_type(word, type))
                return fail_here(Errc::stack_routine_wrong,
                                 fmt::format("{} is no type; a routine is: routine square f32 -> f32 : … end",
                                             word.substr(0, 40)));
            types->push_back(type);
        }
        if (is_last && types == &routine.arguments)
            return fail_here(Errc::stack_routine_wrong, "the types of the results stand between -> and :");
        if (is_last) return {};
    }
    return fail_here(Errc::stack_routine_wrong,
                     fmt::format("routine {} has no `:` behind its types: routine square f32 -> f32 : … end",
                                 routine.name));
}

}  // namespace ptxgraft::stack
