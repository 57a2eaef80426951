// verify: the walk over a module.

#include <algorithm>
#include <cstring>

#include "isa/declaration.hpp"
#include "isa/special.hpp"
#include "isa/verifier.hpp"
#include "syntax/name_map.hpp"

namespace ptxgraft::isa {

using syntax::Statement;
using syntax::StatementKind;
using syntax::Token;

namespace {

// Eight bytes at a time: this looks at the whole of a module.
bool is_ascii(std::string_view text) {
    std::uint64_t all = 0;
    for (; text.size() >= sizeof all; text.remove_prefix(sizeof all)) {
        std::uint64_t eight;
        std::memcpy(&eight, text.data(), sizeof eight);
        all |= eight;
    }
    for (const char c : text) all |= static_cast<unsigned char>(c);
    return (all & 0x8080808080808080) == 0;
}

}  // namespace

std::vector<Error> verify(const syntax::Module& module, const VerifyOptions& options) {
    return Verifier(module, options).run();
}

std::vector<Error> Verifier::run() {
    characters();
    header();
    shapes_->use_for(setting());
    for (const Statement& s : module_.statements()) statement(s, s.kind());
    if (!setting_.has_abi) recursion();
    undefined_functions();
    section_differences();
    shared_spilling();
    for (const std::string_view label : function_names_)  // PTX ISA 11.5.4; a section may stand behind
        if (!section_labels_.contains(label))
            report(Errc::label_undefined, label, "no section has a label " + quote(label));
    std::stable_sort(findings_.begin(), findings_.end(),
                     [](const Error& a, const Error& b) { return a.span.begin < b.span.begin; });
    return std::move(findings_);
}

// PTX ISA 4.1: the text is ASCII. ptxas 13.5 passes over other bytes in comments; 13.0 stops there too.
void Verifier::characters() {
    const std::string_view source = module_.source();
    if (is_ascii(source)) return;
    const auto is_foreign = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
    const auto tokens = syntax::tokenize(source);
    if (!tokens) return;
    for (const Token& token : *tokens) {
        const auto at = std::find_if(token.text.begin(), token.text.end(), is_foreign);
        if (at == token.text.end()) continue;
        const auto end = std::find_if_not(at, token.text.end(), is_foreign);
        report(Errc::character_unexpected, std::string_view(at, end), std::string(at, end));
    }
}

void Verifier::statement(const Statement& s, StatementKind kind) {
    switch (kind) {
        case StatementKind::function: return function(s);
        case StatementKind::variable: return variable(s);
        case StatementKind::instruction: return instruction(s);
        case StatementKind::directive: return directive(s);
        case StatementKind::label:
            may_be_declared(s.name(), true);
            if (const Symbol symbol = label_symbol(s);
                symbol.kind != SymbolKind::label || hiding_labels_.contains(s.span().begin))
                declare_label(s, symbol);
            return;
        case StatementKind::address_size:
            require(23, {10, 0}, s.span(), ".address_size");
            if (setting_.address_size != 32 && setting_.address_size != 64)
                report(Errc::directive_invalid, s.span(), ".address_size is 32 or 64");
            return;
        default: return;
    }
}

// What is no .extern and no .alias has a body in the module.
void Verifier::undefined_functions() {
    syntax::NameMap<bool> said;  // of those that have a body, or of which something was said
    std::vector<Statement> all = module_.functions();
    all.insert(all.end(), declared_in_bodies_.begin(), declared_in_bodies_.end());
    for (const Statement& f : all)
        if (f.is_definition() || linkage_of(f.tokens()) == ".extern") said.put(f.name());
    for (const Statement& s : module_.statements())
        if (s.kind() == StatementKind::directive && syntax::TokenView(s).text(0) == ".alias")
            said.put(syntax::TokenView(s).text(1));
    for (const Statement& f : all)
        if (said.put(f.name()).second)
            report(Errc::declaration_invalid, f.name(),
                   quote(f.name()) + " has no body; one that stands in another module is .extern");
}

void Verifier::function(const Statement& f) {
    declare_function(f);
    const std::vector<Token> tokens = f.tokens();
    performance_directives(f, tokens);
    symbols_.open();
    declare_parameters(f, tokens);
    if (f.is_definition()) {
        enter(f);
        body(f);
        enter(Statement());
    }
    close_scope();
    if (!f.parent()) known_of_bodies_ = declared_in_bodies_.size();
}

// A function that was declared in the scope is known behind it too.
void Verifier::close_scope() {
    symbols_.close();
    for (std::size_t i = known_of_bodies_; i < declared_in_bodies_.size(); ++i)
        if (const Statement& f = declared_in_bodies_[i]; symbols_.find(f.name()) == nullptr)
            symbols_.declare(f.name(), function_symbol(f));
}

// Labels may be used before they stand, but those that hide a name of another kind: before them, it means
// that. All else is declared first. Blocks may be nested as deep as memory allows.
void Verifier::body(const Statement& parent) {
    std::vector<Statement> blocks;  // that are open
    declare_labels(parent);
    for (Statement s = parent.first_child(); s || !blocks.empty();) {
        if (!s) {
            close_scope();
            s = blocks.back().next();
            blocks.pop_back();
        } else if (const StatementKind kind = s.kind(); kind == StatementKind::block) {
            symbols_.open();
            declare_labels(s);
            blocks.push_back(s);
            s = s.first_child();
        } else {
            statement(s, kind);
            s = s.next();
        }
    }
}

void Verifier::declare_label(const Statement& label, const Symbol& symbol) {
    if (const Symbol* const at = symbols_.declare(label.name(), symbol)) redeclared(label.name(), at);
}

void Verifier::declare_labels(const Statement& parent) {
    for_each_child(parent, [&](const Statement& s, StatementKind kind) {
        if (kind != StatementKind::label) return;
        const Symbol symbol = label_symbol(s);
        if (symbol.kind != SymbolKind::label) return;
        const std::string_view name = s.name();
        const Symbol* const before = symbols_.find(name);
        const bool hides = before != nullptr && before->kind != SymbolKind::label;
        if (hides || find_special(name))
            hiding_labels_.insert(s.span().begin);
        else if (before == nullptr)
            symbols_.declare_new(name, symbol);
        else
            declare_label(s, symbol);
    });
}

// Most instructions of a module look like others before them.
void Verifier::instruction(const syntax::Statement& statement) {
    const syntax::TokenView tokens(statement);
    results_of_calls(tokens);
    if (shapes_->is_right(tokens, symbols_)) return;
    const std::size_t before = findings_.size();
    depends_on_function_ = false;
    look_at(*statement.instruction());
    if (findings_.size() == before && !depends_on_function_) shapes_->remember();
}

}  // namespace ptxgraft::isa
