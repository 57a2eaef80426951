#pragma once
// What a Module holds: one text space, one token array, one node array.
//
// The text space is the source followed by the texts of edits; nothing in it ever moves or changes, so string
// views into it live as long as the module. Tokens stand in the order in which their texts came. A node is
// one statement: a contiguous range of tokens and, with the trivia before them, a contiguous range of text.
// An edit appends text and tokens and points nodes at them; printing concatenates the nodes' ranges.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/syntax.hpp"
#include "syntax/array.hpp"
#include "syntax/lexer.hpp"

namespace ptxgraft::syntax {

using NodeIndex = std::uint32_t;
constexpr NodeIndex null_node = 0xFFFFFFFFu;
constexpr NodeIndex root_node = 0;  // the module: parent of its statements

struct Node {
    std::uint32_t begin;  // of the trivia before the statement
    std::uint32_t first_token;
    std::uint32_t token_count;  // of functions and blocks: up to the `{`
    NodeIndex parent;
    NodeIndex next;      // null_node for the last of a level
    NodeIndex previous;  // of the first of a level: the last of it
    NodeIndex first_child;
    StatementKind kind;  // `end` for the root, for the module's end and for the `}` that closes a body
    bool removed;
};
static_assert(sizeof(Node) == 32);

/// The text space. Offsets are 32 bits wide.
class TextSpace {
  public:
    explicit TextSpace(std::string source) : source_(std::move(source)) { size_ = source_.size() + 1; }
    [[nodiscard]] std::string_view source() const { return source_; }
    [[nodiscard]] std::string take_source() && { return std::move(source_); }
    /// The text [begin, end), which lies within one appended text.
    [[nodiscard]] std::string_view at(std::uint32_t begin, std::uint32_t end) const {
        if (begin <= source_.size()) [[likely]]
            return std::string_view(source_.data() + begin, end - begin);
        return appended_at(begin, end);
    }
    /// Where the next text of `size` bytes will stand; nothing when the space is full.
    [[nodiscard]] std::optional<std::uint32_t> place_for(std::size_t size) const;
    /// Appends a text and gives its view, which has a 0 behind it.
    std::string_view append(std::string text);
    /// Forgets the text that came last.
    void take_back();
    [[nodiscard]] bool is_source(std::uint32_t offset) const { return offset <= source_.size(); }

  private:
    struct Appended {
        std::uint32_t begin;
        std::unique_ptr<const std::string> text;  // does not move when the vector grows
    };
    [[nodiscard]] std::string_view appended_at(std::uint32_t begin, std::uint32_t end) const;
    std::string source_;
    std::vector<Appended> appended_;
    std::size_t size_;  // each text has a 0 behind it, so that ranges of two texts never touch
};

struct ModuleData {
    explicit ModuleData(std::string source) : text(std::move(source)) {}
    TextSpace text;
    Array<RawToken> tokens;
    Array<Node> nodes;
    bool has_functions_in_bodies = false;  ///< some were parsed

    [[nodiscard]] std::string_view text_of(RawToken token) const { return text.at(token.begin, token.end()); }
    /// The text of a node's trivia and own tokens.
    [[nodiscard]] std::uint32_t end_of(const Node& node) const {
        return tokens[node.first_token + node.token_count - 1].end();
    }
    [[nodiscard]] bool has_body(NodeIndex node) const { return nodes[node].first_child != null_node; }
    [[nodiscard]] NodeIndex last_child(NodeIndex parent) const {
        return nodes[nodes[parent].first_child].previous;
    }
    /// Links the chain [first, last] of siblings into `parent`'s children before `before` (null_node: at the
    /// end).
    void link(NodeIndex first, NodeIndex last, NodeIndex parent, NodeIndex before);
    void unlink(NodeIndex node);
    /// The node that prints after `node`; null_node after the last of the module.
    [[nodiscard]] NodeIndex in_print_order_after(NodeIndex node) const;
    /// Appends the text of the nodes from `first` up to `behind_last` in print order.
    void print(NodeIndex first, NodeIndex behind_last, std::string& out) const;
};

/// Of `ld.const[2].b32`, before PTX ISA 2.2: whether the token `at` is a `.const` that has its bank directly
/// behind it, in `bank_tokens` more.
constexpr std::uint32_t bank_tokens = 3;
[[nodiscard]] inline bool is_bank(const ModuleData& data, std::uint32_t at) {
    const RawToken* const t = &data.tokens[at];
    return t[1].kind() == Lexeme::open_bracket && t[2].kind() == Lexeme::integer &&
           t[3].kind() == Lexeme::close_bracket && t[1].begin == t[0].end() && t[2].begin == t[1].end() &&
           t[3].begin == t[2].end() && data.text_of(t[0]) == ".const";
}

/// The statements made of one text: a chain of siblings, not yet linked to a parent.
struct Fragment {
    NodeIndex first = null_node;
    NodeIndex last = null_node;
    std::uint32_t end = 0;  // of the last statement; the text behind it is trivia
};

enum class Context : std::uint8_t { module, body };

/// Parses the tokens from `first_token` to the `end` token into nodes that have `parent` as parent. Spans of
/// errors are relative to `base`. With a list for them, the parser goes on behind errors and does not fail.
[[nodiscard]] Expected<Fragment> parse_statements(ModuleData& data, std::uint32_t first_token,
                                                  Context context, NodeIndex parent, std::uint32_t base,
                                                  ErrorList* errors = nullptr);

[[nodiscard]] Token public_token(RawToken token, std::string_view text);

}  // namespace ptxgraft::syntax
