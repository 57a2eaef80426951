// Walks over statements in text order, one at a time.

#include "syntax/module.hpp"

namespace ptxgraft::syntax {
namespace {

constexpr std::uint32_t bit(StatementKind kind) { return 1u << static_cast<unsigned>(kind); }
constexpr std::uint32_t every_statement = ~bit(StatementKind::end);

}  // namespace

StatementRange::StatementRange(Statement first, std::uint32_t behind_last, std::uint32_t kinds)
    : first_(first, behind_last, kinds) {
    first_.settle();
}

// Moves to the next statement that is wanted, from where it stands on.
void StatementRange::iterator::settle() {
    const ModuleData& data = *at_.module_;
    while (at_.node_ != behind_last_) {
        const Node& node = data.nodes[at_.node_];
        if (!node.removed && (kinds_ & bit(node.kind)) != 0) return;
        at_.node_ = data.in_print_order_after(at_.node_);
    }
    at_ = Statement();
}

StatementRange::iterator& StatementRange::iterator::operator++() {
    // A removed statement still knows what followed it.
    at_.node_ = at_.module_->in_print_order_after(at_.node_);
    settle();
    return *this;
}

StatementRange Statement::walk() const {
    const Node* n = node();
    if (n == nullptr || n->first_child == null_node) return {};
    return {Statement(module_, n->first_child), module_->last_child(node_),
            every_statement & ~bit(StatementKind::block)};
}

StatementRange Statement::instructions() const {
    const Node* n = node();
    if (n == nullptr || n->first_child == null_node) return {};
    return {Statement(module_, n->first_child), module_->last_child(node_), bit(StatementKind::instruction)};
}

StatementRange Module::walk() const {
    return {Statement(data_.get(), data_->nodes[root_node].first_child), null_node, every_statement};
}

StatementRange Module::instructions() const {
    return {Statement(data_.get(), data_->nodes[root_node].first_child), null_node,
            bit(StatementKind::instruction)};
}

}  // namespace ptxgraft::syntax
