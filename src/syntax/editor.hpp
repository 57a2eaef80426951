#pragma once
// The edits of one module's data. New text goes to the end of the text space and is parsed there, then nodes
// are linked in, pointed at it, or unlinked. Whatever an edit does, the printed text parses to the edited
// tree; where two texts would run into each other ("2" and "ret", a comment without a line end), a line end
// is put between them, and behind a prototype without `;` one where a directive no longer ends it.

#include <span>
#include <string>
#include <string_view>

#include "syntax/module.hpp"

namespace ptxgraft::syntax {

/// One token of a statement and what it becomes.
struct TokenChange {
    NodeIndex node;
    std::uint32_t token;  // which of the node's
    std::string text;
    bool is_spaced = false;  // behind a space, as it would run together with the token before
};

class Editor {
  public:
    explicit Editor(ModuleData& data) : data_(data) {}

    /// Parses the text and links its statements before `before` (null_node: at the end of `parent`).
    Expected<NodeIndex> insert(NodeIndex parent, NodeIndex before, std::string_view text);
    void remove(NodeIndex node);
    Expected<NodeIndex> replace(NodeIndex node, std::string_view text);
    /// Gives a node without a body other text, of one statement of the same kind; the node stays.
    Expected<void> rewrite(NodeIndex node, std::string_view text);
    /// Changes tokens for others of the same kind. Sorted by node and token, each node's together.
    Expected<void> change(std::span<TokenChange> changes);

    /// The identifier tokens of this text from node `first` to `last` that are names. An opcode and the words
    /// of `.loc`,
    /// `.target` … are none.
    [[nodiscard]] std::vector<TokenChange> places(NodeIndex first, NodeIndex last, std::string_view name,
                                                  std::string_view to) const;
    /// The last node of what `node` prints: itself, or the `}` of its body.
    [[nodiscard]] NodeIndex last_within(NodeIndex node) const {
        return data_.has_body(node) ? data_.last_child(node) : node;
    }
    /// The trivia before a node's first token.
    [[nodiscard]] std::string_view trivia_of(const Node& node) const {
        return data_.text.at(node.begin, data_.tokens[node.first_token].begin);
    }

  private:
    struct Made {
        NodeIndex first;
        NodeIndex last;
        std::string_view trailing;  // trivia behind the last statement
    };
    struct Sizes {
        std::size_t tokens, nodes;
    };
    Expected<Made> make(NodeIndex parent, std::string_view trivia, std::string_view text);
    void take_back(Sizes sizes);
    Expected<Fragment> read(NodeIndex parent, std::string_view text, std::uint32_t base);
    NodeIndex settle(const Made& made);
    void unlink(NodeIndex node);
    [[nodiscard]] std::string_view text_of(const Node& node) const {
        return data_.text.at(node.begin, data_.end_of(node));
    }
    [[nodiscard]] NodeIndex before(NodeIndex node) const;
    void separate(NodeIndex node);
    [[nodiscard]] bool is_open_prototype(NodeIndex node) const;
    void terminate(NodeIndex node);
    void prepend(NodeIndex node, std::string_view trivia);
    void move_to(NodeIndex node, std::string text, std::uint32_t shift);
    [[nodiscard]] bool is_name(const Node& node, std::uint32_t i, std::string_view name) const;
    [[nodiscard]] std::uint32_t opcode_of(const Node& node) const;
    void space(std::span<TokenChange> changes) const;
    void append_changed(std::span<const TokenChange> changes, std::string& text) const;
    std::uint32_t move_node(std::span<const TokenChange> changes, std::uint32_t begin);

    ModuleData& data_;
};

/// The errors of edits that are given a statement that is none of the module's, or a text that is no name.
[[nodiscard]] tl::unexpected<Error> not_here();
[[nodiscard]] tl::unexpected<Error> no_name(std::string_view text);
/// True for what can be declared: an identifier that is not the sink `_`.
[[nodiscard]] bool may_be_name(std::string_view text);

}  // namespace ptxgraft::syntax
