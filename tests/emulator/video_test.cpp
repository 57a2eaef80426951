// Video instructions with parts of registers, on the emulator, against the manual's pseudocode.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "ptxgraft/device.hpp"
#include "ptxgraft/isa.hpp"
#include "ptxgraft/link.hpp"
#include "support/kernel_text.hpp"
#include "support/video_reference.hpp"

namespace ptxgraft {
namespace {

using test::Video;
using test::VideoParts;
using u32 = std::uint32_t;
using testing::HasSubstr;

constexpr const char* opcodes[] = {"vadd",      "vsub",      "vabsdiff", "vmin",  "vmax",  "vshl",
                                   "vshr",      "vmad",      "vset",     "vadd2", "vsub2", "vavrg2",
                                   "vabsdiff2", "vmin2",     "vmax2",    "vset2", "vadd4", "vsub4",
                                   "vavrg4",    "vabsdiff4", "vmin4",    "vmax4", "vset4"};
constexpr std::size_t lanes = 32;

struct Case {
    std::string line;  // of PTX, `%r4` is what it makes
    std::string spelling;
    VideoParts parts;
    bool has_third;
};

class Cases {
  public:
    explicit Cases(unsigned seed) : random_(seed) {}
    std::size_t pick(std::size_t n) { return random_() % n; }

    Case make(const std::string& spelling, bool has_third) {
        const Video video(spelling);
        Case made{{}, spelling, {}, has_third};
        VideoParts& parts = made.parts;
        const std::string opcode = spelling.substr(0, spelling.find('.'));
        if (video.lanes() != 1) {
            parts.a = selector(video.lanes());
            parts.b = selector(video.lanes());
            parts.d = mask(video.lanes());
        } else {
            parts.a = part();
            parts.b = part();
            const bool merges = has_third && opcode != "vmad" && !video.has(".add") && !video.has(".min") &&
                                !video.has(".max");
            if (merges) parts.d = part();
        }
        std::string a = "%r1" + parts.a, b = "%r2" + parts.b, c = "%r3";
        if (opcode == "vmad" && !video.has(".po")) negate(a, b, c, parts);
        made.line = fmt::format("{} %r4{}, {}, {}{};", spelling, parts.d, a, b, has_third ? ", " + c : "");
        return made;
    }

  private:
    void negate(std::string& a, std::string& b, std::string& c, VideoParts& parts) {
        switch (pick(5)) {
            case 0:
                a = "-" + a;
                parts.negated_product = true;
                break;
            case 1:
                b = "-" + b;
                parts.negated_product = true;
                break;
            case 2:
                c = "-" + c;
                parts.negated_third = true;
                break;
            case 3:
                a = "-" + a;
                b = "-" + b;
                break;
            default: break;
        }
    }
    std::string part() {
        constexpr const char* all[] = {"", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"};
        return all[pick(std::size(all))];
    }
    std::string selector(int count) {
        if (pick(4) == 0) return "";
        std::string text = count == 2 ? ".h" : ".b";
        for (int i = 0; i < count; ++i)
            text += static_cast<char>('0' + pick(static_cast<std::size_t>(2 * count)));
        return text;
    }
    std::string mask(int count) {
        if (pick(4) == 0) return "";
        const std::size_t bits = 1 + pick((std::size_t{1} << count) - 1);
        std::string text = count == 2 ? ".h" : ".b";
        for (int i = count - 1; i >= 0; --i)
            if ((bits >> i & 1) != 0) text += static_cast<char>('0' + i);
        return text;
    }
    std::mt19937 random_;
};

std::vector<Case> cases_of(const char* opcode, Cases& random, int each) {
    std::vector<Case> all;
    for (const isa::Form& form : isa::forms(opcode))
        for (int i = 0; i < each; ++i) all.push_back(random.make(form.spelling, form.operands.size() == 4));
    return all;
}

// Loads three words a lane and stores the result of each case.
std::string video_kernel(const std::vector<Case>& cases) {
    std::string body =
        "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nmov.u32 %r1, %tid.x;\n"
        "mul.wide.u32 %rd3, %r1, 4;\nadd.u64 %rd1, %rd1, %rd3;\nadd.u64 %rd2, %rd2, %rd3;\n"
        "ld.global.u32 %r1, [%rd1];\nld.global.u32 %r2, [%rd1+128];\nld.global.u32 %r3, [%rd1+256];\n";
    for (std::size_t i = 0; i < cases.size(); ++i)
        body += fmt::format("{}\nst.global.u32 [%rd2+{}], %r4;\n", cases[i].line, i * lanes * 4);
    return test::kernel_text({.version = "8.0",
                              .target = "sm_80",
                              .parameters = {"u64 in", "u64 out"},
                              .registers = {"b32 %r<5>", "b64 %rd<6>"},
                              .body = body});
}

std::vector<u32> inputs(unsigned seed) {
    constexpr u32 special[] = {0,          1,          0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
                               0x00FF00FF, 0x80808080, 0x7F7F7F7F, 0x80007FFF, 0x7FFF8000,
                               0xFFFE0001, 32,         33,         31};
    std::mt19937 random(seed);
    std::vector<u32> values(3 * lanes);
    for (u32& v : values)
        v = random() % 3 == 0 ? special[random() % std::size(special)]
                              : static_cast<u32>(random()) >> (random() % 32);
    return values;
}

std::vector<u32> run(const std::string& ptx, const std::vector<u32>& in, std::size_t words) {
    const Device device = std::move(*Device::open("emulator:sm_80"));
    const auto function = device.load(ptx, "k");
    EXPECT_TRUE(function) << describe(function.error(), ptx);
    const auto from = device.upload(in), to = device.allocate(words * 4);
    const auto done = function->launch({.block = {lanes}}, std::array<Argument, 2>{*from, *to});
    EXPECT_TRUE(done) << describe(done.error());
    return done ? *to->download<u32>() : std::vector<u32>(words);
}

TEST(EmulatorVideo, EverySpellingWithEveryPart) {
    Cases random(1);
    std::size_t count = 0;
    for (const char* const opcode : opcodes) {
        const std::vector<Case> cases = cases_of(opcode, random, 12);
        const std::vector<u32> in = inputs(static_cast<unsigned>(count)),
                               results = run(video_kernel(cases), in, cases.size() * lanes);
        for (std::size_t i = 0; i < cases.size(); ++i) {
            const Video video(cases[i].spelling);
            for (std::size_t lane = 0; lane < lanes; ++lane) {
                const u32 a = in[lane], b = in[lanes + lane],
                          c = cases[i].has_third ? in[2 * lanes + lane] : 0;
                ASSERT_EQ(results[i * lanes + lane], video.run(a, b, c, cases[i].parts))
                    << cases[i].line << fmt::format(" {:#x} {:#x} {:#x}", a, b, c);
            }
        }
        count += cases.size();
    }
    EXPECT_GT(count, 10000u);
}

// What the cases are made of is PTX: verify takes all of it, and ptxas a part.
TEST(EmulatorVideo, TheCasesArePtx) {
    Cases random(2);
    std::vector<Case> some;
    for (const char* const opcode : opcodes) {
        const std::vector<Case> cases = cases_of(opcode, random, 2);
        const std::string text = video_kernel(cases);
        const auto module = syntax::parse(text);
        ASSERT_TRUE(module);
        const std::vector<Error> wrong = isa::verify(*module);
        EXPECT_TRUE(wrong.empty()) << describe(wrong.front(), text);
        for (std::size_t i = 0; i < 6; ++i) some.push_back(cases[random.pick(cases.size())]);
    }
    const auto cubin = default_assembler().assemble(video_kernel(some), {.target = "sm_80"});
    EXPECT_TRUE(cubin) << describe(cubin.error());
}

// The examples of the manual, with their values by hand.
TEST(EmulatorVideo, TheManualsExamples) {
    struct Row {
        const char* line;
        u32 a, b, c, expected;
    };
    const Row rows[] = {
        {"vadd.s32.u32.s32.sat %r4, %r1.b0, %r2.h0;", 0xFF, 0xFFFFFF00, 0, 0xFFFFFFFF},
        {"vsub.s32.s32.u32.sat %r4, %r1.h1, %r2.h1;", 0x80000000, 0xFFFF0000, 0, 0xFFFE8001},
        {"vabsdiff.s32.s32.s32.sat %r4.h0, %r1.b0, %r2.b2, %r3;", 0x7F, 0x800000, 0xAAAABBBB, 0xAAAA00FF},
        {"vmin.s32.s32.s32.sat.add %r4, %r1, %r2, %r3;", 5, 0xFFFFFFFE, 10, 8},
        {"vshl.s32.u32.u32.clamp %r4, %r1, %r2;", 3, 40, 0, 0},
        {"vshr.u32.u32.u32.wrap %r4, %r1, %r2.h1;", 0x80, 0x230000, 0, 0x10},
        {"vmad.s32.s32.u32.sat %r4, %r1, %r2, -%r3;", 0xFFFFFFFF, 7, 3, 0xFFFFFFF6},
        {"vmad.u32.u32.u32.shr15 %r4, %r1.h0, %r2.h0, %r3;", 0x8000, 0x8000, 0x8000, 0x8001},
        {"vset.s32.u32.lt %r4, %r1, %r2;", 0xFFFFFFFF, 0, 0, 1},
        {"vset.u32.u32.ne %r4, %r1, %r2.h1;", 7, 0x70000, 0, 0},
        {"vadd2.s32.s32.u32.sat %r4, %r1, %r2, %r3;", 0x7FFF0001, 0x00010002, 0, 0x7FFF0003},
        {"vsub2.s32.s32.s32.sat %r4.h0, %r1.h10, %r2.h32, %r3;", 0x00058000, 0x00010001, 0x12345678,
         0x12348000},
        {"vmin2.s32.u32.u32.add %r4.h10, %r1.h00, %r2.h22, %r3;", 0x00090003, 0x00090005, 100, 106},
        {"vset2.s32.u32.lt %r4, %r1, %r2, %r3;", 0xFFFF0001, 0x00000001, 0, 0x00010000},
        {"vadd4.s32.s32.u32.sat %r4, %r1, %r2, %r3;", 0x7F800102, 0x01010101, 0, 0x7F810203},
        {"vsub4.s32.s32.s32.sat %r4.b0, %r1.b3210, %r2.b7654, %r3;", 0x80, 1, 0x11223344, 0x11223380},
        {"vmin4.s32.u32.u32.add %r4.b10, %r1.b0000, %r2.b2222, %r3;", 0x01020309, 0x050607FF, 100, 104},
        {"vset4.u32.u32.ne.add %r4.b31, %r1, %r2.b0426, %r3;", 0x01020304, 0x05060708, 7, 9},
    };
    for (const Row& row : rows) {
        std::vector<u32> in(3 * lanes);
        for (std::size_t i = 0; i < lanes; ++i) {
            in[i] = row.a;
            in[lanes + i] = row.b;
            in[2 * lanes + i] = row.c;
        }
        EXPECT_EQ(run(video_kernel({{row.line, "", {}, true}}), in, lanes)[0], row.expected) << row.line;
    }
}

// A register that is put together part by part, and a lane that nobody wants: nothing undefined comes to
// memory.
TEST(EmulatorVideo, PartsThatNothingWroteStayApart) {
    const auto launch = [](const std::string& lines) {
        const std::string ptx =
            test::kernel_text({.version = "8.0",
                               .target = "sm_80",
                               .parameters = {"u64 in", "u64 out"},
                               .registers = {"b32 %r<9>", "b64 %rd1"},
                               .body = "ld.param.u64 %rd1, [out];\nmov.u32 %r1, 0x01020304;\n" + lines +
                                       "\nst.global.u32 [%rd1], %r5;"});
        const Device device = std::move(*Device::open("emulator:sm_80"));
        const auto function = device.load(ptx, "k");
        EXPECT_TRUE(function) << describe(function.error(), ptx);
        const auto to = device.allocate(4);
        const auto done = function->launch({}, std::array<Argument, 2>{*to, *to});
        return done ? fmt::format("{:#x}", to->download<u32>()->at(0)) : describe(done.error());
    };
    EXPECT_EQ(
        launch(
            "vadd.u32.u32.u32 %r5.h0, %r1.b0, %r1.b1, %r6;\nvadd.u32.u32.u32 %r5.h1, %r1.b2, %r1.b3, %r5;"),
        "0x30007");
    EXPECT_EQ(launch("vadd.u32.u32.u32 %r7.h0, %r1.b0, %r1.b1, %r6;\nvadd.u32.u32.u32 %r5, %r7.h0, %r1.b0;"),
              "0xb");
    EXPECT_THAT(
        launch("vadd.u32.u32.u32 %r7.h0, %r1.b0, %r1.b1, %r6;\nvadd.u32.u32.u32 %r5, %r7.h1, %r1.b0;"),
        HasSubstr("a register that nothing wrote: "));
    EXPECT_EQ(launch("vadd.u32.u32.u32 %r6.b0, %r1.b0, %r1.b1, %r6;\nvadd.u32.u32.u32 %r5, %r6.b0, %r6.b0;"),
              "0xe");
    EXPECT_EQ(
        launch("vadd2.u32.u32.u32 %r6.h0, %r1, %r1, %r6;\nvadd2.u32.u32.u32 %r5.h0, %r6.h00, %r6.h22, %r1;"),
        "0x1020c10");
    EXPECT_EQ(launch("mov.u32 %r7, 0;\nvadd.u32.u32.u32 %r6.b0, %r1.b0, %r1.b1, %r6;\nvadd4.u32.u32.u32.add "
                     "%r5.b0, %r6, %r1, %r7;"),
              "0xb");
    EXPECT_EQ(launch("vadd4.u32.u32.u32 %r5, %r1, %r1, %r6;"),
              "0x2040608");  // all lanes are the operation's: c is not looked at
}

TEST(EmulatorVideo, WhatIsNoPartIsAnErrorAsVerifySaysIt) {
    const std::pair<const char*, const char*> rows[] = {
        {"vadd.u32.u32.u32 %r4, %r1.b4, %r2;", "with .b0 to .b3, .h0 or .h1 is expected"},
        {"vadd.u32.u32.u32 %r4, %r1.h2, %r2;", "with .b0 to .b3, .h0 or .h1 is expected"},
        {"vadd.u32.u32.u32 %r4.h0, %r1, %r2;", "'%r4.h0' is not declared"},
        {"vadd.u32.u32.u32.add %r4.h0, %r1, %r2, %r3;", "'%r4.h0' is not declared"},
        {"vadd.u32.u32.u32 %r4, %r1, %r2, %r3.h0;", "'%r3.h0' is not declared"},
        {"vadd2.u32.u32.u32 %r4.h01, %r1, %r2, %r3;", "with .h0, .h1 or .h10 is expected"},
        {"vadd2.u32.u32.u32 %r4.b0, %r1, %r2, %r3;", "with .h0, .h1 or .h10 is expected"},
        {"vadd2.u32.u32.u32 %r4, %r1.h4, %r2, %r3;", "with .h00 to .h33 is expected"},
        {"vadd4.u32.u32.u32 %r4, %r1.b77770, %r2, %r3;", "with .b0000 to .b7777 is expected"},
        {"vadd4.u32.u32.u32.add %r4.b4, %r1, %r2, %r3;", "with .b0 to .b3210 is expected"},
        {"add.u32 %r4, %r1.b0, %r2;", "'%r1.b0' is not declared"},
        {"add.u32 %r4, -%r1, %r2;", "-%r1"},
        {"vadd.u32.u32.u32 %r4, -%r1, %r2;", "-%r1"},
        {"vmad.u32.u32.u32 %r4, -%r1, %r2, -%r3;", "-%r3"},
        {"vmad.u32.u32.u32.po %r4, -%r1, %r2, %r3;", "-%r1"},
        {"vmad.u32.u32.u32 -%r4, %r1, %r2, %r3;", "-%r4"},
    };
    const Device device = std::move(*Device::open("emulator:sm_80"));
    for (const auto& [line, says] : rows) {
        const std::string ptx = video_kernel({{line, "", {}, true}});
        const auto findings = isa::verify(*syntax::parse(ptx));
        ASSERT_EQ(findings.size(), 1u) << line;
        const auto function = device.load(ptx, "k");
        ASSERT_FALSE(function) << line;
        EXPECT_EQ(function.error().code, findings[0].code) << line;
        EXPECT_EQ(function.error().span, findings[0].span) << line;
        EXPECT_THAT(describe(function.error(), ptx), HasSubstr(says)) << line;
    }
}

}  // namespace
}  // namespace ptxgraft
