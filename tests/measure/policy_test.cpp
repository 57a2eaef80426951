// What variants may not do, in stubs and in whole modules.
#include "ptxgraft/measure/policy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptxgraft/stack.hpp"

namespace ptxgraft::measure {
namespace {

using testing::HasSubstr;

struct Row {
    std::string_view text, says;
    bool Policy::*allows;
};
constexpr Row forbidden[] = {
    {"mov.u32 %a, %clock;", "%clock ", &Policy::clocks},
    {"mov.u64 %d, %clock64;", "%clock64 ", &Policy::clocks},
    {"mov.u64 %d, %globaltimer;", "%globaltimer ", &Policy::clocks},
    {"mov.u32 %a, %globaltimer_lo;", "%globaltimer_lo ", &Policy::clocks},
    {"mov.u32 %a, %smid;", "%smid ", &Policy::clocks},
    {"mov.u32 %a, %nsmid;", "%nsmid ", &Policy::clocks},
    {"mov.u32 %a, %warpid;", "%warpid ", &Policy::clocks},
    {"mov.u64 %d, %gridid;", "%gridid ", &Policy::clocks},
    {"mov.u32 %a, %pm3;", "%pm3 ", &Policy::clocks},
    {"createpolicy.fractional.L2::evict_last.b64 %d, 1.0;", "createpolicy", &Policy::caches},
    {"ld.global.L2::cache_hint.f32 %f, [%d], 0x14f0000000000000;", "cache_hint", &Policy::caches},
    {"ld.global.L1::evict_last.f32 %f, [%d];", "evict_last", &Policy::caches},
    {"applypriority.global.L2::evict_normal [%d], 128;", "applypriority", &Policy::caches},
    {"prefetch.global.L2 [%d];", "prefetch", &Policy::caches},
    {"prefetch.global.L2::evict_last [%d];", "prefetch", &Policy::caches},
    {"prefetchu.L1 [%d];", "prefetchu", &Policy::caches},
    {"cp.async.bulk.prefetch.L2.global [%d], 64;", "prefetch", &Policy::caches},
    {"discard.global.L2 [%d], 128;", "discard", &Policy::caches},
    {"ld.volatile.global.u32 %a, [%d];", "waits", &Policy::waiting},
    {"ld.acquire.gpu.global.u32 %a, [%d];", "waits", &Policy::waiting},
    {"ld.relaxed.sys.global.u32 %a, [%d];", "waits", &Policy::waiting},
    {"nanosleep.u32 100;", "nanosleep", &Policy::waiting},
};
constexpr std::string_view usual[] = {
    "mov.u32 %a, %tid.x;",
    "mov.u32 %a, %laneid;",
    "ld.global.L2::128B.f32 %f, [%d];",
    "ld.global.L1::no_allocate.f32 %f, [%d];",
    "ld.relaxed.cta.shared.u32 %a, [%a];",
    "atom.global.add.u32 %a, [%d], 1;",
    "fma.rn.f32 %f, %f, %f, %f;",
};

std::string module_of(std::string_view text, std::string_view variables = {}) {
    return ".version 9.0\n.target sm_90a\n.address_size 64\n" + std::string(variables) +
           ".visible .entry k()\n{\n.reg .b32 %a;\n.reg .b64 %d;\n.reg .f32 %f;\n" + std::string(text) +
           "\nret;\n}\n";
}
Expected<void> check(const std::string& text, const std::string& skeleton, const Policy& policy = {}) {
    const auto module = syntax::parse(text), other = syntax::parse(skeleton);
    EXPECT_TRUE(module && other) << text;
    return check_policy(*module, *other, policy);
}

TEST(Policy, ForbidsWhatMakesAVariantLookFast) {
    for (const Row& row : forbidden) {
        const std::string text = module_of(row.text);
        const auto checked = check(text, module_of(""));
        ASSERT_FALSE(checked) << row.text;
        EXPECT_EQ(checked.error().code, Errc::stub_effect_forbidden);
        EXPECT_THAT(message(checked.error()), HasSubstr(std::string(row.says)));
        EXPECT_THAT(describe(checked.error(), text), HasSubstr("9:")) << "it has a place";
        Policy policy;
        policy.*row.allows = true;
        EXPECT_TRUE(check(text, module_of(""), policy)) << row.text;
        EXPECT_TRUE(check(text, text)) << "the skeleton does it too: " << row.text;
    }
}

TEST(Policy, AllowsWhatIsUsual) {
    for (const std::string_view text : usual) {
        const auto checked = check(module_of(text), module_of(""));
        EXPECT_TRUE(checked) << describe(checked.error());
    }
}

TEST(Policy, VariablesAreTheSkeletonsOwn) {
    constexpr std::string_view kept = ".global .align 4 .u32 kept;\n";
    const auto checked = check(module_of("", kept), module_of(""));
    ASSERT_FALSE(checked);
    EXPECT_THAT(message(checked.error()), HasSubstr("kept is not allowed"));
    EXPECT_TRUE(check(module_of("", kept), module_of("", kept)));
    EXPECT_TRUE(check(module_of("", kept), module_of(""), {.variables = true}));
    EXPECT_TRUE(check(module_of("", ".const .align 4 .u32 kept = 3;\n"), module_of("")));
}

TEST(Policy, StubsAreLookedThroughToo) {
    const Signature signature = *Signature::parse("mod f32 y");
    const ptxgraft::Policy all{.allowed = Effect::all};
    const auto clock = Stub::from_ptx(
        "{ .reg .u32 %a; .reg .f32 %f;\nmov.u32 %a, %clock;\ncvt.rn.f32.u32 %f, %a;\nadd.f32 y, y, %f; }",
        signature, all);
    ASSERT_TRUE(clock) << describe(clock.error());
    const auto checked = check_policy(*clock);
    ASSERT_FALSE(checked);
    EXPECT_THAT(describe(checked.error()), HasSubstr("%clock is not allowed"));
    EXPECT_THAT(describe(checked.error()), HasSubstr("^")) << "its place in the stub";
    EXPECT_TRUE(check_policy(*clock, {.clocks = true}));
    const auto plain = Stub::from_ptx("mul.f32 y, y, y;", signature, all);
    EXPECT_TRUE(check_policy(*plain));
}

}  // namespace
}  // namespace ptxgraft::measure
