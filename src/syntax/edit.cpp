// Edits of a tree: insert, replace and remove statements, with the blanks that keep tokens apart.

#include "base/try.hpp"
#include "syntax/editor.hpp"

#include <algorithm>

namespace ptxgraft::syntax {
namespace {

bool is_word_or_dot(char c) {
    return c == '_' || c == '$' || c == '%' || c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 128;
}

bool starts_with_line_end(std::string_view text) {
    return text.starts_with('\n') || text.starts_with("\r\n");
}

// True when a `//` comment or a line marker runs to the end of the trivia.
bool ends_in_comment(std::string_view trivia) {
    for (std::size_t i = 0; i < trivia.size();) {
        const bool block = trivia.substr(i, 2) == "/*";
        if (!block && trivia[i] != '/' && trivia[i] != '#') {
            ++i;
            continue;
        }
        const std::size_t close = trivia.find(block ? "*/" : "\n", i + (block ? 2 : 1));
        if (close == std::string_view::npos) return true;
        i = close + (block ? 2 : 1);
    }
    return false;
}

// True when `after` would be read differently directly behind `before` than behind a line end.
bool run_together(std::string_view before, std::string_view after) {
    if (before.empty() || after.empty()) return false;
    if (is_word_or_dot(before.back()) && is_word_or_dot(after.front())) return true;
    const std::size_t mark = after.find_first_not_of(" \t");
    return mark != std::string_view::npos && after[mark] == '#' && before.back() != '\n';
}

// What may stand behind a prototype without `;`: a statement of a directive, or an end.
bool ends_prototype(Lexeme next) {
    return next == Lexeme::directive || next == Lexeme::close_brace || next == Lexeme::end;
}

}  // namespace

Expected<NodeIndex> Editor::insert(NodeIndex parent, NodeIndex before, std::string_view text) {
    const auto made = TRY(make(parent, {}, text));
    data_.link(made.first, made.last, parent, before);
    return settle(made);
}

void Editor::remove(NodeIndex node) {
    const NodeIndex next = data_.in_print_order_after(last_within(node));
    unlink(node);
    separate(next);
}

Expected<NodeIndex> Editor::replace(NodeIndex node, std::string_view text) {
    const Node old = data_.nodes[node];
    const auto made = TRY(make(old.parent, trivia_of(old), text));
    data_.link(made.first, made.last, old.parent, node);
    unlink(node);
    return settle(made);
}

Expected<void> Editor::rewrite(NodeIndex node, std::string_view text) {
    const Sizes sizes{data_.tokens.size(), data_.nodes.size()};
    const auto made = TRY(make(data_.nodes[node].parent, trivia_of(data_.nodes[node]), text));
    const Node fresh = data_.nodes[made.first];
    if (made.first != made.last || fresh.kind != data_.nodes[node].kind || data_.has_body(made.first)) {
        take_back(sizes);
        return fail(Errc::argument_invalid, Span{0, static_cast<std::uint32_t>(text.size())},
                    "the new text is not one statement of the same kind");
    }
    data_.nodes.pop_back();
    Node& n = data_.nodes[node];
    n.begin = fresh.begin;
    n.first_token = fresh.first_token;
    n.token_count = fresh.token_count;
    (void)settle({node, node, made.trailing});
    return {};
}

Expected<void> Editor::change(std::span<TokenChange> changes) {
    const auto of_one_node = [&](std::size_t from) {
        std::size_t end = from;
        while (end < changes.size() && changes[end].node == changes[from].node) ++end;
        return changes.subspan(from, end - from);
    };
    space(changes);
    std::string text;
    for (std::size_t i = 0; i < changes.size(); i += of_one_node(i).size())
        append_changed(of_one_node(i), text);
    const auto place = data_.text.place_for(text.size());
    if (!place) return fail(Errc::text_too_large);
    if (changes.empty()) return {};
    data_.text.append(std::move(text));
    std::uint32_t begin = *place;
    for (std::size_t i = 0; i < changes.size(); i += of_one_node(i).size())
        begin = move_node(of_one_node(i), begin);
    return {};
}

std::vector<TokenChange> Editor::places(NodeIndex first, NodeIndex last, std::string_view name,
                                        std::string_view to) const {
    std::vector<TokenChange> found;
    for (NodeIndex i = first;; i = data_.in_print_order_after(i)) {
        const Node& node = data_.nodes[i];
        for (std::uint32_t token = 0; token < node.token_count; ++token)
            if (is_name(node, token, name)) found.push_back({i, token, std::string(to)});
        if (i == last) return found;
    }
}

// Makes statements of `trivia` + `text`, not yet linked; on an error nothing has changed.
Expected<Editor::Made> Editor::make(NodeIndex parent, std::string_view trivia, std::string_view text) {
    const auto place = data_.text.place_for(trivia.size() + text.size());
    if (!place) return fail(Errc::text_too_large);
    const Sizes sizes{data_.tokens.size(), data_.nodes.size()};
    const auto fragment = read(parent, data_.text.append(std::string(trivia).append(text)), *place);
    if (fragment)
        return Made{fragment->first, fragment->last, data_.text.at(fragment->end, data_.tokens.back().begin)};
    take_back(sizes);
    // Where it is wrong within the new text.
    Error error = fragment.error();
    if (!error.span.known()) return tl::unexpected<Error>(error);
    const auto shift = static_cast<std::uint32_t>(trivia.size());
    error.span.begin -= std::min(shift, error.span.begin);
    error.span.end -= std::min(shift, error.span.end);
    return tl::unexpected<Error>(error);
}

void Editor::take_back(Sizes sizes) {
    data_.tokens.truncate(sizes.tokens);
    data_.nodes.truncate(sizes.nodes);
    data_.text.take_back();
}

Expected<Fragment> Editor::read(NodeIndex parent, std::string_view text, std::uint32_t base) {
    const auto first_token = static_cast<std::uint32_t>(data_.tokens.size());
    TRY(lex(text, base, data_.tokens));
    const Context context = parent == root_node ? Context::module : Context::body;
    auto fragment = parse_statements(data_, first_token, context, parent, base);
    if (fragment && fragment->first == null_node)
        return fail(Errc::syntax_expected, Span{0, 0}, "a statement");
    return fragment;
}

// New statements are linked: what stands between and behind them finds its place.
NodeIndex Editor::settle(const Made& made) {
    const NodeIndex next = data_.in_print_order_after(last_within(made.last));
    if (!made.trailing.empty()) prepend(next, made.trailing);
    separate(made.first);
    separate(next);
    return made.first;
}

void Editor::unlink(NodeIndex node) {
    data_.unlink(node);
    for (NodeIndex i = node, last = last_within(node);; i = data_.in_print_order_after(i)) {
        data_.nodes[i].removed = true;
        if (i == last) return;
    }
}

NodeIndex Editor::before(NodeIndex node) const {
    const Node& n = data_.nodes[node];
    return data_.nodes[n.parent].first_child == node ? n.parent : last_within(n.previous);
}

// Puts a line end between a node and the one before it where they would run together, and a `;` behind a
// prototype that had none, where it would go on.
void Editor::separate(NodeIndex node) {
    const NodeIndex previous = before(node);
    if (previous == root_node) return;
    if (is_open_prototype(previous) && !ends_prototype(data_.tokens[data_.nodes[node].first_token].kind()))
        terminate(previous);
    const std::string_view text = text_of(data_.nodes[node]);
    if (run_together(text_of(data_.nodes[previous]), text)) prepend(node, "\n");
}

// `.func f` without `;`
bool Editor::is_open_prototype(NodeIndex node) const {
    const Node& n = data_.nodes[node];
    return n.kind == StatementKind::function && !data_.has_body(node) &&
           data_.tokens[n.first_token + n.token_count - 1].kind() != Lexeme::semicolon;
}

void Editor::terminate(NodeIndex node) {
    const auto own_size = static_cast<std::uint32_t>(text_of(data_.nodes[node]).size());
    move_to(node, std::string(text_of(data_.nodes[node])).append(";"), 0);
    Node& n = data_.nodes[node];
    data_.tokens.push_back({n.begin + own_size, 1, static_cast<std::uint8_t>(Lexeme::semicolon)});
    ++n.token_count;
}

// Puts trivia before the trivia of a node.
void Editor::prepend(NodeIndex node, std::string_view trivia) {
    const std::string_view own = text_of(data_.nodes[node]);
    std::string text(trivia);
    if (ends_in_comment(trivia) && !starts_with_line_end(own)) text += '\n';
    const auto shift = static_cast<std::uint32_t>(text.size());
    move_to(node, text.append(own), shift);
}

// Gives a node a text in which its tokens stand as before, `shift` further on; copies of them are the last
// tokens.
void Editor::move_to(NodeIndex node, std::string text, std::uint32_t shift) {
    const auto place = data_.text.place_for(text.size());
    data_.text.append(std::move(text));
    Node& n = data_.nodes[node];
    const std::uint32_t old_begin = n.begin, first = n.first_token;
    n.first_token = static_cast<std::uint32_t>(data_.tokens.size());
    n.begin = *place;
    for (std::uint32_t i = 0; i < n.token_count; ++i) {
        RawToken token = data_.tokens[first + i];
        token.begin = token.begin - old_begin + n.begin + shift;
        data_.tokens.push_back(token);
    }
}

bool Editor::is_name(const Node& node, std::uint32_t i, std::string_view name) const {
    const RawToken token = data_.tokens[node.first_token + i];
    if (token.size != name.size() || token.kind() != Lexeme::identifier || data_.text_of(token) != name)
        return false;
    switch (node.kind) {
        case StatementKind::target: return false;
        case StatementKind::instruction: return i != opcode_of(node);
        case StatementKind::directive:
            return i == 0 || data_.tokens[node.first_token + i - 1].kind() != Lexeme::comma ||
                   data_.text_of(data_.tokens[node.first_token]) != ".loc";
        default: return true;
    }
}

std::uint32_t Editor::opcode_of(const Node& node) const {
    if (data_.tokens[node.first_token].kind() != Lexeme::at) return 0;
    return data_.tokens[node.first_token + 1].kind() == Lexeme::exclaim ? 3 : 2;
}

// `.entry%k`: the name `k` would be part of the directive. The first token of a node may stand behind the
// last one of another.
void Editor::space(std::span<TokenChange> changes) const {
    for (std::size_t i = 0; i < changes.size(); ++i) {
        const Node& node = data_.nodes[changes[i].node];
        const RawToken token = data_.tokens[node.first_token + changes[i].token];
        std::string_view before = data_.text.at(node.begin, token.begin);
        if (before.empty())
            if (const NodeIndex previous = this->before(changes[i].node); previous != root_node)
                before = text_of(data_.nodes[previous]);
        if (i != 0 && changes[i - 1].node == changes[i].node &&
            changes[i - 1].token + 1 == changes[i].token &&
            data_.tokens[node.first_token + changes[i - 1].token].end() == token.begin)
            before = changes[i - 1].text;
        changes[i].is_spaced = run_together(before, changes[i].text);
    }
}

// Appends the new text of the node that the changes are of.
void Editor::append_changed(std::span<const TokenChange> changes, std::string& text) const {
    const Node& node = data_.nodes[changes.front().node];
    std::uint32_t copied = node.begin;
    for (const TokenChange& change : changes) {
        const RawToken token = data_.tokens[node.first_token + change.token];
        text.append(data_.text.at(copied, token.begin))
            .append(change.is_spaced ? " " : "")
            .append(change.text);
        copied = token.end();
    }
    text.append(data_.text.at(copied, data_.end_of(node)));
}

// Points a node at its new text, which begins at `begin`; where that ends.
std::uint32_t Editor::move_node(std::span<const TokenChange> changes, std::uint32_t begin) {
    Node& node = data_.nodes[changes.front().node];
    const std::uint32_t old = node.first_token;
    std::uint32_t shift = begin - node.begin;
    auto change = changes.begin();
    node.first_token = static_cast<std::uint32_t>(data_.tokens.size());
    node.begin = begin;
    for (std::uint32_t i = 0; i < node.token_count; ++i) {
        RawToken token = data_.tokens[old + i];
        if (change != changes.end() && change->token == i) shift += change->is_spaced;
        token.begin += shift;
        if (change != changes.end() && change->token == i) {
            shift += static_cast<std::uint32_t>(change->text.size()) - token.size;
            token.size = static_cast<std::uint32_t>(change->text.size()) & max_token_size;
            ++change;
        }
        data_.tokens.push_back(token);
    }
    return data_.end_of(node);
}

tl::unexpected<Error> not_here() {
    return fail(Errc::argument_invalid,
                "the statement was removed, is the end of the module, or is of another module");
}

bool may_be_name(std::string_view text) {
    return is_identifier(text) && text != "_" && text.size() <= max_token_size;
}

tl::unexpected<Error> no_name(std::string_view text) {
    return fail(
        Errc::argument_invalid,
        std::string(text.substr(0, 60))
            .append(" is no name; a name is letters, digits, _ and $, may begin with %, and is not _ alone"));
}

bool Module::owns(Statement statement) const {
    return statement.module_ == data_.get() && statement.node() != nullptr;
}

Expected<Statement> Module::insert(NodeIndex parent, NodeIndex before, std::string_view text) {
    const auto first = TRY(Editor(*data_).insert(parent, before, text));
    return Statement(data_.get(), first);
}

Expected<Statement> Module::insert_before(Statement at, std::string_view text) {
    if (!owns(at)) return not_here();
    return insert(at.node()->parent, at.node_, text);
}

Expected<Statement> Module::insert_after(Statement at, std::string_view text) {
    if (!owns(at) || at.kind() == StatementKind::end) return not_here();
    return insert(at.node()->parent, at.node()->next, text);
}

Expected<Statement> Module::append(Statement parent, std::string_view text) {
    if (!parent) return insert(root_node, data_->last_child(root_node), text);
    if (!owns(parent) || !data_->has_body(parent.node_))
        return fail(Errc::argument_invalid, "the statement has no body");
    return insert(parent.node_, data_->last_child(parent.node_), text);
}

void Module::remove(Statement at) {
    if (owns(at) && at.kind() != StatementKind::end) Editor(*data_).remove(at.node_);
}

Expected<Statement> Module::replace(Statement at, std::string_view text) {
    if (!owns(at) || at.kind() == StatementKind::end) return not_here();
    const auto first = TRY(Editor(*data_).replace(at.node_, text));
    return Statement(data_.get(), first);
}

Expected<void> Module::rewrite(Statement at, std::string_view text) {
    if (!owns(at) || at.kind() == StatementKind::end) return not_here();
    if (data_->has_body(at.node_))
        return fail(Errc::argument_invalid, "the statement has a body; see replace_body");
    return Editor(*data_).rewrite(at.node_, text);
}

Expected<std::size_t> Module::rename(Statement scope, std::string_view from, std::string_view to) {
    for (std::string_view name : {from, to})
        if (!may_be_name(name)) return no_name(name);
    if (scope && !owns(scope)) return not_here();
    Editor editor(*data_);
    const NodeIndex first = scope ? scope.node_ : data_->nodes[root_node].first_child;
    const NodeIndex last = scope ? editor.last_within(first) : data_->last_child(root_node);
    std::vector<TokenChange> changes = editor.places(first, last, from, to);
    TRY(editor.change(changes));
    return changes.size();
}

}  // namespace ptxgraft::syntax
