#pragma once
// Statements and their tokens where they stand in the tree, for stages that look at every statement of a
// module: Statement::tokens() copies them.

#include <string_view>
#include <vector>

#include "syntax/names.hpp"

namespace ptxgraft::syntax {

class TokenView {
  public:
    /// Of a statement that is neither null nor removed.
    explicit TokenView(Statement statement) : data_(NameIndex::data_of(statement)) {
        const Node& node = data_.nodes[NameIndex::node_of(statement)];
        first_ = data_.tokens.data() + node.first_token;
        size_ = node.token_count;
        if (size_ != 0 && first_[size_ - 1].kind() == Lexeme::end) --size_;
    }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] const RawToken& operator[](std::size_t i) const { return first_[i]; }
    /// The text where all these tokens begin and end; null when it is not the module's source.
    [[nodiscard]] const char* source() const {
        const std::string_view source = data_.text.source();
        return size_ != 0 && first_[size_ - 1].end() <= source.size() ? source.data() : nullptr;
    }
    [[nodiscard]] Lexeme kind(std::size_t i) const { return first_[i].kind(); }
    [[nodiscard]] std::string_view text(std::size_t i) const { return data_.text_of(first_[i]); }
    [[nodiscard]] std::uint32_t begin(std::size_t i) const { return first_[i].begin; }
    [[nodiscard]] std::uint32_t end(std::size_t i) const { return first_[i].end(); }
    /// The text from the first of two tokens to the end of the second, with what stands between them.
    [[nodiscard]] std::string_view text(std::size_t first, std::size_t last) const {
        return data_.text.at(first_[first].begin, first_[last].end());
    }

  private:
    const ModuleData& data_;
    const RawToken* first_;
    std::size_t size_;
};

/// Calls `visit(statement, kind)` for each statement of a function's or block's body.
template <class Visit> void for_each_child(Statement parent, Visit visit) {
    const ModuleData& data = NameIndex::data_of(parent);
    for (NodeIndex i = data.nodes[NameIndex::node_of(parent)].first_child; i != null_node;
         i = data.nodes[i].next)
        if (const StatementKind kind = data.nodes[i].kind; kind != StatementKind::end)
            visit(NameIndex::handle(data, i), kind);
}

/// Of a module's functions: those that are declared in their bodies, and are the module's as well.
[[nodiscard]] inline std::vector<Statement> functions_in_bodies(const std::vector<Statement>& functions) {
    std::vector<Statement> found;
    if (functions.empty()) return found;
    const ModuleData& data = NameIndex::data_of(functions.front());
    if (!data.has_functions_in_bodies) return found;
    for (NodeIndex i = data.nodes[root_node].first_child; i != null_node; i = data.in_print_order_after(i))
        if (data.nodes[i].kind == StatementKind::function && data.nodes[i].parent != root_node)
            found.push_back(NameIndex::handle(data, i));
    return found;
}

}  // namespace ptxgraft::syntax
