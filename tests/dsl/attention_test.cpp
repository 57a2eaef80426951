// The attentions of examples/dsl, on the emulator with all of its checks and through the assembler, against
// double precision (attention_check.hpp says what error is allowed, and why).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attention_check.hpp"
#include "support/emitted_kernel.hpp"
#include "support/paths.hpp"

namespace ptxgraft::dsl {
namespace {

using attention::Case;
using attention::Options;
using rows::must;
using test::checked_device, test::expect_good_code;
using testing::HasSubstr;

// The kernels, for what is the same of both.
template <Options O, attention::MmaShape S = attention::mma_shape(O)> struct Mma {
    static constexpr Options options = O;
    static std::string ptx() {
        Module module({.target = "sm_80"});
        attention::emit_attention_mma<O, S>(module);
        return must(module.ptx());
    }
    static attention::Launch<O> launch(const Device&, const Kernel& kernel) {
        return attention::launch_mma<O, S>(kernel);
    }
};
template <Options O, attention::WgmmaShape S = attention::WgmmaShape{}> struct Wgmma {
    static constexpr Options options = O;
    static std::string ptx() {
        Module module({.target = "sm_90a"});
        attention::emit_attention_wgmma<O, S>(module);
        return must(module.ptx());
    }
    static attention::Launch<O> launch(const Device& device, const Kernel& kernel) {
        return attention::launch_wgmma<O, S>(device, kernel);
    }
};

template <class K> void expect_right(const Device& device, const Kernel& kernel, const Case<K::options>& of) {
    const auto errors = attention::run<K::options>(device, of, K::launch(device, kernel));
    const attention::Size& size = of.size;
    EXPECT_LE(errors.in_allowed, 1) << size.rows << " queries, " << size.columns << " keys, " << size.heads
                                    << " heads, error " << errors.absolute;
    // Allowed errors are not so large that there are none near them.
    EXPECT_GE(errors.in_allowed, size.rows * size.columns > 10000 ? 0.1 : 0);
}
template <class K> void check(std::initializer_list<attention::Size> sizes) {
    const std::string ptx = K::ptx();
    expect_good_code(ptx);
    const auto device = checked_device();
    const auto kernel = must(must(Skeleton::from_ptx(ptx)).graft({}, device), ptx);
    for (const attention::Size& size : sizes) expect_right<K>(device, kernel, {size});
}

// Sizes that are multiples of nothing; one query, one key; fewer keys than queries, and more; heads that
// share keys; sequences of a batch.
constexpr auto any_sizes = {attention::Size{130, 130}, attention::Size{1, 17}, attention::Size{17, 1},
                            attention::Size{65, 200, 4, 2, 2}};
// Of causal ones with fewer keys than queries some see no key, and those of whole blocks.
constexpr auto causal_sizes = {attention::Size{130, 130}, attention::Size{1, 17}, attention::Size{300, 17, 2},
                               attention::Size{65, 200, 4, 4, 2}};

TEST(Attention, MmaOfAnySize) {
    check<Mma<Options{.type = bf16, .head_dim = 64}>>(any_sizes);
    check<Mma<Options{.type = f16, .head_dim = 128}>>(any_sizes);
    check<Mma<Options{.type = f16, .head_dim = 128}>>({{5, 0}});
}
TEST(Attention, MmaCausalOfAnySize) {
    check<Mma<Options{.type = f16, .head_dim = 64, .is_causal = true}>>(causal_sizes);
    check<Mma<Options{.type = bf16, .head_dim = 128, .is_causal = true}>>(causal_sizes);
}
TEST(Attention, MmaOfOtherShapes) {
    constexpr Options options{.type = f16, .head_dim = 128, .is_causal = true};
    check<Mma<options, attention::MmaShape{.warps = 8, .warp_rows = 16, .keys = 64, .stages = 3}>>(
        {{150, 333, 2}});
    check<Mma<options, attention::MmaShape{.warps = 2, .warp_rows = 32, .keys = 16, .stages = 4}>>(
        {{70, 135}});
}
TEST(Attention, WgmmaOfAnySize) {
    check<Wgmma<Options{.type = bf16, .head_dim = 64}>>(any_sizes);
    check<Wgmma<Options{.type = f16, .head_dim = 128}>>(any_sizes);
}
TEST(Attention, WgmmaCausalOfAnySize) {
    check<Wgmma<Options{.type = f16, .head_dim = 64, .is_causal = true}>>(causal_sizes);
    check<Wgmma<Options{.type = bf16, .head_dim = 128, .is_causal = true}>>(causal_sizes);
}
TEST(Attention, WgmmaOfOtherShapes) {
    constexpr Options options{.type = bf16, .head_dim = 128, .is_causal = true};
    check<Wgmma<options, attention::WgmmaShape{.consumers = 3, .keys = 64, .stages = 3}>>({{200, 333, 2}});
    check<Wgmma<options, attention::WgmmaShape{.keys = 176}>>({{150, 400}});
    check<Wgmma<Options{.head_dim = 64}, attention::WgmmaShape{.consumers = 3, .keys = 32, .stages = 5}>>(
        {{70, 300}});
}

// ---- stubs

// 3 tanh(score / 3): scores between -3 and 3.
void soft_cap(StubBuilder<>& b) {
    const auto score = b.operand<f32>("score"), power = b.reg<f32>();
    b.emit<"mul.f32">(power, score, static_cast<float>(2 / 3. * std::numbers::log2e));
    b.emit<"ex2.approx.ftz.f32">(power, power);
    b.emit<"add.f32">(power, power, 1.0f);
    b.emit<"rcp.approx.ftz.f32">(power, power);
    b.emit<"fma.rn.f32">(score, power, -6.0f, 3.0f);
}
double soft_capped(double score, std::uint32_t, std::uint32_t, std::uint32_t) {
    return 3 * std::tanh(score / 3);
}

// Keys from 40 before a query to 25 behind it, and a bias that falls as the key is farther to the left.
void slide(StubBuilder<>& b) {
    const auto score = b.operand<f32>("score"), distance = b.reg<f32>();
    const auto difference = b.reg<s32>();
    const auto hides = b.reg<pred>(), hides_too = b.reg<pred>();
    b.emit<"sub.s32">(difference, b.operand<u32>("column"), b.operand<u32>("row"));
    b.emit<"cvt.rn.f32.s32">(distance, difference);
    b.emit<"fma.rn.f32">(score, distance, 0.0625f, score);
    b.emit<"setp.lt.s32">(hides, difference, -40);
    b.emit<"setp.gt.s32">(hides_too, difference, 25);
    b.emit<"selp.f32">(score, neutral_of<Fold::max>, score, hides);
    b.emit<"selp.f32">(score, neutral_of<Fold::max>, score, hides_too);
}
double slid(double score, std::uint32_t row, std::uint32_t column, std::uint32_t) {
    const int distance = static_cast<int>(column) - static_cast<int>(row);
    return distance < -40 || distance > 25 ? -HUGE_VAL : score + distance * 0.0625;
}

// As slide, by a number that is far below all others: -1e9, and the lowest there is.
template <int Power> void slide_by_number(StubBuilder<>& b) {
    const auto score = b.operand<f32>("score");
    const auto hides = b.reg<pred>();
    slide(b);
    b.emit<"setp.eq.f32">(hides, score, neutral_of<Fold::max>);
    b.emit<"selp.f32">(score, Power == 0 ? std::numeric_limits<float>::lowest() : -1e9f, score, hides);
}

void add_places(StubBuilder<>& b) {
    const auto value = b.operand<f32>("value"), of = b.reg<f32>();
    for (const auto& [name, factor] : {std::pair{"row", 0.5f}, {"column", -0.25f}, {"head", 100.0f}}) {
        b.emit<"cvt.rn.f32.u32">(of, b.operand<u32>(name));
        b.emit<"fma.rn.f32">(value, of, factor, value);
    }
}
double with_places(double value, std::uint32_t row, std::uint32_t column, std::uint32_t head) {
    return value + 0.5 * row - 0.25 * column + 100.0 * head;
}

template <class K>
void check_stub(const char* site, void (*body)(StubBuilder<>&), const Case<K::options>& of, Route route) {
    const auto skeleton = must(Skeleton::from_ptx(K::ptx()));
    const auto made = must(stub(*skeleton.site(site), body));
    const auto device = checked_device();
    const auto kernel = must(skeleton.graft({{site, made}}, device, {.routes = {.route = route}}));
    expect_good_code(kernel.ptx());
    expect_right<K>(device, kernel, of);
}
template <class K> void check_stubs(Route route = Route::inlined) {
    const attention::Size size{.rows = 90, .columns = 230, .heads = 4, .group = 2};
    check_stub<K>("score", soft_cap, {.size = size, .score = soft_capped}, route);
    // Of the last queries all keys of the first blocks are hidden, of all queries those of the last blocks.
    check_stub<K>("score", slide, {.size = {200, 300, 2}, .score = slid}, route);
    if (route == Route::inlined) {
        check_stub<K>("score", slide_by_number<9>, {.size = {200, 300}, .score = slid}, route);
        check_stub<K>("score", slide_by_number<0>, {.size = {200, 300}, .score = slid}, route);
    }
    check_stub<K>("epilogue", add_places, {.size = size, .epilogue = with_places}, route);
}

TEST(Attention, MmaWithStubs) {
    check_stubs<Mma<Options{.type = f16, .head_dim = 64}>>();
    check_stubs<Mma<Options{.type = bf16, .head_dim = 128, .is_causal = true}>>();
}
TEST(Attention, MmaWithCalledStubs) { check_stubs<Mma<Options{.type = f16, .head_dim = 64}>>(Route::call); }
TEST(Attention, WgmmaWithStubs) {
    check_stubs<Wgmma<Options{.type = f16, .head_dim = 64}>>();
    check_stubs<Wgmma<Options{.type = bf16, .head_dim = 128, .is_causal = true}>>();
}
TEST(Attention, WgmmaWithCalledStubs) {
    check_stubs<Wgmma<Options{.type = f16, .head_dim = 64}>>(Route::call);
}

// ---- what the checks are there for

// What is wrong of a kernel without its n-th instruction, counted from 0, that begins so, and without some
// lines behind it.
template <class K> std::string without(const std::string& instruction, int n = 0, int more = 0) {
    std::string ptx = K::ptx();
    std::size_t begin = ptx.find("\n\t" + instruction);
    while (n-- > 0) begin = ptx.find("\n\t" + instruction, begin + 1);
    if (begin == ptx.npos) return "there is no such instruction";
    std::size_t end = ptx.find('\n', begin + 1);
    while (more-- > 0) end = ptx.find('\n', end + 1);
    ptx.erase(begin, end - begin);
    const auto device = checked_device();
    const auto kernel = must(must(Skeleton::from_ptx(ptx)).graft({}, device), ptx);
    try {
        const auto errors = attention::run<K::options>(device, {{130, 650}}, K::launch(device, kernel));
        return "error " + std::to_string(errors.in_allowed);
    } catch (const std::runtime_error& error) { return error.what(); }
}

// Each barrier: for queries, for keys, for values; and the wait of a thread for its own copies.
TEST(Attention, MmaNeedsItsBarriers) {
    using K = Mma<Options{.head_dim = 64}>;
    for (const int i : {0, 1, 2}) EXPECT_THAT(without<K>("bar.sync", i), HasSubstr("data race")) << i;
    for (const int i : {0, 1, 2})
        EXPECT_THAT(without<K>("cp.async.wait_group", i), HasSubstr("data race")) << i;
}
// Of the producer for empty stages, of keys and of values; of consumers for queries, and for keys and values,
// the first and the others; for products with both, and with the last values.
TEST(Attention, WgmmaNeedsItsWaits) {
    using K = Wgmma<Options{.head_dim = 64}>;
    for (const int i : {0, 1, 2, 3, 4, 5, 6})
        EXPECT_THAT(without<K>("mbarrier.try_wait", i, 1), HasSubstr("data race")) << i;
    for (const int i : {0, 1, 2, 3})
        EXPECT_THAT(without<K>("wgmma.wait_group", i), HasSubstr("a register that a wgmma still uses")) << i;
    for (const int i : {0, 1, 2})
        EXPECT_THAT(without<K>("wgmma.fence", i), HasSubstr("a register of a wgmma without a fence")) << i;
}

// Instructions that warps executed, by the beginnings of their texts.
std::uint64_t count_of(const EmulatorProfile& profile, std::string_view begin) {
    std::uint64_t count = 0;
    for (const ProfileLine& line : profile.lines())
        if (line.text.starts_with(begin)) count += line.warps;
    return count;
}
template <class K> void run_profiled(EmulatorProfile& profile, const attention::Size& size) {
    const auto device = checked_device(&profile);
    const auto kernel = must(must(Skeleton::from_ptx(K::ptx())).graft({}, device));
    expect_right<K>(device, kernel, {size});
    for (const ProfileLine& line : profile.lines()) EXPECT_EQ(line.bank_conflicts(), 0u) << line.text;
}

// Scores and weights stay in registers: shared memory has what cp.async wrote there and ldmatrix reads.
TEST(Attention, MmaHasNoBankConflictsAndNoMoreInstructions) {
    EmulatorProfile profile, few;
    run_profiled<Mma<Options{.head_dim = 128}>>(profile, {128, 96});
    const std::uint64_t tiles = 4 * 3;  // warps, blocks of 32 keys
    EXPECT_EQ(count_of(profile, "mma.sync"),
              tiles * 2 * (2 * 8 * 2 * 2));  // two products of strips x 8 x 2 x 2
    EXPECT_EQ(count_of(profile, "ldmatrix.sync.aligned.m8n8.x4.shared"), tiles * (2 * 8 + 2 * 8));  // q, k
    EXPECT_EQ(count_of(profile, "ldmatrix.sync.aligned.m8n8.x4.trans.shared"), tiles * 2 * 8);
    EXPECT_EQ(count_of(profile, "cp.async.cg"), 4 * 8 * 2 + tiles * 2 * 2 * 2);
    EXPECT_EQ(count_of(profile, "ex2.approx"), tiles * 2 * (16 + 2));
    EXPECT_EQ(count_of(profile, "ld.shared") + count_of(profile, "st.shared"), 0);
    // Few queries stay in registers too.
    run_profiled<Mma<Options{.head_dim = 64}>>(few, {128, 192});
    EXPECT_EQ(count_of(few, "ldmatrix.sync.aligned.m8n8.x4.shared"), 4 * 2 * 4 + tiles * 4 * 4);
}
TEST(Attention, WgmmaHasNoMoreInstructions) {
    EmulatorProfile profile;
    run_profiled<Wgmma<Options{.head_dim = 128}>>(profile, {128, 384});
    const std::uint64_t tiles = 8 * 3;  // warps, blocks of 128 keys
    EXPECT_EQ(count_of(profile, "wgmma.mma_async"), tiles * (8 + 8));
    EXPECT_EQ(count_of(profile, "ex2.approx"), tiles * (64 + 2));
    EXPECT_EQ(count_of(profile, "cp.async.bulk.tensor"), 2 + 3 * 2 * 2);
    EXPECT_EQ(count_of(profile, "ld.shared") + count_of(profile, "st.shared"), 0);
}

// Assemblers may move what depends on no product: exponentials must stay where values are being multiplied.
TEST(Attention, WgmmaMakesWeightsWhileValuesAreMultiplied) {
    const std::string nvdisasm = test::program_path("nvdisasm");
    if (nvdisasm.empty()) GTEST_SKIP() << "no nvdisasm";
    const auto cubin = must(default_assembler().assemble(Wgmma<Options{.head_dim = 128}>::ptx()));
    const std::string code = must(disassemble(cubin.image, {.program = nvdisasm}));
    const std::size_t turn = code.find("BAR.SYNC", code.find("MUFU.EX2")),
                      scores = code.find("WARPGROUP.DEPBAR.LE gsb0, 0x1", turn),
                      output = code.find("WARPGROUP.DEPBAR.LE gsb0, 0x0", scores);
    const auto count = [&](std::string_view name, std::size_t begin, std::size_t end) {
        int found = 0;
        for (std::size_t at = code.find(name, begin); at < end; at = code.find(name, at + 1)) ++found;
        return found;
    };
    ASSERT_NE(output, code.npos);
    EXPECT_EQ(count("HGMMA", turn, scores), 16);
    EXPECT_EQ(count("HGMMA", scores, output), 0);
    EXPECT_EQ(count("MUFU.EX2", turn, scores), 0);
    EXPECT_EQ(count("MUFU.EX2", scores, output), 64 + 2);
}

}  // namespace
}  // namespace ptxgraft::dsl
