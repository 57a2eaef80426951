// Transcendental functions and directed roundings in vectors: the bits of the functions without vectors, or
// of a rounding made by hand. PTXGRAFT_STRIDE=1 takes all 2^32 inputs of each function (some minutes).
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "arithmetic/rounding.hpp"
#include "support/arithmetic_run.hpp"

namespace ptxgraft::arithmetic {
namespace {

constexpr std::size_t count = 1 << 14;

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}
std::string hexadecimal(u32 bits) {
    char text[16];
    std::snprintf(text, sizeof text, "0x%08X", bits);
    return text;
}

std::vector<u32> run(const PureInstruction& instruction, const std::vector<std::vector<u32>>& inputs) {
    std::vector<u32> results(inputs[0].size());
    std::vector<const void*> from;
    for (const std::vector<u32>& input : inputs) from.push_back(input.data());
    void* to = results.data();
    instruction.run_columns(&to, from.data(), results.size());
    return results;
}

void expect_equal(const std::string& name, const std::vector<u32>& inputs) {
    const auto found = *find(name, 2);
    const auto expected = run(found.on(Processor::baseline), {inputs});
    for (unsigned level = 1; level <= static_cast<unsigned>(this_processor()); ++level) {
        const auto results = run(found.on(static_cast<Processor>(level)), {inputs});
        if (results == expected) continue;
        const auto at =
            static_cast<std::size_t>(std::ranges::mismatch(results, expected).in1 - results.begin());
        ADD_FAILURE() << name << " of " << hexadecimal(inputs[at]) << " is " << hexadecimal(results[at])
                      << ", not " << hexadecimal(expected[at]) << " (processor " << level << ")";
    }
}

class Guess : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Forms, Guess,
                         testing::Values("ex2.approx.f32", "lg2.approx.f32", "tanh.approx.f32",
                                         "sin.approx.f32", "cos.approx.f32", "ex2.approx.ftz.f32",
                                         "lg2.approx.ftz.f32", "sin.approx.ftz.f32", "cos.approx.ftz.f32"),
                         [](const auto& info) {
                             std::string name = info.param;
                             std::ranges::replace(name, '.', '_');
                             return name;
                         });

TEST_P(Guess, HasTheBitsOfTheSlowFunction) {
    const std::uint64_t stride = number_from("PTXGRAFT_STRIDE", 4099);
    std::vector<u32> inputs;
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32 && !HasFailure(); bits += stride) {
        inputs.push_back(static_cast<u32>(bits));
        if (inputs.size() == count) expect_equal(GetParam(), inputs), inputs.clear();
    }
    inputs.resize((inputs.size() + 31) / 32 * 32);  // whole pieces: the rest of a column is not guessed
    expect_equal(GetParam(), inputs);
}

// Around the inputs where the functions change their course.
TEST_P(Guess, HasThemAtTheEdges) {
    std::vector<u32> inputs;
    for (const float edge : {0.0f,
                             0x1p-149f,
                             0x1p-126f,
                             0.5f,
                             0.70710678f,
                             1.0f,
                             1.41421356f,
                             2.0f,
                             3.14159265f,
                             1.57079633f,
                             9.01f,
                             10.0f,
                             20.0f,
                             126.0f,
                             127.0f,
                             128.0f,
                             130.0f,
                             149.0f,
                             150.0f,
                             160.0f,
                             0x1p24f,
                             0x1p100f,
                             std::bit_cast<float>(0x7F800000u),
                             11.0f * 3.14159265f,
                             355.0f,
                             10.99557429f})
        for (u32 near = 0; near < 256; ++near)
            for (const u32 sign : {0u, 0x80000000u})
                inputs.push_back((std::bit_cast<u32>(edge) - 128 + near) ^ sign);
    expect_equal(GetParam(), inputs);
}

// The rounding of the exact value, held in a double rounded to odd, by round_to.
u32 by_hand(char operation, Rounding mode, bool ftz, bool sat, u32 a_bits, u32 b_bits, u32 c_bits) {
    const auto in = [&](u32 bits) {
        const float value = std::bit_cast<float>(bits);
        return static_cast<double>(ftz ? flush(value) : value);
    };
    const double a = in(a_bits), b = in(b_bits), c = in(c_bits);
    const double exact = operation == '+'   ? add_odd(a, b, mode)
                         : operation == '-' ? add_odd(a, -b, mode)
                         : operation == '*' ? a * b
                                            : add_odd(a * b, c, mode);
    float result = std::bit_cast<float>(round_to(f32_format, exact, mode));
    result = ftz ? flush(result) : result;
    return std::bit_cast<u32>(sat ? saturate(result) : result);
}

TEST(Directed, RoundsAsByHand) {
    const std::uint64_t rounds = number_from("PTXGRAFT_ROUNDS", 12);
    constexpr u32 special[] = {0,          0x80000000, 1,          0x80000001, 0x007FFFFF, 0x00800000,
                               0x80800000, 0x3F800000, 0xBF800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000,
                               0xFF800000, 0x7FC00000, 0x3F800001, 0x3F7FFFFF};
    std::mt19937 random(11);
    for (std::uint64_t round = 0; round < rounds; ++round) {
        std::vector<std::vector<u32>> inputs(3, std::vector<u32>(count));
        for (std::size_t i = 0; i < count; ++i)
            for (std::vector<u32>& column : inputs) {
                column[i] = static_cast<u32>(random());
                if (random() % 8 == 0) column[i] = special[random() % std::size(special)];
                // of like size, so that they cancel
                if (round % 2 == 0 && random() % 2 == 0) column[i] = 0x3F000000 + column[i] % 0x1000000;
            }
        const struct {
            const char* name;
            Rounding mode;
        } modes[] = {{".rm", Rounding::rm}, {".rp", Rounding::rp}, {".rz", Rounding::rz}};
        for (const auto& [mode, rounding] : modes)
            for (const std::string end : {".f32", ".ftz.f32", ".sat.f32", ".ftz.sat.f32"})
                for (const char operation : {'+', '-', '*', 'f'}) {
                    const std::string opcode = operation == '+'   ? "add"
                                               : operation == '-' ? "sub"
                                               : operation == '*' ? "mul"
                                                                  : "fma";
                    const std::string name = opcode + mode + end;
                    const std::size_t operands = operation == 'f' ? 3 : 2;
                    const auto found = *find(name, operands + 1);
                    const bool ftz = end.find("ftz") != std::string::npos,
                               sat = end.find("sat") != std::string::npos;
                    for (unsigned level = 0; level <= static_cast<unsigned>(this_processor()); ++level) {
                        const auto results =
                            run(found.on(static_cast<Processor>(level)),
                                {inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(operands)});
                        for (std::size_t i = 0; i < count; ++i)
                            ASSERT_EQ(hexadecimal(results[i]),
                                      hexadecimal(by_hand(operation, rounding, ftz, sat, inputs[0][i],
                                                          inputs[1][i], inputs[2][i])))
                                << name << " of " << hexadecimal(inputs[0][i]) << " "
                                << hexadecimal(inputs[1][i]) << " " << hexadecimal(inputs[2][i])
                                << " (processor " << level << ")";
                    }
                }
    }
}

}  // namespace
}  // namespace ptxgraft::arithmetic
