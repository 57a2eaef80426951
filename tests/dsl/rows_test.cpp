// The row kernels of examples/dsl: at sizes that fit nothing, on the emulator with all its checks, against
// double precision; as machine code, without spills; each element read and written once; and the elementwise
// one as a skeleton.

#include "dsl/run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "ptxgraft/emulator_observer.hpp"
#include "ptxgraft/stack.hpp"

namespace rows {
namespace {

using ptxgraft::Device;
using ptxgraft::EmulatorCheck;
using ptxgraft::EmulatorChecks;

const Device& strict_device() {
    static const Device device = *Device::open(
        "emulator", {.emulator = {.checks = EmulatorChecks::all().with(EmulatorCheck::equal_stores)}});
    return device;
}

template <Type T> void expect_right(const Case& c) {
    for (const Kernel& kernel : kernels<T>) {
        SCOPED_TRACE(kernel.name);
        EXPECT_LE(kernel.run(strict_device(), c), 1)
            << ptxgraft::syntax::row(T).word << " " << c.rows << " x " << c.columns;
    }
}
template <class Body> void for_each_type(Body&& body) {
    body.template operator()<f32>();
    body.template operator()<bf16>();
    body.template operator()<f16>();
}

// Of how many threads a block is, and how much of a row they hold: partial warps, one warp, nothing held.
constexpr RowOptions shapes[] = {{.threads = 32, .held = 1},
                                 {.threads = 40, .held = 2},
                                 {.threads = 96, .held = 0},
                                 {.threads = 100, .held = 4},
                                 {.threads = 128, .held = 8}};

TEST(Rows, ElementByElementAtOddSizes) {
    for_each_type([]<Type T>() {
        for (RowOptions options : shapes) {
            SCOPED_TRACE(std::to_string(options.threads) + " threads");
            options.access = Access::element;
            for (const std::uint32_t columns : {1u, 5u, 33u, 257u, 1000u})
                expect_right<T>({.rows = columns == 1000 ? 1u : 3u, .columns = columns, .options = options});
        }
    });
}

TEST(Rows, SixteenBytesAtOnce) {
    for_each_type([]<Type T>() {
        for (RowOptions options : shapes) {
            SCOPED_TRACE(std::to_string(options.threads) + " threads");
            options.access = Access::vector;
            for (const std::uint32_t chunks : {1u, 3u, 33u, 129u, 257u})
                expect_right<T>({.rows = chunks > 100 ? 1u : 7u,
                                 .columns = chunks * count_of<T>(Access::vector),
                                 .options = options});
        }
    });
}

TEST(Rows, BlocksOfManySizes) {
    for (const std::uint32_t threads : {8u, 31u, 64u, 250u, 512u, 1000u, 1024u}) {
        SCOPED_TRACE(threads);
        expect_right<bf16>(
            {.rows = 3, .columns = 1001, .options = {.threads = threads, .access = Access::element}});
        expect_right<f32>({.rows = 3, .columns = 1004, .options = {.threads = threads}});
    }
}

// The elementwise kernel needs no multiple of anything: what is left goes element by element.
TEST(Rows, MapsOfAnyCount) {
    for_each_type([]<Type T>() {
        for (const std::uint32_t count : {1u, 2u, 7u, 8u, 9u, 255u, 256u, 257u, 1003u, 2049u})
            EXPECT_LE(run_map<T>(strict_device(), {.columns = count, .options = {.threads = 32}}), 1)
                << count;
    });
}

// Rows without a finite value, with a NaN, with plus infinity, and with minus infinity.
TEST(Rows, SoftmaxOfWhatIsNotFinite) {
    const float infinity = HUGE_VALF;
    const std::vector<float> in = {-infinity, -infinity, -infinity, 1, NAN,       2,
                                   1,         infinity,  2,         1, -infinity, 1};
    const auto& device = strict_device();
    const auto ptx =
        ptx_for(device, [](Module& module) { emit_softmax<f32>(module, {.access = Access::element}); });
    const auto x = must(device.upload(in));
    launch(device, ptx, 4, 256, {x, x, 3u});
    const auto out = must(x.download<float>());
    for (std::size_t i = 0; i < 9; ++i) EXPECT_TRUE(std::isnan(out[i])) << i << " " << out[i];
    EXPECT_THAT(std::vector<float>(out.begin() + 9, out.end()), testing::ElementsAre(0.5f, 0.0f, 0.5f));
}

// Registers hold the row: each element comes from memory once and goes there once, and nothing beyond.
struct Traffic {
    std::uint64_t loaded = 0, stored = 0;
};
template <class Run> Traffic traffic_of(Run&& run) {
    ptxgraft::EmulatorProfile profile;
    run(*Device::open("emulator", {.emulator = {.observer = &profile}}));
    Traffic traffic;
    for (const auto& line : profile.lines()) {
        const bool is_store = line.text.find("st.global") != line.text.npos;
        (is_store ? traffic.stored : traffic.loaded) += line.global_bytes;
    }
    return traffic;
}
template <Type T> void expect_traffic(const Case& c, const std::vector<std::pair<int, int>>& arrays) {
    const std::uint64_t bytes = std::uint64_t{c.rows} * c.columns * bytes_of<T>;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
        SCOPED_TRACE(kernels<T>[i].name);
        const Traffic traffic = traffic_of([&](const Device& device) { (void)kernels<T>[i].run(device, c); });
        EXPECT_EQ(traffic.loaded, bytes * static_cast<unsigned>(arrays[i].first));
        EXPECT_EQ(traffic.stored, bytes * static_cast<unsigned>(arrays[i].second));
    }
}
TEST(Rows, ReadAndWriteEachElementOnce) {
    // In the order of kernels<T>; weights and biases are loaded for every row.
    const std::vector<std::pair<int, int>> arrays = {{2, 1}, {4, 2}, {2, 1}, {1, 1}, {3, 1}};
    expect_traffic<f32>({.rows = 3, .columns = 1000}, arrays);
    expect_traffic<bf16>({.rows = 3, .columns = 1000}, arrays);
    expect_traffic<f16>({.rows = 3, .columns = 999, .options = {.access = Access::element}}, arrays);
    // All three chunks of a thread are held; one is, and the other two are loaded in each of two passes.
    expect_traffic<f32>({.columns = 32 * 3, .options = {.threads = 8, .held = 3}}, {{2, 1}});
    const Traffic again = traffic_of([](const Device& device) {
        (void)run_rms_norm<f32>(device, {.columns = 32 * 3, .options = {.threads = 8, .held = 1}});
    });
    EXPECT_EQ(again.loaded, (32u + 2 * 64 + 96) * sizeof(float));
    EXPECT_EQ(again.stored, 96 * sizeof(float));
}

TEST(Rows, MachineCodeHasNoSpillsAndNoStack) {
    for_each_type([]<Type T>() {
        for (const char* const target : {"sm_80", "sm_90a"}) {
            for (const Access access : {Access::vector, Access::element}) {
                for (const Kernel& kernel : kernels<T>) {
                    SCOPED_TRACE(std::string(kernel.name) + " " + target);
                    Module module({.target = target});
                    kernel.emit(module, {.access = access});
                    const std::string ptx = must(module.ptx());
                    EXPECT_EQ(ptx.find("ld.global.v4") != ptx.npos, access == Access::vector);
                    const auto cubin = must(ptxgraft::default_assembler().assemble(ptx, {}), ptx);
                    EXPECT_TRUE(cubin.losses.empty());
                    ASSERT_EQ(cubin.functions.size(), 1u);
                    EXPECT_EQ(cubin.functions[0].spill_store_bytes + cubin.functions[0].spill_load_bytes, 0u);
                    EXPECT_EQ(cubin.functions[0].stack_bytes, 0u);
                }
            }
        }
    });
}

// `in f32 x0, in f32 x1, out f32 y`, in each of a chunk's elements and in what is left.
struct MapSkeleton {
    ptxgraft::Skeleton skeleton;
    template <Type T> static MapSkeleton make(const MapOptions& options) {
        Module module({.target = "sm_80"});
        emit_map<T>(module, options);
        return {must(ptxgraft::Skeleton::from_ptx(must(module.ptx())))};
    }
    template <Type T> Numbers run(const ptxgraft::Stub& stub, const std::vector<Numbers>& in) const {
        const auto kernel = must(skeleton.graft({{"map", stub}}, strict_device()));
        const std::size_t count = in[0].size();
        const auto out = upload<T>(strict_device(), Numbers(count));
        std::vector<ptxgraft::Buffer> buffers;
        std::vector<ptxgraft::Argument> arguments = {out};
        for (const Numbers& values : in) {
            buffers.push_back(upload<T>(strict_device(), values));
            arguments.emplace_back(buffers.back());
        }
        arguments.emplace_back(std::uint64_t{count});
        must(kernel.launch_with({.grid = {8}, .block = {32}}, arguments), kernel.ptx());
        return download<T>(out);
    }
};

TEST(Rows, TheMapIsASkeleton) {
    const auto map = MapSkeleton::make<bf16>({.inputs = 3, .threads = 32});
    const ptxgraft::Site& site = *map.skeleton.site("map");
    EXPECT_EQ(site.signature.text(), "in f32 x0, in f32 x1, in f32 x2, out f32 y");
    const auto program = must(ptxgraft::stack::compile("x0 x1 x2 fma.rn.f32 0.0 max.f32 -> y", site));
    const auto emitted = must(stub(site, [](StubBuilder<>& b) {
        const auto y = b.operand<f32>("y");
        b.emit<"fma.rn.f32">(y, b.operand<f32>("x0"), b.operand<f32>("x1"), b.operand<f32>("x2"));
        b.emit<"max.f32">(y, y, 0.0f);
    }));
    for (const std::size_t count : {1u, 8u, 13u, 257u, 1003u}) {
        const std::vector<Numbers> in = {some_values<bf16>(count, 1), some_values<bf16>(count, 2),
                                         some_values<bf16>(count, 3)};
        Numbers exact(count);
        for (std::size_t i = 0; i < count; ++i) exact[i] = std::max(0.0, in[0][i] * in[1][i] + in[2][i]);
        const Tolerance tolerance = {.relative = 1e-6, .absolute = 1e-6};
        EXPECT_LE(worst_of<bf16>(map.run<bf16>(program, in), exact, tolerance), 1) << count;
        EXPECT_LE(worst_of<bf16>(map.run<bf16>(emitted, in), exact, tolerance), 1) << count;
    }
}

TEST(Rows, MapsOfOneAndOfManyInputs) {
    for (const std::uint32_t inputs : {1u, 2u, 6u}) {
        const auto map = MapSkeleton::make<f32>({.inputs = inputs, .threads = 32});
        std::string text = "x0";
        for (std::uint32_t i = 1; i < inputs; ++i) text += " x" + std::to_string(i) + " add.f32";
        const auto program =
            must(ptxgraft::stack::compile(text + " neg.f32 -> y", *map.skeleton.site("map")));
        std::vector<Numbers> in;
        Numbers exact(77);
        for (std::uint32_t i = 0; i < inputs; ++i) {
            in.push_back(some_values<f32>(77, i));
            for (std::size_t e = 0; e < exact.size(); ++e) exact[e] -= in[i][e];
        }
        EXPECT_LE(worst_of<f32>(map.run<f32>(program, in), exact, {.relative = 1e-6, .absolute = 1e-6}), 1)
            << inputs;
    }
}

// The conversions of the references themselves: every value of 16 bits there and back, and ties.
TEST(Rows, ReferencesRoundAsTheTypesDo) {
    for (std::uint32_t word = 0; word < 0x10000; ++word) {
        const auto bits = static_cast<std::uint16_t>(word);
        if (const double value = from_bits<f16>(bits); std::isfinite(value)) {
            EXPECT_EQ(to_bits<f16>(value), bits);
        }
        if (const double value = from_bits<bf16>(bits); std::isfinite(value)) {
            EXPECT_EQ(to_bits<bf16>(value), bits);
        }
    }
    EXPECT_EQ(to_bits<bf16>(1.00390625), 0x3F80);  // halfway between 1 and the next, to the even one
    EXPECT_EQ(to_bits<bf16>(1.01171875), 0x3F82);
    EXPECT_EQ(to_bits<f16>(0.99999), 0x3C00);
    EXPECT_EQ(to_bits<f16>(std::ldexp(1.0, -24)), 1);
    EXPECT_EQ(to_bits<f32>(-0.1f), std::bit_cast<std::uint32_t>(-0.1f));
}

}  // namespace
}  // namespace rows
