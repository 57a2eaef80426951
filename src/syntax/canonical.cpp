// The canonical text of a tree. The header says what it looks like; here stands how two neighbouring tokens
// are spaced, so that they are read as the same two tokens again.

#include <algorithm>
#include <array>

#include "syntax/module.hpp"

namespace ptxgraft::syntax {
namespace {

using L = Lexeme;

// How a token stands to its neighbours when it is an operator between two operands.
enum class Infix : std::uint8_t { none, tight, loose };

constexpr std::array<Infix, lexeme_count> make_infix_table() {
    std::array<Infix, lexeme_count> t{};
    for (L l : {L::plus, L::minus, L::bar}) t[static_cast<std::size_t>(l)] = Infix::tight;
    for (L l : {L::star, L::slash, L::percent, L::ampersand, L::caret, L::question, L::colon, L::equal,
                L::less, L::greater, L::two_char_operator})
        t[static_cast<std::size_t>(l)] = Infix::loose;
    return t;
}
constexpr std::array<Infix, lexeme_count> infix_table = make_infix_table();

bool is_open(L k) { return k == L::open_paren || k == L::open_bracket || k == L::open_brace; }
bool is_close(L k) { return k == L::close_paren || k == L::close_bracket || k == L::close_brace; }
bool is_value(L k) { return k == L::identifier || k == L::integer || k == L::floating || k == L::string; }

constexpr std::size_t most_tabs = 32;  // text must not grow with the square of the nesting

// What the last token was to the next one.
enum class Last : std::uint8_t {
    start,   // nothing is before: no space
    word,    // a word in front of operands (`.reg`, an opcode): a space, and an operator is a prefix
    value,   // the end of an operand: an operator is infix, a bracket or suffix belongs to it
    glue,    // the next token follows directly
    prefix,  // `-` or `+`: the next token follows directly, but not the same sign again
    loose,   // a space follows, and an operator is a prefix
};

class Writer {
  public:
    Writer(const ModuleData& data, std::string& out) : data_(data), out_(out) {}

    // The nodes from `first` up to `behind_last` in print order.
    void write(NodeIndex first, NodeIndex behind_last) {
        for (NodeIndex i = first; i != behind_last; i = data_.in_print_order_after(i))
            node(data_.nodes[i], i);
    }

  private:
    void node(const Node& n, NodeIndex index) {
        switch (n.kind) {
            case StatementKind::end: return close(n);
            case StatementKind::label: return label(n);
            case StatementKind::instruction: return instruction(n);
            case StatementKind::block:
                line("{");
                ++depth_;
                return;
            case StatementKind::function: return function(n, index);
            case StatementKind::directive:
                if (text(n.first_token) == ".section") return section(n);
                break;
            case StatementKind::error:  // as it stands
                return line(data_.text.at(data_.tokens[n.first_token].begin, data_.end_of(n)));
            default: break;
        }
        indent(depth_);
        tokens(n.first_token, n.first_token + n.token_count, Last::start, n.kind);
        out_ += '\n';
    }

    // The `}` of a body, also one that is missing in a text with errors; the module's own end is trivia.
    void close(const Node& n) {
        if (n.parent == root_node) return;
        --depth_;
        line("}");
    }

    void label(const Node& n) {
        indent(depth_ == 0 ? 0 : depth_ - 1);
        out_.append(text(n.first_token)).append(":\n");
    }

    void function(const Node& n, NodeIndex index) {
        const bool has_body = data_.has_body(index);
        indent(depth_);
        tokens(n.first_token, n.first_token + n.token_count - has_body, Last::start, n.kind);
        out_ += '\n';
        if (!has_body) return;
        line("{");
        ++depth_;
    }

    void instruction(const Node& n) {
        indent(depth_);
        std::uint32_t i = n.first_token;
        if (kind(i) == L::at) {
            for (++i, out_ += '@'; kind(i) == L::exclaim; ++i) out_ += '!';
            out_.append(text(i++)).append(" ");
        }
        out_.append(text(i++));
        for (; kind(i) == L::directive; ++i) out_.append(text(i));
        tokens(i, n.first_token + n.token_count, Last::word, n.kind);
        out_ += '\n';
    }

    // One label or directive of the section a line.
    void section(const Node& n) {
        const std::uint32_t last = n.first_token + n.token_count - 1;
        std::uint32_t i = n.first_token;
        while (kind(i) != L::open_brace) ++i;
        indent(depth_);
        tokens(n.first_token, i, Last::start, n.kind);
        out_ += '\n';
        line("{");
        for (++i; i < last;) {
            const std::uint32_t behind = item_end(i, last);
            const bool is_label = kind(behind - 1) == L::colon;
            indent(is_label ? depth_ : depth_ + 1);
            tokens(i, behind, is_label ? Last::glue : Last::start, n.kind);
            out_ += '\n';
            i = behind;
        }
        line("}");
    }

    // The end of a section's `label:` or `.b8 1, a+2` that begins at `i`: an item ends where a value follows
    // a value without an operator or comma.
    [[nodiscard]] std::uint32_t item_end(std::uint32_t i, std::uint32_t last) const {
        if (kind(i) == L::identifier) return i + 2;
        std::size_t depth = 0;
        bool behind_value = false;
        for (++i; i < last; ++i) {
            const L k = kind(i);
            const bool value = is_value(k) || k == L::directive;
            if (depth == 0 && value && behind_value && !is_glued(i)) return i;
            depth += is_open(k);
            depth -= is_close(k);
            behind_value = value || is_close(k);
        }
        return last;
    }

    // --- the tokens [i, end) of one statement or of a part of it
    void tokens(std::uint32_t i, std::uint32_t end, Last last, StatementKind of) {
        last_ = last;
        statement_ = of;
        brackets_ = 0;
        in_initialiser_ = false;
        for (; i < end; ++i) token(i);
    }

    void token(std::uint32_t i) {
        const L k = kind(i);
        if (k == L::comma || k == L::semicolon) {
            put(i, true, Last::loose);
            if (brackets_ == 0) in_initialiser_ = false;
        } else if (is_close(k)) {
            --brackets_;
            // The cast `(.s64)` stands directly before its operand.
            put(i, true, is_cast(i) ? Last::glue : Last::value);
        } else if (is_open(k)) {
            put(i, opens_directly(i), Last::glue);
            ++brackets_;
        } else if (is_value(k)) {
            put(i, false, Last::value);
        } else if (k == L::directive) {
            word(i);
        } else {
            sign(i, k);
        }
    }

    // A directive is a word of its own, a suffix (`%v.x`, `[a].unified`) or, in a section, a value.
    void word(std::uint32_t i) {
        const bool suffix = is_suffix(i);
        const bool value = statement_ == StatementKind::directive && last_ != Last::start;
        put(i, suffix, suffix || value ? Last::value : Last::word);
    }

    void sign(std::uint32_t i, L k) {
        if (statement_ == StatementKind::variable && !in_initialiser_ && k != L::equal)  // `%r<4>`
            return put(i, true, k == L::less ? Last::glue : Last::value);
        in_initialiser_ |= k == L::equal;
        const Infix infix = last_ == Last::value ? infix_table[static_cast<std::size_t>(k)] : Infix::none;
        put(i, infix == Infix::tight || (k == L::colon && statement_ == StatementKind::directive),
            infix == Infix::loose ? Last::loose : Last::prefix);
    }

    // `tight`: without a space where both ways are possible.
    void put(std::uint32_t i, bool tight, Last next) {
        const bool never = last_ == Last::start || last_ == Last::glue;
        const bool sign_again = last_ == Last::prefix && kind(i) == kind(i - 1);  // `- -4`, not `--4`
        if (last_ == Last::loose || sign_again || (!never && last_ != Last::prefix && !tight)) out_ += ' ';
        out_.append(text(i));
        last_ = next;
    }

    // `f(`, `a[2]`, `.const[2]`, `.attribute(`, `0xff(`
    [[nodiscard]] bool opens_directly(std::uint32_t i) const {
        if (last_ == Last::value) return kind(i - 1) != L::close_paren;
        if (last_ != Last::word || statement_ == StatementKind::instruction) return false;
        return brackets_ != 0 || text(i - 1) == ".const" || text(i - 1) == ".attribute";
    }

    [[nodiscard]] bool is_suffix(std::uint32_t i) const {
        if (last_ != Last::value) return false;
        return statement_ == StatementKind::instruction || in_initialiser_ || is_glued(i);
    }
    // A directive of a section that belongs to the name before it, as the parser sees it.
    [[nodiscard]] bool is_glued(std::uint32_t i) const {
        if (kind(i) != L::directive || kind(i - 1) != L::identifier ||
            data_.tokens[i].begin != data_.tokens[i - 1].end())
            return false;
        return i < 2 || kind(i - 2) != L::minus;  // of `a-b` the second takes none
    }
    [[nodiscard]] bool is_cast(std::uint32_t close) const {
        return (statement_ == StatementKind::instruction || in_initialiser_) &&
               kind(close - 1) == L::directive && kind(close - 2) == L::open_paren;
    }

    void line(std::string_view text) {
        indent(depth_);
        out_.append(text).append("\n");
    }
    void indent(std::size_t depth) { out_.append(std::min(depth, most_tabs), '\t'); }
    [[nodiscard]] L kind(std::uint32_t i) const { return data_.tokens[i].kind(); }
    [[nodiscard]] std::string_view text(std::uint32_t i) const { return data_.text_of(data_.tokens[i]); }

    const ModuleData& data_;
    std::string& out_;
    std::size_t depth_ = 0;
    Last last_ = Last::start;
    StatementKind statement_ = StatementKind::end;
    std::size_t brackets_ = 0;
    bool in_initialiser_ = false;
};

}  // namespace

std::string canonical(const Module& module) {
    const ModuleData& data = *module.data_;
    std::string out;
    out.reserve(data.text.source().size());
    Writer(data, out).write(data.nodes[root_node].first_child, null_node);
    return out;
}

std::string canonical(Statement statement) {
    std::string out;
    const Node* node = statement.node();
    if (node == nullptr || node->kind == StatementKind::end) return out;
    const ModuleData& data = *statement.module_;
    const NodeIndex last =
        data.has_body(statement.node_) ? data.last_child(statement.node_) : statement.node_;
    Writer(data, out).write(statement.node_, data.in_print_order_after(last));
    return out;
}

}  // namespace ptxgraft::syntax
