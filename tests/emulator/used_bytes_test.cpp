// .pragma "used_bytes_mask": a load reads no more than what is used (PTX ISA 12.2). nvcc widens reads of
// three floats to four by it.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "support/emulator_machine.hpp"
#include "support/kernel_text.hpp"

namespace ptxgraft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using u32 = std::uint32_t;

std::string kernel(const std::string& body, const std::string& declarations = "") {
    return test::kernel_text(
        {.version = "9.0",
         .declarations = declarations,
         .parameters = {"u64 in", "u64 out"},
         .registers = {"b32 %r<16>", "b64 %d<8>", "pred %p<4>", "b16 %h<8>"},
         .body = "ld.param.u64 %d1, [in]; ld.param.u64 %d2, [out]; mov.u32 %r0, %tid.x;\n"
                 "mul.wide.u32 %d3, %r0, 4; add.u64 %d2, %d2, %d3;\n" +
                 body});
}

// The first words of `out` behind a launch; the error's text otherwise.
struct Outcome {
    std::vector<u32> out;
    std::string error;
};
Outcome run(const std::string& text, const std::vector<u32>& in, unsigned threads = 1,
            std::uint32_t shared = 0, const EmulatorOptions& options = {}) {
    Machine machine(options);
    const auto loaded = machine.load(text);
    if (!loaded) return {{}, describe(loaded.error(), text)};
    const std::uint64_t from = machine.upload(in), to = machine.upload(std::vector<u32>(threads, 0xABCD));
    const auto done =
        machine.launch("k", {.grid = {1}, .block = {threads}, .shared_bytes = shared}, from, to);
    if (!done) return {{}, machine.text_of(done.error())};
    return {machine.download<u32>(to, threads), ""};
}

const std::string sum_of_three =
    "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%d1]; add.u32 %r1, %r1, %r2; add.u32 "
    "%r1, %r1, %r3; st.global.b32 [%d2], %r1;";

TEST(UsedBytes, BesideThemNothingNeedBeThere) {
    const std::vector<u32> three = {1, 20, 300};
    EXPECT_THAT(run(kernel(sum_of_three), three).error, HasSubstr("out of bounds"));
    for (const unsigned threads : {1u, 3u, 32u, 40u}) {
        const Outcome masked =
            run(kernel(".pragma \"used_bytes_mask 4095\";\n" + sum_of_three), three, threads);
        EXPECT_EQ(masked.error, "");
        EXPECT_THAT(masked.out, testing::Each(321u));
    }
    EXPECT_THAT(run(kernel(".pragma \"used_bytes_mask 0x1fff\";\n" + sum_of_three), three).error,
                HasSubstr("out of bounds"));
    EXPECT_EQ(run(kernel(".pragma \"used_bytes_mask 0xfff\"; .loc 1 1 1\nL:\n" + sum_of_three), three).error,
              "");
}

// A pragma is of the next instruction alone.
TEST(UsedBytes, AreOfTheLoadBehind) {
    const std::vector<u32> three = {1, 20, 300};
    const std::string mask = ".pragma \"used_bytes_mask 0xfff\";\n";
    EXPECT_THAT(run(kernel(mask + "mov.u32 %r5, 1;\n" + sum_of_three), three).error,
                HasSubstr("out of bounds"));
    EXPECT_THAT(run(kernel(mask + sum_of_three + sum_of_three), three).error, HasSubstr("out of bounds"));
    EXPECT_EQ(run(kernel(mask + sum_of_three + mask + sum_of_three), three).error, "");
}

TEST(UsedBytes, AreAlignedAsAllOfThem) {
    const std::string body =
        ".pragma \"used_bytes_mask 0xfff\"; ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%d1+4];";
    EXPECT_THAT(run(kernel(body), {1, 2, 3, 4, 5, 6, 7, 8}).error, HasSubstr("aligned"));
}

TEST(UsedBytes, OfAnElementArePartsOfIt) {
    const std::string load =
        ".pragma \"used_bytes_mask 0x5\"; ld.global.b32 %r1, [%d1]; and.b32 %r1, %r1, 0xff00ff; "
        "st.global.b32 [%d2], %r1;";
    EXPECT_THAT(run(kernel(load), {0x12345678}).out, ElementsAre(0x340078u));
    // at the end of what is there
    const std::string end =
        "add.u64 %d1, %d1, 2; .pragma \"used_bytes_mask 1\"; ld.global.v2.b8 {%h1, %h2}, [%d1]; "
        "cvt.u32.u16 %r1, %h1; st.global.b32 [%d2], %r1;";
    EXPECT_THAT(run(kernel(end), {0x12345678}).out, ElementsAre(0x34u));
    const std::string wide =
        ".pragma \"used_bytes_mask 0x3f\"; ld.global.b64 %d4, [%d1]; shr.u64 %d4, %d4, 16; "
        "cvt.u32.u64 %r1, %d4; st.global.b32 [%d2], %r1;";
    EXPECT_THAT(run(kernel(wide), {0x12345678, 0x9abcdef0}).out, ElementsAre(0xdef01234u));
}

// Without all of it there, the rest of a register is not defined.
TEST(UsedBytes, WhatIsNotUsedIsNotDefined) {
    const std::string load =
        ".pragma \"used_bytes_mask 0xfff\"; ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%d1];\n";
    const std::vector<u32> three = {1, 2, 3};
    EXPECT_EQ(run(kernel(load + "st.global.b32 [%d2], %r3;"), three).error, "");
    EXPECT_THAT(
        run(kernel(load + "cvt.u64.u32 %d5, %r4; add.u64 %d2, %d2, %d5; st.global.b32 [%d2], %r3;"), three)
            .error,
        HasSubstr("nothing wrote"));
}

// The finding is of the memory where nothing wrote what is used.
TEST(UsedBytes, ThatNothingWrote) {
    for (const char* words : {"1", "2"})
        EXPECT_THAT(
            run(kernel(".pragma \"used_bytes_mask 0xf\"; ld.shared.v2.b32 {%r9, %r1}, [s]; st.global.b32 "
                       "[%d2], %r9;",
                       ".shared .align 8 .b32 s[" + std::string(words) + "];"),
                {0})
                .error,
            HasSubstr("memory that nothing wrote: shared memory at 0x0"));
}

TEST(UsedBytes, InDynamicSharedMemory) {
    const std::string text = kernel(
        "mov.u32 %r8, s; shl.b32 %r9, %r0, 2; add.u32 %r9, %r9, %r8; setp.lt.u32 %p1, %r0, 7;\n"
        "@%p1 st.shared.b32 [%r9], %r0; bar.sync 0;\n"
        ".pragma \"used_bytes_mask 0xfff\"; ld.shared.v4.b32 {%r1, %r2, %r3, %r4}, [%r8+16];\n"
        "mad.lo.u32 %r1, %r2, %r3, %r1; st.global.b32 [%d2], %r1;",
        ".extern .shared .align 16 .b8 s[];");
    const Outcome outcome = run(text, {0}, 32, 28);
    EXPECT_EQ(outcome.error, "");
    EXPECT_THAT(outcome.out, testing::Each(4 + 5 * 6));
    EXPECT_THAT(run(text, {0}, 32, 24).error, HasSubstr("out of bounds"));
}

// Warp 1 writes the fourth word, while warp 0 reads the three before; and one of the three.
TEST(UsedBytes, RaceWithWritesOfTheirs) {
    const auto of = [](const std::string& mask, unsigned written) {
        return kernel(
            "mov.u32 %r8, s; setp.lt.u32 %p1, %r0, 32; @%p1 bra READ;\n"
            "st.shared.b32 [%r8+" +
                std::to_string(4 * written) +
                "], %r0; bra END;\n"
                "READ: .pragma \"used_bytes_mask " +
                mask + "\"; ld.shared.v4.b32 {%r1, %r2, %r3, %r4}, [%r8];\nEND:",
            ".shared .align 16 .b32 s[4];");
    };
    EmulatorOptions options;
    options.checks = {EmulatorCheck::races};
    const auto error_of = [&](const std::string& mask, unsigned written) {
        return run(of(mask, written), {0}, 33, 0, options).error;
    };
    EXPECT_EQ(error_of("0xfff", 3), "");
    EXPECT_EQ(error_of("0xf0ff", 2), "");
    EXPECT_EQ(error_of("0xfff0", 0), "");
    EXPECT_EQ(error_of("0", 1), "");
    EXPECT_THAT(error_of("0xffff", 3), HasSubstr("data race"));
    EXPECT_THAT(error_of("0x8000", 3), HasSubstr("data race"));
    EXPECT_THAT(error_of("0xf0ff", 1), HasSubstr("data race"));
    EXPECT_THAT(error_of("0xf0ff", 3), HasSubstr("data race"));
}

}  // namespace
}  // namespace ptxgraft
