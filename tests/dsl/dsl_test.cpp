// Kernels and stubs, as a user writes them.

#include "ptxgraft/dsl.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptxgraft/kernel.hpp"
#include "ptxgraft/stack.hpp"

namespace ptxgraft::dsl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// What assembles.
std::string text_of(const Module& module) {
    auto ptx = module.ptx();
    if (!ptx) throw std::runtime_error(describe(ptx.error()));
    const auto cubin = default_assembler().assemble(*ptx, {});
    EXPECT_TRUE(cubin) << describe(cubin.error(), *ptx);
    return *ptx;
}
// The same in canonical form, as all is but sites and lists of targets.
std::string canonical_ptx(const Module& module) {
    const std::string ptx = text_of(module);
    const auto parsed = syntax::parse(ptx);
    EXPECT_EQ(ptx, syntax::canonical(*parsed));
    return ptx;
}

// Body lines without their tabs.
std::string body_of(const std::string& ptx) {
    std::string out;
    for (std::size_t at = ptx.find("\n{\n") + 3; at < ptx.rfind('}');) {
        const std::size_t end = ptx.find('\n', at);
        out += ptx.substr(at + (ptx[at] == '\t'), end - at - (ptx[at] == '\t') + 1);
        at = end + 1;
    }
    return out;
}

// "cvt.s32.u16"
template <dsl::Type To, dsl::Type From> consteval auto cvt_name() {
    return typed<without_line(typed<"cvt", To>()), From>();
}

TEST(Dsl, OneCallIsOneInstruction) {
    Module module({.target = "sm_80"});
    auto& k = module.entry("scale");
    const auto data = k.argument<u64>("data");
    const auto factor = k.argument<f32>("factor");
    const auto i = k.reg<u32>();
    const auto address = k.reg<u64>();
    const auto x = k.reg<f32>();
    const auto p = k.reg<pred>();
    k.emit<"mov.u32">(i, special<"%tid.x">);
    k.emit<"cvta.to.global.u64">(address, data);
    k.emit<"mad.wide.u32">(address, i, 4, address);
    k.emit<"ld.global.nc.f32">(x, at(address));
    k.emit<"setp.gt.f32">(p, x, 0.5f);
    k.if_(!p).emit<"fma.rn.ftz.f32">(x, x, factor, -1.0f);
    k.emit<"st.global.f32">(at(address, 16), x);
    k.emit<"ret">();
    EXPECT_EQ(k.instruction_count(), 10u);
    EXPECT_EQ(canonical_ptx(module), R"(.version 9.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 data, .param .f32 factor)
{
	.reg .pred %p<2>;
	.reg .u32 %u<2>;
	.reg .u64 %ud<3>;
	.reg .f32 %f<3>;
	ld.param.u64 %ud1, [data];
	ld.param.f32 %f1, [factor];
	mov.u32 %u1, %tid.x;
	cvta.to.global.u64 %ud2, %ud1;
	mad.wide.u32 %ud2, %u1, 4, %ud2;
	ld.global.nc.f32 %f2, [%ud2];
	setp.gt.f32 %p1, %f2, 0f3F000000;
	@!%p1 fma.rn.ftz.f32 %f2, %f2, %f1, 0fBF800000;
	st.global.f32 [%ud2+16], %f2;
	ret;
}
)");
}

TEST(Dsl, OperandsOfEveryKind) {
    Module module({.target = "sm_90a"});
    auto& k = module.entry("kinds");
    const auto map = k.tensor_map("map");
    const auto smem = k.shared("smem", {.type = b8, .count = 1024, .align = 128});
    const auto bar = k.shared("bar", {.type = b64});
    const auto a = k.regs<b32, 4>();
    const auto address = k.reg<b32>();
    const auto x = k.reg<s32>(), y = k.reg<s32>();
    const auto p = k.reg<pred>(), q = k.reg<pred>();
    const auto wide = k.reg<b64>();
    k.emit<"mov.u32">(address, smem);
    k.emit<"mov.b64">(wide, map);
    k.emit<"ldmatrix.sync.aligned.m8n8.x4.shared.b16">(a, at(address));
    k.emit<"setp.lt.s32">(pair(p, q), x, -3);
    k.emit<"mov.b64">(wide, vec(a[0], a[1]));
    k.emit<"mov.b64">(vec(a[2], sink), wide);
    k.emit<"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes">(
        at(address), at(wide, vec(x, y)), at(bar));
    k.emit<"shfl.sync.bfly.b32">(pair(a[0], p), a[1], 16, 31, -1);
    k.emit<"mbarrier.init.shared.b64">(at(bar), 1);
    k.emit<"ret">();
    const std::string ptx = canonical_ptx(module);
    EXPECT_THAT(ptx, HasSubstr("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%r5];\n"));
    EXPECT_THAT(ptx, HasSubstr("setp.lt.s32 %p1|%p2, %s1, -3;\n"));
    EXPECT_THAT(ptx, HasSubstr("mov.b64 {%r3, _}, %rd1;\n"));
    EXPECT_THAT(ptx, HasSubstr("[%r5], [%rd1, {%s1, %s2}], [bar];\n"));
}

TEST(Dsl, StructureSaysWhatItPrints) {
    Module module({.target = "sm_80"});
    auto& k = module.entry("structure");
    const auto i = k.reg<s32>(), n = k.argument<s32>("n");
    const auto p = k.reg<pred>();
    k.emit<"mov.s32">(i, 0);
    k.loop([&](Label end) {
        k.emit<"setp.ge.s32">(p, i, n);
        k.if_(p).emit<"bra">(end);
        k.if_(
            p, [&] { k.emit<"add.s32">(i, i, 2); }, [&] { k.emit<"add.s32">(i, i, 1); });
    });
    k.unroll(2, [&](unsigned step) { k.emit<"add.s32">(i, i, int(step)); });
    k.comment("done");
    k.loop_while([&] {
        k.emit<"setp.lt.s32">(p, i, 5);
        return p;
    });
    k.emit<"ret">();
    auto ptx = module.ptx();
    ASSERT_TRUE(ptx) << describe(ptx.error());
    EXPECT_EQ(body_of(*ptx), R"(.reg .pred %p<2>;
.reg .s32 %s<3>;
ld.param.s32 %s2, [n];
mov.s32 %s1, 0;
L1:
setp.ge.s32 %p1, %s1, %s2;
@%p1 bra L2;
@!%p1 bra L3;
add.s32 %s1, %s1, 2;
bra.uni L4;
L3:
add.s32 %s1, %s1, 1;
L4:
bra.uni L1;
L2:
add.s32 %s1, %s1, 0;
add.s32 %s1, %s1, 1;
// done
L5:
setp.lt.s32 %p1, %s1, 5;
@%p1 bra L5;
ret;
)");
}

TEST(Dsl, AnOperatorIsOneInstruction) {
    Module module({.target = "sm_80"});
    auto& k = module.entry("operators");
    const auto row = value(k, k.argument<u32>("row")), stride = value(k, k.argument<u32>("stride"));
    const auto x = value(k, k.argument<f32>("x"));
    const Reg<u32> index = value(k, row) * stride + 4;
    const auto low = row >> 5 & 31;
    const Reg<u32> bits = low | stride << row;
    const Reg<f32> y = -x * 2.0f - x;
    k.if_(value(k, index) < bits).emit<"ret">();
    k.if_(x != y).emit<"exit">();
    k.emit<"min.f32">(y, x, 1.0f);
    k.emit<"ret">();
    const auto ptx = module.ptx();
    ASSERT_TRUE(ptx) << describe(ptx.error());
    const std::string body = body_of(*ptx);
    EXPECT_EQ(body.substr(body.find("mul.lo")), R"(mul.lo.u32 %u3, %u1, %u2;
add.u32 %u4, %u3, 4;
shr.u32 %u5, %u1, 5;
and.b32 %u6, %u5, 31;
shl.b32 %u7, %u2, %u1;
or.b32 %u8, %u6, %u7;
neg.f32 %f2, %f1;
mul.f32 %f3, %f2, 0f40000000;
sub.f32 %f4, %f3, %f1;
setp.lt.u32 %p1, %u4, %u8;
@%p1 ret;
setp.neu.f32 %p2, %f1, %f4;
@%p2 exit;
min.f32 %f4, %f1, 0f3F800000;
ret;
)");
}

template <dsl::Type T> void emit_twice(auto& b, const Reg<T>& x) {
    emit<typed<"add", T>()>(b, x, x, x);
    const auto p = b.template reg<pred>();
    emit<typed<"setp.gt", T>()>(b, p, x, x);
    emit<typed<"neg", T>()>(b.if_(p), x, x);
}

TEST(Dsl, TemplatesEmitToo) {
    Module module({.target = "sm_80"});
    auto& k = module.entry("k");
    emit_twice(k, k.reg<f32>());
    emit_twice(k, k.reg<s32>());
    k.emit<"ret">();
    EXPECT_THAT(canonical_ptx(module),
                HasSubstr("\tadd.s32 %s1, %s1, %s1;\n\tsetp.gt.s32 %p2, %s1, %s1;\n\t@%p2 neg.s32"));
}

TEST(Dsl, FunctionsCallOneAnother) {
    Module module({.target = "sm_80"});
    auto& k = module.entry("calls");
    auto& square = module.function("square");
    const auto result = square.result<f32>("result");
    const auto x = square.argument<f32>("x");
    square.emit<"mul.f32">(x, x, x);
    square.emit<"st.param.f32">(at(result), x);
    square.emit<"ret">();
    const auto out = k.argument<u64>("out");
    const auto y = k.reg<f32>();
    k.emit<"mov.f32">(y, 3.0f);
    k.emit<"call.uni">(list(y), square.name(), list(y));
    k.emit<"st.global.f32">(at(out), y);
    k.emit<"ret">();
    const auto device = Device::open("emulator");
    const auto skeleton = Skeleton::from_ptx(canonical_ptx(module));
    ASSERT_TRUE(skeleton) << describe(skeleton.error());
    const auto kernel = skeleton->graft({}, *device);
    ASSERT_TRUE(kernel) << describe(kernel.error());
    auto buffer = device->allocate(sizeof(float));
    ASSERT_TRUE(kernel->launch({}, *buffer));
    EXPECT_EQ(buffer->download<float>()->at(0), 9.0f);
}

// -x by a function of one narrow type, called by its name and by its address, for one value of each.
template <dsl::Type T>
Reg<s32> negated(Module& module, FunctionBuilder<>& k, std::string_view name, const Reg<T>& x) {
    auto& f = module.function(name);
    const auto result = f.template result<T>("result");
    const auto argument = f.template argument<T>("x");
    const auto wide = f.template reg<s32>();
    f.template emit<cvt_name<s32, T>()>(wide, argument);
    f.template emit<"neg.s32">(wide, wide);
    const auto narrow = f.template reg<T>();
    f.template emit<cvt_name<T, s32>()>(narrow, wide);
    f.template emit<typed<"st.param", T>()>(at(result), narrow);
    f.template emit<"ret">();
    const auto y = k.template reg<T>(), z = k.template reg<T>();
    const auto address = k.template reg<u64>();
    k.template emit<"call">(list(y), f.name(), list(x));
    k.template emit<"mov.u64">(address, f.name());
    k.template emit<"call">(list(z), address, list(y), k.prototype({{.type = T}}, {{.type = T}}));
    const auto once = k.template reg<s32>(), twice = k.template reg<s32>();
    k.template emit<cvt_name<s32, T>()>(once, y);
    k.template emit<cvt_name<s32, T>()>(twice, z);
    k.template emit<"mad.lo.s32">(once, twice, 1000, once);
    return once;
}

TEST(Dsl, FunctionsTakeAndGiveNarrowIntegers) {
    Module module({.target = "sm_80"});
    auto& k = module.entry("k");
    const auto out = k.argument<u64>("out");
    const auto a = k.argument<u16>("a");
    const auto b = k.argument<s16>("b");
    const auto c = k.argument<u8>("c");
    const auto d = k.argument<s8>("d");
    k.emit<"st.global.s32">(at(out), negated(module, k, "of_u16", a));
    k.emit<"st.global.s32">(at(out, 4), negated(module, k, "of_s16", b));
    k.emit<"st.global.s32">(at(out, 8), negated(module, k, "of_u8", c));
    k.emit<"st.global.s32">(at(out, 12), negated(module, k, "of_s8", d));
    k.emit<"ret">();
    const std::string ptx = text_of(module);
    EXPECT_THAT(ptx,
                HasSubstr(".visible .entry k(.param .u64 out, .param .u16 a, .param .s16 b, .param .u8 c, "));
    EXPECT_THAT(ptx, HasSubstr(".func (.param .b16 result) of_s16(.param .b16 x);"));
    EXPECT_THAT(ptx, HasSubstr(".func (.param .b8 result) of_u8(.param .b8 x);"));
    EXPECT_THAT(ptx, HasSubstr(".callprototype (.param .b8 _) _ (.param .b8 _);"));
    const auto device = Device::open("emulator");
    const auto kernel = Skeleton::from_ptx(ptx)->graft({}, *device);
    ASSERT_TRUE(kernel) << describe(kernel.error());
    auto buffer = device->allocate(4 * sizeof(std::int32_t));
    const auto done =
        kernel->launch({}, *buffer, std::uint16_t{3}, std::int16_t{-300}, std::uint8_t{5}, std::int8_t{-7});
    ASSERT_TRUE(done) << describe(done.error());
    EXPECT_THAT(buffer->download<std::int32_t>().value(),
                ElementsAre(3 * 1000 + 65533, -300 * 1000 + 300, 5 * 1000 + 251, -7 * 1000 + 7));
}

// Instructions under one guard, structs by their fields, values as operands of sites.
TEST(Dsl, GuardsOfManyStructsAndValuesOfSites) {
    struct Settings {
        float scale;
        std::int16_t shift;
        std::uint64_t out;
        std::uint8_t times;
    };
    Module module({.target = "sm_80"});
    auto& k = module.entry("k");
    const auto settings = k.structure<Settings>("settings");
    const auto out = k.load(settings, &Settings::out);
    const auto scale = k.load(settings, &Settings::scale);
    const auto shift = k.load(settings, &Settings::shift);
    const auto times = k.load(settings, &Settings::times);
    const auto wide = k.reg<s32>(), number = k.reg<s32>();
    const auto thread = read<"%tid.x">(k);
    k.emit<"cvt.s32.s16">(wide, shift);
    k.emit<"cvt.s32.u8">(number, times);
    const auto sum = value(k, wide) + number;
    k.guarded(!(thread == 1), [&] {
        k.emit<"cvt.rn.f32.s32">(scale, sum);
        k.emit<"add.f32">(scale, scale, 0.5f);
    });
    const auto result = value(k, scale);
    k.site("f", {mod("result", result), in("thread", thread)}, {}, [] {});
    const auto same = k.site("g", operands(mod<"result">(result), in<"thread">(thread)), {}, [] {});
    static_assert(std::is_same_v<decltype(same), const SignatureOf<Mod<"result", f32>, In<"thread", u32>>>);
    const auto place = k.reg<u64>();
    k.emit<"mad.wide.u32">(place, thread, 4, out);
    k.emit<"st.global.f32">(at(place), result);
    k.emit<"ret">();
    const std::string ptx = text_of(module);
    EXPECT_THAT(ptx, HasSubstr("(.param .align 8 .b8 settings[24])"));
    EXPECT_THAT(ptx, HasSubstr("ld.param.s16 %ss1, [settings+4];"));
    EXPECT_THAT(ptx, HasSubstr("\t@!%p1 cvt.rn.f32.s32 %f1, %s3;\n\t@!%p1 add.f32 %f1, %f1, 0f3F000000;\n"));
    const auto device = Device::open("emulator");
    const auto kernel = Skeleton::from_ptx(ptx)->graft({}, *device);
    ASSERT_TRUE(kernel) << describe(kernel.error());
    auto buffer = device->allocate(2 * sizeof(float));
    const auto done = kernel->launch(
        {.block = {2}}, Settings{.scale = 7.25f, .shift = -3, .out = buffer->address(), .times = 200});
    ASSERT_TRUE(done) << describe(done.error());
    EXPECT_THAT(buffer->download<float>().value(), ElementsAre(197.5f, 7.25f));
}

TEST(Dsl, AnInstructionHasOneGuard) {
    Module module({.target = "sm_80"});
    auto& k = module.entry("k");
    const auto p = k.reg<pred>("p"), q = k.reg<pred>("q");
    const auto x = k.reg<u32>();
    k.guarded(p, [&] {
        k.emit<"mov.u32">(x, 1);
        k.if_(q).emit<"mov.u32">(x, 2);
        k.emit<"mov.u32">(x, 3);
    });
    EXPECT_THAT(k.instruction_count(), 3u);
    ASSERT_FALSE(module.ptx());
    EXPECT_EQ(module.ptx().error().code, Errc::guard_invalid);
    EXPECT_EQ(message(module.ptx().error()),
              "an instruction has one guard: %q within the instructions under %p");
    EXPECT_THAT(module.text(),
                HasSubstr("\t@%p mov.u32 %u1, 1;\n\t@%q mov.u32 %u1, 2;\n\t@%p mov.u32 %u1, 3;\n"));
}

TEST(Dsl, AKernelIsASkeleton) {
    Module module({.target = "sm_80"});
    auto& k = module.entry("fused");
    const auto out = k.argument<u64>("out");
    const auto acc = k.reg<f32>();
    const auto bias = k.regs<f32, 2>();
    const auto odd = k.reg<pred>();
    k.emit<"mov.f32">(acc, 1.0f);
    k.emit<"mov.f32">(bias[0], 2.0f);
    k.emit<"mov.f32">(bias[1], 4.0f);
    k.emit<"setp.ne.u32">(odd, 1, 0);
    k.site("epilogue", {mod("acc", acc), in("bias", bias), in("odd", odd)},
           {.allowed = Effect::warp | Effect::load, .heat = Heat::cold},
           [&] { k.raw("add.f32 _acc, _acc, _bias0;"); });
    k.emit<"st.global.f32">(at(out), acc);
    k.emit<"ret">();
    const auto skeleton = Skeleton::from_ptx(*module.ptx());
    ASSERT_TRUE(skeleton) << describe(skeleton.error());
    const Site& site = *skeleton->site("epilogue");
    EXPECT_EQ(site.signature.text(), "mod f32 acc, in f32 bias[2], in pred odd");
    EXPECT_EQ(site.policy.allowed, Effect::warp | Effect::load);
    EXPECT_EQ(site.policy.heat, Heat::cold);
    const auto device = Device::open("emulator");
    const auto run = [&](std::vector<Graft> grafts) {
        const auto kernel = skeleton->graft(grafts, *device);
        if (!kernel) throw std::runtime_error(describe(kernel.error()));
        auto buffer = device->allocate(sizeof(float));
        EXPECT_TRUE(kernel->launch({}, *buffer));
        return buffer->download<float>()->at(0);
    };
    EXPECT_EQ(run({}), 3.0f);
    const auto emitted = stub(site, [](StubBuilder<>& b) {
        const auto value = b.operand<f32>("acc");
        const auto by = b.fragment<f32, 2>("bias");
        b.emit<"fma.rn.f32">(value, value, by[0], by[1]);
        b.if_(b.operand<pred>("odd")).template emit<"neg.f32">(value, value);
    });
    ASSERT_TRUE(emitted) << describe(emitted.error());
    EXPECT_EQ(run({{"epilogue", *emitted}}), -6.0f);
    // The same by a stack program.
    const auto program = stack::compile("acc bias[0] bias[1] fma.rn.f32 neg.f32 -> acc", site);
    ASSERT_TRUE(program) << describe(program.error());
    EXPECT_EQ(run({{"epilogue", *program}}), -6.0f);
}

TEST(Dsl, StubsOfOperandsWhoseTypeTheSiteHas) {
    const auto signature = Signature::parse("mod f32 acc, in f32 bias, in f64 wide");
    const auto good =
        stub(*signature, [](StubBuilder<>& b) { b.emit<"add.f32">(b["acc"], b["acc"], b["bias"]); });
    ASSERT_TRUE(good) << describe(good.error());
    EXPECT_EQ(good->ptx(), "\tadd.f32 _acc, _acc, _bias;\n");
    const auto wrong =
        stub(*signature, [](StubBuilder<>& b) { b.emit<"add.f32">(b["acc"], b["acc"], b["wide"]); });
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, Errc::operand_type_wrong);
    EXPECT_THAT(
        message(wrong.error()),
        HasSubstr("add.f32: operand 3: a register of .f64 where a register of .f32 or a constant of .f32"));
    const auto unknown = stub(*signature, [](StubBuilder<>& b) { (void)b.operand<f32>("other"); });
    EXPECT_EQ(unknown.error().code, Errc::stub_register_unknown);
    for (const char* name : {"nope", "pair"}) {
        const auto by_name =
            stub(*signature, [&](StubBuilder<>& b) { (void)b.emit("ld.global.f32", b["acc"], b[name]); });
        EXPECT_EQ(by_name.error().code, Errc::stub_register_unknown) << name;
    }
    const auto other_type = stub(*signature, [](StubBuilder<>& b) { (void)b.operand<f64>("acc"); });
    EXPECT_THAT(message(other_type.error()), HasSubstr("acc is of f32 at the site, not f64"));
    const auto effect = stub(*signature, [](StubBuilder<>& b) { b.emit<"bar.sync">(0); });
    EXPECT_EQ(effect.error().code, Errc::stub_effect_forbidden);
}

// Operands are names: what holds of those that another builder made.
TEST(Dsl, OperandsOfAnotherBuilderAreFoundWhereTheirNameIsNot) {
    Module module({.target = "sm_80"});
    auto& one = module.entry("one");
    auto& other = module.entry("other");
    const auto first = one.reg<f32>(), second = one.reg<f32>();
    const auto own = other.reg<f32>();
    one.emit<"mov.f32">(first, 1.0f);
    one.emit<"ret">();
    other.emit<"mov.f32">(own, first);  // its own, of the same name
    other.emit<"ret">();
    EXPECT_TRUE(module.ptx());
    other.emit<"mov.f32">(own, second);
    const auto ptx = module.ptx();
    ASSERT_FALSE(ptx);
    EXPECT_EQ(ptx.error().code, Errc::name_undeclared);
    EXPECT_THAT(describe(ptx.error()), HasSubstr("mov.f32 %f1, %f2;"));
    const auto signature = Signature::parse("mod f32 acc");
    const auto in_stub =
        stub(*signature, [&](StubBuilder<>& b, Mod<"acc", f32> acc) { b.emit<"add.f32">(acc, acc, second); });
    ASSERT_FALSE(in_stub);
    EXPECT_EQ(in_stub.error().code, Errc::stub_register_unknown);
}

TEST(Dsl, TheSameCheckWhenItRuns) {
    Module module({.target = "sm_80"});
    auto& k = module.entry("k");
    const auto d = k.reg<f32>();
    const auto wide = k.reg<f64>();
    EXPECT_TRUE(k.emit("fma.rn.f32", d, d, 1.0f, d));
    const auto wrong = k.emit("add.sat.f64", wide, wide, wide);
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, Errc::modifier_not_allowed);
    EXPECT_THAT(message(wrong.error()), HasSubstr(".sat is not allowed in this form of add"));
    EXPECT_EQ(k.emit("add.f32.rn", d, d, d).error().code, Errc::modifier_out_of_order);
    EXPECT_EQ(k.emit("fma.rn.f32", d, d, d).error().code, Errc::operand_count_wrong);
    EXPECT_EQ(k.emit("wgmma.fence.sync.aligned").error().code, Errc::target_not_able);
    EXPECT_EQ(k.instruction_count(), 1u);
    // The first error is the module's.
    EXPECT_EQ(module.ptx().error().code, Errc::modifier_not_allowed);
}

TEST(Dsl, ConstantsAreLookedAtWhenTheyAreKnown) {
    const auto error_of = [](auto emit) {
        Module module({.target = "sm_80"});
        auto& k = module.entry("k");
        emit(k);
        k.template emit<"ret">();
        const auto ptx = module.ptx();
        return ptx ? Errc::ok : ptx.error().code;
    };
    const int mask = 99;
    EXPECT_EQ(error_of([&](auto& k) {
                  const auto r = k.template reg<b32>();
                  k.template emit<"lop3.b32">(r, r, r, r, mask);
              }),
              Errc::ok);
    EXPECT_EQ(error_of([&](auto& k) {
                  const auto r = k.template reg<u32>();
                  const int beyond = 256;
                  k.template emit<"bfe.u32">(r, r, 0, beyond);
              }),
              Errc::immediate_out_of_range);
    EXPECT_EQ(error_of([&](auto& k) {
                  const auto r = k.template reg<u16>();
                  k.template emit<"add.u16">(r, r, 65536);
              }),
              Errc::immediate_out_of_range);
}

// What would put text into a module that nobody checked, or means nothing.
TEST(Dsl, WhatIsNoOperandIsRefused) {
    Module module({.target = "sm_80"});
    auto& k = module.entry("k");
    const auto f = k.reg<f32>();
    const auto refused = [&](std::string_view name, const std::vector<AnyOperand>& operands) {
        const auto done = k.emit_list(name, operands);
        EXPECT_FALSE(done) << name;
        EXPECT_FALSE(message(done.error()).empty());
    };
    refused("bra", {AnyOperand::named("L;\n\texit", ShapeKind::label)});
    refused("bra", {AnyOperand::named("L", ShapeKind::pair)});
    refused("add.f32", {AnyOperand::reg("%f1;\n\texit", dsl::Type::f32), f, f});
    refused("add.f32", {AnyOperand::reg("%f1", dsl::Type(250)), f, f});
    refused("add.f32", {f, f, AnyOperand::named("x", ShapeKind::floating)});
    refused("mov.b64",
            {AnyOperand::vector(std::vector{any(f), AnyOperand::special("%r1; exit")}), k.reg<b64>()});
    refused("setp.eq.f32", {AnyOperand::negated(f), f, f});
    refused("call.uni", {AnyOperand::list(std::vector{AnyOperand::special("%no")}), FunctionName{"g"}});
    EXPECT_EQ(k.instruction_count(), 0u);
    EXPECT_EQ(k.emit("st.global.v2.u16", at(k.reg<b64>()), vec(k.reg<b16>(), 70000)).error().code,
              Errc::immediate_out_of_range);
}

TEST(Dsl, MistakesThatOnlyTheModuleSees) {
    const auto code_of = [](auto say) {
        Module module({.target = "sm_90a"});
        auto& k = module.entry("k");
        say(module, k);
        k.template emit<"ret">();
        const auto ptx = module.ptx();
        return ptx ? Errc::ok : ptx.error().code;
    };
    EXPECT_EQ(code_of([](auto&, auto&) {}), Errc::ok);
    EXPECT_EQ(code_of([](auto&, auto& k) {
                  k.directives({.required_threads = {0xffffffff, 2, 2}});
              }),
              Errc::directive_invalid);
    EXPECT_EQ(code_of([](auto&, auto& k) {
                  k.directives({.max_threads = {0, 128, 1}});
              }),
              Errc::directive_invalid);
    EXPECT_EQ(code_of([](auto&, auto& k) { k.directives({.cluster = {2, 0, 1}}); }), Errc::directive_invalid);
    EXPECT_EQ(code_of([](auto&, auto& k) { k.pragma("nounroll\";\n\texit;//"); }), Errc::directive_invalid);
    EXPECT_EQ(code_of([](auto&, auto& k) { (void)k.template reg<u32>("laneid"); }), Errc::name_taken);
    for (const char* name : {"%tid", "%envreg3", "WARP_SZ"})
        EXPECT_EQ(code_of([&](auto&, auto& k) { (void)k.template parameter<u64>(name); }), Errc::name_taken);
    EXPECT_EQ(code_of([](auto&, auto& k) { (void)k.template result<f32>("r"); }), Errc::directive_invalid);
    for (const std::string name : {"two\nlines", "a; exit", "1st", "%", "a b", "é"}) {
        EXPECT_EQ(code_of([&](auto& m, auto&) { m.entry(name); }), Errc::argument_invalid) << name;
        EXPECT_EQ(code_of([&](auto& m, auto&) { (void)m.global(name, {}); }), Errc::argument_invalid) << name;
        EXPECT_EQ(code_of([&](auto&, auto& k) { (void)k.template parameter<u64>(name); }),
                  Errc::argument_invalid)
            << name;
        EXPECT_EQ(code_of([&](auto&, auto& k) { (void)k.shared(name, {}); }), Errc::argument_invalid) << name;
        EXPECT_EQ(code_of([&](auto&, auto& k) { k.site(name, std::span<const SiteArgument>(), {}, [] {}); }),
                  Errc::argument_invalid)
            << name;
        EXPECT_EQ(code_of([&](auto&, auto& k) { k.site("f", {in(name, k.template reg<f32>())}, {}, [] {}); }),
                  Errc::argument_invalid)
            << name;
        if (name == "%") continue;  // `%_1` is a label, and `%1st` a register
        EXPECT_EQ(code_of([&](auto&, auto& k) { k.place(k.label(name)); }), Errc::argument_invalid) << name;
        if (name == "1st") continue;
        EXPECT_EQ(code_of([&](auto&, auto& k) { (void)k.template reg<u32>(name); }), Errc::argument_invalid)
            << name;
    }
    EXPECT_EQ(code_of([](auto&, auto& k) {
                  const int big = 70000;
                  const auto h = k.template reg<b16>();
                  k.template emit<"st.global.v2.u16">(at(k.template reg<b64>()), vec(h, big));
              }),
              Errc::immediate_out_of_range);
    EXPECT_EQ(code_of([](auto&, auto& k) {
                  const long long beyond = 0x5ffffffff;
                  const auto r = k.template reg<b32>();
                  k.template emit<"mov.b64">(k.template reg<b64>(), vec(r, beyond));
              }),
              Errc::immediate_out_of_range);
    EXPECT_EQ(code_of([](auto&, auto& k) {
                  const long long beyond = 0x5ffffffff;
                  const auto map = k.template reg<b64>();
                  k.template emit<"cp.async.bulk.prefetch.tensor.2d.L2.global.tile">(
                      at(map, vec(beyond, k.template reg<s32>())));
              }),
              Errc::immediate_out_of_range);
    for (const char* version : {"8.6x", "-8.6", "86", "9", "8.10", "99.9"})
        EXPECT_EQ(Module({.target = "sm_90a", .version = version}).ptx().error().code, Errc::version_unknown)
            << version;
}

TEST(Dsl, VectorLoadsOfPublicKernels) {
    Module module({.target = "sm_90a"});
    auto& k = module.entry("k");
    const auto p = k.argument<u64>("p");
    k.emit<"ld.global.nc.L1::no_allocate.L2::128B.v4.s32">(k.regs<s32, 4>(), at(p));
    k.emit<"ld.global.nc.L1::no_allocate.v4.f32">(k.regs<f32, 4>(), at(p));
    k.emit<"ret">();
    EXPECT_THAT(canonical_ptx(module), HasSubstr("ld.global.nc.L1::no_allocate.L2::128B.v4.s32 {"));
}

TEST(Dsl, TargetsAreLookedAt) {
    Module module({.target = "sm_80"});
    auto& k = module.entry("k");
    k.emit<"wgmma.fence.sync.aligned">();
    EXPECT_EQ(module.ptx().error().code, Errc::target_not_able);
    Module newer({.target = "sm_90a", .version = "8.0"});
    auto& sure = newer.entry<sm_90a>("k");
    sure.emit<"wgmma.fence.sync.aligned">();
    sure.emit<"ret">();
    EXPECT_TRUE(newer.ptx());
    Module older({.target = "sm_80"});
    (void)older.entry<sm_90a>("k");
    EXPECT_EQ(older.ptx().error().code, Errc::target_differs);
    Module none({.target = "sm_91"});
    EXPECT_EQ(none.ptx().error().code, Errc::target_unknown);
}

TEST(Dsl, LinesAreThoseOfTheCallers) {
    Module module({.target = "sm_80", .line_info = true});
    auto& k = module.entry("k");
    const auto r = k.reg<u32>();
    const unsigned line = __LINE__ + 1;
    k.emit<"mov.u32">(r, 1);
    k.emit<"ret">();
    const auto ptx = module.ptx();
    ASSERT_TRUE(ptx) << describe(ptx.error());
    EXPECT_THAT(*ptx, HasSubstr("\t.loc 1 " + std::to_string(line) + " 1\n\tmov.u32 %u1, 1;\n"));
    EXPECT_THAT(*ptx, HasSubstr("dsl_test.cpp\"\n"));
    // What is emitted in another file belongs to the line that came last.
    Module other({.target = "sm_80", .line_info = true, .file = "other.cu"});
    auto& o = other.entry("k");
    o.emit<"ret">();
    EXPECT_THAT(*other.ptx(), Not(HasSubstr(".loc")));
}

}  // namespace
}  // namespace ptxgraft::dsl
