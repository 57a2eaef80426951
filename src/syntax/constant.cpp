// Constant expressions: an operator-precedence parser over two stacks, so that parentheses nest as deep as a
// text wants.

#include "syntax/constant.hpp"
#include "base/try.hpp"

#include <locale.h>

#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace ptxgraft::syntax {
namespace {

using ConstantType = Constant::Type;
using U = std::uint64_t;
using S = std::int64_t;

constexpr U largest_signed = static_cast<U>(std::numeric_limits<S>::max());

Constant integer(U value, bool is_unsigned) {
    return {is_unsigned ? ConstantType::u64 : ConstantType::s64, value};
}
Constant truth(bool value) { return {ConstantType::s64, value ? U{1} : U{0}}; }
Constant floating(double value) { return {ConstantType::f64, std::bit_cast<U>(value)}; }
double as_double(const Constant& c) { return std::bit_cast<double>(c.bits); }
bool is_unsigned(const Constant& c) { return c.type == ConstantType::u64; }

// What an operator makes of two operands of its kind, or which error.
struct Outcome {
    Constant value = {};
    Errc problem = Errc::ok;
};

Outcome divided(const Constant& a, const Constant& b, bool as_unsigned) {
    if (b.bits == 0) return {{}, Errc::constant_division_by_zero};
    if (as_unsigned) return {integer(a.bits / b.bits, true)};
    if (a.as_signed() == std::numeric_limits<S>::min() && b.as_signed() == -1)
        return {{}, Errc::constant_out_of_range};
    return {integer(static_cast<U>(a.as_signed() / b.as_signed()), false)};
}

template <class Compare>
bool compared(const Constant& a, const Constant& b, bool as_unsigned, Compare compare) {
    return as_unsigned ? compare(a.bits, b.bits) : compare(a.as_signed(), b.as_signed());
}

// PTX ISA 4.5.5. `u`: the usual arithmetic conversions make both operands unsigned.
using OfIntegers = Outcome (*)(const Constant& a, const Constant& b, bool u);
using OfDoubles = Outcome (*)(double a, double b);

struct Binary {
    std::string_view text;
    int precedence;
    OfIntegers of_integers;
    OfDoubles of_doubles;  // null: it takes integers only
};

constexpr Binary binaries[] = {
    {"*", 10, [](auto& a, auto& b, bool u) { return Outcome{integer(a.bits * b.bits, u)}; },
     [](double a, double b) { return Outcome{floating(a * b)}; }},
    {"/", 10, divided,
     [](double a, double b) {
         return b == 0 ? Outcome{{}, Errc::constant_division_by_zero} : Outcome{floating(a / b)};
     }},
    {"%", 10,
     [](auto& a, auto& b, bool) {
         return b.bits == 0 ? Outcome{{}, Errc::constant_division_by_zero}
                            : Outcome{integer(a.bits % b.bits, true)};
     },
     nullptr},
    {"+", 9, [](auto& a, auto& b, bool u) { return Outcome{integer(a.bits + b.bits, u)}; },
     [](double a, double b) { return Outcome{floating(a + b)}; }},
    {"-", 9, [](auto& a, auto& b, bool u) { return Outcome{integer(a.bits - b.bits, u)}; },
     [](double a, double b) { return Outcome{floating(a - b)}; }},
    {"<<", 8,
     [](auto& a, auto& b, bool) {
         return Outcome{{a.type, a.bits << (b.bits & 63)}};
     },
     nullptr},
    {">>", 8,
     [](auto& a, auto& b, bool) {
         const auto count = static_cast<int>(b.bits & 63);
         return Outcome{{a.type, is_unsigned(a) ? a.bits >> count : static_cast<U>(a.as_signed() >> count)}};
     },
     nullptr},
    {"<", 7, [](auto& a, auto& b, bool u) { return Outcome{truth(compared(a, b, u, std::less<>()))}; },
     [](double a, double b) { return Outcome{truth(a < b)}; }},
    {">", 7, [](auto& a, auto& b, bool u) { return Outcome{truth(compared(a, b, u, std::greater<>()))}; },
     [](double a, double b) { return Outcome{truth(a > b)}; }},
    {"<=", 7, [](auto& a, auto& b, bool u) { return Outcome{truth(compared(a, b, u, std::less_equal<>()))}; },
     [](double a, double b) { return Outcome{truth(a <= b)}; }},
    {">=", 7,
     [](auto& a, auto& b, bool u) { return Outcome{truth(compared(a, b, u, std::greater_equal<>()))}; },
     [](double a, double b) { return Outcome{truth(a >= b)}; }},
    {"==", 6, [](auto& a, auto& b, bool) { return Outcome{truth(a.bits == b.bits)}; },
     [](double a, double b) { return Outcome{truth(a == b)}; }},
    {"!=", 6, [](auto& a, auto& b, bool) { return Outcome{truth(a.bits != b.bits)}; },
     [](double a, double b) { return Outcome{truth(a != b)}; }},
    {"&", 5, [](auto& a, auto& b, bool u) { return Outcome{integer(a.bits & b.bits, u)}; }, nullptr},
    {"^", 4, [](auto& a, auto& b, bool u) { return Outcome{integer(a.bits ^ b.bits, u)}; }, nullptr},
    {"|", 3, [](auto& a, auto& b, bool u) { return Outcome{integer(a.bits | b.bits, u)}; }, nullptr},
    {"&&", 2, [](auto& a, auto& b, bool) { return Outcome{truth(a.bits != 0 && b.bits != 0)}; }, nullptr},
    {"||", 1, [](auto& a, auto& b, bool) { return Outcome{truth(a.bits != 0 || b.bits != 0)}; }, nullptr},
};
constexpr int ternary_precedence = 0;

const Binary* find_binary(std::string_view text) {
    for (const Binary& b : binaries)
        if (b.text == text) return &b;
    return nullptr;
}

Outcome apply(const Binary& op, const Constant& a, const Constant& b) {
    if (a.type == ConstantType::f32 || b.type == ConstantType::f32)
        return {{}, Errc::constant_operand_invalid};
    if (a.is_integer() != b.is_integer()) return {{}, Errc::constant_operands_differ};
    if (a.is_integer()) return op.of_integers(a, b, is_unsigned(a) || is_unsigned(b));
    return op.of_doubles != nullptr ? op.of_doubles(as_double(a), as_double(b))
                                    : Outcome{{}, Errc::constant_operand_invalid};
}

Outcome apply(char prefix, const Constant& a) {
    if (a.type == ConstantType::f64 && (prefix == '-' || prefix == '+'))
        return {prefix == '-' ? floating(-as_double(a)) : a};
    if (!a.is_integer()) return {{}, Errc::constant_operand_invalid};
    switch (prefix) {
        case '-': return {{a.type, 0 - a.bits}};
        case '~': return {integer(~a.bits, true)};
        case '!': return {truth(a.bits == 0)};
        case 'u': return {integer(a.bits, true)};
        case 's': return {integer(a.bits, false)};
        default: return {a};
    }
}

// As ptxas has it, what strtod says is out of range; the locale has no part in it.
std::optional<double> decimal(const std::string& text) {
    static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
    errno = 0;
    const double value = strtod_l(text.c_str(), nullptr, c_locale);
    return errno == ERANGE ? std::nullopt : std::optional(value);
}

class Evaluator {
  public:
    /// Takes the next token; false when the expression has no value.
    bool token(TokenKind kind, std::string_view text) {
        const bool is_fine = is_in_cast_  ? cast_end(text)
                             : has_value_ ? behind_value(text)
                                          : before_value(kind, text);
        ++place_;
        return is_fine;
    }
    bool finish() {
        if (!has_value_ || !reduce(ternary_precedence))
            return problem_ == Errc::ok ? fails(Errc::constant_malformed, place_) : false;
        return operators_.empty() ? true : fails(Errc::constant_malformed, place_);
    }
    [[nodiscard]] const Constant& value() const { return values_.back(); }
    [[nodiscard]] Errc problem() const { return problem_; }
    /// Which token has the problem; of an end that comes too soon, the number of tokens.
    [[nodiscard]] std::size_t place() const { return problem_place_; }

  private:
    // A binary operator; a prefix (`s` and `u` are the casts); an open parenthesis; the two halves of `?:`,
    // of which the first is open as a parenthesis is.
    struct Operator {
        const Binary* binary;
        char prefix;
        std::size_t place;
        [[nodiscard]] bool is_open() const { return binary == nullptr && (prefix == '(' || prefix == '?'); }
        [[nodiscard]] int precedence() const {
            constexpr int tightest = 11;
            return binary != nullptr ? binary->precedence : prefix == ':' ? ternary_precedence : tightest;
        }
    };

    bool fails(Errc problem, std::size_t place) {
        problem_ = problem;
        problem_place_ = place;
        return false;
    }
    bool push(char prefix) {
        operators_.push_back({nullptr, prefix, place_});
        return true;
    }

    bool before_value(TokenKind kind, std::string_view text) {
        constexpr std::string_view prefixes = "+-!~(";
        if (kind == TokenKind::punctuation && text.size() == 1 &&
            prefixes.find(text[0]) != std::string_view::npos)
            return push(text[0]);
        if (kind == TokenKind::directive && !operators_.empty() && operators_.back().prefix == '(')
            return cast_type(text);
        const bool is_name = kind == TokenKind::identifier && text == "WARP_SZ";
        if (kind != TokenKind::integer && kind != TokenKind::floating && !is_name)
            return fails(Errc::constant_malformed, place_);
        const auto value = literal_constant(kind, text);
        if (!value) return fails(Errc::constant_out_of_range, place_);
        values_.push_back(*value);
        return has_value_ = true;
    }

    // `(.s64)`, `(.u64)`: the parenthesis becomes the cast.
    bool cast_type(std::string_view text) {
        if (text != ".s64" && text != ".u64") return fails(Errc::constant_malformed, place_);
        operators_.back().prefix = text[1];
        return is_in_cast_ = true;
    }
    bool cast_end(std::string_view text) {
        is_in_cast_ = false;
        return text == ")" || fails(Errc::constant_malformed, place_);
    }

    bool behind_value(std::string_view text) {
        if (text == ")") return close('(');
        has_value_ = false;
        if (text == "?") return reduce(ternary_precedence + 1) && push('?');
        if (text == ":") return close('?') && push(':');
        const Binary* const b = find_binary(text);
        if (b == nullptr) return fails(Errc::constant_malformed, place_);
        if (!reduce(b->precedence)) return false;
        operators_.push_back({b, 0, place_});
        return true;
    }

    bool close(char open) {
        if (!reduce(ternary_precedence)) return false;
        if (operators_.empty() || operators_.back().prefix != open)
            return fails(Errc::constant_malformed, place_);
        operators_.pop_back();
        return true;
    }

    // Applies the operators that bind at least as tightly, down to one that is open.
    bool reduce(int precedence) {
        while (!operators_.empty() && !operators_.back().is_open() &&
               operators_.back().precedence() >= precedence) {
            const Operator top = operators_.back();
            operators_.pop_back();
            if (!apply_top(top)) return false;
        }
        return true;
    }

    bool apply_top(const Operator& op) {
        const Constant right = values_.back();
        if (op.binary == nullptr && op.prefix != ':') return replace_top(op, apply(op.prefix, right));
        values_.pop_back();
        const Constant left = values_.back();
        if (op.binary != nullptr) return replace_top(op, apply(*op.binary, left, right));
        values_.pop_back();
        const Constant condition = values_.back();
        const bool are_integers = condition.is_integer() && left.is_integer() && right.is_integer();
        return replace_top(op, are_integers ? Outcome{condition.bits != 0 ? left : right}
                                            : Outcome{{}, Errc::constant_operand_invalid});
    }

    bool replace_top(const Operator& op, const Outcome& outcome) {
        if (outcome.problem != Errc::ok) return fails(outcome.problem, op.place);
        values_.back() = outcome.value;
        return true;
    }

    std::vector<Constant> values_;
    std::vector<Operator> operators_;
    bool has_value_ = false;  // what comes next stands behind a value
    bool is_in_cast_ = false;
    std::size_t place_ = 0;
    Errc problem_ = Errc::ok;
    std::size_t problem_place_ = 0;
};

}  // namespace

std::optional<Constant> literal_constant(TokenKind kind, std::string_view text) {
    if (kind == TokenKind::floating) {
        const auto bits = parse_float(text);
        if (bits && !bits->is_double) return Constant{ConstantType::f32, bits->bits};
        if (bits && std::fpclassify(std::bit_cast<double>(bits->bits)) == FP_NORMAL)
            return Constant{ConstantType::f64, bits->bits};
        if (text.starts_with("0d") || text.starts_with("0D"))
            return bits ? std::optional(Constant{ConstantType::f64, bits->bits}) : std::nullopt;
        const auto value = decimal(std::string(text));
        return value ? std::optional(floating(*value)) : std::nullopt;
    }
    const auto value = integer_value(text);
    if (!value) return std::nullopt;
    return integer(*value, text.back() == 'U' || *value > largest_signed);
}

std::optional<std::uint64_t> integer_value(std::string_view token) {
    return token == "WARP_SZ" ? 32 : parse_integer(token);
}

std::optional<Constant> evaluate(const ModuleData& data, std::uint32_t first, std::uint32_t last) {
    Evaluator evaluator;
    for (std::uint32_t i = first; i != last; ++i) {
        const Token token = public_token(data.tokens[i], data.text_of(data.tokens[i]));
        if (!evaluator.token(token.kind, token.text)) return std::nullopt;
    }
    return evaluator.finish() ? std::optional(evaluator.value()) : std::nullopt;
}

Expected<Constant> evaluate(std::span<const Token> tokens) {
    Evaluator evaluator;
    bool is_fine = true;
    for (std::size_t i = 0; i != tokens.size() && is_fine; ++i)
        is_fine = evaluator.token(tokens[i].kind, tokens[i].text);
    if (is_fine && evaluator.finish()) return evaluator.value();
    if (tokens.empty()) return fail(evaluator.problem(), {}, "nothing");
    if (evaluator.place() >= tokens.size()) {
        const std::uint32_t end =
            tokens.back().offset + static_cast<std::uint32_t>(tokens.back().text.size());
        return fail(evaluator.problem(), {end, end}, "its end");
    }
    const Token& at = tokens[evaluator.place()];
    return fail(evaluator.problem(), {at.offset, at.offset + static_cast<std::uint32_t>(at.text.size())},
                std::string(at.text));
}

Expected<Constant> evaluate_constant(std::string_view text) {
    const auto tokens = TRY(tokenize(text));
    return evaluate(tokens);
}

std::optional<std::uint64_t> convert(const Constant& constant, ConstantUse use, std::uint32_t width) {
    const U mask = width >= 64 ? ~U{0} : (U{1} << width) - 1;
    if (constant.is_integer()) {
        if (use == ConstantUse::predicate) return constant.bits != 0;
        return use == ConstantUse::floating ? std::nullopt : std::optional(constant.bits & mask);
    }
    if (use == ConstantUse::predicate || use == ConstantUse::integer) return std::nullopt;
    const bool is_single = constant.type == ConstantType::f32;
    if (use == ConstantUse::bits && width != (is_single ? 32 : 64)) return std::nullopt;
    if (use == ConstantUse::floating && width < 32) return std::nullopt;
    // ptxas writes the 32 bits of `0f…` to a wider place as they are, and the lower bits of either to a
    // narrower one.
    if (!is_single && width == 32)
        return std::bit_cast<std::uint32_t>(static_cast<float>(as_double(constant)));
    return constant.bits & mask;
}

}  // namespace ptxgraft::syntax
