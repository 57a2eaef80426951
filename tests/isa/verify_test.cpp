// verify on whole modules: what it finds, where, and that ptxas agrees.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "ptxgraft/isa.hpp"
#include "ptxgraft/link.hpp"
#include "support/ptxas_oracle.hpp"

namespace ptxgraft {
namespace {

using testing::HasSubstr;

struct Case {
    std::string name, expected, text;
    bool ptxas_agrees = true;
};

// The cases of tests/golden/verify/modules.txt; its head says how they are written.
std::vector<Case> cases() {
    std::ifstream file(PTXGRAFT_SOURCE_DIR "/tests/golden/verify/modules.txt");
    std::vector<Case> all;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("### ")) {
            const auto bar = line.rfind(" | ");
            Case c{line.substr(4, bar - 4), line.substr(bar + 3), {}};
            c.ptxas_agrees = !c.name.ends_with('!');
            all.push_back(c);
        } else if (!all.empty()) {
            all.back().text += line == "H" ? ".version 9.0\n.target sm_90a\n.address_size 64\n" : line + "\n";
        }
    }
    return all;
}

std::string place(const Error& error, std::string_view text) {
    if (!error.span.known()) return "0:0";
    const Position p = position(text, error.span.begin);
    return std::to_string(p.line) + ":" + std::to_string(p.column);
}

std::vector<Error> findings(const std::string& text, const isa::VerifyOptions& options = {}) {
    const auto module = syntax::parse(text);
    return module ? isa::verify(*module, options) : std::vector<Error>{module.error()};
}

std::string first_finding(const std::string& text) {
    const std::vector<Error> all = findings(text);
    return all.empty() ? "ok" : std::string(name(all.front().code)) + " " + place(all.front(), text);
}

TEST(Verify, FindsWhatIsWrongInModules) {
    const std::vector<Case> all = cases();
    ASSERT_GT(all.size(), 200u);
    for (const Case& c : all) EXPECT_EQ(first_finding(c.text), c.expected) << c.name << "\n" << c.text;
}

// ptxas from 13.5 on: the newest that the library knows. nvJitLink links, and so sees more than ptxas.
TEST(Verify, PtxasAgreesAboutModules) {
    if (const std::string reason = oracle::reason_to_skip(); !reason.empty()) GTEST_SKIP() << reason;
    for (const Case& c : cases()) {
        if (!c.ptxas_agrees) continue;
        const auto cubin = default_assembler().assemble(c.text, {.optimisation = 0});
        EXPECT_EQ(cubin.has_value(), c.expected == "ok")
            << c.name << "\n"
            << c.text << (cubin ? "" : describe(cubin.error(), c.text));
    }
}

TEST(Verify, ReportsEveryViolationInTheOrderOfTheText) {
    const std::string text =
        ".version 9.0\n.target sm_90a\n.address_size 64\n.entry k() {\n.reg .b32 a<4>;\nadd.u32 a0, a1, "
        "b;\nadd.f64 a0, a1, a2;\nfrob.u32 a0;\nbra L;\n}\n";
    const std::vector<Error> all = findings(text);
    ASSERT_EQ(all.size(), 4u);
    EXPECT_EQ(all[0].code, Errc::name_undeclared);
    EXPECT_EQ(place(all[0], text), "6:17");
    EXPECT_EQ(all[1].code, Errc::operand_type_wrong);
    EXPECT_EQ(all[2].code, Errc::opcode_unknown);
    EXPECT_EQ(place(all[2], text), "8:1");
    EXPECT_EQ(all[3].code, Errc::label_undefined);
}

TEST(Verify, MessagesSayWhatWouldBeRight) {
    struct Row {
        const char* line;
        const char* message;
    };
    for (const Row& row :
         {Row{"ad.u32 r0, r1, r2;", "did you mean add?"},
          Row{"add.sta.s32 r0, r1, r2;", "did you mean .sat?"}, Row{"add.sat.f64 d0, d1, d2;", "forms: add"},
          Row{"add r0, r1, r2;", "a modifier is missing"}, Row{"add.u32 r0, r1;", "form: add.type d, a, b"},
          Row{"add.u32 r0, f1, r2;", "'f1' is a register of .f32; expected a register of .u32 or a constant"},
          Row{"add.u32 r0, [r1], r2;", "expected"}, Row{"bar.sync 99;", "0 to 15"},
          Row{"ld.shared.u32 r0, [g];",
              "'g' is a variable in .global, but the instruction addresses .shared"},
          Row{"add.rn.rz.f32 f0, f1, f2;", "beside another modifier of its kind"},
          Row{"mov.u32 r0, {r1, r2};", "form: mov"}, Row{"ld.global.v2.u32 {r0, r1, r2}, [g];", "vector"},
          Row{"mbarrier.init.b64 [g], 1;", "mbarrier.init takes those of .shared"},
          Row{"sust.b.1d.b32.trap [g,\r\n\tr0, {r1}], {r2};", "'[g,   r0, {r1}]'"}}) {
        const std::string text =
            std::string(
                ".version 9.0\n.target sm_90a\n.address_size 64\n.global .b32 g[4];\n.entry k() {\n.reg .b32 "
                "r<4>; .reg .f32 f<4>; .reg .f64 d<4>;\n") +
            row.line + "\n}\n";
        const std::vector<Error> all = findings(text);
        ASSERT_EQ(all.size(), 1u) << row.line;
        EXPECT_THAT(message(all.front(), text), HasSubstr(row.message)) << row.line;
        EXPECT_EQ(message(all.front(), text).find('\n'), std::string::npos) << row.line;
    }
}

TEST(Verify, BlocksMayBeNestedAsDeepAsMemoryAllows) {
    constexpr std::size_t depth = 200000;
    std::string text = ".version 9.0\n.target sm_90a\n.address_size 64\n.entry k() {\n.reg .b32 a;\n";
    text.append(depth, '{').append("mov.b32 a, b;").append(depth, '}').append("\nmov.b32 c, a; }\n");
    const std::vector<Error> all = findings(text);
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(place(all[0], text), "6:" + std::to_string(depth + 12));
    EXPECT_EQ(place(all[1], text), "7:9");
}

TEST(Verify, VersionsAndTargets) {
    struct Row {
        const char *version, *target, *line;
        Errc code;
    };
    for (const Row& row : {Row{"7.0", "sm_80", "elect.sync r0|p0, -1;", Errc::target_not_able},
                           Row{"7.8", "sm_90", "elect.sync r0|p0, -1;", Errc::version_too_old},
                           Row{"8.0", "sm_90", "elect.sync r0|p0, -1;", Errc::ok},
                           Row{"8.0", "sm_90", "setmaxnreg.inc.sync.aligned.u32 40;", Errc::target_not_able},
                           Row{"8.0", "sm_90a", "setmaxnreg.inc.sync.aligned.u32 40;", Errc::ok},
                           Row{"9.0", "sm_80", "vote.ballot.b32 r0, p0;", Errc::form_removed},
                           Row{"6.0", "sm_70", "vote.ballot.b32 r0, p0;", Errc::ok},
                           Row{"9.0", "sm_89", "ld.global.b32 r0, [r1];", Errc::ok},
                           Row{"9.0", "sm_90", "ld.global.b32 r0, [r1];", Errc::operand_type_wrong},
                           Row{"9.0", "sm_90", "ld.shared.b32 r0, [r1];", Errc::ok},
                           Row{"9.0", "sm_90", "atom.add.u32 r0, [r1], 1;", Errc::operand_type_wrong},
                           Row{"9.0", "sm_89", "cvta.shared.u32 r0, r1;", Errc::ok},
                           Row{"9.0", "sm_90", "cvta.shared.u32 r0, r1;", Errc::operand_type_wrong}}) {
        const std::string text = std::string(".version ") + row.version + "\n.target " + row.target +
                                 "\n.address_size 64\n.entry k() {\n.reg .b32 r<4>; .reg .pred p<4>;\n" +
                                 row.line + "\n}\n";
        const std::vector<Error> all = findings(text);
        EXPECT_EQ(all.empty() ? Errc::ok : all.front().code, row.code)
            << row.version << " " << row.target << " " << row.line
            << (all.empty() ? "" : describe(all.front(), text));
    }
}

TEST(Verify, AnotherTargetAndTheManualsOrderOnRequest) {
    const std::string text =
        ".version 9.0\n.target sm_90a\n.address_size 64\n.entry k() {\n.reg .f32 f<4>;\nadd.ftz.rn.f32 f0, "
        "f1, f2;\nsetmaxnreg.inc.sync.aligned.u32 40;\n}\n";
    EXPECT_TRUE(findings(text).empty());
    const auto other = findings(text, {.target = "sm_100"});
    ASSERT_EQ(other.size(), 1u);
    EXPECT_EQ(other.front().code, Errc::target_not_able);
    const auto ordered = findings(text, {.target = {}, .manual_order = true});
    ASSERT_EQ(ordered.size(), 1u);
    EXPECT_EQ(ordered.front().code, Errc::modifier_out_of_order);
    EXPECT_THAT(message(ordered.front(), text), HasSubstr("add.rn.ftz.f32"));
    EXPECT_EQ(findings(text, {.target = "sm_999"}).front().code, Errc::target_unknown);
}

// What the corpus says of its files: those that ptxas 13.0 assembles.
bool assembles(const std::filesystem::path& file) {
    std::ifstream manifest(file.parent_path() / "MANIFEST.tsv");
    for (std::string line; std::getline(manifest, line);)
        if (line.starts_with(file.filename().string() + "\t")) return line.find("\tok") != std::string::npos;
    return false;
}

TEST(Verify, FindsNothingInWhatCompilersMake) {
    const std::filesystem::path corpus(PTXGRAFT_CORPUS_DIR);
    if (!std::filesystem::is_directory(corpus)) GTEST_SKIP() << "no corpus in " << corpus;
    for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
        if (entry.path().extension() != ".ptx") continue;
        std::ifstream file(entry.path(), std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        const auto module = syntax::parse(text);
        ASSERT_TRUE(module) << describe(module.error(), text, entry.path().string());
        for (const syntax::Statement& f : module->functions())
            for (const syntax::Statement& s : f.body_recursive())
                if (const auto i = s.instruction(); i && !isa::knows(*i))
                    ADD_FAILURE() << entry.path() << " has an unknown " << i->name;
        if (!assembles(entry.path())) continue;
        for (const Error& error : isa::verify(*module))
            ADD_FAILURE() << describe(error, text, entry.path().string());
    }
}

}  // namespace
}  // namespace ptxgraft
