// The view of an instruction: guard, opcode, modifiers, operands, read from the tokens of its statement.

#include <algorithm>
#include <limits>

#include "syntax/constant.hpp"
#include "syntax/module.hpp"

namespace ptxgraft::syntax {
namespace {

using L = Lexeme;

bool opens(L kind) { return kind == L::open_brace || kind == L::open_paren || kind == L::open_bracket; }
bool closes(L kind) { return kind == L::close_brace || kind == L::close_paren || kind == L::close_bracket; }

// Tokens [first, last) of one instruction.
struct Range {
    std::uint32_t first;
    std::uint32_t last;
    [[nodiscard]] bool empty() const { return first == last; }
};

}  // namespace

class InstructionReader {
  public:
    InstructionReader(const ModuleData& data, const Node& node)
        : data_(data), at_(node.first_token), last_(node.first_token + node.token_count - 1) {}

    Instruction read() {
        Instruction out;
        out.span = span({at_, last_ + 1});
        read_guard(out);
        out.opcode = text(at_);
        const std::uint32_t opcode = at_++;
        while (kind(at_) == L::directive) {
            const std::uint32_t first = at_++;
            if (kind(at_) == L::open_bracket && is_bank(data_, first)) at_ += bank_tokens;
            out.modifiers.push_back(text(Range{first, at_}));
        }
        out.name = data_.text.at(data_.tokens[opcode].begin, data_.tokens[at_ - 1].end());
        // PTX ISA 9.7.12.5: only call has parenthesised lists; elsewhere parentheses are constant
        // expressions.
        is_call_ = out.opcode == "call";
        if (at_ != last_) split({at_, last_}, out.operands);
        return out;
    }

  private:
    [[nodiscard]] L kind(std::uint32_t i) const { return data_.tokens[i].kind(); }
    [[nodiscard]] std::string_view text(std::uint32_t i) const { return data_.text_of(data_.tokens[i]); }
    [[nodiscard]] std::string_view text(Range r) const {
        return data_.text.at(data_.tokens[r.first].begin, data_.tokens[r.last - 1].end());
    }
    [[nodiscard]] Span span(Range r) const {
        const std::uint32_t begin = data_.tokens[r.first].begin;
        return data_.text.is_source(begin) ? Span{begin, data_.tokens[r.last - 1].end()} : Span{};
    }

    void read_guard(Instruction& out) {
        if (kind(at_) != L::at) return;
        const bool negated = kind(++at_) == L::exclaim;
        at_ += negated;
        out.guard = Instruction::Guard{negated, text(at_++)};
    }

    // The operands between the commas of `r`.
    void split(Range r, std::vector<Operand>& out) {
        separate(r, L::comma, [&](Range part) { out.push_back(operand(part)); });
    }

    template <class Visit> void separate(Range r, L separator, Visit visit) {
        std::size_t depth = 0;
        std::uint32_t first = r.first;
        for (std::uint32_t i = r.first; i != r.last; ++i) {
            depth += opens(kind(i));
            depth -= closes(kind(i));
            if (depth != 0 || kind(i) != separator) continue;
            visit(Range{first, i});
            first = i + 1;
        }
        visit(Range{first, r.last});
    }

    // Recurses once per nesting of brackets, which the parser bounds.
    Operand operand(Range r) {
        Operand out;
        out.text_ = text(r);
        out.span_ = span(r);
        out.kind_ = operand_kind(r);
        switch (out.kind_) {
            case OperandKind::pair:
                separate(r, L::bar, [&](Range part) { out.children_.push_back(operand(part)); });
                break;
            case OperandKind::negation: out.children_.push_back(operand({r.first + 1, r.last})); break;
            case OperandKind::vector:
            case OperandKind::list: inside(r, out); break;
            case OperandKind::address:
                inside(r, out);
                out.base_ = base_of(out.children_.front());
                out.constant_ = offset_of(out.children_.front());
                break;
            case OperandKind::sum:
                out.base_ = text({r.first, name_end(r)});
                out.constant_ = evaluate(data_, name_end(r), r.last);
                break;
            case OperandKind::element:
                out.base_ = text({r.first, name_end(r)});
                out.children_.push_back(operand({name_end(r) + 1, closing(name_end(r))}));
                break;
            case OperandKind::immediate: out.constant_ = evaluate(data_, r.first, r.last); break;
            default: break;
        }
        return out;
    }

    void inside(Range r, Operand& out) {
        const Range between{r.first + 1, closing(r.first)};
        ++depth_;
        if (!between.empty()) split(between, out.children_);
        --depth_;
    }

    static std::string_view base_of(const Operand& part) {
        if (part.kind_ == OperandKind::sum) return part.base_;
        return part.kind_ == OperandKind::identifier ? part.text_ : std::string_view();
    }
    static std::optional<Constant> offset_of(const Operand& part) {
        const bool is_written = part.kind_ == OperandKind::sum || part.kind_ == OperandKind::immediate;
        return is_written ? part.constant_ : Constant{};
    }
    OperandKind operand_kind(Range r) const {
        const L first = kind(r.first);
        if (is_pair(r)) return OperandKind::pair;
        if (first == L::open_brace) return OperandKind::vector;
        if (first == L::open_bracket) return OperandKind::address;
        if (first == L::open_paren && is_call_ && depth_ == 0) return OperandKind::list;
        if ((first == L::exclaim || first == L::minus) && is_name({r.first + 1, r.last}))
            return OperandKind::negation;
        if (first != L::identifier || text(r.first) == "WARP_SZ") return OperandKind::immediate;
        const std::uint32_t behind = name_end(r);
        if (behind == r.last) return text(r) == "_" ? OperandKind::sink : OperandKind::identifier;
        return kind(behind) == L::open_bracket ? OperandKind::element : OperandKind::sum;
    }

    // `p|q`, `{…}|p`: as against `1|2`, a constant expression
    bool is_pair(Range r) const {
        std::size_t depth = 0, bars = 0;
        for (std::uint32_t i = r.first; i != r.last; ++i) {
            const L k = kind(i);
            depth += opens(k);
            depth -= closes(k);
            if (depth != 0) continue;
            bars += k == L::bar;
            if (k == L::bar || k == L::identifier || k == L::directive || closes(k)) continue;
            return false;
        }
        return bars != 0 && kind(r.first) != L::open_paren;
    }

    [[nodiscard]] bool is_name(Range r) const {
        return kind(r.first) == L::identifier && text(r.first) != "WARP_SZ" && name_end(r) == r.last;
    }

    // `%tid.x`: the identifier and what is glued to it
    [[nodiscard]] std::uint32_t name_end(Range r) const {
        std::uint32_t i = r.first + 1;
        while (i != r.last && kind(i) == L::directive) ++i;
        return i;
    }

    [[nodiscard]] std::uint32_t closing(std::uint32_t open) const {
        std::size_t depth = 0;
        for (std::uint32_t i = open;; ++i) {
            depth += opens(kind(i));
            depth -= closes(kind(i));
            if (depth == 0) return i;
        }
    }

    const ModuleData& data_;
    std::uint32_t at_;
    std::uint32_t last_;  // the semicolon
    bool is_call_ = false;
    std::size_t depth_ = 0;
};

std::optional<Instruction> Statement::instruction() const {
    const Node* n = node();
    if (n == nullptr || n->kind != StatementKind::instruction) return std::nullopt;
    return InstructionReader(*module_, *n).read();
}

bool Instruction::has(std::string_view modifier) const {
    return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

std::optional<Constant> Operand::constant() const {
    return kind_ == OperandKind::immediate ? constant_ : std::nullopt;
}

std::optional<std::int64_t> Operand::offset() const {
    const bool has_offset = kind_ == OperandKind::address || kind_ == OperandKind::sum;
    if (!has_offset || !constant_ || !constant_->is_integer()) return std::nullopt;
    return constant_->as_signed();
}

}  // namespace ptxgraft::syntax
