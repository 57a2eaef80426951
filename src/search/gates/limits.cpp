// The gates that compute nothing, or compute each site by itself.

#include <algorithm>
#include <cmath>

#include "base/try.hpp"
#include "search/gates/figures.hpp"
#include "search/gates/lengths.hpp"

namespace ptxgraft::search {
namespace {

class LimitsGate final : public Gate {
  public:
    LimitsGate(const Space& space, const LimitOptions& options) : space_(space), options_(options) {}
    [[nodiscard]] std::string_view name() const override { return "limits"; }
    void evaluate(std::span<const Candidate* const> candidates, std::span<Result* const> results) override {
        for (std::size_t k = 0; k < candidates.size(); ++k)
            judge(genome_of(*candidates[k], *results[k]), *results[k]);
    }

  private:
    void judge(const Genome& genome, Result& result) {
        const std::uint32_t sum = lengths_.of(genome, space_);
        note(result, options_.figures, Objective::instructions, sum);
        if (options_.instructions != 0 && sum > options_.instructions)
            end(result, Status::rejected,
                std::to_string(sum) + " instructions, more than " + std::to_string(options_.instructions));
    }

    const Space space_;
    const LimitOptions options_;
    Lengths lengths_;
};

// The columns of each site, as a candidate of that site alone.
class SitesGate final : public Gate {
  public:
    struct Screen {
        std::size_t site;
        std::unique_ptr<Gate> gate;
    };
    SitesGate(const Space& space, std::vector<Screen> screens, Figures figures)
        : space_(space), screens_(std::move(screens)), figures_(std::move(figures)) {}
    [[nodiscard]] std::string_view name() const override { return "columns"; }
    void evaluate(std::span<const Candidate* const> candidates, std::span<Result* const> results) override {
        for (std::size_t k = 0; k < candidates.size(); ++k) judge(*candidates[k], *results[k]);
    }

  private:
    void judge(const Candidate& candidate, Result& result) {
        double instructions = 0, error = 0;
        result.errors.clear();
        for (std::size_t k = 0; k < screens_.size(); ++k) {
            const bool is_refined = candidate.index % screens_.size() == k;
            Result part = judged(candidate, screens_[k], is_refined ? candidate.refine : Refine::none);
            if (part.status != Status::ok && result.status == Status::ok) {
                result.status = part.status;
                result.detail = std::move(part.detail);
            }
            result.errors.insert(result.errors.end(), part.errors.begin(), part.errors.end());
            if (part.descriptor.size() == 2) {
                instructions += part.descriptor[0];
                error = std::max(error, part.descriptor[1]);
            }
            if (!part.genome) continue;
            result.genome = candidate.genome;
            result.genome->programs[screens_[k].site] = std::move(part.genome->programs[0]);
        }
        for (std::size_t s = 0; s < space_.sites.size(); ++s)
            if (std::ranges::find(screens_, s, &Screen::site) == screens_.end())
                instructions += lengths_.of(candidate.genome.programs[s], space_.sites[s].machine);
        note(result, figures_, Objective::instructions, instructions);
        note(result, figures_, Objective::error, error);
    }
    static Result judged(const Candidate& candidate, const Screen& screen, Refine refine) {
        const Candidate one{.index = candidate.index,
                            .genome = {.programs = {candidate.genome.programs[screen.site]}, .tunables = {}},
                            .key = {},
                            .refine = refine};
        Result part{.index = candidate.index};
        const Candidate* const in[] = {&one};
        Result* const out[] = {&part};
        screen.gate->evaluate(in, out);
        return part;
    }

    const Space space_;
    const std::vector<Screen> screens_;
    const Figures figures_;
    Lengths lengths_;
};

}  // namespace

Expected<std::unique_ptr<Gate>> limits(const Space& space, const LimitOptions& options) {
    return std::unique_ptr<Gate>(std::make_unique<LimitsGate>(space, options));
}

Expected<std::unique_ptr<Gate>> columns(const Space& space, std::vector<std::optional<Cases>> cases,
                                        const SiteColumnsOptions& options) {
    if (cases.size() != space.sites.size())
        return fail(Errc::cases_invalid, "there are " + std::to_string(cases.size()) + " for " +
                                             std::to_string(space.sites.size()) + " sites");
    std::vector<SitesGate::Screen> screens;
    for (std::size_t s = 0; s < cases.size(); ++s) {
        if (!cases[s]) continue;
        Space one{.sites = {space.sites[s]}, .tunables = {}, .constants = space.constants};
        screens.push_back({s, TRY(columns(one, std::move(*cases[s]), options.columns))});
    }
    if (screens.empty()) return fail(Errc::cases_invalid, "no site has any");
    return std::unique_ptr<Gate>(std::make_unique<SitesGate>(space, std::move(screens), options.figures));
}

}  // namespace ptxgraft::search
