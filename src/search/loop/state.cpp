// The state of a search: draws blocks of candidates, and learns from their results.

#include "search/loop/state.hpp"

#include <algorithm>
#include <numeric>

#include "base/try.hpp"

namespace ptxgraft::search {
namespace {

constexpr std::uint64_t migration_stream = ~std::uint64_t{0};
constexpr double least_weight = 0.02;  // of an operator that brings nothing

std::uint64_t whole_key(const DataflowParts& key) { return mixed(key.structure, key.constants); }

// Seeds of all sites side by side: the k-th of each, the first where a site has fewer.
std::vector<Genome> seeds_of(const Space& space) {
    std::size_t count = 0;
    for (const SiteSpace& site : space.sites) count = std::max(count, site.seeds.size());
    std::vector<Genome> made(count);
    for (std::size_t k = 0; k < count; ++k) {
        for (const SiteSpace& site : space.sites)
            made[k].programs.push_back(site.seeds.empty() ? stack::Program{}
                                                          : site.seeds[k < site.seeds.size() ? k : 0]);
        made[k].tunables.assign(space.tunables.size(), 0);
    }
    return made;
}

}  // namespace

Expected<DataflowParts> key_of(const Genome& genome, const Space& space) {
    DataflowParts key;
    for (std::size_t s = 0; s < space.sites.size(); ++s) {
        const auto parts =
            TRY(stack::dataflow_parts(genome.programs[s], space.sites[s].machine, program_options));
        key.structure = mixed(key.structure, parts.structure);
        key.constants = mixed(key.constants, parts.constants);
    }
    for (const std::uint32_t value : genome.tunables) key.structure = mixed(key.structure, value);
    return key;
}

State::State(Breeder breeder, const Options& options, std::vector<Genome> first, bool draws)
    : space_(*breeder.space),
      options_(options),
      breeder_(std::move(breeder)),
      islands_(options.islands),
      seeds_(std::move(first)) {
    std::ranges::move(seeds_of(space_), std::back_inserter(seeds_));
    if (options.surrogate && draws) guesser_.emplace(space_, *options.surrogate, options.seed);
    for (const Operator& op : options.operators) {
        rows_.push_back(find_operator(op.name));
        ledger_.operators.push_back({.name = op.name, .weight = op.weight});
    }
    gains_.assign(rows_.size(), 0);
    tries_.assign(rows_.size(), 0);
    next_migration_ = options.migration;
}

std::size_t State::any_operator(Random& random) const {
    double sum = 0;
    for (const OperatorCredit& credit : ledger_.operators) sum += credit.weight;
    double at = random.unit() * sum;
    for (std::size_t k = 0; k < rows_.size(); ++k)
        if ((at -= ledger_.operators[k].weight) < 0) return k;
    return rows_.size() - 1;
}

void State::vary(Random& random, const Island& island, Drawn& drawn) const {
    Candidate& child = drawn.candidate;
    const bool climbs = options_.strategy == Strategy::climb;
    const Member* const a = climbs ? island.best() : island.parent(random, options_);
    if (a == nullptr || options_.strategy == Strategy::random) {
        child.genome = breeder_.fresh(random);
        return;
    }
    const std::size_t op = any_operator(random);
    child.operation = static_cast<std::uint16_t>(op);
    const Member* const b = rows_[op]->wants_two && !climbs ? island.parent(random, options_) : a;
    child.parents[0] = a->index;
    if (b != a) child.parents[1] = b->index;
    child.genome = *a->genome;
    rows_[op]->vary(breeder_, random, *a->genome, *b->genome, child.genome);
}

// Anew, but for its genome.
void State::begin(Candidate& candidate, std::uint64_t slot) const {
    Candidate begun;
    begun.index = slot;
    begun.island = static_cast<std::uint16_t>(slot % islands_.size());
    begun.genome = std::move(candidate.genome);
    candidate = std::move(begun);
}

void State::draw_one(std::uint64_t slot, std::uint32_t attempt, Drawn& drawn) const {
    Random random = random_for(options_.seed, slot, attempt);
    begin(drawn.candidate, slot);
    if (slot < seeds_.size() && attempt == 0)
        drawn.candidate.genome = seeds_[slot];
    else
        vary(random, islands_[drawn.candidate.island], drawn);
    for (std::size_t s = 0; s < space_.sites.size(); ++s) {
        auto& code = drawn.candidate.genome.programs[s].code;
        if (code.size() > space_.sites[s].max_genes) code.resize(space_.sites[s].max_genes);
    }
    const auto key = key_of(drawn.candidate.genome, space_);
    drawn.has_failed = !key.has_value();
    if (key) drawn.candidate.key = *key;
}

// At most a quarter of a block is refined, a slot of each island in turn, and none that is a seed's.
std::vector<std::pair<std::uint64_t, Island::ToRefine>> State::take_refinements(std::uint64_t block) {
    std::vector<std::pair<std::uint64_t, Island::ToRefine>> taken;
    const std::uint64_t first = block * options_.block, most = options_.block / 4;
    for (std::uint64_t slot = std::max<std::uint64_t>(first, seeds_.size()); slot < first + most; ++slot)
        if (auto next = islands_[slot % islands_.size()].next_to_refine())
            taken.emplace_back(slot, std::move(*next));
    return taken;
}

// At most a quarter of a block, from its end.
std::vector<std::pair<std::uint64_t, Member>> State::take_measurements(std::uint64_t block) {
    if (options_.remeasure == 0) return {};
    std::vector<const Grid*> grids = {&all_};
    for (const Island& island : islands_) grids.push_back(&island.grid());
    std::vector<std::pair<std::uint64_t, Member>> taken;
    const std::uint64_t end = (block + 1) * options_.block, most = std::max(options_.block / 4, 1u);
    for (Member& member : again_.due(grids, ledger_.judged, options_.remeasure)) {
        const std::uint64_t slot = end - 1 - taken.size();
        if (taken.size() == most || slot < seeds_.size()) break;
        again_.note_asked(member.index, ledger_.judged);
        taken.emplace_back(slot, std::move(member));
    }
    return taken;
}

// Those of the open slots whose key is new are kept, in the order of the slots.
void State::keep_new(Drawing& drawing) {
    std::vector<std::size_t> again;
    for (const std::size_t k : drawing.open) keys_.expect(whole_key(drawing.drawn[k].candidate.key));
    for (const std::size_t k : drawing.open) {
        ++drawing.made.counts.drawn;
        const Drawn& one = drawing.drawn[k];
        const bool is_new = !one.has_failed && keys_.insert(whole_key(one.candidate.key));
        drawing.in_vain = is_new ? 0 : drawing.in_vain + 1;
        if (is_new) continue;
        ++drawing.made.counts.duplicates;
        again.push_back(k);
    }
    drawing.open = std::move(again);
}

Block State::empty_block() {
    if (done_.empty()) return {};
    Block made = std::move(done_.back());
    done_.pop_back();
    made.counts = {};
    made.asked = made.committed = made.ready = 0;
    for (ResultSlot& slot : made.results) slot.reset();
    return made;
}

State::Drawing State::begin_drawing(std::uint64_t block) {
    Drawing drawing{.made = empty_block()};
    drawing.made.counts.block = block;
    const std::uint64_t first = block * options_.block;
    drawing.drawn = std::move(drawn_);
    drawing.drawn.resize(options_.block);
    drawing.open.resize(options_.block);
    std::iota(drawing.open.begin(), drawing.open.end(), std::size_t{0});
    const auto put = [&](std::uint64_t slot, const Member& elite, Refine how) {
        Candidate& candidate = drawing.drawn[slot - first].candidate;
        begin(candidate, slot);
        candidate.genome = *elite.genome;
        candidate.refine = how;
        candidate.parents[0] = elite.index;
        if (const auto key = key_of(candidate.genome, space_)) candidate.key = *key;
        std::erase(drawing.open, slot - first);
    };
    for (const auto& [slot, next] : take_refinements(block)) put(slot, next.member, next.how);
    for (const auto& [slot, elite] : take_measurements(block)) put(slot, elite, Refine::measure);
    return drawing;
}

// Slots of one island behind one another: what parents are chosen from then stays in the cache. Each is drawn
// as it would be in any other order.
std::vector<std::size_t> State::by_island(std::uint64_t first, const std::vector<std::size_t>& open) const {
    std::vector<std::size_t> begins(islands_.size() + 1, 0), order(open.size());
    const auto island = [&](std::size_t place) { return (first + place) % islands_.size(); };
    for (const std::size_t place : open) ++begins[island(place) + 1];
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    for (const std::size_t place : open) order[begins[island(place)]++] = place;
    return order;
}

std::optional<Block> State::draw(std::uint64_t block, Crew& crew, const std::function<bool()>& is_over) {
    constexpr std::size_t drawn_at_once = 32;
    if (!drawing_) drawing_ = begin_drawing(block);
    Drawing& now = *drawing_;
    const std::uint64_t first = block * options_.block;
    while (now.attempt < options_.attempts && !now.open.empty() && now.in_vain < draws_in_vain) {
        const std::vector<std::size_t> order = by_island(first, now.open);
        crew.run((order.size() + drawn_at_once - 1) / drawn_at_once, [&](std::size_t part) {
            if (is_over()) return;
            const std::size_t end = std::min(order.size(), (part + 1) * drawn_at_once);
            for (std::size_t k = part * drawn_at_once; k < end; ++k)
                draw_one(first + order[k], now.attempt, now.drawn[order[k]]);
        });
        if (is_over()) return std::nullopt;  // this attempt is made again
        keep_new(now);
        ++now.attempt;
    }
    Block made = finished(std::move(now));
    drawing_.reset();
    return made;
}

Block State::finished(Drawing drawing) {
    auto& [made, drawn, open, attempt, in_vain] = drawing;
    made.candidates.resize(drawn.size() - open.size());
    for (std::size_t k = 0, out = 0; k < drawn.size(); ++k)
        if (out < open.size() && open[out] == k)
            ++out;
        else
            std::swap(made.candidates[k - out], drawn[k].candidate);
    drawn_ = std::move(drawn);
    if (guesser_) guesser_->guess(made.candidates, seeds_.size());
    made.results.resize(made.candidates.size());
    made.counts.candidates = made.candidates.size();
    ledger_.drawn += made.counts.drawn;
    ledger_.duplicates += made.counts.duplicates;
    return std::move(made);
}

void State::note_drawn(const Block& block) {
    (void)take_refinements(block.counts.block);
    (void)take_measurements(block.counts.block);
    for (const Candidate& candidate : block.candidates)
        if (candidate.refine == Refine::none) keys_.insert(whole_key(candidate.key));
    ledger_.drawn += block.counts.drawn;
    ledger_.duplicates += block.counts.duplicates;
}

void State::commit(const Candidate& candidate, const Result& result) {
    ++ledger_.judged;
    ++ledger_.by_status[static_cast<std::size_t>(result.status)];
    ++ledger_.without_gain;
    was_measured_ = candidate.refine == Refine::measure;
    if (was_measured_) return commit_measurement(candidate, result);
    if (is_guessed(result)) ++ledger_.guessed;
    if (guesser_) guesser_->learn(result.genome ? *result.genome : candidate.genome, result);
    const bool is_drawn = candidate.refine == Refine::none && candidate.parents[0] != Candidate::no_parent;
    if (is_drawn) {
        ++ledger_.operators[candidate.operation].drawn;
        tries_[candidate.operation] += 1;
    }
    if (result.status != Status::ok && result.status != Status::infeasible) return;
    DataflowParts key = candidate.key;
    if (result.genome) {
        const auto made = key_of(*result.genome, space_);
        if (!made) return;
        keys_.insert(whole_key(*made));
        key = *made;
    } else if (candidate.refine != Refine::none) {
        return;  // it is there already
    }
    Member member{.index = candidate.index,
                  .structure = key.structure,
                  .genome = genomes_.copy(result.genome ? *result.genome : candidate.genome),
                  .cost = result.cost,
                  .descriptor = result.descriptor,
                  .is_feasible = result.status == Status::ok,
                  .low = result.low,
                  .high = result.high};
    if (member.is_feasible) {
        const Cell cell = cell_of(member.descriptor, options_.axes);
        all_.insert(cell, member, depth_of_all(member));
        if (all_.is_best(cell, member.index)) ledger_.without_gain = 0;
    }
    const bool is_elite = islands_[candidate.island].commit(std::move(member), result.errors, options_,
                                                            candidate.refine == Refine::constants);
    if (is_elite && is_drawn) {
        ++ledger_.operators[candidate.operation].elites;
        gains_[candidate.operation] += 1;
    }
}

void State::commit_measurement(const Candidate& candidate, const Result& result) {
    ++ledger_.measured_again;
    if (result.status == Status::noisy) return;  // it says nothing
    const std::uint64_t index = candidate.parents[0];
    const std::optional<MeasuredFigures> figures = again_.add(candidate, result);
    const auto was = all_.measure(index, figures, options_.axes, runners_up);
    if (was && disagree(*was, result)) ++ledger_.disagreed;
    for (Island& island : islands_) island.measure(index, figures, options_);
}

// Probability matching: weights go with what was gained by a try of late, between the row's own weight and
// what the gains say, and never to zero.
void State::adapt() {
    double sum = 0;
    for (std::size_t k = 0; k < rows_.size(); ++k)
        if (options_.operators[k].weight > 0) sum += (gains_[k] + 1e-3) / (tries_[k] + 1);
    for (std::size_t k = 0; k < rows_.size(); ++k) {
        const double own = options_.operators[k].weight;
        if (own <= 0) continue;
        const double gain = (gains_[k] + 1e-3) / (tries_[k] + 1) / sum;
        ledger_.operators[k].weight = std::max(least_weight, 0.5 * own + 0.5 * gain);
        gains_[k] *= 0.9;
        tries_[k] *= 0.9;
    }
}

// An elite of each island becomes a member of the next one.
void State::migrate(std::uint64_t block) {
    if (islands_.size() < 2 || ledger_.judged < next_migration_) return;
    next_migration_ = ledger_.judged + options_.migration;
    std::vector<std::optional<Member>> leaving;
    for (std::size_t k = 0; k < islands_.size(); ++k) {
        Random random = random_for(options_.seed, migration_stream - k, block);
        const Grid& grid = islands_[k].grid();
        leaving.emplace_back(grid.empty() ? std::nullopt : std::optional(grid.any(random)));
    }
    for (std::size_t k = 0; k < islands_.size(); ++k)
        if (leaving[k] && leaving[k]->is_measured()) again_.note_moved(leaving[k]->index);
    for (std::size_t k = 0; k < islands_.size(); ++k)
        if (leaving[k])
            islands_[(k + 1) % islands_.size()].commit(std::move(*leaving[k]), {}, options_, true);
}

void State::end_block(std::uint64_t block) {
    if (options_.adapt) adapt();
    migrate(block);
    for (Island& island : islands_) {
        if (island.commits_without_elite() >= options_.stagnation) island.start_again();
        island.measure_spread();
    }
}

std::vector<Elite> State::elites() const {
    std::vector<Elite> made;
    for (const auto& [cell, members] : all_.cells()) { made.push_back(members.front().as_elite(cell)); }
    return made;
}

bool State::reaches(const Target& target) const {
    const auto is_within = [&](const Member& best) {
        // what was measured once may have been lucky
        if (options_.remeasure != 0 && best.is_measured() && best.times == 0) return false;
        if (best.bound() > target.cost || target.descriptor.size() > best.descriptor.size()) return false;
        for (std::size_t k = 0; k < target.descriptor.size(); ++k)
            if (best.descriptor[k] > target.descriptor[k]) return false;
        return true;
    };
    return std::ranges::any_of(all_.cells(),
                               [&](const auto& cell) { return is_within(cell.second.front()); });
}

Ledger State::ledger() const {
    Ledger made = ledger_;
    made.cells = all_.cells().size();
    return made;
}

}  // namespace ptxgraft::search
