// Archives as they are read: candidates in their order, elites, lines of JSON.

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

#include "base/try.hpp"
#include "search/archive/archive_data.hpp"
#include "search/archive/measurements.hpp"
#include "search/archive/options_text.hpp"
#include "search/loop/again.hpp"
#include "search/loop/population.hpp"
#include "search/loop/state.hpp"

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

// Infinity has no number in JSON.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json("inf"); }

}  // namespace

namespace {

// What a task says of what is right: its text without what does not count there.
Json judging_of(const std::string& task) {
    Json json = Json::parse(task, nullptr, false);
    if (json.is_discarded()) return task;
    if (json.is_object())
        for (const char* key : {"options", "budget", "target", "stagnation"}) json.erase(key);
    return nlohmann::json(json);  // members in one order
}

bool are_equal(const std::vector<Axis>& a, const std::vector<Axis>& b) {
    return std::ranges::equal(
        a, b, [](const Axis& x, const Axis& y) { return x.name == y.name && x.edges == y.edges; });
}

std::optional<Stop> stop_of(std::string_view text) {
    for (const Stop one : {Stop::budget, Stop::target, Stop::exhausted, Stop::asked, Stop::stagnation})
        if (text == name(one)) return one;
    return std::nullopt;
}

}  // namespace

Expected<void> check_comparable(const Archive& one, const Archive& other, const std::string& name) {
    if (one.space().hash() != other.space().hash())
        return fail(Errc::archive_differs, "the space of " + name + " is another one");
    if (!are_equal(one.options().axes, other.options().axes))
        return fail(Errc::archive_differs, "the axes of " + name + " are others");
    if (judging_of(one.options().task) != judging_of(other.options().task))
        return fail(Errc::archive_differs, "the task of " + name + " is another one");
    return {};
}

Archive::Archive(std::unique_ptr<Data> data) : data_(std::move(data)) {}
Archive::Archive(Archive&&) noexcept = default;
Archive& Archive::operator=(Archive&&) noexcept = default;
Archive::~Archive() = default;

Expected<Archive> Archive::open(const std::string& path) {
    auto store = TRY(Store::read(path));
    auto space = TRY(store.space());
    auto options = TRY(store.options());
    auto stored = TRY(store.sources());
    std::vector<Source> sources;
    for (const StoredSource& source : stored) {
        auto of = TRY(options_of(source.options));
        sources.push_back({std::move(of), source.first, source.count});
    }
    const auto stop = stop_of(TRY(store.stop()));
    auto first = TRY(store.first());
    return Archive(
        std::make_unique<Data>(Data{std::move(store), std::move(space), std::move(options),
                                    std::move(sources), std::move(stored), stop, std::move(first)}));
}

const Space& Archive::space() const { return data_->space; }
const Options& Archive::options() const { return data_->options; }

const std::vector<Source>& Archive::sources() const { return data_->sources; }
std::optional<Stop> Archive::stop() const { return data_->stop; }
const std::vector<Genome>& Archive::first() const { return data_->first; }

namespace {

// What is read of a file may be anything.
Expected<void> check_row(const Candidate& candidate, const Result& result, const Space& space,
                         const Options& options) {
    const bool is_sound = fits(candidate.genome, space) && (!result.genome || fits(*result.genome, space)) &&
                          candidate.operation < options.operators.size();
    if (is_sound) return {};
    return fail(Errc::archive_malformed,
                "candidate " + std::to_string(candidate.index) + " is not of the space");
}

}  // namespace

Expected<void> Archive::for_each(const std::function<void(const Candidate&, const Result&)>& visit) const {
    return data_->store.for_each([&](Candidate&& candidate, Result&& result) -> Expected<void> {
        TRY(check_row(candidate, result, data_->space, data_->options));
        visit(candidate, result);
        return {};
    });
}

Expected<void> Archive::for_each(std::span<const std::uint64_t> indices,
                                 const std::function<void(const Candidate&, const Result&)>& visit) const {
    for (const std::uint64_t index : indices)
        TRY(data_->store.for_each(index, 1, [&](Candidate&& candidate, Result&& result) -> Expected<void> {
            TRY(check_row(candidate, result, data_->space, data_->options));
            visit(candidate, result);
            return {};
        }));
    return {};
}

namespace {

// Steps of a search that was drawn and judged before.
class Replay {
  public:
    Replay(State& state, std::vector<BlockCounts> counts, const Options& options)
        : state_(state), counts_(std::move(counts)), options_(options) {}

    Expected<void> add(Candidate&& candidate, Result&& result) {
        const std::uint64_t block = candidate.index / options_.block;
        if (block >= counts_.size() || candidate.island >= options_.islands)
            return fail(Errc::archive_malformed, "a candidate is of no block");
        for (; at_ < block; ++at_) end_block();
        state_.commit(candidate, result);
        ++committed_;
        return {};
    }
    void finish() {
        for (; at_ < counts_.size(); ++at_)
            if (!end_block()) break;
    }

  private:
    // Only the last ones are not whole.
    bool end_block() {
        state_.note_drawn({.counts = counts_[at_]});
        if (std::exchange(committed_, 0) != counts_[at_].candidates) return false;
        state_.end_block(at_);
        return true;
    }

    State& state_;
    std::vector<BlockCounts> counts_;
    const Options& options_;
    std::uint64_t at_ = 0, committed_ = 0;
};

}  // namespace

Expected<Ledger> Archive::ledger() const {
    const auto blocks = TRY(data_->store.blocks());
    if (!data_->sources.empty()) return data_->collected(blocks);
    State state(TRY(Breeder::make(data_->space)), data_->options, data_->first, false);
    Replay replay(state, blocks, data_->options);
    TRY(data_->store.for_each([&](Candidate&& candidate, Result&& result) -> Expected<void> {
        TRY(check_row(candidate, result, data_->space, data_->options));
        return replay.add(std::move(candidate), std::move(result));
    }));
    replay.finish();
    Ledger made = state.ledger();
    made.gates = TRY(data_->store.gates());
    return made;
}

// Candidates as they are there, and what was drawn for them.
Expected<Ledger> Archive::Data::collected(std::span<const BlockCounts> blocks) const {
    Ledger made;
    for (const BlockCounts& block : blocks) {
        made.drawn += block.drawn;
        made.duplicates += block.duplicates;
    }
    std::set<Cell> cells;
    TRY(store.for_each([&](const Candidate& candidate, const Result& result) -> Expected<void> {
        ++made.judged;
        ++made.by_status[static_cast<std::size_t>(result.status)];
        if (is_guessed(result)) ++made.guessed;
        made.measured_again += candidate.refine == Refine::measure ? 1 : 0;
        if (result.status == Status::ok) cells.insert(cell_of(result.descriptor, options.axes));
        return {};
    }));
    made.cells = cells.size();
    return made;
}

Expected<std::vector<Elite>> Archive::elites() const {
    Grid all;
    Again again;
    const std::vector<Axis>& axes = data_->options.axes;
    TRY(for_each([&](const Candidate& candidate, const Result& result) {
        if (candidate.refine == Refine::measure) {
            if (result.status == Status::noisy) return;
            all.measure(candidate.parents[0], again.add(candidate, result), axes, runners_up);
            return;
        }
        if (result.status != Status::ok || (candidate.refine != Refine::none && !result.genome)) return;
        Member member{
            .index = candidate.index,
            .structure = candidate.key.structure,
            .genome = std::make_shared<const Genome>(result.genome ? *result.genome : candidate.genome),
            .cost = result.cost,
            .descriptor = result.descriptor,
            .is_feasible = true,
            .low = result.low,
            .high = result.high};
        all.insert(cell_of(member.descriptor, axes), member, depth_of_all(member));
    }));
    std::vector<Elite> made;
    for (const auto& [cell, members] : all.cells()) { made.push_back(members.front().as_elite(cell)); }
    return made;
}

Expected<Measurements> Archive::measurements() const { return read_measurements(data_->store.database()); }

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
        if (Elite::bound_of(result.cost, result.low, result.high) != result.cost)
            made.update({{"low", number(result.low)}, {"high", number(result.high)}});
        if (!result.detail.empty()) made["detail"] = result.detail;
        line(made.dump(-1, ' ', false, Json::error_handler_t::replace));
    });
}

}  // namespace ptxgraft::search
