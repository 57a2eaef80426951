// Reads ptx.isa. Its notation stands at the top of that file.

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <iostream>
#include <set>
#include <string_view>
#include <utility>

#include "ptxgraft/architectures.hpp"
#include "ptxgraft/isa/types.hpp"
#include "table_model.hpp"

namespace ptxgraft::isa::generator {
namespace {

constexpr std::array effect_names = {"load",   "store", "atomic", "warp", "barrier",
                                     "branch", "call",  "tensor", "exit", "state"};
constexpr std::array flag_words = {"reg",   "exact",  "wide",  "sink",  "special", "symbol", "mixed",
                                   "plain", "braces", "loose", "inout", "minus",   "element"};
constexpr std::array typeless_kinds = {"label",     "labels",     "callee",  "prototype", "arguments",
                                       "texref",    "samplerref", "surfref", "address",   "selector",
                                       "selector2", "selector4",  "mask2",   "mask4"};

template <class Array> bool contains(const Array& array, const std::string& word) {
    return std::find(array.begin(), array.end(), word) != array.end();
}

std::string trim(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return {};
    return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

Strings split(const std::string& text, const std::string& separators) {
    Strings parts;
    std::string part;
    for (const char c : text + separators[0]) {
        if (separators.find(c) == std::string::npos) {
            part += c;
        } else if (part = trim(part); !part.empty()) {
            parts.push_back(std::move(part));
            part.clear();
        }
    }
    return parts;
}

// Columns stand between bars with blanks around them; the bar of `d|p` has none.
Strings columns_of(const std::string& text) {
    Strings columns;
    std::size_t begin = 0;
    for (std::size_t i = 1; i < text.size(); ++i) {
        if (text[i] != '|' || text[i - 1] != ' ' || (i + 1 < text.size() && text[i + 1] != ' ')) continue;
        columns.push_back(trim(std::string_view(text).substr(begin, i - begin)));
        begin = i + 1;
    }
    columns.push_back(trim(std::string_view(text).substr(begin)));
    return columns;
}

unsigned number(int line, const std::string& text) {
    if (text.empty() || text.size() > 9 ||
        !std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); }))
        stop(line, "'" + text + "' is no number");
    return static_cast<unsigned>(std::stoul(text));
}

unsigned version_number(int line, const std::string& text) {
    const auto dot = text.find('.');
    if (dot == std::string::npos) stop(line, "'" + text + "' is no PTX version; right is: 7.8");
    return 10 * number(line, text.substr(0, dot)) + number(line, text.substr(dot + 1));
}

std::string architecture(int line, const std::string& text) {
    const std::string digits = text.size() > 3 && text.rfind("sm_", 0) == 0 ? text.substr(3) : "";
    const std::size_t end = digits.find_first_not_of("0123456789");
    const std::string suffix = end == std::string::npos ? "" : digits.substr(end);
    if (digits.empty() || end == 0 || (!suffix.empty() && suffix != "a" && suffix != "f"))
        stop(line, "'" + text + "' is no architecture; right is: sm_90, sm_90a, sm_100f");
    const auto sm = static_cast<std::uint16_t>(std::min(number(line, digits.substr(0, end)), 65535u));
    if (first_version({sm, suffix.empty() ? '\0' : suffix[0]}) == 0)
        stop(line, "there is no " + text + "; those that there are stand in architectures.hpp");
    return digits;
}

class Reader {
  public:
    Table run(std::istream& in) {
        for (std::string text; std::getline(in, text);) {
            ++line_;
            const std::string content = trim(text.substr(0, text.find('#')));
            if (!content.empty()) line(content, text[0] == ' ' || text[0] == '\t');
        }
        finish_row();
        return std::move(table_);
    }

  private:
    [[noreturn]] void error(const std::string& message) const { stop(line_, message); }

    void line(const std::string& text, bool is_indented) {
        if (is_indented) {
            if (!row_) error("a slot or constraint stands below its row");
            text.find('=') == std::string::npos ? constraint(text) : slot(text);
            return;
        }
        finish_row();
        const std::string word = text.substr(0, text.find(' '));
        const std::string rest = trim(text.substr(word.size()));
        if (word == "effect") return effects(rest);
        if (word == "target") return target(rest);
        if (word == "opcode") return opcodes(rest);
        if (word == "special") return special(rest);
        if (word == "repeat") return repeat(rest);
        row(text);
    }

    // --- lines that are no rows
    void effects(const std::string& text) {
        const auto colon = text.find(':');
        if (colon == std::string::npos) error("effects are written: effect WORD…: opcode…");
        unsigned bits = 0;
        for (const std::string& word : split(text.substr(0, colon), " ")) {
            const auto at = std::find(effect_names.begin(), effect_names.end(), word);
            if (at == effect_names.end() && word != "none") error("no effect is named " + word);
            if (word != "none") bits |= 1u << (at - effect_names.begin());
        }
        for (const std::string& opcode : split(text.substr(colon + 1), " "))
            if (!table_.effects.emplace(opcode, bits).second)
                error(opcode + " stands twice among the effects");
    }

    void target(const std::string& text) {
        const auto equals = text.find('=');
        if (equals == std::string::npos) error("a target is written: target NAME = VERSION sm_X,sm_Y or …");
        const std::string name = trim(text.substr(0, equals));
        if (!targets_.emplace(name, since(trim(text.substr(equals + 1)))).second)
            error("target " + name + " stands twice");
    }

    void opcodes(const std::string& text) {
        for (const std::string& word : split(text, " ")) {
            if (word.find('.') == std::string::npos)
                error(word + " is one word; only opcodes of several are declared");
            compounds_.insert(word);
        }
    }

    void repeat(const std::string& text) {
        for (const std::string& word : split(text, " ")) table_.repeatable.push_back(word);
    }

    void special(const std::string& text) {
        const Strings columns = columns_of(text);
        const Strings words = split(columns[0], " ");
        const bool is_narrow = words.size() == 3 && words[2] == "narrow",
                   is_volatile = words.size() == 3 && words[2] == "volatile";
        if (columns.size() != 2 || (words.size() != 2 && !is_narrow && !is_volatile))
            error("a special register is written: special NAME TYPE [narrow|volatile] | SINCE");
        Special s;
        s.name = words[0];
        s.type = words[1].substr(1);
        s.is_narrow = is_narrow;
        s.is_volatile = is_volatile;
        if (const auto angle = s.name.find("<0.."); angle != std::string::npos) {
            s.count = number(line_, s.name.substr(angle + 4, s.name.size() - angle - 5)) + 1;
            s.name.erase(angle);
        }
        if (s.type.rfind("v4.", 0) == 0) {
            s.is_vector = true;
            s.type.erase(0, 3);
        }
        if (type_info(s.type) == nullptr) error("no type is named ." + s.type);
        const auto is_same = [&](const Special& other) { return other.name == s.name; };
        if (std::any_of(table_.special.begin(), table_.special.end(), is_same))
            error(s.name + " stands twice among the special registers");
        s.since = since(columns[1]);
        table_.special.push_back(std::move(s));
    }

    // `7.8 sm_90,sm_100f or NAME`
    SinceList since(const std::string& text) const {
        SinceList list;
        const Strings words = split(text, " ");
        for (std::size_t i = 0; i < words.size();) {
            if (i > 0 && words[i++] != "or") error("alternatives stand with 'or' between them");
            if (i < words.size() && targets_.count(words[i]) != 0) {
                const SinceList& named = targets_.at(words[i++]);
                list.insert(list.end(), named.begin(), named.end());
                continue;
            }
            if (i + 2 > words.size()) error("'" + text + "' is not: VERSION sm_X");
            Since s;
            s.version = version_number(line_, words[i]);
            for (const std::string& arch : split(words[i + 1], ","))
                s.architectures.push_back(architecture(line_, arch));
            list.push_back(std::move(s));
            i += 2;
        }
        if (list.empty()) error("a PTX version and an architecture are missing: 1.0 sm_10");
        return list;
    }

    // --- rows
    void row(const std::string& text) {
        const Strings columns = columns_of(text);
        if (columns.size() != 4) error("a row has four columns: syntax, since, operand types, flags");
        row_.emplace();
        row_->line = line_;
        row_->syntax = columns[0];
        const auto blank = columns[0].find(' ');
        name_ = columns[0].substr(0, blank);
        operands_ = blank == std::string::npos ? "" : trim(columns[0].substr(blank));
        types_ = columns[2];
        std::string versions = columns[1];
        if (const auto until = versions.find(" until "); until != std::string::npos) {
            const Strings words = split(versions.substr(until + 7), " ");
            if (words.size() != 2) error("right is: until VERSION sm_X");
            row_->until_version = version_number(line_, words[0]);
            row_->until_sm = number(line_, architecture(line_, words[1]));
            versions.erase(until);
        }
        row_->since = since(versions);
        for (const std::string& flag : split(columns[3], " ")) {
            if (flag != "pure") error("no flag is named " + flag);
            row_->pure = true;
        }
    }

    void slot(const std::string& text) {
        const auto equals = text.find('=');
        const auto open = text.find('{'), close = text.find('}');
        if (open == std::string::npos || close == std::string::npos || close < open)
            error("a slot is written: .name = { .member … }");
        const std::string name = trim(text.substr(0, equals));
        if (!slots_.emplace(name, split(text.substr(open + 1, close - open - 1), " ")).second)
            error("slot " + name + " is defined twice");
    }

    void constraint(const std::string& text) {
        Constraint c;
        c.text = text;
        c.line = line_;
        Strings words = split(text, " ");
        if (words[0] == "implies") {
            words.erase(words.begin());
            row_->implied = std::move(words);
            return;
        }
        const auto verb = std::find_if(words.begin(), words.end(), [](const std::string& w) {
            return w == "needs" || w == "excludes" || w == "since";
        });
        if (verb == words.begin() || verb == words.end() || verb + 1 == words.end())
            error("a constraint is written: LIST needs|excludes|since LIST");
        c.kind = *verb;
        if (c.kind == "since" && std::isalpha(static_cast<unsigned char>(words[0][0]))) {
            for (auto w = words.begin(); w != verb; ++w)
                operand_since_.emplace_back(*w, since(text.substr(text.find(" since ") + 7)));
            return;
        }
        for (auto w = words.begin(); w != verb; ++w) c.left.push_back(term(*w));
        if (c.kind == "since")
            c.since = since(text.substr(text.find(" since ") + 7));
        else
            for (auto w = verb + 1; w != words.end(); ++w) c.right.push_back(term(*w));
        row_->constraints.push_back(std::move(c));
    }

    static Term term(const std::string& text) {
        Term out;
        for (const std::string& word : split(text, "+")) {
            const bool is_absent = word[0] == '!';
            out.push_back({is_absent ? word.substr(1) : word, is_absent});
        }
        return out;
    }

    // A row is understood when all lines below it have been read.
    void finish_row() {
        if (!row_) return;
        const int line = std::exchange(line_, row_->line);
        parts();
        std::size_t at = 0;
        row_->operands = operand_list(at, '\0');
        if (at != operands_.size()) error("'" + operands_.substr(at) + "' is no list of operands");
        types();
        for (auto& [operand, since] : operand_since_) named(operand).since = std::move(since);
        operand_since_.clear();
        for (Operand& operand : row_->operands) finish(operand, false);
        for (const Constraint& c : row_->constraints) check(c);
        table_.rows.push_back(std::move(*row_));
        row_.reset();
        slots_.clear();
        line_ = line;
    }

    // Splits the name into its opcode and parts.
    void parts() {
        std::vector<Part> all;
        std::set<std::string> used;
        for (std::size_t at = 0; at < name_.size();) {
            const bool is_optional = name_[at] == '{';
            const std::size_t begin = at + (is_optional ? 1 : 0);
            std::size_t end = is_optional ? name_.find('}', at) : name_.find_first_of(".{", begin + 1);
            if (is_optional && end == std::string::npos) error("a brace is not closed");
            end = std::min(end, name_.size());
            Part part;
            part.name = name_.substr(begin, end - begin);
            part.is_optional = is_optional;
            if (part.name.find('.', 1) != std::string::npos) error(part.name + " is more than one modifier");
            const auto defined = slots_.find(part.name);
            if (defined == slots_.end())
                part.members = {part.name};
            else
                for (const std::string& member : defined->second)
                    member == "none" ? void(part.is_optional = true) : part.members.push_back(member);
            for (const std::string& member : part.members)
                if (!all.empty() && member[0] != '.') error("'" + member + "' is no modifier");
            used.insert(part.name);
            all.push_back(std::move(part));
            at = end + (is_optional ? 1 : 0);
        }
        for (const auto& [name, members] : slots_)
            if (used.count(name) == 0) error("the syntax line has no part " + name);
        take_opcode(all);
        check_overlap(all);
        row_->parts = std::move(all);
    }

    void take_opcode(std::vector<Part>& all) {
        std::string name = all.front().name;
        std::size_t count = 1;
        row_->opcode = name;
        for (std::size_t i = 1; i < all.size() && !all[i].is_optional && all[i].members.size() == 1; ++i) {
            name += all[i].members[0];
            if (compounds_.count(name) == 0) continue;
            row_->opcode = name;
            count = i + 1;
        }
        all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
    }

    // A written modifier takes the first free slot that has it; an optional one before another would take it
    // wrongly.
    void check_overlap(const std::vector<Part>& all) const {
        for (std::size_t i = 0; i < all.size(); ++i)
            for (std::size_t j = i + 1; all[i].is_optional && j < all.size(); ++j)
                for (const std::string& member : all[i].members)
                    if (contains(all[j].members, member))
                        error(member + " may fill optional " + all[i].name + " and " + all[j].name +
                              "; write two rows");
    }

    // --- operands: `d{|p}, [a, c]{, e}`
    std::vector<Operand> operand_list(std::size_t& at, char close) {
        std::vector<Operand> list;
        bool is_optional = false;
        for (;;) {
            skip(at);
            if (at == operands_.size() || operands_[at] == close) return list;
            if (operands_[at] == ',') {
                ++at;
            } else if (operands_[at] == '{') {
                is_optional = true;
                ++at;
            } else if (operands_[at] == '}' && is_optional) {
                is_optional = false;
                ++at;
            } else {
                list.push_back(operand(at));
                list.back().is_optional = is_optional;
            }
        }
    }

    Operand operand(std::size_t& at) {
        Operand o;
        if (operands_[at] == '[' || operands_[at] == '(') {
            const char close = operands_[at] == '[' ? ']' : ')';
            o.kind = operands_[at] == '[' ? "address" : "list";
            o.children = operand_list(++at, close);
            if (at == operands_.size() || o.children.empty())
                error("a bracket of the operands is not closed, or empty");
            ++at;
            return o;
        }
        o.name = operand_name(at);
        const bool optional_pair = operands_.compare(at, 2, "{|") == 0;
        if (!optional_pair && (at == operands_.size() || operands_[at] != '|')) return o;
        at += optional_pair ? 2 : 1;
        Operand pair;
        pair.kind = "pair";
        pair.children = {o, Operand{}};
        pair.children[1].name = operand_name(at);
        pair.children[1].is_optional = optional_pair;
        if (optional_pair && operands_[at++] != '}') error("a brace of the operands is not closed");
        return pair;
    }

    std::string operand_name(std::size_t& at) const {
        const std::size_t begin = at;
        while (at < operands_.size() && (std::isalnum(static_cast<unsigned char>(operands_[at])) ||
                                         operands_[at] == '_' || operands_[at] == '-'))
            ++at;
        if (begin == at) error("an operand's name is missing at '" + operands_.substr(at) + "'");
        return operands_.substr(begin, at - begin);
    }

    void skip(std::size_t& at) const {
        while (at < operands_.size() && operands_[at] == ' ') ++at;
    }

    // --- operand types: `d,a: .f32  b: reg .u32`
    void types() {
        Strings names, words;
        const auto flush = [&] {
            for (const std::string& name : names) describe(named(name), words);
            words.clear();
        };
        for (const std::string& word : split(types_, " ")) {
            if (word.back() == ':') {
                flush();
                names = split(word.substr(0, word.size() - 1), ",");
            } else {
                words.push_back(word);
            }
        }
        flush();
    }

    Operand& named(const std::string& name) {
        Operand* const operand = find(row_->operands, name);
        if (operand == nullptr) error("no operand is named " + name);
        return *operand;
    }
    static Operand* find(std::vector<Operand>& list, const std::string& name) {
        for (Operand& operand : list) {
            if (operand.name == name && !name.empty()) return &operand;
            if (Operand* child = find(operand.children, name)) return child;
        }
        return nullptr;
    }

    void describe(Operand& operand, const Strings& words) {
        if (!operand.type.empty() || operand.kind != "value")
            error("operand " + operand.name + " has two descriptions");
        for (std::size_t i = 0; i < words.size(); ++i) {
            const std::string& word = words[i];
            if (word == "with" || word == "without") {
                i = presence(operand, words, i);
            } else if (contains(flag_words, word)) {
                operand.words.push_back(word);
            } else if (contains(typeless_kinds, word)) {
                operand.kind = word == "address" ? "base" : word == "arguments" ? "list" : word;
            } else if (word.rfind("imm", 0) == 0 || word.rfind("range(", 0) == 0) {
                constant(operand, word);
            } else if (const auto star = word.rfind('*'); star != std::string::npos) {
                operand.kind = "vector";
                operand.count = count(word.substr(0, star));
                if (star + 1 < word.size()) type(operand, word.substr(star + 1));
            } else {
                type(operand, word);
            }
        }
        for (Operand& later : operand.children) later.type = operand.type;
    }

    void type(Operand& operand, const std::string& word) {
        if (word[0] != '.' || !operand.type.empty()) error("'" + word + "' is no word of an operand's type");
        operand.type = word;
    }

    // Modifiers behind `with`; the last word of the description is its type where no other gives one.
    std::size_t presence(Operand& operand, const Strings& words, std::size_t at) {
        auto& terms = words[at] == "with" ? operand.with : operand.without;
        const auto is_modifier = [&](std::size_t i) {
            return i < words.size() && words[i].find('*') == std::string::npos &&
                   (words[i][0] == '.' || words[i][0] == '!');
        };
        std::size_t end = at + 1;
        while (is_modifier(end)) ++end;
        if (end == words.size() && end - at > 2 && operand.type.empty() && operand.kind == "value" &&
            !operand.has("constant"))
            --end;
        for (std::size_t i = at + 1; i < end; ++i)
            for (const std::string& word : split(words[i], ",")) terms.push_back(term(word));
        if (terms.empty()) error("modifiers stand behind with and without");
        return end - 1;
    }

    void constant(Operand& operand, const std::string& word) {
        if (word.rfind("imm", 0) == 0) operand.words.push_back("constant");
        if (word == "imm") return;
        const auto open = word.find('(');
        if (open == std::string::npos || word.back() != ')')
            error("'" + word + "' is no range; right is: imm(0..15), range(24..256/8), imm(4,8)");
        const std::string inside = word.substr(open + 1, word.size() - open - 2);
        const auto semicolon = inside.find(';');
        operand.range = range(inside.substr(0, semicolon));
        if (semicolon == std::string::npos) return;
        Operand later;  // the elements behind the first
        later.range = range(inside.substr(semicolon + 1));
        operand.children.push_back(later);
    }

    Range range(std::string inside) const {
        Range range;
        if (const auto dots = inside.find(".."); dots != std::string::npos) {
            if (const auto slash = inside.find('/'); slash != std::string::npos) {
                range.step = integer(inside.substr(slash + 1));
                inside.erase(slash);
            }
            range.low = integer(inside.substr(0, dots));
            range.high = integer(inside.substr(dots + 2));
        } else {
            for (const std::string& value : split(inside, ",")) range.values.push_back(integer(value));
        }
        return range;
    }

    std::int64_t integer(const std::string& text) const {
        char* end = nullptr;
        const std::int64_t value = std::strtoll(text.c_str(), &end, 0);
        if (text.empty() || *end != '\0') error("'" + text + "' is no integer");
        return value;
    }

    // `4`, `.num*2`, `.dim-2`, `.shape/4`
    Count count(const std::string& text) const {
        Count c;
        std::string rest = text;
        if (rest.back() == '+') {
            c.or_more = true;
            rest.pop_back();
        }
        return count(rest, c);
    }
    Count count(const std::string& text, Count c) const {
        std::size_t at = text[0] == '.' ? text.find_first_of("*/-") : text.find_first_not_of("0123456789");
        const std::string first = text.substr(0, at);
        if (first[0] == '.')
            c.slot = first;
        else
            c.value = number(line_, first);
        while (at < text.size()) {
            const char op = text[at];
            const std::size_t next = text.find_first_of("*/-", at + 1);
            const unsigned n =
                number(line_, text.substr(at + 1, next == std::string::npos ? next : next - at - 1));
            (op == '*' ? c.times : op == '/' ? c.divided_by : c.minus) = n;
            at = next;
        }
        if (!c.slot.empty() && find_part(c.slot) == nullptr) error("the syntax line has no part " + c.slot);
        return c;
    }

    const Part* find_part(const std::string& name) const { return row_->part(name); }

    // --- checks
    void finish(Operand& operand, bool in_brackets) {
        for (std::size_t i = 0; i < operand.children.size(); ++i)
            finish(operand.children[i], operand.kind == "address" && i == 0);
        if (operand.kind == "value" && operand.type.empty() && in_brackets) operand.kind = "base";
        const bool needs_type =
            (operand.kind == "value" && !operand.has("constant")) || operand.kind == "vector";
        if (needs_type && operand.type.empty()) error("operand " + operand.name + " has no type");
        if (!operand.type.empty()) check_type(operand.type);
        for (const auto* terms : {&operand.with, &operand.without})
            for (const Term& t : *terms) check(t);
    }

    void check_type(const std::string& type) const {
        const Part* part = find_part(type);
        if (part == nullptr && type_info(type.substr(1)) == nullptr) error("no type is named " + type);
        if (part == nullptr) return;
        for (const std::string& member : part->members)
            if (type_info(member.substr(1)) == nullptr)
                error("slot " + type + " gives a type, but " + member + " is none");
    }

    void check(const Constraint& c) const {
        for (const auto* side : {&c.left, &c.right})
            for (const Term& t : *side) check(t);
    }
    void check(const Term& t) const {
        for (const Atom& atom : t) {
            const auto holds = [&](const Part& part) {
                return part.name == atom.word || contains(part.members, atom.word);
            };
            if (std::none_of(row_->parts.begin(), row_->parts.end(), holds))
                error("the syntax line has no " + atom.word);
        }
    }

    int line_ = 0;
    Table table_;
    std::map<std::string, SinceList> targets_;
    std::set<std::string> compounds_;
    std::optional<Row> row_;
    std::string name_, operands_, types_;
    std::vector<std::pair<std::string, SinceList>> operand_since_;  // of the row
    std::map<std::string, Strings> slots_;
};

}  // namespace

void stop(int line, const std::string& message) {
    std::cerr << "ptx.isa:" << line << ": error: " << message << '\n';
    std::exit(1);
}

bool Operand::has(const std::string& word) const { return contains(words, word); }

const Part* Row::part(const std::string& name) const {
    const auto at = std::find_if(parts.begin(), parts.end(), [&](const Part& p) { return p.name == name; });
    return at == parts.end() ? nullptr : &*at;
}

Table read(std::istream& in) {
    Table table = Reader().run(in);
    for (const Row& row : table.rows) {
        const std::string word = row.opcode.substr(0, row.opcode.find('.'));
        const auto effects = table.effects.find(word);
        if (effects == table.effects.end()) stop(row.line, "opcode " + word + " has no effect row");
        if (row.pure && effects->second != 0) stop(row.line, word + " has effects, so its rows are not pure");
    }
    return table;
}

}  // namespace ptxgraft::isa::generator
