// Every verb that prints facts prints them as JSON too, for programs: all verbs that the program has are
// looked at, so that a new one has to take its place here.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "support/cli.hpp"
#include "support/paths.hpp"

namespace ptxgraft::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

// What a help text lists under "Subcommands:".
Words verbs_in(const std::string& help) {
    Words verbs;
    std::istringstream in(help);
    bool is_list = false;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("Subcommands:")) is_list = true;
        if (line.empty()) is_list = false;
        if (is_list && line.starts_with("  ") && line.size() > 2 && line[2] != ' ')
            verbs.push_back(line.substr(2, line.find(' ', 2) - 2));
    }
    return verbs;
}

// All verbs of the program, those of verbs among them: {"cache", "stats"}.
std::vector<Words> all_verbs(const Words& prefix = {}) {
    Words help = prefix;
    help.emplace_back("--help");
    std::vector<Words> all;
    for (const std::string& verb : verbs_in(ptxgraft(help).out)) {
        Words words = prefix;
        words.push_back(verb);
        const auto inner = all_verbs(words);
        if (inner.empty())
            all.push_back(words);
        else
            all.insert(all.end(), inner.begin(), inner.end());
    }
    return all;
}

// These write a text or a file that was asked for, and no facts about it.
const std::set<Words> without_facts{{"compile"},         {"canonical"},  {"search", "export"},
                                    {"search", "merge"}, {"completion"}, {"worker"}};

// A command of each of the others.
const std::map<Words, std::vector<Words>> commands{
    {{"sites"}, {{"affine.ptx"}}},
    {{"stub"},
     {{"x 2.0 mul.f32 -> y", "--signature", "in f32 x, out f32 y"},
      {"x 2.0 mul.f32 -> y", "--signature", "in f32 x, out f32 y", "--evaluate", "x=1,nan"},
      {"--signature", "in f32 x, out f32 y", "--random", "3"}}},
    {{"set"}, {{}, {"standard"}}},
    {{"graft"}, {{"affine.ptx", "-o", "out.ptx"}, {"affine.ptx", "-o", "out.cubin"}}},
    {{"templates"}, {{}}},
    {{"template"}, {{"gemm/simt"}}},
    {{"try"}, {{"elementwise/simple", "--dims", "n=5", "--device", "emulator"}}},
    {{"roundtrip"}, {{"affine.ptx"}}},
    {{"dump"}, {{"affine.ptx"}, {"affine.ptx", "--decoded"}}},
    {{"verify"}, {{"affine.ptx"}}},
    {{"isa"}, {{"add"}, {"--missing", "affine.ptx"}, {"--emulated", "add"}}},
    {{"run"},
     {{"affine.ptx", "--device", "emulator", "--entry", "affine", "--block", "4", "--profile", "--arg",
       "in=x.npy", "out=f32:4:y.npy", "f32=0.5", "u32=4"}}},
    {{"devices"}, {{}}},
    {{"doctor"}, {{}}},
    {{"search", "best"}, {{"found.sqlite"}}},
    {{"search", "report"}, {{"found.sqlite"}, {"found.sqlite", "--beside", "found.sqlite"}}},
    {{"cache", "stats"}, {{}}},
    {{"cache", "clear"}, {{}}},
    {{"cache", "verify"}, {{}}},
};

Words command_of(const Words& verb, const Words& rest) {
    Words words = verb;
    words.insert(words.end(), rest.begin(), rest.end());
    return words;
}

TEST_F(Cli, EveryVerbThatPrintsFactsPrintsJson) {
    const auto verbs = all_verbs();
    ASSERT_GE(verbs.size(), 15u);
    write_file("task.json",
               R"({"signature": "in u32 x, out u32 y", "set": ["not.b32"], "inputs": {"x": [0, 1]},
                                "reference": "y = ~x", "budget": {"candidates": 100}})");
    ASSERT_EQ(ptxgraft({"search", "task.json", "--archive", "found.sqlite", "--json"}).status, 0);
    for (const Words& verb : verbs) {
        const std::string name = testing::PrintToString(verb);
        const bool has_json = ptxgraft(command_of(verb, {"--help"})).out.find("--json") != std::string::npos;
        if (without_facts.contains(verb)) {
            EXPECT_FALSE(has_json) << name;
            continue;
        }
        EXPECT_TRUE(has_json) << name << " prints facts, or belongs to those that do not";
        const auto found = commands.find(verb);
        ASSERT_NE(found, commands.end()) << name << " has no command here";
        for (const Words& rest : found->second) {
            Words words = command_of(verb, rest);
            words.emplace_back("--json");
            const Result result = ptxgraft(words);
            EXPECT_EQ(result.status, 0) << testing::PrintToString(words) << result.err;
            EXPECT_TRUE(Json::accept(result.out)) << testing::PrintToString(words) << result.out;
        }
    }
}

TEST_F(Cli, VerbsOfTheTestAndOfTheReadme) {
    const auto all = all_verbs();
    const std::set<Words> verbs(all.begin(), all.end());
    for (const auto& [verb, rest] : commands)
        EXPECT_TRUE(verbs.contains(verb)) << "commands: " << testing::PrintToString(verb);
    for (const Words& verb : without_facts)
        EXPECT_TRUE(verbs.contains(verb)) << "without_facts: " << testing::PrintToString(verb);
    std::istringstream readme(read_file(source_path("src/cli/README.md")));
    std::string first_columns;
    for (std::string line; std::getline(readme, line);)
        if (line.starts_with("| `")) first_columns += line.substr(0, line.find('|', 1));
    for (const std::string& verb : verbs_in(ptxgraft({"--help"}).out))
        EXPECT_NE(first_columns.find("`" + verb + "`"), std::string::npos) << verb;
}

Json json_of(const Words& words, int status = 0) {
    const Result result = ptxgraft(words);
    EXPECT_EQ(result.status, status) << result.err;
    return Json::parse(result.out);
}

TEST_F(Cli, StubsAsJson) {
    const Json stub =
        json_of({"stub", "--expr", "y = x * 2", "--signature", "in f32 x, out f32 y", "--json"});
    EXPECT_EQ(stub["ptx"], "\tmul.rn.f32 _y, _x, 0f40000000;\n");
    EXPECT_EQ(stub["instructions"], 1);
    EXPECT_EQ(stub["effects"], Json::array());
    const Json evaluated = json_of({"stub", "--expr", "y = x / 2", "--signature", "in f32 x, out f32 y",
                                    "--evaluate", "x=1,inf,-3", "--json"});
    EXPECT_EQ(evaluated["outputs"][0],
              Json::parse(R"({"name": "y", "type": "f32", "values": [0.5, "inf", -1.5],
                              "bits": ["0x3f000000", "0x7f800000", "0xbfc00000"]})"));
    const Words random{"stub", "--signature", "in f32 x, out f32 y", "--random", "3", "--seed", "7"};
    const Json programs = json_of(command_of(random, {"--json"}));
    std::string lines;
    for (const Json& program : programs["programs"]) lines += program.get<std::string>() + "\n";
    EXPECT_EQ(lines, ptxgraft(random).out);
    EXPECT_EQ(programs["seed"], 7);
}

TEST_F(Cli, SetsAndTheTableAsJson) {
    const Json listed = json_of({"set", "--json"}), names = listed["sets"];
    ASSERT_FALSE(names.empty());
    for (const Json& name : names) {
        const Json set = json_of({"set", name, "--json"});
        EXPECT_EQ(set["text"], ptxgraft({"set", name}).out);
    }
    const Json standard = json_of({"set", "standard", "--json"});
    const auto fma = std::ranges::find_if(standard["instructions"],
                                          [](const Json& one) { return one["name"] == "fma.rn.f32"; });
    ASSERT_NE(fma, standard["instructions"].end());
    EXPECT_EQ((*fma)["inputs"], Json::parse(R"(["f32", "f32", "f32"])"));
    EXPECT_EQ((*fma)["outputs"], Json::parse(R"(["f32"])"));
    std::string rows;
    const Json table = json_of({"isa", "add", "sub", "--json"});
    for (const Json& row : table["add"]) rows += row.get<std::string>() + "\n";
    EXPECT_EQ(rows, ptxgraft({"isa", "add"}).out);
    const Json emulated = json_of({"isa", "--emulated", "add", "--json"});
    ASSERT_FALSE(emulated.empty());
    EXPECT_EQ(emulated[0]["emulated"], emulated[0]["spellings"]);
    EXPECT_EQ(ptxgraft({"isa", "no_such_opcode", "--json"}).status, 1);
    const Json forms = json_of({"isa", "--coverage", "elect", "--json"});
    ASSERT_EQ(forms.size(), 1u);
    EXPECT_EQ(forms[0]["opcode"], "elect");
    EXPECT_EQ(forms[0]["target"], "sm_90");
    EXPECT_EQ(forms[0]["emulated"], true);
}

TEST_F(Cli, GraftsAsJson) {
    const Json ptx = json_of(
        {"graft", gemm, "--expr", "epilogue=acc = acc + bias", "--route", "call", "-o", "out.ptx", "--json"});
    EXPECT_EQ(ptx["target"], "sm_90a");
    EXPECT_EQ(ptx["routes"][0]["route"], "call");
    const Words words{"graft", gemm, "--expr", "epilogue=acc = acc + bias", "-o", "out.cubin"};
    const Result result = ptxgraft(command_of(words, {"--json"}));
    EXPECT_EQ(result.err, "");
    const Json code = Json::parse(result.out);
    EXPECT_EQ(code["route"], "inline");
    EXPECT_GT(code["functions"][0]["registers"], 0);
    EXPECT_EQ(code["cubin_bytes"], read_file("out.cubin").size());
    EXPECT_EQ(ptxgraft({"graft", gemm, "--json"}).status, 2);  // two things for standard output
    EXPECT_EQ(ptxgraft({"graft", gemm, "-o", "x.ptx", "--json", "--report", "r"}).status, 2);
}

// Standard output has the document alone, whatever a kernel prints, and the status says what it always does.
TEST_F(Cli, RunsAsJson) {
    write_file("print.cu", "extern \"C\" __global__ void k(float* y) { y[0] = 2; printf(\"hello\\n\"); }");
    write_file("print.json",
               R"({"entry": "k", "buffers": {"y": {"type": "f32", "shape": [1], "expect": 3}},
                   "args": [{"buffer": "y"}]})");
    const Words words{"run", "print.cu", "--launch", "print.json", "--device", "emulator", "--json"};
    const Json wrong = json_of(words, 1);
    EXPECT_EQ(wrong["output"], "hello\n");
    EXPECT_EQ(wrong["target"], "sm_90a");
    EXPECT_EQ(wrong["launches"][0]["entry"], "k");
    EXPECT_EQ(wrong["differences"][0]["buffer"], "buffer \"y\"");
    EXPECT_THAT(wrong["differences"][0]["difference"].get<std::string>(), HasSubstr("2, not 3"));
    EXPECT_GT(wrong["warp_instructions"], 0);
    write_file(
        "races.ptx",
        ".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .u64 p) {\n.reg .b64 %a;\n"
        ".reg .b32 %r;\nld.param.u64 %a, [p];\nmov.u32 %r, %tid.x;\nst.global.u32 [%a], %r;\nret;\n}\n");
    const Json races = json_of({"run", "races.ptx", "--device", "emulator", "--block", "64", "--keep-going",
                                "5", "--arg", "out=u32:1:y.npy", "--json"},
                               1);
    EXPECT_EQ(races["findings"][0]["check"], "races");
    EXPECT_EQ(races["findings"][0]["line"], 9);
    const Json failed = json_of({"run", "races.ptx", "--device", "emulator", "--arg", "u64=0", "--json"}, 1);
    EXPECT_EQ(failed["failed"]["code"], "address_out_of_bounds");
    EXPECT_EQ(failed["failed"]["line"], 9);
    EXPECT_EQ(failed["failed"]["launch"], 0);
}

}  // namespace
}  // namespace ptxgraft::test
