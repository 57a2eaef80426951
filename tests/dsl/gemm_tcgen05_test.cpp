// The GEMMs for sm_100a of examples/dsl: through the assembler; on the emulator with products and tensor
// memory in software; and their numbers against each other. tests/gpu/tcgen05_gpu_test.cpp runs them as they
// are, on a GPU that can.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "support/emitted_kernel.hpp"
#include "support/software_tcgen05.hpp"
#include "tcgen05_check.hpp"

namespace ptxgraft {
namespace {

using namespace dsl;
using gemm::BlockScaledGemm;
using gemm::BlockScaledShape;
using gemm::Size;
using gemm::Tcgen05Gemm;
using gemm::Tcgen05Shape;
using test::checked_device, test::expect_good_code;
using testing::HasSubstr;

template <Tcgen05Shape S> std::string plain_ptx() {
    Module module({.target = "sm_100a"});
    gemm::emit_gemm_tcgen05<S>(module);
    auto ptx = module.ptx();
    if (!ptx) throw std::runtime_error(describe(ptx.error()));
    return *ptx;
}
template <BlockScaledShape S> std::string scaled_ptx() {
    Module module({.target = "sm_100a"});
    gemm::emit_gemm_block_scaled<S>(module);
    auto ptx = module.ptx();
    if (!ptx) throw std::runtime_error(describe(ptx.error()));
    return *ptx;
}

constexpr Tcgen05Shape pair_bf16{.blocks = 2, .stages = 6}, f16_elements{.type = MmaType::f16, .tile_n = 128},
    e4m3_elements{.type = MmaType::e4m3}, pair_e5m2{.type = MmaType::e5m2, .blocks = 2, .stages = 6};
constexpr BlockScaledShape mxf8, mxf8_e5m2{.type = MmaType::e5m2, .tile_n = 256, .stages = 4},
    mxf4{.kind = MmaKind::mxf4, .type = MmaType::e2m1},
    nvf4{.kind = MmaKind::mxf4nvf4, .type = MmaType::e2m1, .block = 16, .scale = MmaType::ue4m3},
    nvf4_ue8m0{.kind = MmaKind::mxf4nvf4, .type = MmaType::e2m1, .block = 16, .tile_n = 256, .stages = 4},
    nvf4_block32{.kind = MmaKind::mxf4nvf4, .type = MmaType::e2m1};

TEST(GemmTcgen05, AssemblesWithoutSpills) {
    expect_good_code(plain_ptx<Tcgen05Shape{}>());
    expect_good_code(plain_ptx<pair_bf16>());
    expect_good_code(plain_ptx<f16_elements>());
    expect_good_code(plain_ptx<e4m3_elements>());
    expect_good_code(plain_ptx<pair_e5m2>());
}
TEST(GemmBlockScaled, AssemblesWithoutSpills) {
    expect_good_code(scaled_ptx<mxf8>());
    expect_good_code(scaled_ptx<mxf8_e5m2>());
    expect_good_code(scaled_ptx<mxf4>());
    expect_good_code(scaled_ptx<nvf4>());
    expect_good_code(scaled_ptx<nvf4_ue8m0>());
    expect_good_code(scaled_ptx<nvf4_block32>());
}

// ---- numbers

std::uint32_t box_bytes(const TensorMapOptions& map) {
    const std::uint32_t size = map.type == TensorType::u8 ? 1 : map.type == TensorType::u64 ? 8 : 2;
    return map.box[0] * map.box[1] * size;
}
// What the one match of an expression has in parentheses.
std::uint32_t number_in(const std::string& ptx, const std::string& expression) {
    std::smatch found;
    const std::regex pattern(expression);
    EXPECT_TRUE(std::regex_search(ptx, found, pattern)) << expression;
    const std::string rest = found.suffix();
    EXPECT_FALSE(std::regex_search(rest, pattern)) << expression;
    return found.empty() ? 0 : static_cast<std::uint32_t>(std::stoul(found[1].str()));
}
std::size_t count_of(const std::string& ptx, const std::string& text) {
    std::size_t count = 0;
    for (std::size_t at = ptx.find(text); at != ptx.npos; at = ptx.find(text, at + 1)) ++count;
    return count;
}
// Bytes that barriers wait for are those of the boxes, which are all of a stage; tensor memory is asked for,
// and given back, as much of it.
void expect_right_numbers(const std::string& ptx, const std::vector<TensorMapOptions>& maps,
                          std::uint32_t blocks, std::uint32_t stage_bytes, std::uint32_t columns) {
    std::uint32_t bytes = 0;
    for (const auto& map : maps) {
        const std::size_t wanted = (box_bytes(map) + 127) / 128 * 128;
        EXPECT_EQ(wanted, box_bytes(map));
        bytes += box_bytes(map);
    }
    EXPECT_EQ(bytes, stage_bytes);
    EXPECT_EQ(number_in(ptx, "arrive.expect_tx.shared::cta.b64 _, \\[%\\w+\\], (\\d+);"), blocks * bytes);
    EXPECT_EQ(number_in(ptx, "tcgen05.alloc.\\S+ \\[%\\w+\\], (\\d+);"), columns);
    EXPECT_EQ(number_in(ptx, "tcgen05.dealloc.\\S+ %\\w+, (\\d+);"), columns);
    const std::string group = ".cta_group::" + std::to_string(blocks);
    EXPECT_EQ(count_of(ptx, ".cta_group::"), count_of(ptx, group));
    EXPECT_EQ(ptx.find(".reqnctapercluster") != ptx.npos, blocks == 2);
}
template <Tcgen05Shape S> void check_numbers() {
    using Gemm = Tcgen05Gemm<S>;
    const std::string ptx = plain_ptx<S>();
    expect_right_numbers(ptx, {Gemm::map_a(1, 64, 128), Gemm::map_b(1, 64, 128)}, S.blocks,
                         S.frame().stage_bytes, Gemm::columns);
    EXPECT_GE(Gemm::columns, 2 * S.tile_n);
    EXPECT_EQ(Gemm::shared_bytes, S.stages * S.frame().stage_bytes);  // of multiples of a pattern's 1024
    EXPECT_THAT(ptx, HasSubstr(", " + std::to_string(bits_of<Gemm::instruction>) + ";"));
    EXPECT_THAT(ptx, HasSubstr(", " + std::to_string(0x4000'4040'0001'0000) + ";"));
}
template <BlockScaledShape S> void check_numbers() {
    using Gemm = BlockScaledGemm<S>;
    const std::string ptx = scaled_ptx<S>();
    expect_right_numbers(ptx,
                         {Gemm::map_a(1, 256, 256), Gemm::map_b(1, 256, 256), Gemm::map_scales_a(1, 256),
                          Gemm::map_scales_b(1, 256)},
                         1, S.frame().stage_bytes, Gemm::columns);
    EXPECT_THAT(ptx, HasSubstr(", " + std::to_string(0x4008'0001'0000) + ";"));
    // Each product's scale factors are copied before it: a tile for 4 blocks of 128 rows.
    EXPECT_EQ(count_of(ptx, "tcgen05.cp."), S.depth() / S.block / 4 * (1 + S.tile_n / 128));
}
TEST(GemmTcgen05, BytesAndColumnsAreThoseOfItsTensorMaps) {
    check_numbers<Tcgen05Shape{}>();
    check_numbers<pair_bf16>();
    check_numbers<f16_elements>();
    check_numbers<pair_e5m2>();
}
TEST(GemmBlockScaled, BytesAndColumnsAreThoseOfItsTensorMaps) {
    check_numbers<mxf8>();
    check_numbers<mxf8_e5m2>();
    check_numbers<mxf4>();
    check_numbers<nvf4>();
    check_numbers<nvf4_ue8m0>();
}

TEST(TypedMatrix, DecodesElements) {
    using gemm::value_of;
    EXPECT_EQ(value_of(MmaType::f16, 0x3C00), 1);
    EXPECT_EQ(value_of(MmaType::f16, 0xC100), -2.5);
    EXPECT_EQ(value_of(MmaType::bf16, 0x3FC0), 1.5);
    EXPECT_EQ(value_of(MmaType::e4m3, 0x7E), 448);
    EXPECT_EQ(value_of(MmaType::e4m3, 0x81), -std::ldexp(1, -9));
    EXPECT_EQ(value_of(MmaType::e5m2, 0x7B), 57344);
    const double e2m1[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    for (std::uint32_t bits = 0; bits < 8; ++bits) EXPECT_EQ(value_of(MmaType::e2m1, bits), e2m1[bits]);
    EXPECT_EQ(value_of(MmaType::e2m1, 9), -0.5);
    EXPECT_EQ(value_of(MmaType::ue8m0, 128), 2);
    EXPECT_EQ(value_of(MmaType::ue4m3, 0x3C), 1.5);
}

// ---- results, with products in software

Kernel kernel_of(const Device& device, const std::string& ptx, const std::vector<Graft>& grafts = {}) {
    const auto made = Skeleton::from_ptx(ptx)->graft(grafts, device);
    if (!made) throw std::runtime_error(describe(made.error(), ptx));
    return *made;
}
template <Tcgen05Shape S> void check_plain(const Size& size, std::uint32_t multiprocessors) {
    const auto device = checked_device();
    const auto kernel = kernel_of(device, test::without_tensor_cores(plain_ptx<S>()));
    const auto wrong = gemm::check_tcgen05<S>(device, kernel, size, multiprocessors);
    EXPECT_EQ(wrong, std::nullopt) << *wrong << " of " << size.m << " " << size.n << " " << size.depth;
}
template <BlockScaledShape S> void check_scaled(const Size& size, std::uint32_t multiprocessors) {
    const auto device = checked_device();
    const auto kernel = kernel_of(device, test::without_tensor_cores(scaled_ptx<S>()));
    const auto wrong = gemm::check_block_scaled<S>(device, kernel, size, multiprocessors);
    EXPECT_EQ(wrong, std::nullopt) << *wrong << " of " << size.m << " " << size.n << " " << size.depth;
}

// Tiles of few columns and rows, as products in software take their time. More tiles than blocks; more steps
// than stages; edges within a tile.
TEST(GemmTcgen05, IsRightInSoftware) {
    check_plain<Tcgen05Shape{.tile_n = 32, .stages = 2}>({131, 35, 130}, 1);
    check_plain<Tcgen05Shape{.type = MmaType::f16, .tile_n = 32, .stages = 3}>({1, 97, 9}, 2);
    check_plain<Tcgen05Shape{.type = MmaType::e4m3, .tile_n = 64, .stages = 2}>({37, 65, 260}, 1);
}
TEST(GemmTcgen05, OfTwoBlocksIsRightInSoftware) {
    check_plain<Tcgen05Shape{.blocks = 2, .tile_n = 32, .stages = 2}>({133, 67, 130}, 2);
    check_plain<Tcgen05Shape{.type = MmaType::e5m2, .blocks = 2, .tile_n = 64, .stages = 3}>({259, 50, 130},
                                                                                             4);
}
TEST(GemmBlockScaled, IsRightInSoftware) {
    check_scaled<mxf8>({37, 130, 160}, 1);
    check_scaled<mxf4>({34, 40, 288}, 1);
    check_scaled<nvf4>({34, 40, 272}, 1);
}
TEST(GemmBlockScaled, Of256ColumnsIsRightInSoftware) {
    check_scaled<mxf8_e5m2>({3, 270, 160}, 1);
    check_scaled<nvf4_ue8m0>({3, 130, 320}, 1);
}

TEST(GemmTcgen05, HasItsSiteInTheEpilogue) {
    constexpr Tcgen05Shape shape{.tile_n = 32, .stages = 2};
    const auto as_emitted = Skeleton::from_ptx(plain_ptx<shape>());
    const auto stub = dsl::stub(*as_emitted->site("epilogue"), [](StubBuilder<>& b) {
        const auto acc = b.operand<f32>("acc"), of = b.reg<f32>();
        b.emit<"cvt.rn.f32.u32">(of, b.operand<u32>("row"));
        b.emit<"fma.rn.f32">(acc, of, 0.5f, acc);
        b.emit<"cvt.rn.f32.u32">(of, b.operand<u32>("col"));
        b.emit<"fma.rn.f32">(acc, of, -0.25f, acc);
    });
    ASSERT_TRUE(stub) << describe(stub.error());
    for (const Route route : {Route::inlined, Route::call}) {
        const std::vector<Graft> grafts = {{"epilogue", *stub}};
        const auto grafted = as_emitted->render_by(grafts, {.route = route});
        ASSERT_TRUE(grafted) << describe(grafted.error());
        expect_good_code(grafted->ptx);
    }
    const auto device = checked_device();
    const auto kernel =
        kernel_of(device, test::without_tensor_cores(plain_ptx<shape>()), {{"epilogue", *stub}});
    const auto wrong = gemm::check_tcgen05<shape>(
        device, kernel, {35, 33, 70}, 2,
        [](double acc, std::uint32_t row, std::uint32_t col) { return acc + 0.5 * row - 0.25 * col; });
    EXPECT_EQ(wrong, std::nullopt) << *wrong;
}

// Without any one of its waits a kernel reads too early what others write, or writes too early: copies into a
// stage that is still multiplied, products of what is not there yet, or into columns that are still stored,
// and stores of a product that is not finished.
template <Tcgen05Shape S> void check_that_waits_are_needed() {
    const auto device = checked_device();
    const std::string ptx = test::without_tensor_cores(plain_ptx<S>()), wait = "\tmbarrier.try_wait";
    const auto wrong_without = [&](std::uint32_t number) {
        std::size_t at = ptx.find(wait);
        for (std::uint32_t i = 0; i < number; ++i) at = ptx.find(wait, at + 1);
        std::string less = ptx;
        less.erase(at, less.find("bra", at) - at);  // and the branch back
        less.erase(at, less.find('\n', at) + 1 - at);
        return gemm::check_tcgen05<S>(device, kernel_of(device, less), {3, 97, 200}, S.blocks).value_or("");
    };
    // Behind the first wait are those until all stages are empty, which only keep a block from ending.
    const std::uint32_t taken = 1 + S.stages, full = taken + 1, made = full + 1;
    // Of two blocks the one that runs ahead may fill a stage, or a barrier, before anything is read.
    const auto is_found = testing::AnyOf(HasSubstr("race"), HasSubstr("memory that nothing wrote"),
                                         HasSubstr("invalid barrier"), HasSubstr("deadlock"));
    for (const std::uint32_t number : {0u, taken, full, made})
        EXPECT_THAT(wrong_without(number), is_found) << number;
}
TEST(GemmTcgen05, NeedsItsWaits) {
    check_that_waits_are_needed<Tcgen05Shape{.tile_n = 32, .stages = 2}>();
    check_that_waits_are_needed<Tcgen05Shape{.blocks = 2, .tile_n = 32, .stages = 2}>();
}

// What the emulator does not see (9.7.16.6.4): a fence behind each wait for other threads' tcgen05
// operations, one before the arrival that lets others go on, and a wait behind the load whose registers are
// read.
TEST(GemmTcgen05, HasItsFences) {
    for (const std::string& ptx : {plain_ptx<Tcgen05Shape{}>(), plain_ptx<pair_bf16>(), scaled_ptx<nvf4>()}) {
        const auto times = [&](const char* expression) {
            const std::regex pattern(expression);
            return std::distance(std::sregex_iterator(ptx.begin(), ptx.end(), pattern),
                                 std::sregex_iterator());
        };
        EXPECT_EQ(
            times(R"(try_wait\S+ %\w+, \S+ %\w+;\n\t@!%\w+ bra L\d+;\n\ttcgen05.fence::after_thread_sync;)"),
            3);
        EXPECT_EQ(times(R"(tcgen05.ld\.)"), 1);
        EXPECT_EQ(times(R"(tcgen05.ld\..*;\n\ttcgen05.wait::ld)"), 1);
        EXPECT_EQ(times(R"(tcgen05.fence::before_thread_sync;\n\tbar.warp.sync -1;\n)"), 1);
    }
}

}  // namespace
}  // namespace ptxgraft
