// ptxgraft dump: the tree of a PTX file as JSON.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/print_json.hpp"
#include "cli/text_file.hpp"
#include "cli/verb.hpp"
#include "ptxgraft/emulator_decoded.hpp"
#include "ptxgraft/syntax.hpp"

namespace ptxgraft::cli {
namespace {

using syntax::OperandKind;
using syntax::StatementKind;

constexpr const char* schema =
    R"(The JSON, one object; words are spelled as in the file, members in [] are absent where there is nothing to say:
  {file, version, target, address_size, statements: [STATEMENT…]}
STATEMENT: {kind, [line, column], [name], …}; line and column count from 1, columns count bytes. By kind:
  function     entry, definition: true or false; parameters, return_parameters: [{name, space, type, [align], [count]}…];
               [body: STATEMENTS] of a definition
  variable     [linkage], space, type, [vector], [align],
               declarators: [{name, [range: N of %r<N>], [extents: [2, 3] of a[2][3], 0 of a[]], [initialiser: TOKENS]}…]
  instruction  [guard: {negated, predicate}], opcode, modifiers: [".rn"…], operands: [OPERAND…]
  label        name
  block        body: STATEMENTS
  version, target, address_size, directive: tokens: TOKENS
OPERAND: {kind, text, [base, [offset]: of an address or sum], [base: of an element], [type, value or bits: of an immediate],
  [children: [OPERAND…]]}; kind is identifier, immediate, address, vector, list, pair, negation, sum, sink or element; a
  constant's type is s64, u64, f64 or f32. An expression without a value, 5/0, has no type, and an offset none.
Bytes that are not UTF-8 become U+FFFD.)";

std::string_view name_of(StatementKind kind) {
    switch (kind) {
        case StatementKind::version: return "version";
        case StatementKind::target: return "target";
        case StatementKind::address_size: return "address_size";
        case StatementKind::function: return "function";
        case StatementKind::variable: return "variable";
        case StatementKind::instruction: return "instruction";
        case StatementKind::label: return "label";
        case StatementKind::block: return "block";
        case StatementKind::directive: return "directive";
        case StatementKind::error: return "error";
        default: return "end";
    }
}

std::string_view name_of(OperandKind kind) {
    static constexpr std::string_view names[] = {"identifier", "immediate", "address", "vector", "list",
                                                 "pair",       "negation",  "sum",     "sink",   "element"};
    return names[static_cast<std::size_t>(kind)];
}

// A constant's value: a number of its type; what JSON has no number for as its bits.
void add_value(Json& json, const syntax::Constant& constant) {
    using Type = syntax::Constant::Type;
    static constexpr std::string_view names[] = {"s64", "u64", "f64", "f32"};
    json["type"] = names[static_cast<std::size_t>(constant.type)];
    if (constant.type == Type::s64) json["value"] = constant.as_signed();
    if (constant.type == Type::u64) json["value"] = constant.bits;
    if (constant.type == Type::f64) json["bits"] = fmt::format("{:#018x}", constant.bits);
    if (constant.type == Type::f32) json["bits"] = fmt::format("{:#010x}", constant.bits);
}

// Operands nest at most as deep as the parser allows.
Json json_of(const syntax::Operand& operand) {
    Json json{{"kind", name_of(operand.kind())}, {"text", operand.text()}};
    if (operand.kind() == OperandKind::address || operand.kind() == OperandKind::sum) {
        json["base"] = operand.base();
        if (operand.offset()) json["offset"] = *operand.offset();
    }
    if (operand.kind() == OperandKind::element) json["base"] = operand.base();
    if (operand.constant()) add_value(json, *operand.constant());
    if (!operand.children().empty()) {
        json["children"] = Json::array();
        for (const syntax::Operand& child : operand.children()) json["children"].push_back(json_of(child));
    }
    return json;
}

void add_instruction(Json& json, const syntax::Instruction& i) {
    if (i.guard) json["guard"] = {{"negated", i.guard->negated}, {"predicate", i.guard->predicate}};
    json["opcode"] = i.opcode;
    json["modifiers"] = i.modifiers;
    json["operands"] = Json::array();
    for (const syntax::Operand& operand : i.operands) json["operands"].push_back(json_of(operand));
}

Json json_of(const std::vector<syntax::Statement::Parameter>& parameters) {
    Json list = Json::array();
    for (const auto& p : parameters) {
        Json json{{"name", p.name}, {"space", p.space}, {"type", p.type}};
        if (p.align != 0) json["align"] = p.align;
        if (p.count != 0) json["count"] = p.count;
        list.push_back(std::move(json));
    }
    return list;
}

void add_function(Json& json, const syntax::Statement& s) {
    json["entry"] = s.is_entry();
    json["definition"] = s.is_definition();
    json["parameters"] = json_of(s.parameters());
    json["return_parameters"] = json_of(s.return_parameters());
}

void add_variable(Json& json, const syntax::Statement::Variable& v) {
    if (!v.linkage.empty()) json["linkage"] = v.linkage;
    json["space"] = v.space;
    json["type"] = v.type;
    if (v.vector != 1) json["vector"] = v.vector;
    if (v.align != 0) json["align"] = v.align;
    json["declarators"] = Json::array();
    for (const auto& d : v.declarators) {
        Json declarator{{"name", d.name}};
        if (d.range != 0) declarator["range"] = d.range;
        if (!d.extents.empty()) declarator["extents"] = d.extents;
        if (!d.initialiser.empty()) {
            declarator["initialiser"] = Json::array();
            for (const syntax::Token& token : d.initialiser) declarator["initialiser"].push_back(token.text);
        }
        json["declarators"].push_back(std::move(declarator));
    }
}

// Writes the statements one by one: neither the whole document nor the nesting of blocks is held.
class Dump {
  public:
    Dump(std::FILE* out, std::string_view source) : out_(out), source_(source) {}

    void run(const syntax::Module& module, std::string_view file) {
        Json head{{"file", file},
                  {"version", module.version()},
                  {"target", module.target()},
                  {"address_size", module.address_size()}};
        const std::string text = json_line(head);
        put(std::string_view(text).substr(0, text.size() - 1));
        put(",\"statements\":[");
        syntax::Statement parent;
        for (const syntax::Statement s : module.walk()) {
            for (; parent != s.parent(); parent = parent.parent()) close();
            put(is_first_ ? "\n" : ",\n");
            statement(s);
            if (s.is_definition() || s.kind() == StatementKind::block) parent = s;
        }
        for (; parent; parent = parent.parent()) close();
        put("\n]}\n");
    }

  private:
    void statement(const syntax::Statement& s) {
        Json json{{"kind", name_of(s.kind())}};
        if (const Span span = s.span(); span.known()) {
            const Position at = place(span.begin);
            json["line"] = at.line;
            json["column"] = at.column;
        }
        if (!s.name().empty()) json["name"] = s.name();
        if (const auto i = s.instruction())
            add_instruction(json, *i);
        else if (s.kind() == StatementKind::function)
            add_function(json, s);
        else if (const auto v = s.variable())
            add_variable(json, *v);
        else if (s.kind() != StatementKind::label && s.kind() != StatementKind::block)
            add_tokens(json, s);
        const bool has_body = s.is_definition() || s.kind() == StatementKind::block;
        const std::string text = json_line(json);
        put(std::string_view(text).substr(0, text.size() - has_body));
        if (has_body) put(",\"body\":[");
        is_first_ = has_body;
    }

    static void add_tokens(Json& json, const syntax::Statement& s) {
        json["tokens"] = Json::array();
        for (const syntax::Token& token : s.tokens()) json["tokens"].push_back(token.text);
    }

    // Behind the last statement of a body.
    void close() {
        put("]}");
        is_first_ = false;
    }

    // Statements come in the order of the text, so one walk finds all lines.
    Position place(std::uint32_t offset) {
        for (; at_ < offset; ++at_)
            if (source_[at_] == '\n') {
                ++line_;
                line_begin_ = at_ + 1;
            }
        return {line_, offset - line_begin_ + 1};
    }

    void put(std::string_view text) { std::fwrite(text.data(), 1, text.size(), out_); }

    std::FILE* out_;
    std::string_view source_;
    std::uint32_t at_ = 0, line_begin_ = 0, line_ = 1;
    bool is_first_ = true;
};

void dump_decoded(const std::string& path, bool as_json) {
    const std::string text = take(read_file(path)), file = display_name(path);
    const std::string listing = take(decoded_listing(text), text, file);
    if (as_json) return print_json({{"file", file}, {"decoded", lines_of(listing)}});
    std::fwrite(listing.data(), 1, listing.size(), stdout);
}

void dump(const std::string& path) {
    const std::string file = display_name(path);
    const std::string text = take(read_file(path));
    const syntax::Module module = take(syntax::parse(text), text, file);
    Dump(stdout, text).run(module, file);
}

}  // namespace

void add_dump(CLI::App& app) {
    CLI::App* verb = app.add_subcommand("dump", "Print the tree of a PTX file");
    const auto file = std::make_shared<std::string>();
    const auto decoded = std::make_shared<bool>(false);
    verb->add_option("FILE", *file, "PTX file")->required();
    const auto json = std::make_shared<bool>(false);
    verb->add_flag("--json", *json)->description("Print JSON, the only form there is of the tree");
    verb->add_flag("--decoded", *decoded)
        ->description(
            "Print what the emulator makes of each instruction, as text; with --json {\"file\", "
            "\"decoded\": [LINE]}");
    verb->footer(schema);
    verb->callback([file, decoded, json] { *decoded ? dump_decoded(*file, *json) : dump(*file); });
}

}  // namespace ptxgraft::cli
