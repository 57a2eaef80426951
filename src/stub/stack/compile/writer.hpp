#pragma once
// Writes PTX text through a bare pointer. The caller has counted the text, see bound.cpp, and leaves room
// behind it and behind every name: short texts are copied as whole blocks, without a loop over their bytes.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace ptxgraft::stack {

class Writer {
  public:
    static constexpr std::size_t room = 16;

    explicit Writer(char* at) : at_(at) {}
    [[nodiscard]] char* end() const { return at_; }

    template <std::size_t N> void text(const char (&literal)[N]) {
        std::memcpy(at_, literal, N - 1);
        at_ += N - 1;
    }
    void text(std::string_view text) {
        std::memcpy(at_, text.data(), text.size());
        at_ += text.size();
    }
    // `length` bytes of one block
    void block(const char* block, std::size_t length) {
        std::memcpy(at_, block, room);
        at_ += length;
    }
    // `length` bytes of `size`, which are all copied
    template <std::size_t size> void blocks(const char* from, std::size_t length) {
        std::memcpy(at_, from, size);
        at_ += length;
    }

    void number(std::uint32_t n) {
        if (n < 10) {
            *at_++ = static_cast<char>('0' + n);
            return;
        }
        const std::size_t length = digits(n);
        char* last = at_ += length;
        for (; n >= 100; n /= 100) std::memcpy(last -= 2, pairs.decimal[n % 100], 2);
        if (n >= 10)
            std::memcpy(last - 2, pairs.decimal[n], 2);
        else
            last[-1] = static_cast<char>('0' + n);
    }
    void integer(std::int32_t n) {
        if (n < 0) *at_++ = '-';
        number(n < 0 ? 0u - static_cast<std::uint32_t>(n) : static_cast<std::uint32_t>(n));
    }
    // Two digits, the first in the lower byte
    static std::uint16_t hexadecimal_pair(std::size_t byte) {
        std::uint16_t digits = 0;
        std::memcpy(&digits, pairs.hexadecimal[byte], sizeof digits);
        return digits;
    }
    // 16 digits
    void hexadecimal(std::uint64_t bits) {
        for (int i = 0; i < 8; ++i)
            std::memcpy(at_ + 2 * i, pairs.hexadecimal[bits >> (56 - 8 * i) & 0xFF], 2);
        at_ += 16;
    }

  private:
    static std::size_t digits(std::uint32_t n) {
        std::size_t count = 1;
        for (std::uint64_t limit = 10; n >= limit; limit *= 10) ++count;
        return count;
    }

    struct Pairs {
        char decimal[100][2], hexadecimal[256][2];
    };
    static constexpr Pairs make_pairs() {
        Pairs pairs{};
        for (int i = 0; i < 100; ++i)
            pairs.decimal[i][0] = static_cast<char>('0' + i / 10),
            pairs.decimal[i][1] = static_cast<char>('0' + i % 10);
        constexpr char digits[] = "0123456789ABCDEF";
        for (int i = 0; i < 256; ++i)
            pairs.hexadecimal[i][0] = digits[i / 16], pairs.hexadecimal[i][1] = digits[i % 16];
        return pairs;
    }
    static const Pairs pairs;

    char* at_;
};

inline constexpr Writer::Pairs Writer::pairs = Writer::make_pairs();

}  // namespace ptxgraft::stack
