// Decoding: what an instruction becomes by its shape is what it becomes by itself; errors.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <set>

#include <fmt/format.h>

#include "isa/sample.hpp"
#include "isa/target.hpp"
#include "ptxgraft/isa.hpp"
#include "support/corpus.hpp"
#include "support/decoded.hpp"

namespace ptxgraft::emulator {
namespace {

std::string kernel(const std::string& body) {
    return with_header(
        ".global .align 16 .b8 gv[1024]; .shared .align 16 .b8 sv[1024]; .extern .shared .b8 dynamic[]; "
        ".const .b32 cv = 3;\n"
        ".func (.reg .b32 r) fn(.reg .b32 a) { mov.b32 r, a; ret; }\n"
        ".visible .entry k(.param .u64 pp, .param .u32 pn) {\n.reg .pred %p<9>; .reg .b16 %h<99>; .reg .b32 "
        "%r<99>, x, y; .reg .b64 %d<99>, xd; .reg .f32 %f<99>;"
        " .reg .f64 %g<9>; .reg .v4 .b32 v; .local .align 8 .b8 lv[64];\n" +
        body + "\nret;\n}\n");
}

TEST(EmulatorDecode, AnInstructionBecomesTheSameByItsShapeAsByItself) {
    const char* const bodies[] = {
        "add.s32 %r1, %r2, %r3; add.s32 %r4, %r4, %r4; add.s32 %r5, %r4, 7; add.s32 %r5, 7, %r4; add.s32 "
        "%r6, %r6, -8; add.s32 x, y, 0x10; add.s32 x, y, 010; add.s32 x, y, 0b11;",
        "add.u64 %d1, %d2, 1; add.u64 %d3, %d3, 18446744073709551615; add.u64 %d3, %d3, 4294967296U; add.s64 "
        "%d1, %d1, gv; add.s64 %d1, %d1, sv;",
        "@%p1 add.s32 %r1, %r2, %r3; @!%p2 add.s32 %r4, %r5, %r6; @%p1 selp.b32 %r1, 1, 0, %p2; @%p3 "
        "selp.b32 %r1, 1, 0, %p3; @%p4 setp.eq.s32 %p4, %r1, 0; @%p5 setp.eq.s32 %p4, %r1, 0;",
        "setp.lt.s32 %p1|%p2, %r1, %r2; setp.lt.and.s32 %p3|%p4, %r3, 5, %p1; setp.lt.and.s32 %p3|%p4, %r3, "
        "5, !%p1; setp.ge.or.f32 %p1, %f1, 0f3F800000, %p2; setp.ge.f32 %p1, %f1, 0;",
        "@%is_explicit_cluster mov.u32 %r1, 1; "
        "@!%is_explicit_cluster mov.u32 %r1, 2; @%is_explicit_cluster mov.u32 %r3, %r4; mov.u32 %r1, %tid.g;",
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %ntid.x; mov.u32 %r4, %laneid; mov.b32 {%h1, "
        "%h2}, %r1; mov.b64 %d1, {%r1, %r2}; mov.b64 {%r3, %r4}, %d1; mov.b64 {%r3, _}, %d1;",
        "mov.u64 %d1, gv; mov.u64 %d2, gv+8; mov.u64 %d3, sv; mov.u64 %d4, dynamic; mov.u64 %d5, lv; mov.u64 "
        "%d6, fn; mov.u32 %r1, sv; mov.u64 %d7, cv; mov.f32 %f1, 1.5; mov.f64 %g1, 0d3FF0000000000000;",
        "mov.u32 %r1, %clock; mov.u32 %r2, %clock; mov.u64 %d1, %clock64; mov.u32 %r3, %clock; mov.v4.b32 v, "
        "{%r1, %r2, %r3, %r4}; mov.b32 %r1, v.x; mov.b32 %r2, v.y; mov.b32 %r3, WARP_SZ; mov.b32 %r4, "
        "WARP_SZ;",
        "ld.param.u64 %d1, [pp]; ld.param.u32 %r1, [pn]; ld.param.u32 %r2, [pp+4]; ld.global.f32 %f1, [%d1]; "
        "ld.global.f32 %f2, [%d1+4]; ld.global.f32 %f3, [%d2+-4]; ld.global.f32 %f4, [%d1+0x10];",
        "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%d1+16]; ld.global.v4.b32 {%r5, %r6, %r7, %r8}, [%d2]; "
        "st.global.v2.b32 [%d1], {%r1, 5}; st.global.v2.b32 [%d1+8], {%r3, 6}; st.global.v2.b32 [%d1], {1, "
        "6};",
        "ld.shared.b32 %r1, [sv]; ld.shared.b32 %r2, [sv+12]; ld.shared.b32 %r3, [%r1]; ld.shared.b32 %r4, "
        "[dynamic]; ld.shared.b32 %r5, [dynamic+8]; ld.local.b32 %r1, [lv+4]; st.local.b32 [lv], 9; ld.b32 "
        "%r1, [gv+4]; ld.const.b32 %r1, [cv];",
        "ld.global.b32 %r1, [16]; ld.global.u8 %r1, [%d1]; ld.global.s8 %r2, [%d1]; ld.global.s8 %d3, "
        "[%d1+1]; ld.volatile.global.b32 %r1, [%d1]; ld.global.nc.L1::no_allocate.b32 %r3, [%d2]; "
        "st.global.u8 [%d1], %r1;",
        "atom.global.add.u32 %r1, [%d1], 1; atom.global.add.u32 %r2, [%d1+4], %r3; atom.shared.cas.b32 %r1, "
        "[sv], 0, 1; red.global.add.f32 [%d1], 0f3F800000; red.global.add.f32 [%d1], %f1; "
        "atom.global.exch.b64 %d2, [gv], %d3;",
        "add.cc.u32 %r1, %r2, %r3; addc.cc.u32 %r4, %r5, %r6; addc.u32 %r1, %r2, 0; mad.lo.cc.u32 %r1, %r2, "
        "%r3, %r4; madc.hi.u32 %r1, %r2, 3, %r4; add.cc.u32 %r5, %r2, 9;",
        "cvt.u64.u32 %d1, %r1; cvt.rn.f32.s32 %f1, %r2; cvt.s16.s32 %h1, %r1; cvt.s16.s32 %r1, %r2; @%p1 "
        "cvt.s16.s32 %r3, %r4; cvta.to.global.u64 %d1, %d2; cvta.shared.u64 %d3, %d4; cvta.local.u64 %d1, "
        "lv; cvta.global.u64 %d5, gv;",
        "shfl.sync.bfly.b32 %r1, %r2, 16, 31, -1; shfl.sync.bfly.b32 %r3|%p1, %r4, 8, 31, -1; "
        "shfl.sync.idx.b32 %r3, %r4, %r5, 31, %r6; shfl.sync.idx.b32 %r7, %r4, 3, 31, %r5; @%p2 "
        "shfl.sync.idx.b32 %r3, "
        "%r4, %r5, 31, %r8; vote.sync.ballot.b32 %r1, %p1, %r2; vote.sync.ballot.b32 %r3, %p2, %r4; "
        "vote.sync.ballot.b32 %r1, %p1, -1; vote.sync.all.pred "
        "%p2, !%p3, -1; activemask.b32 %r1; activemask.b32 %r2;",
        "bar.sync 0; bar.sync 0; bar.sync 1, 64; bar.sync %r1; bar.red.popc.u32 %r1, 0, %p1; bar.warp.sync "
        "-1; bar.warp.sync %r1; barrier.sync 0; bra L; @%p1 bra L; @!%p2 bra.uni L; L: bra L;",
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2}, {%r3}, "
        "{%f5,%f6,%f7,%f8}; mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f9,%f2,%f3,%f4}, {%r7,%r2}, "
        "{%r3}, {%f9,%f2,%f3,%f4};"
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%r2,%r3,%r4}, [%r5]; "
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%r2,%r3,%r4}, [%r6+64]; "
        "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r1,%r2}, [sv];",
        "lop3.b32 %r1, %r2, %r3, %r4, 0x96; lop3.b32 %r1, %r2, %r3, %r4, 0xE8; prmt.b32 %r1, %r2, %r3, "
        "0x5410; bfe.u32 %r1, %r2, 8, 8; shf.l.wrap.b32 %r1, %r2, %r3, 7; fma.rn.f32 %f1, %f2, %f3, "
        "0fBF800000; fma.rn.f32 %f1, %f2, 2.0, %f3;",
        "{ .reg .b32 %r<5>, %p1; mov.b32 %r1, 1; mov.b32 %p1, %r1; { .reg .b64 %r1; mov.b64 %r1, 2; mov.b32 "
        "%r2, 3; } mov.b32 %r1, 4; } mov.b32 %r1, 5; selp.b32 %r1, %r2, %r3, %p1;",
        "{ .reg .b32 t; .param .b32 p0; mov.b32 t, 1; st.param.b32 [p0+0], t; ld.param.b32 %r1, [p0]; call "
        "(%r2), fn, (%r1); call (%r3), fn, (5); } mov.b32 %r04, %r4; mov.b32 %r4, %r004;",
    };
    for (const char* const body : bodies) expect_the_same(kernel(body));
}

// A module around lines of isa::sample_line(). PTX 8.3 and later have .b128.
std::string around(const std::string& lines, const std::string& header) {
    static const std::string declarations = [] {
        std::string all;
        for (const char* type : {"b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s8", "s16", "s32",
                                 "s64", "f16", "f16x2", "f32", "f64", "pred"})
            all += std::string(".reg .") + type + " " + type + "_<300>;\n";
        return all;
    }();
    const bool is_old = header.starts_with(".version 6.");
    return header +
           ".address_size 64\n"
           ".global .align 128 .b8 gv[1024];\n.shared .align 128 .b8 sv[1024];\n.global .texref "
           "tex_; .global .surfref surf_;\n"
           ".func (.reg .b32 r0) fn1 (.reg .b32 a0) { mov.b32 r0, a0; ret; }\n.entry k() {\nP: "
           ".callprototype (.reg .b32 _) _ (.reg .b32 _);\n" +
           declarations + (is_old ? "" : ".reg .b128 b128_<300>;\n") + lines + "ret;\n}\n";
}

// A version and a target that have a spelling of the table.
std::string header_of(const isa::Match& match) {
    struct Target {
        std::uint16_t version;
        Architecture architecture;
    };
    constexpr Target targets[] = {{isa::newest_version, {90, 'a'}},
                                  {isa::newest_version, {100, 'a'}},
                                  {isa::newest_version, {120, 'a'}},
                                  {isa::newest_version, {103, 'a'}},
                                  {63, {75, 0}},
                                  {60, {60, 0}},
                                  {isa::newest_version, {75, 0}}};
    for (const auto& [version, architecture] : targets) {
        if (!isa::is_available(match, version, architecture)) continue;
        return ".version " + isa::version_text(version) + "\n.target " + name(architecture) + "\n";
    }
    return {};
}

// Calls visit(spelling, header, operands) for every `step`-th spelling that some target has.
template <class Visit> std::size_t for_each_sample(std::size_t step, Visit visit) {
    std::size_t count = 0;
    for (const isa::Opcode& opcode : isa::table_opcodes) {
        for (const isa::Row& row : opcode.rows) {
            std::size_t spelling = 0;
            isa::for_each_spelling(row, [&](const isa::Match& match) {
                const std::size_t number = spelling++;  // each row's first is among them
                const std::string header = number % step == 0 ? header_of(match) : std::string();
                if (header.empty()) return;
                ++count;
                visit(match, header, isa::sample_operands(match, number % 2 == 0));
            });
        }
    }
    return count;
}

TEST(EmulatorDecode, EveryFormBecomesTheSameByItsShapeAsByItself) {
    const std::size_t forms = for_each_sample(
        7, [](const isa::Match& match, const std::string& header, const std::vector<std::string>& operands) {
            const std::string line = "{ " + isa::sample_line(canonical_name(match), operands) + " }\n";
            const std::string text = around(line + line, header);
            if (syntax::parse(text)) expect_the_same(text);
        });
    EXPECT_GT(forms, 1000u);
}

std::string name_of(const isa::Match& match, const std::vector<std::string_view>& modifiers) {
    const std::string_view opcode = match.row->opcode;
    std::string name(opcode.substr(0, opcode.find('.')));
    for (const std::string_view modifier : modifiers) name += modifier;
    return name;
}

// ptxas takes most modifiers in any order: what is left over of all orders is what verify takes.
TEST(EmulatorDecode, TheOrderOfModifiersDoesNotMatter) {
    std::mt19937 random(7);
    std::size_t shuffled = 0;
    for_each_sample(
        3, [&](const isa::Match& match, const std::string& header, const std::vector<std::string>& operands) {
            const auto written = canonical_modifiers(match);
            const std::string_view opcode = match.row->opcode;
            const auto first = static_cast<std::ptrdiff_t>(std::count(opcode.begin(), opcode.end(), '.'));
            auto modifiers = written;
            std::shuffle(modifiers.begin() + first, modifiers.end(), random);
            if (modifiers == written) return;
            const auto text_of = [&](const std::vector<std::string_view>& m) {
                return around("{ " + isa::sample_line(name_of(match, m), operands) + " }\n", header);
            };
            const std::string text = text_of(modifiers), canonical = text_of(written);
            const auto name = name_of(match, modifiers);
            const auto behind = std::span(modifiers);
            const auto found = isa::match_name(name.substr(0, name.find('.')), behind);
            if (found.matches.empty() || !syntax::parse(text) ||
                canonical_name(found.matches[0]) != canonical_name(match) ||
                !isa::verify(*syntax::parse(text)).empty())
                return;
            ++shuffled;
            const Decoded a(canonical), b(text);
            ASSERT_TRUE(a.program && b.program) << text.substr(text.find("\n{ "));
            ASSERT_EQ(a.program->failures.size(), b.program->failures.size())
                << text.substr(text.find("\n{ ")) << canonical_name(match);
            EXPECT_EQ(Comparison(*a.program, *b.program, text).difference(), "");
        });
    EXPECT_GT(shuffled, 1000u);
}

// A decoder asks for the modifiers that it knows, and isa has found that they go together: of an instruction
// with another one, it would make what it makes without. Whoever adds one to the table looks at the decoder,
// or names it among what the emulator lacks (function.cpp), and then counts it here.
TEST(EmulatorDecode, NoModifierOfADecodedInstructionIsNew) {
    std::set<std::pair<std::string_view, std::string_view>> modifiers;
    for (const isa::Opcode& opcode : isa::table_opcodes)
        for (const isa::Row& row : opcode.rows)
            for (const isa::Slot& slot : row.slots)
                for (const isa::WordId word : slot.members)
                    if (find_decoder(opcode.name) != nullptr)
                        modifiers.emplace(opcode.name, isa::table_words[word]);
    EXPECT_EQ(modifiers.size(), 1323u);
}

// An instruction with one thing wrong, or right in another way.
std::string mutant(const isa::Match& match, std::vector<std::string> operands, std::mt19937& random) {
    const auto pick = [&](std::size_t count) { return random() % count; };
    auto modifiers = canonical_modifiers(match);
    constexpr std::string_view others[] = {
        "u16_7",  "f32_7",    "b64_7", "pred_7",  "b128_7", "f16_7", "s32_7",  "5",
        "1.5",    "[b64_7]",  "_",     "gv",      "sv",     "-1",    "nobody", "{b32_1, b32_2}",
        "%tid.x", "%nothing", "300",   "!pred_1", "0x1p3"};
    switch (pick(8)) {
        case 0:
            if (!modifiers.empty())
                modifiers.erase(modifiers.begin() + static_cast<std::ptrdiff_t>(pick(modifiers.size())));
            break;
        case 1:
            if (!modifiers.empty())
                modifiers[pick(modifiers.size())] = isa::table_words[pick(isa::table_words.size())];
            break;
        case 2: modifiers.push_back(isa::table_words[pick(isa::table_words.size())]); break;
        case 3: modifiers.push_back(".of_mine"); break;
        case 4:
            if (!operands.empty())
                operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(pick(operands.size())));
            break;
        case 5:
            if (!operands.empty()) operands[pick(operands.size())] = others[pick(std::size(others))];
            break;
        case 6:
            if (operands.size() > 1) std::swap(operands[0], operands[1 + pick(operands.size() - 1)]);
            break;
        default: operands.push_back(std::string(others[pick(std::size(others))]));
    }
    return isa::sample_line(name_of(match, modifiers), operands);
}

// What verify refuses in an instruction is refused, and with the same words; all else is decoded, or kept as
// missing.
TEST(EmulatorDecode, MutantsThatVerifyRefusesAreRefused) {
    std::mt19937 random(11);
    std::size_t refused = 0, taken = 0;
    for_each_sample(5, [&](const isa::Match& match, const std::string& header,
                           const std::vector<std::string>& operands) {
        for (int round = 0; round < 3; ++round) {
            const std::string line = "{ " + mutant(match, operands, random) + " }\n";
            const std::string text = around(line, header);
            const auto tree = syntax::parse(text);
            if (!tree) continue;
            const auto findings = isa::verify(*tree);
            const Decoded decoded(text);
            ++(findings.empty() ? taken : refused);
            ASSERT_EQ(decoded.program.has_value(), findings.empty())
                << header << line
                << (findings.empty() ? describe(decoded.program.error(), text) : describe(findings[0], text));
            if (!findings.empty()) {
                EXPECT_EQ(decoded.program.error().code, findings[0].code) << line;
                EXPECT_EQ(decoded.program.error().span, findings[0].span) << line;
            }
        }
    });
    EXPECT_GT(refused, 5000u);
    EXPECT_GT(taken, 500u);
}

TEST(EmulatorDecode, ModulesOfTheCorpusBecomeTheSameByShapeAsByThemselves) {
    SKIP_WITHOUT_CORPUS;
    std::size_t loaded = 0;
    for (const std::filesystem::path& path : test::corpus_files()) {
        std::string text = test::read_file(path);
        SCOPED_TRACE(path);
        const auto tree = syntax::parse(text);
        if (!tree || tree->address_size() == 32) continue;
        expect_the_same(text);
        std::string crlf;
        for (const char c : text) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
        expect_the_same(crlf);
        ++loaded;
    }
    EXPECT_GT(loaded, 50u);
}

// A shape that one module taught means the same in another, with other functions, variables and scopes.
TEST(EmulatorDecode, ShapesGoFromModuleToModule) {
    const std::string modules[] = {
        kernel("mov.u64 %d1, %d2; mov.u64 %d1, gv; mov.u64 %d3, fn; ld.global.b32 %r1, [gv+4]; mov.u32 %r1, "
               "%tid.x; mov.u32 %r2, 5; bar.sync 1, 64; bar.sync 0;"),
        with_header(".func %tidy() { ret; }\n.entry k() { .reg .b64 %d<9>; mov.u64 %d1, %tidy; mov.u64 %d2, "
                    "%tidy; ret; }"),
        with_header(".global .b32 %tidy;\n.entry k() { .reg .b64 %d<9>; mov.u64 %d1, %tidy; mov.u64 %d2, "
                    "%tidy; ret; }"),
        with_header(
            ".global .b64 gap[100]; .global .b32 gv;\n.func f2(.param .b64 pp) { .reg .b64 %d<9>; .reg .b32 "
            "%r<9>; ld.param.u64 %d1, [pp]; ld.param.u64 %d2, [pp]; mov.u64 %d1, gv; ld.global.b32 %r1, "
            "[gv+4]; ret; }\n"
            ".entry k(.param .b32 a, .param .b64 pp) { .reg .b64 %d<9>; .reg .b32 %r<9>; ld.param.u64 %d1, "
            "[pp]; mov.u64 %d1, gv; mov.u32 %r1, %tid.x; bar.sync 0; bar.sync 1, 64; mov.u32 %r2, 5; ret; }"),
    };
    DecoderMemory kept;
    for (int round = 0; round < 3; ++round) {
        for (const std::string& text : modules) {
            const Decoded by_itself(text, never), by_shape(text, 1, &kept);
            ASSERT_TRUE(by_itself.program && by_shape.program);
            EXPECT_EQ(Comparison(*by_itself.program, *by_shape.program, text).difference(), "");
        }
    }
}

TEST(EmulatorDecode, ErrorsAreThoseOfTheFirstInstructionThatIsWrongWhateverWasSeenBefore) {
    const std::string_view bodies[] = {
        "add.f32 %f1, %f2, 0.0; add.f32 %f1, %f2, 0.0; add.f32 %f1, %f2, 1;",
        "add.s32 %r1, %r2, 1; add.s32 %r1, %r2, 1; add.s32 %r1, %q2, 1;",
        "add.s32 %r1, %r2, 1; add.s32 %r1, %r2, 1; add.s32 %f1, %r2, 1;",
        "bfe.u32 %r1, %r2, 1, 2; bfe.u32 %r1, %r2, 1, 2; bfe.u32 %r1, %r2, 1, 256;",
        "bra L; bra L; L: bra M;",
        "bra L; bra L; L: bra gv;",
        "mov.u32 %r1, 5; mov.u32 %r2, 5; mov.u32 %h1, 5;",
        "mov.u32 %r98, 5; mov.u32 %r98, 5; mov.u32 %r99, 5;",
        "ld.shared.b32 %r1, [sv]; ld.shared.b32 %r1, [sv]; ld.shared.b32 %r1, [gv];",
        "{ .reg .b32 t; mov.b32 t, 1; mov.b32 t, 1; } mov.b32 t, 1;",
        "mov.v4.b32 v, %tid; mov.v4.b32 %tid, v;",
        "@%p1 mov.b32 %r1, 1; @%p1 mov.b32 %r1, 1; @%p9 mov.b32 %r1, 1;",
        "@%p1 mov.b32 %r1, 1; @%p1 mov.b32 %r1, 1; @%r1 mov.b32 %r1, 1;",
        "@%p1 bra L; @%p1 bra L; { .reg .b8 t; @t bra L; } L:",
        "bra L; bra %clock; L: %clock: bra %clock;",
        "bra L; L: { bra xd; xd: bra xd; }",
        "mov.b32 %r1, %tid.x; mov.b32 %r1, %tid.x; { .reg .b32 %tid; mov.b32 %r1, %tid.x; }",
    };
    for (const std::string_view body : bodies) {
        const std::string text = kernel(std::string(body));
        const auto findings = isa::verify(*syntax::parse(text));
        ASSERT_EQ(findings.size(), 1u) << body;
        for (const std::uint32_t often : {1u, 2u, never}) {
            const Decoded decoded(text, often);
            ASSERT_FALSE(decoded.program) << body;
            EXPECT_EQ(decoded.program.error().code, findings[0].code) << body;
            EXPECT_EQ(decoded.program.error().span, findings[0].span) << body;
            EXPECT_EQ(*decoded.program.error().detail, *findings[0].detail) << body;
        }
    }
}

TEST(EmulatorDecode, ManyShapesAreForgottenAndLearnedAgain) {
    DecoderMemory kept;
    for (int module = 0; module < 5; ++module) {
        std::string body;
        for (int i = 0; i < 9000; ++i)
            body += "lop3.b32 %r1, %r2, %r3, %r4, " + std::to_string(i % 256) + "; add.u32 %r1, %r2, (" +
                    std::to_string(module * 9000 + i) + ");";
        const std::string text = kernel(body);
        const Decoded by_itself(text, never), by_shape(text, 1, &kept);
        ASSERT_TRUE(by_itself.program && by_shape.program);
        EXPECT_EQ(Comparison(*by_itself.program, *by_shape.program, text).difference(), "");
    }
}

// What was learned in a module of one version and target is not taken for one of another.
TEST(EmulatorDecode, ShapesAreThoseOfAVersionAndATarget) {
    DecoderMemory kept;
    int refused = 0;
    for (int round = 0; round < 2; ++round)
        for (int version = 50; version < 90; ++version)
            for (const int sm : {75, 80, 90}) {
                std::string text = kernel("redux.sync.add.s32 %r1, %r2, 0xffffffff; add.u32 %r3, %r1, %r2;");
                text.replace(text.find("9.0"), 3, fmt::format("{}.{}", version / 10, version % 10));
                text.replace(text.find("sm_90a"), 6, fmt::format("sm_{}", sm));
                const Decoded by_itself(text, never), by_shape(text, 1, &kept);
                EXPECT_EQ(by_itself.program.has_value(), by_shape.program.has_value()) << text;
                refused += by_itself.program ? 0 : 1;
            }
    EXPECT_GE(refused, 2 * 20);
    EXPECT_LE(refused, 2 * 100);
}

}  // namespace
}  // namespace ptxgraft::emulator
