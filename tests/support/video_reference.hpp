#pragma once
// PTX ISA 9.7.18, video instructions: the manual's pseudocode, on integers that are wide enough for
// everything.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace ptxgraft::test {

/// What stands around the registers of a video instruction: `%r1.h0`, `-%r2.b3`.
struct VideoParts {
    std::string d, a, b;  ///< with their dots; empty: none
    bool negated_product = false, negated_third = false;
};

class Video {
  public:
    using Wide = __int128;
    using u32 = std::uint32_t;

    explicit Video(const std::string& spelling) {
        std::size_t at = spelling.find('.');
        opcode_ = spelling.substr(0, at);
        while (at < spelling.size()) {
            const std::size_t end = std::min(spelling.find('.', at + 1), spelling.size());
            const std::string word = spelling.substr(at, end - at);
            (word == ".u32" || word == ".s32" ? types_ : words_).push_back(word);
            at = end;
        }
        lanes_ = opcode_.back() == '2' ? 2 : opcode_.back() == '4' ? 4 : 1;
        stem_ = lanes_ == 1 ? opcode_ : opcode_.substr(0, opcode_.size() - 1);
    }
    [[nodiscard]] int lanes() const { return lanes_; }
    [[nodiscard]] bool has(const std::string& word) const {
        return std::find(words_.begin(), words_.end(), word) != words_.end();
    }

    [[nodiscard]] u32 run(u32 a, u32 b, u32 c, const VideoParts& parts = {}) const {
        if (lanes_ != 1) return vector(a, b, c, parts);
        const Wide ta = selected(a, parts.a, is_signed('a')), tb = selected(b, parts.b, is_signed('b'));
        if (stem_ == "vmad") return multiply_add(ta, tb, c, parts);
        Wide t = operate(ta, tb);
        if (stem_ == "vshl") t = extended(static_cast<std::uint64_t>(t), true, 34);
        const int width = parts.d.empty() ? 32 : parts.d[1] == 'b' ? 8 : 16;
        if (has(".sat")) t = clamped(t, is_signed('d'), width);
        const Wide third = extended(c, is_signed('d'), 32);
        if (has(".add")) t += third;
        if (has(".min")) t = std::min(t, third);
        if (has(".max")) t = std::max(t, third);
        return parts.d.empty() ? static_cast<u32>(t) : merged(t, c, width * (parts.d[2] - '0'), width);
    }

  private:
    static Wide extended(std::uint64_t bits, bool by_sign, int width) {
        const Wide low = static_cast<Wide>(bits & ((std::uint64_t{1} << width) - 1));
        return by_sign && (bits >> (width - 1) & 1) != 0 ? low - (static_cast<Wide>(1) << width) : low;
    }
    static Wide clamped(Wide t, bool is_signed, int width) {
        const Wide least = is_signed ? -(static_cast<Wide>(1) << (width - 1)) : 0,
                   most = (static_cast<Wide>(1) << (is_signed ? width - 1 : width)) - 1;
        return std::clamp(t, least, most);
    }
    // The low bits of t at a place of c.
    static u32 merged(Wide t, u32 c, int at, int width) {
        const std::uint64_t mask = ((std::uint64_t{1} << width) - 1) << at;
        return static_cast<u32>((static_cast<std::uint64_t>(t) << at & mask) | (c & ~mask));
    }
    static Wide floor_of(Wide t, Wide divisor) {
        return t >= 0 ? t / divisor : -((divisor - 1 - t) / divisor);
    }
    // Of `.h1`, `.b3` or nothing.
    static Wide selected(u32 bits, const std::string& part, bool by_sign) {
        if (part.empty()) return extended(bits, by_sign, 32);
        const int width = part[1] == 'b' ? 8 : 16;
        return extended(bits >> (width * (part[2] - '0')), by_sign, width);
    }
    [[nodiscard]] bool is_signed(char operand) const {
        const bool is_set = stem_ == "vset";
        if (is_set && operand == 'd') return false;
        return types_[static_cast<std::size_t>(operand == 'd'   ? 0
                                               : operand == 'a' ? (is_set ? 0 : 1)
                                               : is_set         ? 1
                                                                : 2)] == ".s32";
    }
    [[nodiscard]] Wide operate(Wide a, Wide b) const {
        if (stem_ == "vadd") return a + b;
        if (stem_ == "vsub") return a - b;
        if (stem_ == "vabsdiff") return a > b ? a - b : b - a;
        if (stem_ == "vmin") return std::min(a, b);
        if (stem_ == "vmax") return std::max(a, b);
        if (stem_ == "vavrg") return floor_of(a + b + (a + b >= 0 ? 1 : 0), 2);
        if (stem_ == "vset") return compared(a, b);
        const Wide n = has(".clamp") ? std::min<Wide>(b, 32) : b & 31;
        Wide power = 1;
        for (int i = 0; i < n; ++i) power *= 2;
        return stem_ == "vshl" ? a * power : floor_of(a, power);
    }
    [[nodiscard]] bool compared(Wide a, Wide b) const {
        const std::string& word = words_[0];
        return word == ".eq"   ? a == b
               : word == ".ne" ? a != b
               : word == ".lt" ? a < b
               : word == ".le" ? a <= b
               : word == ".gt" ? a > b
                               : a >= b;
    }
    [[nodiscard]] u32 multiply_add(Wide a, Wide b, u32 c, const VideoParts& parts) const {
        const bool signed_final =
            is_signed('a') || is_signed('b') || parts.negated_product || parts.negated_third;
        Wide t = a * b;
        int low = 0;
        if (has(".po") || parts.negated_product || parts.negated_third) low = 1;
        if (parts.negated_product) t = ~t;
        if (parts.negated_third) c = ~c;
        t = floor_of(t + extended(c, signed_final, 32) + low, has(".shr7") ? 128 : has(".shr15") ? 32768 : 1);
        return static_cast<u32>(has(".sat") ? clamped(t, signed_final, 32) : t);
    }
    // `.h32`, `.b7654`: of the bytes of b and a, the lane's.
    [[nodiscard]] Wide lane(u32 a, u32 b, std::string part, int i, bool by_sign) const {
        const std::uint64_t both = std::uint64_t{b} << 32 | a;
        const int width = 32 / lanes_;
        return extended(both >> (width * (part[part.size() - 1 - static_cast<std::size_t>(i)] - '0')),
                        by_sign, width);
    }
    [[nodiscard]] u32 vector(u32 a, u32 b, u32 c, const VideoParts& parts) const {
        const int width = 32 / lanes_;
        const std::string of_a = parts.a.empty() ? (lanes_ == 2 ? ".h10" : ".b3210") : parts.a,
                          of_b = parts.b.empty() ? (lanes_ == 2 ? ".h32" : ".b7654") : parts.b;
        u32 result = c;
        for (int i = 0; i < lanes_; ++i) {
            if (!parts.d.empty() && parts.d.find(static_cast<char>('0' + i), 2) == std::string::npos)
                continue;
            Wide t = operate(lane(a, b, of_a, i, is_signed('a')), lane(a, b, of_b, i, is_signed('b')));
            if (has(".sat")) t = clamped(t, is_signed('d'), width);
            result = has(".add") ? result + static_cast<u32>(t) : merged(t, result, i * width, width);
        }
        return result;
    }

    std::string opcode_, stem_;
    std::vector<std::string> types_, words_;
    int lanes_ = 1;
};

}  // namespace ptxgraft::test
