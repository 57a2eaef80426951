// The gates that ask before a candidate is timed: the policy, and the devices of a pool.

#include <cmath>

#include "base/try.hpp"
#include "search/gates/figures.hpp"
#include "search/gates/findings.hpp"
#include "search/gates/lengths.hpp"
#include "search/gates/occupation.hpp"
#include "search/gates/variants.hpp"

namespace ptxgraft::search {
namespace {

using measure::Check;
using measure::Finding;

class PolicyGate final : public Gate {
  public:
    PolicyGate(const Space& space, const PolicyOptions& options) : space_(space), options_(options) {}
    [[nodiscard]] std::string_view name() const override { return "policy"; }

    void evaluate(std::span<const Candidate* const> candidates, std::span<Result* const> results) override {
        for (std::size_t k = 0; k < candidates.size(); ++k)
            judge(genome_of(*candidates[k], *results[k]), *results[k]);
    }

  private:
    void judge(const Genome& genome, Result& result) {
        const auto made = grafts_of(genome, space_);
        if (!made) return end(result, Status::failed, message(made.error()));
        note(result, options_.figures, Objective::instructions, lengths_.of(genome, space_));
        for (const Graft& graft : *made)
            if (const auto allowed = check_policy(graft.stub, options_.allowed); !allowed)
                return end(result, Status::rejected, graft.site + ": " + message(allowed.error()));
    }

    const Space space_;
    const PolicyOptions options_;
    Lengths lengths_;
};

class CheckingGate final : public Gate {
  public:
    CheckingGate(const Space& space, const measure::Pool& pool, std::unique_ptr<Variants> variants,
                 const CheckingOptions& options)
        : space_(space),
          pool_(pool),
          variants_(std::move(variants)),
          options_(options),
          occupation_(variants_->gpu_count()) {}
    [[nodiscard]] std::string_view name() const override { return "checking"; }
    [[nodiscard]] double gpu_seconds() const override { return occupation_.seconds(); }
    [[nodiscard]] bool uses_gpu() const override { return variants_->gpu_count() != 0; }

    void evaluate(std::span<const Candidate* const> candidates, std::span<Result* const> results) override {
        for (const VariantGroup& group : variants_->groups(candidates, results)) {
            const auto checks =
                occupation_.during([&] { return pool_.check(group.workload, group.variants); });
            for (std::size_t k = 0; k < checks.size(); ++k) {
                Result& result = *results[group.candidates[k]];
                const Genome& genome = genome_of(*candidates[group.candidates[k]], result);
                note(result, options_.figures, Objective::instructions, lengths_.of(genome, space_));
                take(checks[k], result);
            }
        }
    }

  private:
    void take(const Expected<Check>& check, Result& result) const {
        if (!check) {
            end_where_no_device_works(check.error());
            return end(result, Status::rejected, message(check.error()));
        }
        if (result.errors.empty())
            note(result, options_.figures, Objective::error,
                 std::isnan(check->worst) ? INFINITY : check->worst);
        if (check->finding != Finding::right) end(result, status_of(check->finding), detail_of(*check));
    }

    const Space space_;
    const measure::Pool pool_;
    const std::unique_ptr<Variants> variants_;
    const CheckingOptions options_;
    Occupation occupation_;
    Lengths lengths_;
};

}  // namespace

Expected<std::unique_ptr<Gate>> policy(const Space& space, const PolicyOptions& options) {
    return std::unique_ptr<Gate>(std::make_unique<PolicyGate>(space, options));
}

Expected<std::unique_ptr<Gate>> checking(const Space& space, const Workloads& kernels,
                                         const measure::Pool& pool, const CheckingOptions& options) {
    auto variants = TRY(Variants::make(space, kernels, pool, options.assembler));
    return std::unique_ptr<Gate>(std::make_unique<CheckingGate>(space, pool, std::move(variants), options));
}

}  // namespace ptxgraft::search
