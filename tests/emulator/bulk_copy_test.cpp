// Bulk and tensor copies as programs do them: mbarriers, bulk groups, tensor maps as arguments and in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "ptxgraft/device.hpp"
#include "support/kernel_text.hpp"

namespace ptxgraft {
namespace {

using testing::HasSubstr;

const Device& device() {
    static const Device opened = std::move(*Device::open("emulator:sm_90a"));
    return opened;
}

// Assembles as well: what the emulator runs is PTX for ptxas too.
Expected<Function> load_kernel(const std::string& ptx) {
    auto assembled = default_assembler().assemble(ptx, {.target = "sm_90a"});
    EXPECT_TRUE(assembled) << describe(assembled.error(), ptx);
    return device().load(ptx, "");
}

std::string module_of(const std::vector<std::string>& parameters, const std::string& body,
                      unsigned shared_bytes = 65536) {
    return test::kernel_text(
        {.version = "8.3",
         .target = "sm_90a",
         .parameters = parameters,
         .registers = {"pred %p<4>", "b16 %h<8>", "b32 %r<40>", "b64 %rd<20>", "f32 %f<4>"},
         .body = ".shared .align 1024 .b8 smem[" + std::to_string(shared_bytes) +
                 "];\n.shared .align 8 .b64 bar;\n" + body});
}

// Waits until phase 0 of `bar` is complete.
const std::string wait_for_bar =
    "$wait:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n@!%p1 bra $wait;\n";
// Copies `bytes` of smem to the address in %rd1, by 4.
std::string copy_out(unsigned bytes) {
    return "mov.u32 %r20, 0;\nmov.u32 %r21, smem;\n$out:\nadd.u32 %r22, %r21, %r20;\nld.shared.u32 %r23, "
           "[%r22];\n"
           "cvt.u64.u32 %rd10, %r20;\nadd.s64 %rd11, %rd1, %rd10;\nst.global.u32 [%rd11], %r23;\nadd.u32 "
           "%r20, %r20, 4;\n"
           "setp.lt.u32 %p2, %r20, " +
           std::to_string(bytes) + ";\n@%p2 bra $out;\n";
}
// Fills `bytes` of smem with their own offsets / 4 + 1, as words.
std::string fill_shared(unsigned bytes) {
    return "mov.u32 %r20, 0;\nmov.u32 %r21, smem;\n$fill:\nadd.u32 %r22, %r21, %r20;\nshr.u32 %r23, %r20, "
           "2;\nadd.u32 %r23, %r23, 1;\n"
           "st.shared.u32 [%r22], %r23;\nadd.u32 %r20, %r20, 4;\nsetp.lt.u32 %p2, %r20, " +
           std::to_string(bytes) + ";\n@%p2 bra $fill;\nfence.proxy.async.shared::cta;\n";
}

template <class T> std::vector<T> counting(std::size_t count, T first = 0) {
    std::vector<T> values(count);
    std::iota(values.begin(), values.end(), first);
    return values;
}

std::string failure(const Expected<void>& done) { return done ? "" : describe(done.error()); }

// A kernel of an output, and an input or a tensor map.
Expected<void> run(const std::string& ptx, const Buffer& output, const Argument& input) {
    auto function = load_kernel(ptx);
    if (!function) return tl::unexpected(function.error());
    return function->launch({}, std::array<Argument, 2>{output, input});
}

const std::vector<std::string> two_pointers = {"u64 out", "u64 in"},
                               pointer_and_map = {"u64 out", "align 64 .b8 map[128]"};
const std::string pointers = "ld.param.u64 %rd1, [out];\nld.param.u64 %rd2, [in];\n";
const std::string map_address = "ld.param.u64 %rd1, [out];\nmov.b64 %rd3, map;\ncvta.param.u64 %rd2, %rd3;\n";

// ------------------------------------------------------------------------------------------------- bulk
// copies

TEST(BulkCopy, LoadsCompleteTheTransactionsOfAnMbarrier) {
    for (const char* how : {"shared::cluster.global.mbarrier::complete_tx::bytes [smem], [%rd2], %r1, [bar]",
                            "shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [smem], "
                            "[%rd2], 64, [bar], %rd9",
                            "shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [smem], "
                            "[%rd2], 64, [bar], %h1",
                            "shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::"
                            "cache_hint [smem], [%rd2], 64, [bar], %h1, %rd9"}) {
        const std::string ptx =
            module_of(two_pointers,
                      pointers +
                          "mov.u16 %h1, 1;\nmov.u64 %rd9, 0;\nmov.u32 %r1, 64;\n"
                          "mbarrier.init.shared::cta.b64 [bar], 1;\nfence.mbarrier_init.release.cluster;\n"
                          "mbarrier.arrive.expect_tx.shared::cta.b64 %rd5, [bar], 64;\ncp.async.bulk." +
                          std::string(how) + ";\n" + wait_for_bar + copy_out(64));
        auto in = device().upload(counting<std::uint32_t>(16, 7)), out = device().allocate(64);
        const auto done = run(ptx, *out, *in);
        ASSERT_TRUE(done) << failure(done);
        EXPECT_EQ(*out->download<std::uint32_t>(), counting<std::uint32_t>(16, 7)) << how;
    }
}

TEST(BulkCopy, StoresAndReductionsGoInBulkGroups) {
    struct Row {
        const char* how;
        std::function<std::uint32_t(std::uint32_t before, std::uint32_t value)> result;
    };
    const Row rows[] = {
        {"cp.async.bulk.global.shared::cta.bulk_group [%rd1], [smem], 64", [](auto, auto v) { return v; }},
        {"cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%rd1], [smem], 64, %rd9",
         [](auto, auto v) { return v; }},
        {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [smem], 64",
         [](auto b, auto v) { return b + v; }},
        {"cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.max.s32 [%rd1], [smem], 64, %rd9",
         [](auto b, auto v) { return std::max(b, v); }},
        {"cp.reduce.async.bulk.global.shared::cta.bulk_group.inc.u32 [%rd1], [smem], 64",
         [](auto b, auto v) { return b >= v ? 0 : b + 1; }},
        {"cp.reduce.async.bulk.global.shared::cta.bulk_group.xor.b32 [%rd1], [smem], 64",
         [](auto b, auto v) { return b ^ v; }},
        {"cp.reduce.async.bulk.global.shared::cta.bulk_group.and.b64 [%rd1], [smem], 64",
         [](auto b, auto v) { return b & v; }}};
    for (const Row& row : rows) {
        const std::string ptx =
            module_of(two_pointers, pointers + "mov.u64 %rd9, 0;\n" + fill_shared(64) + row.how +
                                        ";\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read "
                                        "0;\ncp.async.bulk.wait_group 0;\n");
        auto out = device().upload(counting<std::uint32_t>(16, 5));
        const auto done = run(ptx, *out, *out);
        ASSERT_TRUE(done) << row.how << failure(done);
        const auto values = *out->download<std::uint32_t>();
        for (std::uint32_t i = 0; i < 16; ++i) EXPECT_EQ(values[i], row.result(5 + i, 1 + i)) << row.how;
    }
}

TEST(BulkCopy, AReductionAddsToWhatSomethingWrote) {
    const std::string ptx = module_of(
        two_pointers, pointers + fill_shared(64) +
                          "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [smem], 64;\n"
                          "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n");
    auto other = device().allocate(64), fresh = device().allocate(64),
         zero = device().upload(std::vector<std::uint32_t>(16));
    EXPECT_THAT(failure(run(ptx, *fresh, *other)),
                HasSubstr("of the 64 bytes that are copied from or added to"));
    const auto done = run(ptx, *zero, *other);
    EXPECT_TRUE(done) << failure(done);
}

TEST(BulkCopy, ReductionsOfManyBlocksLoseNothing) {
    const std::string ptx = module_of(
        two_pointers, pointers + fill_shared(256) +
                          "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd1], [smem], "
                          "256;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n");
    std::string floats = ptx;
    const std::string word = "st.shared.u32 [%r22], %r23;";
    floats.replace(floats.find(word), word.size(), "cvt.rn.f32.u32 %f1, %r23; st.shared.f32 [%r22], %f1;");
    auto out = device().upload(std::vector<float>(64));
    auto function = load_kernel(floats);
    ASSERT_TRUE(function);
    ASSERT_TRUE(function->launch({.grid = {500, 1, 1}}, std::array<Argument, 2>{*out, *out}));
    const auto sums = *out->download<float>();
    for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(sums[i], 500.0f * static_cast<float>(i + 1));
}

// ------------------------------------------------------------------------------------------------- tensor
// copies

std::string load_box(unsigned rank, const std::string& coordinates, unsigned bytes,
                     const std::string& more = "", const std::string& words = "") {
    return module_of(pointer_and_map,
                     map_address +
                         "mov.u16 %h1, 1;\nmov.u64 %rd9, 0;\nmbarrier.init.shared::cta.b64 [bar], 1;\n"
                         "prefetch.tensormap [%rd2];\ncp.async.bulk.prefetch.tensor." +
                         std::to_string(rank) + "d.L2.global" +
                         (words.find("im2col") == std::string::npos
                              ? ".tile [%rd2, {" + coordinates + "}];\n"
                              : ".im2col [%rd2, {" + coordinates + "}]" + more + ";\n") +
                         "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], " + std::to_string(bytes) +
                         ";\ncp.async.bulk.tensor." + std::to_string(rank) + "d.shared::cluster.global" +
                         (words.empty() ? ".tile.mbarrier::complete_tx::bytes" : words) +
                         " [smem], [%rd2, {" + coordinates + "}], [bar]" + more + ";\n" + wait_for_bar +
                         copy_out(bytes));
}

TEST(BulkCopy, BoxesAreLoadedAndWhatIsOutsideIsFilled) {
    auto in = device().upload(counting<std::uint32_t>(8 * 6));
    auto out = device().allocate(4 * 4 * 4);
    const auto map =
        in->encode_tensor_map({.type = TensorType::u32, .dims = {8, 6}, .strides = {32}, .box = {4, 4}});
    ASSERT_TRUE(map);
    const auto done = run(load_box(2, "6, -1", 64), *out, *map);
    ASSERT_TRUE(done) << failure(done);
    EXPECT_EQ(*out->download<std::uint32_t>(),
              (std::vector<std::uint32_t>{0, 0, 0, 0, 6, 7, 0, 0, 14, 15, 0, 0, 22, 23, 0, 0}));
}

TEST(BulkCopy, SwizzledBoxesLieAsWgmmaReadsThem) {
    auto in = device().upload(counting<std::uint16_t>(64 * 16));
    auto out = device().allocate(64 * 16 * 2);
    const auto map = in->encode_tensor_map({.type = TensorType::bf16,
                                            .dims = {64, 16},
                                            .strides = {128},
                                            .box = {64, 16},
                                            .swizzle = TensorSwizzle::bytes128});
    ASSERT_TRUE(map);
    for (const char* words :
         {".mbarrier::complete_tx::bytes", ".tile.mbarrier::complete_tx::bytes.multicast::cluster",
          ".tile.mbarrier::complete_tx::bytes.L2::cache_hint"}) {
        const std::string text = words;
        const std::string more = text.find("multicast") != std::string::npos ? ", %h1"
                                 : text.find("hint") != std::string::npos    ? ", %rd9"
                                                                             : "";
        const auto done = run(load_box(2, "0, 0", 2048, more, words), *out, *map);
        ASSERT_TRUE(done) << failure(done);
        const auto values = *out->download<std::uint16_t>();
        for (unsigned row = 0; row < 16; ++row)
            for (unsigned column = 0; column < 64; ++column)
                ASSERT_EQ(values[row * 64 + (column / 8 ^ row % 8) * 8 + column % 8], row * 64 + column);
    }
}

TEST(BulkCopy, EveryRankIsLoaded) {
    const auto data = counting<std::uint8_t>(16 * 3 * 3 * 3 * 3);
    auto in = device().upload(data);
    for (unsigned rank = 1; rank <= 5; ++rank) {
        TensorMapOptions options{.type = TensorType::u8};
        std::string coordinates;
        for (unsigned i = 0, stride = 16; i < rank; ++i, stride *= i == 1 ? 1 : 3) {
            options.dims.push_back(i == 0 ? 16 : 3);
            options.box.push_back(i == 0 ? 16 : 2);
            if (i > 0) options.strides.push_back(stride);
            coordinates += i == 0 ? "0" : ", 1";
        }
        const auto map = in->encode_tensor_map(options);
        ASSERT_TRUE(map) << describe(map.error());
        const unsigned bytes = 16u << (rank - 1);
        auto out = device().allocate(bytes);
        const auto done = run(load_box(rank, coordinates, bytes), *out, *map);
        ASSERT_TRUE(done) << failure(done);
        const auto values = *out->download<std::uint8_t>();
        for (unsigned i = 0; i < bytes; ++i) {
            unsigned from = i % 16;
            for (unsigned d = 1, stride = 16; d < rank; ++d, stride *= 3)
                from += (1 + (i / 16 >> (d - 1) & 1)) * stride;
            ASSERT_EQ(values[i], data[from]) << rank << " " << i;
        }
    }
}

TEST(BulkCopy, ColumnsAreLoaded) {
    // 16 channels of 4 x 4 pixels, one image; a 2 x 2 filter reads from (0, 1) on.
    auto in = device().upload(counting<std::uint8_t>(16 * 4 * 4));
    auto out = device().allocate(16 * 5);
    const auto map = in->encode_tensor_map({.type = TensorType::u8,
                                            .dims = {16, 4, 4, 1},
                                            .strides = {16, 64, 256},
                                            .im2col = TensorIm2col{{0, 0}, {-1, -1}, 16, 5}});
    ASSERT_TRUE(map) << describe(map.error());
    const auto done =
        run(load_box(4, "0, 1, 0, 0", 80, ", {1, 0}", ".im2col.mbarrier::complete_tx::bytes"), *out, *map);
    ASSERT_TRUE(done) << failure(done);
    const auto values = *out->download<std::uint8_t>();
    const unsigned pixels[] = {2, 3, 5, 6, 7};  // x from 1 to 2, then 0 to 2, each one further right
    for (unsigned p = 0; p < 5; ++p) EXPECT_EQ(values[p * 16], pixels[p] * 16) << p;
    EXPECT_THAT(failure(run(load_box(4, "0, 1, 0, 0", 80), *out, *map)),
                HasSubstr("the tensor map is of the im2col mode"));
}

TEST(BulkCopy, BoxesAreStoredAndReducedInsideTheTensor) {
    struct Row {
        const char* how;
        std::function<std::uint32_t(std::uint32_t before, std::uint32_t value)> result;
    };
    const Row rows[] = {
        {"cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd2, {%r1, 2}], [smem]",
         [](auto, auto v) { return v; }},
        {"cp.async.bulk.tensor.2d.global.shared::cta.bulk_group.L2::cache_hint [%rd2, {%r1, 2}], [smem], "
         "%rd9",
         [](auto, auto v) { return v; }},
        {"cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%rd2, {%r1, 2}], [smem]",
         [](auto b, auto v) { return b + v; }},
        {"cp.reduce.async.bulk.tensor.2d.global.shared::cta.min.bulk_group [%rd2, {%r1, 2}], [smem]",
         [](auto b, auto v) { return std::min(b, v); }}};
    for (const Row& row : rows) {
        auto out = device().upload(counting<std::uint32_t>(8 * 4));
        const auto map =
            out->encode_tensor_map({.type = TensorType::u32, .dims = {8, 4}, .strides = {32}, .box = {4, 4}});
        const std::string ptx = module_of(
            pointer_and_map, map_address + "mov.u32 %r1, 6;\nmov.u64 %rd9, 0;\n" + fill_shared(64) + row.how +
                                 ";\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n");
        const auto done = run(ptx, *out, *map);
        ASSERT_TRUE(done) << row.how << failure(done);
        const auto values = *out->download<std::uint32_t>();
        for (std::uint32_t y = 0; y < 4; ++y)
            for (std::uint32_t x = 0; x < 8; ++x) {
                const bool inside = x >= 6 && y >= 2;
                EXPECT_EQ(values[y * 8 + x],
                          inside ? row.result(y * 8 + x, (y - 2) * 4 + x - 6 + 1) : y * 8 + x)
                    << row.how << x << y;
            }
    }
}

// What nothing wrote may be loaded: the mistake is to use it.
TEST(BulkCopy, LoadsOfWhatNothingWroteAreErrorsWhereItIsUsed) {
    auto fresh = device().allocate(4 * 8 * 6), out = device().allocate(64);
    const std::vector<std::uint32_t> row(8, 7);
    ASSERT_TRUE(fresh->write(std::as_bytes(std::span(row))));  // the first of six
    const auto map =
        fresh->encode_tensor_map({.type = TensorType::u32, .dims = {8, 6}, .strides = {32}, .box = {4, 4}});
    ASSERT_TRUE(map);
    const std::string all = load_box(2, "0, -3", 64);  // three rows are outside
    const auto inside = run(all, *out, *map);
    EXPECT_TRUE(inside) << failure(inside);
    EXPECT_EQ(out->download<std::uint32_t>()->at(12), 7u);
    EXPECT_THAT(failure(run(load_box(2, "0, 0", 64), *out, *map)),
                testing::AllOf(HasSubstr("memory that nothing wrote: shared memory at 0x"),
                               HasSubstr("stored undefined")));
}

// What lies outside of the tensor is not stored, and need not have been written.
TEST(BulkCopy, RowsOfAStoreThatAreOutsideMayBeUndefined) {
    for (const char* how :
         {"cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd2, {%r1, 2}], [smem]",
          "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%rd2, {%r1, 2}], [smem]"})
        for (const unsigned written : {32u, 16u}) {
            auto out = device().upload(counting<std::uint32_t>(8 * 4));
            const auto map = out->encode_tensor_map(
                {.type = TensorType::u32, .dims = {8, 4}, .strides = {32}, .box = {4, 4}});
            const std::string ptx = module_of(
                pointer_and_map, map_address + "mov.u32 %r1, 0;\nmov.u64 %rd9, 0;\n" + fill_shared(written) +
                                     how + ";\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n");
            const auto done = run(ptx, *out, *map);
            EXPECT_EQ(static_cast<bool>(done), written == 32) << failure(done);
            if (!done) { EXPECT_THAT(failure(done), HasSubstr("byte 0 of a row of the box at 0x")); }
        }
}

// Of a word whose other bytes were written: rows begin and end at any element.
TEST(BulkCopy, BytesBesideARowNeedNoFence) {
    struct Row {
        const char* where;
        bool is_right;
    };
    for (const auto& [where, is_right] : {Row{"%rd1", true}, Row{"%rd1+2", false}, Row{"%rd1+32", false},
                                          Row{"%rd1+34", true}, Row{"%rd1+64", true}}) {
        auto in = device().upload(std::vector<std::uint16_t>(4 * 32, 5));
        const auto map = in->encode_tensor_map(
            {.type = TensorType::u16, .dims = {32, 4}, .strides = {64}, .box = {16, 2}});
        const std::string store = std::string("mov.u16 %h1, 7;\nst.global.u16 [") + where + "], %h1;\n";
        const auto done = run(
            module_of(pointer_and_map,
                      map_address + store +
                          "mbarrier.init.shared::cta.b64 [bar], 1;\n"
                          "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 64;\n"
                          "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                          "[smem], [%rd2, {1, 0}], [bar];\n" +
                          wait_for_bar),
            *in, *map);
        EXPECT_EQ(static_cast<bool>(done), is_right) << where << failure(done);
        if (!is_right) { EXPECT_THAT(failure(done), HasSubstr("no fence.proxy.async for global memory")); }
    }
}

TEST(BulkCopy, MapsAreChangedInSharedMemoryAndUsedFromGlobalMemory) {
    auto first = device().upload(counting<std::uint32_t>(64)),
         second = device().upload(counting<std::uint32_t>(64, 1000));
    auto place = device().allocate(128), out = device().allocate(64);
    const auto map =
        first->encode_tensor_map({.type = TensorType::u32, .dims = {8, 8}, .strides = {32}, .box = {4, 4}});
    std::string body =
        map_address + "ld.param.u64 %rd4, [place];\nld.param.u64 %rd6, [second];\nmov.u32 %r1, 0;\n";
    for (int i = 0; i < 16; ++i) {  // all of a warp: the copy and the fence are .sync.aligned
        const std::string at = std::to_string(8 * i);
        body += "ld.param.b64 %rd7, [map+" + at + "];\nst.shared.b64 [smem+" + at + "], %rd7;\n";
    }
    body +=
        "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [smem], %rd6;\n"
        "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [smem], 1, 3;\n"
        "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [smem], 1, 2;\n"
        "mov.u64 %rd7, 64;\ntensormap.replace.tile.global_stride.shared::cta.b1024.b64 [smem], 0, %rd7;\n"
        "tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [smem], 0;\n"
        "tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [smem], 3;\n"
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd4], "
        "[smem], 128;\n"
        "fence.proxy.tensormap::generic.acquire.gpu [%rd4], 128;\nfence.proxy.async.shared::cta;\n"
        "mbarrier.init.shared::cta.b64 [bar], 1;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 32;\n"
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [smem], [%rd4, {2, "
        "2}], [bar];\n" +
        wait_for_bar + copy_out(64);
    auto function =
        load_kernel(module_of({"u64 out", "align 64 .b8 map[128]", "u64 place", "u64 second"}, body));
    ASSERT_TRUE(function) << describe(function.error());
    const auto done = function->launch({}, std::array<Argument, 4>{*out, *map, *place, *second});
    ASSERT_TRUE(done) << failure(done);
    const auto values = *out->download<std::uint32_t>();
    EXPECT_EQ((std::vector<std::uint32_t>(values.begin(), values.begin() + 8)),
              (std::vector<std::uint32_t>{1034, 1035, 1036, 1037, 0, 0, 0,
                                          0}));  // row 2 of the new strides, and a row outside
}

// ------------------------------------------------------------------------------------------------- mbarriers

TEST(BulkCopy, PhasesWaitForArrivalsAndTransactions) {
    // What test_wait says of phase 0 after each step: bit by bit in one word.
    const auto ask = [](int bit) {
        return "mbarrier.test_wait.parity.shared::cta.b64 %p1, [bar], 0;\nselp.u32 %r2, " +
               std::to_string(1 << bit) + ", 0, %p1;\nor.b32 %r1, %r1, %r2;\n";
    };
    const std::string ptx = module_of(
        two_pointers,
        pointers + "mov.u32 %r1, 0;\nmbarrier.init.shared::cta.b64 [bar], 2;\n" + ask(0) +
            "mbarrier.arrive.shared::cta.b64 %rd5, [bar];\n" + ask(1) +
            "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 48;\n" + ask(2) +
            "mbarrier.arrive.shared::cta.b64 _, [bar];\n" + ask(3) +
            "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 16;\n" + ask(4) +
            "mbarrier.complete_tx.shared::cta.b64 [bar], 32;\n" + ask(5) +
            "mbarrier.test_wait.shared::cta.b64 %p1, [bar], %rd5;\n"
            "selp.u32 %r2, 64, 0, %p1;\nor.b32 %r1, %r1, %r2;\nmbarrier.pending_count.b64 %r3, "
            "%rd5;\nmad.lo.u32 %r1, %r3, 256, %r1;\n"
            "st.global.u32 [%rd1], %r1;\n"
            // complete before it is expected; one thread fewer from the next phase on
            "mbarrier.complete_tx.shared::cta.b64 [bar], 8;\nmbarrier.arrive_drop.shared::cta.b64 _, [bar];\n"
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], "
            "8;\nmbarrier.test_wait.parity.shared::cta.b64 %p1, [bar], 1;\nselp.u32 %r2, 1, 0, %p1;\n"
            "mbarrier.arrive.release.cluster.shared::cluster.b64 _, "
            "[bar];\nmbarrier.test_wait.parity.shared::cta.b64 %p1, [bar], 0;\nselp.u32 %r4, 2, 0, %p1;\n"
            "or.b32 %r2, %r2, %r4;\nst.global.u32 [%rd1+4], %r2;\nmbarrier.inval.shared::cta.b64 [bar];\n");
    auto out = device().allocate(8);
    const auto done = run(ptx, *out, *out);
    ASSERT_TRUE(done) << failure(done);
    EXPECT_EQ(*out->download<std::uint32_t>(), (std::vector<std::uint32_t>{2 * 256 + 32 + 64, 3}));
}

TEST(BulkCopy, StoresAndReductionsInSharedMemoryCompleteTransactions) {
    const std::string ptx = module_of(
        two_pointers,
        pointers + fill_shared(32) +
            "mov.u32 %r1, smem;\nmov.u32 %r2, bar;\nmov.u32 %r3, 100;\nmov.u32 %r4, 200;\nmov.u64 %rd5, 7;\n"
            "cvt.u64.u32 %rd6, %r1;\ncvta.shared.u64 %rd6, %rd6;\ncvt.u64.u32 %rd7, %r2;\ncvta.shared.u64 "
            "%rd7, %rd7;\n"
            "mbarrier.init.shared::cta.b64 [bar], 1;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], "
            "32;\n"
            "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r3, [%r2];\n"
            "st.async.mbarrier::complete_tx::bytes.v2.b32 [%rd6+8], {%r3, %r4}, [%rd7];\n"
            "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r1+4], %r3, "
            "[%r2];\n"
            "red.async.relaxed.cluster.mbarrier::complete_tx::bytes.inc.u32 [%rd6+16], %r3, [%rd7];\n"
            "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.min.s32 [%r1+20], %r3, "
            "[%r2];\n"
            "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%r1+24], %rd5, "
            "[%r2];\n" +
            wait_for_bar + copy_out(32));
    auto out = device().allocate(32);
    const auto done = run(ptx, *out, *out);
    ASSERT_TRUE(done) << failure(done);
    EXPECT_EQ(*out->download<std::uint32_t>(), (std::vector<std::uint32_t>{100, 102, 100, 200, 6, 6, 14, 8}));
}

TEST(BulkCopy, MistakesAreErrorsAtTheirInstruction) {
    const std::string init = "mbarrier.init.shared::cta.b64 [bar], 1;\n",
                      load = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes ";
    const std::string box =
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes ";
    struct Row {
        std::string wrong;  ///< the last instruction, on its own line
        Errc code;
        const char* message;
    };
    const Row rows[] = {
        {load + "[smem+8], [%rd2], 64, [bar];", Errc::address_misaligned,
         "in shared memory is no multiple of 16"},
        {load + "[smem], [%rd2+4], 64, [bar];", Errc::address_misaligned,
         "in global memory is no multiple of 16"},
        {load + "[smem], [%rd2], %r1, [bar];", Errc::tensor_copy_invalid, "the size 20 is no multiple of 16"},
        {load + "[smem], [%rd2+16], 256, [bar];", Errc::address_out_of_bounds,
         "read of 256 bytes of global memory"},
        {load + "[%r2], [%rd2], 64, [bar];", Errc::address_out_of_bounds,
         "write of 64 bytes of shared memory"},
        {load + "[smem], [%rd2], 64, [smem+1024];", Errc::barrier_invalid,
         "no mbarrier.init made an mbarrier object there"},
        {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [smem], "
         "[%rd2], 64, [bar], %h1;",
         Errc::tensor_copy_invalid, "the mask 0x3 names CTAs that the cluster does not have"},
        {"cp.async.bulk.global.shared::cta.bulk_group [%rd3], [smem], 16;", Errc::address_out_of_bounds,
         "write of 16 bytes of global memory"},
        {box + "[smem], [%rd2, {0, 0}], [bar];", Errc::tensor_map_unknown, "were not made by"},
        {box + "[smem], [%rd8, {0, 0}], [bar];", Errc::address_misaligned, "no multiple of 64"},
        {box + "[smem], [%rd3, {0, 0}], [bar];", Errc::address_out_of_bounds, "read of a tensor map"},
        {"tensormap.replace.tile.rank.global.b1024.b32 [%rd2], 1;", Errc::tensor_map_unknown,
         "were not made by"},
        {"mbarrier.arrive.shared::cta.b64 _, [bar], 2;", Errc::barrier_invalid,
         "2 arrivals at an mbarrier that waits for 1"},
        {"mbarrier.arrive.noComplete.shared::cta.b64 %rd5, [bar], 1;", Errc::barrier_invalid,
         "an arrival with .noComplete is the last one"},
        {"mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 1048576;", Errc::barrier_invalid,
         "1048576 more transactions"},
        {"mbarrier.init.shared::cta.b64 [smem], %r3;", Errc::barrier_invalid,
         "a count of 0; it is 1 to 1048575"},
        {"mbarrier.test_wait.shared::cta.b64 %p1, [bar], %rd3;", Errc::barrier_invalid,
         "is no state of an arrival"},
        {"mbarrier.try_wait.parity.shared::cta.b64 %p1, [smem], 0;", Errc::barrier_invalid,
         "no mbarrier.init"}};
    for (const Row& row : rows) {
        const std::string ptx =
            module_of(two_pointers, pointers +
                                        "mov.u32 %r1, 20;\nmov.u32 %r2, 65536;\nmov.u16 %h1, 3;\nmov.u64 "
                                        "%rd3, 64;\nadd.s64 %rd8, %rd2, 16;\n"
                                        "ld.global.u32 %r3, [%rd2];\n" +
                                        init + row.wrong + "\n");
        std::vector<std::uint32_t> words(64);
        words[20] = 1;  // of 128 bytes of zeros, programs make tensor maps
        auto in = device().upload(words);
        const auto done = run(ptx, *in, *in);
        ASSERT_FALSE(done) << row.wrong;
        EXPECT_EQ(done.error().code, row.code) << row.wrong << failure(done);
        EXPECT_THAT(describe(done.error()),
                    testing::AllOf(HasSubstr(row.message), HasSubstr("\n" + row.wrong)));
    }
}

TEST(BulkCopy, WhatIsNotWaitedForIsNotKnown) {
    const std::string init =
        "mov.u32 %r9, %tid.x;\nsetp.eq.u32 %p3, %r9, 0;\n@%p3 mbarrier.init.shared::cta.b64 [bar], "
        "1;\nbar.sync 0;\n";
    const std::string load =
        "@%p3 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 64;\n"
        "@%p3 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [smem], [%rd2], 64, "
        "[bar];\nbar.sync 0;\n";
    const std::string store =
        "@%p3 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [smem], 64;\n@%p3 "
        "cp.async.bulk.commit_group;\n";
    const std::string fence = "fence.proxy.async.shared::cta;\n",
                      wait_group = "@%p3 cp.async.bulk.wait_group 0;\n",
                      wait_read = "@%p3 cp.async.bulk.wait_group.read 0;\n";
    const std::string fill =
        "shl.b32 %r10, %r9, 2;\nmov.u32 %r11, smem;\nadd.u32 %r10, %r10, %r11;\nst.shared.u32 [%r10], %r9;\n";
    const std::string read = "ld.shared.u32 %r12, [smem+4];\nst.global.u32 [%rd2+128], %r12;\n",
                      overwrite = "@%p3 st.shared.u32 [smem+8], %r9;\n";
    const std::string read_back = "@%p3 ld.global.u32 %r12, [%rd1+4];\n@%p3 st.global.u32 [%rd1+64], %r12;\n";
    struct Row {
        std::string body;
        Errc code;
        const char* message;
    };
    const Row rows[] = {
        {init + load + wait_for_bar + "ld.shared.u32 %r12, [smem+4];\n", Errc::ok, ""},
        {init + load + "@%p3 ld.shared.u32 %r12, [smem+4];\n", Errc::data_race,
         "by the asynchronous copy, for which this thread has not waited"},
        {init + load + "@!%p3 ld.shared.u32 %r12, [smem+4];\n", Errc::data_race,
         "a read of 4 bytes by warp 0, block (0, 0, 0), thread (1, 0, 0)"},
        {init + fill + fence + "bar.sync 0;\n" + store + wait_group, Errc::ok, ""},
        {init + fill + "bar.sync 0;\n@%p3 " + fence + store + wait_group, Errc::ok, ""},
        {init + fill + "bar.sync 0;\n" + store + wait_group, Errc::data_race,
         "no fence.proxy.async for shared memory comes between"},
        {init + fill + fence + store + wait_group, Errc::data_race, "are not ordered"},
        {init + fill + fence + "bar.sync 0;\n" + store + wait_read + overwrite, Errc::ok, ""},
        {init + fill + fence + "bar.sync 0;\n" + store + overwrite, Errc::data_race,
         "a write of 4 bytes by warp 0, block (0, 0, 0), thread (0, 0, 0)"},
        {init + fill + fence + "bar.sync 0;\n" + store + "bar.sync 0;\n" + fill, Errc::data_race,
         "has not waited"},
        {init + fill + fence + "bar.sync 0;\n" + store + wait_read + "bar.sync 0;\n" + fill, Errc::ok, ""},
        {init + fill + fence + "bar.sync 0;\n" + store + wait_group + read_back, Errc::ok, ""},
        {init + fill + fence + "bar.sync 0;\n" + store + read_back, Errc::data_race,
         "a read of 4 bytes by warp 0, block (0, 0, 0), thread (0, 0, 0)"},
        {init + load + wait_for_bar + "bar.sync 0;\n" + fill + fence + "bar.sync 0;\n" + store + wait_group,
         Errc::ok, ""},
        // what a load brought is stored again: no fence is needed
        {init + load + wait_for_bar + store + wait_group, Errc::ok, ""}};
    for (const Row& row : rows) {
        auto function = load_kernel(module_of(two_pointers, pointers + row.body));
        ASSERT_TRUE(function) << describe(function.error());
        auto in = device().upload(counting<std::uint32_t>(64)),
             out = device().upload(counting<std::uint32_t>(64));
        const auto done = function->launch({.block = {16, 1, 1}}, std::array<Argument, 2>{*out, *in});
        EXPECT_EQ(done ? Errc::ok : done.error().code, row.code) << row.body << failure(done);
        EXPECT_THAT(failure(done), HasSubstr(row.message)) << row.body;
    }
}

TEST(BulkCopy, MistakesWithBoxesAreErrors) {
    auto in = device().upload(std::vector<std::uint32_t>(64)), out = device().allocate(4096);
    const TensorMapOptions good{.type = TensorType::f32, .dims = {8, 8}, .strides = {32}, .box = {4, 4}};
    const auto with = [&](const std::string& ptx, const TensorMapOptions& options) {
        return failure(run(ptx, *out, *in->encode_tensor_map(options)));
    };
    EXPECT_THAT(with(load_box(3, "0, 0, 0", 64), good),
                HasSubstr("the instruction says .3d, the tensor map has 2 dimensions"));
    TensorMapOptions larger = good;
    larger.dims = {8, 9};
    EXPECT_THAT(with(load_box(2, "0, 6", 64), larger), HasSubstr("read of 16 bytes of global memory"));
    std::string shifted = load_box(2, "0, 0", 64);
    const std::string before = "bytes [smem], [%rd2", after = "bytes [smem+64], [%rd2";
    shifted.replace(shifted.find(before), before.size(), after);
    EXPECT_THAT(with(shifted, good), HasSubstr("is no multiple of 128"));
    const auto store = [&](const std::string& how) {
        return with(
            module_of(pointer_and_map, map_address + fill_shared(64) + how +
                                           ";\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n"),
            good);
    };
    EXPECT_THAT(store("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd2, {-4, 0}], [smem]"),
                HasSubstr("coordinate 0 is -4; those of a copy to global memory are not negative"));
    EXPECT_THAT(
        store("cp.reduce.async.bulk.tensor.2d.global.shared::cta.and.tile.bulk_group [%rd2, {0, 0}], [smem]"),
        HasSubstr(".and of a tensor of f32; its types are .b32 .b64"));
    // Too few bytes are expected: the phase is never complete.
    std::string short_of = load_box(2, "0, 0", 64);
    short_of.replace(short_of.find("_, [bar], 64;"), 13, "_, [bar], 80;");
    const Device limited = std::move(*Device::emulator({.instruction_budget = 100000}));
    auto data = limited.upload(std::vector<std::uint32_t>(64));
    const auto stuck = limited.load(short_of, "")
                           ->launch({}, std::array<Argument, 2>{*data, *data->encode_tensor_map(good)});
    ASSERT_FALSE(stuck);
    EXPECT_EQ(stuck.error().code, Errc::barrier_deadlock);
}

}  // namespace
}  // namespace ptxgraft
