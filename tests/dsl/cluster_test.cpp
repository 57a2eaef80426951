// What cluster.hpp, schedule.hpp and async_copy.hpp print, and what it does on the emulator with all of its
// checks. All that is printed is assembled too.

#include "ptxgraft/dsl/cluster.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "ptxgraft/dsl.hpp"
#include "ptxgraft/kernel.hpp"
#include "support/emitted_kernel.hpp"

namespace ptxgraft::dsl {
namespace {

using test::checked_device, test::lines_from;

static_assert(Cluster<4, 2>::row_mask(0) == 0x0F && Cluster<4, 2>::row_mask(1) == 0xF0);
static_assert(Cluster<4, 2>::column_mask(0) == 0x11 && Cluster<4, 2>::column_mask(3) == 0x88);
static_assert(Cluster<16>::row_mask(0) == 0xFFFF && Cluster<16>::column_mask(15) == 0x8000);
static_assert(Cluster<1, 16>::column_mask(0) == 0xFFFF && Cluster<2, 3>::all_mask == 0x3F);

// What there is none of does not compile.
template <std::uint32_t X, std::uint32_t Y>
concept HasCluster = requires {
    Cluster<X, Y>::size;
};
static_assert(HasCluster<8, 2> && !HasCluster<17, 1> && !HasCluster<4, 5> && !HasCluster<0, 1>);
static_assert(!HasCluster<65536, 65536>);
template <std::uint32_t Bytes>
concept HasCopy = requires {
    cp_async<Bytes>;
};
static_assert(HasCopy<4> && HasCopy<8> && HasCopy<16> && !HasCopy<2> && !HasCopy<12> && !HasCopy<32>);

std::string assembled_ptx(const Module& module) {
    const auto ptx = module.ptx();
    if (!ptx) throw std::runtime_error(describe(ptx.error()));
    const auto cubin = default_assembler().assemble(*ptx, {});
    EXPECT_TRUE(cubin) << describe(cubin.error(), *ptx);
    return *ptx;
}
Kernel assembled_kernel(const Module& module, const Device& device) {
    const auto kernel = Skeleton::from_ptx(assembled_ptx(module))->graft({}, device);
    if (!kernel) throw std::runtime_error(describe(kernel.error()));
    return *kernel;
}
// Launches with a buffer of numbers for the first argument, and gives what is in it then.
template <class... Arguments>
std::vector<std::uint32_t> run(const Module& module, const LaunchConfig& config, std::size_t count,
                               const Arguments&... arguments) {
    const auto device = checked_device();
    const auto out = device.upload(std::vector<std::uint32_t>(count));
    const auto done = assembled_kernel(module, device).launch(config, *out, arguments...);
    if (!done) throw std::runtime_error(describe(done.error()));
    return *out->template download<std::uint32_t>();
}

// Where the numbers of a block are, of `count` for each.
template <Target On> Value<u64, On> of_block(dsl::FunctionBuilder<On>& k, Reg<u64> out, std::uint32_t count) {
    const auto blocks = read<"%nctaid.x">(k), block = read<"%ctaid.y">(k) * blocks + read<"%ctaid.x">(k);
    const auto address = k.template reg<u64>();
    k.template emit<"mad.wide.u32">(address, block, 4 * count, out);
    return value(k, address);
}
template <Target On> void store_word(dsl::FunctionBuilder<On>& k, const auto& address, Reg<u32> word) {
    k.template emit<"st.global.u32">(address, word);
}

// ---- clusters

// Two clusters side by side, two above each other.
template <std::uint32_t X, std::uint32_t Y> LaunchConfig four_clusters() {
    return {.grid = {2 * X, 2 * Y}, .block = {1}};
}

template <std::uint32_t X, std::uint32_t Y> void check_masks() {
    using Shape = Cluster<X, Y>;
    Module module({.target = "sm_90a"});
    auto& k = module.entry<sm_90a>("masks");
    k.directives({.cluster = Shape::extent});
    const auto out = of_block(k, k.argument<u64>("out"), 3);
    store_word(k, at(out), read<"%cluster_ctarank">(k));
    k.emit<"st.global.u16">(at(out, 4), Shape::row_mask(k));
    k.emit<"st.global.u16">(at(out, 8), Shape::column_mask(k));
    k.emit<"ret">();
    const auto found = run(module, four_clusters<X, Y>(), 12 * Shape::size);
    for (std::uint32_t block = 0; block < 4 * Shape::size; ++block) {
        const std::uint32_t x = block % (2 * X) % X, y = block / (2 * X) % Y;
        EXPECT_EQ(found[3 * block], Shape::rank(x, y)) << X << " " << Y;
        EXPECT_EQ(found[3 * block + 1], Shape::row_mask(y)) << X << " " << Y;
        EXPECT_EQ(found[3 * block + 2], Shape::column_mask(x)) << X << " " << Y;
    }
}
TEST(DslCluster, MasksAreOfTheRowAndColumnOfACta) {
    check_masks<1, 1>(), check_masks<2, 1>(), check_masks<1, 2>(), check_masks<2, 2>();
    check_masks<3, 2>(), check_masks<4, 2>(), check_masks<2, 4>(), check_masks<8, 1>();
    check_masks<16, 1>(), check_masks<1, 16>(), check_masks<4, 4>(), check_masks<5, 3>();
}

// The first CTA of each row sends its row's 16 bytes to the row, that of each column to the column.
TEST(DslCluster, MulticastsGoWhereMasksSay) {
    using Shape = Cluster<3, 2>;
    Module module({.target = "sm_90a"});
    auto& k = module.entry<sm_90a>("send");
    k.directives({.cluster = Shape::extent});
    const auto out = of_block(k, k.argument<u64>("out"), 2);
    const auto in = k.argument<u64>("in");
    const auto smem = k.shared("smem", {.count = 32, .align = 16});
    const Barriers full(k, "full", 1);
    const Cursor first = cursor(k);
    const auto x = read<"%cluster_ctaid.x">(k), y = read<"%cluster_ctaid.y">(k);
    full.init(1);
    k.emit<"fence.mbarrier_init.release.cluster">();
    const auto barrier = full.expect_tx(first, 32);
    cluster_sync(k);
    const auto send = [&](Reg<u32> which, std::uint32_t from, std::uint32_t to, Reg<u16> mask) {
        const auto source = k.reg<u64>();
        k.emit<"mad.wide.u32">(source, which, 16, in);
        k.emit<"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster">(
            at(address_of(k, smem) + to), at(source, from), 16, at(barrier), mask);
    };
    const Pred is_first_col = x == 0, is_first_row = y == 0;
    k.if_(is_first_col, [&] { send(y, 0, 0, Shape::row_mask(k)); });
    k.if_(is_first_row, [&] { send(x, 32, 16, Shape::column_mask(k)); });
    full.wait(first);
    const auto word = k.reg<u32>();
    for (std::uint32_t i = 0; i < 2; ++i) {
        k.emit<"ld.shared.u32">(word, at(smem, 16 * i));
        store_word(k, at(out, 4 * i), word);
    }
    cluster_sync(k);
    k.emit<"ret">();
    std::vector<std::uint32_t> data(20);
    std::iota(data.begin(), data.end(), 100u);
    const auto device = checked_device();
    const auto kernel = assembled_kernel(module, device);
    const auto to = device.upload(std::vector<std::uint32_t>(48)), from = device.upload(data);
    const auto done = kernel.launch(four_clusters<3, 2>(), *to, *from);
    ASSERT_TRUE(done) << describe(done.error());
    const auto found = *to->download<std::uint32_t>();
    for (std::uint32_t block = 0; block < 24; ++block) {
        EXPECT_EQ(found[2 * block], 100 + 4 * (block / 6 % 2)) << block;
        EXPECT_EQ(found[2 * block + 1], 108 + 4 * (block % 6 % 3)) << block;
    }
}

// Every CTA reads what every other has, by the name of a variable and by an address.
TEST(DslCluster, AddressesAreInTheCtaOfTheirRank) {
    using Shape = Cluster<2, 3>;
    Module module({.target = "sm_90a"});
    auto& k = module.entry<sm_90a>("read");
    k.directives({.cluster = Shape::extent});
    const auto out = of_block(k, k.argument<u64>("out"), 2 * Shape::size);
    const auto smem = k.shared("smem", {.type = u32, .count = 2});
    const auto rank = read<"%cluster_ctarank">(k), word = value(k, k.reg<u32>());
    k.emit<"st.shared.u32">(at(smem), rank + 10);
    k.emit<"st.shared.u32">(at(smem, 4), rank + 20);
    cluster_sync(k);
    const auto second = address_of(k, smem) + 4, other = value(k, k.reg<u32>());
    k.emit<"mov.u32">(other, 0);
    for (std::uint32_t i = 0; i < Shape::size; ++i) {
        k.emit<"ld.shared::cluster.u32">(word, at(address_in(k, smem, i)));
        store_word(k, at(out, 8 * i), word);
        k.emit<"ld.shared::cluster.u32">(word, at(address_in(k, second, other)));
        store_word(k, at(out, 8 * i + 4), word);
        k.emit<"add.u32">(other, other, 1);
    }
    cluster_sync(k);
    k.emit<"ret">();
    const auto found = run(module, four_clusters<2, 3>(), 4 * 6 * 12);
    for (std::uint32_t i = 0; i < found.size(); ++i)
        EXPECT_EQ(found[i], (i % 2 == 0 ? 10 : 20) + i / 2 % 6) << i;
}
// Without the first barrier nothing is written yet; without the one at the end a CTA may be gone.
TEST(DslCluster, ReadsOfOtherCtasNeedTheBarrier) {
    for (const bool has_first : {false, true}) {
        Module module({.target = "sm_90a"});
        auto& k = module.entry<sm_90a>("read");
        k.directives({.cluster = Cluster<2>::extent});
        const auto out = of_block(k, k.argument<u64>("out"), 1);
        const auto smem = k.shared("smem", {.type = u32, .count = 1});
        const auto rank = read<"%cluster_ctarank">(k), word = value(k, k.reg<u32>());
        k.emit<"st.shared.u32">(at(smem), rank);
        if (has_first) cluster_sync(k);
        k.emit<"ld.shared::cluster.u32">(word, at(address_in(k, smem, rank ^ 1)));
        store_word(k, at(out), word);
        if (!has_first) cluster_sync(k);
        k.emit<"ret">();
        EXPECT_THAT(
            [&] { run(module, four_clusters<2, 1>(), 8); },
            testing::ThrowsMessage<std::runtime_error>(testing::HasSubstr(
                has_first ? "shared memory of a block that has ended" : "memory that nothing wrote")));
    }
}

// Each CTA waits until all have written to it, each an element of its own.
TEST(DslCluster, ArrivalsAtOtherCtasBarriersAreSeenThere) {
    using Shape = Cluster<4>;
    Module module({.target = "sm_90a"});
    auto& k = module.entry<sm_90a>("arrive");
    k.directives({.cluster = Shape::extent});
    const auto out = of_block(k, k.argument<u64>("out"), Shape::size);
    const auto smem = k.shared("smem", {.type = u32, .count = Shape::size});
    const Barriers all(k, "all", 1);
    const Cursor first = cursor(k);
    const auto rank = read<"%cluster_ctarank">(k), word = value(k, k.reg<u32>());
    all.init(Shape::size);
    k.emit<"fence.mbarrier_init.release.cluster">();
    cluster_sync(k);
    const auto own = rank * 4 + address_of(k, smem);
    const auto barrier = all.address(first);
    for (std::uint32_t i = 0; i < Shape::size; ++i) {
        k.emit<"st.shared::cluster.u32">(at(address_in(k, own, i)), rank * 10 + i);
        arrive_in(k, barrier, i);
    }
    all.wait_in_cluster(first);
    for (std::uint32_t i = 0; i < Shape::size; ++i) {
        k.emit<"ld.shared.u32">(word, at(smem, 4 * i));
        store_word(k, at(out, 4 * i), word);
    }
    cluster_sync(k);
    k.emit<"ret">();
    const auto found = run(module, four_clusters<4, 1>(), 4 * 16);
    for (std::uint32_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], i % 4 * 10 + i / 4 % 4) << i;
}

// ---- named barriers

// Two warps write, and go on; two others read what they wrote, each pair through a barrier of its own.
TEST(DslCluster, NamedBarriersAreOfTheWarpsThatComeThere) {
    Module module({.target = "sm_90a"});
    auto& k = module.entry<sm_90a>("pairs");
    const auto out = k.argument<u64>("out");
    const auto smem = k.shared("smem", {.type = u32, .count = 64});
    const NamedBarrier even(k, 64), odd(k, 64);
    const auto thread = read<"%tid.x">(k), warp = thread >> 5, word = value(k, k.reg<u32>());
    const auto slot = (thread & 63) * 4 + address_of(k, smem);
    const auto meet = [&](auto&& come) { k.if_((warp & 1) == 0, [&] { come(even); }, [&] { come(odd); }); };
    k.if_(
        warp < 2,
        [&] {
            k.emit<"st.shared.u32">(at(slot), thread + 1000);
            meet([](const auto& barrier) { barrier.arrive(); });
        },
        [&] {
            meet([](const auto& barrier) { barrier.sync(); });
            k.emit<"ld.shared.u32">(word, at(slot));
            const auto to = k.reg<u64>();
            k.emit<"mad.wide.u32">(to, thread & 63, 4, out);
            store_word(k, at(to), word);
        });
    k.emit<"ret">();
    EXPECT_THAT(assembled_ptx(module), testing::AllOf(testing::HasSubstr("\tbar.arrive 1, 64;\n"),
                                                      testing::HasSubstr("\tbar.sync 2, 64;\n")));
    std::vector<std::uint32_t> want(64);
    std::iota(want.begin(), want.end(), 1000u);
    EXPECT_EQ(run(module, {.block = {128}}, 64), want);
}
TEST(DslCluster, NamedBarriersAreFifteen) {
    const auto error_with = [](std::uint32_t count, std::uint32_t threads) {
        Module module({.target = "sm_90a"});
        auto& k = module.entry<sm_90a>("many");
        for (std::uint32_t i = 0; i < count; ++i) {
            const NamedBarrier barrier(k, threads);
            EXPECT_EQ(barrier.number(), std::min(i + 1, 15u));
            barrier.sync();
        }
        k.emit<"ret">();
        const auto ptx = module.ptx();
        return ptx ? std::string() : describe(ptx.error());
    };
    EXPECT_EQ(error_with(15, 64), "");
    EXPECT_THAT(error_with(16, 64), testing::HasSubstr("a CTA has barriers 0 to 15"));
    EXPECT_THAT(error_with(1, 48), testing::HasSubstr("bar.sync"));
}

// A module for what has no clusters says so, also where its functions are for any target.
TEST(DslCluster, OlderTargetsHaveNone) {
    Module module({.target = "sm_80"});
    auto& k = module.entry("old");
    cluster_sync(k);
    k.emit<"ret">();
    const auto ptx = module.ptx();
    ASSERT_FALSE(ptx);
    EXPECT_EQ(ptx.error().code, Errc::target_not_able);
    EXPECT_THAT(describe(ptx.error()), testing::HasSubstr("sm_90"));
}

TEST(DslCluster, OneLaneIsElected) {
    Module module({.target = "sm_90a"});
    auto& k = module.entry<sm_90a>("elect");
    const auto out = k.argument<u64>("out"), to = k.reg<u64>();
    const auto is_leader = elect(k);
    k.emit<"mad.wide.u32">(to, read<"%tid.x">(k) >> 5, 4, out);
    k.if_(is_leader).emit<"red.global.add.u32">(at(to), 1);
    k.emit<"ret">();
    EXPECT_EQ(run(module, {.block = {96}}, 3), (std::vector<std::uint32_t>{1, 1, 1}));
}

// ---- schedules

// Tiles in the order that schedule.hpp describes.
std::vector<std::pair<std::uint32_t, std::uint32_t>> tiles_in_order(std::uint32_t rows, std::uint32_t cols,
                                                                    std::uint32_t band) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> all;
    for (std::uint32_t first = 0; first < rows; first += band)
        for (std::uint32_t col = 0; col < cols; ++col)
            for (std::uint32_t row = first; row < std::min(first + band, rows); ++row)
                all.emplace_back(row, col);
    return all;
}
struct Problem {
    std::uint32_t rows, cols;
};

// Every block writes into each of its tiles its own number plus 1, how many tiles it had before, row and
// column: those of all problems lie one behind the other.
void check_schedule(const std::vector<Problem>& problems, std::uint32_t workers, std::uint32_t band,
                    bool is_of_clusters = false) {
    Module module({.target = "sm_90a"});
    auto& k = module.entry<sm_90a>("tiles");
    if (is_of_clusters) k.directives({.cluster = Cluster<2>::extent});
    const auto out = k.argument<u64>("out"), to = k.reg<u64>();
    const auto had = k.reg<u32>(), rows = k.reg<u32>(), cols = k.reg<u32>();
    const auto worker = is_of_clusters ? read<"%clusterid.x">(k) : read<"%ctaid.x">(k);
    const auto schedule =
        is_of_clusters ? TileSchedule<sm_90a>::of_clusters(k, band) : TileSchedule<sm_90a>(k, band);
    k.emit<"mov.u32">(had, 0);
    std::uint32_t before = 0;
    for (const Problem& of : problems) {
        k.emit<"mov.u32">(rows, of.rows);
        k.emit<"mov.u32">(cols, of.cols);
        schedule.for_each({rows, cols}, [&](const TilePlace& tile) {
            k.emit<"mad.wide.u32">(to, value(k, tile.row) * of.cols + tile.col + before, 16, out);
            const Pred is_writer = is_of_clusters ? read<"%cluster_ctarank">(k) == 1 : worker >= 0;
            k.if_(is_writer).emit<"st.global.v4.u32">(at(to), vec((worker + 1).reg, had, tile.row, tile.col));
            k.emit<"add.u32">(had, had, 1);
        });
        before += of.rows * of.cols;
    }
    k.emit<"ret">();
    const std::uint32_t blocks = is_of_clusters ? 2 * workers : workers;
    const auto found = run(module, {.grid = {blocks}, .block = {1}}, 4 * before + 4);
    std::uint32_t number = 0, begin = 0;
    for (const auto& [r, c] : problems) {
        for (const auto& [row, col] : tiles_in_order(r, c, band)) {
            const auto tile = found.begin() + 4 * (begin + row * c + col);
            EXPECT_EQ(std::vector(tile, tile + 4),
                      (std::vector{number % workers + 1, number / workers, row, col}))
                << number << " of " << r << " " << c << ", bands of " << band;
            ++number;
        }
        begin += r * c;
    }
    EXPECT_EQ(found.back(), 0u);
}
TEST(DslSchedule, EveryTileIsOneBlocksInTheOrderOfBands) {
    for (const std::uint32_t band : {1u, 2u, 3u, 8u, 16u})
        for (const Problem& of : {Problem{1, 1}, {5, 7}, {16, 3}, {3, 16}, {9, 1}, {0, 4}, {4, 0}})
            check_schedule({of}, 4, band);
    check_schedule({{6, 6}}, 36, 8);
    check_schedule({{2, 2}}, 9, 8);
}
TEST(DslSchedule, ProblemsAreOneRowOfTiles) {
    check_schedule({{3, 5}, {0, 9}, {1, 1}, {7, 2}, {2, 0}, {1, 3}}, 4, 2);
    check_schedule({{1, 1}, {1, 1}, {1, 1}}, 7, 8);
    check_schedule({{3, 3}, {5, 4}}, 3, 2, true);
}

// ---- copies

template <std::uint32_t Bytes> void check_async_copy() {
    Module module({.target = "sm_80"});
    auto& k = module.entry<sm_80>("copy");
    const auto out = k.argument<u64>("out"), in = k.argument<u64>("in");
    const auto smem = k.shared("smem", {.count = 2 * Bytes, .align = 16});
    const auto left = k.argument<s32>("left");
    const auto begin = address_of(k, smem);
    async_copy<Bytes>(k, at(begin), at(in));
    async_copy<Bytes>(k, at(begin, Bytes), at(in), bytes_within<Bytes>(k, left));
    k.emit<"cp.async.wait_all">();
    const auto word = k.reg<u32>();
    for (std::uint32_t i = 0; i < 2 * Bytes; i += 4) {
        k.emit<"ld.shared.u32">(word, at(smem, i));
        store_word(k, at(out, i), word);
    }
    k.emit<"ret">();
    const auto device = checked_device();
    std::vector<std::uint8_t> data(Bytes);
    std::iota(data.begin(), data.end(), std::uint8_t{1});
    const auto kernel = assembled_kernel(module, device);
    const auto from = device.upload(data), to = device.upload(std::vector<std::uint8_t>(2 * Bytes, 0xEE));
    for (const std::int32_t there : {-100, -1, 0, 1, 3, 4, 7, 8, 15, 16, 17, 1000}) {
        const auto done = kernel.launch({}, *to, *from, there);
        ASSERT_TRUE(done) << describe(done.error());
        auto want = data;
        want.insert(want.end(), data.begin(), data.end());
        for (std::uint32_t i = 0; i < Bytes; ++i)
            if (static_cast<std::int32_t>(i) >= there) want[Bytes + i] = 0;
        EXPECT_EQ(*to->download<std::uint8_t>(), want) << Bytes << " " << there;
    }
}
TEST(DslAsyncCopy, WritesZerosBehindWhatThereIs) {
    check_async_copy<4>(), check_async_copy<8>(), check_async_copy<16>();
}

TEST(DslAsyncCopy, BulkCopiesAreAnnouncedTogether) {
    Module module({.target = "sm_90a"});
    auto& k = module.entry<sm_90a>("copy");
    const auto out = k.argument<u64>("out"), in = k.argument<u64>("in");
    const auto smem = k.shared("smem", {.type = u32, .count = 20, .align = 16});
    const Barriers full(k, "full", 2);
    const Cursor here = cursor(k);
    const auto begin = address_of(k, smem), thread = read<"%tid.x">(k), word = value(k, k.reg<u32>());
    const auto to = k.reg<u64>();
    k.if_(thread == 0, [&] {
        full.init(1);
        k.emit<"fence.mbarrier_init.release.cluster">();
        bulk_copy(k, full, here, {{begin, value(k, in) + 64, 16}, {begin + 16, in, 64}});
    });
    k.emit<"bar.sync">(0);
    full.wait(here);
    k.emit<"ld.shared.u32">(word, at(thread * 4 + begin));
    k.emit<"mad.wide.u32">(to, thread, 4, out);
    store_word(k, at(to), word);
    k.emit<"ret">();
    const auto device = checked_device();
    std::vector<std::uint32_t> data(20);
    std::iota(data.begin(), data.end(), 7u);
    const auto kernel = assembled_kernel(module, device);
    const auto from = device.upload(data), result = device.upload(std::vector<std::uint32_t>(20));
    const auto done = kernel.launch({.block = {20}}, *result, *from);
    ASSERT_TRUE(done) << describe(done.error());
    std::rotate(data.begin(), data.begin() + 16, data.end());
    EXPECT_EQ(*result->download<std::uint32_t>(), data);
}

// ---- texts

TEST(DslCluster, PrintsWhatItSays) {
    using Shape = Cluster<2, 2>;
    Module module({.target = "sm_90a"});
    auto& k = module.entry("prints");
    k.directives({.cluster = Shape::extent});
    const auto smem = k.shared("smem", {.count = 16});
    const NamedBarrier some(k, 256), others(k, 64);
    (void)Shape::row_mask(k);
    (void)Shape::column_mask(k);
    const auto there = address_in(k, smem, 3);
    (void)address_in(k, there, there);
    arrive_in(k, there, 1);
    const auto p = k.reg<pred>();
    k.emit<"setp.eq.u32">(p, there, 0);
    arrive_in_if(k, p, there, 2);
    cluster_sync(k, [&] { k.emit<"nanosleep.u32">(1); });
    const Barriers full(k, "full", 1);
    full.wait_in_cluster(cursor(k));
    some.sync();
    others.arrive();
    (void)elect(k);
    k.emit<"ret">();
    EXPECT_EQ(lines_from(assembled_ptx(module), "\tmov.u32"), R"(mov.u32 %u1, %cluster_ctaid.y;
mul.lo.u32 %u2, %u1, 2;
shl.b16 %us1, 3, %u2;
mov.u32 %u3, %cluster_ctaid.x;
shl.b16 %us2, 5, %u3;
mapa.shared::cluster.u32 %u4, smem, 3;
mapa.shared::cluster.u32 %u5, %u4, %u4;
mapa.shared::cluster.u32 %u6, %u4, 1;
mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%u6];
setp.eq.u32 %p1, %u4, 0;
mapa.shared::cluster.u32 %u7, %u4, 2;
@%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%u7];
barrier.cluster.arrive.release.aligned;
nanosleep.u32 1;
barrier.cluster.wait.acquire.aligned;
mov.u32 %u8, full;
mov.u32 %u9, 0;
mov.u32 %u10, 0;
mad.lo.u32 %u11, %u9, 8, %u8;
L1:
mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%u11], %u10;
@!%p2 bra L1;
bar.sync 1, 256;
bar.arrive 2, 64;
elect.sync _|%p3, -1;
ret;
)");
}

TEST(DslSchedule, PrintsWhatItSays) {
    Module module({.target = "sm_90a"});
    auto& k = module.entry("prints");
    const auto rows = k.reg<u32>(), cols = k.reg<u32>();
    k.emit<"mov.u32">(rows, 5);
    k.emit<"mov.u32">(cols, 9);
    const TileSchedule schedule(k);
    schedule.for_each({rows, cols}, [&](const TilePlace&) { k.emit<"bar.sync">(0); });
    (void)TileSchedule<any_target>::of_clusters(k);
    (void)tiles_over(k, rows, 64);
    k.emit<"ret">();
    EXPECT_EQ(lines_from(assembled_ptx(module), "\tmov.u32 %u3"), R"(mov.u32 %u3, %ctaid.x;
mov.u32 %u4, %nctaid.x;
mul.lo.u32 %u5, %u1, %u2;
L1:
setp.ge.u32 %p1, %u3, %u5;
@%p1 bra L2;
mul.lo.u32 %u6, %u2, 8;
div.u32 %u7, %u3, %u6;
mul.lo.u32 %u8, %u7, %u6;
sub.u32 %u9, %u3, %u8;
mul.lo.u32 %u10, %u7, 8;
sub.u32 %u11, %u1, %u10;
min.u32 %u11, %u11, 8;
div.u32 %u12, %u9, %u11;
mul.lo.u32 %u13, %u12, %u11;
sub.u32 %u14, %u9, %u13;
add.u32 %u14, %u14, %u10;
bar.sync 0;
add.u32 %u3, %u3, %u4;
bra.uni L1;
L2:
sub.u32 %u3, %u3, %u5;
mov.u32 %u15, %clusterid.x;
mov.u32 %u16, %nclusterid.x;
add.u32 %u17, %u1, 63;
div.u32 %u18, %u17, 64;
ret;
)");
}

TEST(DslAsyncCopy, PrintsWhatItSays) {
    Module module({.target = "sm_90a"});
    auto& k = module.entry("prints");
    const auto to = k.reg<u32>();
    const auto from = k.argument<u64>("from");
    const auto left = k.argument<s32>("left");
    const Barriers full(k, "full", 1);
    const Cursor here = cursor(k);
    k.emit<"mov.u32">(to, 0);
    async_copy<4>(k, at(to), at(from));
    async_copy<8>(k, at(to, 8), at(from, 8));
    async_copy<16>(k, at(to, 16), at(from, 16));
    async_copy<16>(k, at(to, 32), at(from, 32), 0);
    async_copy<4>(k, at(to, 48), at(from, 48), bytes_within<4>(k, left));
    bulk_copy(k, full, here, {{to, from, 4096}, {to, from, 2048}});
    k.emit<"ret">();
    EXPECT_EQ(lines_from(assembled_ptx(module), "\tcp.async"), R"(cp.async.ca.shared.global [%u1], [%ud1], 4;
cp.async.ca.shared.global [%u1+8], [%ud1+8], 8;
cp.async.cg.shared.global [%u1+16], [%ud1+16], 16;
cp.async.cg.shared.global [%u1+32], [%ud1+32], 16, 0;
max.s32 %s2, %s1, 0;
min.s32 %s2, %s2, 4;
cp.async.ca.shared.global [%u1+48], [%ud1+48], 4, %s2;
mad.lo.u32 %u5, %u3, 8, %u2;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%u5], 6144;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%u1], [%ud1], 4096, [%u5];
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%u1], [%ud1], 2048, [%u5];
ret;
)");
}

}  // namespace
}  // namespace ptxgraft::dsl
