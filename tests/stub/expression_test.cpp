// Expressions: what they compute, what they refuse and where they say so.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "support/expression_run.hpp"

extern std::size_t allocations;  // of this program so far: allocations.cpp

namespace ptxgraft {
namespace {

using test::Values;

std::uint64_t f(float value) { return std::bit_cast<std::uint32_t>(value); }
std::uint64_t d(double value) { return std::bit_cast<std::uint64_t>(value); }
std::uint64_t s(std::int64_t value) { return static_cast<std::uint32_t>(value); }
constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
constexpr std::uint64_t canonical = 0x7FFFFFFF;

Signature signature_of(std::string_view text) {
    auto signature = Signature::parse(text);
    EXPECT_TRUE(signature) << text;
    return signature ? *signature : Signature{};
}

// ---- what they compute

struct ExpressionRow {
    const char* signature;
    const char* text;
    std::vector<std::uint64_t> inputs;  // of all registers; those of `out` operands are not read
    std::vector<std::uint64_t> expected;
};

const ExpressionRow rows[] = {
    {"mod f32 acc, in f32 bias", "acc = max(acc + bias, 0)", {f(1), f(2)}, {f(3), f(2)}},
    {"mod f32 acc, in f32 bias", "acc = max(acc + bias, 0)", {f(1), f(-2)}, {f(0), f(-2)}},
    // C's precedence
    {"mod s32 x", "x = 1 + 2 * 3 << 1 & 0xF | 16", {0}, {s((((1 + 2 * 3) << 1) & 0xF) | 16)}},
    {"mod s32 x", "x = 7 - 2 - 1", {0}, {s(4)}},
    {"mod s32 x", "x = -7 / 2 * 2 + -7 % 2", {0}, {s(-7)}},
    {"mod s32 x", "x = -x - -3", {s(10)}, {s(-7)}},
    {"mod s32 x, out pred p", "p = x > 1 == x < 5 != false", {s(3), 0}, {s(3), 1}},
    {"mod s32 x, out pred p", "p = x > 1 && x < 3 || !(x != 9)", {s(9), 0}, {s(9), 1}},
    {"mod s32 x", "x = x < 0 ? -1 : x == 0 ? 0 : 1", {s(-5)}, {s(-1)}},
    {"mod s32 x", "x = x < 0 ? -1 : x == 0 ? 0 : 1", {s(0)}, {s(0)}},
    {"mod u32 x", "x = ~x ^ 0xFF", {0x0F}, {0xFFFFFF0F}},
    {"mod u32 x", "x = 0b1010 | x", {5}, {15}},
    // statements: the new value of a name is seen below
    {"mod f32 x, mod f32 y", "x = y; y = x", {f(1), f(2)}, {f(2), f(2)}},
    {"mod f32 x, mod f32 y", "t = x\n x = y\n y = t", {f(1), f(2)}, {f(2), f(1)}},
    {"mod f32 x", "x = x + 1; x = x * 2; x = x + x", {f(3)}, {f(16)}},
    {"mod f32 x", "x += 1; x *= 2; x -= 3; x /= 4", {f(6)}, {f(2.75)}},
    {"mod u32 x",
     "x <<= 3; x |= 1; x ^= 0xF; x &= 0x3F; x >>= 1; x %= 10",
     {3},
     {((((3u << 3 | 1) ^ 0xF) & 0x3F) >> 1) % 10}},
    {"mod f32 x",
     "a = x; b = a * a # a comment\nc = a + // another\n b; x = c /* and\none more */ * 2",
     {f(3)},
     {f(24)}},
    {"mod f32 x", "x = (x\n + 1)\r\n\r\n;;", {f(3)}, {f(4)}},
    // few names and many
    {"mod f32 x, in f32 y",
     "a = x; b = a; c = b; e = c; g = e; h = g; x = a + h + y",
     {f(1), f(5)},
     {f(7), f(5)}},
    {"mod f32 x, in f32 y",
     "a = x; b = a; c = b; e = c; g = e; h = g; i = h; x = a + y + i",
     {f(1), f(5)},
     {f(7), f(5)}},
    {"mod f32 x, in f32 y",
     "a = x; b = a; c = b; e = c; g = e; h = g; i = h; j = i + 1; a = y + a; long_name = j; x = a + j + "
     "long_name",
     {f(1), f(5)},
     {f(10), f(5)}},
    // a literal takes the type of what it meets, by way of names too
    {"mod f64 x", "x = x * 0.1 + 1", {d(3)}, {d(3 * 0.1 + 1)}},
    {"mod f32 x", "half = 0.5; x = x * half", {f(3)}, {f(1.5)}},
    {"mod f32 x", "x = x * (1 / 4)", {f(3)}, {f(0.75)}},
    {"mod s32 x, in f32 y", "x = s32(y * 2.5 + 1 / 2)", {0, f(3)}, {s(8), f(3)}},
    {"mod f16 x", "x = x * 1.5 + 2", {0x3C00}, {0x4300}},
    {"mod bf16 x", "x = x * 1.5 + 2", {0x3F80}, {0x4060}},
    {"mod f32 x", "x = x + 0f3F800000 + 1.5f + 2f32", {f(1)}, {f(5.5)}},
    {"mod f32 x", "x = x < 0 ? -inf : inf", {f(-1)}, {f(-inf)}},
    {"mod f32 x", "x = -0.0", {f(1)}, {0x80000000}},
    {"mod f32 x", "x = 16777217", {f(1)}, {f(16777216)}},
    {"mod f16 x", "x = 65519", {0}, {0x7BFF}},
    {"mod s64 x", "x = -9223372036854775808", {0}, {0x8000000000000000}},
    {"mod s32 x", "x = 0xFFFFFFFE", {0}, {s(-2)}},
    {"mod u64 x", "x = x + 0xFFFFFFFFFFFFFFFF", {5}, {4}},
    {"mod f64 x", "x = 0d3FF8000000000000 + 0.1", {0}, {d(1.5 + 0.1)}},
    // and by way of functions, operators, choices and casts
    {"in f64 w, out pred p", "p = w >= trunc(1e200)", {d(1e201), 0}, {d(1e201), 1}},
    {"in f64 w, out pred p", "p = trunc(1e200) > w", {d(1e201), 0}, {d(1e201), 0}},
    {"mod f64 w", "w = w + sqrt(2)", {d(1)}, {d(1 + std::sqrt(2.0))}},
    {"mod f64 w", "t = sqrt(2); w = t * w", {d(3)}, {d(std::sqrt(2.0) * 3)}},
    {"mod f64 w", "w = max(w, trunc(1e200))", {d(3)}, {d(1e200)}},
    {"mod f64 w", "w = w > 0 ? floor(1e200 + 0.5) : -w", {d(3)}, {d(1e200)}},
    {"mod f64 w", "w = (w > 0 ? sqrt(2) : round(1e200)) - w", {d(1)}, {d(std::sqrt(2.0) - 1)}},
    {"mod f64 w", "w = select(w > 0, abs(-1e200), copysign(1, -2)) * w", {d(-1)}, {d(1)}},
    {"mod f64 w",
     "w = fma(sqrt(2), rcp(3), ceil(min(0.5, 2))) + w",
     {d(0)},
     {d(std::fma(std::sqrt(2.0), 1.0 / 3, 1))}},
    {"mod f64 w", "w = -sqrt(2) / 1e200 * w", {d(1)}, {d(-std::sqrt(2.0) / 1e200)}},
    {"out f64 w", "w = f64(sqrt(2))", {0}, {d(std::sqrt(2.0))}},
    {"out f64 w", "w = sqrt(2)", {0}, {d(std::sqrt(2.0))}},
    {"out f32 x", "x = sqrt(2)", {0}, {f(std::sqrt(2.0f))}},
    {"mod f16 h", "h = h + abs(min(1, 2.5))", {0x3C00}, {0x4000}},
    {"mod f16x2 h", "h = h + abs(-1)", {0x3C003C00}, {0x40004000}},
    {"mod s32 x", "x = x + s32(sqrt(16))", {s(1)}, {s(5)}},
    {"mod s32 x", "x = x + abs(-3) + max(1, 2)", {s(1)}, {s(6)}},
    {"mod u64 x", "x = x | brev(1) | (1 << 40) | ~0xFFFFFFFFFFFFFFF0", {0}, {0x800001000000000F}},
    {"mod f32 x", "x = x + f32(brev(1) >> 28)", {f(1)}, {f(-7)}},
    {"in f64 w, out u32 n", "n = isnan(sqrt(-1)) && w > 1 ? popc(255) : u32(exp2(3))", {d(2), 0}, {d(2), 8}},
    // casts
    {"mod f32 x, in s32 n", "x = f32(n)", {0, s(16777219)}, {f(16777220), s(16777219)}},
    {"in f32 x, out s32 n", "n = s32(x)", {f(-2.9f), 0}, {f(-2.9f), s(-2)}},
    {"in f32 x, out s32 n", "n = s32(x)", {f(1e20f), 0}, {f(1e20f), s(0x7FFFFFFF)}},
    {"in f32 x, out s32 n", "n = s32(x)", {f(nan), 0}, {f(nan), 0}},
    {"in s32 n, out u32 u", "u = u32(n)", {s(-1), 0}, {s(-1), 0xFFFFFFFF}},
    {"in s32 n, out u64 u", "u = u64(n)", {s(-1), 0}, {s(-1), ~std::uint64_t{0}}},
    {"in s64 n, out s16 u", "u = s16(n)", {0x12348001, 0}, {0x12348001, 0x8001}},
    {"in s16 n, out s64 u", "u = s64(n)", {0x8001, 0}, {0x8001, 0xFFFFFFFFFFFF8001}},
    {"in pred p, out f32 x", "x = f32(p)", {1, 0}, {1, f(1)}},
    {"in f32 x, out pred p", "p = pred(x)", {f(-0.0f), 0}, {f(-0.0f), 0}},
    {"in f32 x, out bf16 h", "h = bf16(x)", {f(1.00390625f), 0}, {f(1.00390625f), 0x3F80}},
    // 2^24 + 2^16 + 1 lies above the middle of two bf16, which rounding to f32 first would lose
    {"in s32 n, out bf16 h",
     "h = bf16(n)",
     {s((1 << 24) + (1 << 16) + 1), 0},
     {s((1 << 24) + (1 << 16) + 1), 0x4B81}},
    {"in f64 n, out bf16 h", "h = bf16(n)", {d(1.00390625 + 0x1p-40), 0}, {d(1.00390625 + 0x1p-40), 0x3F81}},
    {"in bf16 h, out f16 x, out f64 y, out s64 z",
     "x = f16(h); y = f64(h); z = s64(h)",
     {0x40A0, 0, 0, 0},
     {0x40A0, 0x4500, d(5), 5}},
    {"in f32 x, out u32 u", "u = bits(x)", {f(1), 0}, {f(1), 0x3F800000}},
    {"in u32 u, out f32 x, out f16 h",
     "x = float_bits(u); h = f16_bits(0x3C00)",
     {f(1), 0, 0},
     {f(1), f(1), 0x3C00}},
    // functions
    {"mod f32 x", "x = fma(x, x, -1)", {f(1 + 0x1p-23f)}, {f(std::fma(1 + 0x1p-23f, 1 + 0x1p-23f, -1.0f))}},
    {"mod f32 x", "x = x * x - 1", {f(1 + 0x1p-12f)}, {f(0x1p-11f)}},  // the product is rounded: no fma
    {"mod f32 x", "x = min(x, 1)", {f(nan)}, {f(1)}},
    {"mod f32 x", "x = x + 1", {f(nan)}, {canonical}},
    {"in f32 x, out pred p, out pred q, out pred r",
     "p = x != x; q = x == x; r = x < 1",
     {f(nan), 0, 0, 0},
     {f(nan), 1, 0, 0}},
    {"in f32 x, out pred p, out pred q, out pred r",
     "p = isnan(x); q = isfinite(x); r = isinf(x)",
     {f(-inf), 0, 0, 0},
     {f(-inf), 0, 0, 1}},
    {"in f32 x, out f32 a, out f32 b, out f32 c, out f32 e",
     "a = floor(x); b = ceil(x); c = trunc(x); e = round(x)",
     {f(-2.5), 0, 0, 0, 0},
     {f(-2.5), f(-3), f(-2), f(-2), f(-2)}},
    {"mod f32 x", "x = copysign(3, x)", {f(-0.0f)}, {f(-3)}},
    {"mod f16 x", "x = copysign(x, -1)", {0x4200}, {0xC200}},
    {"mod f32 x", "x = clamp(x, -1, 1)", {f(-7)}, {f(-1)}},
    {"mod s32 x", "x = clamp(x, -1, 5)", {s(9)}, {s(5)}},
    {"mod f32 x", "x = rcp(sqrt(x))", {f(16)}, {f(0.25)}},
    {"in u32 x, out u32 a, out u32 b, out u32 c, out u32 e",
     "a = popc(x); b = clz(x); c = brev(x); e = ffs(x)",
     {0x70, 0, 0, 0, 0},
     {0x70, 3, 25, 0x0E000000, 5}},
    {"in s64 x, out u32 a, out u32 b, out s64 c, out u32 e",
     "a = popc(x); b = clz(x); c = brev(x); e = ffs(x)",
     {1, 0, 0, 0, 0},
     {1, 1, 63, 0x8000000000000000, 1}},
    {"in u32 x, out u32 e", "e = ffs(x)", {0, 9}, {0, 0}},
    {"mod s32 x, in pred p", "x = select(p, x, 7)", {s(1), 0}, {s(7), 0}},
    {"mod u32 x", "x = mulhi(x, 0x10000)", {0x12345678}, {0x1234}},
    {"mod u32 x", "x = -x", {1}, {0xFFFFFFFF}},
    {"mod s32 x", "x = abs(x)", {s(-4)}, {s(4)}},
    // shift counts clamp, as PTX's do
    {"mod u32 x, in u32 n", "x = x << n", {1, 40}, {0, 40}},
    {"mod s32 x, in s32 n", "x = x >> n", {s(-5), s(-1)}, {s(-1), s(-1)}},
    {"mod s16 x", "x = x >> 2", {0x8000}, {0xE000}},
    {"mod u64 x", "x = x >> 60 | x << 4", {0xABCDEF0123456789}, {0xBCDEF0123456789A}},
    // fragments, words of bits, preds
    {"mod f32 frag[3], in f32 x",
     "frag[0] = frag[2] * x; frag[2] = frag[0] + frag[1]",
     {f(1), f(2), f(3), f(4)},
     {f(12), f(2), f(14), f(4)}},
    {"mod b32 w", "w = w & 0xFF", {0x1234}, {0x34}},
    {"mod pred p, in pred q", "p = p ^ q | p & !q", {1, 0}, {1, 0}},
    {"mod pred p, in pred q", "p = p ? q : !q", {0, 0}, {1, 0}},
    {"mod f16x2 x", "x = x * 2 + 1", {0x3C004000}, {0x42004500}},
    {"mod bf16x2 x", "x = max(x - 1, 0)", {0x3F804000}, {0x00003F80}},
    // names that are words elsewhere
    {"mod f32 max, in f32 exp", "max = max(max, exp)", {f(1), f(2)}, {f(2), f(2)}},
    {"mod s32 x", "x = !(x > 3) ? x : ((((x))))", {s(5)}, {s(5)}},
};

TEST(Expression, ComputesOnTheEmulator) {
    for (const ExpressionRow& row : rows) {
        SCOPED_TRACE(row.text);
        const Signature signature = signature_of(row.signature);
        const auto stub = compile_expression(row.text, signature);
        ASSERT_TRUE(stub) << describe(stub.error(), row.text);
        Values values;
        for (const std::uint64_t word : row.inputs) values.push_back({word});
        const auto results = test::by_emulator(signature, {stub->ptx()}, values);
        ASSERT_TRUE(results) << describe(results.error()) << stub->ptx();
        for (std::size_t r = 0; r < row.expected.size(); ++r)
            EXPECT_EQ((*results)[0][r][0], row.expected[r]) << "register " << r << '\n' << stub->ptx();
    }
}

TEST(Expression, EvaluatesToTheSame) {
    for (const ExpressionRow& row : rows) {
        SCOPED_TRACE(row.text);
        const Signature signature = signature_of(row.signature);
        const auto machine = stack::Machine::make(expression_set(), signature);
        ASSERT_TRUE(machine);
        const auto program = parse_expression(row.text, *machine);
        ASSERT_TRUE(program) << describe(program.error(), row.text);
        Values values;
        for (const std::uint64_t word : row.inputs) values.push_back(std::vector<std::uint64_t>(3, word));
        const auto results = test::by_evaluate(*program, *machine, values);
        ASSERT_TRUE(results) << describe(results.error());
        for (std::size_t r = 0; r < row.expected.size(); ++r)
            EXPECT_EQ((*results)[r][2], row.expected[r]) << "register " << r;
    }
}

TEST(Expression, ItsProgramIsATextOfTheStackLanguage) {
    for (const ExpressionRow& row : rows) {
        SCOPED_TRACE(row.text);
        const auto machine = stack::Machine::make(expression_set(), signature_of(row.signature));
        const auto program = parse_expression(row.text, *machine);
        ASSERT_TRUE(program);
        const std::string text = stack::print(*program, *machine);
        const auto again = stack::parse(text, *machine);
        ASSERT_TRUE(again) << text << describe(again.error(), text);
        EXPECT_EQ(again->code, program->code) << text;
    }
}

// ---- pointers

constexpr const char* pointer_signature =
    "mod f32 acc, in u64 p, in ptr_f32:u64 q, in s32 i, in u32 u, in s64 l, in u64 k, in f64 wide, in f16 "
    "half";

float run_with_memory(std::string_view text, float acc, std::int32_t i, const std::vector<float>& memory,
                      std::size_t origin, std::string* error = nullptr) {
    const Signature signature = signature_of(pointer_signature);
    const auto stub = compile_expression(text, signature, {}, {.allowed = Effect::load});
    EXPECT_TRUE(stub) << (stub ? "" : describe(stub.error(), text));
    if (!stub) return 0;
    Emulator emulator({.threads = 1});
    const auto address = emulator.allocate(memory.size() * 4), table = emulator.allocate(9 * 8);
    EXPECT_TRUE(emulator.write(*address, std::as_bytes(std::span(memory))));
    const std::uint64_t pointer = *address + 4 * origin;
    const std::vector<std::uint64_t> registers = {f(acc),
                                                  pointer,
                                                  pointer,
                                                  s(i),
                                                  s(i),
                                                  static_cast<std::uint64_t>(std::int64_t{i}),
                                                  static_cast<std::uint64_t>(std::int64_t{i}),
                                                  d(0),
                                                  0};
    EXPECT_TRUE(emulator.write(*table, std::as_bytes(std::span(registers))));
    const auto module = emulator.load(test::table_kernel(signature, {stub->ptx()}, 1));
    EXPECT_TRUE(module);
    const std::vector<std::span<const std::byte>> arguments = {std::as_bytes(std::span(&*table, 1)),
                                                               std::as_bytes(std::span(&*table, 1))};
    const auto run = emulator.launch(**module, "k", {.grid = {1, 1, 1}, .block = {1, 1, 1}}, arguments);
    if (error != nullptr)
        *error = run ? "" : message(run.error());
    else
        EXPECT_TRUE(run) << (run ? ""
                                 : describe(run.error(), test::table_kernel(signature, {stub->ptx()}, 1)));
    std::uint32_t word = 0;
    EXPECT_TRUE(emulator.read(*table, std::as_writable_bytes(std::span(&word, 1))));
    return std::bit_cast<float>(word);
}

TEST(Expression, LoadsWhatPointersPointTo) {
    const std::vector<float> memory = {10, 20, 30, 40, 50};
    for (const char* text :
         {"acc = acc + p[i]", "acc = p[i] + acc", "acc = acc + f32[p, i]", "acc = acc + q[i]",
          "acc = acc + q[l]", "acc = q[k] + acc", "t = p[i]; acc = acc + t", "acc += p[i]",
          "r = p + u64(4 * s64(i)); acc = acc + r[0]", "acc = i > -100 ? acc + p[i] : 0",
          "acc = acc + f32(f64(q[i]))", "acc = max(acc + p[\ni\n], 0)"})
        for (const int i : {-2, -1, 0, 1, 2})
            EXPECT_EQ(run_with_memory(text, 1, i, memory, 2), 31 + 10 * static_cast<float>(i))
                << text << ' ' << i;
    EXPECT_EQ(run_with_memory("acc = p[-2] + 2 * p[1]", 0, 0, memory, 2), 90);
    EXPECT_EQ(run_with_memory("acc = q[u]", 0, 2, memory, 2), 50);
    // other types read the same bytes: the upper half of an f32 is a bf16
    for (const char* text :
         {"acc = f32(bf16[p, 2 * i + 1])", "acc = float_bits(u32(u16[p, 2 * i + 1]) << 16)",
          "acc = float_bits(u32[p, i])", "acc = float_bits(u32(s64[p, i / 4] >> 32))",
          "h = f16[p, 2 * i]; acc = q[i] + f32(h)", "acc = f32(f64(s32[p, i] >> 24)) > 64 ? q[k] : -1"})
        EXPECT_EQ(run_with_memory(text, 0, 2, memory, 2),
                  std::string_view(text).find("s64") == std::string_view::npos ? 50 : 40)
            << text;
    EXPECT_EQ(run_with_memory("acc = p[s32(q[0]) / 10 - 2]", 0, 0, memory, 2), 40);
}

TEST(Expression, ReadsMemoryOnlyWhereItsArmIsChosen) {
    const std::vector<float> memory = {10, 20};
    const struct {
        const char* text;
        float there, not_there;
    } choices[] = {{"acc = i < 2 ? p[i] : 0", 20, 0},
                   {"acc = i >= 2 ? 0 : acc + p[i] * p[i]", 401, 0},
                   {"acc = select(i < 2 && q[i] > 5, 1, 2)", 1, 2},
                   {"acc = i >= 2 || q[i] < 15 ? 1 : 2", 2, 1},
                   {"acc = i < 2 ? i < 1 ? p[i + 1] : p[i] : i == 3 ? p[i] : 7", 20, 7}};
    for (const auto& [text, there, not_there] : choices) {
        EXPECT_EQ(run_with_memory(text, 1, 1, memory, 0), there) << text;
        EXPECT_EQ(run_with_memory(text, 1, 1 << 20, memory, 0), not_there) << text;
    }
    std::string error;
    run_with_memory("acc = p[i]", 1, 1 << 20, memory, 0, &error);
    EXPECT_THAT(error, testing::HasSubstr("out of bounds"));
}

// ---- options

std::string ptx_of(std::string_view text, std::string_view signature, const ExpressionOptions& options = {}) {
    const auto stub = compile_expression(text, signature_of(signature), options, {.allowed = Effect::load});
    return stub ? stub->ptx() : describe(stub.error(), text);
}

TEST(Expression, TakesFormsThatTheAssemblerDoesNotContract) {
    EXPECT_THAT(ptx_of("x = x * y + 1", "mod f32 x, in f32 y"),
                testing::AllOf(testing::HasSubstr("mul.rn.f32"), testing::HasSubstr("add.rn.f32")));
    EXPECT_THAT(ptx_of("x = x * y - sqrt(x) / y", "mod f64 x, in f64 y"),
                testing::AllOf(testing::HasSubstr("mul.rn.f64"), testing::HasSubstr("div.rn.f64")));
    EXPECT_THAT(ptx_of("x = x * y + 1", "mod f16 x, in f16 y"), testing::HasSubstr("mul.rn.f16"));
}

TEST(Expression, ContractsWhereItMay) {
    const ExpressionOptions options{.contract = true};
    for (const char* text :
         {"x = x * y + z", "x = z + x * y", "x = x * y - z", "x = z - x * y", "x = x * y + x * z"}) {
        const std::string ptx = ptx_of(text, "mod f32 x, in f32 y, in f32 z", options);
        EXPECT_THAT(ptx,
                    testing::AllOf(testing::HasSubstr("fma.rn.f32"), testing::Not(testing::HasSubstr("add.")),
                                   testing::Not(testing::HasSubstr("sub."))))
            << text;
    }
    EXPECT_THAT(ptx_of("x = x * y + z", "mod s32 x, in s32 y, in s32 z", options),
                testing::HasSubstr("add.s32"));
    const Signature signature = signature_of("mod f32 x, in f32 y, in f32 z");
    std::vector<std::string> stubs;
    for (const char* text : {"x = x * y + z", "x = z + x * y", "x = x * y - z", "x = z - x * y"})
        stubs.push_back(compile_expression(text, signature, options)->ptx());
    const auto results = test::by_emulator(signature, stubs, {{f(3)}, {f(5)}, {f(7)}});
    ASSERT_TRUE(results);
    const float expected[] = {22, 22, 8, -8};
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ((*results)[i][0][0], f(expected[i])) << i;
}

TEST(Expression, TakesApproximateFormsByNameAndByOption) {
    EXPECT_THAT(ptx_of("x = approx_exp2(x)", "mod f32 x"), testing::HasSubstr("ex2.approx.f32"));
    EXPECT_THAT(ptx_of("x = exp2(x)", "mod f32 x", {.approx = true}), testing::HasSubstr("ex2.approx.f32"));
    EXPECT_THAT(ptx_of("x = x / 3", "mod f32 x", {.approx = true}), testing::HasSubstr("div.full.f32"));
    EXPECT_THAT(ptx_of("x = x / 3", "mod f64 x", {.approx = true}), testing::HasSubstr("div.rn.f64"));
    EXPECT_THAT(ptx_of("x = sin(x)", "mod f32 x"), testing::Not(testing::HasSubstr("approx")));
    EXPECT_THAT(
        ptx_of("x = approx_exp2(x) + x", "mod f32 x", {.ftz = true}),
        testing::AllOf(testing::HasSubstr("ex2.approx.ftz.f32"), testing::HasSubstr("add.rn.ftz.f32")));
}

// ---- errors

struct ErrorRow {
    const char* text;
    Errc code;
    std::uint32_t line, column;
    const char* part;  // of the message
};

constexpr const char* error_signature =
    "mod f32 acc, in f32 bias, mod s32 n, in u32 u, in u64 p, in f32 frag[4], in f16 h, in pred q, out f32 o";

const ErrorRow error_rows[] = {
    {"acc = mx(acc, 1)", Errc::expression_name_unknown, 1, 7, "did you mean max?"},
    {"acc = acc + bais", Errc::expression_name_unknown, 1, 13, "did you mean bias?"},
    {"acc = zzzzz", Errc::expression_name_unknown, 1, 7, "there are acc, bias"},
    {"acc = max", Errc::expression_name_unknown, 1, 7, "max is a function"},
    {"acc = bias(1)", Errc::expression_name_unknown, 1, 7, "bias is no function"},
    {"acc = %tidx.x", Errc::expression_name_unknown, 1, 7, "did you mean %tid.x?"},
    {"acc = float(n)", Errc::expression_name_unknown, 1, 7, "here it is f32"},
    {"acc = relu(acc)", Errc::expression_name_unknown, 1, 7, "here it is max(x, 0)"},
    {"acc = max(acc)", Errc::expression_argument_count_wrong, 1, 7, "max takes 2 arguments, 1 is given"},
    {"acc = sqrt(acc, acc)", Errc::expression_argument_count_wrong, 1, 7,
     "sqrt takes 1 argument, 2 are given"},
    {"acc = f32()", Errc::expression_argument_count_wrong, 1, 7, "takes 1 argument, 0 are given"},
    {"acc = acc + n", Errc::expression_type_wrong, 1, 13, "write f32(n)"},
    {"acc = n * acc", Errc::expression_type_wrong, 1, 7, "write f32(n)"},
    {"n = n + u", Errc::expression_type_wrong, 1, 9, "write s32(u)"},
    {"acc = acc + h", Errc::expression_type_wrong, 1, 13, "write f32(h)"},
    {"acc = n + 1", Errc::expression_type_wrong, 1, 7, "write f32(n + 1)"},
    {"acc = acc\n  + n", Errc::expression_syntax_wrong, 2, 3,
     "expected the name that is assigned, found '+'"},
    {"acc = acc;\nacc = (acc +\n  n)", Errc::expression_type_wrong, 3, 3, "write f32(n)"},
    {"n = n * 1.5", Errc::expression_type_wrong, 1, 9, "1.5 has a fraction"},
    {"n = n + sqrt(2)", Errc::expression_type_wrong, 1, 5,
     "n is s32 and sqrt(2) is f32, and + converts nothing by itself: write f32(n)"},
    {"n = sqrt(2)", Errc::expression_type_wrong, 1, 5, "write s32(sqrt(2))"},
    {"n = n << sqrt(2)", Errc::expression_type_wrong, 1, 10, "write u32(sqrt(2))"},
    {"acc = acc + (3 & 1)", Errc::expression_type_wrong, 1, 14, "write f32(3 & 1)"},
    {"acc = acc + brev(1)", Errc::expression_type_wrong, 1, 13, "write f32(brev(1))"},
    {"acc = sqrt(2) + brev(1)", Errc::expression_type_wrong, 1, 17, "write f32(brev(1))"},
    {"acc = acc + fmod(5, 2) + f64(1)", Errc::expression_type_wrong, 1, 7, "write f64(acc + fmod(5, 2))"},
    {"acc = sqrt(2) & 1", Errc::expression_type_wrong, 1, 7, "& takes"},
    {"acc = acc + sqrt(1e200)", Errc::expression_literal_wrong, 1, 18, "out of range for f32"},
    {"acc = float_bits(sqrt(2))", Errc::expression_type_wrong, 1, 18,
     "float_bits takes u32 and u64, this is f32"},
    {"n = acc > 1 ? 1 : 2.5", Errc::expression_type_wrong, 1, 19, "has a fraction"},
    {"acc = acc && q", Errc::expression_type_wrong, 1, 7, "write acc != 0"},
    {"acc = n ? 1 : 2", Errc::expression_type_wrong, 1, 7, "write n != 0"},
    {"n = !n", Errc::expression_type_wrong, 1, 6, "write n != 0"},
    {"acc = sqrt(n)", Errc::expression_type_wrong, 1, 12,
     "sqrt takes f16, bf16, f32 and f64, n is s32: write f32(n)"},
    {"acc = acc % 2", Errc::expression_type_wrong, 1, 7, "% takes"},
    {"acc = acc & 1", Errc::expression_type_wrong, 1, 7, "bits(acc)"},
    {"acc = acc << 1", Errc::expression_type_wrong, 1, 7, "<< takes"},
    {"n = n << h", Errc::expression_type_wrong, 1, 10, "write u32(h)"},
    {"acc = -q", Errc::expression_type_wrong, 1, 8, "write u32(q)"},
    {"acc = q", Errc::expression_type_wrong, 1, 7, "write f32(q)"},
    {"n = f32(p[n]) > 1 ? 1 : 2", Errc::expression_type_wrong, 1, 9, "write f32[p, n]"},
    {"t = p[n + 1]; n = 1", Errc::expression_type_wrong, 1, 5, "write f32[p, n + 1]"},
    {"acc = p[acc]", Errc::expression_type_wrong, 1, 9, "an index is u32, s32, u64 or s64, this is f32"},
    {"acc = n[1]", Errc::expression_type_wrong, 1, 7, "n is s32: only a pointer"},
    {"acc = f32[n, 1]", Errc::expression_type_wrong, 1, 11, "a pointer is u64, this is s32"},
    {"acc = f32[p]", Errc::expression_syntax_wrong, 1, 12, "f32[pointer, index]"},
    {"acc = frag", Errc::expression_type_wrong, 1, 7, "write frag[0] to frag[3]"},
    {"acc = frag[4]", Errc::expression_type_wrong, 1, 12, "there is no 4"},
    {"acc = frag[n]", Errc::expression_type_wrong, 1, 12, "constant"},
    {"acc = o", Errc::expression_assignment_wrong, 1, 7, "`out`"},
    {"bias = 1", Errc::expression_assignment_wrong, 1, 1, "`in`"},
    {"frag[1] = 2", Errc::expression_assignment_wrong, 1, 1, "`in`"},
    {"p[1] = acc", Errc::expression_assignment_wrong, 1, 1, "read memory and do not write it"},
    {"ac = acc + 1; o = 1", Errc::expression_assignment_wrong, 1, 1, "did you mean acc?"},
    {"acc = acc + 1", Errc::expression_assignment_wrong, 1, 14, "the `out` operand o is not assigned"},
    {"f32 = 1", Errc::expression_assignment_wrong, 1, 1, "a word of the language"},
    {"acc = acc = 1", Errc::expression_syntax_wrong, 1, 11, "'==' compares"},
    {"acc == 1", Errc::expression_syntax_wrong, 1, 5, "'=' assigns"},
    {"max(acc, 0)", Errc::expression_syntax_wrong, 1, 4, "acc or n or o = …"},
    {"acc = acc +", Errc::expression_syntax_wrong, 1, 12, "expected a value, found the end"},
    {"acc = (acc", Errc::expression_syntax_wrong, 1, 7, "never closed"},
    {"acc = max(acc, 1", Errc::expression_syntax_wrong, 1, 7, "never closed"},
    {"acc = acc)", Errc::expression_syntax_wrong, 1, 10, "found ')'"},
    {"acc = max(acc,)", Errc::expression_syntax_wrong, 1, 15, "expected a value"},
    {"acc = q ? 1", Errc::expression_syntax_wrong, 1, 12, "expected ':'"},
    {"acc = 1 2", Errc::expression_syntax_wrong, 1, 9, "found '2'"},
    {"acc = acc @ 2", Errc::expression_syntax_wrong, 1, 11, "found '@'"},
    {"acc = acc × 2", Errc::expression_syntax_wrong, 1, 11, "found '×'"},
    {"acc = acc /* x", Errc::expression_syntax_wrong, 1, 11, "'*/'"},
    {"acc = \"x\"", Errc::expression_syntax_wrong, 1, 7, "expected a value"},
    {"acc = 1e50", Errc::expression_literal_wrong, 1, 7, "out of range for f32"},
    {"n = 3000000000", Errc::expression_literal_wrong, 1, 5, "out of range for s32"},
    {"n = n + 2147483648", Errc::expression_literal_wrong, 1, 9, "out of range for s32"},
    {"n = s32(u + -1)", Errc::expression_literal_wrong, 1, 13, "-1 is negative for u32"},
    {"acc = f32(h + 70000)", Errc::expression_literal_wrong, 1, 15, "out of range for f16"},
    {"acc = 017", Errc::expression_literal_wrong, 1, 7, "octal"},
    {"acc = 0x", Errc::expression_literal_wrong, 1, 7, "is no number"},
    {"acc = 1.5.5", Errc::expression_literal_wrong, 1, 7, "is no number"},
    {"acc = 1e", Errc::expression_literal_wrong, 1, 7, "is no number"},
    {"acc = 99999999999999999999", Errc::expression_literal_wrong, 1, 7, "more than 64 bits"},
    {"n = n / 0", Errc::expression_literal_wrong, 1, 9, "divided by 0"},
    {"n = n % 0", Errc::expression_literal_wrong, 1, 9, "divided by 0"},
    {"acc = acc + p[1]; o = 1", Errc::stub_effect_forbidden, 1, 13, "does not allow `load`"},
};

TEST(Expression, SaysWhatIsWrongAndWhere) {
    const Signature signature = signature_of(error_signature);
    for (const ErrorRow& row : error_rows) {
        SCOPED_TRACE(row.text);
        const auto stub = compile_expression(row.text, signature);
        ASSERT_FALSE(stub) << stub->ptx();
        EXPECT_EQ(name(stub.error().code), name(row.code));
        ASSERT_TRUE(stub.error().span.known());
        const Position place = position(row.text, stub.error().span.begin);
        EXPECT_EQ(place.line, row.line);
        EXPECT_EQ(place.column, row.column);
        EXPECT_THAT(message(stub.error(), row.text), testing::HasSubstr(row.part));
    }
}

TEST(Expression, SaysWhatATargetLacks) {
    const Signature signature = signature_of("mod bf16 x, mod f32 y");
    const auto stub = compile_expression("x = x + 1", signature, {.target = {75, 0}});
    ASSERT_FALSE(stub);
    EXPECT_EQ(stub.error().code, Errc::expression_target_not_able);
    EXPECT_TRUE(compile_expression("x = x + 1", signature, {.target = {80, 0}}));
    EXPECT_TRUE(compile_expression("y = approx_tanh(y)", signature, {.target = {75, 0}}));
    EXPECT_FALSE(compile_expression("y = approx_tanh(y)", signature, {.target = {70, 0}}));
    // An architecture that there is not is no very new one, nor any.
    for (const Architecture target :
         {Architecture{1000, 0}, Architecture{91, 'a'}, Architecture{80, 'a'}, Architecture{0, 'a'}})
        EXPECT_EQ(compile_expression("y = y", signature, {.target = target}).error().code,
                  Errc::target_unknown);
}

TEST(Expression, WantsAMachineOfItsSet) {
    const auto machine = stack::Machine::make(stack::find_set("f32"), signature_of("mod f32 x"));
    ASSERT_TRUE(machine);
    const auto program = parse_expression("x = x + 1", *machine);
    ASSERT_FALSE(program);
    EXPECT_EQ(program.error().code, Errc::expression_machine_wrong);
}

// ---- hostile and large

TEST(Expression, RefusesWhatIsNestedTooDeep) {
    const Signature signature = signature_of("mod f32 x, in pred p");
    const auto repeated = [](std::string_view text, std::size_t count) {
        std::string all;
        for (std::size_t i = 0; i < count; ++i) all += text;
        return all;
    };
    for (const char* part : {"(", "-", "!", "max(", "p ? ", "p ? x : ", "x + (", "~", "x[", "f32[", "p && (",
                             "x < ", "x ? (", "x * -"}) {
        const std::string text = "x = " + repeated(part, 200000);
        EXPECT_FALSE(compile_expression(text, signature)) << part;
    }
    const auto deep = compile_expression("x = " + std::string(1 << 20, '('), signature);
    ASSERT_FALSE(deep);
    EXPECT_EQ(deep.error().code, Errc::expression_too_large);
    EXPECT_TRUE(compile_expression("x = " + std::string(100, '(') + "x" + std::string(100, ')'), signature));
}

TEST(Expression, TakesLongTexts) {
    const Signature signature = signature_of("mod f32 x");
    std::string sum = "x = x", names = "a0 = x\n";
    constexpr int count = 20000;
    for (int i = 0; i < count; ++i) sum += " + 1";
    for (int i = 1; i < count; ++i)
        names += "a" + std::to_string(i) + " = a" + std::to_string(i - 1) + " + 1\n";
    names += "x = a" + std::to_string(count - 1);
    for (const std::string& text : {sum, names}) {
        const auto stub = compile_expression(text, signature);
        ASSERT_TRUE(stub) << describe(stub.error(), text);
        EXPECT_GE(stub->instruction_count(), static_cast<std::uint32_t>(count - 1));
    }
}

TEST(Expression, AllocatesAsOftenForManyOperationsAsForFew) {
    const Signature signature = signature_of("mod f32 acc, in f32 x");
    std::string text = "acc = acc";
    const std::string few = text + " + x * 2 - max(x, 0)";
    for (int i = 0; i < 100; ++i) text += " + x * 2 - max(x, 0)";
    const auto count = [&](const std::string& expression) {
        (void)compile_expression(expression, signature);
        const std::size_t before = allocations;
        (void)compile_expression(expression, signature);
        return allocations - before;
    };
    (void)compile_expression(text, signature);
    EXPECT_EQ(count(text), count(few));
}

}  // namespace
}  // namespace ptxgraft
