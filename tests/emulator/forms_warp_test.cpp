// Forms of instructions, row by row: what lanes do together, and special registers. Each has a reference of
// its own (the manual's pseudocode, wide integers, exact arithmetic).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "support/emulator_forms.hpp"

namespace ptxgraft::forms {
namespace {

// The body in the lanes of a mask only.
std::string among(u32 mask, const std::string& body) {
    if (mask == ~0u) return body;
    return "mov.u32 %y10, " + std::to_string(mask) +
           ";\nshr.u32 %y10, %y10, %lane;\nand.b32 %y10, %y10, 1;\nsetp.eq.u32 %p3, %y10, 0;\n@%p3 bra "
           "Done;\n" +
           body + "\nDone:\n";
}
constexpr u32 masks[] = {~0u, 0x80000001, 0x0f0f3355, 0x00000010, 0x7fffffff};
bool within(u32 mask, u32 lane) { return (mask >> lane & 1) != 0; }

TEST(EmulatorForms, ShufflesAreTheManualsPseudocode) {
    std::mt19937_64 random(11);
    for (const std::string mode : {"up", "down", "bfly", "idx"})
        for (const u32 mask : masks) {
            auto in = values(12);
            for (In& x : in) {
                const u32 width = 1u << random() % 6;
                x.b = random() % 40;
                x.c = random() % 3 == 0 ? random() & 0x1f1f : (32 - width) << 8 | (mode == "up" ? 0 : 31);
            }
            const auto out = run(among(mask, "shfl.sync." + mode + ".b32 %rd|%p1, %ra, %rb, %rc, " +
                                                 std::to_string(mask) + ";\nselp.u32 %re, 1, 0, %p1;" + d32),
                                 // some read of lanes that are not in the mask
                                 in, "sm_90a", {.fast = true});
            for (u32 i = 0; i < in.size(); ++i) {
                const s32 lane = static_cast<s32>(i % 32), b = static_cast<s32>(in[i].b & 31),
                          c = static_cast<s32>(in[i].c & 31), segment = static_cast<s32>(in[i].c >> 8 & 31);
                const s32 most = (lane & segment) | (c & ~segment), least = lane & segment;
                s32 from = mode == "up"     ? lane - b
                           : mode == "down" ? lane + b
                           : mode == "bfly" ? lane ^ b
                                            : least | (b & ~segment);
                const bool valid = mode == "up" ? from >= most : from <= most;
                if (!valid) from = lane;
                if (within(mask, i % 32) && !within(mask, static_cast<u32>(from))) continue;  // undefined
                const Out expected =
                    within(mask, i % 32)
                        ? Out{static_cast<u32>(in[i / 32 * 32 + static_cast<u32>(from)].a), valid ? 1u : 0u}
                        : Out{};
                ASSERT_EQ(out[i], expected) << mode << " lane " << lane << " b " << in[i].b << " c "
                                            << std::hex << in[i].c << " mask " << mask;
            }
        }
}

u32 ballot(const In* warp, u32 mask, const std::function<bool(const In&)>& holds) {
    u32 result = 0;
    for (u32 lane = 0; lane < 32; ++lane)
        result |= static_cast<u32>(within(mask, lane) && holds(warp[lane])) << lane;
    return result;
}

TEST(EmulatorForms, Votes) {
    auto in = values(13);
    for (u32 i = 0; i < 32; ++i) in[i].a = 1, in[32 + i].a = 0;
    const auto odd = [](const In& x) { return (x.a & 1) != 0; };
    for (const u32 mask : masks)
        for (const bool negated : {false, true}) {
            const std::string set = "and.b32 %y1, %ra, 1;\nsetp.ne.u32 %p1, %y1, 0;\n",
                              p = negated ? "!%p1, " : "%p1, ", m = std::to_string(mask) + ";\n";
            const std::string body = set + "vote.sync.ballot.b32 %rd, " + p + m + "vote.sync.all.pred %p0, " +
                                     p + m + "selp.u32 %re, 1, 0, %p0;\nvote.sync.any.pred %p0, " + p + m +
                                     "@%p0 add.u32 %re, %re, 2;\nvote.sync.uni.pred %p0, " + p + m +
                                     "@%p0 add.u32 %re, %re, 4;" + d32;
            check_warps(
                among(mask, body),
                [=](const In* warp, u32 lane) {
                    if (!within(mask, lane)) return Out{};
                    const u32 set_lanes = ballot(warp, mask, [=](const In& x) { return odd(x) != negated; });
                    return Out{set_lanes, (set_lanes == mask ? 1u : 0u) + (set_lanes != 0 ? 2u : 0u) +
                                              (set_lanes == mask || set_lanes == 0 ? 4u : 0u)};
                },
                in);
        }
}

TEST(EmulatorForms, Matches) {
    auto in = values(14);
    for (u32 i = 0; i < in.size(); ++i) in[i].a = i < 32 ? 5 : in[i].a % 3 + (in[i].b % 2 << 40);
    for (const u32 mask : masks)
        for (const bool wide : {false, true}) {
            const std::string type = wide ? ".b64" : ".b32", a = wide ? "%la" : "%ra",
                              m = std::to_string(mask) + ";\n";
            check_warps(
                among(mask, "match.any.sync" + type + " %rd, " + a + ", " + m + "match.all.sync" + type +
                                " %re|%p1, " + a + ", " + m + "@%p1 xor.b32 %rd, %rd, -1;" + d32),
                [=](const In* warp, u32 lane) {
                    if (!within(mask, lane)) return Out{};
                    const auto key = [wide](const In& x) { return wide ? x.a : static_cast<u32>(x.a); };
                    const u32 same =
                        ballot(warp, mask, [&](const In& x) { return key(x) == key(warp[lane]); });
                    return Out{same == mask ? ~same : same, same == mask ? mask : 0};
                },
                in);
        }
}

TEST(EmulatorForms, ReductionsOfAWarp) {
    using Fold = std::function<u32(u32, u32)>;
    const std::pair<const char*, Fold> rows[] = {
        {"add.u32", [](u32 a, u32 b) { return a + b; }},
        {"add.s32", [](u32 a, u32 b) { return a + b; }},
        {"min.u32", [](u32 a, u32 b) { return std::min(a, b); }},
        {"max.u32", [](u32 a, u32 b) { return std::max(a, b); }},
        {"min.s32",
         [](u32 a, u32 b) { return static_cast<u32>(std::min(static_cast<s32>(a), static_cast<s32>(b))); }},
        {"max.s32",
         [](u32 a, u32 b) { return static_cast<u32>(std::max(static_cast<s32>(a), static_cast<s32>(b))); }},
        {"and.b32", [](u32 a, u32 b) { return a & b; }},
        {"or.b32", [](u32 a, u32 b) { return a | b; }},
        {"xor.b32", [](u32 a, u32 b) { return a ^ b; }}};
    for (const auto& [name, fold] : rows)
        for (const u32 mask : masks)
            check_warps(
                among(mask,
                      std::string("redux.sync.") + name + " %rd, %ra, " + std::to_string(mask) + ";" + d32),
                [mask, &fold](const In* warp, u32 lane) {
                    if (!within(mask, lane)) return Out{};
                    u32 result = static_cast<u32>(warp[std::countr_zero(mask)].a);
                    for (u32 i = static_cast<u32>(std::countr_zero(mask)) + 1; i < 32; ++i)
                        if (within(mask, i)) result = fold(result, static_cast<u32>(warp[i].a));
                    return Out{result};
                },
                values(15));
}

TEST(EmulatorForms, OneLaneIsElected) {
    for (const u32 mask : masks) {
        const auto out = run(
            among(mask, "elect.sync %rd|%p1, " + std::to_string(mask) + ";\nselp.u32 %re, 1, 0, %p1;" + d32),
            values(16, block));
        for (u32 warp = 0; warp < 2; ++warp) {
            u32 elected = 0;
            for (u32 lane = 0; lane < 32; ++lane) {
                const Out& o = out[warp * 32 + lane];
                elected += static_cast<u32>(o.e);
                if (!within(mask, lane)) continue;
                EXPECT_EQ(o.d, out[warp * 32 + static_cast<u32>(std::countr_zero(mask))].d);
                EXPECT_EQ(o.e, o.d == lane ? 1u : 0u);
            }
            EXPECT_EQ(elected, 1u) << mask;
        }
    }
}

TEST(EmulatorForms, SpecialRegistersOfALane) {
    const std::pair<const char*, std::function<u32(u32)>> rows[] = {
        {"%laneid", [](u32 lane) { return lane; }},
        {"%lanemask_eq", [](u32 lane) { return 1u << lane; }},
        {"%lanemask_lt", [](u32 lane) { return (1u << lane) - 1; }},
        {"%lanemask_le", [](u32 lane) { return (2u << lane) - 1; }},
        {"%lanemask_gt", [](u32 lane) { return ~((2u << lane) - 1); }},
        {"%lanemask_ge", [](u32 lane) { return ~((1u << lane) - 1); }},
        {"%ntid.x", [](u32) { return block; }},
        {"%ntid.y", [](u32) { return 1; }},
        {"%tid.z", [](u32) { return 0; }},
        {"%nctaid.x", [](u32) { return 4; }},
        {"%ctaid.y", [](u32) { return 0; }},
        {"WARP_SZ", [](u32) { return 32; }},
        {"%is_explicit_cluster", [](u32) { return 0; }},
        {"%cluster_nctarank", [](u32) { return 1; }}};
    for (const auto& [name, reference] : rows) {
        if (std::string(name) == "%is_explicit_cluster")
            check_warps(
                std::string("mov.pred %p1, ") + name + ";\nselp.u32 %rd, 1, 0, %p1;" + d32,
                [&reference](const In*, u32 lane) { return Out{reference(lane)}; }, values(17));
        else
            check_warps(
                std::string("mov.u32 %rd, ") + name + ";" + d32,
                [&reference](const In*, u32 lane) { return Out{reference(lane)}; }, values(17));
    }
    // Those of the machine: within their bounds, and clocks do not go back.
    check_warps(
        "mov.u32 %y1, %smid;\nmov.u32 %y2, %nsmid;\nsetp.lt.u32 %p1, %y1, %y2;\nselp.u32 %rd, 1, 0, "
        "%p1;\nmov.u32 %y1, %warpid;\nmov.u32 %y2, %nwarpid;\nsetp.lt.u32 %p1, %y1, %y2;\n@%p1 add.u32 %rd, "
        "%rd, 2;\n"
        "mov.u64 %x1, %clock64;\nmov.u64 %x2, %globaltimer;\nmov.u64 %x3, %clock64;\nmov.u64 %x4, "
        "%globaltimer;\nsetp.le.u64 %p1, %x1, %x3;\n@%p1 add.u32 %rd, %rd, 4;\nsetp.le.u64 %p1, %x2, "
        "%x4;\n@%p1 add.u32 %rd, %rd, 8;\n"
        "mov.u32 %y1, %total_smem_size;\nmov.u32 %y2, %dynamic_smem_size;\nadd.u32 %y2, %y2, "
        "2048;\nsetp.ge.u32 %p1, %y1, %y2;\n@%p1 add.u32 %rd, %rd, 16;" +
            d32,
        [](const In*, u32) { return Out{31}; }, values(18));
    check_warps(
        "activemask.b32 %rd;" + d32, [](const In*, u32) { return Out{~0u}; }, values(19));
}

}  // namespace
}  // namespace ptxgraft::forms
