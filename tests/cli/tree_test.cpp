// The verbs that show a module's tree, as a user meets them: canonical, dump.

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "support/cli.hpp"
#include "support/paths.hpp"

namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Json = nlohmann::json;
using ptxgraft::test::read_file, ptxgraft::test::write_file, ptxgraft::test::Result;
namespace fs = std::filesystem;

class CliTree : public testing::Test {
  protected:
    CliTree() : folder_(fs::path(testing::TempDir()) / ("cli_tree_" + std::to_string(getpid()))) {
        fs::create_directories(folder_);
        setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
        fs::current_path(folder_);
    }
    ~CliTree() override {
        fs::current_path("/");
        fs::remove_all(folder_);
    }
    static Result ptxgraft(const std::string& arguments, std::string_view input = {}) {
        write_file("stdin", input);
        const int status = std::system(
            (ptxgraft::test::build_path("ptxgraft ") + arguments + " < stdin > stdout 2> stderr").c_str());
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file("stdout"), read_file("stderr")};
    }

  private:
    fs::path folder_;
};

constexpr std::string_view module_text =
    "// head\n.version 9.0\n.target sm_90a\n.address_size 64\n.file 1 \"a.cu\"\n"
    ".visible .global .align 8 .b32 g[2] = {1, -2}, h;\n"
    ".visible .func (.param .b32 r) f(.param .align 8 .b8 a[12])\n{\n"
    "\t.reg .b32 %r<3>;\nL:\n\t@!%p1 ld.v2.global.b32 {%r1, _}, [%rd1+-4]; { ret; }\n}\n";

TEST_F(CliTree, CanonicalPrintsToStandardOutputOrAFile) {
    write_file("a.ptx", module_text);
    const std::string expected =
        ".version 9.0\n.target sm_90a\n.address_size 64\n.file 1 \"a.cu\"\n"
        ".visible .global .align 8 .b32 g[2] = {1, -2}, h;\n"
        ".visible .func (.param .b32 r) f(.param .align 8 .b8 a[12])\n{\n"
        "\t.reg .b32 %r<3>;\nL:\n\t@!%p1 ld.v2.global.b32 {%r1, _}, [%rd1+-4];\n\t{\n\t\tret;\n\t}\n}\n";
    const Result printed = ptxgraft("canonical a.ptx");
    EXPECT_EQ(printed.status, 0) << printed.err;
    EXPECT_EQ(printed.out, expected);
    EXPECT_EQ(ptxgraft("canonical - -o b.ptx", module_text).out, "");
    EXPECT_EQ(read_file("b.ptx"), expected);
}

TEST_F(CliTree, ErrorsSayWhere) {
    write_file("bad.ptx", ".version 9.0\n.func f { add.s32 a, b }\n");
    for (const char* verb : {"canonical", "dump"}) {
        const Result bad = ptxgraft(std::string(verb) + " bad.ptx");
        EXPECT_EQ(bad.status, 1);
        EXPECT_EQ(bad.out, "");
        EXPECT_THAT(bad.err, StartsWith("bad.ptx:2:23: error: expected "));
        EXPECT_EQ(ptxgraft(std::string(verb) + " absent.ptx").status, 1);
        EXPECT_THAT(ptxgraft(std::string(verb) + " absent.ptx").err, HasSubstr("absent.ptx"));
        EXPECT_EQ(ptxgraft(verb).status, 2);
        EXPECT_THAT(ptxgraft(std::string(verb) + " -", "x").err, StartsWith("<stdin>:1:1: error: "));
    }
    EXPECT_EQ(ptxgraft("canonical - -o absent/b.ptx").status, 1);
}

TEST_F(CliTree, DumpShowsEveryStatement) {
    write_file("a.ptx", module_text);
    const Result dumped = ptxgraft("dump a.ptx --json");
    ASSERT_EQ(dumped.status, 0) << dumped.err;
    const Json tree = Json::parse(dumped.out);
    EXPECT_EQ(tree["file"], "a.ptx");
    EXPECT_EQ(tree["version"], "9.0");
    EXPECT_EQ(tree["target"], "sm_90a");
    EXPECT_EQ(tree["address_size"], 64);
    const Json& statements = tree["statements"];
    ASSERT_EQ(statements.size(), 6u);
    EXPECT_EQ(statements[0],
              Json::parse(R"({"kind": "version", "line": 2, "column": 1, "tokens": [".version", "9.0"]})"));
    EXPECT_EQ(statements[3]["tokens"], Json::parse(R"([".file", "1", "\"a.cu\""])"));
    EXPECT_EQ(statements[4],
              Json::parse(R"({"kind": "variable", "line": 6, "column": 1, "name": "g", "linkage": ".visible",
        "space": ".global", "type": ".b32", "align": 8, "declarators": [
            {"name": "g", "extents": [2], "initialiser": ["{", "1", ",", "-", "2", "}"]}, {"name": "h"}]})"));
    const Json& f = statements[5];
    EXPECT_EQ(f["kind"], "function");
    EXPECT_EQ(f["name"], "f");
    EXPECT_EQ(f["entry"], false);
    EXPECT_EQ(f["definition"], true);
    EXPECT_EQ(f["parameters"],
              Json::parse(R"([{"name": "a", "space": ".param", "type": ".b8", "align": 8, "count": 12}])"));
    EXPECT_EQ(f["return_parameters"][0]["name"], "r");
    ASSERT_EQ(f["body"].size(), 4u);
    EXPECT_EQ(f["body"][0]["declarators"], Json::parse(R"([{"name": "%r", "range": 3}])"));
    EXPECT_EQ(f["body"][1], Json::parse(R"({"kind": "label", "line": 10, "column": 1, "name": "L"})"));
    EXPECT_EQ(f["body"][2], Json::parse(R"({"kind": "instruction", "line": 11, "column": 2,
        "guard": {"negated": true, "predicate": "%p1"}, "opcode": "ld", "modifiers": [".v2", ".global", ".b32"], "operands": [
            {"kind": "vector", "text": "{%r1, _}", "children": [{"kind": "identifier", "text": "%r1"}, {"kind": "sink", "text": "_"}]},
            {"kind": "address", "text": "[%rd1+-4]", "base": "%rd1", "offset": -4, "children": [
                {"kind": "sum", "text": "%rd1+-4", "base": "%rd1", "offset": -4}]}]})"));
    EXPECT_EQ(f["body"][3]["kind"], "block");
    EXPECT_EQ(f["body"][3]["body"][0]["opcode"], "ret");
}

TEST_F(CliTree, DumpIsJsonForAnyModule) {
    std::string nested;
    for (int i = 0; i < 300; ++i) nested += "{ ";
    for (int i = 0; i < 300; ++i) nested += "} ";
    const std::string modules[] = {"",
                                   "// \xFF only a comment",
                                   ".func f { } .func g;",
                                   ".file 1 \"\xFF\x01\t\\ \xC3\xA9 \n\"",
                                   ".func \xC3\xA9 { \xE9: bra \xE9; }",
                                   ".func f { " + nested + "}\r\n"};
    for (const std::string& text : modules) {
        const Result dumped = ptxgraft("dump - --json", text);
        EXPECT_EQ(dumped.status, 0) << dumped.err;
        EXPECT_TRUE(Json::accept(dumped.out)) << dumped.out;
    }
    EXPECT_EQ(Json::parse(ptxgraft("dump -", modules[4]).out)["statements"][0]["name"], "\xC3\xA9");
    EXPECT_EQ(Json::parse(ptxgraft("dump -").out)["statements"], Json::array());
}

TEST_F(CliTree, DumpShowsWhatTheEmulatorMakesOfEachInstruction) {
    const std::string text =
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
        ".reg .b64 %d<2>;\n.reg .f32 %f<3>;\n.reg .pred %p;\n"
        "ld.param.u64 %d1, [p];\nld.global.relaxed.gpu.f32 %f1, [%d1+4];\nfma.f32.rn %f2, %f1, %f1, 1.5;\n"
        "@%p st.global.f32 [%d1], %f2;\nret;\n}\n";
    const Result listed = ptxgraft("dump --decoded -", text);
    EXPECT_EQ(listed.status, 0) << listed.err;
    EXPECT_EQ(listed.out,
              "entry k: 6 operations, 576 bytes of registers for a warp, 0 of local memory for a thread\n"
              "9: ld.param.u64 %d1, [p];\n"
              "       0 memory  %d1  [parameter + 0], 1 x 8 bytes, weak\n"
              "10: ld.global.relaxed.gpu.f32 %f1, [%d1+4];\n"
              "       1 memory  %f1 <- %d1  [global + 4], 1 x 4 bytes, relaxed .cluster\n"
              "11: fma.f32.rn %f2, %f1, %f1, 1.5;\n"
              "       2 pure  %f2 <- %f1, %f1, 0x3fc00000  definedness: spreads\n"
              "12: @%p st.global.f32 [%d1], %f2;\n"
              "       3 memory  @%p  %d1, %f2  [global + 0], 1 x 4 bytes, weak\n"
              "13: ret;\n"
              "       4 other\n"
              "       5 other\n");
    const Result refused =
        ptxgraft("dump --decoded -", text.substr(0, text.find("ret;")) + "membar.mine;\n}\n");
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, testing::HasSubstr("13:7: error: unknown modifier '.mine' for membar"));
}

}  // namespace
