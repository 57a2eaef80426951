// Statement, the public handle of a node: kind, tokens, text, place and neighbours.

#include <algorithm>

#include "base/try.hpp"
#include "syntax/module.hpp"

namespace ptxgraft::syntax {
namespace {

TokenKind public_kind(Lexeme lexeme) {
    switch (lexeme) {
        case Lexeme::identifier: return TokenKind::identifier;
        case Lexeme::directive: return TokenKind::directive;
        case Lexeme::integer: return TokenKind::integer;
        case Lexeme::floating: return TokenKind::floating;
        case Lexeme::string: return TokenKind::string;
        default: return TokenKind::punctuation;
    }
}

}  // namespace

Token public_token(RawToken token, std::string_view text) {
    return {public_kind(token.kind()), text, token.begin};
}

Expected<std::vector<Token>> tokenize(std::string_view text) {
    if (text.size() >= Span::none) return fail(Errc::text_too_large);
    const std::string terminated(text);
    Array<RawToken> raw;
    TRY(lex(terminated, 0, raw));
    std::vector<Token> tokens;
    tokens.reserve(raw.size() - 1);
    for (std::size_t i = 0; i + 1 < raw.size(); ++i)
        tokens.push_back(public_token(raw[i], text.substr(raw[i].begin, raw[i].size)));
    return tokens;
}

// The node, or nothing for a null handle and a removed statement.
const Node* Statement::node() const {
    if (module_ == nullptr) return nullptr;
    const Node& node = module_->nodes[node_];
    return node.removed ? nullptr : &node;
}

StatementKind Statement::kind() const { return node() != nullptr ? node()->kind : StatementKind::end; }

std::string Statement::text() const {
    const Node* n = node();
    std::string out;
    if (n == nullptr) return out;
    const ModuleData& data = *module_;
    const std::uint32_t begin = data.tokens[n->first_token].begin;
    out.append(data.text.at(begin, data.end_of(*n)));
    if (n->first_child == null_node) return out;
    const NodeIndex close = data.last_child(node_);
    data.print(n->first_child, close, out);
    out.append(data.text.at(data.nodes[close].begin, data.end_of(data.nodes[close])));
    return out;
}

std::string_view Statement::trivia() const {
    const Node* n = node();
    if (n == nullptr) return {};
    return module_->text.at(n->begin, module_->tokens[n->first_token].begin);
}

Span Statement::span() const {
    const Node* n = node();
    if (n == nullptr || !module_->text.is_source(n->begin)) return {};
    const ModuleData& data = *module_;
    const std::uint32_t begin = data.tokens[n->first_token].begin;
    if (n->first_child == null_node) return {begin, data.end_of(*n)};
    const Node& close = data.nodes[data.last_child(node_)];
    return data.text.is_source(close.begin) ? Span{begin, data.end_of(close)} : Span{};
}

std::vector<Token> Statement::tokens() const {
    std::vector<Token> out;
    tokens(out);
    return out;
}

void Statement::tokens(std::vector<Token>& out) const {
    out.clear();
    const Node* n = node();
    if (n == nullptr) return;
    const ModuleData& data = *module_;
    out.reserve(n->token_count);
    for (std::uint32_t i = 0; i < n->token_count; ++i) {
        const RawToken token = data.tokens[n->first_token + i];
        if (token.kind() != Lexeme::end) out.push_back(public_token(token, data.text_of(token)));
    }
}

Statement Statement::next() const {
    const Node* n = node();
    if (n == nullptr || n->next == null_node) return {};
    const Statement next(module_, n->next);
    // The `}` of a body is its last node and no statement of it.
    return n->parent != root_node && next.kind() == StatementKind::end ? Statement() : next;
}

Statement Statement::previous() const {
    const Node* n = node();
    if (n == nullptr || n->parent == null_node || module_->nodes[n->parent].first_child == node_) return {};
    return Statement(module_, n->previous);
}

Statement Statement::parent() const {
    const Node* n = node();
    return n == nullptr || n->parent == root_node ? Statement() : Statement(module_, n->parent);
}

Statement Statement::first_child() const {
    const Node* n = node();
    if (n == nullptr || n->first_child == null_node) return {};
    const Statement child(module_, n->first_child);
    return child.kind() == StatementKind::end ? Statement() : child;
}

std::vector<Statement> Statement::body() const {
    std::vector<Statement> children;
    for (Statement s = first_child(); s; s = s.next()) children.push_back(s);
    return children;
}

std::vector<Statement> Statement::body_recursive() const {
    std::vector<Statement> found;
    const Node* n = node();
    if (n == nullptr || n->first_child == null_node) return found;
    const ModuleData& data = *module_;
    const NodeIndex close = data.last_child(node_);
    for (NodeIndex i = n->first_child; i != close; i = data.in_print_order_after(i)) {
        const StatementKind kind = data.nodes[i].kind;
        if (kind != StatementKind::block && kind != StatementKind::end)
            found.push_back(Statement(module_, i));
    }
    return found;
}

bool Statement::is_definition() const {
    return kind() == StatementKind::function && node()->first_child != null_node;
}

}  // namespace ptxgraft::syntax
