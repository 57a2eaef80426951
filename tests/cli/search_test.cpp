// The verb search.

#include <nlohmann/json.hpp>

#include "support/cli.hpp"

namespace ptxgraft::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Json = nlohmann::json;

constexpr std::string_view task = R"json({
  "signature": "in u32 x, out u32 y",
  "set": ["sub.u32", "and.b32", "or.b32", "not.b32"],
  "genes": 12,
  "inputs": {"x": {"words": 1, "count": 128}},
  "reference": "y = x & (x - 1u)",
  "options": {"block": 64},
  "budget": {"candidates": 20000}
}
)json";

TEST_F(Cli, SearchPrintsTheBest) {
    write_file("t.json", task);
    const Result result = ptxgraft({"search", "t.json"});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.out,
                AllOf(HasSubstr("# instructions 2, error 0: candidate"), HasSubstr("# ended by budget")));
    const auto events = json_lines(ptxgraft({"search", "t.json", "--json", "--jobs", "1"}).out);
    const Json& end = events.back();
    EXPECT_EQ(end["event"], "end");
    EXPECT_EQ(end["ledger"]["judged"], 20000);
    EXPECT_EQ(end["elites"][0]["cost"], 2.0);
}

TEST_F(Cli, SearchArchivesAreContinuedAndExported) {
    write_file("t.json", task);
    ASSERT_EQ(
        ptxgraft({"search", "t.json", "--archive", "a.sqlite", "--budget", "candidates=700", "--jobs", "2"})
            .status,
        0);
    const Result again = ptxgraft({"search", "t.json", "--archive", "a.sqlite"});
    EXPECT_EQ(again.status, 2);
    EXPECT_THAT(again.err, HasSubstr("a.sqlite exists; --resume goes on with it"));
    ASSERT_EQ(
        ptxgraft({"search", "t.json", "--archive", "a.sqlite", "--budget", "candidates=1300", "--resume"})
            .status,
        0);
    ASSERT_EQ(
        ptxgraft({"search", "t.json", "--archive", "b.sqlite", "--budget", "candidates=2e3", "--jobs", "1"})
            .status,
        0);
    const Result a = ptxgraft({"search", "export", "a.sqlite"}),
                 b = ptxgraft({"search", "export", "b.sqlite"});
    EXPECT_EQ(a.status, 0) << a.err;
    EXPECT_EQ(json_lines(a.out).size(), 2000u);
    EXPECT_EQ(a.out, b.out);
    const Result other = ptxgraft({"search", "t.json", "--archive", "a.sqlite", "--resume", "--seed", "7"});
    EXPECT_EQ(other.status, 1);
    EXPECT_THAT(other.err, HasSubstr("of another search"));
}

TEST_F(Cli, SearchEnumeratesProgramsOfNoInstruction) {
    write_file("t.json", task);
    const Result none = ptxgraft({"search", "t.json", "--enumerate", "0", "--budget", "candidates=0"});
    EXPECT_EQ(none.status, 0) << none.err;
    EXPECT_THAT(none.out, HasSubstr("no program of at most 0 instructions"));
    EXPECT_EQ(ptxgraft({"search", "t.json", "--enumerate", "1", "--archive", "a.sqlite"}).status, 2);
}

// A search that was killed while it tried the shortest programs has no archive yet.
TEST_F(Cli, SearchResumesWhatHasNoArchiveYet) {
    write_file("t.json", task);
    const auto search = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"search", "t.json", "--budget", "candidates=300", "--archive"});
        return ptxgraft(more);
    };
    const Result none = search({"a.sqlite", "--resume"});
    EXPECT_EQ(none.status, 2);
    EXPECT_THAT(none.err, HasSubstr("--resume wants --archive with a search that was begun"));
    write_file("a.sqlite.part", "");
    const Result begun = search({"a.sqlite", "--resume"});
    EXPECT_EQ(begun.status, 0) << begun.err;
    EXPECT_THAT(begun.err, HasSubstr("it begins anew, as is said now"));
    EXPECT_EQ(search({"b.sqlite"}).status, 0);
    EXPECT_EQ(ptxgraft({"search", "export", "a.sqlite"}).out, ptxgraft({"search", "export", "b.sqlite"}).out);
}

TEST_F(Cli, SearchResumesNoFileThatIsNoArchive) {
    write_file("t.json", task);
    for (const std::string bytes : {"", "x", "a letter to somebody"}) {
        write_file("a.sqlite", bytes);
        const Result resumed = ptxgraft({"search", "t.json", "--archive", "a.sqlite", "--resume"});
        EXPECT_EQ(resumed.status, 1);
        EXPECT_THAT(resumed.err, HasSubstr("not a usable archive: it has " + std::to_string(bytes.size()) +
                                           " bytes and is no archive of a search"));
        EXPECT_EQ(ptxgraft({"search", "t.json", "--archive", "a.sqlite"}).status, 2);
        EXPECT_EQ(read_file("a.sqlite"), bytes);
    }
}

TEST_F(Cli, SearchEndsByStagnationAndByWhatItMaySpend) {
    write_file("t.json", task);
    const auto stop_of = [&](std::vector<std::string> more) {
        std::vector<std::string> arguments = {"search", "t.json", "--json", "--jobs", "1"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Result result = ptxgraft(arguments);
        EXPECT_EQ(result.status, 0) << result.err;
        return json_lines(result.out).back();
    };
    const Json stagnant = stop_of({"--stagnation", "300"});
    EXPECT_EQ(stagnant["stop"], "stagnation");
    EXPECT_EQ(stagnant["ledger"]["without_gain"], 300);
    EXPECT_LT(stagnant["ledger"]["judged"], 20000);
    EXPECT_EQ(stop_of({"--budget", "assemblies=5,emulations=5,candidates=100"})["ledger"]["judged"], 100)
        << "there is no gate that assembles";
    for (const char* wrong : {"assemblies=1.5", "candidates=-1", "gpu_second=1", "emulations=x"})
        EXPECT_EQ(ptxgraft({"search", "t.json", "--budget", wrong}).status, 2) << wrong;
}

TEST_F(Cli, SearchExportsCsvAndJudgesAnew) {
    write_file("t.json", task);
    ASSERT_EQ(ptxgraft({"search", "t.json", "--archive", "a.sqlite", "--budget", "candidates=700"}).status,
              0);
    const Result table = ptxgraft({"search", "export", "a.sqlite", "--csv"});
    EXPECT_EQ(table.status, 0) << table.err;
    EXPECT_THAT(table.out,
                testing::StartsWith("index,island,operator,refine,parent,parent2,status,cost,"
                                    "low,high,axis instructions,axis error,site f,detail\r\n0,0,"));
    std::size_t records = 0;  // programs may have several lines
    for (std::size_t at = 0; (at = table.out.find("\r\n", at)) != std::string::npos; at += 2) ++records;
    EXPECT_EQ(records, 701u);
    std::string other(task);
    other.replace(other.find("\"genes\": 12"), 11, "\"genes\": 11");
    write_file("u.json", other);
    const Result refused = ptxgraft({"search", "u.json", "--archive", "a.sqlite", "--resume"});
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, AllOf(HasSubstr("its space is not this one"), HasSubstr("--reevaluate")));
    const Result anew = ptxgraft({"search", "u.json", "--archive", "b.sqlite", "--reevaluate", "a.sqlite",
                                  "--budget", "candidates=300"});
    EXPECT_EQ(anew.status, 0) << anew.err;
    EXPECT_THAT(anew.err, HasSubstr(" genomes of a.sqlite are judged anew"));
    EXPECT_THAT(anew.out, HasSubstr("# instructions 2, error 0"));
    EXPECT_EQ(ptxgraft({"search", "u.json", "--archive", "b.sqlite", "--resume", "--budget", "candidates=10"})
                  .status,
              0);
    for (const std::vector<std::string>& more :
         std::vector<std::vector<std::string>>{{}, {"--archive", "b.sqlite", "--resume"}}) {
        std::vector<std::string> arguments = {"search", "u.json", "--reevaluate", "a.sqlite"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        EXPECT_EQ(ptxgraft(arguments).status, 2);
    }
}

TEST_F(Cli, SearchBestIsAStubThatGraftTakes) {
    write_file("t.json", task);
    ASSERT_EQ(ptxgraft({"search", "t.json", "--archive", "a.sqlite"}).status, 0);
    const auto all = Json::parse(ptxgraft({"search", "best", "a.sqlite", "--json"}).out);
    ASSERT_FALSE(all.empty());
    std::string cell;
    for (const auto& bin : all[0]["cell"]) cell += (cell.empty() ? "" : ",") + bin.dump();
    const Result best = ptxgraft({"search", "best", "a.sqlite", "--cell", cell});
    EXPECT_EQ(best.status, 0) << best.err;
    write_file("best.ptx", best.out);
    const Result stub = ptxgraft({"stub", "best.ptx", "--signature", "in u32 x, out u32 y"});
    EXPECT_EQ(stub.status, 0) << stub.err;
    EXPECT_THAT(ptxgraft({"search", "best", "a.sqlite", "--cell", "99,99"}).err, HasSubstr("no such elite"));
    // Each cell has one, also where another cell's beats it.
    const auto cells = Json::parse(ptxgraft({"search", "report", "a.sqlite", "--json"}).out)["cells"];
    ASSERT_GT(cells.size(), all.size());
    for (const auto& one : cells) {
        std::string name;
        for (const auto& bin : one["cell"]) name += (name.empty() ? "" : ",") + bin.dump();
        const Result of = ptxgraft({"search", "best", "a.sqlite", "--cell", name, "--json"});
        ASSERT_EQ(of.status, 0) << name << ": " << of.err;
        EXPECT_EQ(Json::parse(of.out)[0]["index"], one["index"]);
    }
}

TEST_F(Cli, SearchReportsAndMerges) {
    write_file("t.json", task);
    for (const char* seed : {"1", "2"})
        ASSERT_EQ(ptxgraft({"search", "t.json", "--archive", std::string(seed) + ".sqlite", "--seed", seed,
                            "--budget", "candidates=2000", "--jobs", "1"})
                      .status,
                  0);
    const Result page = ptxgraft({"search", "report", "1.sqlite", "-o", "r.html", "--beside", "2.sqlite"});
    EXPECT_EQ(page.status, 0) << page.err;
    EXPECT_THAT(read_file("r.html"),
                AllOf(HasSubstr("<h1>1.sqlite</h1>"), HasSubstr("evolve, 2 seeds: median")));
    const auto facts = Json::parse(ptxgraft({"search", "report", "1.sqlite", "--json"}).out);
    EXPECT_EQ(facts["ledger"]["judged"], 2000);
    const Result merged = ptxgraft({"search", "merge", "1.sqlite", "2.sqlite", "-o", "both.sqlite"});
    EXPECT_EQ(merged.status, 0) << merged.err;
    ASSERT_EQ(ptxgraft({"search", "merge", "2.sqlite", "1.sqlite", "-o", "same.sqlite"}).status, 0);
    EXPECT_EQ(ptxgraft({"search", "export", "both.sqlite"}).out,
              ptxgraft({"search", "export", "same.sqlite"}).out);
    const Result best = ptxgraft({"search", "best", "both.sqlite"});
    EXPECT_THAT(best.out, HasSubstr("instructions 2, error 0"));
    EXPECT_THAT(ptxgraft({"search", "merge", "1.sqlite", "-o", "both.sqlite"}).err,
                HasSubstr("both.sqlite exists"));
    const Result resumed = ptxgraft({"search", "t.json", "--archive", "both.sqlite", "--resume"});
    EXPECT_EQ(resumed.status, 1);
    EXPECT_THAT(resumed.err, HasSubstr("a collection of searches"));
    EXPECT_EQ(ptxgraft({"search", "report", "1.sqlite", "--beside", "none.sqlite"}).status, 1);
}

TEST_F(Cli, SearchSaysWhereATaskIsWrong) {
    const auto mistake = [&](std::string from, std::string_view to) {
        std::string text(task);
        const std::size_t at = text.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        text.replace(at, from.size(), to);
        write_file("t.json", text);
        const Result result = ptxgraft({"search", "t.json"});
        EXPECT_EQ(result.status, 1);
        return result.err;
    };
    EXPECT_THAT(mistake("\"genes\"", "\"gene\""),
                AllOf(HasSubstr("t.json:4:3"), HasSubstr("unknown key \"gene\"")));
    EXPECT_THAT(mistake("[\"sub.u32\", \"and.b32\", \"or.b32\", \"not.b32\"]", "[]"),
                AllOf(HasSubstr("t.json:3:"), HasSubstr("no instruction")));
    EXPECT_THAT(mistake("{\"words\": 1, \"count\": 128}", "[1, 1.5]"), HasSubstr("1.5 is no u32"));
    EXPECT_THAT(mistake("sub.u32", "sub.u23"), AllOf(HasSubstr("the set of f:1"), HasSubstr("sub.u23")));
    EXPECT_THAT(mistake("in u32 x", "in u33 x"), HasSubstr("u33"));
    EXPECT_THAT(mistake("x - 1u", "z - 1u"), AllOf(HasSubstr("the reference:1"), HasSubstr("z")));
    EXPECT_THAT(mistake(", \"count\": 128", ""), HasSubstr("needs a \"count\""));
    EXPECT_THAT(mistake("{\"x\"", "{\"q\""), HasSubstr("\"q\" is no input"));
    EXPECT_THAT(mistake("\"block\": 64", "\"operators\": {\"mutate\": 1}"),
                HasSubstr("no operator is named \"mutate\""));
    EXPECT_THAT(mistake("\"y = ", "\"y := "), HasSubstr("the reference:1"));
    write_file("t.json", task);
    EXPECT_EQ(ptxgraft({"search", "t.json", "--budget", "minutes=1"}).status, 2);
    EXPECT_EQ(ptxgraft({"search"}).status, 2);
    EXPECT_EQ(ptxgraft({"search", "best", "none.sqlite"}).status, 1);
}

constexpr std::string_view kernel_task = R"json({
  "workload": {"template": "gemm/simt", "shapes": [{"m": 3, "n": 2, "k": 1}, {"m": 2, "n": 3, "k": 5}],
               "regimes": ["usual"],
               "wanted": {"initial": "0f7F800000 -> acc", "multiply_accumulate": {"expr": "acc = min(acc, a + b)"}}},
  "sites": {
    "initial": {"set": ["add.f32"], "genes": 4, "seeds": ["1e30 -> acc"]},
    "multiply_accumulate": {
      "set": ["add.f32", "min.f32"], "genes": 8, "seeds": ["a b add.f32 acc min.f32 -> acc"],
      "inputs": {"acc": {"from": -1, "to": 1, "count": 9}, "a": {"from": 1, "to": -2}, "b": {"from": 0, "to": 3}},
      "reference": "acc = min(acc, a + b)", "bound": 1e-6}
  },
  "options": {"block": 64},
  "budget": {"candidates": 256}
}
)json";

TEST_F(Cli, SearchFindsStubsForSitesOfAKernel) {
    write_file("t.json", kernel_task);
    const Result found = ptxgraft({"search", "t.json", "--archive", "a.sqlite", "--jobs", "1"});
    EXPECT_EQ(found.status, 0) << found.err;
    EXPECT_THAT(found.out, HasSubstr("# instructions 2, error"));
    const Result all = ptxgraft({"search", "best", "a.sqlite"});
    EXPECT_THAT(all.out, AllOf(HasSubstr("// site initial\n"), HasSubstr("// site multiply_accumulate\n")));
    for (const char* site : {"initial", "multiply_accumulate"}) {
        const Result one = ptxgraft({"search", "best", "a.sqlite", "--site", site});
        EXPECT_EQ(one.status, 0) << one.err;
        write_file(std::string(site) + ".ptx", one.out);
    }
    const Result tried =
        ptxgraft({"try", "gemm/simt", "--dims", "m=7,n=5,k=9", "--device", "emulator", "--stub",
                  "initial=initial.ptx", "--stub", "multiply_accumulate=multiply_accumulate.ptx"});
    EXPECT_EQ(tried.status, 0) << tried.err << tried.out;
    const Result enumerated = ptxgraft({"search", "t.json", "--enumerate", "2"});
    EXPECT_EQ(enumerated.status, 2);
    EXPECT_THAT(enumerated.err, HasSubstr("--enumerate is for one site"));
    const Result none = ptxgraft({"search", "best", "a.sqlite", "--site", "middle"});
    EXPECT_EQ(none.status, 2);
    EXPECT_THAT(none.err, HasSubstr("the archive has no site middle"));
}

// What nothing spends would never end it.
TEST_F(Cli, SearchRefusesBudgetsThatEndNothing) {
    std::string text(task);
    const std::string budget = R"(,
  "budget": {"candidates": 20000})";
    write_file("t.json", text.replace(text.find(budget), budget.size(), ""));
    for (const auto& [said, gate] :
         {std::pair("assemblies=3", "assembly"), std::pair("emulations=3", "emulation"),
          std::pair("gpu_seconds=1", "timing")}) {
        const Result result = ptxgraft({"search", "t.json", "--budget", said});
        EXPECT_EQ(result.status, 2) << said;
        EXPECT_THAT(result.err, AllOf(HasSubstr("ends nothing here"), HasSubstr(gate)));
        const std::string with_others = std::string(said) + ",candidates=10";
        EXPECT_EQ(ptxgraft({"search", "t.json", "--budget", with_others}).status, 0);
    }
}

// What it prints is a program without moves that do nothing, which a task takes as a seed.
TEST_F(Cli, SearchPrintsWhatItEnumeratesSimplified) {
    std::string text(task);
    write_file("t.json", text.insert(text.find("\"inputs\""), "\"constants\": [1], "));
    const Result found = ptxgraft({"search", "t.json", "--enumerate", "3"});
    EXPECT_EQ(found.status, 0) << found.err;
    EXPECT_THAT(found.out,
                AllOf(HasSubstr("-> y"), HasSubstr("# 2 instructions"), testing::Not(HasSubstr("store"))));
}

// The lengths that the page of the tasks says.
TEST_F(Cli, SearchEnumeratesTheTasksThatComeWithIt) {
    const auto lengths = [](const char* name, const char* most) {
        const std::string task = test::source_path("examples/search/") + name + ".json";
        return ptxgraft({"search", task, "--enumerate", most, "--budget", "candidates=0"}).out;
    };
    EXPECT_THAT(lengths("lowest_bit", "2"), HasSubstr("# 2 instructions"));
    EXPECT_THAT(lengths("average", "4"), HasSubstr("# 4 instructions"));
    EXPECT_THAT(lengths("round_up_to_power", "4"), HasSubstr("# 4 instructions"));
}

TEST_F(Cli, SearchShowsMistakesOfKernelTasks) {
    std::string text(kernel_task);
    text.replace(text.find("add.f32"), 7, "add.f33");
    write_file("t.json", text);
    EXPECT_EQ(ptxgraft({"search", "t.json"}).status, 1);
    text = kernel_task;
    text.replace(text.find("\"shapes\""), 8, "\"shape\"");
    write_file("t.json", text);
    const Result result = ptxgraft({"search", "t.json"});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, AllOf(HasSubstr("t.json:2:"), HasSubstr("shape")));
}

}  // namespace
}  // namespace ptxgraft::test
