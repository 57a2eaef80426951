#pragma once
// Runs pure instructions by name, over lanes and over columns, which must agree.
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

inline u64 low_bytes(u64 value, unsigned bytes) { return bytes == 8 ? value : value & ((u64{1} << (8 * bytes)) - 1); }

// The same values as columns, by each of the functions there are: they must agree with the lanes.
inline void check_columns(const std::string& name, const PureInstruction& found, const std::vector<std::vector<u64>>& inputs,
                   const std::vector<std::array<u64, 2>>& results) {
    if (found.reads_carry || found.writes_carry) return;
    const std::size_t count = results.size();
    PureInstruction narrow = found, none = found;
    narrow.first_wide = narrow.second_wide = nullptr;
    none.first_columns = none.second_columns = nullptr;
    for (const PureInstruction& instruction : {found, narrow, none}) {
        std::vector<std::vector<std::byte>> in, out;
        std::vector<const void*> from;
        std::vector<void*> to;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const std::size_t bytes = found.input_bytes[i];
            in.emplace_back(count * bytes);
            for (std::size_t k = 0; k < count; ++k) std::memcpy(&in[i][k * bytes], &inputs[i][k], bytes);
        }
        for (std::size_t i = 0; i < found.outputs; ++i) out.emplace_back(count * found.output_bytes[i] + 1, std::byte{0xA5});
        for (auto& column : in) from.push_back(column.data());
        for (auto& column : out) to.push_back(column.data());
        instruction.run_columns(to.data(), from.data(), count);
        for (std::size_t i = 0; i < found.outputs; ++i) {
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

// Evaluates an instruction on the lanes of a full warp, lane i with the i-th inputs.
inline std::vector<std::array<u64, 2>> evaluate(const std::string& name, const std::vector<std::vector<u64>>& inputs, bool pair = false,
                                         std::size_t written_operands = 0, u32 mask = 0xFFFFFFFFu) {
    const auto found = find(name, written_operands != 0 ? written_operands : inputs.size() + 1, pair);
    if (!found) {
        ADD_FAILURE() << name << " is unknown";
        return std::vector<std::array<u64, 2>>(inputs[0].size());
    }
    std::vector<std::array<u64, 2>> results(inputs[0].size(), {0xDEADDEADu, 0xDEADDEADu});
    for (std::size_t begin = 0; begin < inputs[0].size(); begin += 32) {
        std::vector<Lanes> in(inputs.size());
        std::vector<const Lanes*> in_pointers;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            for (std::size_t l = 0; l < 32 && begin + l < inputs[i].size(); ++l) in[i][l] = inputs[i][begin + l];
            in_pointers.push_back(&in[i]);
        }
        Lanes out[2];
        out[0].fill(0xDEADDEADu), out[1].fill(0xDEADDEADu);
        Lanes* const outs[] = {&out[0], &out[1]};
        found->run(outs, in_pointers.data(), mask);
        for (std::size_t l = 0; l < 32 && begin + l < results.size(); ++l) results[begin + l] = {out[0][l], out[1][l]};
    }
    if (mask == 0xFFFFFFFFu) check_columns(name, *found, inputs, results);
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

inline constexpr u32 special32[] = {0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x00800000, 0x80800000, 0x3F800000, 0xBF800000,
                             0x3F7FFFFF, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC12345, 0x7F800001, 0x40490FDB,
                             0x7E800000, 0x00FFFFFF, 0x4B800000, 0x4F000000, 0xCF000000, 0x4F800000, 0x5F000000, 0x5F800000, 0xDF000000};
inline constexpr u64 special64[] = {0, u64{1} << 63, 1, 0x000FFFFFFFFFFFFF, 0x0010000000000000, 0x3FF0000000000000, 0xBFF0000000000000,
                             0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 0x7FF0000000000001, 0x41DFFFFFFFC00000,
                             0x41E0000000000000, 0x43E0000000000000, 0xC3E0000000000000, 0x43F0000000000000, 0x4000000000000000};

// Random operands: a third specials, a third random bits, a third of neighbouring exponents (where roundings happen).
inline std::vector<u64> random32(std::size_t n, unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<u64> values(n);
    for (u64& v : values) {
        const u64 r = random();
        if (r % 3 == 0) v = special32[(r >> 8) % std::size(special32)];
        else if (r % 3 == 1) v = r >> 32;
        else v = (r >> 32 & 0x807FFFFF) | ((100 + (r >> 3) % 50) << 23);
        v &= 0xFFFFFFFFu;
    }
    return values;
}
inline std::vector<u64> random64(std::size_t n, unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<u64> values(n);
    for (u64& v : values) {
        const u64 r = random();
        v = r % 3 == 0 ? special64[(r >> 8) % std::size(special64)] : r % 3 == 1 ? random() : ((random() & 0x800FFFFFFFFFFFFF) | ((1000 + (r >> 3) % 60) << 52));
    }
    return values;
}

}  // namespace ptxgraft::arithmetic
