// verify: what modules declare (PTX ISA, chapters 5 and 11).

#include <algorithm>
#include <array>

#include "isa/special.hpp"
#include "isa/verifier.hpp"

namespace ptxgraft::isa {

using syntax::Statement;
using syntax::Token;
using syntax::TokenKind;

namespace {

std::string quote(std::string_view text) { return "'" + std::string(text) + "'"; }

RegisterType type_of(std::string_view word) {
    const TypeInfo* found = word.empty() ? nullptr : type_info(word.substr(1));
    return found == nullptr ? RegisterType::none : found->type;
}

// The handles `.texref`, `.samplerref`, `.surfref` are declared like types.
SymbolKind variable_kind(std::string_view type) {
    if (type == ".texref") return SymbolKind::texref;
    if (type == ".samplerref") return SymbolKind::samplerref;
    if (type == ".surfref") return SymbolKind::surfref;
    return SymbolKind::variable;
}

bool same_parameters(const std::vector<Statement::Parameter>& a, const std::vector<Statement::Parameter>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) { return bytes_of(x.type) == bytes_of(y.type) && x.count == y.count; });
}

bool is_extern(const Statement& statement) {
    for (const Token& token : statement.tokens()) {
        if (token.text == ".extern") return true;
        if (token.text == ".func" || token.text == ".entry") return false;
    }
    return false;
}

}  // namespace

std::uint32_t bytes_of(std::string_view type) {
    const RegisterType t = type_of(type);
    return t == RegisterType::none || t == RegisterType::pred ? 0 : info(t).bits / 8u;
}

void Verifier::redeclared(std::string_view name, const Symbol* before) {
    const bool is_label = before != nullptr && before->kind == SymbolKind::label;
    report(Errc::name_redeclared, name, quote(name) + " is declared twice in this scope" + (is_label ? "; it is a label already" : ""));
}

// --- functions
void Verifier::declare_function(const Statement& f) {
    const Symbol* before = symbols_.find_innermost(f.name());
    Symbol symbol;
    symbol.kind = SymbolKind::function;
    symbol.declaration = f;
    if (before == nullptr) {
        symbols_.declare(f.name(), symbol);
        return;
    }
    if (before->kind != SymbolKind::function) return redeclared(f.name(), before);
    const Statement& first = before->declaration;
    if (first.is_definition() && !is_extern(f)) return report(Errc::name_redeclared, f.name(), quote(f.name()) + (f.is_definition() ? " is defined twice" : " is declared behind its definition"));
    if (first.is_entry() != f.is_entry() || !same_parameters(first.parameters(), f.parameters()) || !same_parameters(first.return_parameters(), f.return_parameters()))
        return report(Errc::declaration_invalid, f.name(), quote(f.name()) + " has other parameters here than in its first declaration");
}

void Verifier::declare_parameters(const Statement& f) {
    const auto declare = [&](const Statement::Parameter& p, bool is_input) {
        if (f.is_entry() && p.space == ".reg") return report(Errc::declaration_invalid, p.name, "parameter " + quote(p.name) + " of an entry is declared in .param");
        if (p.type == ".pred" && p.space != ".reg") return report(Errc::declaration_invalid, p.type, "a predicate can only be a register; pass a .b32");
        if (p.name.empty() || p.name == "_") return;
        Symbol symbol;
        symbol.kind = p.space == ".reg" ? SymbolKind::reg : variable_kind(p.type);
        symbol.type = type_of(p.type);
        symbol.space = p.space == ".reg" ? Space::reg : Space::param;
        symbol.is_kernel_parameter = f.is_entry();
        symbol.is_read_only = is_input;
        symbol.bytes = bytes_of(p.type) * std::max<std::uint64_t>(p.count, 1);
        if (!symbols_.declare(p.name, symbol)) redeclared(p.name, nullptr);
    };
    for (const auto& p : f.return_parameters()) declare(p, false);
    for (const auto& p : f.parameters()) declare(p, true);
}

// PTX ISA 11.4, 11.7, 11.8: the words between the parameters and the body.
void Verifier::performance_directives(const Statement& f) {
    struct Rule {
        std::string_view word;
        std::uint16_t version, sm;
        bool entry_only, positive;
    };
    static constexpr std::array<Rule, 11> rules = {{
        {".maxnreg", 13, 10, true, true},
        {".maxntid", 13, 10, true, true},
        {".reqntid", 21, 10, true, true},
        {".minnctapersm", 20, 20, true, true},
        {".maxnctapersm", 13, 10, true, true},
        {".reqnctapercluster", 78, 90, true, true},
        {".explicitcluster", 78, 90, true, false},
        {".maxclusterrank", 78, 90, true, true},
        {".blocksareclusters", 90, 90, true, false},
        {".noreturn", 64, 30, false, false},
        {".abi_preserve", 90, 80, false, false},
    }};
    const std::vector<Token> tokens = f.tokens();
    const auto find = [&](std::string_view word) { return std::find_if(tokens.begin(), tokens.end(), [&](const Token& t) { return t.text == word; }); };
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const auto rule = std::find_if(rules.begin(), rules.end(), [&](const Rule& r) { return r.word == tokens[i].text; });
        if (rule == rules.end()) continue;
        const std::string word(rule->word);
        if (rule->entry_only && !f.is_entry()) report(Errc::directive_invalid, tokens[i].text, word + " belongs to an entry, not to a function");
        if (!rule->entry_only && f.is_entry()) report(Errc::directive_invalid, tokens[i].text, word + " belongs to a function, not to an entry");
        const std::array<Architecture, 1> sm = {{{rule->sm, 0}}};
        const std::array<Since, 1> since = {{{rule->version, sm}}};
        require(since, span_of(tokens[i].text), word);
        for (std::size_t k = i + 1; rule->positive && k < tokens.size() && (tokens[k].kind == TokenKind::integer || tokens[k].text == ","); ++k)
            if (tokens[k].kind == TokenKind::integer && syntax::parse_integer(tokens[k].text) == 0) report(Errc::directive_invalid, tokens[k].text, word + " takes numbers above 0");
    }
    if (find(".maxntid") != tokens.end() && find(".reqntid") != tokens.end()) report(Errc::directive_invalid, find(".reqntid")->text, ".maxntid and .reqntid exclude each other");
    if (find(".reqnctapercluster") != tokens.end() && find(".maxclusterrank") != tokens.end())
        report(Errc::directive_invalid, find(".maxclusterrank")->text, ".reqnctapercluster and .maxclusterrank exclude each other");
    if (find(".blocksareclusters") != tokens.end() && (find(".reqntid") == tokens.end() || find(".reqnctapercluster") == tokens.end()))
        report(Errc::directive_invalid, find(".blocksareclusters")->text, ".blocksareclusters needs .reqntid and .reqnctapercluster");
    if (find(".noreturn") != tokens.end() && !f.return_parameters().empty()) report(Errc::directive_invalid, find(".noreturn")->text, "a function that does not return has no return values");
}

// --- variables
void Verifier::variable(const Statement& statement) {
    const auto v = statement.variable();
    if (!v) return;
    const RegisterType type = type_of(v->type);
    const bool is_reg = v->space == ".reg";
    if (is_reg && (type == RegisterType::none || !info(type).is_declared)) return report(Errc::declaration_invalid, v->type, std::string(v->type) + " is no type of a register; registers have .pred, .b8 to .b128, .u8 to .u64, .s8 to .s64, .f16, .f16x2, .f32 or .f64");
    if (!is_reg && type == RegisterType::pred) return report(Errc::declaration_invalid, v->type, "a predicate can only be a register (.reg)");
    if (v->vector > 1 && type != RegisterType::none && info(type).bits * v->vector > 128) report(Errc::declaration_invalid, v->type, "a vector has at most 128 bits");
    for (const Statement::Declarator& d : v->declarators) declarator(statement, *v, d);
}

void Verifier::declarator(const Statement& statement, const Statement::Variable& v, const Statement::Declarator& d) {
    Symbol symbol;
    symbol.kind = v.space == ".reg" ? SymbolKind::reg : v.space == ".tex" ? SymbolKind::texref : variable_kind(v.type);
    symbol.type = type_of(v.type);
    symbol.space = space_of(v.space);
    symbol.vector = static_cast<std::uint8_t>(std::min<std::uint32_t>(v.vector, 255));
    symbol.declaration = statement;
    symbol.bytes = std::uint64_t{bytes_of(v.type)} * v.vector;
    for (const std::uint64_t extent : d.extents) symbol.bytes = extent > (std::uint64_t{1} << 40) ? 0 : symbol.bytes * extent;
    if (symbol.kind == SymbolKind::reg && !d.extents.empty()) report(Errc::declaration_invalid, d.name, "registers have no arrays; " + std::string(d.name) + "<N> declares N registers");
    if (v.align != 0 && (v.align & (v.align - 1)) != 0) report(Errc::declaration_invalid, d.name, ".align of " + quote(d.name) + " is " + std::to_string(v.align) + "; it is a power of two");
    const bool is_outside = v.linkage == ".extern";
    if (!d.extents.empty() && d.extents.front() == 0 && d.initialiser.empty() && !is_outside && symbol.kind == SymbolKind::variable && v.space != ".param")
        report(Errc::declaration_invalid, d.name, quote(d.name) + " has no size; only .extern variables may be open");
    initialiser(v, d);
    if (d.range != 0) {
        const Symbol* before = nullptr;
        for (std::uint32_t i = 0; i < std::min<std::uint32_t>(d.range, 64) && before == nullptr; ++i) before = symbols_.find_innermost(std::string(d.name) + std::to_string(i));
        if (before != nullptr || !symbols_.declare_range(d.name, d.range, symbol)) redeclared(d.name, before);
        return;
    }
    const Symbol* before = symbols_.find_innermost(d.name);
    if (before == nullptr) {
        symbols_.declare(d.name, symbol);
        return;
    }
    const auto first = before->declaration ? before->declaration.variable() : std::nullopt;
    const bool may_repeat = first && (first->linkage == ".extern" || is_outside || first->linkage == ".common" || first->linkage == ".weak");
    if (before->kind != symbol.kind || !may_repeat) return redeclared(d.name, before);
    if (before->type != symbol.type || before->space != symbol.space) report(Errc::declaration_invalid, d.name, quote(d.name) + " has another type or space here than in its first declaration");
}

void Verifier::initialiser(const Statement::Variable& v, const Statement::Declarator& d) {
    if (d.initialiser.empty()) return;
    if (v.space != ".global" && v.space != ".const") return report(Errc::declaration_invalid, d.name, quote(d.name) + " cannot have a first value; only variables in .global and .const can");
    const RegisterType type = type_of(v.type);
    if (type == RegisterType::none) return;
    std::uint64_t room = v.vector, count = 0;
    bool is_open = false;
    for (const std::uint64_t extent : d.extents) {
        is_open |= extent == 0;
        room = extent > (std::uint64_t{1} << 40) ? ~std::uint64_t{0} : room * std::max<std::uint64_t>(extent, 1);
    }
    const TypeClass wanted = info(type).kind;
    for (std::size_t i = 0; i < d.initialiser.size(); ++i) {
        const Token& token = d.initialiser[i];
        const bool is_number = token.kind == TokenKind::integer || token.kind == TokenKind::floating;
        if (token.text == ",") ++count;
        if (token.kind == TokenKind::integer && wanted == TypeClass::floating && d.initialiser.size() == 1)
            return report(Errc::declaration_invalid, token.text, "a " + std::string(v.type) + " begins with a floating constant, as in 1.0");
        if (token.kind != TokenKind::identifier || is_number || token.text == "generic" || token.text == "mask" || token.text == "WARP_SZ") continue;
        const Symbol* symbol = symbols_.find(token.text);
        if (symbol == nullptr) return report(Errc::name_undeclared, token.text, quote(token.text));
        const bool is_address = info(type).bits == address_size_ && wanted != TypeClass::floating;
        const bool is_byte = info(type).bits == 8;  // 0xFF(name): one byte of the address
        if (symbol->kind == SymbolKind::reg || symbol->kind == SymbolKind::label || (!is_address && !is_byte && d.initialiser.size() == 1))
            return report(Errc::declaration_invalid, token.text, "an address of " + quote(token.text) + " needs a " + (address_size_ == 64 ? ".u64" : ".u32"));
    }
    const bool is_list = d.initialiser.front().text == "{";
    if (is_list && !is_open && count + 1 > room) report(Errc::declaration_invalid, d.name, quote(d.name) + " has " + std::to_string(room) + " elements, " + std::to_string(count + 1) + " are given");
}

// --- directives in bodies and at module level
void Verifier::directive(const Statement& statement) {
    const std::vector<Token> tokens = statement.tokens();
    if (tokens.empty()) return;
    const std::string_view word = tokens.front().text;
    const bool names_functions = word == ".alias" || word == ".calltargets", names_labels = word == ".branchtargets";
    if (!names_functions && !names_labels) return;
    for (const Token& token : tokens) {
        if (token.kind != TokenKind::identifier) continue;
        const Symbol* symbol = symbols_.find(token.text);
        if (symbol == nullptr) report(names_labels ? Errc::label_undefined : Errc::name_undeclared, token.text, names_labels ? "label " + quote(token.text) + " is not defined in this function" : quote(token.text));
        if (symbol == nullptr) continue;
        if (names_functions && symbol->kind != SymbolKind::function) report(Errc::directive_invalid, token.text, quote(token.text) + " is no function");
        if (names_labels && symbol->kind != SymbolKind::label) report(Errc::directive_invalid, token.text, quote(token.text) + " is no label");
    }
}

}  // namespace ptxgraft::isa
