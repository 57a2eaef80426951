// ptxgraft graft --candidates: a line for each result, in order, whatever the candidates are.
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "support/cli.hpp"

namespace ptxgraft::test {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

const std::string list = R"({"epilogue": "acc bias add.f32 -> acc"}
{"epilogue": "acc bogus add.f32 -> acc"}
{"epilogue": {"expr": "acc = acc * 2.0"}, "initial": {"program": "1.0 -> acc"}}
{"epilogue"
[1]
{"epilogue": "bias acc add.f32 -> acc"}
{"nowhere": ""}
{"epilogue": 7}
{"epilogue": {"stub": "missing.stub"}}
{"epilogue": "acc -> acc", "epilogue": "bias -> acc"}
{"epilogue": {"stub": "relu.stub"}}
{"epilogue": "acc bias add.f32 -> acc"}
{}
)";

TEST_F(Cli, CandidatesGiveALineEach) {
    write_file("list.jsonl", list);
    write_file("relu.stub", "acc 0.0 max.f32 -> acc\n");
    for (const std::string route : {"inline", "call", "link", "auto"}) {
        const Result result =
            ptxgraft({"graft", gemm, "--candidates", "list.jsonl", "--route", route, "--no-cache", "-o",
                      "out", "--report", "report.jsonl", "--jobs", "2"});
        ASSERT_EQ(result.status, 0) << result.err;
        const std::vector<Json> lines = json_lines(read_file("report.jsonl"));
        ASSERT_EQ(lines.size(), 13u);
        for (std::size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(lines[i]["index"], i);
        for (const std::size_t i : {0, 2, 5, 10, 11, 12}) {
            ASSERT_FALSE(lines[i].contains("error")) << lines[i];
            EXPECT_GT(lines[i]["registers"], 0);
            EXPECT_GT(lines[i]["code_bytes"], 0);
            EXPECT_EQ(lines[i]["file"], "out/" + std::to_string(i) + ".cubin");
            EXPECT_EQ(read_file(lines[i]["file"]).substr(1, 3), "ELF");
            for (const Json& choice : lines[i]["routes"]) {
                EXPECT_TRUE(route == "auto" || choice["route"] == route) << choice;
            }
        }
        EXPECT_EQ(lines[11]["cached"], true);
        EXPECT_EQ(read_file("out/11.cubin"), read_file("out/0.cubin"));
        EXPECT_EQ(lines[1]["in"], "program");
        EXPECT_EQ(lines[1]["line"], 1);
        EXPECT_EQ(lines[1]["column"], 5);
        EXPECT_EQ(lines[3]["in"], "list.jsonl");
        EXPECT_EQ(lines[3]["line"], 4);
        EXPECT_EQ(lines[3]["column"], 12);
        EXPECT_EQ(lines[4]["line"], 5);
        EXPECT_THAT(std::string(lines[6]["error"]), HasSubstr("initial, multiply_accumulate, epilogue"));
        EXPECT_THAT(std::string(lines[7]["error"]), HasSubstr("\"expr\""));
        EXPECT_THAT(std::string(lines[8]["error"]), HasSubstr("missing.stub"));
        EXPECT_EQ(lines[9]["code"], "site_filled_twice");
    }
}

// Each of a candidate's errors has a place that its author can see.
TEST_F(Cli, CandidatesErrorsHavePlaces) {
    write_file("broken.ptx", "// a stub\n\nmov.b32 _acc, _bias;\nmin.f32 _acc, _acc, _bias, _acc;\n");
    write_file("list.jsonl", R"({"epilogue": "acc bias add.f32 -> acc"}

{"initial": "1.0 -> acc", "epilogue": 5}
{"nowhere": "1.0 -> acc"}
{"epilogue": {"stub": "-"}}
{"epilogue": {"stub": "missing.ptx"}}
{"epilogue": {"stub": "broken.ptx"}}
)");
    const Result result = ptxgraft({"graft", gemm, "--candidates", "list.jsonl", "--no-cache"});
    ASSERT_EQ(result.status, 0) << result.err;
    const std::vector<Json> lines = json_lines(result.out);
    ASSERT_EQ(lines.size(), 7u);
    for (const auto& [index, column] : {std::pair{1, 1}, {2, 27}, {3, 2}, {4, 2}, {5, 2}}) {
        EXPECT_EQ(lines[index]["in"], "list.jsonl") << lines[index];
        EXPECT_EQ(lines[index]["line"], index + 1) << lines[index];
        EXPECT_EQ(lines[index]["column"], column) << lines[index];
    }
    EXPECT_EQ(lines[6]["code"], "assemble_failed");  // sm_75 has no minimum of three
    EXPECT_EQ(lines[6]["site"], "epilogue");
    EXPECT_EQ(lines[6]["stub_line"], 4);
}

TEST_F(Cli, CandidatesThatNothingCanBecomeOfFailAtOnce) {
    write_file("list.jsonl", "{\"epilogue\": \"acc bias add.f32 -> acc\"}\n");
    const std::vector<std::string> words{"graft", gemm, "--candidates", "list.jsonl", "--no-cache"};
    const auto with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), words.begin(), words.end());
        return ptxgraft(more);
    };
    EXPECT_EQ(with({"--report", "list.jsonl"}).status, 2);
    EXPECT_EQ(with({"--report", "./list.jsonl"}).status, 2);
    EXPECT_THAT(read_file("list.jsonl"), HasSubstr("epilogue"));
    EXPECT_EQ(with({"--route", "nowhere=call"}).status, 1);
    EXPECT_EQ(with({"-o", "one.cubin"}).status, 2);
    // Targets are looked at once; heads of modules may be written as anybody likes.
    write_file("free.ptx",
               "  .version 8.0 .target sm_80\r\n  .address_size 64\n.visible .entry k() { ret; }\n");
    write_file("none.jsonl", "{}\n");
    const std::vector<std::string> free{"graft",      "free.ptx",   "--candidates",
                                        "none.jsonl", "--no-cache", "--target"};
    for (const std::string target : {"sm_80", "sm_90", "sm_90a"}) {
        std::vector<std::string> words_of = free;
        words_of.push_back(target);
        const Result result = ptxgraft(words_of);
        EXPECT_EQ(result.status, 0) << target << result.err;
        EXPECT_FALSE(json_lines(result.out).at(0).contains("error")) << result.out;
    }
    EXPECT_EQ(ptxgraft({"template", "gemm/simt", "-o", "simt.ptx"}).status, 0);
    for (const auto& [target, status] : {std::pair{"sm_10", 1}, {"sm_90a", 0}}) {
        const Result result =
            ptxgraft({"graft", "simt.ptx", "--candidates", "list.jsonl", "--no-cache", "--target", target});
        EXPECT_EQ(result.status, status) << target << result.err;
    }
    EXPECT_EQ(with({"--limit", "code=1", "--limit", "code=2"}).status, 2);
    EXPECT_EQ(with({"--variants-per-module", "0"}).status, 2);
    EXPECT_EQ(with({"--assembler", "nvptxcompiler", "--timeout", "1000"}).status, 2);
    for (const std::vector<std::string>& only_of_many :
         {std::vector<std::string>{"--jobs", "2"}, {"--variants-per-module", "2"}}) {
        std::vector<std::string> one{"graft", gemm, "-o", "one.cubin"};
        one.insert(one.end(), only_of_many.begin(), only_of_many.end());
        EXPECT_EQ(ptxgraft(one).status, 2) << only_of_many[0];
    }
    EXPECT_EQ(ptxgraft({"graft", gemm, "-o", "one.ptx", "--limit", "registers=1"}).status, 2);
    // The lines say it, and so does the status.
    fs::create_directory("out");
    fs::create_directory("out/0.cubin");
    const Result unwritten = with({"-o", "out"});
    EXPECT_EQ(unwritten.status, 1);
    EXPECT_THAT(unwritten.out, HasSubstr("file_not_writable"));
}

std::string endless_stub() {
    std::string text;
    for (int i = 0; i < 40'000; ++i)
        text += "fma.rn.f32 _acc, _acc, _bias, _acc;\ndiv.rn.f32 _acc, _bias, _acc;\n";
    return text;
}

// A compile bomb is one candidate's error, whoever assembles in a process of its own.
TEST_F(Cli, CandidatesTimeoutHoldsForNamedAssemblersToo) {
    write_file("bomb.ptx", endless_stub());
    write_file("list.jsonl",
               "{\"epilogue\": {\"stub\": \"bomb.ptx\"}}\n{\"epilogue\": \"acc bias add.f32 -> acc\"}\n");
    const Result result = ptxgraft({"graft", gemm, "--candidates", "list.jsonl", "--no-cache", "--assembler",
                                    "workers:1", "--timeout", "3000"});
    ASSERT_EQ(result.status, 0) << result.err;
    const std::vector<Json> lines = json_lines(result.out);
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[0]["code"], "assembler_ended") << lines[0];
    EXPECT_THAT(std::string(lines[0]["error"]), HasSubstr("3000 ms"));
    EXPECT_FALSE(lines[1].contains("error")) << lines[1];
    std::vector<std::string> one = {
        "graft", gemm, "--stub", "epilogue=bomb.ptx", "-o", "one.cubin", "--no-cache", "--timeout", "100"};
    for (int named = 0; named < 2; ++named) {
        const Result late = ptxgraft(one);
        EXPECT_EQ(late.status, 1);
        EXPECT_THAT(late.err, HasSubstr("100 ms"));
        one.insert(one.end(), {"--assembler", "workers"});
    }
}

// A program that is asked to end takes its ptxas with it, and its folder.
TEST_F(Cli, GraftEndsItsPtxasWithItself) {
    write_file("ptxas",
               "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'Cuda compilation tools, release 13.0, "
               "V13.0.88'; exit; fi\necho $$ $PWD > " +
                   (fs::current_path() / "running").string() + "\nexec sleep 1000\n");
    fs::permissions("ptxas", fs::perms::owner_all);
    for (const auto& [signal, status] : {std::pair{SIGINT, 130}, {SIGTERM, 143}, {SIGHUP, 129}}) {
        fs::remove("running");
        const pid_t child = begin({"graft", gemm, "-o", "one.cubin", "--no-cache", "--assembler", "./ptxas"});
        std::string said;
        for (int i = 0; i < 1000 && !said.ends_with('\n'); ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            if (fs::exists("running")) said = read_file("running");
        }
        ASSERT_TRUE(said.ends_with('\n'));
        kill(child, signal);
        const Result result = result_of(child);
        EXPECT_EQ(result.status, status) << result.err;
        EXPECT_THAT(result.err, HasSubstr("stopped by "));
        std::istringstream in(said);
        pid_t theirs = 0;
        std::string folder;
        in >> theirs >> folder;
        EXPECT_EQ(kill(theirs, 0), -1);
        EXPECT_FALSE(fs::exists(folder)) << folder;
    }
}

TEST_F(Cli, CandidatesAreKeptBetweenRuns) {
    write_file("list.jsonl", list);
    write_file("relu.stub", "acc 0.0 max.f32 -> acc\n");
    const std::vector<std::string> words{"graft", gemm, "--candidates", "list.jsonl", "--route", "link"};
    const std::vector<Json> first = json_lines(ptxgraft(words).out), second = json_lines(ptxgraft(words).out);
    ASSERT_EQ(first.size(), second.size());
    EXPECT_EQ(first[0]["cached"], false);
    for (std::size_t i = 0; i < second.size(); ++i) {
        if (second[i].contains("error"))
            EXPECT_EQ(second[i], first[i]);
        else
            EXPECT_EQ(second[i]["cached"], true);
    }
}

// What computes the same is assembled once, in whichever language and order it is written.
TEST_F(Cli, CandidatesThatComputeTheSameAreOne) {
    write_file("list.jsonl", R"({"epilogue": {"expr": "p = acc * 2; q = bias * 3; acc = p + q"}}
{"epilogue": {"expr": "q = bias * 3; p = acc * 2; acc = p + q"}}
{"epilogue": {"expr": "p = acc * 2; q = bias * 3; acc = p - q"}}
{"epilogue": "bias 3.0 mul.rn.f32 acc 2.0 mul.rn.f32 swap.f32 add.rn.f32 -> acc"}
)");
    const Result result =
        ptxgraft({"graft", gemm, "--candidates", "list.jsonl", "--no-cache", "--jobs", "1"});
    ASSERT_EQ(result.status, 0) << result.err;
    const std::vector<Json> lines = json_lines(result.out);
    ASSERT_EQ(lines.size(), 4u);
    for (const auto& [line, cached] : {std::pair{0, false}, {1, true}, {2, false}, {3, true}}) {
        ASSERT_FALSE(lines[line].contains("error")) << lines[line];
        EXPECT_EQ(lines[line]["cached"], cached) << line;
    }
}

// What differs in constants alone is one machine code, and each line has what is to be written to its
// variable.
TEST_F(Cli, CandidatesWithConstantsAsDataShareMachineCode) {
    write_file("list.jsonl", R"({"epilogue": {"expr": "acc = acc * 2.0 + bias"}}
{"epilogue": {"expr": "acc = acc * 2.5 + bias"}}
{"epilogue": "acc 0.5 mul.f32 -> acc"}
{"epilogue": {"stub": "quarter.stub"}}
)");
    write_file("quarter.stub", "acc 0.25 mul.f32 -> acc\n");
    const std::vector<std::string> words{"graft",      gemm,          "--candidates", "list.jsonl",
                                         "--no-cache", "-o",          "out",          "--jobs",
                                         "1",          "--constants", "data"};
    const Result result = ptxgraft(words);
    ASSERT_EQ(result.status, 0) << result.err;
    const std::vector<Json> lines = json_lines(result.out);
    ASSERT_EQ(lines.size(), 4u);
    for (const auto& [line, bits] :
         {std::pair{0, "0x40000000"}, {1, "0x40200000"}, {2, "0x3f000000"}, {3, "0x3e800000"}}) {
        ASSERT_FALSE(lines[line].contains("error")) << lines[line];
        EXPECT_EQ(lines[line]["constants"][0]["site"], "epilogue");
        EXPECT_EQ(lines[line]["constants"][0]["values"], Json{bits});
        EXPECT_NE(read_file(lines[line]["file"]).find(std::string(lines[line]["constants"][0]["variable"])),
                  std::string::npos);
    }
    EXPECT_EQ(read_file("out/0.cubin"), read_file("out/1.cubin"));
    EXPECT_EQ(read_file("out/2.cubin"), read_file("out/3.cubin"));
    EXPECT_EQ(lines[1]["cached"], true);
    EXPECT_EQ(lines[3]["cached"], true);
    EXPECT_EQ(ptxgraft({"graft", gemm, "--constants", "elsewhere"}).status, 2);
    const Result one = ptxgraft({"graft", gemm, "--expr", "epilogue=acc = acc * 2.0 + bias", "--constants",
                                 "data", "-o", "one.cubin"});
    EXPECT_THAT(
        one.err,
        HasSubstr("constants of epilogue, 1 times 8 bytes, are to be written to ptxgraft_constants_"));
    EXPECT_EQ(read_file("one.cubin"), read_file("out/0.cubin"));
}

// Several to a module: one file for them, names of their own in it, and the figures of each alone.
TEST_F(Cli, CandidatesShareAModule) {
    std::string all;
    for (int i = 0; i < 9; ++i)
        all += "{\"epilogue\": {\"expr\": \"acc = acc + bias * " + std::to_string(i) + ".5\"}}\n";
    write_file("list.jsonl", all + "{\"epilogue\": \"bogus\"}\n");
    const std::vector<std::string> words{"graft",  gemm, "--candidates",          "list.jsonl", "-o", "out",
                                         "--jobs", "1",  "--variants-per-module", "4"};
    const Result result = ptxgraft(words);
    ASSERT_EQ(result.status, 0) << result.err;
    const std::vector<Json> lines = json_lines(result.out);
    ASSERT_EQ(lines.size(), 10u);
    std::set<std::string> files;
    for (std::size_t i = 0; i < 8; ++i) {
        ASSERT_FALSE(lines[i].contains("error")) << lines[i];
        files.insert(lines[i]["file"]);
        ASSERT_EQ(lines[i]["functions"].size(), 1u) << lines[i];
        const std::string name = lines[i]["functions"][0]["name"];
        EXPECT_EQ(name, "gemm" + std::string(lines[i]["suffix"]));
        EXPECT_NE(read_file(lines[i]["file"]).find(name), std::string::npos);
    }
    EXPECT_EQ(files.size(), 2u);
    EXPECT_FALSE(lines[8].contains("suffix"));  // it is alone
    EXPECT_EQ(lines[9]["code"], "stack_word_unknown");
    EXPECT_EQ(ptxgraft({"graft", gemm, "--candidates", "list.jsonl", "--variants-per-module", "0"}).status,
              2);
}

TEST_F(Cli, CandidatesOverALimitAreErrors) {
    write_file("list.jsonl", "{\"epilogue\": \"acc bias add.f32 -> acc\"}\n");
    for (const std::string limit : {"registers=8", "code=64"}) {
        const Result result =
            ptxgraft({"graft", gemm, "--candidates", "list.jsonl", "--limit", limit, "--no-cache"});
        ASSERT_EQ(result.status, 0) << result.err;
        EXPECT_EQ(json_lines(result.out).at(0)["code"], "assemble_limit_exceeded") << limit;
    }
    EXPECT_EQ(ptxgraft({"graft", gemm, "--limit", "spoons=1"}).status, 2);
    EXPECT_EQ(ptxgraft({"graft", gemm, "--limit", "registers=many", "-o", "x.cubin"}).status, 2);
}

// 20,000 instructions in each of 16 copies take the assembler much longer than a second.
TEST_F(Cli, ACompileBombIsOneCandidatesError) {
    std::string bomb = "acc";
    for (int i = 0; i < 20'000; ++i)
        bomb += " " + std::to_string(i) + ".5 " + (i % 2 ? "add.f32" : "mul.f32");
    write_file("list.jsonl", "{\"epilogue\": \"acc bias add.f32 -> acc\"}\n{\"epilogue\": \"" + bomb +
                                 " -> acc\"}\n{\"epilogue\": \"acc bias mul.f32 -> acc\"}\n");
    const Result result = ptxgraft(
        {"graft", gemm, "--candidates", "list.jsonl", "--no-cache", "--jobs", "2", "--timeout", "1500"});
    ASSERT_EQ(result.status, 0) << result.err;
    const std::vector<Json> lines = json_lines(result.out);
    ASSERT_EQ(lines.size(), 3u);
    EXPECT_FALSE(lines[0].contains("error"));
    EXPECT_EQ(lines[1]["code"], "assembler_ended") << lines[1];
    EXPECT_FALSE(lines[2].contains("error"));
}

TEST_F(Cli, CandidatesOfAWrongCommandLine) {
    write_file("list.jsonl", "{}\n");
    EXPECT_EQ(
        ptxgraft({"graft", gemm, "--candidates", "list.jsonl", "--program", "epilogue=acc -> acc"}).status,
        2);
    EXPECT_EQ(ptxgraft({"graft", gemm, "--candidates", "none.jsonl"}).status, 1);
    EXPECT_EQ(ptxgraft({"graft", gemm, "--candidates", "list.jsonl", "-o", "list.jsonl"}).status, 1);
    EXPECT_EQ(ptxgraft({"graft", gemm, "--candidates", "list.jsonl", "--report", "no/folder/r"}).status, 1);
    EXPECT_EQ(ptxgraft({"graft", gemm, "--report", "-"}).status, 2);
    const Result linked = ptxgraft({"graft", gemm, "--route", "link", "-o", "x.ptx"});
    EXPECT_EQ(linked.status, 2);
    EXPECT_THAT(linked.err, HasSubstr("machine code only"));
    write_file("empty.jsonl", "");
    const Result empty = ptxgraft({"graft", gemm, "--candidates", "empty.jsonl"});
    EXPECT_EQ(empty.status, 0);
    EXPECT_EQ(empty.out, "");
}

TEST_F(Cli, ExpressionsFillSites) {
    const Result expression = ptxgraft({"graft", gemm, "--expr", "epilogue=acc = acc + bias"});
    ASSERT_EQ(expression.status, 0) << expression.err;
    EXPECT_THAT(
        expression.out.size() > 1000 ? expression.out.substr(expression.out.find("SITE epilogue"), 400) : "",
        HasSubstr("PTXGRAFT_STUB\n\tadd.rn.f32 _acc, _acc, _bias;\n"));
    EXPECT_THAT(ptxgraft({"graft", gemm, "--expr", "epilogue=acc = nothing"}).err,
                HasSubstr("--expr epilogue:1:"));
    ASSERT_EQ(ptxgraft({"graft", gemm, "--expr", "epilogue=acc = acc + bias", "--route", "link", "-o",
                        "x.cubin", "--report", "r.json"})
                  .status,
              0);
    EXPECT_EQ(Json::parse(read_file("r.json"))["route"], "link");
}

}  // namespace
}  // namespace ptxgraft::test
