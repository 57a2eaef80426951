// The gate that runs candidates on the emulator, each thread on a device of its own.

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "base/try.hpp"
#include "ptxgraft/target.hpp"
#include "search/gates/figures.hpp"
#include "search/gates/findings.hpp"
#include "search/gates/lengths.hpp"

namespace ptxgraft::search {
namespace {

using measure::Check;
using measure::Checker;
using measure::Finding;

class EmulationGate final : public Gate {
  public:
    EmulationGate(const Space& space, Workloads kernels, const EmulationOptions& options)
        : space_(space), kernels_(std::move(kernels)), options_(options) {}
    [[nodiscard]] std::string_view name() const override { return "emulation"; }

    void evaluate(std::span<const Candidate* const> candidates, std::span<Result* const> results) override {
        for (std::size_t k = 0; k < candidates.size(); ++k)
            if (!is_known(*candidates[k], *results[k]))
                judge(genome_of(*candidates[k], *results[k]), *results[k]);
    }

    // The first combination's checker, so that what is wrong with all candidates is no verdict on each.
    [[nodiscard]] Expected<void> try_first() {
        const std::vector<std::uint32_t> first(space_.tunables.size(), 0);
        give_back(first, TRY(take(first)));
        return {};
    }

  private:
    using Tunables = std::vector<std::uint32_t>;

    Expected<std::unique_ptr<Checker>> take(const Tunables& tunables) {
        {
            const std::scoped_lock lock(mutex_);
            auto& free = free_[tunables];
            if (!free.empty()) {
                auto taken = std::move(free.back());
                free.pop_back();
                return taken;
            }
        }
        const measure::Workload workload = TRY(kernels_.find(tunables));
        const Architecture target = TRY(parse_architecture(workload.skeleton().target()));
        const Device device = TRY(Device::emulator({.threads = 1, .sm = target.sm, .fast = options_.fast}));
        return std::make_unique<Checker>(TRY(Checker::open(workload, device, options_.check)));
    }
    void give_back(const Tunables& tunables, std::unique_ptr<Checker> checker) {
        const std::scoped_lock lock(mutex_);
        free_[tunables].push_back(std::move(checker));
    }

    void judge(const Genome& genome, Result& result) {
        const auto made = grafts_of(genome, space_);
        if (!made) return end(result, Status::failed, message(made.error()));
        auto checker = take(genome.tunables);
        if (!checker) return end(result, Status::rejected, message(checker.error()));
        const auto check = checked(**checker, *made);
        const std::size_t cases = (*checker)->cases().size();
        give_back(genome.tunables, std::move(*checker));
        note(result, options_.figures, Objective::instructions, lengths_.of(genome, space_));
        if (!check) return end(result, Status::failed, message(check.error()));
        take_check(*check, cases, result);
    }
    [[nodiscard]] static Expected<Check> checked(Checker& checker, std::span<const Graft> grafts) {
        const auto launch_entry = checker.baseline().entry();
        const Kernel kernel =
            TRY(checker.skeleton().graft(grafts, checker.device(), {.entry = std::string(launch_entry)}));
        return checker.check(kernel);
    }
    void take_check(const Check& check, std::size_t cases, Result& result) const {
        if (check.finding != Finding::right) end(result, status_of(check.finding), detail_of(check));
        if (!result.errors.empty()) return;  // of a gate that came before
        const double worst = std::isnan(check.worst) ? INFINITY : check.worst;
        note(result, options_.figures, Objective::error, worst);
        result.errors.assign(cases, never_tried);
        for (std::size_t k = 0; k < std::min<std::size_t>(check.cases, cases); ++k) result.errors[k] = 0;
        if (check.finding == Finding::right) return;
        if (check.finding == Finding::wrong) result.status = Status::infeasible;
        if (check.cases != 0 && check.finding == Finding::wrong)
            result.errors[check.cases - 1] = static_cast<float>(std::min<double>(worst, never_tried));
        else if (check.cases != 0)
            result.errors[check.cases - 1] = never_tried;
    }

    const Space space_;
    const Workloads kernels_;
    const EmulationOptions options_;
    Lengths lengths_;
    std::mutex mutex_;
    std::map<Tunables, std::vector<std::unique_ptr<Checker>>> free_;
};

}  // namespace

Expected<std::unique_ptr<Gate>> emulation(const Space& space, const Workloads& kernels,
                                          const EmulationOptions& options) {
    auto gate = std::make_unique<EmulationGate>(space, kernels, options);
    TRY(gate->try_first());
    return std::unique_ptr<Gate>(std::move(gate));
}

}  // namespace ptxgraft::search
