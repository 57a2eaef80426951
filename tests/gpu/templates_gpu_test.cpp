// The four templates with their stubs, on the GPU: against double precision, and against the emulator.

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <random>
#include <string>

#include "gpu/gpu.hpp"
#include "gpu/templates.hpp"
#include "ptxgraft/kernel.hpp"

namespace ptxgraft {
namespace {

constexpr std::uint64_t null = 0;  // the address of an array that is not there

std::vector<float> random_numbers(std::size_t count, float from = -1, float to = 1) {
    static std::mt19937 generator(7);
    std::uniform_real_distribution<float> uniform(from, to);
    std::vector<float> result(count);
    for (float& x : result) x = uniform(generator);
    return result;
}

struct Fill {
    std::string site, program;
};

Kernel graft(const Skeleton& skeleton, const std::vector<Fill>& fills, const Device& device) {
    std::vector<Stub> stubs;
    stubs.reserve(fills.size());
    std::vector<Graft> grafts;
    for (const Fill& fill : fills) {
        stubs.push_back(value(stack::compile(fill.program, *value(skeleton.find_site(fill.site)))));
        grafts.push_back({fill.site, stubs.back()});
    }
    return value(skeleton.graft(grafts, device));
}

Skeleton skeleton_of(const std::string& file, const Device& device, std::vector<std::string> defines = {}) {
    return value(Skeleton::from_file(templates_folder() + file,
                                     {.target = device.target(), .defines = std::move(defines)}));
}

// Every element within `tolerance` of the largest one.
void expect_near(const std::vector<float>& found, const std::vector<double>& expected, double tolerance) {
    ASSERT_EQ(found.size(), expected.size());
    double largest = 1e-30;
    for (const double x : expected) largest = std::fmax(largest, std::fabs(x));
    for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_LE(std::fabs(found[i] - expected[i]), tolerance * largest)
            << "element " << i << ": " << found[i];
}

using Unary = std::function<double(double)>;
struct Elementwise {
    std::string program;
    Unary reference;
};

TEST_F(Gpu, ElementwiseWithStubs) {
    const Skeleton skeleton = skeleton_of("elementwise/simple.cu", device());
    const Elementwise rows[] = {
        {"x -> y", [](double x) { return x; }},
        {"x 0.0 max.f32 -> y", [](double x) { return std::fmax(x, 0.0); }},
        {"x dup.f32 mul.rn.f32 -> y", [](double x) { return x * x; }},
        {"x abs.f32 sqrt.rn.f32 -> y", [](double x) { return std::sqrt(std::fabs(x)); }},
    };
    const std::vector<float> x = random_numbers(100003, -4, 4);
    for (const Elementwise& row : rows) {
        SCOPED_TRACE(row.program);
        const Kernel kernel = graft(skeleton, {{"function", row.program}}, device());
        const Buffer in = value(device().upload(x)),
                     out = value(device().upload(std::vector<float>(x.size(), std::nanf(""))));
        done(kernel.launch({{128, 1, 1}, {256, 1, 1}}, in, out, static_cast<std::uint32_t>(x.size())));
        std::vector<double> expected;
        for (const float v : x) expected.push_back(row.reference(v));
        expect_near(value(out.download<float>()), expected, 1e-6);
    }
}

struct Gemm {
    std::string name;
    std::vector<Fill> fills;
    double initial;
    std::function<double(double, double, double)> accumulate;
    std::function<double(double, unsigned, unsigned, double)> finish;
};

std::vector<double> reference(const Gemm& gemm, const std::vector<float>& a, const std::vector<float>& b,
                              const std::vector<float>& bias, unsigned m, unsigned n, unsigned k) {
    std::vector<double> c;
    for (unsigned row = 0; row < m; ++row)
        for (unsigned col = 0; col < n; ++col) {
            double acc = gemm.initial;
            for (unsigned i = 0; i < k; ++i) acc = gemm.accumulate(acc, a[row * k + i], b[i * n + col]);
            c.push_back(gemm.finish(acc, row, col, bias[col]));
        }
    return c;
}

TEST_F(Gpu, GemmWithStubs) {
    const auto dot = [](double acc, double a, double b) { return acc + a * b; };
    const auto same = [](double acc, unsigned, unsigned, double) { return acc; };
    const Gemm rows[] = {
        {"default", {}, 0, dot, same},
        {"bias and relu",
         {{"epilogue", "acc bias add.f32 0.0 max.f32 -> acc"}},
         0,
         dot,
         [](double acc, unsigned, unsigned, double bias) { return std::fmax(acc + bias, 0.0); }},
        {"row and column",
         {{"epilogue", "acc 0.0 col row setp.le.u32 selp.f32 -> acc"}},
         0,
         dot,
         [](double acc, unsigned row, unsigned col, double) { return col <= row ? acc : 0; }},
        {"max-plus",
         {{"initial", "0fFF800000 -> acc"}, {"multiply_accumulate", "acc a b add.f32 max.f32 -> acc"}},
         -INFINITY,
         [](double acc, double a, double b) { return std::fmax(acc, a + b); },
         same},
        {"L1",
         {{"multiply_accumulate", "acc a b sub.f32 abs.f32 add.f32 -> acc"}},
         0,
         [](double acc, double a, double b) { return acc + std::fabs(a - b); },
         same},
    };
    const Skeleton skeleton = skeleton_of("gemm/simt.cu", device());
    for (const auto& [m, n, k] :
         {std::array{256u, 192u, 128u}, std::array{65u, 63u, 17u}, std::array{1u, 1u, 1u}}) {
        const std::vector<float> a = random_numbers(m * k), b = random_numbers(k * n),
                                 bias = random_numbers(n);
        const Buffer da = value(device().upload(a)), db = value(device().upload(b)),
                     dbias = value(device().upload(bias));
        for (const Gemm& row : rows) {
            SCOPED_TRACE(row.name);
            const Kernel kernel = graft(skeleton, row.fills, device());
            const Buffer dc = value(device().upload(std::vector<float>(m * n, std::nanf(""))));
            done(kernel.launch({{(n + 63) / 64, (m + 63) / 64, 1}, {16, 16, 1}}, da, db, dbias, dc, m, n, k));
            expect_near(value(dc.download<float>()), reference(row, a, b, bias, m, n, k), 1e-5);
        }
    }
}

TEST_F(Gpu, RmsNormWithStubs) {
    const Skeleton skeleton = skeleton_of("norm/simple.cu", device());
    constexpr unsigned rows = 33, columns = 1000;
    constexpr float eps = 1e-5f;
    const std::vector<float> x = random_numbers(rows * columns), weight = random_numbers(columns);
    const Buffer in = value(device().upload(x)), w = value(device().upload(weight));
    for (const bool relu : {false, true}) {
        const std::vector<Fill> fills =
            relu ? std::vector<Fill>{{"epilogue", "y weight mul.f32 0.0 max.f32 -> y"}} : std::vector<Fill>{};
        const Kernel kernel = graft(skeleton, fills, device());
        const Buffer out = value(device().upload(std::vector<float>(x.size(), std::nanf(""))));
        done(kernel.launch({{rows, 1, 1}, {256, 1, 1}}, in, w, out, rows, columns, eps));
        std::vector<double> expected;
        for (unsigned row = 0; row < rows; ++row) {
            double sum = 0;
            for (unsigned c = 0; c < columns; ++c) sum += double{x[row * columns + c]} * x[row * columns + c];
            for (unsigned c = 0; c < columns; ++c) {
                const double y = x[row * columns + c] / std::sqrt(sum / columns + eps) * weight[c];
                expected.push_back(relu ? std::fmax(y, 0.0) : y);
            }
        }
        expect_near(value(out.download<float>()), expected, 1e-5);
    }
}

// Attention of one head in double precision; `causal` masks the keys behind the query.
std::vector<double> attention(const float* q, const float* k, const float* v, unsigned rows, unsigned columns,
                              unsigned dim, double scale, bool causal) {
    std::vector<double> out;
    for (unsigned row = 0; row < rows; ++row) {
        std::vector<double> weight(columns), result(dim);
        double top = -INFINITY, sum = 0;
        for (unsigned c = 0; c < columns; ++c) {
            double score = 0;
            for (unsigned d = 0; d < dim; ++d) score += double{q[row * dim + d]} * k[c * dim + d];
            weight[c] = causal && c > row ? -INFINITY : score * scale;
            top = std::fmax(top, weight[c]);
        }
        for (unsigned c = 0; c < columns; ++c) sum += weight[c] = std::exp(weight[c] - top);
        for (unsigned c = 0; c < columns; ++c)
            for (unsigned d = 0; d < dim; ++d) result[d] += weight[c] / sum * v[c * dim + d];
        out.insert(out.end(), result.begin(), result.end());
    }
    return out;
}

TEST_F(Gpu, AttentionWithStubs) {
    constexpr unsigned heads = 3, rows = 70, columns = 85;
    for (const unsigned dim : {32u, 64u, 128u}) {
        const Skeleton skeleton =
            skeleton_of("attention/simt.cu", device(), {"HEAD_DIM=" + std::to_string(dim)});
        const float scale = 1 / std::sqrt(static_cast<float>(dim));
        const std::vector<float> q = random_numbers(heads * rows * dim),
                                 k = random_numbers(heads * columns * dim),
                                 v = random_numbers(heads * columns * dim);
        const Buffer dq = value(device().upload(q)), dk = value(device().upload(k)),
                     dv = value(device().upload(v));
        for (const bool causal : {false, true}) {
            SCOPED_TRACE(testing::Message() << dim << (causal ? " causal" : ""));
            const std::vector<Fill> fills =
                causal ? std::vector<Fill>{{"score",
                                            "score 0fFF800000 column row setp.le.u32 selp.f32 -> score"}}
                       : std::vector<Fill>{};
            const Kernel kernel = graft(skeleton, fills, device());
            const Buffer out = value(device().upload(std::vector<float>(q.size(), std::nanf(""))));
            done(kernel.launch({{(rows + 31) / 32, heads, 1}, {256, 1, 1}}, dq, dk, dv, out, rows, columns,
                               scale));
            std::vector<double> expected;
            for (unsigned head = 0; head < heads; ++head) {
                const auto part = attention(&q[head * rows * dim], &k[head * columns * dim],
                                            &v[head * columns * dim], rows, columns, dim, scale, causal);
                expected.insert(expected.end(), part.begin(), part.end());
            }
            expect_near(value(out.download<float>()), expected, 1e-5);
        }
    }
}

// Kernels of exact instructions (+, *, fma, max, sqrt.rn, conversions) give the same bits on both.
TEST_F(Gpu, TheEmulatorGivesTheSameBits) {
    const Device emulator = value(Device::open("emulator:" + device().target()));
    const Skeleton skeleton = skeleton_of("gemm/simt.cu", device());
    const std::vector<Fill> programs[] = {
        {},
        {{"epilogue", "acc bias add.f32 0.0 max.f32 sqrt.rn.f32 -> acc"}},
        {{"epilogue", "acc bias mul.rn.f32 acc bias div.rn.f32 add.rz.f32 -> acc"}},
        {{"multiply_accumulate", "a b sub.f32 dup.f32 acc fma.rn.f32 -> acc"}},
        {{"epilogue", "acc row cvt.rn.f32.u32 col cvt.rn.f32.u32 fma.rn.f32 -> acc"}},
    };
    constexpr unsigned m = 70, n = 66, k = 33;
    const std::vector<float> a = random_numbers(m * k), b = random_numbers(k * n), bias = random_numbers(n);
    const auto run = [&](const Device& where, const std::vector<Fill>& fills) {
        const Kernel kernel = graft(skeleton, fills, where);
        const Buffer da = value(where.upload(a)), db = value(where.upload(b)),
                     dbias = value(where.upload(bias)), dc = value(where.allocate(m * n * sizeof(float)));
        done(kernel.launch({{(n + 63) / 64, (m + 63) / 64, 1}, {16, 16, 1}}, da, db, dbias, dc, m, n, k));
        return value(dc.download<std::uint32_t>());
    };
    for (const auto& fills : programs) EXPECT_EQ(run(device(), fills), run(emulator, fills));
}

TEST_F(Gpu, ArraysThatAreNotThere) {
    const Skeleton skeleton = skeleton_of("gemm/simt.cu", device());
    const Kernel kernel = graft(skeleton, {{"epilogue", "acc bias add.f32 -> acc"}}, device());
    const Buffer one = value(device().upload(std::vector<float>{3.0f})), c = value(device().allocate(4));
    done(kernel.launch({{1, 1, 1}, {16, 16, 1}}, one, one, null, c, 1u, 1u, 1u));
    EXPECT_EQ(value(c.download<float>())[0], 9.0f);
}

}  // namespace
}  // namespace ptxgraft
