// Candidates as code for a pool's workers.
#include "search/gates/variants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/try.hpp"
#include "search/gates/figures.hpp"

namespace ptxgraft::search {

Expected<std::unique_ptr<Variants>> Variants::make(const Space& space, const Workloads& kernels,
                                                   const measure::Pool& pool,
                                                   std::shared_ptr<const Assembler> assembler) {
    std::unique_ptr<Variants> made(new Variants(space, kernels, std::move(assembler)));
    const std::vector<measure::WorkerInfo> workers = pool.workers();
    made->target_ = workers.at(0).target;
    for (const measure::WorkerInfo& worker : workers)
        if (worker.target != made->target_)
            return fail(Errc::argument_invalid, fmt::format("a search is for one target, not for {} and {}",
                                                            made->target_, worker.target));
    made->has_gpu_ = std::ranges::all_of(
        workers, [](const measure::WorkerInfo& worker) { return worker.device != "emulator"; });
    made->gpu_count_ = made->has_gpu_ ? workers.size() : 0;
    const std::vector<std::uint32_t> first(space.tunables.size(), 0);
    TRY(kernels.text(first));
    TRY(made->find(first));
    return made;
}

// As a checker compiles it for its device, whose baseline has to be of the same code.
Expected<Variants::Kernels> Variants::compiled(const std::vector<std::uint32_t>& tunables) const {
    const measure::Workload workload = TRY(kernels_.find(tunables));
    const measure::WorkloadOptions& said = workload.options();
    const Template& from = workload.from();
    const bool follows = has_gpu_ && said.target.empty() && !from.target().ends_with('a');
    Kernels made{workload.skeleton(), from.entry()};
    if (follows && made.skeleton.target() != target_)
        made.skeleton = TRY(from.skeleton(said.choices, target_, said.cuda));
    return made;
}

Expected<Variants::Kernels> Variants::find(const std::vector<std::uint32_t>& tunables) {
    {
        const std::scoped_lock lock(mutex_);
        if (const auto known = made_.find(tunables); known != made_.end()) return known->second;
    }
    const Kernels made = TRY(compiled(tunables));
    const std::scoped_lock lock(mutex_);
    return made_.emplace(tunables, made).first->second;
}

Expected<measure::VariantCode> Variants::code(const Genome& genome, const Assembler* assembler) {
    const std::vector<Graft> grafts = TRY(grafts_of(genome, space_));
    const Kernels kernels = TRY(find(genome.tunables));
    measure::VariantCode code{.ptx = TRY(kernels.skeleton.render(grafts)), .entry = kernels.entry};
    if (assembler == nullptr) return code;
    code.cubin = std::make_shared<const Cubin>(TRY(assembler->assemble(code.ptx, {.target = target_})));
    return code;
}
Expected<measure::VariantCode> Variants::code(const Genome& genome) {
    const Assembler* const own = assembler_ ? assembler_.get() : &default_assembler();
    return code(genome, has_gpu_ ? own : nullptr);
}
Expected<measure::VariantCode> Variants::code(const Genome& genome, const Assembler& assembler) {
    return code(genome, has_gpu_ ? &assembler : nullptr);
}

std::vector<VariantGroup> Variants::groups(std::span<const Candidate* const> candidates,
                                           std::span<Result* const> results) {
    std::map<std::vector<std::uint32_t>, VariantGroup> groups;
    for (std::size_t k = 0; k < candidates.size(); ++k) {
        if (is_known(*candidates[k], *results[k])) continue;
        const Genome& genome = genome_of(*candidates[k], *results[k]);
        const auto workload = kernels_.text(genome.tunables);
        auto made = code(genome);
        if (!workload || !made) {
            end(*results[k], Status::failed, message(workload ? made.error() : workload.error()));
            continue;
        }
        VariantGroup& group = groups[genome.tunables];
        group.workload = *workload;
        group.candidates.push_back(k);
        group.variants.push_back(std::move(*made));
    }
    std::vector<VariantGroup> all;
    for (auto& [tunables, group] : groups) all.push_back(std::move(group));
    return all;
}

void end_where_no_device_works(const Error& error) {
    if (error.code == Errc::measure_worker_failed || error.code == Errc::timing_not_possible)
        throw std::runtime_error(message(error));
}

}  // namespace ptxgraft::search
