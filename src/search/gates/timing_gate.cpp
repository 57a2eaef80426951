// The gate that times: a screen of all, a race of those that may be the fastest, the elite of those that are
// left; each with samples of its own.

#include <atomic>
#include <cmath>
#include <stdexcept>

#include "base/try.hpp"
#include "search/archive/measurements.hpp"
#include "search/gates/figures.hpp"
#include "search/gates/findings.hpp"
#include "search/gates/lengths.hpp"
#include "search/gates/occupation.hpp"
#include "search/gates/variants.hpp"

namespace ptxgraft::search {
namespace {

using measure::Comparison;
using measure::PoolTiming;
using measure::PoolTimingOptions;
using measure::Tier;
using measure::TimingStatus;
using measure::VariantTiming;

class TimingGate final : public Gate {
  public:
    TimingGate(const Space& space, const measure::Pool& pool, std::unique_ptr<Variants> variants,
               std::unique_ptr<MeasurementLog> log, const TimingGateOptions& options)
        : space_(space),
          pool_(pool),
          variants_(std::move(variants)),
          log_(std::move(log)),
          options_(options),
          occupation_(variants_->gpu_count()) {}
    [[nodiscard]] std::string_view name() const override { return "timing"; }
    [[nodiscard]] double gpu_seconds() const override { return occupation_.seconds(); }
    [[nodiscard]] bool uses_gpu() const override { return variants_->gpu_count() != 0; }

    void evaluate(std::span<const Candidate* const> candidates, std::span<Result* const> results) override {
        for (const VariantGroup& group : variants_->groups(candidates, results)) {
            Runners runners, again;
            for (std::size_t k = 0; k < group.variants.size(); ++k) {
                Result& result = *results[group.candidates[k]];
                const Genome& genome = genome_of(*candidates[group.candidates[k]], result);
                note(result, options_.figures, Objective::instructions, lengths_.of(genome, space_));
                const Candidate& candidate = *candidates[group.candidates[k]];
                (candidate.refine == Refine::measure ? again : runners)
                    .push_back({&result, &group.variants[k], candidate.index});
            }
            time(group.workload, std::move(runners), {Tier::screen, Tier::race, Tier::elite});
            // what is an elite already has nobody to be chosen from
            time(group.workload, std::move(again), {Tier::elite});
        }
    }

  private:
    struct Runner {
        Result* result;
        const measure::VariantCode* variant;
        std::uint64_t index;
    };
    using Runners = std::vector<Runner>;

    // From tier to tier with those that stay.
    void time(const std::string& workload, Runners runners, std::initializer_list<Tier> tiers) {
        for (const Tier tier : tiers) {
            const bool is_over = tiers.size() > 1 && tier > options_.last;
            if (is_over || runners.empty()) return;
            const PoolTiming timing = timed(workload, runners, tier);
            Runners next;
            for (std::size_t k = 0; k < runners.size(); ++k)
                if (take(timing.variants[k], tier, *runners[k].result)) next.push_back(runners[k]);
            runners = std::move(next);
        }
    }
    // A session's protocol stays the same as long as its seed does: each tier has one.
    PoolTiming timed(const std::string& workload, const Runners& runners, Tier tier) {
        std::vector<measure::VariantCode> variants;
        std::vector<std::uint64_t> indices;
        for (const Runner& runner : runners) {
            variants.push_back(*runner.variant);
            indices.push_back(runner.index);
        }
        const PoolTimingOptions options{
            .timing = {.tier = tier}, .protocol = options_.protocol, .closes = tier != Tier::screen};
        PoolTiming timing = occupation_.during([&] { return pool_.time(workload, variants, options); });
        if (log_)
            if (const auto added = log_->add(indices, timing, options); !added)
                throw std::runtime_error(message(added.error()));
        return timing;
    }

    // Whether it goes on to the next tier.
    bool take(const Expected<VariantTiming>& timing, Tier tier, Result& result) const {
        if (!timing) {
            end_where_no_device_works(timing.error());
            end(result, Status::rejected, message(timing.error()));
            return false;
        }
        if (timing->status != TimingStatus::ok) {
            end(result, status_of(timing->status), timing->why);
            return false;
        }
        const bool is_reported = timing->comparison.rounds != 0;
        note_ratio(is_reported ? timing->comparison : timing->selection, is_reported, result);
        return tier == Tier::screen ? timing->is_promising : is_reported;
    }
    // What only chose claims nothing: its bound is infinite.
    void note_ratio(const Comparison& comparison, bool is_reported, Result& result) const {
        const double high = is_reported && comparison.high >= comparison.ratio ? comparison.high : INFINITY;
        note(result, options_.figures, Objective::time_ratio, comparison.ratio);
        if (options_.figures.cost != Objective::time_ratio) return;
        result.low = comparison.low;
        result.high = high;
    }

    const Space space_;
    const measure::Pool pool_;
    const std::unique_ptr<Variants> variants_;
    const std::unique_ptr<MeasurementLog> log_;
    const TimingGateOptions options_;
    Occupation occupation_;
    Lengths lengths_;
};

}  // namespace

Expected<std::unique_ptr<Gate>> timing(const Space& space, const Workloads& kernels,
                                       const measure::Pool& pool, const TimingGateOptions& options) {
    auto variants = TRY(Variants::make(space, kernels, pool, options.assembler));
    if (!variants->has_gpu())
        return fail(Errc::timing_not_possible,
                    std::string("time needs a GPU, and the pool's devices are the emulator's"));
    if (options.last != Tier::race && options.last != Tier::elite)
        return fail(Errc::argument_invalid, std::string("the last tier of a search is race or elite"));
    std::unique_ptr<MeasurementLog> log;
    if (!options.archive.empty()) log = TRY(MeasurementLog::open(options.archive));
    return std::unique_ptr<Gate>(
        std::make_unique<TimingGate>(space, pool, std::move(variants), std::move(log), options));
}

}  // namespace ptxgraft::search
