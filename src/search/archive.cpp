// Archives as they are read: candidates in their order, elites, lines of JSON.

#include <nlohmann/json.hpp>

#include "base/try.hpp"
#include "search/population.hpp"
#include "search/state.hpp"
#include "search/store.hpp"

namespace ptxgraft::search {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Genome& genome, const Space& space) {
    Json made = Json::object();
    for (std::size_t s = 0; s < space.sites.size(); ++s)
        made[space.sites[s].name] = stack::print(genome.programs[s], space.sites[s].machine);
    for (std::size_t t = 0; t < space.tunables.size(); ++t)
        made[space.tunables[t].name] = space.tunables[t].values[genome.tunables[t]];
    return made;
}

bool fits(const Genome& genome, const Space& space) {
    if (genome.programs.size() != space.sites.size() || genome.tunables.size() != space.tunables.size())
        return false;
    for (std::size_t t = 0; t < space.tunables.size(); ++t)
        if (genome.tunables[t] >= space.tunables[t].values.size()) return false;
    return true;
}

constexpr std::array<std::string_view, 3> refine_names = {"none", "constants", "shorten"};

// Infinity has no number in JSON.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json("inf"); }

}  // namespace

struct Archive::Data {
    Store store;
    Space space;
    Options options;
};

Archive::Archive(std::unique_ptr<Data> data) : data_(std::move(data)) {}
Archive::Archive(Archive&&) noexcept = default;
Archive& Archive::operator=(Archive&&) noexcept = default;
Archive::~Archive() = default;

Expected<Archive> Archive::open(const std::string& path) {
    auto store = TRY(Store::read(path));
    auto space = TRY(store.space());
    auto options = TRY(store.options());
    return Archive(std::make_unique<Data>(Data{std::move(store), std::move(space), std::move(options)}));
}

const Space& Archive::space() const { return data_->space; }
const Options& Archive::options() const { return data_->options; }

Expected<void> Archive::for_each(const std::function<void(const Candidate&, const Result&)>& visit) const {
    return data_->store.for_each([&](Candidate&& candidate, Result&& result) -> Expected<void> {
        if (!fits(candidate.genome, data_->space) || (result.genome && !fits(*result.genome, data_->space)))
            return fail(Errc::archive_malformed,
                        "candidate " + std::to_string(candidate.index) + " is not of the space");
        visit(candidate, result);
        return {};
    });
}

Expected<std::vector<Elite>> Archive::elites() const {
    Grid all;
    TRY(for_each([&](const Candidate& candidate, const Result& result) {
        if (result.status != Status::ok || (candidate.refine != Refine::none && !result.genome)) return;
        Member member{
            .index = candidate.index,
            .structure = candidate.key.structure,
            .genome = std::make_shared<const Genome>(result.genome ? *result.genome : candidate.genome),
            .cost = result.cost,
            .descriptor = result.descriptor,
            .is_feasible = true};
        all.insert(cell_of(member.descriptor, data_->options.axes), member, 1);
    }));
    std::vector<Elite> made;
    for (const auto& [cell, members] : all.cells()) {
        const Member& best = members.front();
        made.push_back({best.index, *best.genome, best.cost, best.descriptor, cell});
    }
    return made;
}

Expected<void> Archive::export_json(const std::function<void(std::string_view)>& line) const {
    return for_each([&](const Candidate& candidate, const Result& result) {
        Json parents = Json::array(), descriptor = Json::array();
        for (const std::uint64_t parent : candidate.parents)
            if (parent != Candidate::no_parent) parents.push_back(parent);
        for (const double value : result.descriptor) descriptor.push_back(number(value));
        Json made = {{"index", candidate.index},
                     {"island", candidate.island},
                     {"operator", data_->options.operators[candidate.operation].name},
                     {"refine", refine_names.at(static_cast<std::size_t>(candidate.refine))},
                     {"parents", std::move(parents)},
                     {"genome", json_of(result.genome ? *result.genome : candidate.genome, data_->space)},
                     {"status", name(result.status)},
                     {"cost", number(result.cost)},
                     {"descriptor", std::move(descriptor)}};
        if (!result.detail.empty()) made["detail"] = result.detail;
        line(made.dump());
    });
}

}  // namespace ptxgraft::search
