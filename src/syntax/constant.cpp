#include "syntax/constant.hpp"

namespace ptxgraft::syntax {
namespace {

using U = std::uint64_t;
using S = std::int64_t;

// A binary operator: how tightly it binds and what it does. PTX ISA 4.5.5: the operators and precedences of
// C; operands are signed unless marked U, and ptxas works on 64 bits.
struct Binary {
    std::string_view text;
    int precedence;
    std::optional<U> (*apply)(U, U);
};

std::optional<U> divide(U a, U b) {
    if (b == 0 || (static_cast<S>(b) == -1 && a == U{1} << 63)) return std::nullopt;
    return static_cast<U>(static_cast<S>(a) / static_cast<S>(b));
}
std::optional<U> remainder(U a, U b) {
    if (b == 0 || static_cast<S>(b) == -1) return b == 0 ? std::nullopt : std::optional<U>(0);
    return static_cast<U>(static_cast<S>(a) % static_cast<S>(b));
}

constexpr Binary binaries[] = {
    {"*", 10, [](U a, U b) -> std::optional<U> { return a * b; }},
    {"/", 10, divide},
    {"%", 10, remainder},
    {"+", 9, [](U a, U b) -> std::optional<U> { return a + b; }},
    {"-", 9, [](U a, U b) -> std::optional<U> { return a - b; }},
    {"<<", 8, [](U a, U b) -> std::optional<U> { return b < 64 ? a << b : 0; }},
    {">>", 8,
     [](U a, U b) -> std::optional<U> { return static_cast<U>(static_cast<S>(a) >> (b < 63 ? b : 63)); }},
    {"<", 7, [](U a, U b) -> std::optional<U> { return static_cast<S>(a) < static_cast<S>(b); }},
    {">", 7, [](U a, U b) -> std::optional<U> { return static_cast<S>(a) > static_cast<S>(b); }},
    {"<=", 7, [](U a, U b) -> std::optional<U> { return static_cast<S>(a) <= static_cast<S>(b); }},
    {">=", 7, [](U a, U b) -> std::optional<U> { return static_cast<S>(a) >= static_cast<S>(b); }},
    {"==", 6, [](U a, U b) -> std::optional<U> { return a == b; }},
    {"!=", 6, [](U a, U b) -> std::optional<U> { return a != b; }},
    {"&", 5, [](U a, U b) -> std::optional<U> { return a & b; }},
    {"^", 4, [](U a, U b) -> std::optional<U> { return a ^ b; }},
    {"|", 3, [](U a, U b) -> std::optional<U> { return a | b; }},
    {"&&", 2, [](U a, U b) -> std::optional<U> { return a != 0 && b != 0; }},
    {"||", 1, [](U a, U b) -> std::optional<U> { return a != 0 || b != 0; }},
};

const Binary* binary(std::string_view text) {
    for (const Binary& b : binaries)
        if (b.text == text) return &b;
    return nullptr;
}

// Two stacks, no recursion: parentheses nest as deep as a text wants.
class Evaluator {
  public:
    std::optional<U> run(const ModuleData& data, std::uint32_t first, std::uint32_t last) {
        for (std::uint32_t i = first; i != last; ++i)
            if (!token(data.tokens[i].kind(), data.text_of(data.tokens[i]))) return std::nullopt;
        if (!behind_ || !reduce(0) || operators_.empty() == false) return std::nullopt;
        return values_.back();
    }

  private:
    struct Operator {
        const Binary* binary;  // null for a prefix and an open parenthesis
        char prefix;           // '(' for an open parenthesis
    };

    bool token(Lexeme kind, std::string_view text) {
        if (!behind_) return before_value(kind, text);
        if (kind == Lexeme::close_paren) return close();
        const Binary* b = binary(text);
        if (b == nullptr || !reduce(b->precedence)) return false;
        operators_.push_back({b, 0});
        behind_ = false;
        return true;
    }

    bool before_value(Lexeme kind, std::string_view text) {
        switch (kind) {
            case Lexeme::integer: {
                const auto value = parse_integer(text);
                if (!value) return false;
                values_.push_back(*value);
                behind_ = true;
                return true;
            }
            case Lexeme::plus:
            case Lexeme::minus:
            case Lexeme::exclaim:
            case Lexeme::tilde:
            case Lexeme::open_paren:
                operators_.push_back({nullptr, text.front()});
                return true;
            default:
                return false;
        }
    }

    bool close() {
        if (!reduce(0) || operators_.empty()) return false;
        operators_.pop_back();
        return true;
    }

    // Applies the operators that bind at least as tightly, down to an open parenthesis.
    bool reduce(int precedence) {
        while (!operators_.empty() && operators_.back().prefix != '(') {
            const Operator top = operators_.back();
            if (top.binary != nullptr && top.binary->precedence < precedence) break;
            operators_.pop_back();
            if (!apply(top)) return false;
        }
        return true;
    }

    bool apply(Operator op) {
        const U right = values_.back();
        if (op.binary == nullptr) {
            values_.back() = op.prefix == '-'   ? 0 - right
                             : op.prefix == '~' ? ~right
                             : op.prefix == '!' ? right == 0
                                                : right;
            return true;
        }
        values_.pop_back();
        const auto result = op.binary->apply(values_.back(), right);
        if (result) values_.back() = *result;
        return result.has_value();
    }

    std::vector<U> values_;
    std::vector<Operator> operators_;
    bool behind_ = false;
};

}  // namespace

std::optional<std::uint64_t> evaluate(const ModuleData& data, std::uint32_t first, std::uint32_t last) {
    return Evaluator().run(data, first, last);
}

}  // namespace ptxgraft::syntax
