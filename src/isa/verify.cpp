// verify: the walk over a module.

#include <algorithm>
#include <cstring>

#include "isa/verifier.hpp"

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
    symbols_.open();
    for (const Statement& s : module_.statements()) statement(s, s.kind());
    std::stable_sort(findings_.begin(), findings_.end(),
                     [](const Error& a, const Error& b) { return a.span.begin < b.span.begin; });
    return std::move(findings_);
}

void Verifier::report(Errc code, Span span, std::string message) {
    Error error{code, span, 0, nullptr, nullptr};
    // an operand may stand on many lines
    std::replace_if(
        message.begin(), message.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
    error.detail = std::make_shared<const std::string>(std::move(message));
    findings_.push_back(std::move(error));
}

Span Verifier::span_of(std::string_view text) const {
    const std::string_view source = module_.source();
    const std::less<const char*> before;
    if (before(text.data(), source.data()) || !before(text.data(), source.data() + source.size())) return {};
    const auto begin = static_cast<std::uint32_t>(text.data() - source.data());
    return {begin, begin + static_cast<std::uint32_t>(text.size())};
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

// PTX ISA 11.1: .version, then .target, then perhaps .address_size come before all else.
void Verifier::header() {
    const std::vector<Statement> all = module_.statements();
    const auto kind_at = [&](std::size_t i) { return i < all.size() ? all[i].kind() : StatementKind::end; };
    if (kind_at(0) != StatementKind::version)
        report(Errc::directive_invalid, all.front().span(),
               "a module begins with .version, as in: .version 8.0");
    if (kind_at(0) == StatementKind::version && kind_at(1) != StatementKind::target)
        report(Errc::directive_invalid, kind_at(1) == StatementKind::end ? all.front().span() : all[1].span(),
               ".target stands behind .version, as in: .target sm_90");
    if (!module_.version().empty()) {
        const auto version = parse_version(module_.version());
        if (!version || !is_version(*version))
            report(Errc::version_unknown, module_.version(),
                   "PTX version " + std::string(module_.version()) + " is not known; the newest is " +
                       version_text(newest_version));
        else
            version_ = *version;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        const StatementKind kind = all[i].kind();
        if (kind == StatementKind::target) target_directive(all[i]);
        if (kind == StatementKind::version && i != 0)
            report(Errc::directive_invalid, all[i].span(), ".version stands once, at the beginning");
        if (kind == StatementKind::address_size && i != 0 && kind_at(i - 1) != StatementKind::target)
            report(Errc::directive_invalid, all[i].span(), ".address_size stands once, behind .target");
    }
    if (!options_.target.empty()) {
        const auto target = parse_architecture(options_.target);
        if (!target)
            return report(Errc::target_unknown, Span{},
                          "'" + std::string(options_.target) + "'; right is, for example, sm_90a");
        target_ = *target;
        knows_target_ = true;
    }
    address_size_ = module_.address_size();
}

void Verifier::target_directive(const Statement& statement) {
    constexpr std::string_view others[] = {"texmode_unified", "texmode_independent", "debug",
                                           "map_f64_to_f32"};
    bool has_architecture = false, maps_f64 = false;
    for (const Token& token : statement.tokens()) {
        if (token.kind != syntax::TokenKind::identifier) continue;
        maps_f64 |= token.text == "map_f64_to_f32";
        has_samplers_ |= token.text == "texmode_independent";
        if (std::find(std::begin(others), std::end(others), token.text) != std::end(others)) continue;
        const auto target = parse_architecture(token.text);
        if (!target) {
            report(Errc::target_unknown, token.text,
                   "'" + std::string(token.text) + "'; right is, for example, sm_90a");
            continue;
        }
        if (first_version(*target) > version_)
            report(Errc::version_too_old, token.text,
                   text(*target) + " needs PTX ISA " + version_text(first_version(*target)) +
                       " or later; the module has " + version_text(version_));
        if (has_architecture) report(Errc::directive_invalid, token.text, "a module has one architecture");
        if (!has_architecture) target_ = *target;
        knows_target_ = has_architecture = true;
    }
    if (maps_f64 && target_.sm >= 13)
        report(Errc::directive_invalid, statement.span(), "map_f64_to_f32 is for architectures before sm_13");
}

void Verifier::statement(const Statement& s, StatementKind kind) {
    switch (kind) {
        case StatementKind::function: return function(s);
        case StatementKind::variable: return variable(s);
        case StatementKind::instruction: return instruction(s);
        case StatementKind::directive: return directive(s);
        case StatementKind::label:
            if (const SymbolKind names = label_kind(s); names != SymbolKind::label) declare_label(s, names);
            return;
        case StatementKind::address_size:
            if (address_size_ != 32 && address_size_ != 64)
                report(Errc::directive_invalid, s.span(), ".address_size is 32 or 64");
            return;
        default: return;
    }
}

void Verifier::function(const Statement& f) {
    declare_function(f);
    performance_directives(f);
    symbols_.open();
    declare_parameters(f);
    if (f.is_definition()) {
        function_ = f;
        body(f);
        function_ = Statement();
    }
    symbols_.close();
}

// Labels may be used before they stand; all else is declared first. Blocks may be nested as deep as memory
// allows.
void Verifier::body(const Statement& parent) {
    std::vector<Statement> blocks;  // that are open
    declare_labels(parent);
    for (Statement s = parent.first_child(); s || !blocks.empty();) {
        if (!s) {
            symbols_.close();
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

// What a label stands before: a list of targets or a prototype, which is used only behind it.
SymbolKind Verifier::label_kind(const Statement& label) {
    const Statement next = label.next();
    if (!next || next.kind() != StatementKind::directive) return SymbolKind::label;
    const std::string_view word = syntax::TokenView(next).text(0);
    if (word == ".branchtargets") return SymbolKind::branch_targets;
    if (word == ".calltargets") return SymbolKind::call_targets;
    return word == ".callprototype" ? SymbolKind::prototype : SymbolKind::label;
}

void Verifier::declare_label(const Statement& label, SymbolKind kind) {
    Symbol symbol;
    symbol.kind = kind;
    symbol.declaration = label.next();
    if (!symbols_.declare(label.name(), symbol))
        redeclared(label.name(), symbols_.find_innermost(label.name()));
}

void Verifier::declare_labels(const Statement& parent) {
    for_each_child(parent, [&](const Statement& s, StatementKind kind) {
        if (kind == StatementKind::label && label_kind(s) == SymbolKind::label)
            declare_label(s, SymbolKind::label);
    });
}

}  // namespace ptxgraft::isa
