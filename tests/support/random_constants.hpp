#pragma once
// Constant expressions at random, as text: mostly legal, of integers or of floating-point constants.

#include <array>
#include <random>
#include <string>
#include <string_view>

namespace ptxgraft::test {

class RandomConstants {
  public:
    explicit RandomConstants(std::uint64_t seed) : random_(seed) {}

    std::uint64_t below(std::uint64_t n) { return random_() % n; }

    std::string integer(int depth) {
        switch (depth == 0 ? 0 : below(9)) {
            case 0: return integer_literal();
            case 1: return pick({"-", "+", "~", "!", "- ", "!!", "-~"}) + operand(depth);
            case 2: return pick({"(.s64)", "(.u64)", "( .u64 )"}) + operand(depth);
            case 3: return '(' + integer(depth - 1) + ')';
            case 4:
                return operand(depth) + blank() + '?' + blank() + integer(depth - 1) + blank() + ':' +
                       blank() + operand(depth);
            case 5:
                return '(' + floating(depth - 1) + pick({"<", ">", "<=", ">=", "==", "!="}) +
                       floating(depth - 1) + ')';
            default:
                return operand(depth) + blank() +
                       pick({"*", "/", "% ", "+", "-", "<<", ">>", "<", ">", "<=", ">=", "==", "!=", "&", "^",
                             "|", "&&", "||"}) +
                       blank() + operand(depth);
        }
    }

    std::string floating(int depth) {
        switch (depth == 0 ? 0 : below(5)) {
            case 0:
                return pick({"1.5", "0.0", "-0.0", "3.0", ".1", "2e3", "1E-3", "16777217.0", "3.4028236e38",
                             "1e-46", "1e300", "5.", "0d3FF0000000000000", "0dC00921FB54442D18", "7.25"});
            case 1: return pick({"-", "+", "- "}) + '(' + floating(depth - 1) + ')';
            case 2: return '(' + floating(depth - 1) + ')';
            default:
                return '(' + floating(depth - 1) + ')' + blank() + pick({"*", "/", "+", "-"}) + blank() +
                       '(' + floating(depth - 1) + ')';
        }
    }

    /// Of either kind, sometimes mixed or broken.
    std::string any(int depth) {
        std::string text = below(4) == 0 ? floating(depth) : integer(depth);
        for (std::uint64_t changes = below(3); changes != 0; --changes) text = changed(std::move(text));
        return text;
    }

    std::string pick(std::initializer_list<std::string_view> words) {
        return std::string(words.begin()[below(words.size())]);
    }

  private:
    std::string integer_literal() {
        switch (below(8)) {
            case 0: return pick({"0", "1", "2", "3", "31", "32", "33", "63", "64", "65"});
            case 1:
                return pick({"0xFFFFFFFFFFFFFFFF", "0x8000000000000000", "0x7FFFFFFFFFFFFFFF",
                             "9223372036854775807", "9223372036854775808", "18446744073709551615",
                             "4294967296", "0x80000000", "0XfaBC123400000000"});
            case 2: return pick({"0", "07", "0777", "0b1011", "0B1U", "017U", "0x1FU", "42U", "1U", "0U"});
            case 3: return "WARP_SZ";
            case 4: return std::to_string(random_());
            case 5: return std::to_string(random_()) + "U";
            default: return std::to_string(below(100));
        }
    }
    // Operators of every precedence beside each other, unless parentheses stand around.
    std::string operand(int depth) {
        return below(3) == 0 ? '(' + integer(depth - 1) + ')' : integer(depth - 1);
    }
    std::string blank() { return pick({"", "", "", " ", "  "}); }

    std::string changed(std::string text) {
        if (text.empty()) return text;
        const std::size_t at = below(text.size());
        switch (below(3)) {
            case 0: return text.erase(at, 1);
            case 1:
                return text.insert(at, pick({"+", "-", "(", ")", "1", "U", ".", "?", ":", "1.0", "0f3F800000",
                                             "/0", "% 0", "<<", "e5", "WARP_SZ", " "}));
            default: text[at] = "0123456789()+-*/<>=!~?:&|^.U "[below(29)]; return text;
        }
    }

    std::mt19937_64 random_;
};

}  // namespace ptxgraft::test
