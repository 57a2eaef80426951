// Searches in C: by ask and tell, by a run, and what archives hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "handles.hpp"
#include "support/files.hpp"
#include "two_calls.hpp"

namespace {

using namespace ptxgraft::test;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using CSearch = Handle<ptxgraft_search, ptxgraft_search_destroy>;
using CCandidates = Handle<ptxgraft_candidates, ptxgraft_candidates_destroy>;
using CElites = Handle<ptxgraft_elites, ptxgraft_elites_destroy>;

constexpr std::string_view task = R"json({
  "signature": "in f32 x, out f32 y", "set": ["add.f32", "mul.f32", "neg.f32", "max.f32"], "genes": 12,
  "inputs": {"x": {"from": -2, "to": 2, "count": 65}}, "reference": "y = max(x, 0) * 2",
  "bound": 1e-6, "axes": {"instructions": [1, 2, 3, 4]}, "options": {"block": 128, "islands": 1},
  "budget": {"candidates": 6000}, "tunables": {"rows": [1, 2, 4]}
})json";

std::string without_tunables() {
    std::string text(task);
    const std::string tunables = R"(, "tunables": {"rows": [1, 2, 4]})";
    return text.replace(text.find(tunables), tunables.size(), "");
}

CSearch search_of(const std::string& text = std::string(task), const char* archive = nullptr) {
    CSearch made;
    EXPECT_OK(ptxgraft_search_open(&made, archive, text.data(), text.size(), nullptr));
    return made;
}

struct Archive {
    std::string path = testing::TempDir() + "ptxgraft_capi_search.sqlite";
    Archive() { remove(); }
    ~Archive() { remove(); }
    void remove() const {
        for (const char* end : {"", "-wal", "-shm", "-journal"}) std::filesystem::remove(path + end);
    }
};

TEST(CApiSearch, TellsItsSpace) {
    const CSearch search = search_of();
    ASSERT_EQ(ptxgraft_search_get_site_count(search), 1u);
    EXPECT_STREQ(ptxgraft_search_get_site_name(search, 0), "f");
    EXPECT_EQ(ptxgraft_search_get_site_name(search, 1), nullptr);
    ASSERT_EQ(ptxgraft_search_get_tunable_count(search), 1u);
    ptxgraft_tunable_info info = PTXGRAFT_TUNABLE_INFO_INIT;
    ASSERT_OK(ptxgraft_search_get_tunable(&info, search, 0));
    EXPECT_STREQ(info.name, "rows");
    ASSERT_EQ(info.value_count, 3u);
    EXPECT_EQ(info.values[2], 4);
    EXPECT_INVALID(ptxgraft_search_get_tunable(&info, search, 1), "tunable 1 of 1");
    ASSERT_EQ(ptxgraft_search_get_axis_count(search), 2u);
    EXPECT_STREQ(ptxgraft_search_get_axis_name(search, 0), "instructions");
    EXPECT_STREQ(ptxgraft_search_get_axis_name(search, 1), "error");
    EXPECT_EQ(ptxgraft_search_get_axis_name(search, 2), nullptr);
    CMachine machine;
    ASSERT_OK(ptxgraft_machine_create_from_search(&machine, search, 0));
    CSet set;
    ASSERT_OK(ptxgraft_set_create_from_machine(&set, machine));
    EXPECT_EQ(ptxgraft_set_get_entry_count(set), 4u);
}

// The largest error of each candidate over some points, and its number of live instructions.
struct Judged {
    std::vector<double> costs, descriptors;
    std::vector<float> errors;
    std::vector<ptxgraft_verdict> verdicts;
};
Judged judge(const ptxgraft_candidates* candidates, const ptxgraft_machine* machine) {
    Judged all;
    CEvaluator evaluator;
    for (size_t i = 0; i < ptxgraft_candidates_get_count(candidates); ++i) {
        CProgram program;
        EXPECT_OK(ptxgraft_program_create_from_candidate(&program, candidates, i, 0));
        ptxgraft_compile_options options = PTXGRAFT_COMPILE_OPTIONS_MUTATED;
        options.reuse = options.fold = 1;
        CEvaluator made;
        EXPECT_OK(ptxgraft_evaluator_create(&made, program, machine, &options));
        float x[8], y[8];
        for (int p = 0; p < 8; ++p) x[p] = static_cast<float>(p) - 3.5f;
        const void* inputs[] = {x, nullptr};
        void* outputs[] = {nullptr, y};
        ptxgraft_columns columns = PTXGRAFT_COLUMNS_INIT;
        columns.inputs = inputs;
        columns.outputs = outputs;
        columns.register_count = 2;
        columns.count = 8;
        EXPECT_OK(ptxgraft_evaluator_run(made, &columns));
        double largest = 0;
        for (int p = 0; p < 8; ++p) {
            const double error = std::fabs(double{y[p]} - 2 * std::fmax(x[p], 0));
            const double finite = std::isfinite(error) ? error : 1e30;
            all.errors.push_back(static_cast<float>(finite));
            largest = std::fmax(largest, finite);
        }
        const double instructions = ptxgraft_evaluator_get_instruction_count(made);
        all.costs.push_back(instructions);
        all.descriptors.insert(all.descriptors.end(), {instructions, largest});
        all.verdicts.push_back(largest <= 1e-6 ? PTXGRAFT_VERDICT_ok : PTXGRAFT_VERDICT_infeasible);
    }
    return all;
}

TEST(CApiSearch, FindsAProgramByAskAndTell) {
    const CSearch search = search_of(without_tunables());
    CMachine machine;
    ASSERT_OK(ptxgraft_machine_create_from_search(&machine, search, 0));
    for (int round = 0; round < 60; ++round) {
        CCandidates candidates;
        ASSERT_OK(ptxgraft_search_ask(&candidates, search, 128));
        if (ptxgraft_candidates_get_count(candidates) == 0) break;
        const Judged judged = judge(candidates, machine);
        ptxgraft_results results = PTXGRAFT_RESULTS_INIT;
        results.candidates = candidates;
        results.verdicts = judged.verdicts.data();
        results.costs = judged.costs.data();
        results.descriptors = judged.descriptors.data();
        results.descriptor_count = 2;
        results.errors = judged.errors.data();
        results.error_count = 8;
        ASSERT_OK(ptxgraft_search_tell(search, &results));
    }
    CElites elites, front;
    ASSERT_OK(ptxgraft_elites_create(&elites, search));
    ASSERT_GT(ptxgraft_elites_get_count(elites), 0u);
    ASSERT_OK(ptxgraft_elites_create_front(&front, elites));
    ptxgraft_elite_info best = PTXGRAFT_ELITE_INFO_INIT;
    ASSERT_OK(ptxgraft_elites_get(&best, front, 0));
    EXPECT_EQ(best.cost, 2) << "max and one more";
    ASSERT_EQ(best.axis_count, 2u);
    ASSERT_EQ(best.descriptor_count, 2u);
    EXPECT_EQ(best.descriptor[0], 2);
    CProgram program;
    ASSERT_OK(ptxgraft_program_create_from_elite(&program, front, 0, 0));
    const auto text =
        text_of([&](char* t, size_t* n) { return ptxgraft_program_get_text(t, n, program, machine); });
    EXPECT_THAT(text, HasSubstr("max.f32"));
    EXPECT_THAT(text_of([&](char* t, size_t* n) { return ptxgraft_elites_get_description(t, n, front, 0); }),
                HasSubstr("\"programs\":{\"f\":"));
    EXPECT_INVALID(ptxgraft_program_create_from_elite(&program, front, 0, 1), "site 1 of 1");
    EXPECT_INVALID(ptxgraft_elites_get(&best, front, 1000), "elite 1000 of");
}

TEST(CApiSearch, CandidatesAreBytesThatCompile) {
    const CSearch search = search_of();
    CMachine machine;
    ASSERT_OK(ptxgraft_machine_create_from_search(&machine, search, 0));
    CCandidates candidates;
    ASSERT_OK(ptxgraft_search_ask(&candidates, search, 50));
    ASSERT_EQ(ptxgraft_candidates_get_count(candidates), 50u);
    ptxgraft_programs programs;
    ASSERT_OK(ptxgraft_candidates_get_programs(&programs, candidates, 0));
    CCompilation compilation;
    ASSERT_OK(ptxgraft_compilation_create(&compilation, machine, &programs, nullptr, 1));
    std::vector<ptxgraft_status> statuses(50);
    ptxgraft_compilation_arrays arrays = PTXGRAFT_COMPILATION_ARRAYS_INIT;
    arrays.statuses = statuses.data();
    ASSERT_OK(ptxgraft_compilation_read(&arrays, compilation));
    EXPECT_THAT(statuses, testing::Each(PTXGRAFT_STATUS_ok));
    ptxgraft_candidate_info info = PTXGRAFT_CANDIDATE_INFO_INIT;
    ASSERT_OK(ptxgraft_candidates_get(&info, candidates, 49));
    EXPECT_EQ(info.index, 49u);
    ASSERT_EQ(info.tunable_count, 1u);
    EXPECT_LT(info.tunables[0], 3u);
    EXPECT_INVALID(ptxgraft_candidates_get(&info, candidates, 50), "candidate 50 of 50");
    EXPECT_INVALID(ptxgraft_candidates_get_programs(&programs, candidates, 1), "site 1 of 1");
}

TEST(CApiSearch, ResultsAreChecked) {
    const CSearch search = search_of(without_tunables());
    CCandidates candidates;
    ASSERT_OK(ptxgraft_search_ask(&candidates, search, 4));
    const double descriptors[8] = {1, 0, 1, 0, 1, 0, 1, 0};
    ptxgraft_results good = PTXGRAFT_RESULTS_INIT;
    good.candidates = candidates;
    good.descriptors = descriptors;
    good.descriptor_count = 2;
    const auto tell = [&](const ptxgraft_results* results) { return ptxgraft_search_tell(search, results); };
    const ptxgraft_verdict verdicts[] = {PTXGRAFT_VERDICT_ok, PTXGRAFT_VERDICT_ok,
                                         static_cast<ptxgraft_verdict>(9), PTXGRAFT_VERDICT_ok};
    ptxgraft_results wrong = good;
    wrong.verdicts = verdicts;
    EXPECT_INVALID(tell(&wrong), "verdicts[2] is 9; it is 0 to 8");
    EXPECT_EQ(ptxgraft_error_get_index(), 2u);
    const size_t which[] = {3, 4};
    wrong = good;
    wrong.which = which;
    wrong.count = 2;
    EXPECT_INVALID(tell(&wrong), "which[1]: candidate 4 of 4");
    wrong = good;
    wrong.errors = nullptr;
    wrong.error_count = 3;
    EXPECT_INVALID(tell(&wrong), "errors is null, but error_count is 3");
    wrong = good;
    wrong.descriptor_count = 1;
    EXPECT_INVALID(tell(&wrong), "result 0 has a descriptor of 1 values; the search has 2 axes");
    wrong = good;
    wrong.descriptors = nullptr;
    wrong.descriptor_count = 0;
    EXPECT_INVALID(tell(&wrong), "result 0 has a descriptor of 0 values; the search has 2 axes");
    wrong = good;
    wrong.candidates = nullptr;
    EXPECT_INVALID(tell(&wrong), "candidates is null");
    const CSearch other = search_of(without_tunables());
    CCandidates others;
    ASSERT_OK(ptxgraft_search_ask(&others, other, 4));
    wrong = good;
    wrong.candidates = others;
    EXPECT_INVALID(tell(&wrong), "the candidates are of another search");
    EXPECT_THAT(text_of([&](char* t, size_t* n) { return ptxgraft_search_get_ledger(t, n, search); }),
                HasSubstr("\"judged\":0"));
    expect_options_of_all_versions(good, "ptxgraft_results", 104, tell);
}

size_t told = 0;
void count_ledgers(const char* ledger, void* payload) {
    EXPECT_THAT(ledger, HasSubstr("\"judged\":"));
    ++*static_cast<size_t*>(payload);
}

TEST(CApiSearch, RunsWithTheTasksGatesAndKeepsAnArchive) {
    const Archive archive;
    const std::string text = without_tunables();
    told = 0;
    {
        const CSearch search = search_of(text, archive.path.c_str());
        ptxgraft_run_options options = PTXGRAFT_RUN_OPTIONS_INIT;
        options.progress = count_ledgers;
        options.payload = &told;
        options.threads = 1;
        ptxgraft_summary_info summary = PTXGRAFT_SUMMARY_INFO_INIT;
        ASSERT_OK(ptxgraft_search_run(&summary, search, &options));
        EXPECT_EQ(summary.ending, PTXGRAFT_ENDING_budget);
        EXPECT_EQ(summary.judged, 6000u);
        EXPECT_EQ(summary.best_cost, 2);
        EXPECT_GT(told, 10u);
        EXPECT_THAT(text_of([&](char* t, size_t* n) { return ptxgraft_search_get_ledger(t, n, search); }),
                    HasSubstr("\"judged\":6000"));
    }
    CElites elites;
    ASSERT_OK(ptxgraft_elites_create_from_archive(&elites, archive.path.c_str()));
    EXPECT_GT(ptxgraft_elites_get_count(elites), 0u);
    const char* const path = archive.path.c_str();
    const auto lines = text_of([&](char* t, size_t* n) { return ptxgraft_archive_get_lines(t, n, path); });
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 6000);
    EXPECT_THAT(text_of([&](char* t, size_t* n) { return ptxgraft_archive_get_page(t, n, path, "Twice"); }),
                HasSubstr("Twice"));
    EXPECT_THAT(text_of([&](char* t, size_t* n) { return ptxgraft_archive_get_facts(t, n, path, nullptr); }),
                HasSubstr("\"ledger\""));
    const std::string merged = archive.path + ".merged";
    std::filesystem::remove(merged);
    const char* const paths[] = {path, path};
    ASSERT_OK(ptxgraft_archive_merge(merged.c_str(), paths, 2));
    EXPECT_EQ(text_of([&](char* t, size_t* n) { return ptxgraft_archive_get_lines(t, n, merged.c_str()); }),
              lines);
    std::filesystem::remove(merged);
    EXPECT_INVALID(ptxgraft_archive_merge(merged.c_str(), nullptr, 2), "archives is null, but count is 2");
    size_t size = 0;
    EXPECT_NE(ptxgraft_archive_get_lines(nullptr, &size, "/nowhere.sqlite"), PTXGRAFT_STATUS_ok);
    // It goes on only as what it was.
    ptxgraft_search_options options = PTXGRAFT_SEARCH_OPTIONS_INIT;
    options.has_seed = 1;
    options.seed = 99;
    CSearch other;
    EXPECT_EQ(ptxgraft_search_open(&other, path, text.data(), text.size(), &options),
              PTXGRAFT_STATUS_archive_differs);
}

TEST(CApiSearch, StagnationIsAsTheTaskSays) {
    std::string text = without_tunables();
    text.insert(text.find("\"budget\""), "\"stagnation\": 40, ");
    const CSearch search = search_of(text);
    ptxgraft_summary_info summary = PTXGRAFT_SUMMARY_INFO_INIT;
    ASSERT_OK(ptxgraft_search_run(&summary, search, nullptr));
    EXPECT_EQ(summary.ending, PTXGRAFT_ENDING_stagnation);
    EXPECT_LT(summary.judged, 6000u);
}

TEST(CApiSearch, AStopEndsARun) {
    const CSearch search = search_of(without_tunables());
    CStop stop;
    ASSERT_OK(ptxgraft_stop_create(&stop));
    ASSERT_OK(ptxgraft_stop_request(stop));
    ptxgraft_run_options options = PTXGRAFT_RUN_OPTIONS_INIT;
    options.stop = stop;
    ptxgraft_summary_info summary = PTXGRAFT_SUMMARY_INFO_INIT;
    ASSERT_OK(ptxgraft_search_run(&summary, search, &options));
    EXPECT_EQ(summary.ending, PTXGRAFT_ENDING_asked);
    for (double ptxgraft_run_options::*field :
         {&ptxgraft_run_options::seconds, &ptxgraft_run_options::cpu_seconds})
        for (const double wrong : {-1.0, std::nan("")}) {
            ptxgraft_run_options never = options;
            never.*field = wrong;
            EXPECT_EQ(ptxgraft_search_run(&summary, search, &never), PTXGRAFT_STATUS_argument_invalid);
        }
    expect_options_of_all_versions(options, "ptxgraft_run_options", 64, [&](const auto* o) {
        ptxgraft_summary_info s = PTXGRAFT_SUMMARY_INFO_INIT;
        return ptxgraft_search_run(&s, search, o);
    });
}

TEST(CApiSearch, MistakesHaveTheirPlace) {
    CSearch none;
    const std::string text = "{\"signature\": \"in f32 x, out f32 y\",\n \"sett\": 1}";
    EXPECT_EQ(ptxgraft_search_open(&none, nullptr, text.data(), text.size(), nullptr),
              PTXGRAFT_STATUS_task_invalid);
    EXPECT_EQ(ptxgraft_error_get_line(), 2u);
    EXPECT_STREQ(ptxgraft_error_get_source_name(), "task");
    const ptxgraft_search_options good = PTXGRAFT_SEARCH_OPTIONS_INIT;
    const auto open = [](const ptxgraft_search_options* options) {
        CSearch made;
        return ptxgraft_search_open(&made, nullptr, task.data(), task.size(), options);
    };
    expect_options_of_all_versions(good, "ptxgraft_search_options", 24, open);
    expect_checked(good, &ptxgraft_search_options::strategy, "strategy", 3, open);
    ptxgraft_stop* stop = nullptr;
    ASSERT_EQ(ptxgraft_stop_create(&stop), PTXGRAFT_STATUS_ok);
    ptxgraft_search_options stoppable = good;
    stoppable.stop = stop;
    EXPECT_EQ(open(&stoppable), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(ptxgraft_stop_request(stop), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(open(&stoppable), PTXGRAFT_STATUS_work_stopped);
    ptxgraft_stop_destroy(stop);
    EXPECT_EQ(none, nullptr);
    ptxgraft_search_destroy(nullptr);
    ptxgraft_candidates_destroy(nullptr);
    ptxgraft_elites_destroy(nullptr);
}

TEST(CApiSearch, InfosOfAllVersionsAreFilled) {
    const CSearch search = search_of();
    CCandidates candidates;
    ASSERT_OK(ptxgraft_search_ask(&candidates, search, 2));
    expect_infos_of_all_versions(ptxgraft_tunable_info PTXGRAFT_TUNABLE_INFO_INIT, "ptxgraft_tunable_info",
                                 32, [&](auto* i) { return ptxgraft_search_get_tunable(i, search, 0); });
    expect_infos_of_all_versions(ptxgraft_candidate_info PTXGRAFT_CANDIDATE_INFO_INIT,
                                 "ptxgraft_candidate_info", 56,
                                 [&](auto* i) { return ptxgraft_candidates_get(i, candidates, 1); });
}

// ---- small spaces

constexpr std::string_view clear_lowest = R"json({
  "signature": "in u32 x, out u32 y", "set": ["sub.u32", "and.b32", "or.b32", "not.b32"],
  "inputs": {"x": {"words": 1, "count": 128}}, "reference": "y = x & (x - 1u)", "constants": [1]
})json";

TEST(CApiSearch, AllProgramsAreTried) {
    const CSearch search = search_of(std::string(clear_lowest));
    ptxgraft_enumeration_info info = PTXGRAFT_ENUMERATION_INFO_INIT;
    CProgram program;
    ASSERT_OK(ptxgraft_search_enumerate(&info, &program, search, nullptr));
    ASSERT_NE(program, nullptr);
    EXPECT_EQ(info.has_program, 1u);
    EXPECT_EQ(info.instructions, 2u);
    EXPECT_EQ(info.is_complete, 1u);
    EXPECT_GT(info.trials, 4u);
    CMachine machine;
    ASSERT_OK(ptxgraft_machine_create_from_search(&machine, search, 0));
    const auto text =
        text_of([&](char* t, size_t* n) { return ptxgraft_program_get_text(t, n, program, machine); });
    EXPECT_THAT(text, AllOf(HasSubstr("sub.u32"), HasSubstr("and.b32")));

    // One instruction is too few, and that is proved.
    ptxgraft_enumerate_options options = PTXGRAFT_ENUMERATE_OPTIONS_INIT;
    options.instructions = 1;
    options.threads = 2;
    CProgram none;
    ASSERT_OK(ptxgraft_search_enumerate(&info, &none, search, &options));
    EXPECT_EQ(none, nullptr);
    EXPECT_EQ(info.has_program, 0u);
    EXPECT_EQ(info.is_complete, 1u);
    // Given up, it is not.
    options.instructions = 2;
    options.trials = 1;
    ASSERT_OK(ptxgraft_search_enumerate(&info, &none, search, &options));
    EXPECT_EQ(info.is_complete, 0u);
    CStop stop;
    ASSERT_OK(ptxgraft_stop_create(&stop));
    ASSERT_OK(ptxgraft_stop_request(stop));
    options.trials = 0;
    options.instructions = 6;
    options.stop = stop;
    ASSERT_OK(ptxgraft_search_enumerate(&info, &none, search, &options));
    EXPECT_EQ(info.is_complete, 0u);
    // The search is as it was.
    ptxgraft_summary_info summary = PTXGRAFT_SUMMARY_INFO_INIT;
    ptxgraft_run_options run = PTXGRAFT_RUN_OPTIONS_INIT;
    run.candidates = 100;
    ASSERT_OK(ptxgraft_search_run(&summary, search, &run));
    EXPECT_EQ(summary.judged, 100u);
}

TEST(CApiSearch, AllProgramsAreTriedOfOneSiteThatSaysWhatIsRight) {
    ptxgraft_enumeration_info info = PTXGRAFT_ENUMERATION_INFO_INIT;
    CProgram program;
    const std::string silent = R"({"workload": {"template": "elementwise/simple", "shapes": [{"n": 33}]},
        "sites": {"function": {"set": ["add.f32"]}}, "gates": ["emulation"]})";
    const CSearch asked = search_of(silent);
    EXPECT_EQ(ptxgraft_search_enumerate(&info, &program, asked, nullptr), PTXGRAFT_STATUS_space_invalid);
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("one site, of which the task says what is right"));
    EXPECT_EQ(program, nullptr);
    const CSearch search = search_of(std::string(clear_lowest));
    EXPECT_INVALID(ptxgraft_search_enumerate(nullptr, &program, search, nullptr), "info");
    EXPECT_INVALID(ptxgraft_search_enumerate(&info, nullptr, search, nullptr), "program");
    EXPECT_INVALID(ptxgraft_search_enumerate(&info, &program, nullptr, nullptr), "search");
    expect_options_of_all_versions(ptxgraft_enumerate_options PTXGRAFT_ENUMERATE_OPTIONS_INIT,
                                   "ptxgraft_enumerate_options", 32, [&](const auto* o) {
                                       CProgram made;
                                       ptxgraft_enumeration_info i = PTXGRAFT_ENUMERATION_INFO_INIT;
                                       return ptxgraft_search_enumerate(&i, &made, search, o);
                                   });
    expect_infos_of_all_versions(ptxgraft_enumeration_info PTXGRAFT_ENUMERATION_INFO_INIT,
                                 "ptxgraft_enumeration_info", 32, [&](auto* i) {
                                     CProgram made;
                                     return ptxgraft_search_enumerate(i, &made, search, nullptr);
                                 });
}

// ---- measured costs

// Whoever tells intervals is asked for the elites again.
TEST(CApiSearch, MeasuredElitesAreAskedForAgain) {
    std::string text = without_tunables();
    text.replace(text.find("\"block\": 128"), 12, "\"block\": 16");
    const CSearch search = search_of(text);
    std::size_t again = 0;
    for (int round = 0; round < 12; ++round) {
        CCandidates candidates;
        ASSERT_OK(ptxgraft_search_ask(&candidates, search, 16));
        const std::size_t count = ptxgraft_candidates_get_count(candidates);
        std::vector<double> costs, lows, highs, descriptors;
        for (std::size_t i = 0; i < count; ++i) {
            ptxgraft_candidate_info info = PTXGRAFT_CANDIDATE_INFO_INIT;
            ASSERT_OK(ptxgraft_candidates_get(&info, candidates, i));
            const bool is_lucky = info.index == 5;
            again += info.refine == PTXGRAFT_REFINE_measure ? 1 : 0;
            const double cost = is_lucky ? 0.1 : info.refine == PTXGRAFT_REFINE_measure ? 1.5 : 1;
            costs.push_back(cost), lows.push_back(cost - 0.01), highs.push_back(cost + 0.01);
            descriptors.insert(descriptors.end(), {1.0, 0.0});
        }
        ptxgraft_results results = PTXGRAFT_RESULTS_INIT;
        results.candidates = candidates;
        results.costs = costs.data(), results.lows = lows.data(), results.highs = highs.data();
        results.descriptors = descriptors.data(), results.descriptor_count = 2;
        ASSERT_OK(ptxgraft_search_tell(search, &results));
    }
    EXPECT_GE(again, 2u);
    CElites elites;
    ASSERT_OK(ptxgraft_elites_create(&elites, search));
    ptxgraft_elite_info best = PTXGRAFT_ELITE_INFO_INIT;
    ASSERT_OK(ptxgraft_elites_get(&best, elites, 0));
    EXPECT_NE(best.index, 5u);
    EXPECT_EQ(best.cost, 1);
    EXPECT_THAT(text_of([&](char* t, size_t* n) { return ptxgraft_search_get_ledger(t, n, search); }),
                AllOf(HasSubstr("\"measured_again\":"), Not(HasSubstr("\"disagreed\":0"))));
}

}  // namespace
