// The program itself, and the verbs sites, graft, roundtrip, verify, set and isa.

#include <nlohmann/json.hpp>
#include <sstream>

#include "ptxgraft/link.hpp"
#include "support/cli.hpp"

namespace ptxgraft::test {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// ------------------------------------------------------------------------------------------------- the
// program

TEST_F(Cli, HelpAndVersionSucceed) {
    for (const char* verb :
         {"compile", "sites", "stub", "set", "graft", "roundtrip", "verify", "isa", "run", "devices"}) {
        EXPECT_THAT(ptxgraft({"--help"}).out, HasSubstr(verb));
        const Result help = ptxgraft({verb, "--help"});
        EXPECT_EQ(help.status, 0) << verb;
        EXPECT_THAT(help.out, HasSubstr("--help")) << verb;
    }
    const Result version = ptxgraft({"--version"});
    EXPECT_EQ(version.status, 0);
    EXPECT_THAT(version.out, StartsWith("ptxgraft 0."));
    EXPECT_THAT(version.out, HasSubstr(default_assembler().version()));
    EXPECT_THAT(version.out, HasSubstr("nvjitlink " + nvjitlink()->version()));
}

TEST_F(Cli, WrongCommandLinesAreStatusTwo) {
    const std::vector<std::vector<std::string>> rows = {
        {},
        {"fill"},
        {"sites"},
        {"sites", "affine.ptx", "--jsn"},
        {"graft", "affine.ptx", "--stub", "epilogue"},
        {"graft", "affine.ptx", "--program", "=x"},
        {"graft", "affine.ptx", "--program", "epilogue=acc -> acc", "--program", "epilogue=acc -> acc"},
        {"stub", "acc -> acc"},
        {"stub", "acc -> acc", "--site", "affine.ptx"},
        {"stub", "acc -> acc", "--site", "affine.ptx:epilogue", "--signature", "mod f32 acc"},
        {"stub"},
        {"stub", "acc -> acc", "--expr", "acc = acc", "--signature", "mod f32 acc"},
        {"stub", "--expr", "acc = acc", "--set", "f32", "--signature", "mod f32 acc"},
        {"stub", "acc -> acc", "--set", "none", "--signature", "mod f32 acc"},
        {"stub", "acc -> acc", "--target", "sm_91", "--signature", "mod f32 acc"},
        {"stub", "acc -> acc", "--signature", "mod f32 acc", "--bits"},
        {"stub", "acc -> acc", "--signature", "mod f32 acc", "--strikt"},
        {"stub", "-inf -> acc", "-inf -> acc", "--signature", "mod f32 acc"},
        {"stub", "--random", "0"},
        {"stub", "--random", "-1"},
        {"stub", "acc -> acc", "--random", "1"},
        {"stub", "acc -> acc", "--seed", "1", "--signature", "mod f32 acc"},
        {"stub", "acc -> acc", "--signature", "mod f32 acc", "--evaluate"},
        {"stub", "acc -> acc", "--signature", "mod f32 acc", "--evaluate", "acc"},
        {"stub", "acc -> acc", "--signature", "mod f32 acc", "--evaluate", "acc="},
        {"stub", "acc -> acc", "--signature", "mod f32 acc", "--evaluate", "acc=1,,2"},
        {"stub", "acc -> acc", "--signature", "mod f32 acc", "--evaluate", "acc=x"},
        {"stub", "acc -> acc", "--signature", "mod f32 acc", "--evaluate", "acc=1u32"},
        {"stub", "acc -> acc", "--signature", "mod f32 acc", "--evaluate", "b=1"},
        {"stub", "acc -> acc", "--signature", "mod f32 acc", "--evaluate", "acc=1", "acc=2"},
        {"stub", "acc -> acc", "--signature", "mod f32 acc, in f32 b", "--evaluate", "acc=1,2", "b=2"},
        {"stub", "1.0 -> acc", "--signature", "out f32 acc", "--evaluate", "acc=1"},
        {"roundtrip"},
        {"verify"},
        {"verify", "affine.ptx", "--target"},
        {"isa"}};
    for (const auto& row : rows) {
        const Result result = ptxgraft(row);
        EXPECT_EQ(result.status, 2) << testing::PrintToString(row) << result.err;
        EXPECT_THAT(result.err, StartsWith("error: ")) << testing::PrintToString(row);
        EXPECT_EQ(result.out, "") << testing::PrintToString(row);
    }
}

TEST_F(Cli, FilesThatCannotBeReadOrWrittenAreErrorsThatNameThem) {
    fs::create_directory("folder");
    const std::vector<std::vector<std::string>> rows = {{"sites", "none.ptx"},
                                                        {"sites", "folder"},
                                                        {"roundtrip", "none.ptx"},
                                                        {"roundtrip", "folder"},
                                                        {"verify", "none.ptx"},
                                                        {"isa", "--missing", "none.ptx"},
                                                        {"compile", "none.cu"},
                                                        {"run", "none.ptx"},
                                                        {"stub", "none.stub", "--signature", "mod f32 acc"},
                                                        {"graft", "affine.ptx", "-o", "no/such/folder.ptx"}};
    for (const auto& row : rows) {
        const Result result = ptxgraft(row);
        EXPECT_EQ(result.status, 1) << testing::PrintToString(row);
        EXPECT_THAT(result.err, HasSubstr(row.back() == "mod f32 acc" ? row[1] : row.back()))
            << testing::PrintToString(row);
        EXPECT_THAT(result.err, HasSubstr("error: cannot ")) << testing::PrintToString(row);
    }
}

// -------------------------------------------------------------------------------------------------------
// sites

TEST_F(Cli, SitesPrintsATable) {
    const Result result = ptxgraft({"sites", "affine.ptx"});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.out, read_file(golden / "affine.sites"));
}

TEST_F(Cli, SitesPrintsJson) {
    const Result result = ptxgraft({"sites", "affine.ptx", "--json"});
    EXPECT_EQ(result.status, 0) << result.err;
    const auto json = nlohmann::json::parse(result.out);
    ASSERT_EQ(json["sites"].size(), 1u);
    const auto& site = json["sites"][0];
    EXPECT_EQ(site["name"], "epilogue");
    EXPECT_EQ(site["operands"][0]["name"], "acc");
    EXPECT_EQ(site["operands"][0]["direction"], "mod");
    EXPECT_EQ(site["operands"][1]["type"], "f32");
    EXPECT_EQ(site["policy"]["pure"], false);
    EXPECT_EQ(site["policy"]["allow"], nlohmann::json::array());
    EXPECT_EQ(site["copies"][0]["line"], 26);
    EXPECT_EQ(site["copies"][0]["function"], "affine");
}

TEST_F(Cli, SitesReadsStandardInput) {
    EXPECT_THAT(ptxgraft({"sites", "-"}, read_file("affine.ptx")).out, HasSubstr("epilogue"));
}

TEST_F(Cli, SitesReadsTheMarkersOfMmPtx) {
    write_file(
        "mm.ptx",
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n.reg .f32 %_x0, %_x1;\n"
        "// PTX_INJECT_START func\n// _x0 m f32 F32 v\n// _x1 i f32 F32 w\n// PTX_INJECT_END\nret;\n}\n");
    const Result result = ptxgraft({"sites", "mm.ptx"});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("func  1 copy\n    mod f32     v\n    in  f32     w\n"));
}

TEST_F(Cli, SitesOfABrokenModuleSaysWhere) {
    write_file("broken.ptx", ".version 8.0\n.target sm_80\n.visible .entry k()\n{\n  add.f32 %f1, %f2\n}\n");
    const Result result = ptxgraft({"sites", "broken.ptx"});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, testing::ContainsRegex("^broken\\.ptx:[56]:[0-9]+: error: "));
}

// ---------------------------------------------------------------------------------------------------
// graft

TEST_F(Cli, GraftWithoutStubsChangesNothing) {
    const Result result = ptxgraft({"graft", "affine.ptx"});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.out, read_file("affine.ptx"));
}

TEST_F(Cli, GraftReplacesTheDefaultStubAndNothingElse) {
    write_file("relu.stub", "signature: mod f32 acc\nacc 0.0 max.f32 -> acc\n");
    EXPECT_EQ(ptxgraft({"graft", "affine.ptx", "--stub", "epilogue=relu.stub", "-o", "out.ptx"}).status, 0);
    const std::string before = read_file("affine.ptx"), after = read_file("out.ptx");
    const std::size_t begin = before.find("// PTXGRAFT_STUB\n") + 17, end = before.find("\t// PTXGRAFT_END");
    EXPECT_EQ(after.substr(0, begin), before.substr(0, begin));
    EXPECT_THAT(after, EndsWith(before.substr(end)));
    EXPECT_THAT(after, HasSubstr("max.f32"));
    EXPECT_THAT(after, testing::Not(HasSubstr("add.f32 _acc, _acc, _bias;")));
}

TEST_F(Cli, GraftAssembles) {
    const Result result =
        ptxgraft({"graft", "affine.ptx", "--program", "epilogue=acc acc mul.f32 -> acc", "-o", "out.cubin"});
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.err, StartsWith("out.cubin: assembled by " + std::string(default_assembler().name()) +
                                       " " + default_assembler().version() + "\n"));
    EXPECT_THAT(result.err,
                testing::ContainsRegex("\nout.cubin: affine: [0-9]+ registers, [0-9]+ bytes of code, "
                                       "0 of shared memory, 0 of stack, 0 of spills\n"));
    EXPECT_THAT(read_file("out.cubin"), StartsWith("\x7f"
                                                   "ELF"));
}

TEST_F(Cli, GraftByRoutes) {
    const std::vector<std::string> graft = {"graft", "affine.ptx", "--program",
                                            "epilogue=acc acc mul.f32 -> acc"};
    const auto by = [&](std::vector<std::string> more) {
        more.insert(more.begin(), graft.begin(), graft.end());
        return ptxgraft(more);
    };
    const Result called = by({"--route", "call"});
    EXPECT_EQ(called.status, 0) << called.err;
    EXPECT_EQ(called.err, "epilogue: call (it is asked for)\n");
    EXPECT_THAT(called.out, HasSubstr(".func"));
    EXPECT_EQ(by({"--route", "inline", "--route", "epilogue=call"}).out, called.out);
    const Result chosen = by({"--route", "auto"});
    EXPECT_EQ(chosen.err, "epilogue: inline (there is one copy)\n");
    EXPECT_EQ(chosen.out, by({}).out);
    EXPECT_EQ(by({"--route", "patch"}).status, 2);
    EXPECT_EQ(by({"--route", "call", "--route", "inline"}).status, 2);
    EXPECT_EQ(by({"--route", "epilogue=call", "--route", "epilogue=call"}).status, 2);
    EXPECT_THAT(by({"--route", "patch"}).err, HasSubstr("auto, inline, call"));
    EXPECT_THAT(by({"--route", "prologue=call"}).err, HasSubstr("epilogue"));
}

TEST_F(Cli, GraftByAnAssembler) {
    const auto by = [&](const std::string& assembler) {
        return ptxgraft({"graft", "affine.ptx", "-o", "out.cubin", "--assembler", assembler});
    };
    EXPECT_THAT(by("nvjitlink").err, StartsWith("out.cubin: assembled by nvjitlink "));
    const std::string expected = by("default").err, cubin = read_file("out.cubin");
    EXPECT_EQ(by("workers:2").err, expected);
    EXPECT_TRUE(read_file("out.cubin") == cubin);
    EXPECT_THAT(by("workers:none").err, HasSubstr("workers:N"));
    EXPECT_THAT(by("/no/such/ptxas").err, HasSubstr("/no/such/ptxas"));
    EXPECT_EQ(by("/no/such/ptxas").status, 1);
}

// ptxas crashes of a setp with a guard that throws its first result away, and verify refuses it.
TEST_F(Cli, GraftOutlivesTheAssembler) {
    write_file(
        "crash.ptx",
        ".version 9.0\n.target sm_90\n.address_size 64\n.entry k(.param .u64 p) {\n.reg .b32 r<4>; .reg "
        ".pred q<4>; .reg .b64 d;\nld.param.u64 d, [p];\n@q1 setp.eq.s32 _|q2, r1, r2;\nselp.b32 r3, 1, "
        "2, q2;\nst.global.b32 [d], r3;\nret;\n}\n");
    const Result result = ptxgraft({"graft", "crash.ptx", "-o", "out.cubin", "--no-cache"});
    EXPECT_EQ(result.status, 1) << result.err;
    EXPECT_THAT(result.err, StartsWith("crash.ptx:7:17: error: "));  // as verify says
    EXPECT_THAT(result.err, HasSubstr("Segmentation fault"));
    EXPECT_FALSE(fs::exists("out.cubin"));
}

TEST_F(Cli, GraftNamesTheSitesThatThereAre) {
    const Result result =
        ptxgraft({"graft", "affine.ptx", "--program", "prologue=acc -> acc", "-o", "out.ptx"});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, HasSubstr("epilogue"));
    EXPECT_FALSE(fs::exists("out.ptx"));
}

TEST_F(Cli, GraftDescribesWhatTheAssemblerRefuses) {
    std::string ptx = read_file("affine.ptx");
    ptx.replace(ptx.find("mov.u32 %r2, %ctaid.x"), 7, "mov.f32");
    write_file("refused.ptx", ptx);
    const Result result = ptxgraft({"graft", "refused.ptx", "-o", "out.cubin"});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, StartsWith("refused.ptx:16:"));
    EXPECT_FALSE(fs::exists("out.cubin"));
}

// ---------------------------------------------------------------------------------------------------
// roundtrip

TEST_F(Cli, RoundtripCountsAndFails) {
    const Result good = ptxgraft({"roundtrip", "affine.ptx", "affine.ptx"});
    EXPECT_EQ(good.status, 0) << good.err;
    EXPECT_THAT(good.out, testing::MatchesRegex("2 files, 2 identical, [0-9]+\\.[0-9] MB/s\n"));
    write_file("broken.ptx", ".version 8.0\n.visible .entry k() {\n");
    const Result bad = ptxgraft({"roundtrip", "affine.ptx", "broken.ptx"});
    EXPECT_EQ(bad.status, 1);
    EXPECT_THAT(bad.out, StartsWith("2 files, 1 identical, "));
    EXPECT_THAT(bad.err, testing::ContainsRegex("^broken\\.ptx:[0-9]+:[0-9]+: error: "));
}

// ------------------------------------------------------------------------------------------------------
// verify, isa

constexpr const char* wrong_ptx =
    ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {\n.reg .b32 a<4>;\nadd.u32 a0, a1, "
    "b;\nadd.bogus.u32 a0, a1, a2;\n}\n";

TEST_F(Cli, VerifyPrintsALineAFinding) {
    write_file("wrong.ptx", wrong_ptx);
    const Result good = ptxgraft({"verify", "affine.ptx", "affine.ptx"});
    EXPECT_EQ(good.status, 0) << good.out << good.err;
    EXPECT_EQ(good.out, "affine.ptx: ok\naffine.ptx: ok\n");
    const Result bad = ptxgraft({"verify", "wrong.ptx", "affine.ptx"});
    EXPECT_EQ(bad.status, 1);
    EXPECT_THAT(bad.out, StartsWith("wrong.ptx:6:17: error: 'b' is not declared\nwrong.ptx:7:4: error: "
                                    "unknown modifier '.bogus' for add"));
    EXPECT_THAT(bad.out, EndsWith("\naffine.ptx: ok\n"));
    EXPECT_EQ(bad.err, "");
    write_file("broken.ptx",
               ".version 8.0\n.target sm_90\n.entry k() {\nadd.u32 a b;\nret\n}\n.entry l() { frob; }\n");
    const Result broken = ptxgraft({"verify", "none.ptx", "broken.ptx"});
    EXPECT_EQ(broken.status, 1);
    EXPECT_THAT(broken.err, HasSubstr("cannot open none.ptx"));
    EXPECT_THAT(broken.out, testing::AllOf(HasSubstr("broken.ptx:4:"), HasSubstr("broken.ptx:5:"),
                                           HasSubstr("broken.ptx:7:14: error: unknown opcode 'frob'")));
    const Result piped = ptxgraft({"verify", "-"}, wrong_ptx);
    EXPECT_THAT(piped.out, StartsWith("<stdin>:6:17: error: "));
}

TEST_F(Cli, VerifyGivesJsonAndTakesATarget) {
    write_file("wrong.ptx", wrong_ptx);
    const auto rows = nlohmann::json::parse(ptxgraft({"verify", "--json", "wrong.ptx"}).out);
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0]["file"], "wrong.ptx");
    EXPECT_EQ(rows[0]["line"], 6);
    EXPECT_EQ(rows[0]["column"], 17);
    EXPECT_EQ(rows[0]["code"], "name_undeclared");
    EXPECT_EQ(rows[1]["code"], "modifier_unknown");
    EXPECT_EQ(nlohmann::json::parse(ptxgraft({"verify", "--json", "affine.ptx"}).out),
              nlohmann::json::array());
    write_file("elect.ptx",
               ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {\n.reg .b32 a; .reg .pred "
               "p;\nelect.sync a|p, -1;\n}\n");
    EXPECT_EQ(ptxgraft({"verify", "elect.ptx"}).status, 0);
    const Result older = ptxgraft({"verify", "--target", "sm_80", "elect.ptx"});
    EXPECT_EQ(older.status, 1);
    EXPECT_THAT(older.out, HasSubstr("elect.sync needs sm_90; the target is sm_80"));
}

TEST_F(Cli, TargetsAreArchitecturesThatThereAre) {
    const std::vector<std::vector<std::string>> verbs = {
        {"verify", "affine.ptx"}, {"compile", "affine.cu"},
        {"sites", "affine.ptx"},  {"graft", "affine.ptx"},
        {"run", "affine.ptx"},    {"stub", "acc -> acc", "--signature", "mod f32 acc"}};
    for (std::vector<std::string> words : verbs) {
        words.insert(words.end(), {"--target", "sm_91"});
        const Result result = ptxgraft(words);
        EXPECT_EQ(result.status, 2) << words[0];
        EXPECT_THAT(result.err, AllOf(HasSubstr("--target: unknown target 'sm_91'; architectures are "),
                                      HasSubstr("sm_90, sm_100")))
            << words[0];
    }
}

TEST_F(Cli, SetsAreListedAndPrinted) {
    const Result names = ptxgraft({"set"});
    EXPECT_EQ(names.status, 0);
    EXPECT_EQ(names.out, "expression\nf32\nfull\nhalf\ninteger\nmath\nmemory\nstandard\nwarp\n");
    const Result f32 = ptxgraft({"set", "f32"});
    EXPECT_EQ(f32.status, 0);
    EXPECT_THAT(f32.out, StartsWith("add.u32\n"));
    EXPECT_THAT(f32.out, HasSubstr("\nfma.rn.ftz.f32\n"));
    EXPECT_THAT(f32.out, HasSubstr("\nf16_to_f32 = cvt.f32.f16\n"));
    write_file("f32.set", f32.out);
    EXPECT_EQ(ptxgraft({"set", "f32.set"}).out, f32.out);
    EXPECT_EQ(ptxgraft({"set", "-"},
                       "type philox u32\nbump = add.u32 philox, u32 -> philox weight 2 # more\nmin.f32\n")
                  .out,
              "type philox u32\nbump = add.u32 philox, u32 -> philox weight 2\nmin.f32\n");
}

TEST_F(Cli, WrongSetsAreExplained) {
    write_file("wrong.set", "add.f32\nadd.f33\n");
    const Result wrong = ptxgraft({"set", "wrong.set"});
    EXPECT_EQ(wrong.status, 1);
    EXPECT_EQ(wrong.out, "");
    EXPECT_THAT(wrong.err, StartsWith("wrong.set:2:1: error: 'add.f33' is no form of PTX"));
    const Result none = ptxgraft({"set", "f33"});
    EXPECT_EQ(none.status, 1);
    EXPECT_THAT(none.err, StartsWith("error: f33 is no set and no file; the sets are expression, f32, "));
    EXPECT_EQ(ptxgraft({"set", "f32", "math"}).status, 2);
}

TEST_F(Cli, IsaPrintsRowsAndTheBacklog) {
    const Result rows = ptxgraft({"isa", "fma"});
    EXPECT_EQ(rows.status, 0);
    EXPECT_THAT(rows.out, HasSubstr("fma.rnd{.ftz}{.sat}.f32 d, a, b, c | 2.0 sm_20"));
    EXPECT_THAT(ptxgraft({"isa", "cp"}).out, HasSubstr("cp.async.bulk.commit_group"));
    EXPECT_EQ(ptxgraft({"isa", "--emulated", "elect"}).out,
              "      1       1  elect\n      1       1  in all: emulated, spellings of sm_75 to sm_90a; 0 "
              "more are out of scope\n");
    EXPECT_THAT(ptxgraft({"isa", "--emulated", "istypep"}).out,
                HasSubstr("istypep: out of scope (textures)\n                 lacks istypep.texref"));
    EXPECT_THAT(ptxgraft({"isa", "--emulated", "frobnicate"}).err, HasSubstr("no such opcode"));
    const Result none = ptxgraft({"isa", "frobnicate"});
    EXPECT_EQ(none.status, 1);
    EXPECT_EQ(none.err, "error: the table has no opcode frobnicate\n");
    write_file(
        "new.ptx",
        ".version 8.0\n.target sm_90\n.entry k() {\nfrob.u32 a; frob.u32 b; add.u99 c, d, e; ret;\n}\n");
    EXPECT_EQ(ptxgraft({"isa", "--missing", "new.ptx"}).out, "       2  frob.u32\n       1  add.u99\n");
    EXPECT_EQ(ptxgraft({"isa", "--missing", "affine.ptx"}).out, "");
}

}  // namespace
}  // namespace ptxgraft::test
