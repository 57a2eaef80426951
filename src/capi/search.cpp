// Searches in C: asking, telling, running.

#include "capi/search.hpp"

#include <fmt/format.h>

#include <atomic>
#include <stop_token>

#include "base/try.hpp"
#include "ptxgraft/search_report.hpp"

using namespace ptxgraft;
using capi::call;
using capi::get;

namespace {

static_assert(PTXGRAFT_VERDICT_noisy == int(search::Status::noisy));
static_assert(PTXGRAFT_REFINE_measure == int(search::Refine::measure));
static_assert(PTXGRAFT_ENDING_stagnation == int(search::Stop::stagnation));
static_assert(PTXGRAFT_STRATEGY_climb == int(search::Strategy::climb) + 1);

Expected<void> apply(search::Options& options, const ptxgraft_search_options* given) {
    const auto how = TRY(capi::options_of(given));
    TRY(capi::check_enumerators({{"strategy", how.strategy, PTXGRAFT_STRATEGY_climb}}));
    if (how.has_seed != 0) options.seed = how.seed;
    if (how.strategy != PTXGRAFT_STRATEGY_task)
        options.strategy = static_cast<search::Strategy>(how.strategy - 1);
    return {};
}

// ---- stops

// What the work looks at, set once the caller's stop is asked for.
class Asked {
  public:
    explicit Asked(const ptxgraft_stop* stop)
        : token_(stop != nullptr ? stop->source.get_token() : std::stop_token()),
          callback_(token_, Set{*this}) {}
    [[nodiscard]] const std::atomic<bool>& flag() const { return asked_; }

  private:
    struct Set {
        Asked& asked;
        void operator()() const { asked.asked_ = true; }
    };
    std::atomic<bool> asked_ = false;
    std::stop_token token_;
    std::stop_callback<Set> callback_;
};

// ---- results

// The place of row `i` of a list, whose rows have so many elements; null of none.
template <class T> const T* row_of(const T* list, std::size_t i, std::size_t width) {
    return list != nullptr ? list + i * width : nullptr;
}

Expected<void> check_results(const ptxgraft_results& given, const ptxgraft_search& search) {
    TRY(capi::check_required({{given.candidates, "candidates"}}));
    if (given.candidates->search != search.identity)
        return fail(Errc::argument_invalid, "the candidates are of another search");
    TRY(capi::check_list(given.which, given.which != nullptr ? given.count : 0, "which", "count"));
    TRY(capi::check_list(given.descriptors, given.descriptor_count, "descriptors", "descriptor_count"));
    return capi::check_list(given.errors, given.error_count, "errors", "error_count");
}

// The genome that refinement made of a candidate: its own, but for the programs that are there.
std::optional<search::Genome> refined_of(const search::Candidate& candidate,
                                         const ptxgraft_program* const* programs) {
    if (programs == nullptr) return {};
    std::optional<search::Genome> genome;
    for (std::size_t site = 0; site < candidate.genome.programs.size(); ++site) {
        if (programs[site] == nullptr) continue;
        if (!genome) genome = candidate.genome;
        genome->programs[site] = programs[site]->program;
    }
    return genome;
}

Expected<search::Result> result_of(const ptxgraft_results& given, std::size_t i,
                                   const search::Candidate& candidate) {
    search::Result result;
    result.index = candidate.index;
    if (given.verdicts != nullptr) {
        const int verdict = given.verdicts[i];
        if (verdict < 0 || verdict > PTXGRAFT_VERDICT_noisy)
            return capi::fail_at(
                i, fmt::format("verdicts[{}] is {}; it is 0 to {}", i, verdict, int{PTXGRAFT_VERDICT_noisy}));
        result.status = static_cast<search::Status>(verdict);
    }
    if (given.costs != nullptr) result.cost = given.costs[i];
    result.low = given.lows != nullptr ? given.lows[i] : result.cost;
    result.high = given.highs != nullptr ? given.highs[i] : result.cost;
    if (const double* const row = row_of(given.descriptors, i, given.descriptor_count))
        result.descriptor.assign(row, row + given.descriptor_count);
    if (const float* const row = row_of(given.errors, i, given.error_count))
        result.errors.assign(row, row + given.error_count);
    result.genome = refined_of(candidate, row_of(given.refined, i, candidate.genome.programs.size()));
    return result;
}

// A result that may become an elite has a place on each axis.
Expected<void> check_descriptor(const search::Result& result, std::size_t i, std::size_t axes) {
    if (result.descriptor.size() == axes) return {};
    if (result.descriptor.empty() && result.status != search::Status::ok) return {};
    return capi::fail_at(i, fmt::format("result {} has a descriptor of {} values; the search has {} axes", i,
                                        result.descriptor.size(), axes));
}

Expected<std::vector<search::Result>> results_of(const ptxgraft_results& given,
                                                 const ptxgraft_search& search) {
    TRY(check_results(given, search));
    const std::size_t axes = search.task.options.axes.size();
    const auto& candidates = given.candidates->all;
    const std::size_t count = given.which != nullptr ? given.count : candidates.size();
    std::vector<search::Result> results;
    results.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t place = given.which != nullptr ? given.which[i] : i;
        if (place >= candidates.size())
            return capi::fail_at(i,
                                 fmt::format("which[{}]: candidate {} of {}", i, place, candidates.size()));
        auto result = TRY(result_of(given, i, candidates[place]));
        TRY(check_descriptor(result, i, axes));
        results.push_back(std::move(result));
    }
    return results;
}

// ---- runs

search::RunOptions run_options(const search::Task& task, const ptxgraft_run_options& given) {
    search::RunOptions options{.budget = task.budget,
                               .target = task.target,
                               .stagnation = task.stagnation,
                               .threads = given.threads};
    if (given.candidates != 0) options.budget.candidates = given.candidates;
    if (given.seconds != 0) options.budget.seconds = given.seconds;
    if (given.cpu_seconds != 0) options.budget.cpu_seconds = given.cpu_seconds;
    if (given.progress != nullptr)
        options.progress = [tell = given.progress, payload = given.payload](const search::Ledger& ledger) {
            tell(search::json_text(ledger).c_str(), payload);
        };
    return options;
}

Expected<void> check_seconds(double seconds, const char* field) {
    if (seconds >= 0) return {};
    return fail(Errc::argument_invalid, fmt::format("{} is {}, no number from 0 on", field, seconds));
}

Expected<search::Summary> run(ptxgraft_search& search, const ptxgraft_run_options& given) {
    TRY(check_seconds(given.seconds, "seconds"));
    TRY(check_seconds(given.cpu_seconds, "cpu_seconds"));
    const auto made = TRY(search::gates_of(search.task, search.archive));
    if (made.empty())
        return fail(
            Errc::argument_invalid,
            std::string("the task has no gates: it does not say what is right. Ask and tell instead"));
    std::vector<search::Gate*> gates;
    for (const auto& gate : made) gates.push_back(gate.get());
    const Asked asked(given.stop);
    auto options = run_options(search.task, given);
    options.stop = &asked.flag();
    return search.search.run(gates, options);
}

Expected<const search::Candidate*> candidate_at(const ptxgraft_candidates& candidates, std::size_t index) {
    TRY(capi::check_index(index, candidates.all.size(), "candidate"));
    return &candidates.all[index];
}

// The programs of a site, behind each other.
void write_programs(ptxgraft_candidates& candidates, std::size_t site, std::uint64_t machine) {
    auto& [bytes, offsets] = candidates.sites.emplace_back();
    offsets.push_back(0);
    for (const search::Candidate& candidate : candidates.all) {
        const auto one = stack::to_bytes(candidate.genome.programs[site], machine);
        bytes.insert(bytes.end(), one.begin(), one.end());
        offsets.push_back(bytes.size());
    }
}

}  // namespace

ptxgraft_search::ptxgraft_search(std::string path, search::Task read, search::Search opened)
    : archive(std::move(path)), task(std::move(read)), search(std::move(opened)) {
    for (const auto& site : task.space.sites) hashes.push_back(stack::machine_hash(site.machine));
}

extern "C" {

ptxgraft_status ptxgraft_search_open(ptxgraft_search** search, const char* archive, const char* task,
                                     size_t size, const ptxgraft_search_options* options) {
    return call({{search, "search"}, {task, "task"}}, [&]() -> Expected<void> {
        const auto text = TRY(capi::text_at(task, size));
        auto read = TRY(capi::with_source(search::parse_task(text), text, "task"));
        TRY(apply(read.options, options));
        const std::string path = archive != nullptr ? archive : "";
        const Asked asked(TRY(capi::options_of(options)).stop);
        auto opened = TRY(search::open(read, path, {}, &asked.flag()));
        *search = new ptxgraft_search(path, std::move(read), std::move(opened));
        return {};
    });
}

void ptxgraft_search_destroy(ptxgraft_search* search) { delete search; }

size_t ptxgraft_search_get_site_count(const ptxgraft_search* search) {
    return get(search, "search", size_t{0},
               [](const ptxgraft_search& s) { return s.task.space.sites.size(); });
}

const char* ptxgraft_search_get_site_name(const ptxgraft_search* search, size_t site) {
    const char* name = nullptr;
    call({{search, "search"}}, [&]() -> Expected<void> {
        TRY(capi::check_index(site, search->task.space.sites.size(), "site"));
        name = search->task.space.sites[site].name.c_str();
        return {};
    });
    return name;
}

size_t ptxgraft_search_get_axis_count(const ptxgraft_search* search) {
    return get(search, "search", size_t{0},
               [](const ptxgraft_search& s) { return s.task.options.axes.size(); });
}

const char* ptxgraft_search_get_axis_name(const ptxgraft_search* search, size_t axis) {
    const char* name = nullptr;
    call({{search, "search"}}, [&]() -> Expected<void> {
        TRY(capi::check_index(axis, search->task.options.axes.size(), "axis"));
        name = search->task.options.axes[axis].name.c_str();
        return {};
    });
    return name;
}

ptxgraft_status ptxgraft_machine_create_from_search(ptxgraft_machine** machine, const ptxgraft_search* search,
                                                    size_t site) {
    return call({{machine, "machine"}, {search, "search"}}, [&]() -> Expected<void> {
        TRY(capi::check_index(site, search->task.space.sites.size(), "site"));
        *machine = new ptxgraft_machine(search->task.space.sites[site].machine);
        return {};
    });
}

size_t ptxgraft_search_get_tunable_count(const ptxgraft_search* search) {
    return get(search, "search", size_t{0},
               [](const ptxgraft_search& s) { return s.task.space.tunables.size(); });
}

ptxgraft_status ptxgraft_search_get_tunable(ptxgraft_tunable_info* info, const ptxgraft_search* search,
                                            size_t tunable) {
    return call({{info, "info"}, {search, "search"}}, [&]() -> Expected<void> {
        TRY(capi::check_index(tunable, search->task.space.tunables.size(), "tunable"));
        const search::Tunable& t = search->task.space.tunables[tunable];
        return capi::give_info(info, {sizeof(*info), t.name.c_str(), t.values.data(), t.values.size()});
    });
}

ptxgraft_status ptxgraft_search_ask(ptxgraft_candidates** candidates, ptxgraft_search* search, size_t most) {
    return call({{candidates, "candidates"}, {search, "search"}}, [&]() -> Expected<void> {
        auto made = std::make_unique<ptxgraft_candidates>();
        made->search = search->identity;
        made->all = TRY(search->search.ask(most));
        for (std::size_t site = 0; site < search->hashes.size(); ++site)
            write_programs(*made, site, search->hashes[site]);
        *candidates = made.release();
        return {};
    });
}

void ptxgraft_candidates_destroy(ptxgraft_candidates* candidates) { delete candidates; }

size_t ptxgraft_candidates_get_count(const ptxgraft_candidates* candidates) {
    return get(candidates, "candidates", size_t{0},
               [](const ptxgraft_candidates& c) { return c.all.size(); });
}

ptxgraft_status ptxgraft_candidates_get(ptxgraft_candidate_info* info, const ptxgraft_candidates* candidates,
                                        size_t candidate) {
    return call({{info, "info"}, {candidates, "candidates"}}, [&]() -> Expected<void> {
        const auto found = TRY(candidate_at(*candidates, candidate));
        const search::Candidate& c = *found;
        return capi::give_info(
            info, {sizeof(*info), c.index, c.key.structure, c.key.constants, c.genome.tunables.data(),
                   c.genome.tunables.size(), static_cast<ptxgraft_refine>(c.refine), 0});
    });
}

ptxgraft_status ptxgraft_program_create_from_candidate(ptxgraft_program** program,
                                                       const ptxgraft_candidates* candidates,
                                                       size_t candidate, size_t site) {
    return call({{program, "program"}, {candidates, "candidates"}}, [&]() -> Expected<void> {
        const auto found = TRY(candidate_at(*candidates, candidate));
        TRY(capi::check_index(site, found->genome.programs.size(), "site"));
        *program = new ptxgraft_program{found->genome.programs[site]};
        return {};
    });
}

ptxgraft_status ptxgraft_candidates_get_programs(ptxgraft_programs* programs,
                                                 const ptxgraft_candidates* candidates, size_t site) {
    return call({{programs, "programs"}, {candidates, "candidates"}}, [&]() -> Expected<void> {
        TRY(capi::check_index(site, candidates->sites.size(), "site"));
        const auto& [bytes, offsets] = candidates->sites[site];
        *programs = {bytes.data(), offsets.data(), candidates->all.size(), PTXGRAFT_ENCODING_checked, 0};
        return {};
    });
}

ptxgraft_status ptxgraft_search_tell(ptxgraft_search* search, const ptxgraft_results* results) {
    return call({{search, "search"}, {results, "results"}}, [&]() -> Expected<void> {
        const auto given = TRY(capi::options_of(results));
        const auto all = TRY(results_of(given, *search));
        return search->search.tell(all);
    });
}

ptxgraft_status ptxgraft_search_run(ptxgraft_summary_info* info, ptxgraft_search* search,
                                    const ptxgraft_run_options* options) {
    return call({{info, "info"}, {search, "search"}}, [&]() -> Expected<void> {
        TRY(capi::check_info(info));
        const auto given = TRY(capi::options_of(options));
        const auto summary = TRY(run(*search, given));
        const bool has_best = summary.best.has_value();
        return capi::give_info(
            info, {sizeof(*info), summary.judged, has_best ? summary.best->index : UINT64_MAX,
                   has_best ? summary.best->cost : 0, static_cast<ptxgraft_ending>(summary.stop), 0});
    });
}

ptxgraft_status ptxgraft_search_enumerate(ptxgraft_enumeration_info* info, ptxgraft_program** program,
                                          const ptxgraft_search* search,
                                          const ptxgraft_enumerate_options* options) {
    return call({{info, "info"}, {program, "program"}, {search, "search"}}, [&]() -> Expected<void> {
        TRY(capi::check_info(info));
        const auto given = TRY(capi::options_of(options));
        const Asked asked(given.stop);
        const search::EnumerateOptions how{.instructions = given.instructions,
                                           .trials = given.trials,
                                           .threads = given.threads,
                                           .stop = &asked.flag()};
        const auto found = TRY(search::enumerate(search->task, how));
        TRY(capi::give_info(info, {sizeof(*info), found.trials, found.program.has_value(), found.instructions,
                                   found.is_complete, 0}));
        *program = found.program ? new ptxgraft_program{*found.program} : nullptr;
        return {};
    });
}

ptxgraft_status ptxgraft_search_get_ledger(char* text, size_t* size, const ptxgraft_search* search) {
    return call({{size, "size"}, {search, "search"}},
                [&] { return capi::give_text(text, size, search::json_text(search->search.ledger())); });
}

}  // extern "C"
