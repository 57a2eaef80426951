// Control flow within a function: basic blocks, and which of them lie on a cycle (Tarjan 1972).
#include "syntax/loops.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_map>

#include "syntax/branch_targets.hpp"

namespace ptxgraft::syntax {
namespace {

struct Target {
    std::string_view label;  // empty: those of all tables
    Statement scope;         // of the branch: the function, or a block
};

class Graph {
  public:
    explicit Graph(Statement function) {
        new_block(function.span().begin);
        for (const Statement s : function.walk()) read(s);
        blocks_.back().extent.end = function.span().end;
        for (std::size_t i = 0; i < blocks_.size(); ++i) connect(i);
    }
    [[nodiscard]] std::vector<BasicBlock>& blocks() { return blocks_; }

  private:
    void read(Statement s) {
        if (s.kind() == StatementKind::label) {
            begin_block(s.span().begin);
            labels_.emplace(s.name(), Label{s.parent(), blocks_.size() - 1});
        } else if (const auto instruction = s.instruction()) {
            Span& span = blocks_.back().span;
            if (!span.known()) span.begin = s.span().begin;
            span.end = s.span().end;
            end_block(*instruction, s);
        } else if (s.kind() == StatementKind::directive) {
            read_table(s);
        }
    }

    // Labels that follow each other begin one block. What stands between a branch and a label is one of its
    // own, even without an instruction.
    void begin_block(std::uint32_t at) {
        if (blocks_.back().span.known() || !begins_with_label_) new_block(at);
        begins_with_label_ = true;
    }
    void new_block(std::uint32_t at) {
        if (!blocks_.empty()) blocks_.back().extent.end = at;
        blocks_.push_back({.span = {}, .extent = {at, at}});
        targets_.push_back({});
        begins_with_label_ = false;
    }

    void end_block(const Instruction& i, Statement s) {
        const bool branches = i.opcode == "bra" || i.opcode == "brx";
        if (!branches && i.opcode != "ret" && i.opcode != "exit" && i.opcode != "trap") return;
        if (branches)
            targets_.back().push_back(
                {i.opcode == "bra" ? i.operands[0].text() : std::string_view(), s.parent()});
        blocks_.back().falls_through = i.guard.has_value();
        new_block(s.span().end);
    }

    void read_table(Statement s) {
        const std::vector<Token> tokens = s.tokens();
        if (tokens.empty() || tokens.front().text != ".branchtargets") return;
        std::ranges::copy(branch_targets(tokens), std::back_inserter(tables_));
    }

    void connect(std::size_t at) {
        for (const Target& target : targets_[at]) {
            if (!target.label.empty())
                add_nearest(at, target);
            else
                for (const BranchTargets& targets : tables_)
                    for (std::uint64_t k = 0; k < targets.count && add_all(at, targets.name(k)); ++k) {}
        }
    }

    // The label of the innermost scope around the branch that has one.
    void add_nearest(std::size_t at, const Target& target) {
        const auto [first, last] = labels_.equal_range(target.label);
        for (Statement scope = target.scope; scope; scope = scope.parent())
            for (auto i = first; i != last; ++i)
                if (i->second.scope == scope) return blocks_[at].successors.push_back(i->second.block);
    }
    // False: there is none.
    bool add_all(std::size_t at, std::string_view label) {
        const auto [first, last] = labels_.equal_range(label);
        for (auto i = first; i != last; ++i) blocks_[at].successors.push_back(i->second.block);
        return first != last;
    }

    struct Label {
        Statement scope;
        std::size_t block;
    };
    std::vector<BasicBlock> blocks_;
    bool begins_with_label_ = false;            // the last block
    std::vector<std::vector<Target>> targets_;  // of each block
    std::unordered_multimap<std::string_view, Label> labels_;
    std::vector<BranchTargets> tables_;
};

// The strongly connected components of a graph; its depth-first search keeps a stack of its own, so that long
// functions need none of the processor's.
class Cycles {
  public:
    explicit Cycles(const std::vector<std::vector<std::size_t>>& successors)
        : successors_(successors), nodes_(successors.size()) {
        for (std::size_t i = 0; i < nodes_.size(); ++i)
            if (nodes_[i].number == 0) search(i);
    }
    [[nodiscard]] bool has(std::size_t node) const { return nodes_[node].is_in_cycle; }

  private:
    struct Node {
        std::size_t number = 0, lowest = 0;  // 0: not visited
        std::size_t next = 0;                // successor to be looked at
        bool is_open = false, is_in_cycle = false;
    };

    void search(std::size_t root) {
        std::vector<std::size_t> path;
        enter(root, path);
        while (!path.empty()) {
            const std::size_t at = path.back();
            Node& node = nodes_[at];
            if (node.next == successors_[at].size()) {
                path.pop_back();
                if (!path.empty()) lower(nodes_[path.back()], node.lowest);
                if (node.lowest == node.number) close(at);
                continue;
            }
            const std::size_t to = successors_[at][node.next++];
            if (to == at) node.is_in_cycle = true;
            if (nodes_[to].number == 0)
                enter(to, path);
            else if (nodes_[to].is_open)
                lower(node, nodes_[to].number);
        }
    }

    void enter(std::size_t block, std::vector<std::size_t>& path) {
        nodes_[block].number = nodes_[block].lowest = ++count_;
        nodes_[block].is_open = true;
        open_.push_back(block);
        path.push_back(block);
    }

    static void lower(Node& node, std::size_t number) { node.lowest = std::min(node.lowest, number); }

    void close(std::size_t root) {
        const bool is_cycle = open_.back() != root;
        for (std::size_t block = ~root; block != root;) {
            block = open_.back();
            open_.pop_back();
            nodes_[block].is_open = false;
            nodes_[block].is_in_cycle |= is_cycle;
        }
    }

    const std::vector<std::vector<std::size_t>>& successors_;
    std::vector<Node> nodes_;
    std::vector<std::size_t> open_;
    std::size_t count_ = 0;
};

}  // namespace

std::vector<BasicBlock> basic_blocks(Statement function) { return std::move(Graph(function).blocks()); }

std::vector<Span> blocks_in_loops(Statement function) {
    const std::vector<BasicBlock> blocks = basic_blocks(function);
    std::vector<std::vector<std::size_t>> successors;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        successors.push_back(blocks[i].successors);
        if (blocks[i].falls_through && i + 1 < blocks.size()) successors.back().push_back(i + 1);
    }
    const Cycles cycles(successors);
    std::vector<Span> spans;
    for (std::size_t i = 0; i < blocks.size(); ++i)
        if (const Span extent = blocks[i].extent; cycles.has(i) && extent.begin < extent.end)
            spans.push_back(extent);
    return spans;
}

std::vector<bool> nodes_on_cycles(const std::vector<std::vector<std::size_t>>& successors) {
    const Cycles cycles(successors);
    std::vector<bool> on(successors.size());
    for (std::size_t i = 0; i < on.size(); ++i) on[i] = cycles.has(i);
    return on;
}

}  // namespace ptxgraft::syntax
