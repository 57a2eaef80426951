// What a module's .version and .target allow, and the findings of verify.

#include <algorithm>
#include <utility>

#include "isa/instruction_verifier.hpp"
#include "syntax/token_view.hpp"

namespace ptxgraft::isa {

using syntax::Statement;
using syntax::StatementKind;
using syntax::Token;

namespace {

// `.visible .func (.reg .u32 a, .reg .pred b) f(…) {`
bool returns_several(const Statement& f) {
    const syntax::TokenView tokens(f);
    std::size_t at = 0;
    while (tokens.kind(at) == syntax::Lexeme::directive) ++at;
    if (tokens.kind(at) != syntax::Lexeme::open_paren || f.is_entry()) return false;
    while (tokens.kind(at) != syntax::Lexeme::close_paren && tokens.kind(at) != syntax::Lexeme::comma) ++at;
    return tokens.kind(at) == syntax::Lexeme::comma && f.is_definition();
}

}  // namespace

void InstructionVerifier::report(Errc code, Span span, std::string message) {
    Error error{code, span, 0, nullptr, nullptr};
    // an operand may stand on many lines
    std::replace_if(
        message.begin(), message.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
    error.detail = std::make_shared<const std::string>(std::move(message));
    findings_.push_back(std::move(error));
}

Span InstructionVerifier::span_of(std::string_view text) const {
    const std::string_view source = module_.source();
    const std::less<const char*> before;
    if (before(text.data(), source.data()) || !before(text.data(), source.data() + source.size())) return {};
    const auto begin = static_cast<std::uint32_t>(text.data() - source.data());
    return {begin, begin + static_cast<std::uint32_t>(text.size())};
}

// PTX ISA 11.1: .version, then .target, then perhaps .address_size come before all else.
void InstructionVerifier::header() {
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
            setting_.version = *version;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        const StatementKind kind = all[i].kind();
        if (kind == StatementKind::target) target_directive(all[i], all);
        if (kind == StatementKind::function && returns_several(all[i])) setting_.has_abi = false;
        if (kind == StatementKind::target && i > 1 && kind_at(i - 1) != StatementKind::target &&
            kind_at(i - 1) != StatementKind::version)
            report(Errc::directive_invalid, all[i].span(), ".target stands behind .version, before all else");
        if (kind == StatementKind::version && i != 0)
            report(Errc::directive_invalid, all[i].span(), ".version stands once, at the beginning");
        if (kind == StatementKind::address_size && i != 0 && kind_at(i - 1) != StatementKind::target)
            report(Errc::directive_invalid, all[i].span(), ".address_size stands once, behind .target");
    }
    if (!options_.target.empty()) {
        const auto target = find_architecture(options_.target);
        if (!target)
            return report(Errc::target_unknown, Span{},
                          "'" + std::string(options_.target) + "'; right is, for example, sm_90a");
        setting_.target = *target;
        setting_.knows_target = true;
    }
    setting_.address_size = module_.address_size();
    const auto size = std::ranges::find(all, StatementKind::address_size, &Statement::kind);
    if (setting_.address_size == 32 && setting_.knows_target && setting_.target.sm >= 90 && size != all.end())
        report(Errc::target_not_able, size->span(),
               "addresses of 32 bits are not for sm_90 and later: .address_size 64");
}

// PTX ISA 11.1.2: what is compiled for a debugger says where its lines come from.
void InstructionVerifier::debug_target(std::string_view word, const std::vector<Statement>& all) {
    const bool has_section = std::ranges::any_of(all, [](const Statement& s) {
        return s.kind() == StatementKind::directive && syntax::TokenView(s).text(0) == ".section";
    });
    require(30, {10, 0}, span_of(word), ".target …, debug");
    if (!has_section)
        report(Errc::directive_invalid, word,
               "a module for a debugger has debug information, in .section .debug_info and its like");
}

void InstructionVerifier::target_directive(const Statement& statement, const std::vector<Statement>& all) {
    constexpr std::string_view others[] = {"texmode_unified", "texmode_independent", "debug",
                                           "map_f64_to_f32"};
    bool is_first = !setting_.knows_target, maps_f64 = false;
    for (const Token& token : statement.tokens()) {
        if (token.kind != syntax::TokenKind::identifier) continue;
        maps_f64 |= token.text == "map_f64_to_f32";
        is_debug_ |= token.text == "debug";
        if (token.text == "debug") debug_target(token.text, all);
        setting_.has_samplers |= token.text == "texmode_independent";
        if (token.text.starts_with("texmode_")) {
            require(15, {10, 0}, span_of(token.text), token.text);
            if (!texture_mode_.empty() && texture_mode_ != token.text)
                report(Errc::directive_invalid, token.text,
                       "a module has one texture mode; " + std::string(texture_mode_) + " stands already");
            texture_mode_ = token.text;
        }
        if (std::find(std::begin(others), std::end(others), token.text) != std::end(others)) {
            if (std::exchange(is_first, false))
                report(
                    Errc::directive_invalid, token.text,
                    ".target begins with the architecture, as in: .target sm_90, " + std::string(token.text));
            continue;
        }
        is_first = false;
        const auto target = find_architecture(token.text);
        if (!target) {
            report(Errc::target_unknown, token.text,
                   "'" + std::string(token.text) + "'; right is, for example, sm_90a");
            continue;
        }
        if (first_version(*target) > setting_.version)
            report(Errc::version_too_old, token.text,
                   name(*target) + " needs PTX ISA " + version_text(first_version(*target)) +
                       " or later; the module has " + version_text(setting_.version));
        setting_.target = find_architecture(module_.target()).value_or(*target);
        setting_.knows_target = true;
    }
    if (maps_f64 && setting_.target.sm >= 13)
        report(Errc::directive_invalid, statement.span(), "map_f64_to_f32 is for architectures before sm_13");
}

}  // namespace ptxgraft::isa
