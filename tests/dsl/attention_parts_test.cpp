// What attention is made of, each part by itself: rings of stages, turns of warpgroups, rows copied by
// cp.async, the online softmax; on the emulator with all of its checks. What is printed is assembled too.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "ptxgraft/dsl.hpp"
#include "ptxgraft/kernel.hpp"

namespace ptxgraft::dsl {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

// Launches with `data` for the first argument, and gives what is in it then.
template <class T, class... Arguments>
std::vector<T> run(const Module& module, const LaunchConfig& config, const std::vector<T>& data,
                   const Arguments&... arguments) {
    const auto ptx = module.ptx();
    if (!ptx) throw std::runtime_error(describe(ptx.error()));
    const auto cubin = default_assembler().assemble(*ptx, {});
    EXPECT_TRUE(cubin) << describe(cubin.error(), *ptx);
    const auto device = Device::open(
        "emulator", {.emulator = {.checks = EmulatorChecks::all().with(EmulatorCheck::equal_stores)}});
    const auto buffer = device->upload(data);
    const auto kernel = Skeleton::from_ptx(*ptx)->graft({}, *device);
    if (!kernel) throw std::runtime_error(describe(kernel.error()));
    const auto done = kernel->launch(config, *buffer, arguments...);
    if (!done) throw std::runtime_error(describe(done.error()));
    return *buffer->template download<T>();
}

// 9 tiles of 32 numbers pass through 4 stages; a warp adds 1 to each.
TEST(DslRing, TilesPassThroughItsStages) {
    constexpr std::uint32_t tiles = 9, stages = 4, bytes = 128;
    Module module({.target = "sm_90"});
    auto& k = module.entry<sm_90>("k");
    const auto data = k.argument<u64>("data");
    const auto memory = k.shared("memory", {.type = b8, .count = stages * bytes, .align = 128});
    Ring ring(k, "tiles", stages);
    const auto thread = read<"%tid.x">(k);
    const auto base = address_of(k, memory);
    const auto address = k.reg<u64>();
    const auto tile = k.reg<u32>();
    k.emit<"cvta.to.global.u64">(address, data);
    k.emit<"mov.u32">(tile, 0);
    k.if_(thread == 0, [&] {
        ring.init(1);
        k.emit<"fence.mbarrier_init.release.cluster">();
    });
    k.emit<"bar.sync">(0);
    const auto for_each_tile = [&](auto&& body) {
        k.loop_while([&] {
            body();
            k.emit<"add.u64">(address, address, bytes);
            k.emit<"add.u32">(tile, tile, 1);
            return value(k, tile) < tiles;
        });
    };
    k.if_(thread == 32, [&] {  // the producer
        ring.begin_filling();
        for_each_tile([&] {
            ring.fill(bytes, [&](Reg<u32> barrier) {
                k.emit<"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes">(
                    at(value(k, ring.next.stage) * bytes + base), at(address), bytes, at(barrier));
            });
        });
    });
    k.if_(thread < 32, [&] {
        ring.begin_emptying();
        const auto out = k.reg<u64>();
        k.emit<"mad.wide.u32">(out, thread, 4, address);
        for_each_tile([&] {
            ring.wait();
            const auto x = k.reg<u32>();
            k.emit<"ld.shared.u32">(x, at(value(k, ring.next.stage) * bytes + base + (thread << 2)));
            k.emit<"bar.warp.sync">(-1);
            ring.free(thread == 0);
            k.emit<"add.u32">(x, x, 1);
            k.emit<"st.global.u32">(at(out), x);
            k.emit<"add.u64">(out, out, bytes);
        });
    });
    k.emit<"ret">();
    std::vector<std::uint32_t> numbers(tiles * 32), more(tiles * 32);
    std::iota(numbers.begin(), numbers.end(), 0u);
    std::iota(more.begin(), more.end(), 1u);
    EXPECT_THAT(run(module, {.block = {64}}, numbers), ElementsAreArray(more));
}

// Three groups write their numbers one after the other, twice, where a counter in shared memory says.
TEST(DslTurns, GroupsTakeThemInOrder) {
    Module module({.target = "sm_80"});
    auto& k = module.entry("k");
    const auto out = k.argument<u64>("out");
    const auto counter = k.shared("counter", {.type = u32});
    const auto thread = read<"%tid.x">(k), group = thread >> 6;
    Turns turns(k, 3, 64);
    k.if_(thread == 0).emit<"st.shared.u32">(at(counter), 0);
    k.emit<"bar.sync">(0);
    turns.begin(group);
    for (int round = 0; round < 2; ++round) {
        turns.take();
        k.if_((thread & 63) == 0, [&] {
            const auto place = k.reg<u32>();
            const auto address = k.reg<u64>();
            k.emit<"ld.shared.u32">(place, at(counter));
            k.emit<"mad.wide.u32">(address, place, 4, out);
            k.emit<"st.global.u32">(at(address), group);
            k.emit<"add.u32">(place, place, 1);
            k.emit<"st.shared.u32">(at(counter), place);
        });
        turns.pass();
    }
    turns.end();
    k.emit<"ret">();
    EXPECT_THAT(module.text(), HasSubstr("\tadd.u32 %u4, %u2, 1;\n\tbar.sync %u4, 128;\n"));
    EXPECT_THAT(run(module, {.block = {192}}, std::vector<std::uint32_t>(6)),
                testing::ElementsAre(0, 1, 2, 0, 1, 2));
}

// Rows of 256 bytes, two tiles wide, 64 at a time, of which there are 75; then they are read where TileRows
// has them, and written without holes.
TEST(DslRowCopy, CopiesTilesAndZerosBeyondTheLastRow) {
    constexpr std::uint32_t rows = 75, block = 64, threads = 64, words = 64;  // of a row
    constexpr TileRows tile = tile_of(128);
    Module module({.target = "sm_80"});
    auto& k = module.entry("k");
    const auto data = k.argument<u64>("data");
    const auto memory = k.shared("memory", {.type = b8, .count = 2 * block * 128, .align = 1024});
    const auto thread = read<"%tid.x">(k);
    const RowCopy copy(k, tile, threads, thread, address_of(k, memory));
    const auto row_bytes = k.reg<u64>(), out = k.reg<u64>();
    const auto count = k.reg<u32>(), first = k.reg<u32>(), x = k.reg<u32>();
    k.emit<"mov.u64">(row_bytes, 4 * words);
    k.emit<"mov.u32">(count, rows);
    k.emit<"mov.u32">(first, 0);
    k.emit<"cvta.to.global.u64">(data, data);
    k.emit<"add.u64">(out, data, rows * 4 * words);
    const CopiedRows from = copy.rows(data, row_bytes, value(k, first), count);
    for (std::uint32_t begin = 0; begin < 2 * block; begin += block) {
        copy.next<block, 2>(from, copy.target());
        k.emit<"cp.async.commit_group">();
        k.emit<"cp.async.wait_group">(0);
        k.emit<"bar.sync">(0);
        // A thread reads a row.
        const auto base = address_of(k, memory) + thread * tile.row_bytes;
        const auto to = k.reg<u64>();
        k.emit<"mad.wide.u32">(to, thread + begin, 4 * words, out);
        for (std::uint32_t word = 0; word < words; ++word) {
            const auto swizzled_word = (((thread & 7) ^ (word % 32 / 4)) << 4) + base;
            k.emit<"ld.shared.u32">(x, at(swizzled_word, word / 32 * block * 128 + word % 4 * 4));
            k.emit<"st.global.u32">(at(to, 4 * word), x);
        }
        k.emit<"bar.sync">(0);
    }
    k.emit<"ret">();
    std::vector<std::uint32_t> numbers((rows + 2 * block) * words);
    std::iota(numbers.begin(), numbers.begin() + rows * words, 1u);
    std::vector<std::uint32_t> expected = numbers;
    std::copy_n(numbers.begin(), rows * words, expected.begin() + rows * words);
    EXPECT_THAT(run(module, {.block = {threads}}, numbers), ElementsAreArray(expected));
}

// 16 rows of 5 blocks of 16 columns; some begin with minus infinity, one has nothing else.
TEST(DslSoftmax, WeightsAndSumsOfRowsThatComeInBlocks) {
    constexpr std::uint32_t blocks = 5, columns = 16;
    Module module({.target = "sm_80"});
    auto& k = module.entry("k");
    const auto data = k.argument<u64>("data");
    const auto lane = read<"%tid.x">(k);
    const auto address = k.reg<u64>();
    OnlineSoftmax rows(k, -1e8f);
    const Regs<f32, columns / 2> scores = k.regs<f32, columns / 2>(), sums = k.regs<f32, columns / 2>();
    for (const auto& sum : sums) k.emit<"mov.f32">(sum, 0.0f);
    const auto place_of = [&](std::uint32_t begin, std::size_t i) {  // of register i
        return at(address, 4 * (begin + column_of(i) + blocks * columns * 8 * half_of(i)));
    };
    const auto offset = (lane >> 2) * (blocks * columns) + ((lane & 3) << 1);
    k.emit<"mad.wide.u32">(address, offset, 4, data);
    for (std::uint32_t block = 0; block < blocks; ++block) {
        for (std::size_t i = 0; i < scores.size(); ++i)
            k.emit<"ld.global.f32">(scores[i], place_of(block * columns, i));
        rows.weigh(scores);
        rows.rescale(sums);
        for (std::size_t i = 0; i < scores.size(); ++i) k.emit<"add.f32">(sums[i], sums[i], scores[i]);
    }
    for (std::size_t half = 0; half < 2; ++half) rows.normalise(half);
    for (std::size_t i = 0; i < sums.size(); ++i) {
        k.emit<"mul.f32">(sums[i], sums[i], rows.sum[half_of(i)]);
        k.emit<"st.global.f32">(place_of(0, i), sums[i]);
    }
    k.emit<"ret">();
    std::vector<float> numbers(16 * blocks * columns);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const std::size_t row = i / (blocks * columns), column = i % (blocks * columns);
        const bool is_hidden = row == 3 || (row == 9 && column < 40);
        numbers[i] = is_hidden ? -INFINITY : static_cast<float>((i * 7919) % 1000) * 0.02f - 10;
    }
    const auto found = run(module, {.block = {32}}, numbers);
    for (std::size_t row = 0; row < 16; ++row) {
        const float* const of_row = &numbers[row * blocks * columns];
        double total = 0;
        for (std::size_t i = 0; i < blocks * columns; ++i) total += std::exp(double{of_row[i]});
        for (std::size_t column = 0; column < columns; ++column) {
            double sum = 0;
            for (std::size_t block = 0; block < blocks; ++block)
                sum += std::exp(double{of_row[block * columns + column]});
            EXPECT_NEAR(found[row * blocks * columns + column], total == 0 ? 0 : sum / total, 1e-5)
                << row << ", " << column;
        }
    }
}

}  // namespace
}  // namespace ptxgraft::dsl
