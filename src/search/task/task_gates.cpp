// What a task's search is made of: its gates, what it begins with, and what follows it.

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/try.hpp"
#include "ptxgraft/program.hpp"
#include "ptxgraft/search_task.hpp"
#include "search/archive/new_file.hpp"

namespace ptxgraft::search {
namespace {

using MadeGate = Expected<std::unique_ptr<Gate>>;

const GateSpec* timing_of(const Task& task) {
    const auto found = std::ranges::find_if(task.gates, [](const GateSpec& gate) {
        return std::holds_alternative<TimingGateOptions>(gate.options);
    });
    return found == task.gates.end() ? nullptr : &*found;
}

// Where a task wants times, a pool that does not open has no GPU for them.
Expected<measure::Pool> pool_of(const Task& task) {
    auto pool = measure::Pool::open(*task.pool);
    if (pool || timing_of(task) == nullptr) return pool;
    return fail(Errc::timing_not_possible, "time needs a GPU: " + message(pool.error()));
}

// What is right at a site; null where the task does not say it.
const Cases* cases_of(const Task& task, std::size_t site) {
    if (!task.workload) return &task.cases;
    return site < task.screens.size() && task.screens[site] ? &*task.screens[site] : nullptr;
}

// For each site of which the task says what is right the shortest program, where it is short enough to be
// found; of others the first seed. What cannot be enumerated is searched all the same.
std::optional<Genome> shortest(const Task& task, const std::atomic<bool>* stop) {
    EnumerateOptions options = task.enumeration;
    options.perturb = task.columns.perturb;
    options.stop = stop;
    Genome genome{.programs = {}, .tunables = std::vector<std::uint32_t>(task.space.tunables.size(), 0)};
    bool is_any_found = false;
    for (std::size_t s = 0; s < task.space.sites.size(); ++s) {
        const SiteSpace& site = task.space.sites[s];
        genome.programs.push_back(site.seeds.empty() ? stack::Program{} : site.seeds[0]);
        const Cases* const cases = cases_of(task, s);
        if (cases == nullptr) continue;
        Space of_site{.sites = {site}, .tunables = {}, .constants = task.space.constants};
        if (of_site.constants.empty()) of_site.constants = {0, 1, -1, 2, 0.5};
        const auto found = enumerate(of_site, *cases, options);
        if (!found || !found->program) continue;
        auto program = stack::simplify(*found->program, site.machine, program_options);
        if (!program || program->code.size() > site.max_genes) continue;
        genome.programs.back() = std::move(*program);
        is_any_found = true;
    }
    return is_any_found ? std::optional(std::move(genome)) : std::nullopt;
}

// Makes the gate of one kind of options.
class Maker {
  public:
    Maker(const Task& task, const std::string& archive) : task_(task), archive_(archive) {}
    Expected<void> open() {
        if (task_.workload) kernels_ = TRY(Workloads::make(task_.space, *task_.workload));
        if (task_.pool) pool_ = TRY(pool_of(task_));
        return {};
    }
    MadeGate make(const GateSpec& spec) {
        spec_ = &spec;
        return std::visit([&](const auto& options) { return of(options); }, spec.options);
    }

  private:
    MadeGate of(const LimitOptions& options) const { return limits(task_.space, options); }
    MadeGate of(const PolicyOptions& options) const { return policy(task_.space, options); }
    MadeGate of(SiteColumnsOptions options) const {
        if (!task_.workload) return columns(task_.space, task_.cases, task_.columns);
        options.columns = task_.columns;
        return columns(task_.space, task_.screens, options);
    }
    MadeGate of(AssemblyOptions options) const {
        options.assembler = TRY(find_assembler(spec_->assembler));
        return guarded(TRY(assembly(task_.space, *kernels_, options)), archive_);
    }
    MadeGate of(const EmulationOptions& options) const {
        return guarded(TRY(emulation(task_.space, *kernels_, options)), archive_);
    }
    // Workers die in the place of this process.
    MadeGate of(CheckingOptions options) const {
        if (!options.assembler) options.assembler = TRY(find_assembler(spec_->assembler));
        return checking(task_.space, *kernels_, *pool_, options);
    }
    MadeGate of(TimingGateOptions options) const {
        if (!options.assembler) options.assembler = TRY(find_assembler(spec_->assembler));
        options.archive = archive_;
        return timing(task_.space, *kernels_, *pool_, options);
    }

    const Task& task_;
    const std::string& archive_;
    std::optional<Workloads> kernels_;
    std::optional<measure::Pool> pool_;
    const GateSpec* spec_ = nullptr;
};

}  // namespace

Expected<std::vector<std::unique_ptr<Gate>>> gates_of(const Task& task, const std::string& archive) {
    Maker maker(task, archive);
    TRY(maker.open());
    std::vector<std::unique_ptr<Gate>> made;
    for (const GateSpec& spec : task.gates) made.push_back(TRY(maker.make(spec)));
    return made;
}

Expected<Enumeration> enumerate(const Task& task, const EnumerateOptions& options) {
    const Cases* const cases = task.space.sites.size() == 1 ? cases_of(task, 0) : nullptr;
    if (cases == nullptr)
        return fail(Errc::space_invalid,
                    std::string("all programs are tried for one site, of which the task says what is right"));
    EnumerateOptions of_task = options;
    of_task.perturb = task.columns.perturb;
    return enumerate(task.space, *cases, of_task);
}

bool is_begun(const std::string& archive) {
    std::error_code none;
    return !archive.empty() && std::filesystem::exists(NewFile::name_of(archive), none);
}

Expected<Search> open(const Task& task, const std::string& archive, std::vector<Genome> first,
                      const std::atomic<bool>* stop) {
    const bool is_new = archive.empty() || !std::filesystem::exists(archive);
    if (is_new && task.options.strategy == Strategy::evolve && task.enumeration.instructions != 0) {
        if (!archive.empty()) std::ofstream(NewFile::name_of(archive), std::ios::app).flush();
        auto begin = shortest(task, stop);
        if (stop != nullptr && stop->load()) return fail(Errc::work_stopped);
        if (begin) first.insert(first.begin(), std::move(*begin));
    }
    return Search::open(archive, task.space, task.options, std::move(first));
}

Expected<std::vector<Finalist>> confirm(const Task& task, std::span<const Elite> elites,
                                        const std::string& archive) {
    const GateSpec* const spec = timing_of(task);
    if (spec == nullptr) return fail(Errc::argument_invalid, std::string("the task has no gate that times"));
    const auto& gate = std::get<TimingGateOptions>(spec->options);
    ConfirmOptions options{.protocol = gate.protocol, .archive = archive};
    options.assemblers.push_back(gate.assembler ? gate.assembler : TRY(find_assembler(spec->assembler)));
    if (auto other = find_assembler("ptxas"); !gate.assembler && other)
        options.assemblers.push_back(std::move(*other));
    const measure::Pool pool = TRY(pool_of(task));
    const Workloads kernels = TRY(Workloads::make(task.space, *task.workload));
    return confirm(elites, task.space, kernels, pool, options);
}

}  // namespace ptxgraft::search
