// Reductions of warps and blocks of every size, on the emulator with all its checks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "ptxgraft/dsl.hpp"
#include "ptxgraft/kernel.hpp"

namespace ptxgraft::dsl {
namespace {

using testing::Each;
using Floats = std::vector<float>;

// Integers, whose sums .f32 has exactly in any order.
Floats some_values(std::size_t count) {
    std::mt19937 random(static_cast<unsigned>(count));
    std::uniform_int_distribution<int> uniform(-1000, 1000);
    Floats values(count);
    for (float& value : values) value = static_cast<float>(uniform(random));
    return values;
}

float sum_of(const Floats& values) { return std::accumulate(values.begin(), values.end(), 0.0f); }
float max_of(const Floats& values) { return *std::max_element(values.begin(), values.end()); }

// `out[tid] = body(in[tid])`, assembled and run by one block; the last element of the output stays as it was.
template <class Body> Floats run(const Floats& in, Body&& body) {
    const auto threads = static_cast<std::uint32_t>(in.size());
    Module module({.target = "sm_80"});
    auto& k = module.entry("reduce");
    const auto out = k.argument<u64>("out"), data = k.argument<u64>("data");
    const auto i = k.reg<u32>();
    const auto from = k.reg<u64>(), to = k.reg<u64>();
    const auto x = k.reg<f32>();
    k.emit<"mov.u32">(i, special<"%tid.x">);
    k.emit<"mad.wide.u32">(from, i, 4, data);
    k.emit<"mad.wide.u32">(to, i, 4, out);
    k.emit<"ld.global.f32">(x, at(from));
    body(k, x);
    k.emit<"st.global.f32">(at(to), x);
    k.emit<"ret">();
    const auto ptx = module.ptx();
    if (!ptx) throw std::runtime_error(describe(ptx.error()));
    EXPECT_TRUE(default_assembler().assemble(*ptx, {}));
    const Device device = *Device::open("emulator");
    const auto kernel = device.load(*ptx, "reduce");
    if (!kernel) throw std::runtime_error(describe(kernel.error(), *ptx));
    const Buffer input = *device.upload(in), output = *device.upload(Floats(in.size() + 1, -7.5f));
    const std::vector<Argument> arguments = {output, input};
    const auto done = kernel->launch({.block = {threads}}, arguments);
    if (!done) throw std::runtime_error(describe(done.error(), *ptx));
    Floats result = *output.download<float>();
    EXPECT_EQ(result.back(), -7.5f);
    result.pop_back();
    return result;
}

// Twice, one behind the other, so that the second finds what the first left in its own scratch alone.
template <Fold F> Floats reduced(const Floats& in) {
    const auto threads = static_cast<std::uint32_t>(in.size());
    return run(in, [&](auto& k, Reg<f32> x) {
        const VariableOptions words = {.type = f32, .count = (threads + 31) / 32};
        const auto first = k.shared("first", words), second = k.shared("second", words);
        block_reduce<F>(k, x, first, threads);
        block_reduce<Fold::max>(k, x, second, threads);
    });
}

TEST(Reduce, BlocksOfWholeWarps) {
    for (std::uint32_t threads = 32; threads <= 1024; threads += 32) {
        SCOPED_TRACE(threads);
        const Floats in = some_values(threads);
        EXPECT_THAT(reduced<Fold::sum>(in), Each(sum_of(in)));
        EXPECT_THAT(reduced<Fold::max>(in), Each(max_of(in)));
    }
}

TEST(Reduce, BlocksWithAPartialWarp) {
    for (const std::uint32_t threads :
         {1u,  2u,  3u,   5u,   16u,  17u,  31u,  33u,  34u,  47u,   63u,   65u,
          95u, 97u, 255u, 257u, 500u, 511u, 777u, 991u, 993u, 1000u, 1001u, 1023u}) {
        SCOPED_TRACE(threads);
        const Floats in = some_values(threads);
        EXPECT_THAT(reduced<Fold::sum>(in), Each(sum_of(in)));
        EXPECT_THAT(reduced<Fold::max>(in), Each(max_of(in)));
    }
}

TEST(Reduce, MaximaBelowZero) {
    // A neutral element of zero, or a slot that nobody filled, would win.
    for (const std::uint32_t threads : {31u, 96u, 100u, 1000u}) {
        Floats in = some_values(threads);
        for (float& value : in) value -= 5000.0f;
        EXPECT_THAT(reduced<Fold::max>(in), Each(max_of(in))) << threads;
    }
}

TEST(Reduce, GroupsOfLanes) {
    const Floats in = some_values(64);
    for (const std::uint32_t lanes : {1u, 2u, 4u, 8u, 16u, 32u}) {
        const Floats out = run(in, [&](auto& k, Reg<f32> x) { warp_reduce<Fold::sum>(k, x, lanes); });
        for (std::size_t i = 0; i < in.size(); ++i) {
            const auto begin = in.begin() + static_cast<std::ptrdiff_t>(i / lanes * lanes);
            EXPECT_EQ(out[i], std::accumulate(begin, begin + lanes, 0.0f)) << lanes << " " << i;
        }
    }
}

TEST(Reduce, WarpsThatEndEarly) {
    for (std::uint32_t lanes = 1; lanes <= 32; ++lanes) {
        SCOPED_TRACE(lanes);
        const Floats in = some_values(lanes);
        const auto last = lanes - 1;
        EXPECT_THAT(run(in, [&](auto& k, Reg<f32> x) { partial_warp_reduce<Fold::sum>(k, x, last); }),
                    Each(sum_of(in)));
        EXPECT_THAT(run(in, [&](auto& k, Reg<f32> x) { partial_warp_reduce<Fold::max>(k, x, last); }),
                    Each(max_of(in)));
    }
}

TEST(Reduce, RunningSumsAndMaxima) {
    for (const std::uint32_t lanes : {1u, 2u, 7u, 31u, 32u}) {
        SCOPED_TRACE(lanes);
        Floats sums = some_values(lanes), maxima = sums;
        const Floats in = sums;
        std::partial_sum(in.begin(), in.end(), sums.begin());
        std::partial_sum(in.begin(), in.end(), maxima.begin(),
                         [](float a, float b) { return std::max(a, b); });
        EXPECT_EQ(run(in, [](auto& k, Reg<f32> x) { warp_scan<Fold::sum>(k, x); }), sums);
        EXPECT_EQ(run(in, [](auto& k, Reg<f32> x) { warp_scan<Fold::max>(k, x); }), maxima);
    }
}

TEST(Reduce, PrintsWhatItSays) {
    Module module({.target = "sm_80"});
    auto& k = module.entry("k");
    const auto x = k.argument<f32>("x");
    warp_reduce<Fold::sum>(k, x, 4);
    partial_warp_reduce<Fold::max>(k, x, 2);
    k.emit<"ret">();
    const std::string ptx = *module.ptx();
    EXPECT_EQ(ptx.substr(ptx.find("\tshfl")), R"(	shfl.sync.bfly.b32 %f2, %f1, 2, 31, -1;
	add.f32 %f1, %f1, %f2;
	shfl.sync.bfly.b32 %f2, %f1, 1, 31, -1;
	add.f32 %f1, %f1, %f2;
	shfl.sync.down.b32 %f3|%p1, %f1, 16, 2, -1;
	@%p1 max.f32 %f1, %f1, %f3;
	shfl.sync.down.b32 %f3|%p1, %f1, 8, 2, -1;
	@%p1 max.f32 %f1, %f1, %f3;
	shfl.sync.down.b32 %f3|%p1, %f1, 4, 2, -1;
	@%p1 max.f32 %f1, %f1, %f3;
	shfl.sync.down.b32 %f3|%p1, %f1, 2, 2, -1;
	@%p1 max.f32 %f1, %f1, %f3;
	shfl.sync.down.b32 %f3|%p1, %f1, 1, 2, -1;
	@%p1 max.f32 %f1, %f1, %f3;
	shfl.sync.idx.b32 %f1, %f1, 0, 31, -1;
	ret;
}
)");
}

}  // namespace
}  // namespace ptxgraft::dsl
