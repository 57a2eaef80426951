// Archives of elites and populations, and the choice of parents.

#include "search/loop/population.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace ptxgraft::search {

bool Member::is_better_than(const Member& other) const {
    if (bound() != other.bound()) return bound() < other.bound();
    if (cost != other.cost) return cost < other.cost;
    if (times != other.times) return times > other.times;
    return std::ranges::lexicographical_compare(descriptor, other.descriptor);
}

Member Member::with(const MeasuredFigures& figures) const {
    Member made = *this;
    made.cost = figures.cost, made.low = figures.low, made.high = figures.high;
    made.descriptor = figures.descriptor;
    made.times = figures.times;
    return made;
}

double sum_of(std::span<const float> errors) {
    double sum = 0;
    for (const float error : errors) sum += std::min(static_cast<double>(error), 1e30);
    return sum;
}

Cell cell_of(std::span<const double> descriptor, std::span<const Axis> axes) {
    Cell cell(axes.size(), 0);
    for (std::size_t k = 0; k < axes.size() && k < descriptor.size(); ++k)
        cell[k] = static_cast<std::uint32_t>(std::ranges::upper_bound(axes[k].edges, descriptor[k]) -
                                             axes[k].edges.begin());
    return cell;
}

bool Grid::insert(const Cell& cell, const Member& member, std::size_t depth) {
    auto [found, is_new] = cells_.try_emplace(cell);
    std::vector<Member>& elites = found->second;
    if (is_new) list_.push_back(&elites);
    const auto same = std::ranges::find(elites, member.structure, &Member::structure);
    if (same != elites.end()) {
        if (!member.is_better_than(*same)) return false;
        elites.erase(same);
    }
    const auto place =
        std::ranges::find_if(elites, [&](const Member& elite) { return member.is_better_than(elite); });
    if (place == elites.end() && elites.size() >= depth) return false;
    elites.insert(place, member);
    if (elites.size() > depth) elites.pop_back();
    return true;
}

std::optional<Member> Grid::take(std::uint64_t index) {
    for (auto cell = cells_.begin(); cell != cells_.end(); ++cell) {
        std::vector<Member>& elites = cell->second;
        const auto found = std::ranges::find(elites, index, &Member::index);
        if (found == elites.end()) continue;
        Member taken = std::move(*found);
        elites.erase(found);
        if (elites.empty()) {
            std::erase(list_, &elites);
            cells_.erase(cell);
        }
        return taken;
    }
    return std::nullopt;
}

std::optional<Member> Grid::measure(std::uint64_t index, const std::optional<MeasuredFigures>& figures,
                                    std::span<const Axis> axes, std::size_t depth) {
    std::optional<Member> was = take(index);
    if (!was || !figures) return was;
    const Member now = was->with(*figures);
    insert(cell_of(now.descriptor, axes), now, depth);
    return was;
}

bool Grid::is_best(const Cell& cell, std::uint64_t index) const {
    const auto found = cells_.find(cell);
    return found != cells_.end() && found->second.front().index == index;
}

const Member& Grid::any(Random& random) const {
    const std::vector<Member>& elites = *list_[random.below(list_.size())];
    return elites[random.below(elites.size())];
}

void Grid::clear() {
    cells_.clear();
    list_.clear();
}

bool Island::commit(Member member, std::span<const float> errors, const Options& options, bool is_refined) {
    bool is_elite = false;
    if (options.strategy == Strategy::climb) keep_best(member, errors);
    if (member.is_feasible) {
        is_elite = grid_.insert(cell_of(member.descriptor, options.axes), member, options.cell_depth);
        if (is_elite && options.refine && !is_refined) {
            to_refine_.push_back({member, Refine::shorten});
            to_refine_.push_back({member, Refine::constants});
        }
    }
    without_elite_ = is_elite ? 0 : without_elite_ + 1;
    // one without errors among those that have some would never be chosen by them
    if (errors.empty() && (!member.is_feasible || cases_ != 0)) return is_elite;
    if (population_.size() < options.population) {
        population_.push_back(std::move(member));
        keep_errors(population_.size() - 1, errors);
    } else {
        population_[next_] = std::move(member);
        keep_errors(next_, errors);
        next_ = (next_ + 1) % population_.size();
    }
    return is_elite;
}

void Island::measure(std::uint64_t index, const std::optional<MeasuredFigures>& figures,
                     const Options& options) {
    grid_.measure(index, figures, options.axes, options.cell_depth);
    const auto update = [&](Member& member) {
        if (member.index != index) return;
        member = member.with(figures.value_or(MeasuredFigures{
            .cost = INFINITY, .low = INFINITY, .high = INFINITY, .descriptor = member.descriptor}));
        member.is_feasible = figures.has_value();
    };
    std::ranges::for_each(population_, update);
    if (best_) update(*best_);
}

// Equals take the place of the one before, so that a climb walks along a plateau.
void Island::keep_best(const Member& member, std::span<const float> errors) {
    const double sum = sum_of(errors);
    const bool is_better = !best_ || (member.is_feasible && !best_->is_feasible) ||
                           (member.is_feasible == best_->is_feasible &&
                            (member.is_feasible ? !best_->is_better_than(member) : sum <= best_errors_));
    if (!is_better) return;
    best_ = member;
    best_errors_ = sum;
}

// All rows have as many cases as the first one had; cases that another lacks are infinitely wrong.
void Island::keep_errors(std::size_t place, std::span<const float> errors) {
    if (cases_ == 0) {
        cases_ = errors.size();
        errors_.assign(population_.size() * cases_, INFINITY);
    }
    errors_.resize(population_.size() * cases_, INFINITY);
    float* const row = errors_.data() + place * cases_;
    for (std::size_t c = 0; c < cases_; ++c) row[c] = c < errors.size() ? errors[c] : INFINITY;
}

// La Cava et al., 2016: epsilon is the median of the distances from the median, of each case; here of a
// sample of the population.
void Island::measure_spread() {
    constexpr std::size_t sampled = 64;
    epsilon_.assign(population_.empty() ? 0 : cases_, 0);
    const std::size_t step = std::max<std::size_t>(population_.size() / sampled, 1);
    std::vector<float> values;
    for (std::size_t c = 0; c < epsilon_.size(); ++c) {
        values.clear();
        for (std::size_t k = 0; k < population_.size(); k += step) values.push_back(error(k, c));
        const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
        std::ranges::nth_element(values, middle);
        const float median = *middle;
        if (!std::isfinite(median)) continue;
        for (float& value : values) value = std::abs(value - median);
        std::ranges::nth_element(values, middle);
        if (std::isfinite(*middle)) epsilon_[c] = *middle;
    }
}

// Of the rows those whose error of a case is within epsilon of the least one, in their order. Without a
// branch on what is kept: that is a coin's toss. Those of the next case are brought nearer.
std::size_t Island::keep_near_best(std::span<const float*> left, std::size_t c, std::size_t next) const {
    constexpr std::size_t at_once = 64;
    std::array<float, at_once> some;  // errors, each read from its row once
    const std::size_t in_hand = std::min(left.size(), at_once);
    float best = INFINITY;
    for (std::size_t k = 0; k < in_hand; ++k) {
        __builtin_prefetch(left[k] + next);
        best = std::min(best, some[k] = left[k][c]);
    }
    for (std::size_t k = in_hand; k < left.size(); ++k) best = std::min(best, left[k][c]);
    const float limit = best + epsilon_[c];
    std::size_t kept = 0;
    for (std::size_t k = 0; k < in_hand; ++k) {
        left[kept] = left[k];
        kept += static_cast<std::size_t>(some[k] <= limit);
    }
    for (std::size_t k = in_hand; k < left.size(); ++k) {
        left[kept] = left[k];
        kept += static_cast<std::size_t>(left[kept][c] <= limit);
    }
    return kept;
}

const Member& Island::lexicase(Random& random, std::size_t tournament) const {
    if (epsilon_.empty()) return best_drawn(random, tournament);
    thread_local std::vector<const float*> drawn;  // rows, of this call alone; kept for its memory
    drawn.resize(tournament);
    for (const float*& row : drawn) row = errors_.data() + random.below(population_.size()) * cases_;
    std::span<const float*> left = drawn;
    constexpr std::size_t most_cases = 24;  // behind them hardly any choice is left
    std::array<std::size_t, most_cases> tried;
    std::uint64_t perhaps_tried = 0;  // bits of the cases, as far as there are bits
    std::size_t count = 0;
    for (std::size_t k = 0; k < most_cases && left.size() > 1; ++k) {
        const std::size_t c = random.below(epsilon_.size());
        const std::uint64_t bit = std::uint64_t{1} << c % 64;
        // a case that comes again drops nobody: the least error of fewer is no less
        if ((perhaps_tried & bit) != 0 &&
            std::ranges::find(std::span(tried).first(count), c) != std::span(tried).first(count).end())
            continue;
        perhaps_tried |= bit;
        tried[count++] = c;
        Random ahead = random;
        left = left.first(keep_near_best(left, c, ahead.below(epsilon_.size())));
    }
    const float* const row = left[random.below(left.size())];
    return population_[static_cast<std::size_t>(row - errors_.data()) / cases_];
}

// Where there are no errors: the best of those that are drawn.
const Member& Island::best_drawn(Random& random, std::size_t tournament) const {
    const Member* best = nullptr;
    for (std::size_t k = 0; k < tournament; ++k) {
        const Member& member = population_[random.below(population_.size())];
        if (best == nullptr || member.is_better_than(*best)) best = &member;
    }
    return *best;
}

const Member* Island::parent(Random& random, const Options& options) const {
    constexpr double from_the_archive = 0.5;
    if (empty()) return nullptr;
    if (!grid_.empty() && (population_.empty() || random.chance(from_the_archive))) return &grid_.any(random);
    return &lexicase(random, options.tournament);
}

std::optional<Island::ToRefine> Island::next_to_refine() {
    if (to_refine_.empty()) return std::nullopt;
    ToRefine next = std::move(to_refine_.front());
    to_refine_.pop_front();
    return next;
}

void Island::start_again() {
    grid_.clear();
    population_.clear();
    errors_.clear();
    cases_ = 0;
    next_ = 0;
    epsilon_.clear();
    to_refine_.clear();
    best_.reset();
    without_elite_ = 0;
}

}  // namespace ptxgraft::search
