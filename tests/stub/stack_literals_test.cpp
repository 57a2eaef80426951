// Literals of the stack language: which constants they are, and how decimals are rounded.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "ptxgraft/stack.hpp"
#include "stub/stack_text.hpp"

namespace ptxgraft {
namespace {

using namespace stack_text;
using stack::Instruction;
using stack::Opcode;
using stack::Program;

struct LiteralRow {
    const char* text;
    const char* type;
    std::uint32_t payload;
};
class StackLiteral : public testing::TestWithParam<LiteralRow> {};

TEST_P(StackLiteral, IsThisConstant) {
    const auto& [text, type, payload] = GetParam();
    const auto program = stack::parse(text, machine());
    ASSERT_TRUE(program) << describe(program.error(), text);
    ASSERT_EQ(program->code.size(), 1u);
    EXPECT_EQ(program->code[0].opcode, Opcode::constant) << text;
    EXPECT_EQ(machine().set().type_name(program->code[0].type), type) << text;
    EXPECT_EQ(program->code[0].payload, payload) << text;
    const std::string printed = stack::print(*program, machine());
    EXPECT_EQ(*stack::parse(printed, machine()), *program) << printed;
}

INSTANTIATE_TEST_SUITE_P(
    Stack, StackLiteral,
    testing::Values(LiteralRow{"1.5", "f32", 0x3FC00000}, LiteralRow{".5", "f32", 0x3F000000},
                    LiteralRow{"5.", "f32", 0x40A00000}, LiteralRow{"1e-3", "f32", 0x3A83126F},
                    LiteralRow{"-1E+2", "f32", 0xC2C80000}, LiteralRow{"1e-45", "f32", 1},
                    LiteralRow{"16777217f32", "f32", 0x4B800000}, LiteralRow{"0f32", "f32", 0},
                    LiteralRow{"-0.0", "f32", 0x80000000}, LiteralRow{"0f3F800000", "f32", 0x3F800000},
                    LiteralRow{"0F7fc12345", "f32", 0x7FC12345}, LiteralRow{"inf", "f32", 0x7F800000},
                    LiteralRow{"-inf", "f32", 0xFF800000}, LiteralRow{"nan", "f32", 0x7FFFFFFF},
                    LiteralRow{"inff32", "f32", 0x7F800000}, LiteralRow{"7", "u32", 7},
                    LiteralRow{"0x1F", "u32", 31}, LiteralRow{"0XfFfFfFfF", "u32", 0xFFFFFFFF},
                    LiteralRow{"4294967295", "u32", 0xFFFFFFFF}, LiteralRow{"8U", "u32", 8},
                    LiteralRow{"0", "u32", 0}, LiteralRow{"-7", "s32", 0xFFFFFFF9},
                    LiteralRow{"7s32", "s32", 7}, LiteralRow{"-2147483648", "s32", 0x80000000},
                    LiteralRow{"0xFFb32", "b32", 0xFF}, LiteralRow{"0x12b32", "b32", 0x12},
                    LiteralRow{"7b16", "b16", 7}, LiteralRow{"1u16", "u16", 1},
                    LiteralRow{"65535u16", "u16", 0xFFFF}, LiteralRow{"-1s16", "s16", 0xFFFF},
                    LiteralRow{"-32768s16", "s16", 0x8000}, LiteralRow{"-3s64", "s64", 0xFFFFFFFD},
                    LiteralRow{"7u64", "u64", 7}, LiteralRow{"0xFFFFFFFFb64", "b64", 0xFFFFFFFF},
                    LiteralRow{"1f64", "f64", 0x3F800000}, LiteralRow{"1.5f64", "f64", 0x3FC00000},
                    LiteralRow{"0d3FF0000000000000", "f64", 0x3F800000},
                    LiteralRow{"-inff64", "f64", 0xFF800000}, LiteralRow{"0f64", "f64", 0},
                    LiteralRow{"1.5f16", "f16", 0x3E00}, LiteralRow{"2bf16", "bf16", 0x4000},
                    LiteralRow{"0x3C00f16", "f16", 0x3C00}, LiteralRow{"0x7E01f16", "f16", 0x7E01},
                    LiteralRow{"inff16", "f16", 0x7C00}, LiteralRow{"-infbf16", "bf16", 0xFF80},
                    LiteralRow{"nanf16", "f16", 0x7FFF}, LiteralRow{"nanbf16", "bf16", 0x7FFF},
                    LiteralRow{"65504f16", "f16", 0x7BFF}, LiteralRow{"65519.999f16", "f16", 0x7BFF},
                    LiteralRow{"6e-8f16", "f16", 1}, LiteralRow{"-6e-8f16", "f16", 0x8001},
                    LiteralRow{"0x3C003C00f16x2", "f16x2", 0x3C003C00},
                    LiteralRow{"0x3f803f80bf16x2", "bf16x2", 0x3F803F80}, LiteralRow{"true", "pred", 1},
                    LiteralRow{"false", "pred", 0}));

struct PooledRow {
    const char* text;
    const char* type;
    std::uint64_t bits;
};
class StackPooledLiteral : public testing::TestWithParam<PooledRow> {};

TEST_P(StackPooledLiteral, StandsInThePool) {
    const auto& [text, type, bits] = GetParam();
    const auto program = stack::parse(text, machine());
    ASSERT_TRUE(program) << describe(program.error(), text);
    ASSERT_EQ(program->pool, std::vector<std::uint64_t>{bits}) << text;
    EXPECT_EQ(program->code[0], (Instruction{Opcode::pooled, machine().set().find_type(type), 0, 0}));
    EXPECT_EQ(*stack::parse(stack::print(*program, machine()), machine()), *program);
}

INSTANTIATE_TEST_SUITE_P(Stack, StackPooledLiteral,
                         testing::Values(PooledRow{"0.1f64", "f64", 0x3FB999999999999A},
                                         PooledRow{"-0.1f64", "f64", 0xBFB999999999999A},
                                         PooledRow{"nanf64", "f64", 0x7FFFFFFFFFFFFFFF},
                                         PooledRow{"0d7FF0000000000001", "f64", 0x7FF0000000000001},
                                         PooledRow{"4.9e-324f64", "f64", 1},
                                         PooledRow{"18446744073709551615u64", "u64", ~0ull},
                                         PooledRow{"-9223372036854775808s64", "s64", 1ull << 63},
                                         PooledRow{"0x123456789ABCDEFb64", "b64", 0x123456789ABCDEF},
                                         PooledRow{"4294967296u64", "u64", 1ull << 32},
                                         PooledRow{"2147483648s64", "s64", 1ull << 31}));

TEST(StackText, TheValuesOfLiteralsReachThePtx) {
    EXPECT_EQ(ptx_of("0.1f64 -> e"), "mov.f64 _e, 0d3FB999999999999A;");
    EXPECT_EQ(ptx_of("1.5f64 -> e"), "mov.f64 _e, 0d3FF8000000000000;");
    EXPECT_EQ(ptx_of("18446744073709551615u64 -> u"), "mov.b64 _u, 0xFFFFFFFFFFFFFFFF;");
    EXPECT_EQ(ptx_of("1.5f16 -> h"), "mov.b16 _h, 15872;");
}

struct Half {
    const char* name;
    int exponent_bits, mantissa_bits;
};

double half_value(std::uint32_t bits, const Half& half) {
    const int bias = (1 << (half.exponent_bits - 1)) - 1;
    const int exponent = static_cast<int>(bits >> half.mantissa_bits),
              mantissa = static_cast<int>(bits & ((1u << half.mantissa_bits) - 1));
    return std::ldexp(mantissa + (exponent == 0 ? 0 : 1 << half.mantissa_bits),
                      std::max(exponent, 1) - bias - half.mantissa_bits);
}

std::string exact(double value) {
    char text[400];
    std::snprintf(text, sizeof text, "%.200f", value);
    return text;
}

// Every value, and what lies in the middle between it and the next: exactly, a hair above, a hair below.
TEST(StackText, HalvesAreRoundedOnceFromDecimal) {
    for (const Half& half : {Half{"f16", 5, 10}, Half{"bf16", 8, 7}}) {
        const std::uint32_t infinity = ((1u << half.exponent_bits) - 1) << half.mantissa_bits;
        const auto read = [&](const std::string& number) -> std::uint32_t {
            const auto program = stack::parse(number + half.name, machine());
            return program ? program->code[0].payload : 0xFFFFFFFF;
        };
        for (std::uint32_t bits = 1; bits + 1 < infinity; bits += half.exponent_bits == 5 ? 3 : 7) {
            EXPECT_EQ(read(exact(half_value(bits, half))), bits);
            const std::string middle = exact((half_value(bits, half) + half_value(bits + 1, half)) / 2);
            EXPECT_EQ(read(middle), bits + bits % 2) << middle;
            EXPECT_EQ(read(middle + "0000000000000000001"), bits + 1) << middle;
            std::string below = middle;
            const std::size_t last = below.find_last_not_of("0.");
            --below[last];
            for (std::size_t i = last + 1; i < below.size(); ++i)
                if (below[i] != '.') below[i] = '9';
            EXPECT_EQ(read(below), bits) << below;
            const Program program{
                {{Opcode::constant, machine().set().find_type(half.name), 0, bits}}, {}, {}};
            const std::string printed = stack::print(program, machine());
            EXPECT_LE(printed.size(), 15u) << printed;
            EXPECT_EQ(*stack::parse(printed, machine()), program) << printed;
        }
    }
}

}  // namespace
}  // namespace ptxgraft
