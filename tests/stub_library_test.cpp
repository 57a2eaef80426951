// The stubs of stubs/ on the emulator, against double precision: the error bounds that their comments
// promise.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "ptxgraft/emulator.hpp"
#include "ptxgraft/stack.hpp"
#include "stub_text.hpp"

namespace ptxgraft {
namespace {

const std::filesystem::path folder = std::filesystem::path(PTXGRAFT_SOURCE_DIR) / "stubs";

struct Row {
    const char* file;
    std::function<double(double acc, double a, double b)> reference;  // of the operands in their order
    double absolute;                                                  // times max(1, largest operand)
};

double gelu(double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }
double silu(double x) { return x / (1 + std::exp(-x)); }
constexpr double once = 0x1p-24;  // half an ulp of 1

const Row rows[] = {
    {"relu.stub", [](double x, double, double) { return std::max(x, 0.0); }, 0},
    {"gelu.stub", [](double x, double, double) { return gelu(x); }, 1e-6},
    {"silu.stub", [](double x, double, double) { return silu(x); }, 1e-6},
    {"bias.stub", [](double x, double bias, double) { return x + bias; }, 2 * once},
    {"bias_relu.stub", [](double x, double bias, double) { return std::max(x + bias, 0.0); }, 2 * once},
    {"scale.stub", [](double x, double, double) { return x / 8; }, 0},
    {"clamp.stub", [](double x, double, double) { return std::clamp(x, -1.0, 1.0); }, 0},
    {"square.stub", [](double x, double, double) { return x * x; }, -once},
    {"l1_distance.stub", [](double x, double a, double b) { return x + std::abs(a - b); }, 6 * once},
    {"l2_distance.stub", [](double x, double a, double b) { return x + (a - b) * (a - b); }, -4 * once},
    {"max_plus.stub", [](double x, double a, double b) { return std::max(x, a + b); }, 2 * once},
    {"elementwise/relu.stub", [](double x, double, double) { return std::max(x, 0.0); }, 0},
    {"elementwise/gelu.stub", [](double x, double, double) { return gelu(x); }, 1e-6},
    {"elementwise/silu.stub", [](double x, double, double) { return silu(x); }, 1e-6},
    {"elementwise/scale.stub", [](double x, double, double) { return x / 8; }, 0},
    {"elementwise/clamp.stub", [](double x, double, double) { return std::clamp(x, -1.0, 1.0); }, 0},
    {"elementwise/square.stub", [](double x, double, double) { return x * x; }, -once},
};

std::string read(const std::filesystem::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

// One thread per point: operand k is read from in + 4 (points k + thread), the result goes to out + 4 thread.
std::string kernel(const Signature& signature, const std::string& stub, std::uint32_t points) {
    std::string text =
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out) "
        "{\n"
        "\t.reg .u32 %t<4>; .reg .u64 %a<4>;\n\tmov.u32 %t0, %ctaid.x; mov.u32 %t1, %tid.x;\n\tmad.lo.u32 "
        "%t2, %t0, 128, %t1;\n"
        "\tmul.wide.u32 %a0, %t2, 4; ld.param.u64 %a1, [in]; add.u64 %a1, %a1, %a0;\n"
        "\tld.param.u64 %a2, [out]; add.u64 %a2, %a2, %a0;\n" +
        test::declarations(signature);
    std::size_t k = 0;
    std::string result;
    for (const SiteOperand& operand : signature.operands) {
        if (operand.direction != Direction::in) result = operand.register_name;
        if (operand.direction == Direction::out) continue;
        text += "\tld.global.f32 " + operand.register_name + ", [%a1+" + std::to_string(4 * points * k++) +
                "];\n";
    }
    return text + stub + "\tst.global.f32 [%a2], " + result + ";\n\tret;\n}\n";
}

template <class T>
std::span<const std::byte> bytes_of(const T& values) {
    return std::as_bytes(std::span(values));
}

std::vector<float> run(const std::string& ptx, const std::vector<float>& inputs, std::uint32_t points) {
    Emulator emulator;
    const auto module = emulator.load(ptx);
    EXPECT_TRUE(module) << describe(module.error(), ptx);
    if (!module) return {};
    const std::array in = {*emulator.allocate(4 * inputs.size())},
                     out = {*emulator.allocate(std::size_t{4} * points)};
    EXPECT_TRUE(emulator.write(in[0], bytes_of(inputs)));
    const std::array arguments = {bytes_of(in), bytes_of(out)};
    const auto launched = emulator.launch(**module, "k", {.grid = {points / 128}, .block = {128}}, arguments);
    EXPECT_TRUE(launched) << describe(launched.error(), ptx);
    std::vector<float> result(points);
    EXPECT_TRUE(emulator.read(out[0], std::as_writable_bytes(std::span(result))));
    return result;
}

// Usual values, powers of ten, signed zeros.
std::vector<float> points_of(std::size_t count) {
    std::mt19937 random(3);
    std::vector<float> values(count);
    for (float& value : values) {
        std::uniform_real_distribution<double> usual(-6, 6), power(-30, 12);
        const double magnitude = random() % 4 == 0 ? std::pow(10.0, power(random)) : usual(random);
        value = static_cast<float>(random() % 2 == 0 ? magnitude : -magnitude);
    }
    values[0] = 0.0f, values[1] = -0.0f;
    return values;
}

class Library : public testing::TestWithParam<Row> {};

TEST_P(Library, KeepsItsErrorBound) {
    constexpr std::uint32_t points = 4096;
    const Row& row = GetParam();
    const std::string text = read(folder / row.file);
    const auto file = stack::parse_file(text);
    ASSERT_TRUE(file) << describe(file.error(), text);
    const Signature& signature = file->signature;
    const auto stub = stack::compile(text, signature);
    ASSERT_TRUE(stub) << describe(stub.error(), text, row.file);
    const std::string ptx = kernel(signature, stub->ptx(), points);
    const auto cubin = test::assemble(ptx);
    ASSERT_TRUE(cubin) << describe(cubin.error(), ptx);
    const std::vector<float> inputs = points_of(3 * points);
    const std::vector<float> result = run(ptx, inputs, points);
    ASSERT_EQ(result.size(), points);
    for (std::size_t i = 0; i < points; ++i) {
        const double x = inputs[i], a = inputs[points + i], b = inputs[2 * points + i];
        const double wanted = row.reference(x, a, b);
        // a negative bound is relative to the terms of the result; tiny results are subnormal
        const double largest = std::max({1.0, std::abs(x), std::abs(a), std::abs(b)});
        const double terms = std::max(std::abs(wanted), std::abs(x));
        const double bound = row.absolute < 0 ? -row.absolute * terms + 0x1p-149 : row.absolute * largest;
        ASSERT_LE(std::abs(result[i] - wanted),
                  bound + (wanted != 0 && std::abs(wanted) < 0x1p-126 ? 0x1p-149 : 0))
            << row.file << " of " << x << ", " << a << ", " << b << " is " << result[i] << ", not " << wanted;
    }
}

INSTANTIATE_TEST_SUITE_P(Stub, Library, testing::ValuesIn(rows));

TEST(Stub, EveryFileOfTheLibraryIsTested) {
    std::set<std::string> tested, there;
    for (const Row& row : rows) tested.insert(row.file);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
        if (entry.path().extension() == ".stub")
            there.insert(std::filesystem::relative(entry.path(), folder).generic_string());
    EXPECT_EQ(there, tested);
}

}  // namespace
}  // namespace ptxgraft
