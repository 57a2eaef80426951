// Control flow within a function: basic blocks, and which of them lie on a cycle (Tarjan 1972).
#include "syntax/loops.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace ptxgraft::syntax {
namespace {

struct Block {
    Span span;
    std::vector<std::string_view> targets = {};  // labels; "" stands for those of all tables
    bool falls_through = true;
    std::vector<std::size_t> successors = {};
};

class Graph {
  public:
    explicit Graph(Statement function) {
        blocks_.push_back({});
        for (const Statement s : function.walk()) read(s);
        for (std::size_t i = 0; i < blocks_.size(); ++i) connect(i);
    }
    [[nodiscard]] const std::vector<Block>& blocks() const { return blocks_; }

  private:
    void read(Statement s) {
        if (s.kind() == StatementKind::label) {
            begin_block();
            labels_.emplace(s.name(), blocks_.size() - 1);
        } else if (const auto instruction = s.instruction()) {
            Block& block = blocks_.back();
            if (!block.span.known()) block.span.begin = s.span().begin;
            block.span.end = s.span().end;
            end_block(block, *instruction);
        } else if (s.kind() == StatementKind::directive) {
            read_table(s);
        }
    }

    void begin_block() {
        const Block& last = blocks_.back();
        if (last.span.known() || !last.targets.empty()) blocks_.push_back({});
    }

    void end_block(Block& block, const Instruction& i) {
        const bool branches = i.opcode == "bra" || i.opcode == "brx";
        if (!branches && i.opcode != "ret" && i.opcode != "exit" && i.opcode != "trap") return;
        if (branches) block.targets.push_back(i.opcode == "bra" ? i.operands[0].text() : std::string_view());
        block.falls_through = i.guard.has_value();
        blocks_.push_back({});
    }

    void read_table(Statement s) {
        const std::vector<Token> tokens = s.tokens();
        if (tokens.empty() || tokens.front().text != ".branchtargets") return;
        for (const Token& t : tokens)
            if (t.kind == TokenKind::identifier) tables_.push_back(t.text);
    }

    // Blocks may have labels of one name, each in its scope: a branch counts as one to all of them.
    void connect(std::size_t at) {
        Block& block = blocks_[at];
        const auto add = [&](std::string_view label) {
            const auto [first, last] = labels_.equal_range(label);
            for (auto i = first; i != last; ++i) block.successors.push_back(i->second);
        };
        for (const std::string_view target : block.targets) {
            if (!target.empty())
                add(target);
            else
                std::ranges::for_each(tables_, add);
        }
        if (block.falls_through && at + 1 < blocks_.size()) block.successors.push_back(at + 1);
    }

    std::vector<Block> blocks_;
    std::unordered_multimap<std::string_view, std::size_t> labels_;
    std::vector<std::string_view> tables_;
};

// The strongly connected components of a graph; its depth-first search keeps a stack of its own, so that long
// functions need none of the processor's.
class Cycles {
  public:
    explicit Cycles(const std::vector<Block>& blocks) : blocks_(blocks), nodes_(blocks.size()) {
        for (std::size_t i = 0; i < blocks.size(); ++i)
            if (nodes_[i].number == 0) search(i);
    }
    [[nodiscard]] bool has(std::size_t block) const { return nodes_[block].is_in_cycle; }

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
            if (node.next == blocks_[at].successors.size()) {
                path.pop_back();
                if (!path.empty()) lower(nodes_[path.back()], node.lowest);
                if (node.lowest == node.number) close(at);
                continue;
            }
            const std::size_t to = blocks_[at].successors[node.next++];
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

    const std::vector<Block>& blocks_;
    std::vector<Node> nodes_;
    std::vector<std::size_t> open_;
    std::size_t count_ = 0;
};

}  // namespace

std::vector<Span> blocks_in_loops(Statement function) {
    const Graph graph(function);
    const Cycles cycles(graph.blocks());
    std::vector<Span> spans;
    for (std::size_t i = 0; i < graph.blocks().size(); ++i)
        if (cycles.has(i) && graph.blocks()[i].span.known()) spans.push_back(graph.blocks()[i].span);
    return spans;
}

}  // namespace ptxgraft::syntax
