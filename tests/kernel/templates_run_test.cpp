// The skeletons of templates/ compute what a double-precision reference does, ungrafted and grafted, at sizes
// that fit nothing, on the emulator.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <random>

#include "ptxgraft/kernel.hpp"
#include "support/cache.hpp"
#include "support/paths.hpp"

namespace ptxgraft {
namespace {

namespace fs = std::filesystem;
const fs::path templates = test::source_path("templates");
constexpr float infinity = std::numeric_limits<float>::infinity();

using Floats = std::vector<float>;
using StubTexts = std::map<std::string, std::string>;

Floats random_floats(std::size_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> uniform(-2, 2);
    Floats values(count);
    for (float& value : values) value = uniform(generator);
    return values;
}

Skeleton skeleton_of(const char* path, const std::vector<std::string>& defines = {}) {
    auto skeleton = Skeleton::from_file((templates / path).string(),
                                        {.target = "sm_90a", .defines = defines, .cache = &test::cache()});
    EXPECT_TRUE(skeleton) << describe(skeleton.error());
    return std::move(*skeleton);
}

// Device arrays stay alive until the end of the test; each is checked for what was written past its end by
// the emulator.
struct Bench {
    Device device = *Device::open("emulator");
    Buffer upload(const Floats& values) { return *device.upload(values); }

    // The output has one element more than the kernel writes, which must stay what it was.
    Buffer output(std::size_t count) { return upload(Floats(count + 1, -1234.5f)); }
    Floats read(const Buffer& buffer) {
        Floats values = *buffer.download<float>();
        EXPECT_EQ(values.back(), -1234.5f);
        values.pop_back();
        return values;
    }

    Kernel graft(const Skeleton& skeleton, const StubTexts& texts) {
        std::vector<Stub> stubs;
        std::vector<Graft> grafts;
        stubs.reserve(texts.size());
        for (const auto& [site, text] : texts) {
            auto stub = stack::compile(text, *skeleton.site(site));
            EXPECT_TRUE(stub) << describe(stub.error(), text);
            stubs.push_back(std::move(*stub));
            grafts.push_back({site, stubs.back()});
        }
        auto kernel = skeleton.graft(grafts, device);
        EXPECT_TRUE(kernel) << describe(kernel.error());
        return std::move(*kernel);
    }

    template <class... Arguments>
    void launch(const Kernel& kernel, const LaunchConfig& config, const Arguments&... arguments) {
        const auto done = kernel.launch(config, arguments...);
        ASSERT_TRUE(done) << describe(done.error(), kernel.ptx());
    }
};

void expect_near(const Floats& values, const std::vector<double>& expected, double tolerance,
                 const char* what) {
    ASSERT_EQ(values.size(), expected.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (std::isinf(expected[i]) && expected[i] == double(values[i])) continue;
        ASSERT_NEAR(values[i], expected[i], tolerance * (1 + std::abs(expected[i])))
            << what << ", element " << i;
    }
}

TEST(Templates, ElementwiseComputesEveryElement) {
    Bench bench;
    const Skeleton skeleton = skeleton_of("elementwise/simple.cu");
    const Kernel plain = bench.graft(skeleton, {});
    const Kernel ramp = bench.graft(skeleton, {{"function", "x x index cvt.rn.f32.u32 fma.rn.f32 -> y"}});
    for (const unsigned n : {0u, 1u, 31u, 257u, 1000u}) {
        const Floats x = random_floats(n, n);
        const Buffer x_device = bench.upload(random_floats(n + 1, n));
        for (const Dim3 grid : {Dim3{1, 1, 1}, Dim3{3, 1, 1}, Dim3{40, 1, 1}}) {
            const Buffer y = bench.output(n), z = bench.output(n);
            bench.launch(plain, {.grid = grid, .block = {32, 1, 1}}, x_device, y, n);
            EXPECT_EQ(bench.read(y), x);
            bench.launch(ramp, {.grid = grid, .block = {96, 1, 1}}, x_device, z, n);
            std::vector<double> expected(n);
            for (unsigned i = 0; i < n; ++i) expected[i] = double(x[i]) * x[i] + i;
            expect_near(bench.read(z), expected, 1e-6, "ramp");
        }
    }
}

struct GemmCase {
    const char* name;
    StubTexts stubs;
    double initial;
    std::function<double(double, double, double)> accumulate;
    std::function<double(double, unsigned, unsigned, double)> epilogue;
};

std::vector<GemmCase> gemm_cases() {
    const auto product = [](double acc, double a, double b) { return acc + a * b; };
    const auto as_it_is = [](double acc, unsigned, unsigned, double) { return acc; };
    return {
        {"plain", {}, 0, product, as_it_is},
        {"bias and relu",
         {{"epilogue", "acc bias add.f32 0.0 max.f32 -> acc"}},
         0,
         product,
         [](double acc, unsigned, unsigned, double bias) { return std::max(acc + bias, 0.0); }},
        {"row and column",
         {{"epilogue", "acc row 1000 col mad.lo.u32 cvt.rn.f32.u32 add.f32 -> acc"}},
         0,
         product,
         [](double acc, unsigned row, unsigned col, double) { return acc + 1000.0 * row + col; }},
        {"max-plus",
         {{"initial", "0fFF800000 -> acc"}, {"multiply_accumulate", "acc a b add.f32 max.f32 -> acc"}},
         -double(infinity),
         [](double acc, double a, double b) { return std::max(acc, a + b); },
         as_it_is},
        {"min-plus",
         {{"initial", "0f7F800000 -> acc"}, {"multiply_accumulate", "acc a b add.f32 min.f32 -> acc"}},
         double(infinity),
         [](double acc, double a, double b) { return std::min(acc, a + b); },
         as_it_is},
        {"L1 distance",
         {{"multiply_accumulate", "acc a b sub.f32 abs.f32 add.f32 -> acc"}},
         0,
         [](double acc, double a, double b) { return acc + std::abs(a - b); },
         as_it_is},
    };
}

TEST(Templates, GemmOfAnySizeAndSemiring) {
    Bench bench;
    const Skeleton skeleton = skeleton_of("gemm/simt.cu");
    struct Size {
        unsigned m, n, k;
    };
    for (const GemmCase& row : gemm_cases()) {
        const Kernel kernel = bench.graft(skeleton, row.stubs);
        for (const auto [m, n, k] :
             {Size{1, 1, 1}, Size{5, 7, 0}, Size{64, 64, 16}, Size{65, 3, 17}, Size{33, 130, 31}}) {
            const Floats a = random_floats(m * k, 1), b = random_floats(k * n, 2), bias = random_floats(n, 3);
            std::vector<double> expected;
            for (unsigned i = 0; i < m; ++i)
                for (unsigned j = 0; j < n; ++j) {
                    double acc = row.initial;
                    for (unsigned p = 0; p < k; ++p) acc = row.accumulate(acc, a[i * k + p], b[p * n + j]);
                    expected.push_back(row.epilogue(acc, i, j, bias[j]));
                }
            const Buffer a_device = bench.upload(random_floats(m * k + 1, 1)),
                         b_device = bench.upload(random_floats(k * n + 1, 2)),
                         bias_device = bench.upload(bias), c = bench.output(m * n);
            bench.launch(kernel, {.grid = {(n + 63) / 64, (m + 63) / 64, 1}, .block = {16, 16, 1}}, a_device,
                         b_device, bias_device, c, m, n, k);
            expect_near(bench.read(c), expected, 1e-5, row.name);
        }
    }
}

TEST(Templates, GemmWithoutABiasSeesZero) {
    Bench bench;
    const Kernel kernel = bench.graft(skeleton_of("gemm/simt.cu"), {{"epilogue", "bias -> acc"}});
    const Buffer a = bench.upload({1, 2}), c = bench.output(1);
    bench.launch(kernel, {.grid = {1, 1, 1}, .block = {16, 16, 1}}, a, a, std::uint64_t{0}, c, 1u, 1u, 2u);
    EXPECT_EQ(bench.read(c), Floats{0});
}

TEST(Templates, RmsNormOfRowsOfAnyLength) {
    Bench bench;
    const Skeleton skeleton = skeleton_of("norm/simple.cu");
    const Kernel plain = bench.graft(skeleton, {});
    const Kernel grafted = bench.graft(skeleton, {{"prologue", "x row cvt.rn.f32.u32 add.f32 -> x"},
                                                  {"epilogue", "y weight y fma.rn.f32 0.0 max.f32 -> y"}});
    struct Size {
        unsigned rows, columns, grid, block;
    };
    for (const auto [rows, columns, grid, block] :
         {Size{1, 1, 1, 32}, Size{3, 31, 3, 32}, Size{5, 1000, 2, 256}, Size{2, 1025, 2, 1024},
          Size{4, 65, 9, 96}}) {
        const float eps = 1e-3f;
        const Floats x = random_floats(rows * columns, 4), weight = random_floats(columns, 5);
        std::vector<double> expected, expected_grafted;
        for (unsigned i = 0; i < rows; ++i) {
            double squares = 0, shifted = 0;
            for (unsigned j = 0; j < columns; ++j) {
                const double value = x[i * columns + j];
                squares += value * value;
                shifted += (value + i) * (value + i);
            }
            for (unsigned j = 0; j < columns; ++j) {
                const double value = x[i * columns + j];
                expected.push_back(value / std::sqrt(squares / columns + eps) * weight[j]);
                expected_grafted.push_back(
                    std::max(0.0, (value + i) / std::sqrt(shifted / columns + eps) * (1.0 + weight[j])));
            }
        }
        const Buffer x_device = bench.upload(x), weight_device = bench.upload(weight);
        const Buffer y = bench.output(rows * columns), z = bench.output(rows * columns),
                     w = bench.output(rows * columns);
        const LaunchConfig config{.grid = {grid, 1, 1}, .block = {block, 1, 1}};
        bench.launch(plain, config, x_device, weight_device, y, rows, columns, eps);
        expect_near(bench.read(y), expected, 1e-5, "plain");
        bench.launch(grafted, config, x_device, weight_device, z, rows, columns, eps);
        expect_near(bench.read(z), expected_grafted, 1e-5, "grafted");
        bench.launch(plain, config, x_device, std::uint64_t{0}, w, rows, columns, eps);
        for (std::size_t i = 0; i < expected.size(); ++i) expected[i] /= weight[i % columns];
        expect_near(bench.read(w), expected, 1e-5, "no weight");
    }
}

struct AttentionSize {
    unsigned heads, rows, columns, dim;
};

// `score` gives the score of a query and a key from the scaled product.
std::vector<double> attention(const AttentionSize& size, const Floats& q, const Floats& k, const Floats& v,
                              double scale,
                              const std::function<double(double, unsigned, unsigned, unsigned)>& score) {
    const auto [heads, rows, columns, dim] = size;
    std::vector<double> out(std::size_t(heads) * rows * dim, 0.0);
    for (unsigned h = 0; h < heads; ++h)
        for (unsigned i = 0; i < rows; ++i) {
            std::vector<double> scores(columns);
            for (unsigned j = 0; j < columns; ++j) {
                double dot = 0;
                for (unsigned d = 0; d < dim; ++d)
                    dot += double(q[(h * rows + i) * dim + d]) * k[(h * columns + j) * dim + d];
                scores[j] = score(dot * scale, i, j, h);
            }
            const double top = columns ? *std::max_element(scores.begin(), scores.end()) : -double(infinity);
            if (top == -double(infinity)) continue;
            double sum = 0;
            for (const double s : scores) sum += std::exp(s - top);
            for (unsigned j = 0; j < columns; ++j)
                for (unsigned d = 0; d < dim; ++d)
                    out[(h * rows + i) * dim + d] +=
                        std::exp(scores[j] - top) / sum * v[(h * columns + j) * dim + d];
        }
    return out;
}

TEST(Templates, AttentionWithScoresOfAnyKind) {
    struct Case {
        const char* name;
        StubTexts stubs;
        std::function<double(double, unsigned, unsigned, unsigned)> score;
        double factor;
    };
    const Case cases[] = {
        {"plain", {}, [](double s, unsigned, unsigned, unsigned) { return s; }, 1},
        {"causal",
         {{"score", "0fFF800000 score column row setp.gt.u32 selp.f32 -> score"}},
         [](double s, unsigned row, unsigned column, unsigned) {
             return column > row ? -double(infinity) : s;
         },
         1},
        // Whole rows are masked, and whole blocks of keys before the first that is not.
        {"only keys from 40 on, no even query",
         {{"score",
           "0fFF800000 0fFF800000 score column 40 setp.lt.u32 selp.f32 row 2 rem.u32 0 setp.eq.u32 selp.f32 "
           "-> score"}},
         [](double s, unsigned row, unsigned column, unsigned) {
             return column < 40 || row % 2 == 0 ? -double(infinity) : s;
         },
         1},
        {"slope of the head, twice the value",
         {{"score", "column cvt.rn.f32.u32 head cvt.rn.f32.u32 score fma.rn.f32 -> score"},
          {"epilogue", "value value add.f32 -> value"}},
         [](double s, unsigned, unsigned column, unsigned head) { return s + double(column) * head; },
         2},
    };
    Bench bench;
    for (const AttentionSize& size : {AttentionSize{1, 1, 1, 32}, AttentionSize{2, 35, 67, 40},
                                      AttentionSize{1, 33, 64, 128}, AttentionSize{1, 3, 0, 64}}) {
        const auto [heads, rows, columns, dim] = size;
        const Skeleton skeleton = skeleton_of("attention/simt.cu", {"HEAD_DIM=" + std::to_string(dim)});
        const Floats q = random_floats(heads * rows * dim, 6), k = random_floats(heads * columns * dim, 7),
                     v = random_floats(heads * columns * dim, 8);
        const float scale = 1 / std::sqrt(float(dim));
        for (const Case& row : cases) {
            const Kernel kernel = bench.graft(skeleton, row.stubs);
            const Buffer q_device = bench.upload(q), k_device = bench.upload(random_floats(k.size() + 1, 7)),
                         v_device = bench.upload(random_floats(v.size() + 1, 8));
            const Buffer out = bench.output(q.size());
            bench.launch(kernel, {.grid = {(rows + 31) / 32, heads, 1}, .block = {256, 1, 1}}, q_device,
                         k_device, v_device, out, rows, columns, scale);
            auto expected = attention(size, q, k, v, scale, row.score);
            for (double& value : expected) value *= row.factor;
            expect_near(bench.read(out), expected, 1e-5, row.name);
        }
    }
}

}  // namespace
}  // namespace ptxgraft
