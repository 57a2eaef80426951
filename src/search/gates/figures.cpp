// Figures of candidates, and stubs of genomes.

#include "search/gates/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/try.hpp"
#include "ptxgraft/program.hpp"

namespace ptxgraft::search {
namespace {

constexpr std::array<std::string_view, objective_count> objective_names = {
    "instructions", "error", "registers", "code_bytes", "machine_instructions", "time_ratio"};

}  // namespace

std::string_view name(Objective objective) { return objective_names.at(static_cast<std::size_t>(objective)); }

void note(Result& result, const Figures& figures, Objective figure, double value) {
    if (result.descriptor.size() != figures.axes.size()) {
        result.descriptor.assign(figures.axes.size(), INFINITY);
        result.cost = result.low = result.high = INFINITY;
    }
    for (std::size_t k = 0; k < figures.axes.size(); ++k)
        if (figures.axes[k] == figure) result.descriptor[k] = value;
    if (figures.cost == figure) result.cost = result.low = result.high = value;
}

const Genome& genome_of(const Candidate& candidate, const Result& result) {
    return result.genome ? *result.genome : candidate.genome;
}

bool is_known(const Candidate& candidate, const Result& result) {
    return candidate.refine != Refine::none && candidate.refine != Refine::measure && !result.genome;
}

Expected<std::vector<Graft>> grafts_of(const Genome& genome, const Space& space) {
    std::vector<Graft> made;
    for (std::size_t s = 0; s < space.sites.size(); ++s) {
        Stub stub = TRY(stack::make_stub(genome.programs[s], space.sites[s].machine, program_options));
        made.emplace_back(space.sites[s].name, std::move(stub));
    }
    return made;
}

Expected<void> check_sites(const Space& space, const Skeleton& skeleton) {
    for (const SiteSpace& site : space.sites) {
        const Site* const found = skeleton.site(site.name);
        if (found == nullptr)
            return fail(Errc::space_invalid, fmt::format("the skeleton has no site {}", site.name));
        if (found->signature != site.machine.signature())
            return fail(Errc::space_invalid,
                        fmt::format("the site {} is ({}), not ({})", site.name, found->signature.text(),
                                    site.machine.signature().text()));
    }
    return {};
}

void end(Result& result, Status status, std::string detail) {
    result.status = status;
    result.detail = std::move(detail);
}

}  // namespace ptxgraft::search
