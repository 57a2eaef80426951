// Kernels over named extents: what their names become, what is kept, and what is refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "ptxgraft/dsl.hpp"
#include "ptxgraft/dsl/tensor_kernel.hpp"
#include "ptxgraft/stack.hpp"
#include "support/paths.hpp"

namespace ptxgraft::dsl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Device emulator(const std::string& name = "emulator:sm_90a") { return Device::open(name).value(); }

std::string text_of(const Error& error) { return describe(error, ""); }

// y = factor * x, a row to a block; `factor` is a site's business.
void emit_scale(FunctionBuilder<>& k, const Specialisation& s, const Tensor& x, const Tensor& y) {
    const auto from = global_address(k, x), to = global_address(k, y);
    const auto thread = read<"%tid.x">(k), row = read<"%ctaid.x">(k);
    k.emit<"mad.wide.u32">(from, row, 4 * static_cast<std::uint32_t>(x.strides[0]), from);
    k.emit<"mad.wide.u32">(to, row, 4 * static_cast<std::uint32_t>(y.strides[0]), to);
    k.emit<"mad.wide.u32">(from, thread, 4, from);
    k.emit<"mad.wide.u32">(to, thread, 4, to);
    const auto value = k.reg<f32>();
    const auto inside = k.reg<pred>();
    for (std::uint64_t column = 0; column < s["columns"]; column += s["threads"]) {
        k.emit<"setp.lt.u32">(inside, thread, static_cast<std::uint32_t>(s["columns"] - column));
        k.if_(inside).emit<"ld.global.f32">(value, at(from, static_cast<std::int64_t>(4 * column)));
        k.emit<"add.f32">(value, value, value);
        k.site("f", {mod("v", value)}, {}, [] {});
        k.if_(inside).emit<"st.global.f32">(at(to, static_cast<std::int64_t>(4 * column)), value);
    }
    k.emit<"ret">();
}
KernelOptions scale_options() {
    return {.name = "scale",
            .inputs = {Tile("rows", "columns", f32)},
            .outputs = {Tile("rows", "columns", f32)},
            .grid = [](const Specialisation& s) { return Dim3{s.extent("rows")}; },
            .block = [](const Specialisation& s) { return Dim3{s.extent("threads")}; },
            .parameters = {{"threads", 32}},
            .dynamic = {"rows"}};
}
std::vector<float> numbers(std::size_t count) {
    std::vector<float> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<float>(i) - 7;
    return all;
}

TEST(TensorKernel, ResolvesExtentsFromTensors) {
    const Device device = emulator();
    const TensorKernel scale(scale_options(), emit_scale);
    for (const std::uint64_t rows : {1u, 3u})
        for (const std::uint64_t columns : {1u, 31u, 70u}) {
            const auto values = numbers(rows * columns);
            const Buffer x = device.upload(values).value(),
                         y = device.upload(numbers(rows * columns)).value();
            const auto done = scale.launch(device, {{x, {rows, columns}}, {y, {rows, columns}}});
            ASSERT_TRUE(done) << text_of(done.error());
            const auto got = y.download<float>().value();
            for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], 2 * values[i]) << rows << columns;
        }
    EXPECT_EQ(scale.kept(), 3u) << "the rows are dynamic";
    const auto values = numbers(70);
    const Buffer x = device.upload(values).value(), y = device.upload(values).value();
    ASSERT_TRUE(scale.launch(device, {{x, {1, 70}}, {y, {1, 70}}}, {.sizes = {{"threads", 64}}}));
    EXPECT_EQ(scale.kept(), 4u);
    EXPECT_EQ(y.download<float>().value()[69], 2 * values[69]);
}

TEST(TensorKernel, AllocatesOutputs) {
    const Device device = emulator();
    const TensorKernel scale(scale_options(), emit_scale);
    const Buffer x = device.upload(numbers(12)).value();
    const auto made = scale(device, {{x, {3, 4}}});
    ASSERT_TRUE(made) << text_of(made.error());
    ASSERT_EQ(made->size(), 1u);
    EXPECT_EQ(made->front().download<float>().value()[11], 2 * numbers(12)[11]);
}

TEST(TensorKernel, StridesOfViewsAreNumbers) {
    const Device device = emulator();
    const TensorKernel scale(scale_options(), emit_scale);
    const auto values = numbers(3 * 8 + 2);
    const Buffer x = device.upload(values).value(), y = device.upload(numbers(12)).value();
    TensorView view(x, {3, 4}, {8, 1});
    view.offset = 8;
    ASSERT_TRUE(scale.launch(device, {view, {y, {3, 4}}}));
    const auto got = y.download<float>().value();
    for (std::size_t row = 0; row < 3; ++row)
        for (std::size_t column = 0; column < 4; ++column)
            EXPECT_EQ(got[row * 4 + column], 2 * values[2 + row * 8 + column]);
    ASSERT_TRUE(scale.launch(device, {{x, {3, 4}}, {y, {3, 4}}}));
    EXPECT_EQ(scale.kept(), 2u);
    view.offset = 32;
    EXPECT_EQ(scale.launch(device, {view, {y, {3, 4}}}).error().code, Errc::buffer_exceeded);
    EXPECT_EQ(scale.launch(device, {{x, {3, 4}, {1, 3}}, {y, {3, 4}}}).error().code, Errc::argument_invalid);
    EXPECT_EQ(scale.launch(device, {{x, {3, 4}, {8}}, {y, {3, 4}}}).error().code, Errc::argument_invalid);
}

TEST(TensorKernel, SitesAreFilledAsThoseOfAnySkeleton) {
    const Device device = emulator();
    const TensorKernel scale(scale_options(), emit_scale);
    const Buffer x = device.upload(numbers(5)).value(), y = device.upload(numbers(5)).value();
    const TensorView views[] = {{x, {1, 5}}, {y, {1, 5}}};
    const auto bound = scale.bind(device, views);
    ASSERT_TRUE(bound) << text_of(bound.error());
    const Skeleton& skeleton = bound->kernel->skeleton;
    const auto stub = stack::compile("v 1.0 add.f32 -> v", *skeleton.site("f")).value();
    const auto kernel = skeleton.graft({{"f", stub}}, device).value();
    ASSERT_TRUE(kernel.launch_with(bound->config, bound->arguments));
    EXPECT_THAT(y.download<float>().value(), ElementsAre(-13, -11, -9, -7, -5));
}

TEST(TensorKernel, TextForExtentsAndTargets) {
    const TensorKernel scale(scale_options(), emit_scale);
    const auto text = scale.ptx({{"columns", 64}}, "sm_80");
    ASSERT_TRUE(text) << text_of(text.error());
    EXPECT_THAT(*text, HasSubstr(".target sm_80\n"));
    EXPECT_THAT(*text, HasSubstr(".param .u64 x0, .param .u64 y0, .param .u32 rows)"));
    EXPECT_THAT(*text, HasSubstr(".reqntid 32, 1, 1"));
    EXPECT_THAT(scale.ptx({{"columns", 64}}).value(), HasSubstr(".target sm_90a\n"));
    EXPECT_EQ(scale.kept(), 2u);
    Module module({.target = "sm_80"});
    ASSERT_TRUE(scale.emit_into(module, {{"columns", 64}}));
    EXPECT_EQ(module.ptx().value(), *text);
}

TEST(TensorKernel, WhatDoesNotFitIsRefused) {
    const Device device = emulator();
    const TensorKernel add({.name = "add",
                            .inputs = {Tile("M", "K", f32).named("a"), Tile("K", 8, f32).named("b")},
                            .outputs = {Tile("M", 8, f32).named("c")},
                            .parameters = {{"BM", 64}}},
                           [](FunctionBuilder<>& k, const Specialisation&) { k.emit<"ret">(); });
    const Buffer m = device.allocate(4 * 64).value();
    const auto error = [&](std::initializer_list<TensorView> views, const LaunchValues& values = {}) {
        const auto done = add.launch(device, views, values);
        return done ? "no error" : std::string(name(done.error().code)) + ": " + text_of(done.error());
    };
    EXPECT_THAT(error({{m, {4, 4}}, {m, {4, 8}}, {m, {4, 8}}}), HasSubstr("no error"));
    EXPECT_THAT(error({{m, {4, 4}}, {m, {4, 8}}}), HasSubstr("takes 3 tensors here, not 2"));
    EXPECT_THAT(error({{m, {4, 4}}, {m, {5, 8}}, {m, {4, 8}}}), HasSubstr("b: K is 5, but 4 in a"));
    EXPECT_THAT(error({{m, {4, 4}}, {m, {4, 9}}, {m, {4, 8}}}), HasSubstr("b: extent 1 is 8, not 9"));
    EXPECT_THAT(error({{m, {4, 4}}, {m, {4}}, {m, {4, 8}}}), HasSubstr("b: it has 2 extents, not 1"));
    EXPECT_THAT(error({{m, {0, 4}}, {m, {4, 8}}, {m, {0, 8}}}), HasSubstr("the extent M is 0"));
    EXPECT_THAT(error({{m, {4, 17}}, {m, {17, 8}}, {m, {4, 8}}}), HasSubstr("buffer_exceeded"));
    EXPECT_THAT(error({{m, {1ull << 33, 1ull << 33}}, {m, {1ull << 33, 8}}, {m, {1ull << 33, 8}}}),
                HasSubstr("buffer_exceeded"));
    EXPECT_THAT(error({{m, {4, 4}}, {m, {4, 8}}, {m, {4, 8}}}, {.sizes = {{"K", 5}}}),
                HasSubstr("a: K is 4, but 5 was chosen for it"));
    EXPECT_THAT(error({{m, {4, 4}}, {m, {4, 8}}, {m, {4, 8}}}, {.sizes = {{"BN", 5}}}),
                HasSubstr("BN names nothing of add; there are: BM, K, M"));
    EXPECT_THAT(error({{m, {4, 4}}, {m, {4, 8}}, {m, {4, 8}}}, {.arguments = {1.0f}}),
                HasSubstr("argument_count_wrong"));
    EXPECT_THAT(text_of(add.ptx({{"M", 4}}).error()), HasSubstr("K of add has no number"));
}

TEST(TensorKernel, WhatABodyAsksForAndIsNotThere) {
    const auto error = [](auto body) {
        const TensorKernel k(scale_options(), body);
        return text_of(k.ptx({{"columns", 4}}).error());
    };
    EXPECT_THAT(error([](FunctionBuilder<>&, const Specialisation& s) { (void)s["kolumns"]; }),
                HasSubstr("scale has nothing named kolumns; there are: columns, threads"));
    EXPECT_THAT(error([](FunctionBuilder<>&, const Specialisation& s) { (void)s["rows"]; }),
                HasSubstr("dynamic_extent()"));
    EXPECT_THAT(error([](FunctionBuilder<>&, const Specialisation&, const Tensor&) {}),
                HasSubstr("the body takes another number of tensors"));
    EXPECT_THAT(error([](FunctionBuilder<>& k, const Specialisation&) { k.raw("\tnonsense;"); }),
                HasSubstr("nonsense"));
}

TEST(TensorKernel, TilesThatThereAreNot) {
    const auto error = [](const Tile& tile) {
        const TensorKernel k({.name = "k", .inputs = {tile}},
                             [](FunctionBuilder<>& b, const Specialisation&) { b.emit<"ret">(); });
        const auto done = k.ptx({{"M", 64}, {"N", 64}});
        return done ? "no error" : text_of(done.error());
    };
    EXPECT_THAT(error(Tile("M", pred)), HasSubstr("type with whole bytes"));
    EXPECT_THAT(error(Tile("M")), HasSubstr("type with whole bytes"));
    EXPECT_THAT(error(Tile(f32)), HasSubstr("at least one extent"));
    EXPECT_THAT(error(Tile("M", 0, f32)), HasSubstr("a number above 0"));
    EXPECT_THAT(error(Tile("M", "N", f32).by_map({.box = {8}})), HasSubstr("as many extents"));
    EXPECT_THAT(error(Tile("M", "N", f32).by_map({.box = {8, 257}})), HasSubstr("right is 1 to 256"));
    EXPECT_THAT(error(Tile("M", "N", f32).by_map({.box = {8, 8}, .element_strides = {1}})),
                HasSubstr("as many element_strides as extents"));
    EXPECT_THAT(error(Tile("M", "N", 33, b8).by_map({.box = {1, 1, 32}, .type = TensorType::b4x16})),
                HasSubstr("a stride of 33 elements of 4 bits is no number of bytes"));
    EXPECT_THAT(error(Tile("M", "N", f16x2).by_map({.box = {8, 8}})), HasSubstr("MapOptions::type"));
    EXPECT_THAT(error(Tile("M", "N", f32, Layout::column).by_map({.box = {8, 8}})), HasSubstr("no error"));
}

// A copy of a box through shared memory to an output: what the map of a tile is, in both layouts.
TensorKernel box_copy(Layout layout, TensorSwizzle swizzle = TensorSwizzle::none) {
    return TensorKernel::on<sm_90a>(
        {.name = "box_copy",
         .inputs = {Tile("M", "N", f32, layout).named("a").by_map({.box = {"BM", "BN"}, .swizzle = swizzle})},
         .outputs = {Tile("BM", "BN", f32).named("b")},
         .block = {32},
         .parameters = {{"BM", 4}, {"BN", 8}}},
        [](FunctionBuilder<sm_90a>& k, const Specialisation& s, const Tensor& a, const Tensor& b) {
            const auto box = k.shared("box", {.count = a.box_bytes, .align = 128});
            const auto barrier = k.shared("barrier", {.type = b64, .count = 1});
            const auto map = map_address(k, a), to = global_address(k, b);
            const auto thread = read<"%tid.x">(k), here = address_of(k, box), bar = address_of(k, barrier);
            k.if_(thread == 0, [&] {
                k.emit<"mbarrier.init.shared.b64">(at(bar), 1);
                k.emit<"fence.mbarrier_init.release.cluster">();
                k.emit<"mbarrier.arrive.expect_tx.shared::cta.b64">(sink, at(bar), a.box_bytes);
                k.emit<"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes">(
                    at(here), at(map, vec(0, 0)), at(bar));
            });
            k.emit<"bar.sync">(0);
            const auto done = k.reg<pred>();
            k.loop_while([&] {
                k.emit<"mbarrier.try_wait.parity.shared::cta.b64">(done, at(bar), 0);
                return !done;
            });
            const auto word = k.reg<b32>();
            const auto from = k.reg<u32>();
            k.emit<"mad.lo.u32">(from, thread, 4, here);
            k.emit<"mad.wide.u32">(to, thread, 4, to);
            k.emit<"ld.shared.b32">(word, at(from));
            k.emit<"st.global.b32">(at(to), word);
            k.emit<"ret">();
            EXPECT_EQ(a.box_bytes, 4 * s["BM"] * s["BN"]);
        });
}

TEST(TensorKernel, TensorMapsFollowTheLayout) {
    const Device device = emulator();
    const auto values = numbers(12 * 16);
    const Buffer a = device.upload(values).value();
    for (const Layout layout : {Layout::row, Layout::column}) {
        const auto made = box_copy(layout)(device, {{a, {12, 16}}});
        ASSERT_TRUE(made) << text_of(made.error());
        const auto got = made->front().download<float>().value();
        // The box lies in shared memory as the tensor does in global memory.
        for (std::size_t i = 0; i < 4; ++i)
            for (std::size_t j = 0; j < 8; ++j)
                EXPECT_EQ(got[layout == Layout::row ? i * 8 + j : j * 4 + i],
                          values[layout == Layout::row ? i * 16 + j : j * 12 + i]);
    }
}

TEST(TensorKernel, TensorMapsOfViewsHaveTheirStridesAndOffset) {
    const Device device = emulator();
    const auto values = numbers(12 * 16 + 4);
    const Buffer a = device.upload(values).value();
    TensorView view(a, {12, 8}, {16, 1});
    view.offset = 16;
    const auto made = box_copy(Layout::row)(device, {view});
    ASSERT_TRUE(made) << text_of(made.error());
    const auto got = made->front().download<float>().value();
    for (std::size_t i = 0; i < 4; ++i)
        for (std::size_t j = 0; j < 8; ++j) EXPECT_EQ(got[i * 8 + j], values[4 + i * 16 + j]);
    view.offset = 4;
    const auto refused = box_copy(Layout::row)(device, {view});
    EXPECT_EQ(refused.error().code, Errc::tensor_map_invalid);
    EXPECT_THAT(text_of(refused.error()), HasSubstr("a: "));
}

// The map that a body sees of a tile, with extents A = 2, B = 3 … E = 6.
TensorMapOptions map_of(const Tile& tile) {
    TensorMapOptions map;
    std::uint32_t box_bytes = 0;
    const TensorKernel k(
        {.name = "k", .inputs = {tile}, .parameters = {{"A", 2}, {"B", 3}, {"C", 4}, {"D", 5}, {"E", 64}}},
        [&](FunctionBuilder<>& b, const Specialisation&, const Tensor& x) {
            map = x.map.value();
            box_bytes = x.box_bytes;
            b.emit<"ret">();
        });
    const auto done = k.ptx({});
    EXPECT_TRUE(done) << text_of(done.error());
    std::uint32_t elements = 1;
    for (const std::uint32_t extent : map.box) elements *= extent;
    const bool is_packed = map.type == TensorType::b4x16;
    if (!map.im2col) {
        EXPECT_EQ(box_bytes, is_packed ? elements / 2 : elements * syntax::row(tile.type).bytes());
    }
    return map;
}

TEST(TensorKernel, TensorMapsOfOneToFiveDimensions) {
    EXPECT_THAT(map_of(Tile("E", u8).by_map({.box = {16}})).dims, ElementsAre(64));
    const auto five = map_of(Tile("A", "B", "C", "D", "E", bf16)
                                 .by_map({.box = {1, 2, 3, 4, "E"},
                                          .element_strides = {1, 2, 1, 1, 1},
                                          .swizzle = TensorSwizzle::bytes128,
                                          .fill = TensorFill::nan}));
    EXPECT_THAT(five.dims, ElementsAre(64, 5, 4, 3, 2));
    EXPECT_THAT(five.strides, ElementsAre(128, 128 * 5, 128 * 20, 128 * 60));
    EXPECT_THAT(five.box, ElementsAre(64, 4, 3, 2, 1));
    EXPECT_THAT(five.element_strides, ElementsAre(1, 1, 1, 2, 1));
    EXPECT_EQ(five.type, TensorType::bf16);
    EXPECT_EQ(five.swizzle, TensorSwizzle::bytes128);
    EXPECT_EQ(five.fill, TensorFill::nan);
    const auto column = map_of(Tile("E", "C", "B", f32, Layout::column).by_map({.box = {32, 2, 1}}));
    EXPECT_THAT(column.dims, ElementsAre(64, 4, 3));
    EXPECT_THAT(column.strides, ElementsAre(256, 1024));
    EXPECT_THAT(column.box, ElementsAre(32, 2, 1));
    const auto image = map_of(Tile("A", "D", "C", "E", f16)
                                  .by_map({.im2col = TensorIm2col{.lower_corner = {-1, -1},
                                                                  .upper_corner = {-1, -1},
                                                                  .channels_per_pixel = 64,
                                                                  .pixels_per_column = 8}}));
    EXPECT_THAT(image.dims, ElementsAre(64, 4, 5, 2));
    EXPECT_THAT(image.box, testing::IsEmpty());
    EXPECT_EQ(image.im2col->pixels_per_column, 8u);
    const auto packed = map_of(Tile("B", "E", b8).by_map({.box = {1, 32}, .type = TensorType::b4x16}));
    EXPECT_THAT(packed.strides, ElementsAre(32));
}

TEST(TensorKernel, TensorMapsOfDynamicExtentsAreMadeAtTheLaunch) {
    const Device device = emulator();
    KernelOptions options = box_copy(Layout::row).options();
    options.dynamic = {"M", "N"};
    options.inputs.front().name = "a";
    int emitted = 0;
    const TensorKernel sizes(
        options, [&](FunctionBuilder<>& k, const Specialisation&, const Tensor& a, const Tensor& b) {
            ++emitted;
            EXPECT_THAT(a.extents, ElementsAre(0, 0));
            const auto to = global_address(k, b);
            const auto m = dynamic_extent(k, "M"), n = dynamic_extent(k, "N");
            k.emit<"st.global.v2.u32">(at(to), vec(m, n));
            k.emit<"ret">();
        });
    const Buffer a = device.upload(numbers(12 * 16)).value();
    for (const std::uint64_t rows : {12u, 6u}) {
        const auto made = sizes(device, {{a, {rows, 16}}});
        ASSERT_TRUE(made) << text_of(made.error());
        EXPECT_EQ(made->front().download<std::uint32_t>().value()[0], rows);
        EXPECT_EQ(made->front().download<std::uint32_t>().value()[1], 16u);
    }
    EXPECT_EQ(emitted, 1);
    EXPECT_EQ(sizes(device, {{a, {6, 15}}}).error().code, Errc::tensor_map_invalid) << "rows of 60 bytes";
}

// Each is a parameter of the entry; the error names both, and there is no need to emit anything.
TEST(TensorKernel, NoTwoParametersHaveOneName) {
    const auto body = [](FunctionBuilder<>& k, const Specialisation&) { k.emit<"ret">(); };
    const auto error_of = [&](KernelOptions options) {
        const auto ptx = TensorKernel(std::move(options), body).ptx({{"n", 8}});
        EXPECT_FALSE(ptx);
        EXPECT_EQ(ptx.error().code, Errc::name_redeclared);
        return message(ptx.error());
    };
    EXPECT_EQ(
        error_of(
            {.name = "k", .inputs = {Tile("n", f32).named("a")}, .outputs = {Tile("n", f32).named("a")}}),
        "input 0 and output 0 of k are both named a");
    EXPECT_EQ(error_of({.name = "k", .inputs = {Tile("n", f32), Tile("n", f32).named("x0")}}),
              "input 0 and input 1 of k are both named x0");
    EXPECT_EQ(error_of({.name = "k", .inputs = {Tile("n", f32).named("n")}, .dynamic = {"n"}}),
              "input 0 and dynamic extent 0 of k are both named n");
    EXPECT_EQ(error_of({.name = "k", .inputs = {Tile("n", f32)}, .dynamic = {"n", "m", "n"}}),
              "dynamic extent 0 and dynamic extent 2 of k are both named n");
    // A tile may have the name of an extent that is a number.
    EXPECT_TRUE(TensorKernel({.name = "k", .inputs = {Tile("n", f32).named("n")}}, body).ptx({{"n", 8}}));
    // What the body declares is named beside the tensor.
    const auto again = [](FunctionBuilder<>& k, const Specialisation&) { (void)k.argument<u32>("a"); };
    const auto ptx =
        TensorKernel({.name = "k", .inputs = {Tile("n", f32).named("a")}}, again).ptx({{"n", 8}});
    ASSERT_FALSE(ptx);
    EXPECT_EQ(message(ptx.error()), "a of k is declared twice: .param .u64 a, and .param .u32 a");
}

TEST(TensorKernel, OneForATargetIsForNoOther) {
    const auto made = box_copy(Layout::row);
    EXPECT_THAT(made.ptx({{"M", 8}, {"N", 8}}).value(), HasSubstr(".target sm_90a"));
    EXPECT_EQ(made.ptx({{"M", 8}, {"N", 8}}, "sm_80").error().code, Errc::target_differs);
    const Device device = emulator("emulator:sm_80");
    const Buffer a = device.allocate(4 * 64).value();
    KernelOptions options = scale_options();
    const auto newer = TensorKernel::on<sm_90a>(
        options, [](FunctionBuilder<sm_90a>& k, const Specialisation&) { k.emit<"ret">(); });
    EXPECT_EQ(newer(device, {{a, {8, 8}}}).error().code, Errc::target_differs);
    options.target = "sm_80";
    const auto differing = TensorKernel::on<sm_90a>(
        options, [](FunctionBuilder<sm_90a>& k, const Specialisation&) { k.emit<"ret">(); });
    EXPECT_EQ(differing.ptx({{"columns", 8}}).error().code, Errc::target_differs);
}

TEST(TensorKernel, KeepsThoseThatWereAskedForLast) {
    KernelOptions options = scale_options();
    options.kept = 2;
    int emitted = 0;
    const TensorKernel scale(options, [&](FunctionBuilder<>& k, const Specialisation&) {
        ++emitted;
        k.emit<"ret">();
    });
    for (const std::uint64_t columns : {1u, 2u, 1u, 3u, 1u, 2u})
        ASSERT_TRUE(scale.ptx({{"columns", columns}}));
    EXPECT_EQ(emitted, 4) << "1, 2, 3, and 2 again";
    EXPECT_EQ(scale.kept(), 2u);
    scale.forget();
    EXPECT_EQ(scale.kept(), 0u);
    ASSERT_TRUE(scale.ptx({{"columns", 1}}));
    EXPECT_EQ(emitted, 5);
}

TEST(TensorKernel, IsEmittedOnceForAllThreads) {
    const Device device = emulator();
    std::atomic<int> emitted = 0;
    const TensorKernel scale(scale_options(), [&](FunctionBuilder<>& k, const Specialisation& s,
                                                  const Tensor& x, const Tensor& y) {
        ++emitted;
        emit_scale(k, s, x, y);
    });
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (const std::uint64_t columns : {5u, 6u}) {
                const Buffer x = device.upload(numbers(columns)).value();
                const auto made = scale(device, {{x, {1, columns}}});
                ASSERT_TRUE(made) << text_of(made.error());
                EXPECT_EQ(made->front().download<float>().value()[4], 2 * numbers(5)[4]);
            }
        });
    threads.clear();
    EXPECT_EQ(emitted, 2);
}

TEST(TensorKernel, LoadsOnceForADevice) {
    const Device one = emulator(), other = emulator();
    const TensorKernel scale(scale_options(), emit_scale);
    for (const Device& device : {one, other, one}) {
        const Buffer x = device.upload(numbers(4)).value();
        ASSERT_TRUE(scale(device, {{x, {1, 4}}}));
    }
    EXPECT_EQ(scale.kept(), 1u);
    const Buffer x = one.upload(numbers(4)).value(), y = other.upload(numbers(4)).value();
    EXPECT_EQ(scale.launch(one, {{x, {1, 4}}, {y, {1, 4}}}).error().code, Errc::device_differs);
}

TEST(TensorKernel, EveryBufferIsOfTheDevice) {
    const Device device = emulator(), other = emulator();
    const TensorKernel scale(scale_options(), emit_scale);
    const Buffer x = other.upload(numbers(8)).value(), y = device.upload(numbers(4)).value();
    TensorView view(x, {1, 4});
    view.offset = 16;
    EXPECT_EQ(scale.launch(device, {view, {y, {1, 4}}}).error().code, Errc::device_differs);
    const Buffer a = other.upload(numbers(64)).value();
    EXPECT_EQ(box_copy(Layout::row)(device, {{a, {8, 8}}}).error().code, Errc::device_differs);
}

TEST(TensorKernel, AskingAKeptSpecialisationHarmsNobody) {
    const Device device = emulator();
    const TensorKernel scale(scale_options(), emit_scale);
    const Buffer x = device.upload(numbers(4)).value(), y = device.upload(numbers(4)).value();
    const TensorView views[] = {{x, {1, 4}}, {y, {1, 4}}};
    const auto bound = scale.bind(device, views);
    ASSERT_TRUE(bound);
    EXPECT_EQ(bound->kernel->specialisation["columns"], 4u);
    (void)bound->kernel->specialisation["rows"];
    (void)bound->kernel->specialisation["nope"];
    EXPECT_TRUE(scale.launch(device, views));
}

TEST(TensorKernel, OfNoRowsNothingIsLaunched) {
    const Device device = emulator();
    const TensorKernel scale(scale_options(), emit_scale);
    const Buffer x = device.allocate(0).value();
    const auto made = scale(device, {{x, {0, 4}}});
    ASSERT_TRUE(made) << text_of(made.error());
    EXPECT_EQ(made->front().bytes(), 0u);
}

TEST(TensorKernel, MoreRowsThanAGridHas) {
    const TensorKernel k({.name = "k",
                          .block = [](const Specialisation& s) { return Dim3{s.extent("n")}; },
                          .parameters = {{"n", 1ull << 33}}},
                         [](FunctionBuilder<>& b, const Specialisation&) { b.emit<"ret">(); });
    EXPECT_THAT(text_of(k.ptx({}).error()), HasSubstr("n is 8589934592, which 32 bits have no room for"));
}

// As a shell would have it, for the while of a test.
class Path {
  public:
    explicit Path(const std::string& folder) : before_(::getenv("PATH")) {
        ::setenv("PATH", folder.c_str(), 1);
    }
    ~Path() { ::setenv("PATH", before_.c_str(), 1); }
    Path(const Path&) = delete;
    Path& operator=(const Path&) = delete;

  private:
    std::string before_;
};

TEST(TensorKernel, SassIsTheMachineCode) {
    const std::string program = test::program_path("nvdisasm");
    if (program.empty()) GTEST_SKIP() << "no nvdisasm";
    const Path path(program.substr(0, program.rfind('/')));
    const TensorKernel scale(scale_options(), emit_scale);
    const auto sass = scale.sass({{"columns", 8}}, "sm_90");
    ASSERT_TRUE(sass) << text_of(sass.error());
    EXPECT_THAT(*sass, HasSubstr("FADD"));
    EXPECT_THAT(*sass, HasSubstr(".text.scale"));
}

}  // namespace
}  // namespace ptxgraft::dsl
