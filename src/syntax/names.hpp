#pragma once
// The names of a module and what they are bound to: what Names holds.

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "syntax/module.hpp"

namespace ptxgraft::syntax {

using DeclarationIndex = std::uint32_t;
constexpr DeclarationIndex no_declaration = 0xFFFFFFFFu;
constexpr std::uint32_t whole_range = 0xFFFFFFFFu;  // no element

/// The number that the last `digits` characters of a name are, which are digits; nothing past 32 bits.
[[nodiscard]] std::optional<std::uint32_t> number_at_end(std::string_view name, std::size_t digits);
/// How many digits a name ends in.
[[nodiscard]] std::size_t trailing_digits(std::string_view name);

struct Declared {
    std::string_view text;
    NodeIndex node;
    std::uint32_t token;
    NodeIndex scope;      // root_node: the module
    std::uint32_t place;  // in print order; labels and module level are known before it
    std::uint32_t range;
    NameKind kind;
    DeclarationIndex next = no_declaration;  // of the same text and scope
};

struct Occurrence {
    std::uint32_t place;  // of the statement, in print order
    NodeIndex node;
    std::uint32_t token;
    DeclarationIndex declaration;
    std::uint32_t element;  // of a range; whole_range where it is declared
    std::uint32_t operand : 28;
    std::uint32_t kind : 3;
    std::uint32_t negated : 1;
};

struct NameIndex {
    explicit NameIndex(const ModuleData& data);

    const ModuleData& data;
    std::vector<Declared> declarations;
    Array<Occurrence> occurrences;              // in print order
    std::vector<std::uint32_t> by_declaration;  // their numbers by declaration, the no_declaration last
    std::vector<std::uint32_t> first_of;        // where a declaration's begin in it; two more at the end
    std::vector<std::uint32_t> place;           // of each node in print order
    std::vector<DeclarationIndex> slots;        // the first of each text and scope, by their hash

    struct Found {
        DeclarationIndex declaration = no_declaration;
        std::uint32_t element = whole_range;
    };
    /// The first declaration of a text in a scope; the others follow by `next`.
    [[nodiscard]] DeclarationIndex first_of_text(NodeIndex scope, std::string_view text) const {
        return slots[slot_of(scope, text)];
    }
    /// Makes `slots`.
    void sort_declarations();
    /// What a name means in a scope or around it: the innermost declaration that stands before `limit`.
    [[nodiscard]] Found find(NodeIndex scope, std::uint32_t limit, std::string_view name) const;
    /// The same at a node; at a function or block: at the end of its body. `%r` finds a whole range.
    [[nodiscard]] Found find_at(NodeIndex at, std::string_view name) const;
    [[nodiscard]] std::string_view text(const Occurrence& o) const {
        return data.text_of(data.tokens[data.nodes[o.node].first_token + o.token]);
    }
    [[nodiscard]] std::string_view text(NodeIndex node, std::uint32_t token) const {
        return data.text_of(data.tokens[data.nodes[node].first_token + token]);
    }
    /// The declaration that a public Name stands for; no_declaration when it is none of these.
    [[nodiscard]] DeclarationIndex index_of(const Name& name) const;
    [[nodiscard]] Name name_of(Found found) const;
    [[nodiscard]] Use use_of(const Occurrence& o) const;
    [[nodiscard]] std::span<const std::uint32_t> occurrences_of(DeclarationIndex d) const {
        return std::span(by_declaration).subspan(first_of[d], first_of[d + 1] - first_of[d]);
    }
    /// True when scope `inner` is `outer` or within it.
    [[nodiscard]] bool is_within(NodeIndex inner, NodeIndex outer) const;
    [[nodiscard]] static NodeIndex node_of(Statement s) { return s ? s.node_ : root_node; }
    /// The tree that a statement, which is not null, is of.
    [[nodiscard]] static const ModuleData& data_of(Statement s) { return *s.module_; }
    [[nodiscard]] static Statement handle(const ModuleData& data, NodeIndex node) {
        return Statement(&data, node);
    }
    [[nodiscard]] Statement statement(NodeIndex node) const {
        return node == root_node ? Statement() : Statement(&data, node);
    }

  private:
    // Where the first declaration stands, or the free place for it.
    [[nodiscard]] std::size_t slot_of(NodeIndex scope, std::string_view text) const;
};

}  // namespace ptxgraft::syntax
