// Edits: new text goes to the end of the text space and is parsed there, then nodes are linked in, pointed at
// it, or unlinked. Whatever an edit does, the printed text parses to the edited tree; where two texts would
// run into each other
// ("2" and "ret", a comment without a line end), a line end is put between them.

#include <algorithm>

#include "syntax/module.hpp"

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

}  // namespace

/// The edits of one module's data.
class Editor {
  public:
    explicit Editor(ModuleData& data) : data_(data) {}

    // Parses the text and links its statements before `before` (null_node: at the end of `parent`).
    Expected<NodeIndex> insert(NodeIndex parent, NodeIndex before, std::string_view text) {
        const auto made = make(parent, {}, text);
        if (!made) return tl::unexpected<Error>(made.error());
        data_.link(made->first, made->last, parent, before);
        return settle(*made);
    }

    void remove(NodeIndex node) {
        const NodeIndex next = data_.in_print_order_after(last_within(node));
        unlink(node);
        separate(next);
    }

    Expected<NodeIndex> replace(NodeIndex node, std::string_view text) {
        const Node old = data_.nodes[node];
        const auto made =
            make(old.parent, data_.text.at(old.begin, data_.tokens[old.first_token].begin), text);
        if (!made) return tl::unexpected<Error>(made.error());
        data_.link(made->first, made->last, old.parent, node);
        unlink(node);
        return settle(*made);
    }

    Expected<std::size_t> rename(NodeIndex first, NodeIndex last, std::string_view from,
                                 std::string_view to) {
        std::string text;
        std::vector<NodeIndex> changed;
        std::size_t count = 0;
        for (NodeIndex i = first;; i = data_.in_print_order_after(i)) {
            if (const std::size_t found = renamed(i, from, to, text)) {
                changed.push_back(i);
                count += found;
            }
            if (i == last) break;
        }
        const auto place = data_.text.place_for(text.size());
        if (!place) return fail(Errc::text_too_large);
        if (count == 0) return count;
        data_.text.append(std::move(text));
        std::uint32_t begin = *place;
        for (NodeIndex i : changed) begin = move_node(i, begin, from, to);
        return count;
    }

    // The last node of what `node` prints: itself, or the `}` of its body.
    [[nodiscard]] NodeIndex last_within(NodeIndex node) const {
        return data_.has_body(node) ? data_.last_child(node) : node;
    }

  private:
    struct Made {
        NodeIndex first;
        NodeIndex last;
        std::string_view trailing;  // trivia behind the last statement
    };

    // Makes statements of `trivia` + `text`, not yet linked; on an error nothing has changed.
    Expected<Made> make(NodeIndex parent, std::string_view trivia, std::string_view text) {
        const auto place = data_.text.place_for(trivia.size() + text.size());
        if (!place) return fail(Errc::text_too_large);
        const std::size_t tokens = data_.tokens.size(), nodes = data_.nodes.size();
        const auto fragment = read(parent, data_.text.append(std::string(trivia).append(text)), *place);
        if (fragment)
            return Made{fragment->first, fragment->last,
                        data_.text.at(fragment->end, data_.tokens.back().begin)};
        data_.tokens.truncate(tokens);
        data_.nodes.truncate(nodes);
        data_.text.take_back();
        return tl::unexpected<Error>(
            relative_to(fragment.error(), static_cast<std::uint32_t>(trivia.size())));
    }

    Expected<Fragment> read(NodeIndex parent, std::string_view text, std::uint32_t base) {
        const auto first_token = static_cast<std::uint32_t>(data_.tokens.size());
        if (auto lexed = lex(text, base, data_.tokens); !lexed) return tl::unexpected<Error>(lexed.error());
        const Context context = parent == root_node ? Context::module : Context::body;
        auto fragment = parse_statements(data_, first_token, context, parent, base);
        if (fragment && fragment->first == null_node)
            return fail(Errc::syntax_expected, Span{0, 0}, "a statement");
        return fragment;
    }

    // New statements are linked: what stands between and behind them finds its place.
    NodeIndex settle(const Made& made) {
        const NodeIndex next = data_.in_print_order_after(last_within(made.last));
        if (!made.trailing.empty()) prepend(next, made.trailing);
        separate(made.first);
        separate(next);
        return made.first;
    }

    void unlink(NodeIndex node) {
        data_.unlink(node);
        for (NodeIndex i = node, last = last_within(node);; i = data_.in_print_order_after(i)) {
            data_.nodes[i].removed = true;
            if (i == last) return;
        }
    }

    static Error relative_to(Error error, std::uint32_t begin) {
        if (!error.span.known()) return error;
        error.span.begin -= std::min(begin, error.span.begin);
        error.span.end -= std::min(begin, error.span.end);
        return error;
    }

    [[nodiscard]] std::string_view text_of(const Node& node) const {
        return data_.text.at(node.begin, data_.end_of(node));
    }

    [[nodiscard]] NodeIndex before(NodeIndex node) const {
        const Node& n = data_.nodes[node];
        return data_.nodes[n.parent].first_child == node ? n.parent : last_within(n.previous);
    }

    // Puts a line end between a node and the one before it where they would run together.
    void separate(NodeIndex node) {
        const NodeIndex previous = before(node);
        const std::string_view text = text_of(data_.nodes[node]);
        if (previous != root_node && run_together(text_of(data_.nodes[previous]), text)) prepend(node, "\n");
    }

    // Puts trivia before the trivia of a node.
    void prepend(NodeIndex node, std::string_view trivia) {
        const std::string_view own = text_of(data_.nodes[node]);
        std::string text(trivia);
        if (ends_in_comment(trivia) && !starts_with_line_end(own)) text += '\n';
        const auto shift = static_cast<std::uint32_t>(text.size());
        const auto place = data_.text.place_for(text.size() + own.size());
        text.append(own);
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

    // --- renaming
    // An opcode and the words of `.loc`, `.target` … are no names.
    [[nodiscard]] bool is_name(const Node& node, std::uint32_t i, std::string_view name) const {
        const RawToken token = data_.tokens[node.first_token + i];
        if (token.size != name.size() || token.kind() != Lexeme::identifier || data_.text_of(token) != name)
            return false;
        switch (node.kind) {
            case StatementKind::target:
                return false;
            case StatementKind::instruction:
                return i != opcode_of(node);
            case StatementKind::directive:
                return i == 0 || data_.tokens[node.first_token + i - 1].kind() != Lexeme::comma ||
                       !is_location(node);
            default:
                return true;
        }
    }
    [[nodiscard]] std::uint32_t opcode_of(const Node& node) const {
        if (data_.tokens[node.first_token].kind() != Lexeme::at) return 0;
        return data_.tokens[node.first_token + 1].kind() == Lexeme::exclaim ? 3 : 2;
    }
    [[nodiscard]] bool is_location(const Node& node) const {
        return data_.text_of(data_.tokens[node.first_token]) == ".loc";
    }

    // Appends the node's new text when it has the name; the number of replaced tokens.
    std::size_t renamed(NodeIndex index, std::string_view from, std::string_view to,
                        std::string& text) const {
        const Node& node = data_.nodes[index];
        std::size_t count = 0;
        std::uint32_t copied = node.begin;
        for (std::uint32_t i = 0; i < node.token_count; ++i) {
            if (!is_name(node, i, from)) continue;
            const RawToken token = data_.tokens[node.first_token + i];
            text.append(data_.text.at(copied, token.begin)).append(to);
            copied = token.end();
            ++count;
        }
        if (count != 0) text.append(data_.text.at(copied, data_.end_of(node)));
        return count;
    }

    // Points a node at its new text, which begins at `begin`; where that ends.
    std::uint32_t move_node(NodeIndex index, std::uint32_t begin, std::string_view from,
                            std::string_view to) {
        const Node old = data_.nodes[index];
        const auto first = static_cast<std::uint32_t>(data_.tokens.size());
        std::uint32_t shift = begin - old.begin;
        for (std::uint32_t i = 0; i < old.token_count; ++i) {
            RawToken token = data_.tokens[old.first_token + i];
            const bool replaced = is_name(old, i, from);
            token.begin += shift;
            if (replaced) {
                token.size = static_cast<std::uint32_t>(to.size()) & max_token_size;
                shift += static_cast<std::uint32_t>(to.size() - from.size());
            }
            data_.tokens.push_back(token);
        }
        data_.nodes[index].first_token = first;
        data_.nodes[index].begin = begin;
        return data_.end_of(data_.nodes[index]);
    }

    ModuleData& data_;
};

namespace {

tl::unexpected<Error> not_here() {
    return fail(Errc::invalid_argument,
                "the statement was removed, is the end of the module, or is of another module");
}

}  // namespace

bool Module::owns(Statement statement) const {
    return statement.module_ == data_.get() && statement.node() != nullptr;
}

Expected<Statement> Module::insert(NodeIndex parent, NodeIndex before, std::string_view text) {
    const auto first = Editor(*data_).insert(parent, before, text);
    if (!first) return tl::unexpected<Error>(first.error());
    return Statement(data_.get(), *first);
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
        return fail(Errc::invalid_argument, "the statement has no body");
    return insert(parent.node_, data_->last_child(parent.node_), text);
}

void Module::remove(Statement at) {
    if (owns(at) && at.kind() != StatementKind::end) Editor(*data_).remove(at.node_);
}

Expected<Statement> Module::replace(Statement at, std::string_view text) {
    if (!owns(at) || at.kind() == StatementKind::end) return not_here();
    const auto first = Editor(*data_).replace(at.node_, text);
    if (!first) return tl::unexpected<Error>(first.error());
    return Statement(data_.get(), *first);
}

Expected<std::size_t> Module::rename(Statement scope, std::string_view from, std::string_view to) {
    for (std::string_view name : {from, to})
        if (!is_identifier(name) || name.size() > max_token_size)
            return fail(Errc::invalid_argument,
                        std::string(name.substr(0, 60))
                            .append(" is no name; a name is letters, digits, _ and $, and may begin with %"));
    if (scope && !owns(scope)) return not_here();
    Editor editor(*data_);
    const NodeIndex first = scope ? scope.node_ : data_->nodes[root_node].first_child;
    const NodeIndex last = scope ? editor.last_within(first) : data_->last_child(root_node);
    return editor.rename(first, last, from, to);
}

}  // namespace ptxgraft::syntax
