// Tasks of kernels: what they become, and that each mistake has its place.
#include "ptxgraft/search_task.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/files.hpp"
#include "support/paths.hpp"

namespace ptxgraft::search {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::Lt;
using testing::Not;
using testing::SizeIs;

constexpr std::string_view relu_task = R"json({
  "workload": {"template": "elementwise/simple", "shapes": [{"n": 37}], "regimes": ["usual"],
               "wanted": {"function": {"expr": "y = max(x, 0)"}}, "absolute": 1e-3},
  "sites": {
    "function": {
      "set": ["add.f32", "mul.f32", "max.f32", "neg.f32"], "genes": 8,
      "inputs": {"x": {"from": -2, "to": 2, "count": 33}, "index": [0]},
      "reference": "y = max(x, 0)"
    }
  },
  "gates": [{"limits": {"instructions": 6}}, "columns",
            {"assembly": {"registers": 64, "target": "sm_90a"}}, {"emulation": {"seeds": 2}}],
  "objective": "registers",
  "axes": {"registers": [8, 16], "instructions": [1, 2]},
  "options": {"block": 64},
  "target": {"cost": 100, "instructions": 1}
})json";

std::string with(std::string_view from, std::string_view to) {
    std::string text(relu_task);
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}
// With the one input that the site does not read, at as many points.
std::string sound() { return with(R"("index": [0])", R"("index": {"words": 1})"); }
std::string sound(std::string_view from, std::string_view to) {
    std::string text = sound();
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

TEST(Task, OfAKernelHasItsSitesGatesAndFigures) {
    const auto task = parse_task(sound());
    ASSERT_TRUE(task) << describe(task.error(), sound());
    ASSERT_TRUE(task->workload);
    EXPECT_EQ(task->workload->from().name(), "elementwise/simple");
    ASSERT_THAT(task->space.sites, SizeIs(1));
    EXPECT_EQ(task->space.sites[0].name, "function");
    EXPECT_EQ(task->space.sites[0].max_genes, 8u);
    ASSERT_TRUE(task->screens.at(0));
    EXPECT_EQ(task->screens[0]->count, 33u);
    EXPECT_EQ(task->figures.cost, Objective::registers);
    EXPECT_THAT(task->figures.axes, ElementsAre(Objective::registers, Objective::instructions));
    EXPECT_EQ(task->options.axes[0].name, "registers");
    EXPECT_THAT(task->target->descriptor, ElementsAre(INFINITY, 1));
    ASSERT_THAT(task->gates, SizeIs(4));
    EXPECT_EQ(std::get<LimitOptions>(task->gates[0].options).instructions, 6u);
    EXPECT_EQ(std::get<AssemblyOptions>(task->gates[2].options).limits.registers, 64u);
    EXPECT_EQ(std::get<AssemblyOptions>(task->gates[2].options).target, "sm_90a");
    EXPECT_EQ(std::get<EmulationOptions>(task->gates[3].options).check.seeds, 2u);
}

TEST(Task, OfAKernelIsSearched) {
    const auto task = parse_task(sound());
    ASSERT_TRUE(task);
    const test::TemporaryFolder folder;
    const std::string path = (folder.path / "relu.sqlite").string();
    auto search = Search::open(path, task->space, task->options);
    ASSERT_TRUE(search) << message(search.error());
    const auto made = gates_of(*task, path);
    ASSERT_TRUE(made) << describe(made.error());
    std::vector<Gate*> gates;
    for (const auto& gate : *made) gates.push_back(gate.get());
    const auto summary =
        search->run(gates, {.budget = {.candidates = 20'000}, .target = task->target, .threads = 1});
    ASSERT_TRUE(summary) << message(summary.error());
    EXPECT_EQ(summary->stop, Stop::target);
    EXPECT_THAT(search->elites(), Contains(Field(&Elite::descriptor, ElementsAre(Lt(100), 1))));
    std::vector<std::string> names;
    for (const GateCount& gate : search->ledger().gates) names.push_back(gate.name);
    EXPECT_THAT(names, ElementsAre("limits", "columns", "assembly", "emulation"));
}

TEST(Task, WithoutGatesItIsScreenedAndRun) {
    const auto screened = parse_task(sound(R"("gates": [{"limits": {"instructions": 6}}, "columns",
            {"assembly": {"registers": 64, "target": "sm_90a"}}, {"emulation": {"seeds": 2}}],
  "objective": "registers",
  "axes": {"registers": [8, 16], "instructions": [1, 2]},)",
                                           ""));
    ASSERT_TRUE(screened) << describe(screened.error());
    ASSERT_THAT(screened->gates, SizeIs(2));
    EXPECT_TRUE(std::holds_alternative<SiteColumnsOptions>(screened->gates[0].options));
    EXPECT_TRUE(std::holds_alternative<EmulationOptions>(screened->gates[1].options));
    EXPECT_THAT(screened->figures.axes, ElementsAre(Objective::instructions, Objective::error));
    EXPECT_TRUE(screened->options.refine);
    const auto run = parse_task(sound(R"({"limits": {"instructions": 6}}, "columns",
            )",
                                      ""));
    ASSERT_TRUE(run) << describe(run.error());
    EXPECT_FALSE(run->options.refine) << "columns alone refine";
}

TEST(Task, EachMistakeHasItsPlace) {
    struct Row {
        std::string_view from, to, why;
        std::string_view at;  ///< what stands at the place
    };
    const Row rows[] = {
        {R"("template": "elementwise/simple")", R"("template": 3)", "string", "3"},
        {R"("shapes": [{"n": 37}])", R"("shapes": [{"n": "x"}])", "n", "\"x\""},
        {R"("function": {
)",
         R"("functions": {
)",
         "there is no site named", "\"functions\""},
        {R"("genes": 8)", R"("gene": 8)", "gene", "\"gene\""},
        {R"("set": ["add.f32", "mul.f32", "max.f32", "neg.f32"])", R"("set": "fool")", "no set is named",
         "\"fool\""},
        {R"("limits": {"instructions": 6})", R"("limits": {"instruction": 6})", "instruction",
         "\"instruction\""},
        {R"("columns",)", R"("column",)", "no gate is named", "\"column\""},
        {R"("columns",)", R"({"columns": {}, "limits": {}},)", "a gate is a name", "{\"columns\""},
        {R"("target": "sm_90a")", R"("target": "sm_9")", "unknown target", "\"sm_9\""},
        {R"("registers": 64)", R"("registers": -1)", "registers", "-1"},
        {R"("objective": "registers")", R"("objective": "speed")", "speed", "\"speed\""},
        {R"("axes": {"registers")", R"("axes": {"register")", "register", "\"register\""},
        {R"("registers": [8, 16])", R"("registers": [16, 8])", "ascend", "[16"},
        {R"("cost": 100)", R"("costs": 100)", "is no axis", "\"costs\""},
        {R"({"assembly": {"registers": 64, "target": "sm_90a"}}, )", "", "no gate finds \"registers\"",
         "\"registers\",\n"},
        {R"("options": {)", R"("workloads": {)", "workloads", "\"workloads\""},
        {R"("block": 64)", R"("operators": {"umad": 0, "replace": 0, "swap": 0, "delete": 0, "constant": 0,
                              "crossover": 0, "tunable": 0, "fresh": 0})",
         "all operators have the weight 0", "{\"umad\""},
        {R"("block": 64)", R"("islands": 65536)", "from 1 to 65535", "65536"},
        {R"("block": 64)", R"("block": 1048577)", "from 1 to 1048576", "1048577"},
        {R"("block": 64)", R"("block": 64.5)", "whole number", "64.5"},
        {R"("block": 64)", R"("surrogate": 1)", "surrogate", "1}"},
        {R"("options": {)", R"("budget": {"candidates": 1.5}, "options": {)", "whole number", "1.5}"},
        {R"("options": {)", R"("budget": {"assemblies": 1e300}, "options": {)", "whole number", "1e300"},
        {R"("options": {)", R"("budget": {"emulations": -1}, "options": {)", "emulations", "-1"},
        {R"("options": {)", R"("budget": {"gpu_second": 1}, "options": {)", "gpu_seconds", "\"gpu_second\""},
        {R"("options": {)", R"("stagnation": 0, "options": {)", "stagnation", "0,"},
        {R"("options": {)", R"("stagnation": 1e4, "options": {)", "whole number", "1e4"},
        {R"("genes": 8)", R"("genes": 2, "seeds": ["x 0.0 max.f32 -> y"])", "\"genes\" allows 2", "\"x 0.0"},
        {R"("to": 2)", R"("to": 1e39)", "is no f32", "1e39"},
        {R"({"words": 1})", R"({"from": 0, "to": 4294967296})", "is no u32", "4294967296"},
        {R"({"words": 1})", R"({"uniform": [0, 1e10]})", "is no u32", "1e10"},
        {R"({"words": 1})", R"({"uniform": [-1e10, 0]})", "is no u32", "-1e10"},
    };
    for (const Row& row : rows) {
        const std::string text = sound(row.from, row.to);
        const auto task = parse_task(text);
        ASSERT_FALSE(task) << row.to;
        EXPECT_EQ(task.error().code, Errc::task_invalid) << message(task.error());
        EXPECT_THAT(message(task.error()), HasSubstr(row.why));
        EXPECT_EQ(text.substr(task.error().span.begin, row.at.size()), row.at) << message(task.error());
    }
}

TEST(Task, SaysWhereItEndsAndWhatIsGuessed) {
    const auto task = parse_task(sound(R"("options": {"block": 64})", R"("options": {"surrogate": true},
        "stagnation": 12345, "budget": {"candidates": 1e6, "assemblies": 200, "emulations": 30,
                                        "seconds": 1.5, "cpu_seconds": 2, "gpu_seconds": 0.5})"));
    ASSERT_TRUE(task) << describe(task.error());
    EXPECT_EQ(task->stagnation, 12345u);
    EXPECT_EQ(task->budget.candidates, 1'000'000u);
    EXPECT_EQ(task->budget.assemblies, 200u);
    EXPECT_EQ(task->budget.emulations, 30u);
    EXPECT_EQ(task->budget.seconds, 1.5);
    EXPECT_EQ(task->budget.cpu_seconds, 2);
    EXPECT_EQ(task->budget.gpu_seconds, 0.5);
    ASSERT_TRUE(task->options.surrogate);
    EXPECT_EQ(task->options.surrogate->registers, 64u);
    EXPECT_EQ(task->options.surrogate->code_bytes, 0u);
    EXPECT_NE(task->options.skeleton, 0u);
    EXPECT_FALSE(parse_task(sound(R"("block": 64)", R"("surrogate": false)"))->options.surrogate);
    const std::string text = sound(R"({"assembly": {"registers": 64, "target": "sm_90a"}}, )", "");
    EXPECT_FALSE(parse_task(text));
}

TEST(Task, ALibraryHasItsOperator) {
    const auto weight_of = [](const Task& task) {
        return std::ranges::find(task.options.operators, "library", &Operator::name)->weight;
    };
    EXPECT_EQ(weight_of(*parse_task(sound())), 0);
    const auto task = parse_task(sound(R"("genes": 8)", R"("genes": 2, "library": ["x 0.0 max.f32 -> y"])"));
    ASSERT_TRUE(task) << describe(task.error());
    EXPECT_THAT(task->space.sites[0].library, SizeIs(1));
    EXPECT_EQ(weight_of(*task), 0.05);
    std::string text = sound(R"("genes": 8)", R"("library": ["x 0.0 max.f32 -> y"])");
    text.replace(text.find(R"("block": 64)"), 11, R"("operators": {"library": 0.2})");
    EXPECT_EQ(weight_of(*parse_task(text)), 0.2);
    EXPECT_FALSE(parse_task(sound(R"("genes": 8)", R"("library": ["x 0.0 maxi.f32 -> y"])")));
}

TEST(Task, OfASignatureHasNoGatesOfKernels) {
    const std::string_view bare = R"json({"signature": "in u32 x, out u32 y", "set": ["add.u32"],
        "inputs": {"x": {"words": 1, "count": 9}}, "reference": "y = x + x", "gates": ["columns"]})json";
    const auto task = parse_task(bare);
    ASSERT_TRUE(task) << describe(task.error(), bare);
    ASSERT_THAT(task->gates, SizeIs(1));
    std::string text(bare);
    text.replace(text.find("\"columns\""), 9, "\"emulation\"");
    EXPECT_THAT(message(parse_task(text).error()), HasSubstr("wants a workload"));
    text = bare;
    text.replace(text.find("\"gates\""), 7, "\"objective\": \"registers\", \"gates\"");
    EXPECT_THAT(message(parse_task(text).error()), HasSubstr("wants a workload"));
}

// x & z with its right values, and what a search of it needs not know.
std::string masked(std::string_view more = R"("enumerate": {"trials": 1e6})") {
    std::string text = R"json({"signature": "in u32 x, in u32 z, out u32 y", "set": ["not.b32", "or.b32"],
        "inputs": {"x": {"words": 1, "count": 64}, "z": {"words": 2, "count": 64}},
        "tunables": {"tile": [4, 8]}, "reference": "y = x & z", "target": {"instructions": 4}, )json";
    return text.append(more) + "}";
}

TEST(Task, BeginsWithAShortEnumeration) {
    const auto task = parse_task(masked());
    ASSERT_TRUE(task) << describe(task.error(), masked());
    const test::TemporaryFolder folder;
    const std::string path = (folder.path / "masked.sqlite").string();
    Candidate first;
    {
        auto search = open(*task, path);
        ASSERT_TRUE(search) << message(search.error());
        const auto asked = search->ask(1);
        ASSERT_THAT(*asked, SizeIs(1));
        first = asked->front();
    }
    EXPECT_THAT(first.genome.tunables, ElementsAre(0));
    // not (not x or not z): four instructions, no fewer.
    const stack::Machine& machine = task->space.sites[0].machine;
    EXPECT_EQ(program_text(*enumerate(*task, {.instructions = 4})->program, machine),
              program_text(first.genome.programs[0], machine));
    EXPECT_FALSE(enumerate(*task, {.instructions = 3})->program);

    auto again = open(*task, path);  // goes on as it began
    ASSERT_TRUE(again) << message(again.error());
    const auto made = gates_of(*task, path);
    Gate* const gates[] = {made->front().get()};
    const auto summary = again->run(gates, {.target = task->target});
    ASSERT_TRUE(summary) << message(summary.error());
    EXPECT_EQ(summary->stop, Stop::target);
    EXPECT_EQ(summary->judged, 1u);
    EXPECT_EQ(summary->best->genome, first.genome);
}

TEST(Task, BeginsWithoutAnEnumerationWhereThatIsSaid) {
    const auto first_of = [](const Task& task, std::vector<Genome> first = {}) {
        auto search = open(task, "", std::move(first));
        EXPECT_TRUE(search) << message(search.error());
        return search->ask(2)->front().genome.programs[0];
    };
    const auto task = parse_task(masked());
    const stack::Program found = first_of(*task);
    EXPECT_NE(first_of(*parse_task(masked(R"("enumerate": false)"))), found);
    EXPECT_NE(first_of(*parse_task(masked(R"("enumerate": {"instructions": 3})"))), found);
    EXPECT_NE(first_of(*parse_task(masked(R"("enumerate": {"trials": 1})"))), found);
    EXPECT_EQ(first_of(*parse_task(masked(R"("enumerate": true)"))), found);
    for (const char* baseline : {"random", "climb"})
        EXPECT_NE(
            first_of(*parse_task(masked(R"("options": {"strategy": ")" + std::string(baseline) + "\"}"))),
            found)
            << baseline;
    EXPECT_NE(first_of(*parse_task(masked(R"("genes": 3)"))), found);  // it has no room
    // Before what is judged first; all the same where nothing can be enumerated: of too many constants.
    const Genome other{{stack::Program{}}, {1}};
    EXPECT_EQ(first_of(*task, {other}), found);
    std::string many = R"json({"signature": "in f32 x, out f32 y", "set": ["add.f32"],
        "inputs": {"x": [1, 2, 3]}, "reference": "y = x + x", "constants": [0)json";
    for (int k = 1; k < 300; ++k) many += ", " + std::to_string(k);
    many += "]}";
    const auto full = parse_task(many);
    ASSERT_TRUE(full) << describe(full.error(), many);
    EXPECT_EQ(enumerate(*full).error().code, Errc::space_invalid);
    EXPECT_EQ(open(*full, "", {{{stack::Program{}}, {}}})->ask(1)->front().genome.programs[0],
              stack::Program{});
}

TEST(Task, BeginsWithSmallConstantsWhereItHasNone) {
    const auto text = [](std::string_view constants) {
        return R"json({"signature": "in u32 x, out u32 y", "set": ["sub.u32", "and.b32"],
            "inputs": {"x": {"words": 1, "count": 64}}, "reference": "y = x & (x - 1u)")json" +
               std::string(constants) + "}";
    };
    const auto first = open(*parse_task(text("")))->ask(1);
    const auto machine = parse_task(text(""))->space.sites[0].machine;
    const auto seven = open(*parse_task(text(R"(, "constants": [7])")))->ask(1);
    EXPECT_THAT(program_text(first->front().genome.programs[0], machine),
                AllOf(HasSubstr("1 sub.u32"), HasSubstr("and.b32")));
    EXPECT_THAT(program_text(seven->front().genome.programs[0], machine), Not(HasSubstr("1 sub.u32")));
}

TEST(Task, BeginsWithWhatIsFoundOfEachSite) {
    const std::string text = R"json({
      "workload": {"template": "gemm/simt", "shapes": [{"m": 5, "n": 7, "k": 9}], "regimes": ["usual"],
                   "wanted": {"initial": {"program": "0f7F800000 -> acc"},
                              "multiply_accumulate": {"expr": "acc = min(acc, a + b)"}}},
      "sites": {
        "initial": {"set": ["neg.f32"], "seeds": ["1.0 neg.f32 -> acc"]},
        "multiply_accumulate": {"set": ["add.f32", "mul.f32", "min.f32"],
          "inputs": {"acc": {"uniform": [-4, 4], "seed": 1, "count": 64},
                     "a": {"uniform": [-2, 2], "seed": 2}, "b": {"uniform": [-2, 2], "seed": 3}},
          "reference": "acc = min(acc, a + b)", "bound": 1e-6}
      }})json";
    const auto task = parse_task(text);
    ASSERT_TRUE(task) << describe(task.error(), text);
    auto search = open(*task);
    ASSERT_TRUE(search) << message(search.error());
    const auto asked = search->ask(1);
    ASSERT_THAT(*asked, SizeIs(1));
    const auto text_of = [&](std::size_t site) {
        return program_text(asked->front().genome.programs[site], task->space.sites[site].machine);
    };
    EXPECT_THAT(text_of(0), HasSubstr("-1.0"));  // its seed: the task does not say what is right there
    EXPECT_THAT(text_of(1), AllOf(HasSubstr("add.f32"), HasSubstr("min.f32")));
}

TEST(Task, AStopOfTheEnumerationLeavesNoArchive) {
    const test::TemporaryFolder folder;
    const std::string path = (folder.path / "none.sqlite").string();
    const std::atomic<bool> stop = true;
    const auto stopped = open(*parse_task(masked()), path, {}, &stop);
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().code, Errc::work_stopped);
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_TRUE(std::filesystem::exists(path + ".part"));
    EXPECT_TRUE(open(*parse_task(masked()), path));
    EXPECT_TRUE(std::filesystem::exists(path));
    EXPECT_FALSE(std::filesystem::exists(path + ".part"));
}

TEST(Task, SaysHowItEnumerates) {
    EXPECT_EQ(parse_task(masked())->enumeration.trials, 1'000'000u);
    EXPECT_EQ(parse_task(masked(R"("enumerate": {"instructions": 5})"))->enumeration.instructions, 5u);
    for (const char* wrong : {R"("enumerate": 3)", R"("enumerate": {"instructions": 33})",
                              R"("enumerate": {"trials": 1.5})", R"("enumerate": {"trial": 1})"}) {
        const auto task = parse_task(masked(wrong));
        ASSERT_FALSE(task) << wrong;
        EXPECT_EQ(task.error().code, Errc::task_invalid) << wrong;
    }
}

TEST(Task, ExamplesAreSound) {
    for (const char* name : {"min_plus", "causal_mask", "rms_epilogue"}) {
        const std::string text =
            test::read_file(test::source_path("examples/search/kernels/") + name + ".json");
        const auto task = parse_task(text);
        ASSERT_TRUE(task) << name << ": " << describe(task.error(), text);
        EXPECT_TRUE(gates_of(*task)) << name;
    }
    const std::string timed = test::read_file(test::source_path("examples/search/kernels/rms_time.json"));
    const auto task = parse_task(timed);
    ASSERT_TRUE(task) << describe(task.error(), timed);
    EXPECT_TRUE(task->is_timed());
}

}  // namespace
}  // namespace ptxgraft::search
