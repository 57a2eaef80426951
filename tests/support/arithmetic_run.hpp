#pragma once
// Runs pure instructions by name, one by one and over columns, on every kind of processor: they must agree.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "arithmetic/arithmetic.hpp"

namespace ptxgraft::arithmetic {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

struct Decoded {
    std::string text;
    std::string_view opcode;
    std::vector<std::string_view> modifiers;
    explicit Decoded(std::string name) : text(std::move(name)) {
        std::string_view rest = text;
        std::size_t dot = rest.find('.');
        opcode = rest.substr(0, dot);
        while (dot != std::string_view::npos) {
            rest = rest.substr(dot);
            dot = rest.find('.', 1);
            modifiers.push_back(rest.substr(0, dot));
        }
    }
};

inline std::optional<PureInstruction> find(const std::string& name, std::size_t operands, bool pair = false) {
    const Decoded decoded(name);
    return find_pure(decoded.opcode, decoded.modifiers, operands, pair);
}

inline u64 low_bytes(u64 value, unsigned bytes) {
    return bytes == 8 ? value : value & ((u64{1} << (8 * bytes)) - 1);
}

// The same values as columns, by each of the functions there are: they must agree with one by one. On the
// last round the first output is the first input, where they are of one width.
inline void check_columns(const std::string& name, const PureInstruction& found,
                          const std::vector<std::vector<u64>>& inputs,
                          const std::vector<std::array<u64, 2>>& results) {
    const std::size_t count = results.size();
    std::vector<PureInstruction> all;
    for (unsigned level = 0; level <= static_cast<unsigned>(this_processor()); ++level)
        all.push_back(found.on(static_cast<Processor>(level)));
    all.push_back(found);
    for (std::size_t round = 0; round < all.size(); ++round) {
        std::vector<std::vector<std::byte>> in, out;
        std::vector<const void*> from;
        std::vector<void*> to;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const std::size_t bytes = found.input_bytes[i];
            in.emplace_back(count * bytes);
            for (std::size_t k = 0; k < count; ++k) std::memcpy(&in[i][k * bytes], &inputs[i][k], bytes);
        }
        for (std::size_t i = 0; i < found.all_outputs(); ++i)
            out.emplace_back(count * found.output_bytes[i] + 1, std::byte{0xA5});
        for (auto& column : in) from.push_back(column.data());
        for (auto& column : out) to.push_back(column.data());
        if (round + 1 == all.size() && found.input_bytes[0] == found.output_bytes[0]) {
            std::copy(in[0].begin(), in[0].end(), out[0].begin());
            from[0] = to[0];
        }
        all[round].run_columns(to.data(), from.data(), count);
        for (std::size_t i = 0; i < found.all_outputs(); ++i) {
            const unsigned bytes = found.output_bytes[i];
            for (std::size_t k = 0; k < count; ++k) {
                u64 value = 0;
                std::memcpy(&value, &out[i][k * bytes], bytes);
                ASSERT_EQ(value, low_bytes(results[k][i], bytes)) << name << " at " << k << " of its columns";
            }
            ASSERT_EQ(out[i].back(), std::byte{0xA5}) << name << " writes past its column";
        }
    }
}

// Evaluates an instruction on rows of values.
inline std::vector<std::array<u64, 2>> evaluate(const std::string& name,
                                                const std::vector<std::vector<u64>>& inputs,
                                                bool pair = false, std::size_t written_operands = 0) {
    const auto found = find(name, written_operands != 0 ? written_operands : inputs.size() + 1, pair);
    std::vector<std::array<u64, 2>> results(inputs[0].size());
    if (!found) {
        ADD_FAILURE() << name << " is unknown";
        return results;
    }
    for (std::size_t row = 0; row < results.size(); ++row) {
        std::vector<u64> from;
        for (const std::vector<u64>& input : inputs) from.push_back(input[row]);
        std::array<u64, most_outputs + 1> to{};
        found->run(to.data(), from.data());
        results[row] = {to[0], to[1]};
    }
    check_columns(name, *found, inputs, results);
    return results;
}
inline u64 one(const std::string& name, std::vector<u64> inputs, std::size_t written_operands = 0) {
    std::vector<std::vector<u64>> columns;
    for (const u64 input : inputs) columns.push_back({input});
    return evaluate(name, columns, false, written_operands)[0][0];
}

inline u32 bits(float a) { return std::bit_cast<u32>(a); }
inline float f32(u64 a) { return std::bit_cast<float>(static_cast<u32>(a)); }
inline double f64(u64 a) { return std::bit_cast<double>(a); }

inline constexpr u32 special32[] = {0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x00800000,
                                    0x80800000, 0x3F800000, 0xBF800000, 0x3F7FFFFF, 0x7F7FFFFF, 0xFF7FFFFF,
                                    0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC12345, 0x7F800001, 0x40490FDB,
                                    0x7E800000, 0x00FFFFFF, 0x4B800000, 0x4F000000, 0xCF000000, 0x4F800000,
                                    0x5F000000, 0x5F800000, 0xDF000000};
inline constexpr u64 special64[] = {0,
                                    u64{1} << 63,
                                    1,
                                    0x000FFFFFFFFFFFFF,
                                    0x0010000000000000,
                                    0x3FF0000000000000,
                                    0xBFF0000000000000,
                                    0x7FEFFFFFFFFFFFFF,
                                    0x7FF0000000000000,
                                    0xFFF0000000000000,
                                    0x7FF8000000000000,
                                    0x7FF0000000000001,
                                    0x41DFFFFFFFC00000,
                                    0x41E0000000000000,
                                    0x43E0000000000000,
                                    0xC3E0000000000000,
                                    0x43F0000000000000,
                                    0x4000000000000000};

// Random operands: a third specials, a third random bits, a third of neighbouring exponents (where roundings
// happen).
inline std::vector<u64> random32(std::size_t n, unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<u64> values(n);
    for (u64& v : values) {
        const u64 r = random();
        if (r % 3 == 0)
            v = special32[(r >> 8) % std::size(special32)];
        else if (r % 3 == 1)
            v = r >> 32;
        else
            v = (r >> 32 & 0x807FFFFF) | ((100 + (r >> 3) % 50) << 23);
        v &= 0xFFFFFFFFu;
    }
    return values;
}
inline std::vector<u64> random64(std::size_t n, unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<u64> values(n);
    for (u64& v : values) {
        const u64 r = random();
        v = r % 3 == 0   ? special64[(r >> 8) % std::size(special64)]
            : r % 3 == 1 ? random()
                         : ((random() & 0x800FFFFFFFFFFFFF) | ((1000 + (r >> 3) % 60) << 52));
    }
    return values;
}

}  // namespace ptxgraft::arithmetic
