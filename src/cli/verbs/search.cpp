// ptxgraft search: looks for programs that do what a task wants, and shows what was found.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include "base/keep_memory.hpp"
#include "cli/interrupt.hpp"
#include "cli/print_json.hpp"
#include "cli/text_file.hpp"
#include "cli/verb.hpp"
#include "ptxgraft/program.hpp"
#include "ptxgraft/search_report.hpp"
#include "ptxgraft/search_task.hpp"

namespace ptxgraft::cli {
namespace {

using search::Elite;

struct SearchFlags {
    std::string task, archive, budget, strategy, judged_before;
    std::uint64_t seed = 0, stagnation = 0;
    std::uint32_t jobs = 0;
    std::optional<std::uint32_t> enumerates;  // instructions
    bool has_seed = false, resumes = false, skips_enumeration = false, json = false;
};
struct ArchiveFlags {
    std::string archive, cell, site, output = "-";
    std::vector<std::string> beside, merged;
    bool json = false, csv = false;
};

// Whether there is a budget of this name, and of this value.
bool set_budget(search::Budget& budget, std::string_view name, double value) {
    const std::pair<std::string_view, double*> times[] = {{"seconds", &budget.seconds},
                                                          {"cpu_seconds", &budget.cpu_seconds},
                                                          {"gpu_seconds", &budget.gpu_seconds}};
    const std::pair<std::string_view, std::uint64_t*> counts[] = {{"candidates", &budget.candidates},
                                                                  {"assemblies", &budget.assemblies},
                                                                  {"emulations", &budget.emulations}};
    for (const auto& [key, to] : times)
        if (name == key) return *to = value, true;
    for (const auto& [key, to] : counts)
        if (name == key && value == std::floor(value)) return *to = static_cast<std::uint64_t>(value), true;
    return false;
}

// "candidates=1e6,seconds=60" in the place of what the task says.
void read_budget(search::Budget& budget, std::string_view text) {
    while (!text.empty()) {
        const std::string_view one = text.substr(0, text.find(','));
        text.remove_prefix(std::min(one.size() + 1, text.size()));
        const NamedValue named = split_named("--budget", one);
        double value = -1;
        const char* const end = named.value.data() + named.value.size();
        if (std::from_chars(named.value.data(), end, value).ptr != end || !(value >= 0) || value > 1e18)
            fail_usage(fmt::format("--budget: '{}' is no number from 0 on", named.value));
        if (!set_budget(budget, named.name, value)) {
            const bool is_known =
                named.name == "candidates" || named.name == "assemblies" || named.name == "emulations";
            fail_usage(is_known
                           ? fmt::format("--budget: {} are whole numbers, not {}", named.name, named.value)
                           : fmt::format("--budget has candidates, seconds, cpu_seconds, assemblies, "
                                         "emulations and gpu_seconds, not '{}'",
                                         named.name));
        }
    }
}

// A budget that no gate of the task spends, where nothing else ends the search.
void check_budget(const search::Task& task) {
    const auto has = [&]<class GateOptions>(const GateOptions*) {
        return std::ranges::any_of(task.gates, [](const search::GateSpec& gate) {
            return std::holds_alternative<GateOptions>(gate.options);
        });
    };
    const search::Budget& budget = task.budget;
    const bool has_gpu = has(static_cast<search::TimingGateOptions*>(nullptr)) ||
                         has(static_cast<search::CheckingOptions*>(nullptr));
    const struct {
        std::string_view name, gate;
        bool is_said, is_spent;
    } all[] = {{"assemblies", "assembly", budget.assemblies != 0,
                has(static_cast<search::AssemblyOptions*>(nullptr))},
               {"emulations", "emulation", budget.emulations != 0,
                has(static_cast<search::EmulationOptions*>(nullptr))},
               {"gpu_seconds", "timing", budget.gpu_seconds != 0, has_gpu}};
    bool ends = budget.candidates != 0 || budget.seconds != 0 || budget.cpu_seconds != 0 || task.target ||
                task.stagnation != 0;
    for (const auto& one : all) ends = ends || (one.is_said && one.is_spent);
    for (const auto& one : all)
        if (one.is_said && !ends)
            fail_usage(fmt::format("a budget of {} ends nothing here: the task has no gate \"{}\"", one.name,
                                   one.gate));
}

std::string values_of(const Elite& elite, const std::vector<search::Axis>& axes) {
    std::string text;
    for (std::size_t k = 0; k < elite.descriptor.size() && k < axes.size(); ++k)
        text += fmt::format("{}{} {:.6g}", k == 0 ? "" : ", ", axes[k].name, elite.descriptor[k]);
    return text;
}

void print_front(std::span<const Elite> front, const search::Space& space,
                 const std::vector<search::Axis>& axes) {
    for (const Elite& elite : front) {
        fmt::print("# {}: candidate {}", values_of(elite, axes), elite.index);
        for (std::size_t t = 0; t < space.tunables.size(); ++t)
            fmt::print(", {} = {}", space.tunables[t].name,
                       space.tunables[t].values[elite.genome.tunables[t]]);
        fmt::print("\n");
        for (std::size_t s = 0; s < space.sites.size(); ++s)
            fmt::print("{}\n", search::program_text(elite.genome.programs[s], space.sites[s].machine));
    }
}

// A line that is written over, on a terminal; with --json a line of JSON for each second.
class Progress {
  public:
    explicit Progress(bool json) : json_(json), is_terminal_(isatty(2) != 0) {}
    ~Progress() {
        if (is_begun_) fmt::print(stderr, "\r\x1b[K");
    }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void show(const search::Ledger& ledger) {
        const auto now = Clock::now();
        if (now - last_ < std::chrono::seconds(1)) return;
        last_ = now;
        if (json_) {
            fmt::print("{}\n", json_line({{"event", "progress"},
                                          {"ledger", Json::parse(search::json_text(ledger))}}));
            std::fflush(stdout);
        } else if (is_terminal_) {
            is_begun_ = true;
            const double seconds = std::chrono::duration<double>(now - begin_).count();
            fmt::print(stderr, "\r{} judged, {} cells, {} drawn twice, {:.0f}/s\x1b[K", ledger.judged,
                       ledger.cells, ledger.duplicates, static_cast<double>(ledger.judged) / seconds);
            std::fflush(stderr);
        }
    }

  private:
    using Clock = std::chrono::steady_clock;
    bool json_, is_terminal_, is_begun_ = false;
    Clock::time_point begin_ = Clock::now(), last_ = Clock::now();
};

// Sets the stop when Ctrl-C has come, or when the time is over.
class Watch {
  public:
    explicit Watch(double seconds = 0)
        : thread_([this, seconds](const std::stop_token& ended) {
              const auto begin = std::chrono::steady_clock::now();
              while (!ended.stop_requested() && !stop_) {
                  std::this_thread::sleep_for(std::chrono::milliseconds(20));
                  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
                  if (interrupt_.came() || (seconds != 0 && spent.count() >= seconds)) stop_ = true;
              }
          }) {}
    [[nodiscard]] const std::atomic<bool>& stop() const { return stop_; }
    [[nodiscard]] bool came() const { return interrupt_.came(); }

  private:
    Interrupt interrupt_;
    std::atomic<bool> stop_ = false;
    std::jthread thread_;
};

search::Summary run(search::Search& search, const search::Task& task, const SearchFlags& flags) {
    const auto made = take(search::gates_of(task, flags.archive), {}, flags.task);
    std::vector<search::Gate*> gates;
    for (const auto& gate : made) gates.push_back(gate.get());
    const Watch watch;
    Progress progress(flags.json);
    search::RunOptions options{.budget = task.budget,
                               .target = task.target,
                               .stagnation = task.stagnation,
                               .threads = flags.jobs,
                               .stop = &watch.stop()};
    options.progress = [&](const search::Ledger& ledger) { progress.show(ledger); };
    return take(search.run(gates, options), {}, flags.archive);
}

// What was chosen by times is told by other ones.
void confirm_best(const search::Search& search, const search::Task& task, const SearchFlags& flags) {
    const auto finalists = take(search::confirm(task, search.elites(), flags.archive), {}, flags.task);
    if (flags.json) {
        Json all = Json::array();
        for (const search::Finalist& one : finalists)
            all.push_back({{"index", one.elite.index},
                           {"status", name(one.status)},
                           {"ratio", one.ratio},
                           {"low", one.low},
                           {"high", std::isfinite(one.high) ? Json(one.high) : Json("inf")},
                           {"verdict", measure::name(one.verdict)},
                           {"rounds", one.rounds},
                           {"sessions", one.sessions},
                           {"assemblers", one.assemblers},
                           {"detail", one.detail}});
        fmt::print("{}\n", json_line({{"event", "confirmed"}, {"finalists", std::move(all)}}));
        return;
    }
    fmt::print("# measured again, in other processes, of the baseline's time:\n");
    for (const search::Finalist& one : finalists)
        if (one.status == search::Status::ok)
            fmt::print(
                "# candidate {}: {:.4f} ({:.4f} to {:.4f}), {}; {} rounds in "
                "{} sessions, right by {}\n",
                one.elite.index, one.ratio, one.low, one.high, measure::name(one.verdict), one.rounds,
                one.sessions, fmt::join(one.assemblers, " and "));
        else
            fmt::print("# candidate {}: {}: {}\n", one.elite.index, name(one.status), one.detail);
}

// All programs of a few instructions, from the shortest on.
void enumerate_task(const search::Task& task, const SearchFlags& flags) {
    Watch watch(task.budget.seconds);
    const search::EnumerateOptions options{.instructions = *flags.enumerates,
                                           .trials = task.budget.candidates,
                                           .threads = flags.jobs,
                                           .stop = &watch.stop()};
    const auto found = take(search::enumerate(task, options), {}, flags.task);
    const stack::Machine& machine = task.space.sites[0].machine;
    const std::string text = found.program ? search::program_text(*found.program, machine) : "";
    if (flags.json)
        print_json({{"program", found.program ? Json(text) : Json()},
                    {"instructions", found.program ? Json(found.instructions) : Json()},
                    {"complete", found.is_complete},
                    {"trials", found.trials}});
    else if (found.program)
        fmt::print(
            "{}\n# {} instructions, and no program of these forms and constants that was tried has fewer: {} "
            "trials\n",
            text, found.instructions, found.trials);
    else
        fmt::print(
            "# {}: {} trials\n",
            found.is_complete
                ? fmt::format("no program of at most {} instructions, these forms and constants is right",
                              *flags.enumerates)
                : "given up before all were tried",
            found.trials);
    if (watch.came()) throw Interrupt::failure();
}

// What another archive found right is judged first, in a new one.
Expected<search::Search> open_search(const search::Task& task, const SearchFlags& flags) {
    std::vector<search::Genome> first;
    if (!flags.judged_before.empty()) {
        if (flags.archive.empty() || std::filesystem::exists(flags.archive))
            fail_usage("--reevaluate wants --archive with a file that does not exist: a new search's");
        const auto old = take(search::Archive::open(flags.judged_before), {}, flags.judged_before);
        first = take(old.genomes_for(task.space), {}, flags.judged_before);
        if (!flags.json)
            fmt::print(stderr, "# {} genomes of {} are judged anew\n", first.size(), flags.judged_before);
    }
    const Watch watch;
    auto opened = search::open(task, flags.archive, std::move(first), &watch.stop());
    if (watch.came()) throw Interrupt::failure();
    if (!opened && opened.error().code == Errc::archive_differs) {
        const auto& detail = opened.error().detail;
        return fail(Errc::archive_differs,
                    (detail ? *detail + "; " : std::string()) +
                        "--reevaluate judges what it found anew, in another --archive");
    }
    return opened;
}

void search_task(const SearchFlags& flags) {
    if (flags.task.empty()) fail_usage("which task? Give TASK.json, or best or export with an archive");
    const std::string text = take(read_file(flags.task));
    search::Task task = take(search::parse_task(text), text, display_name(flags.task));
    if (flags.has_seed) task.options.seed = flags.seed;
    for (const search::Strategy one :
         {search::Strategy::evolve, search::Strategy::random, search::Strategy::climb})
        if (flags.strategy == name(one)) task.options.strategy = one;
    read_budget(task.budget, flags.budget);
    if (flags.stagnation != 0) task.stagnation = flags.stagnation;
    if (flags.enumerates) {
        if (!flags.archive.empty()) fail_usage("--enumerate has no --archive: it prints what it finds");
        if (task.space.sites.size() != 1)
            fail_usage("--enumerate is for one site, of which the task says what is right");
        return enumerate_task(task, flags);
    }
    if (flags.skips_enumeration) task.enumeration.instructions = 0;
    check_budget(task);
    const bool exists = !flags.archive.empty() && std::filesystem::exists(flags.archive);
    if (exists && !flags.resumes)
        fail_usage(fmt::format("{} exists; --resume goes on with it", flags.archive));
    if (flags.resumes && !exists && !search::is_begun(flags.archive))
        fail_usage("--resume wants --archive with a search that was begun");
    if (flags.resumes && !exists)
        fmt::print(stderr, "# {} was ended before anything was judged: it begins anew, as is said now\n",
                   flags.archive);
    auto search = take(open_search(task, flags), {}, flags.archive);
    const search::Summary summary = run(search, task, flags);
    const auto front = search::pareto_front(search.elites());
    if (flags.json) {
        Json elites = Json::array();
        for (const Elite& elite : front)
            elites.push_back(Json::parse(search::json_text(elite, search.space())));
        fmt::print("{}\n", json_line({{"event", "end"},
                                      {"stop", name(summary.stop)},
                                      {"ledger", Json::parse(search::json_text(search.ledger()))},
                                      {"elites", elites}}));
    } else {
        print_front(front, search.space(), task.options.axes);
        const search::Ledger ledger = search.ledger();
        fmt::print("# ended by {}: {} judged of {} drawn, {} of them right, {} cells\n", name(summary.stop),
                   ledger.judged, ledger.drawn, ledger.by_status[0], ledger.cells);
        if (ledger.measured_again != 0)
            fmt::print("# {} measurements again of elites, {} of which are not what was measured before\n",
                       ledger.measured_again, ledger.disagreed);
        if (ledger.guessed != 0)
            fmt::print("# {} were guessed to be too large, and not assembled\n", ledger.guessed);
    }
    if (task.is_timed() && summary.stop != search::Stop::asked && !front.empty())
        confirm_best(search, task, flags);
    if (summary.stop == search::Stop::asked) throw Interrupt::failure();
}

// A stub as PTX, which `graft --stub SITE=FILE.ptx` takes, below the program that it is compiled from.
std::string stub_text(const stack::Program& found, const stack::Machine& machine) {
    const stack::Program program = take(stack::simplify(found, machine, search::program_options));
    const Stub stub = take(stack::make_stub(program, machine, search::program_options));
    std::string text = "// " + stack::print(program, machine);
    while (text.ends_with('\n')) text.pop_back();
    for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 4)
        text.replace(at, 1, "\n// ");
    return text + "\n" + stub.ptx();
}

// Of a site, or of all, each behind a line with its name where there are several.
void show_stubs(const Elite& elite, const search::Space& space, std::string_view wanted) {
    const auto is_wanted = [&](const search::SiteSpace& site) {
        return wanted.empty() || site.name == wanted;
    };
    if (std::ranges::none_of(space.sites, is_wanted))
        fail_usage(fmt::format("--site: the archive has no site {}", wanted));
    for (std::size_t s = 0; s < space.sites.size(); ++s) {
        if (!is_wanted(space.sites[s])) continue;
        if (space.sites.size() > 1) fmt::print("// site {}\n", space.sites[s].name);
        fmt::print("{}", stub_text(elite.genome.programs[s], space.sites[s].machine));
    }
}

void show_best(const ArchiveFlags& flags) {
    const auto archive = take(search::Archive::open(flags.archive), {}, flags.archive);
    auto front = take(archive.elites(), {}, flags.archive);
    if (flags.cell.empty()) front = search::pareto_front(front);
    if (!flags.cell.empty())  // which another one may beat
        std::erase_if(front, [&](const Elite& elite) {
            return fmt::format("{}", fmt::join(elite.cell, ",")) != flags.cell;
        });
    if (front.empty()) throw Failure{fmt::format("error: {} has no such elite\n", flags.archive)};
    if (flags.json) {
        Json all = Json::array();
        for (const Elite& elite : front)
            all.push_back(Json::parse(search::json_text(elite, archive.space())));
        return print_json(all);
    }
    const auto best = std::ranges::min_element(
        front, {}, [](const Elite& elite) { return std::pair(elite.bound(), elite.cost); });
    for (const Elite& elite : front) {
        const bool is_shown = &elite == &*best;
        fmt::print("// {}: candidate {}, cell {}{}\n", values_of(elite, archive.options().axes), elite.index,
                   fmt::join(elite.cell, ","), is_shown ? ", which follows" : "");
    }
    show_stubs(*best, archive.space(), flags.site);
}

void export_archive(const ArchiveFlags& flags) {
    const auto archive = take(search::Archive::open(flags.archive), {}, flags.archive);
    std::string text;
    const auto add_line = [&](std::string_view line) { text.append(line).append("\n"); };
    const auto add_record = [&](std::string_view record) { text.append(record); };
    take(flags.csv ? archive.export_csv(add_record) : archive.export_json(add_line), {}, flags.archive);
    take(write_file(flags.output, text));
}

void report(const ArchiveFlags& flags) {
    const auto archive = take(search::Archive::open(flags.archive), {}, flags.archive);
    std::vector<search::Archive> beside;
    for (const std::string& path : flags.beside)
        beside.push_back(take(search::Archive::open(path), {}, path));
    const search::ReportOptions options{.title = std::filesystem::path(flags.archive).filename().string()};
    take(write_file(flags.output, take(flags.json ? search::report_json(archive, beside, options)
                                                  : search::report_html(archive, beside, options))));
}

}  // namespace

void add_search(CLI::App& app) {
    CLI::App* const verb = app.add_subcommand(
        "search", "Look for programs that do what a task wants, and keep the best of each kind");
    const auto flags = std::make_shared<SearchFlags>();
    verb->add_option("TASK", flags->task, "A task, TASK.json")->type_name("");
    verb->add_option("--archive", flags->archive, "FILE: keep all candidates there (SQLite)");
    verb->add_flag("--resume", flags->resumes, "Go on with the search of --archive");
    auto* const seed =
        verb->add_option("--seed", flags->seed, "Another seed than the task's")->check(wrong_from_zero);
    verb->add_option("--strategy", flags->strategy, "evolve; random or climb, to compare with")
        ->check(CLI::IsMember({"evolve", "random", "climb"}));
    verb->add_option("--enumerate", flags->enumerates,
                     "N: try all programs of at most N instructions instead, with the task's constants");
    verb->add_flag("--no-enumeration", flags->skips_enumeration,
                   "Begin with random programs, not with what a short enumeration finds");
    verb->add_option("--jobs", flags->jobs, "Threads; 0: one per processor");
    verb->add_option("--budget", flags->budget,
                     "candidates=N,seconds=S,cpu_seconds=S,assemblies=N,emulations=N,gpu_seconds=S: where it "
                     "ends; with --resume, counted from there");
    verb->add_option("--stagnation", flags->stagnation,
                     "N: end where none of N candidates was the best of a cell");
    verb->add_option(
        "--reevaluate", flags->judged_before,
        "FILE: judge what that archive found right anew, first of all, in a new --archive: where "
        "the task, its template or the library has changed");
    verb->add_flag("--json", flags->json, "A line of JSON for each event");
    verb->require_subcommand(0, 1);
    const auto shown = std::make_shared<ArchiveFlags>();
    CLI::App* const best = verb->add_subcommand(
        "best", "Print the best stub of an archive, or of a cell, as PTX that graft takes");
    best->add_option("ARCHIVE", shown->archive, "A search's archive")->required()->type_name("");
    best->add_option("--cell", shown->cell, "I,J: those of one cell alone");
    best->add_option("--site", shown->site, "NAME: the stub of one site alone, of a search of several");
    best->add_flag("--json", shown->json, "Print them as JSON");
    CLI::App* const exported =
        verb->add_subcommand("export", "Print each candidate of an archive, as a line of JSON or as CSV");
    exported->add_option("ARCHIVE", shown->archive, "A search's archive")->required()->type_name("");
    exported->add_option("-o,--output", shown->output, "FILE; - for standard output");
    exported->add_flag("--csv", shown->csv, "As CSV, with the names of the columns (RFC 4180)");
    CLI::App* const reported = verb->add_subcommand(
        "report", "Write an archive as a page: what was found, how, at what cost, and beside other searches");
    reported->add_option("ARCHIVE", shown->archive, "A search's archive, or a collection")
        ->required()
        ->type_name("");
    reported->add_option("-o,--output", shown->output, "FILE.html; - for standard output");
    reported->add_option(
        "--beside", shown->beside,
        "FILE…: archives of the same task, of other seeds or by random and climb, in the same "
        "plots; of several of one strategy median and quartiles");
    reported->add_flag("--json", shown->json, "The same as JSON");
    CLI::App* const merged = verb->add_subcommand(
        "merge",
        "Make one archive of several of one space and task: a collection, to be read and not continued");
    merged->add_option("ARCHIVES", shown->merged, "Archives, or collections, in any order")
        ->required()
        ->type_name("");
    merged->add_option("-o,--output", shown->output, "FILE, which does not exist")->required();
    verb->callback([=] {
        if (reported->parsed()) return report(*shown);
        if (merged->parsed()) return take(search::merge(shown->merged, shown->output));
        if (best->parsed()) return show_best(*shown);
        if (exported->parsed()) return export_archive(*shown);
        flags->has_seed = seed->count() != 0;
        keep_memory();
        search_task(*flags);
    });
}

}  // namespace ptxgraft::cli
