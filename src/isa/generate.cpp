// The table's compiler, a host tool of the build: `generate ptx.isa table.cpp`. Reads the rows (their
// notation stands at the top of ptx.isa), expands every combination of modifiers and writes C++. A bad row
// ends the build with its line.

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "hash.hpp"

namespace {

using Strings = std::vector<std::string>;

constexpr std::array type_names = {"pred", "b16", "b32", "b64",   "u16",  "u32",    "u64", "s16",
                                   "s32",  "s64", "f16", "f16x2", "bf16", "bf16x2", "f32", "f64"};
constexpr std::array effect_names = {"load",   "store", "atomic", "warp", "barrier",
                                     "branch", "call",  "tensor", "exit"};

struct Operand {
    std::string name, type;
    bool immediate = false, byte = false, exact = false;
};

struct Row {
    int line = 0;
    std::string syntax, ptx, sm;
    std::vector<Operand> operands;
    std::map<std::string, Strings> sets;
    bool pure = false, stack = false;
};

struct Form {
    const Row* row = nullptr;
    std::string name;
    Strings types;
};

struct Table {
    std::vector<Row> rows;
    std::map<std::string, unsigned> effects;
};

[[noreturn]] void stop(int line, const std::string& message) {
    std::cerr << "ptx.isa:" << line << ": error: " << message << '\n';
    std::exit(1);
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

// `d,a: .u32  b: imm .u32`: the types of the operands of a row.
void read_types(Row& row, const std::string& text) {
    Strings names;
    bool immediate = false, byte = false, exact = false;
    for (const std::string& word : split(text, " ")) {
        if (word == "imm")
            immediate = true;
        else if (word == "byte")
            byte = true;
        else if (word == "exact")
            exact = true;
        else if (word.back() == ':')
            names = split(word.substr(0, word.size() - 1), ",");
        else {
            for (const std::string& name : names) {
                const auto at = std::find_if(row.operands.begin(), row.operands.end(),
                                             [&](const Operand& o) { return o.name == name; });
                if (at == row.operands.end()) stop(row.line, "no operand is named " + name);
                *at = {name, word, immediate, byte, exact};
            }
            names.clear();
            immediate = byte = exact = false;
        }
    }
    for (const Operand& operand : row.operands)
        if (operand.type.empty()) stop(row.line, "operand " + operand.name + " has no type");
}

Row read_row(int line, const std::string& text) {
    Row row;
    row.line = line;
    std::stringstream stream(text);
    Strings columns;
    for (std::string column; std::getline(stream, column, '|');) columns.push_back(trim(column));
    if (columns.size() != 4) stop(line, "a form has four columns: syntax, version, operand types, flags");
    const auto blank = columns[0].find(' ');
    if (blank == std::string::npos) stop(line, "a form has operands");
    row.syntax = columns[0].substr(0, blank);
    for (const std::string& name : split(columns[0].substr(blank), ",")) row.operands.push_back({name, ""});
    const Strings versions = split(columns[1], " ");
    if (versions.size() != 2 || versions[1].rfind("sm_", 0) != 0 ||
        versions[0].find('.') == std::string::npos)
        stop(line, "the second column is a PTX version and an architecture: 1.0 sm_10");
    row.ptx = versions[0];
    row.ptx.erase(row.ptx.find('.'), 1);
    row.sm = versions[1].substr(3);
    read_types(row, columns[2]);
    for (const std::string& flag : split(columns[3], " ")) {
        if (flag == "pure")
            row.pure = true;
        else if (flag == "stack")
            row.stack = true;
        else
            stop(line, "no flag is named " + flag);
    }
    return row;
}

void read_set(int line, Row& row, const std::string& text) {
    const auto equals = text.find('=');
    const auto open = text.find('{'), close = text.find('}');
    if (equals == std::string::npos || open == std::string::npos || close == std::string::npos ||
        close < open)
        stop(line, "a set is written .name = { .member … }");
    const std::string name = trim(text.substr(0, equals));
    if (row.syntax.find(name) == std::string::npos) stop(line, "the form has no part " + name);
    if (!row.sets.emplace(name, split(text.substr(open + 1, close - open - 1), " ")).second)
        stop(line, "set " + name + " is defined twice");
}

void read_effects(int line, Table& table, const std::string& text) {
    const auto colon = text.find(':');
    if (colon == std::string::npos) stop(line, "effects are written: effect WORD…: opcode…");
    unsigned bits = 0;
    for (const std::string& word : split(text.substr(7, colon - 7), " ")) {
        const auto at = std::find(effect_names.begin(), effect_names.end(), word);
        if (at == effect_names.end() && word != "none") stop(line, "no effect is named " + word);
        if (word != "none") bits |= 1u << (at - effect_names.begin());
    }
    for (const std::string& opcode : split(text.substr(colon + 1), " "))
        if (!table.effects.emplace(opcode, bits).second)
            stop(line, opcode + " stands twice among the effects");
}

Table read(std::istream& in) {
    Table table;
    int number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        const std::string text = trim(line.substr(0, line.find('#')));
        if (text.empty()) continue;
        if (line[0] == ' ') {
            if (table.rows.empty()) stop(number, "a set stands below its form");
            read_set(number, table.rows.back(), text);
        } else if (text.rfind("effect ", 0) == 0) {
            read_effects(number, table, text);
        } else {
            table.rows.push_back(read_row(number, text));
        }
    }
    return table;
}

// The choices of one part of a syntax line: `{.ftz}` is "" or ".ftz", a set's name its members, all else
// itself.
struct Part {
    std::string name;
    Strings choices;
};

std::vector<Part> parts_of(const Row& row) {
    std::vector<Part> parts;
    for (std::size_t at = 0; at < row.syntax.size();) {
        const bool optional = row.syntax[at] == '{';
        const std::size_t begin = at + (optional ? 1 : 0);
        std::size_t end = optional ? row.syntax.find('}', at) : row.syntax.find_first_of(".{", begin + 1);
        if (optional && end == std::string::npos) stop(row.line, "a brace is not closed");
        end = std::min(end, row.syntax.size());
        Part part{row.syntax.substr(begin, end - begin), {}};
        if (optional) part.choices.emplace_back();
        const auto set = row.sets.find(part.name);
        if (set == row.sets.end())
            part.choices.push_back(part.name);
        else
            part.choices.insert(part.choices.end(), set->second.begin(), set->second.end());
        parts.push_back(std::move(part));
        at = end + (optional ? 1 : 0);
    }
    return parts;
}

void expand(const Row& row, const std::vector<Part>& parts, std::size_t at, const std::string& name,
            std::map<std::string, std::string>& chosen, std::vector<Form>& forms) {
    if (at < parts.size()) {
        for (const std::string& choice : parts[at].choices) {
            chosen[parts[at].name] = choice;
            expand(row, parts, at + 1, name + choice, chosen, forms);
        }
        return;
    }
    Form form{&row, name, {}};
    for (const Operand& operand : row.operands) {
        const auto set = chosen.find(operand.type);
        const std::string type = (set == chosen.end() ? operand.type : set->second).substr(1);
        if (std::find(type_names.begin(), type_names.end(), type) == type_names.end())
            stop(row.line, "no type is named ." + type);
        form.types.push_back(type);
    }
    forms.push_back(std::move(form));
}

std::vector<Form> expand_all(const Table& table) {
    std::vector<Form> forms;
    for (const Row& row : table.rows) {
        std::map<std::string, std::string> chosen;
        expand(row, parts_of(row), 0, "", chosen, forms);
        const std::string opcode = row.syntax.substr(0, row.syntax.find_first_of(".{"));
        if (table.effects.find(opcode) == table.effects.end())
            stop(row.line, "opcode " + opcode + " has no effect row");
    }
    std::sort(forms.begin(), forms.end(), [](const Form& a, const Form& b) { return a.name < b.name; });
    for (std::size_t i = 1; i < forms.size(); ++i)
        if (forms[i].name == forms[i - 1].name)
            stop(forms[i].row->line, "form " + forms[i].name + " stands twice");
    return forms;
}

// Linear probing over at least twice as many slots as forms; 0xFFFF is an empty slot.
std::vector<unsigned> hash_slots(const std::vector<Form>& forms) {
    std::size_t size = 1;
    while (size < 2 * forms.size()) size *= 2;
    std::vector<unsigned> slots(size, 0xFFFFu);
    for (std::size_t i = 0; i < forms.size(); ++i) {
        std::size_t at = ptxgraft::isa::name_hash(forms[i].name) & (size - 1);
        while (slots[at] != 0xFFFFu) at = (at + 1) & (size - 1);
        slots[at] = static_cast<unsigned>(i);
    }
    return slots;
}

bool is_output(const Operand& operand) { return operand.name == "d" || operand.name == "p"; }

void write(std::ostream& out, const std::vector<Form>& forms, const Table& table) {
    out << "// Generated from ptx.isa.\n#include \"isa/table.hpp\"\n\nnamespace ptxgraft::isa {\nnamespace "
           "{\n"
           "using enum OperandType;\nconstexpr OperandSpec specs[] = {\n";
    for (const Form& form : forms) {
        for (std::size_t i = 0; i < form.types.size(); ++i) {
            const Operand& operand = form.row->operands[i];
            out << '{' << form.types[i] << ',' << is_output(operand) << ',' << operand.immediate << ','
                << operand.byte << ',' << operand.exact << "},";
        }
        out << '\n';
    }
    out << "};\nconstexpr Form rows[] = {\n";
    std::size_t at = 0;
    for (const Form& form : forms) {
        out << "{\"" << form.name << "\",{specs+" << at << ',' << form.types.size() << "}," << form.row->ptx
            << ',' << form.row->sm << ',' << form.row->pure << ',' << form.row->stack << "},\n";
        at += form.types.size();
    }
    out << "};\nconstexpr std::uint16_t slots[] = {";
    for (const unsigned slot : hash_slots(forms)) out << slot << ',';
    out << "};\nconstexpr OpcodeEffects effects_rows[] = {\n";
    for (const auto& [opcode, bits] : table.effects) out << "{\"" << opcode << "\"," << bits << "},";
    out << "};\n}  // namespace\n\nconst std::span<const Form> table_forms = rows;\nconst std::span<const "
           "std::uint16_t> table_slots = slots;\n"
           "const std::span<const OpcodeEffects> table_effects = effects_rows;\n\n}  // namespace "
           "ptxgraft::isa\n";
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::cerr << "usage: generate ptx.isa table.cpp\n";
        return 2;
    }
    std::ifstream in(argv[1]);
    if (!in) stop(0, "cannot be read");
    const Table table = read(in);
    const std::vector<Form> forms = expand_all(table);
    if (forms.size() >= 0xFFFF) stop(0, "more than 65,534 forms");
    std::ofstream out(argv[2]);
    write(out, forms, table);
    out.close();
    return out ? 0 : 1;
}
