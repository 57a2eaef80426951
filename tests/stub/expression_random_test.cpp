// Random expressions of all types against an interpreter written here: the same bits from it, from evaluate,
// and from the PTX on the emulator.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <utility>

#include "support/expression_run.hpp"

namespace ptxgraft {
namespace {

using test::Values;
using Word = std::uint64_t;

// ---- the values of types

constexpr Type all_types[] = {Type::pred, Type::u16, Type::s16,  Type::u32, Type::s32, Type::u64,
                              Type::s64,  Type::f16, Type::bf16, Type::f32, Type::f64};
constexpr std::size_t kinds = std::size(all_types);

bool is_float(Type t) { return t == Type::f16 || t == Type::bf16 || t == Type::f32 || t == Type::f64; }
bool is_signed(Type t) { return t == Type::s16 || t == Type::s32 || t == Type::s64; }
bool is_integer(Type t) { return !is_float(t) && t != Type::pred; }
Word mask(Type t) { return bits(t) == 64 ? ~Word{0} : (Word{1} << bits(t)) - 1; }
std::int64_t signed_of(Type t, Word w) {
    const int shift = 64 - static_cast<int>(bits(t));
    return static_cast<std::int64_t>(w << shift) >> shift;
}

double double_of(Type t, Word w) {
    if (t == Type::f64) return std::bit_cast<double>(w);
    if (t == Type::f32) return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(w)));
    if (t == Type::bf16)
        return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(w << 16)));
    const int exponent = static_cast<int>(w >> 10 & 31);
    const double fraction = static_cast<double>(w & 1023);
    const double size = exponent == 31  ? (fraction == 0 ? std::numeric_limits<double>::infinity()
                                                         : std::numeric_limits<double>::quiet_NaN())
                        : exponent == 0 ? std::ldexp(fraction, -24)
                                        : std::ldexp(1024 + fraction, exponent - 25);
    return (w & 0x8000) != 0 ? -size : size;
}

// To nearest even. `value` is exact, or rounded to odd.
Word round_to(Type t, double value) {
    if (t == Type::f64) return std::bit_cast<Word>(value);
    if (t == Type::f32)
        return std::isnan(value) ? 0x7FFFFFFF : std::bit_cast<std::uint32_t>(static_cast<float>(value));
    if (std::isnan(value)) return 0x7FFF;
    const Word sign = std::signbit(value) ? 0x8000 : 0;
    const int precision = t == Type::f16 ? 11 : 8, lowest = t == Type::f16 ? -14 : -126;
    const Word infinity = t == Type::f16 ? 0x7C00 : 0x7F80;
    if (value == 0) return sign;
    if (std::isinf(value)) return sign | infinity;
    const int exponent = std::max(std::ilogb(value), lowest);
    const auto units =
        static_cast<Word>(std::nearbyint(std::ldexp(std::fabs(value), precision - 1 - exponent)));
    return sign | std::min(infinity, (static_cast<Word>(exponent - lowest) << (precision - 1)) + units);
}

// The neighbour with an odd last bit where the exact value lies beside `value` in the direction of `error`.
double to_odd(double value, double error) {
    if (error == 0 || !std::isfinite(value) || !std::isfinite(error) || (std::bit_cast<Word>(value) & 1) != 0)
        return value;
    return std::nextafter(value, error > 0 ? HUGE_VAL : -HUGE_VAL);
}
double add_odd(double a, double b) {
    const double sum = a + b, part = sum - a;
    return to_odd(sum, (a - (sum - part)) + (b - part));
}
double div_odd(double a, double b) {
    const double q = a / b, rest = std::fma(-q, b, a);
    return std::isfinite(q) && q != 0 ? to_odd(q, b < 0 ? -rest : rest) : q;
}

// ---- operations on bits

Word canonical_value(Type t, Word w) {
    return std::isnan(double_of(t, w)) ? round_to(t, std::numeric_limits<double>::quiet_NaN()) : w;
}
float f32_of(Word w) { return std::bit_cast<float>(static_cast<std::uint32_t>(w)); }
Word word_of(float v) { return std::isnan(v) ? 0x7FFFFFFF : std::bit_cast<std::uint32_t>(v); }

Word float_binary(char op, Type t, Word a, Word b) {
    const double x = double_of(t, a), y = double_of(t, b);
    if (t == Type::f64)
        return std::bit_cast<Word>(op == '+' ? x + y : op == '-' ? x - y : op == '*' ? x * y : x / y);
    if (t == Type::f32) {
        const float p = f32_of(a), q = f32_of(b);
        return word_of(op == '+' ? p + q : op == '-' ? p - q : op == '*' ? p * q : p / q);
    }
    return round_to(t, op == '+'   ? add_odd(x, y)
                       : op == '-' ? add_odd(x, -y)
                       : op == '*' ? x * y
                                   : div_odd(x, y));
}
Word float_fma(Type t, Word a, Word b, Word c) {
    if (t == Type::f64)
        return std::bit_cast<Word>(std::fma(double_of(t, a), double_of(t, b), double_of(t, c)));
    if (t == Type::f32) return word_of(std::fma(f32_of(a), f32_of(b), f32_of(c)));
    return round_to(t, add_odd(double_of(t, a) * double_of(t, b), double_of(t, c)));
}
Word float_min_max(bool max, Type t, Word a, Word b) {
    const double x = double_of(t, a), y = double_of(t, b);
    if (std::isnan(x)) return canonical_value(t, b);
    if (std::isnan(y)) return canonical_value(t, a);
    if (x == y) return std::signbit(x) == max ? b : a;
    return (x < y) != max ? a : b;
}
Word integer_binary(char op, Type t, Word a, Word b) {
    switch (op) {
        case '+': return (a + b) & mask(t);
        case '-': return (a - b) & mask(t);
        case '*': return (a * b) & mask(t);
        case '&': return a & b;
        case '|': return a | b;
        case '^': return a ^ b;
        case '/':
            return (is_signed(t) ? static_cast<Word>(signed_of(t, a) / signed_of(t, b)) : a / b) & mask(t);
        default:
            return (is_signed(t) ? static_cast<Word>(signed_of(t, a) % signed_of(t, b)) : a % b) & mask(t);
    }
}
Word shifted(bool left, Type t, Word a, Word count) {
    const Word n = std::min<Word>(count, bits(t));
    if (left) return n == 64 ? 0 : (a << n) & mask(t);
    if (is_signed(t)) return static_cast<Word>(signed_of(t, a) >> std::min<Word>(n, 63)) & mask(t);
    return n == 64 ? 0 : a >> n;
}
bool less(Type t, Word a, Word b) {
    if (is_float(t)) return double_of(t, a) < double_of(t, b);
    return is_signed(t) ? signed_of(t, a) < signed_of(t, b) : a < b;
}
bool equal(Type t, Word a, Word b) { return is_float(t) ? double_of(t, a) == double_of(t, b) : a == b; }

Word integer_of(Type to, Type from, Word w) {
    const double value = double_of(from, w);
    const int width = static_cast<int>(bits(to));
    if (std::isnan(value)) return from == Type::f64 || width == 64 ? Word{1} << (width - 1) : 0;
    const double low = is_signed(to) ? -std::ldexp(1, width - 1) : 0,
                 high = std::ldexp(1, is_signed(to) ? width - 1 : width);
    if (value <= low) return is_signed(to) ? Word{1} << (width - 1) : 0;
    if (value >= high) return is_signed(to) ? mask(to) >> 1 : mask(to);
    const double whole = std::trunc(value);
    return (whole < 0 ? static_cast<Word>(static_cast<std::int64_t>(whole)) : static_cast<Word>(whole)) &
           mask(to);
}
Word cast(Type to, Type from, Word w) {
    if (to == from) return w;
    if (to == Type::pred) return !equal(from, w, 0);
    if (from == Type::pred) return is_float(to) ? round_to(to, w != 0 ? 1 : 0) : w;
    if (is_float(from)) return is_float(to) ? round_to(to, double_of(from, w)) : integer_of(to, from, w);
    const std::int64_t value = signed_of(from, w);
    if (is_integer(to)) return (is_signed(from) ? static_cast<Word>(value) : w) & mask(to);
    const long double exact = is_signed(from) ? static_cast<long double>(value) : static_cast<long double>(w);
    if (to == Type::f32) return word_of(static_cast<float>(exact));
    if (to == Type::f64) return std::bit_cast<Word>(static_cast<double>(exact));
    const double nearest = static_cast<double>(exact);
    return round_to(to, to_odd(nearest, static_cast<double>(exact - static_cast<long double>(nearest))));
}

// ---- random expressions, with their values at all points

constexpr std::size_t points = 32;
using Column = std::array<Word, points>;

struct Made {
    std::string text;
    Column values;
};

class Generator {
  public:
    explicit Generator(unsigned seed) : random_(seed) {
        for (const Type t : all_types) {
            for (const char* stem : {"a_", "b_"}) {
                Made operand{stem + std::string(name(t)), {}};
                for (Word& w : operand.values) w = bits_of(t);
                known_.push_back({t, operand});
                signature_ += "in " + std::string(name(t)) + " " + operand.text + ", ";
                columns_.push_back(operand.values);
            }
        }
        for (const Type t : all_types)
            signature_ +=
                "out " + std::string(name(t)) + " o_" + std::string(name(t)) + (t == Type::f64 ? "" : ", ");
    }
    [[nodiscard]] const std::string& signature() const { return signature_; }
    [[nodiscard]] const std::vector<Column>& columns() const { return columns_; }

    /// A text that assigns every output, and what they receive.
    std::string program(std::vector<Column>& results) {
        std::string text;
        const std::size_t operands = known_.size();
        for (int local = 0; local < 3; ++local) {
            const Type t = all_types[pick(kinds)];
            const Made made = expression(t, 2);
            const std::string called = "t" + std::to_string(local);
            text += called + " = " + made.text + (pick(2) == 0 ? "\n" : "; ");
            known_.push_back({t, {called, made.values}});
        }
        for (const Type t : all_types) {
            const Made made = expression(t, 4);
            text += "o_" + std::string(name(t)) + " = " + made.text + "\n";
            results.push_back(made.values);
        }
        known_.resize(operands);
        return text;
    }

  private:
    std::size_t pick(std::size_t n) { return random_() % n; }

    Word bits_of(Type t) {
        if (t == Type::pred) return pick(2);
        const Word any = (Word{random_()} << 32 | random_()) & mask(t);
        if (!is_float(t)) return pick(3) == 0 ? (pick(2) == 0 ? pick(9) : 0 - pick(9)) & mask(t) : any;
        constexpr double specials[] = {0.0,       -0.0, 1,      -1,           0.5,
                                       3,         1e30, -1e-30, 65504,        HUGE_VAL,
                                       -HUGE_VAL, 6e-8, 1e-40,  2147483648.0, -4e9};
        if (pick(3) == 0) return canonical_value(t, round_to(t, specials[pick(std::size(specials))]));
        if (pick(24) == 0) return round_to(t, std::numeric_limits<double>::quiet_NaN());
        return pick(2) == 0 ? canonical_value(t, any)
                            : round_to(t, std::ldexp(static_cast<double>(any % 2001) - 1000,
                                                     static_cast<int>(pick(16)) - 10));
    }

    // A literal with a suffix, or without where what it meets gives the type.
    Made literal(Type t, bool suffix, bool positive) {
        Made made;
        Word w;
        if (t == Type::pred) {
            w = pick(2);
            made.text = w != 0 ? "true" : "false";
        } else if (is_float(t)) {
            constexpr const char* numbers[] = {"0.5", "1.0", "2.25", "1e2", ".75", "3.0", "7"};
            constexpr double numbers_values[] = {0.5, 1, 2.25, 100, 0.75, 3, 7};
            const std::size_t i = pick(std::size(numbers));
            w = round_to(t, numbers_values[i]);
            made.text = numbers[i] + (suffix ? std::string(name(t)) : "");
        } else {
            const std::int64_t value = static_cast<std::int64_t>(pick(200)) -
                                       (is_signed(t) && !positive ? 100 : 0) + (positive ? 1 : 0);
            w = static_cast<Word>(value) & mask(t);
            const bool hex = value > 0 && !suffix && pick(3) == 0;
            made.text = hex ? fmt_hex(value) : std::to_string(value) + (suffix ? std::string(name(t)) : "");
        }
        made.values.fill(w);
        return made;
    }
    static std::string fmt_hex(std::int64_t value) {
        char text[32];
        std::snprintf(text, sizeof text, "0x%llX", static_cast<unsigned long long>(value));
        return text;
    }

    Made leaf(Type t) {
        if (is_open_ && t != Type::pred) return literal(t, false, false);
        std::vector<const Made*> fitting;
        for (const auto& [type, made] : known_)
            if (type == t) fitting.push_back(&made);
        if (pick(5) == 0) return literal(t, true, false);
        return *fitting[pick(fitting.size())];
    }
    template <class F> static Column map(F f) {
        Column values;
        for (std::size_t i = 0; i < points; ++i) values[i] = f(i);
        return values;
    }
    // The second of two operands of a type: now and then one of literals without a type, which takes the
    // first one's.
    Made second(Type t, int depth) {
        return t != Type::pred && !is_open_ && pick(4) == 0 ? open(t) : expression(t, depth);
    }
    Made open(Type t) {
        is_open_ = true;
        Made made = expression(t, static_cast<int>(pick(3)));
        is_open_ = false;
        return made;
    }
    // A part whose type is its own.
    Made closed(Type t, int depth) {
        const bool was_open = std::exchange(is_open_, false);
        Made made = expression(t, depth);
        is_open_ = was_open;
        return made;
    }
    static std::string call(std::string_view function, std::initializer_list<std::string_view> arguments) {
        std::string text = std::string(function) + "(";
        for (const std::string_view a : arguments) text += (text.back() == '(' ? "" : ", ") + std::string(a);
        return text + ")";
    }

    Made expression(Type t, int depth) {
        if (depth == 0 || pick(8) == 0) return leaf(t);
        switch (pick(6)) {
            case 0: return choice(t, depth - 1);
            case 1:
                if (!is_open_) return conversion(t, depth - 1);
                [[fallthrough]];
            default:
                return t == Type::pred ? logic(depth - 1)
                       : is_float(t)   ? real(t, depth - 1)
                                       : integer(t, depth - 1);
        }
    }
    Made choice(Type t, int depth) {
        const Made c = closed(Type::pred, depth), a = expression(t, depth), b = second(t, depth);
        const Column values =
            map([&](std::size_t i) { return c.values[i] != 0 ? a.values[i] : b.values[i]; });
        if (pick(3) == 0) return {call("select", {c.text, a.text, b.text}), values};
        return {"(" + c.text + " ? " + a.text + " : " + b.text + ")", values};
    }
    Made conversion(Type t, int depth) {
        // What a cast is given takes its type, too.
        if (is_float(t) && pick(4) == 0) {
            const Made a = open(t);
            return {call(name(t), {a.text}), a.values};
        }
        const Type from = all_types[pick(kinds)];
        const Made a = expression(from, depth);
        return {call(name(t), {a.text}), map([&](std::size_t i) { return cast(t, from, a.values[i]); })};
    }
    Made logic(int depth) {
        const Type t = all_types[pick(kinds)];
        if (t == Type::pred) {
            const Made a = expression(t, depth), b = expression(t, depth);
            constexpr const char* signs[] = {"&&", "||", "^", "==", "!=", "&", "|"};
            const std::size_t s = pick(std::size(signs));
            return {
                "(" + a.text + " " + signs[s] + " !" + b.text + ")", map([&](std::size_t i) -> Word {
                    const bool x = a.values[i] != 0, y = b.values[i] == 0;
                    return s == 0 || s == 5 ? x && y : s == 1 || s == 6 ? x || y : s == 3 ? x == y : x != y;
                })};
        }
        const Made a = expression(t, depth), b = second(t, depth);
        constexpr const char* signs[] = {"<", "<=", ">", ">=", "==", "!="};
        const std::size_t s = pick(std::size(signs));
        return {
            "(" + a.text + " " + signs[s] + " " + b.text + ")", map([&](std::size_t i) -> Word {
                const bool lt = less(t, a.values[i], b.values[i]), eq = equal(t, a.values[i], b.values[i]),
                           gt = less(t, b.values[i], a.values[i]);
                return s == 0 ? lt : s == 1 ? lt || eq : s == 2 ? gt : s == 3 ? gt || eq : s == 4 ? eq : !eq;
            })};
    }
    Made integer(Type t, int depth) {
        const Made a = expression(t, depth);
        const std::size_t kind = pick(8);
        if (kind == 0) {
            const bool left = pick(2) == 0;
            const Made n = pick(2) == 0 ? literal(Type::u32, pick(2) == 0, true) : closed(Type::u32, depth);
            return {"(" + a.text + (left ? " << " : " >> ") + n.text + ")",
                    map([&](std::size_t i) { return shifted(left, t, a.values[i], n.values[i]); })};
        }
        if (kind == 1) {
            const char op = pick(2) == 0 ? '/' : '%';
            const Made n = literal(t, false, true);
            return {"(" + a.text + " " + op + " " + n.text + ")",
                    map([&](std::size_t i) { return integer_binary(op, t, a.values[i], n.values[i]); })};
        }
        if (kind == 2) {
            const bool max = pick(2) == 0;
            const Made b = second(t, depth);
            return {call(max ? "max" : "min", {a.text, b.text}), map([&](std::size_t i) {
                        return less(t, a.values[i], b.values[i]) == max ? b.values[i] : a.values[i];
                    })};
        }
        if (kind == 3) {
            const bool negate = pick(2) == 0;
            return {(negate ? "-" : "~") + std::string("(") + a.text + ")",
                    map([&](std::size_t i) { return (negate ? 0 - a.values[i] : ~a.values[i]) & mask(t); })};
        }
        if (kind == 4 && t == Type::u32 && !is_open_) return counted(depth);
        const char op = "+-*&|^"[pick(6)];
        const Made b = second(t, depth);
        return {"(" + a.text + " " + op + " " + b.text + ")",
                map([&](std::size_t i) { return integer_binary(op, t, a.values[i], b.values[i]); })};
    }
    Made counted(int depth) {
        constexpr Type types[] = {Type::u32, Type::s32, Type::u64, Type::s64};
        const Type t = types[pick(4)];
        const Made a = expression(t, depth);
        switch (pick(4)) {
            case 0:
                return {call("popc", {a.text}),
                        map([&](std::size_t i) { return static_cast<Word>(std::popcount(a.values[i])); })};
            case 1:
                return {call("clz", {a.text}), map([&](std::size_t i) {
                            return static_cast<Word>(std::countl_zero(a.values[i])) - (64 - bits(t));
                        })};
            case 2:
                return {call("ffs", {a.text}), map([&](std::size_t i) {
                            return a.values[i] == 0 ? 0
                                                    : static_cast<Word>(std::countr_zero(a.values[i])) + 1;
                        })};
            default: {
                const Made b = expression(Type::f32, depth);
                return {call("bits", {b.text}), b.values};
            }
        }
    }
    Made real(Type t, int depth) {
        const Made a = expression(t, depth);
        switch (pick(7)) {
            case 0: {
                const bool max = pick(2) == 0;
                const Made b = second(t, depth);
                return {call(max ? "max" : "min", {a.text, b.text}),
                        map([&](std::size_t i) { return float_min_max(max, t, a.values[i], b.values[i]); })};
            }
            case 1: {
                const Made b = second(t, depth), c = second(t, depth);
                return {call("fma", {a.text, b.text, c.text}), map([&](std::size_t i) {
                            return float_fma(t, a.values[i], b.values[i], c.values[i]);
                        })};
            }
            case 2: return sign_or_whole(t, a);
            case 3: {
                return {call("sqrt", {a.text}), map([&](std::size_t i) {
                            const double x = double_of(t, a.values[i]), root = std::sqrt(x);
                            if (t == Type::f64) return std::bit_cast<Word>(root);
                            return round_to(t, root > 0 && std::isfinite(root)
                                                   ? to_odd(root, std::fma(-root, root, x))
                                                   : root);
                        })};
            }
            default: {
                const char op = "+-*/"[pick(4)];
                const Made b = second(t, depth);
                return {"(" + a.text + " " + op + " " + b.text + ")",
                        map([&](std::size_t i) { return float_binary(op, t, a.values[i], b.values[i]); })};
            }
        }
    }
    Made sign_or_whole(Type t, const Made& a) {
        constexpr const char* functions[] = {"abs", "floor", "ceil", "trunc", "round", "-"};
        const std::size_t f = pick(std::size(functions));
        const Word sign = Word{1} << (bits(t) - 1);
        return {f == 5 ? "(-" + a.text + ")" : call(functions[f], {a.text}), map([&](std::size_t i) {
                    const double x = double_of(t, a.values[i]);
                    if (std::isnan(x)) return canonical_value(t, a.values[i]);
                    if (f == 0 || f == 5) return f == 0 ? a.values[i] & ~sign : a.values[i] ^ sign;
                    return round_to(t, f == 1   ? std::floor(x)
                                       : f == 2 ? std::ceil(x)
                                       : f == 3 ? std::trunc(x)
                                                : std::nearbyint(x));
                })};
    }

    std::mt19937 random_;
    bool is_open_ = false;  ///< what is made has no type of its own: literals, and what comes of them
    std::vector<std::pair<Type, Made>> known_;
    std::vector<Column> columns_;
    std::string signature_;
};

// PTX leaves the bits of a NaN open.
bool agree(Type t, Word a, Word b) {
    return a == b || (is_float(t) && std::isnan(double_of(t, a)) && std::isnan(double_of(t, b)));
}

TEST(ExpressionRandom, EveryWayGivesTheNumbersOfTheInterpreter) {
    constexpr int programs = 120;
    Generator generator(7);
    const auto signature = Signature::parse(generator.signature());
    ASSERT_TRUE(signature) << generator.signature();
    const auto machine = stack::Machine::make(expression_set(), *signature);
    Values inputs;
    for (const Column& c : generator.columns()) inputs.emplace_back(c.begin(), c.end());
    inputs.resize(signature->operands.size(), std::vector<Word>(points));
    std::vector<std::string> texts, stubs;
    std::vector<std::vector<Column>> expected;
    for (int i = 0; i < programs; ++i) {
        texts.push_back(generator.program(expected.emplace_back()));
        const auto program = parse_expression(texts.back(), *machine);
        ASSERT_TRUE(program) << describe(program.error(), texts.back());
        const auto evaluated = test::by_evaluate(*program, *machine, inputs);
        ASSERT_TRUE(evaluated) << describe(evaluated.error());
        const auto stub = compile_expression(texts.back(), *signature);
        ASSERT_TRUE(stub) << describe(stub.error(), texts.back());
        stubs.push_back(stub->ptx());
        for (std::size_t k = 0; k < kinds; ++k)
            for (std::size_t p = 0; p < points; ++p)
                ASSERT_TRUE(agree(all_types[k], (*evaluated)[2 * kinds + k][p],
                                  expected[static_cast<std::size_t>(i)][k][p]))
                    << std::hex << (*evaluated)[2 * kinds + k][p] << " for "
                    << expected[static_cast<std::size_t>(i)][k][p] << " in o_" << name(all_types[k])
                    << " of\n"
                    << texts.back();
    }
    const auto emulated = test::by_emulator(*signature, stubs, inputs);
    ASSERT_TRUE(emulated) << describe(emulated.error());
    for (std::size_t i = 0; i < programs; ++i)
        for (std::size_t k = 0; k < kinds; ++k)
            for (std::size_t p = 0; p < points; ++p)
                ASSERT_TRUE(agree(all_types[k], (*emulated)[i][2 * kinds + k][p], expected[i][k][p]))
                    << std::hex << (*emulated)[i][2 * kinds + k][p] << " for " << expected[i][k][p]
                    << " in o_" << name(all_types[k]) << " of\n"
                    << texts[i] << stubs[i];
}

TEST(ExpressionRandom, PtxasTakesThem) {
    constexpr int programs = 8;
    Generator generator(11);
    const auto signature = Signature::parse(generator.signature());
    ASSERT_TRUE(signature);
    for (const char* target : {"sm_80", "sm_90a", "sm_100a"}) {
        std::vector<std::string> stubs;
        for (int i = 0; i < programs; ++i) {
            std::vector<Column> results;
            const std::string text = generator.program(results);
            const auto sm = static_cast<std::uint16_t>(std::stoi(std::string(target).substr(3)));
            const auto stub = compile_expression(text, *signature, {.target = {sm, 0}});
            ASSERT_TRUE(stub) << describe(stub.error(), text);
            stubs.push_back(stub->ptx());
        }
        const std::string ptx = test::table_kernel(*signature, stubs, points, target);
        const auto cubin = default_assembler().assemble(ptx, {.optimisation = 0});
        EXPECT_TRUE(cubin) << describe(cubin.error(), ptx);
    }
}

}  // namespace
}  // namespace ptxgraft
