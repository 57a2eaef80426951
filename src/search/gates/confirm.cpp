// The best of a search, once more: other processes, other samples, other assemblers.

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/try.hpp"
#include "search/archive/measurements.hpp"
#include "search/gates/findings.hpp"
#include "search/gates/variants.hpp"

namespace ptxgraft::search {
namespace {

using measure::PoolTiming;
using measure::PoolTimingOptions;
using measure::TimingStatus;
using measure::VariantCode;
using measure::Verdict;

constexpr std::uint64_t seeds_apart = 1'000'003;  // of sessions: more than any of them has inputs

class Confirming {
  public:
    Confirming(Variants& variants, const measure::Pool& pool, const ConfirmOptions& options,
               MeasurementLog* log)
        : variants_(variants), pool_(pool), options_(options), log_(log) {}

    Expected<std::vector<Finalist>> run(std::vector<Elite> elites) {
        for (Elite& elite : elites) all_.push_back({.finalist = {.elite = std::move(elite)}});
        for (One& one : all_) TRY(assemble(one));
        std::map<std::vector<std::uint32_t>, std::vector<One*>> groups;
        for (One& one : all_)
            if (one.finalist.status == Status::ok) groups[one.finalist.elite.genome.tunables].push_back(&one);
        for (std::uint32_t session = 0; session < options_.sessions; ++session)
            for (const auto& [tunables, group] : groups)
                TRY(time(TRY(variants_.kernels().text(tunables)), group, session));
        std::vector<Finalist> finalists;
        for (One& one : all_) finalists.push_back(concluded(one));
        std::ranges::stable_sort(finalists, {}, [](const Finalist& one) {
            return std::tuple(one.status != Status::ok, one.high, one.ratio);
        });
        return finalists;
    }

  private:
    struct One {
        Finalist finalist;
        VariantCode code = {};
        std::vector<measure::Comparison> found = {};
    };
    static void end(One& one, Status status, std::string detail) {
        if (one.finalist.status != Status::ok) return;
        one.finalist.status = status;
        one.finalist.detail = std::move(detail);
    }

    // What each assembler makes of it runs on a device. (Not compare_assemblers(): the process of a search
    // has no context on a GPU.)
    Expected<void> assemble(One& one) {
        const Genome& genome = one.finalist.elite.genome;
        const std::string workload = TRY(variants_.kernels().text(genome.tunables));
        std::vector<const Assembler*> assemblers;
        for (const auto& assembler : options_.assemblers) assemblers.push_back(assembler.get());
        if (assemblers.empty()) assemblers.push_back(&default_assembler());
        for (const Assembler* const assembler : assemblers) {
            auto code = variants_.code(genome, *assembler);
            const std::string by = std::string(assembler->name()) + " " + assembler->version();
            if (!code) return end(one, Status::failed, by + ": " + message(code.error())), Expected<void>();
            const auto checks = pool_.check(workload, std::span(&*code, 1));
            const measure::Check check = TRY(checks[0]);
            if (check.finding != measure::Finding::right)
                return end(one, status_of(check.finding), by + ": " + detail_of(check)), Expected<void>();
            one.finalist.assemblers.push_back(by);
            if (one.code.ptx.empty()) one.code = std::move(*code);
        }
        return {};
    }

    Expected<void> time(const std::string& workload, const std::vector<One*>& group, std::uint32_t session) {
        std::vector<One*> present;
        std::vector<VariantCode> variants;
        std::vector<std::uint64_t> indices;
        for (One* const one : group) {
            if (one->finalist.status != Status::ok) continue;
            present.push_back(one);
            variants.push_back(one->code);
            indices.push_back(one->finalist.elite.index);
        }
        PoolTimingOptions options{
            .timing = {.tier = options_.tier}, .protocol = options_.protocol, .in_new_process = true};
        options.protocol.seed += (session + 1) * seeds_apart;
        const PoolTiming timing = pool_.time(workload, variants, options);
        if (log_ != nullptr) TRY(log_->add(indices, timing, options));
        for (std::size_t k = 0; k < present.size(); ++k) take(TRY(timing.variants[k]), *present[k]);
        return {};
    }
    static void take(const measure::VariantTiming& timing, One& one) {
        ++one.finalist.sessions;
        one.finalist.rounds += timing.comparison.rounds;
        if (timing.status != TimingStatus::ok) return end(one, status_of(timing.status), timing.why);
        one.found.push_back(timing.comparison);
    }

    // The hull of the intervals: no session's luck makes it narrower.
    static Finalist concluded(One& one) {
        Finalist& made = one.finalist;
        std::vector<double> ratios;
        made.low = one.found.empty() ? 0 : INFINITY;
        made.high = one.found.empty() ? INFINITY : 0;
        for (const measure::Comparison& found : one.found) {
            ratios.push_back(found.ratio);
            made.low = std::min(made.low, found.low);
            made.high = std::max(made.high, found.high);
        }
        if (made.status != Status::ok || ratios.empty()) return made;
        std::ranges::nth_element(ratios, ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2));
        made.ratio = ratios[ratios.size() / 2];
        const Verdict first = one.found.front().verdict;
        const auto is_first = [&](const measure::Comparison& found) { return found.verdict == first; };
        if (std::ranges::all_of(one.found, is_first)) made.verdict = first;
        return made;
    }

    Variants& variants_;
    const measure::Pool& pool_;
    const ConfirmOptions& options_;
    MeasurementLog* log_;
    std::vector<One> all_ = {};
};

}  // namespace

Expected<std::vector<Finalist>> confirm(std::span<const Elite> elites, const Space& space,
                                        const Workloads& kernels, const measure::Pool& pool,
                                        const ConfirmOptions& options) {
    const auto variants = TRY(Variants::make(space, kernels, pool, nullptr));
    if (!variants->has_gpu())
        return fail(Errc::timing_not_possible,
                    std::string("time needs a GPU, and the pool's devices are the emulator's"));
    std::unique_ptr<MeasurementLog> log;
    if (!options.archive.empty()) log = TRY(MeasurementLog::open(options.archive));
    std::vector<Elite> best(elites.begin(), elites.end());
    std::ranges::sort(best, {},
                      [](const Elite& elite) { return std::tuple(elite.bound(), elite.cost, elite.index); });
    if (best.size() > options.finalists) best.resize(options.finalists);
    return Confirming(*variants, pool, options, log.get()).run(std::move(best));
}

}  // namespace ptxgraft::search
