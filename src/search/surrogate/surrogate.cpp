// A model of results, and how well it guesses what it has not seen.

#include "search/surrogate/surrogate.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/try.hpp"

namespace ptxgraft::search {
namespace {

constexpr double surely = 2;  // deviations beyond a limit

}  // namespace

Surrogate::Surrogate(const Space& space, const SurrogateOptions& options)
    : options_(options), features_(space, options.extras) {
    options_.batch = std::max<std::size_t>(options_.batch, 1);
    options_.remembered = std::max<std::size_t>(options_.remembered, 1);
    options_.most = std::max(options_.most, options_.batch);
    if (options_.model == SurrogateModel::boosted_trees)
        if (auto model = boosted_trees()) models_.push_back(std::move(model));
    if (models_.empty())
        for (const double penalty : {1e-9, 1e-3, 3e-2}) models_.push_back(ridge(penalty));
    errors_.assign(models_.size(), 0);
    samples_.width = waiting_.width = features_.count();
}

Surrogate Surrogate::make(const Space& space, const SurrogateOptions& options) { return {space, options}; }

Expected<std::vector<double>> Surrogate::rows_of(std::span<const Candidate* const> candidates,
                                                 std::span<const double> extras) const {
    if (extras.size() != candidates.size() * options_.extras)
        return fail(Errc::argument_invalid, std::to_string(extras.size()) + " numbers beside " +
                                                std::to_string(candidates.size()) + " candidates, not " +
                                                std::to_string(options_.extras) + " for each");
    if (!std::ranges::all_of(extras, [](double value) { return std::isfinite(value); }))
        return fail(Errc::argument_invalid, "a number beside a candidate is not finite");
    Features::Scratch scratch;
    const std::size_t width = features_.count();
    std::vector<double> rows(candidates.size() * width);
    for (std::size_t k = 0; k < candidates.size(); ++k) {
        if (!features_.fits(candidates[k]->genome))
            return fail(Errc::argument_invalid,
                        "candidate " + std::to_string(candidates[k]->index) + " is of another space");
        features_.write(candidates[k]->genome, extras.subspan(k * options_.extras, options_.extras),
                        std::span(rows).subspan(k * width, width), scratch);
    }
    return rows;
}

Expected<void> Surrogate::learn(std::span<const Candidate* const> candidates, std::span<const double> values,
                                std::span<const double> extras) {
    if (values.size() != candidates.size())
        return fail(Errc::argument_invalid, std::to_string(values.size()) + " values of " +
                                                std::to_string(candidates.size()) + " candidates");
    if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); }))
        return fail(Errc::argument_invalid, "a value to learn is not finite");
    const std::vector<double> rows = TRY(rows_of(candidates, extras));
    const std::size_t width = features_.count();
    for (std::size_t k = 0; k < values.size(); ++k) {
        const auto row = std::span(rows).subspan(k * width, width);
        waiting_.rows.insert(waiting_.rows.end(), row.begin(), row.end());
        waiting_.values.push_back(values[k]);
        if (waiting_.count() == options_.batch) finish_batch();
    }
    return {};
}

// Guessed first, learnt then.
void Surrogate::finish_batch() {
    if (samples_.count() != 0) {
        std::vector<double> guesses(waiting_.count());
        std::vector<double> errors;
        for (std::size_t m = 0; m < models_.size(); ++m) {
            std::vector<double> own(waiting_.count());
            models_[m]->predict(waiting_.rows, own);
            if (m == best_) guesses = own;
            double sum = 0;
            for (std::size_t k = 0; k < own.size(); ++k)
                sum += (own[k] - waiting_.values[k]) * (own[k] - waiting_.values[k]);
            errors_[m] = 0.8 * errors_[m] + sum;
        }
        look_at_limit(guesses);
        unseen_.push_back(look(guesses));
        if (unseen_.size() > options_.remembered) unseen_.pop_front();
        best_ = static_cast<std::size_t>(std::ranges::min_element(errors_) - errors_.begin());
    }
    samples_.rows.insert(samples_.rows.end(), waiting_.rows.begin(), waiting_.rows.end());
    samples_.values.insert(samples_.values.end(), waiting_.values.begin(), waiting_.values.end());
    learnt_ += waiting_.count();
    waiting_.rows.clear();
    waiting_.values.clear();
    if (samples_.count() > options_.most) {
        const auto old = static_cast<std::ptrdiff_t>(samples_.count() - options_.most);
        samples_.rows.erase(samples_.rows.begin(),
                            samples_.rows.begin() + old * static_cast<std::ptrdiff_t>(samples_.width));
        samples_.values.erase(samples_.values.begin(), samples_.values.begin() + old);
    }
    for (const auto& model : models_) model->fit(samples_);
}

// As it would have decided then.
void Surrogate::look_at_limit(std::span<const double> guesses) {
    for (std::size_t k = 0; k < guesses.size(); ++k)
        if (is_surely_beyond(guesses[k])) named_.push_back(waiting_.values[k] > *options_.limit);
    while (named_.size() > options_.named) named_.pop_front();
}

bool Surrogate::is_surely_beyond(double guess) const {
    return options_.limit && guess > *options_.limit + surely * deviation();
}

double Surrogate::precision() const {
    const auto right = static_cast<double>(std::ranges::count(named_, true));
    return named_.empty() ? 0 : right / static_cast<double>(named_.size());
}

Surrogate::Unseen Surrogate::look(std::span<const double> guesses) const {
    const std::vector<double>& values = waiting_.values;
    const std::size_t n = values.size(), tenth = std::max<std::size_t>(1, (n + 5) / 10);
    std::vector<std::size_t> by_guess(n);
    std::iota(by_guess.begin(), by_guess.end(), std::size_t{0});
    std::ranges::stable_sort(by_guess, {}, [&](std::size_t k) { return guesses[k]; });
    std::vector<double> sorted = values;
    std::ranges::sort(sorted);
    const double limit = sorted[tenth - 1];
    const auto as_good = static_cast<std::size_t>(std::ranges::upper_bound(sorted, limit) - sorted.begin());
    Unseen made{.wanted = static_cast<double>(tenth)};
    for (std::size_t k = 0; k < tenth && 2 * as_good < n; ++k)
        made.hits += values[by_guess[k]] <= limit ? 1 : 0;
    for (std::size_t k = 0; k < n; ++k) {
        made.errors += (guesses[k] - values[k]) * (guesses[k] - values[k]);
        made.sum += values[k];
        made.squares += values[k] * values[k];
        made.count += 1;
    }
    return made;
}

Expected<std::vector<double>> Surrogate::predict(std::span<const Candidate* const> candidates,
                                                 std::span<const double> extras) const {
    const std::vector<double> rows = TRY(rows_of(candidates, extras));
    std::vector<double> made(candidates.size(), 0);
    if (samples_.count() != 0) models_[best_]->predict(rows, made);
    return made;
}

Expected<std::vector<std::size_t>> Surrogate::order(std::span<const Candidate* const> candidates,
                                                    std::span<const double> extras) const {
    const std::vector<double> guesses = TRY(predict(candidates, extras));
    std::vector<std::size_t> sorted(candidates.size()), made;
    std::iota(sorted.begin(), sorted.end(), std::size_t{0});
    if (!is_trusted()) return sorted;
    std::ranges::stable_sort(sorted, {}, [&](std::size_t k) { return guesses[k]; });
    constexpr std::size_t against = 20;
    std::size_t first = 0, last = sorted.size();
    while (first < last) made.push_back((made.size() + 1) % against == 0 ? sorted[--last] : sorted[first++]);
    return made;
}

Surrogate::Unseen Surrogate::all_unseen() const {
    Unseen all;
    for (const Unseen& batch : unseen_) {
        all.hits += batch.hits;
        all.wanted += batch.wanted;
        all.errors += batch.errors;
        all.sum += batch.sum;
        all.squares += batch.squares;
        all.count += batch.count;
    }
    return all;
}

double Surrogate::recall() const {
    const Unseen all = all_unseen();
    return all.wanted > 0 ? all.hits / all.wanted : 0;
}

double Surrogate::deviation() const {
    const Unseen all = all_unseen();
    return all.count > 0 ? std::sqrt(all.errors / all.count) : INFINITY;
}

double Surrogate::r_squared() const {
    const Unseen all = all_unseen();
    const double spread = all.count > 0 ? all.squares - all.sum * all.sum / all.count : 0;
    return spread > 0 ? 1 - all.errors / spread : 0;
}

bool Surrogate::is_trusted() const {
    if (learnt_ < options_.least) return false;
    if (!options_.limit) return recall() >= options_.least_recall;
    return named_.size() >= options_.least_named && precision() >= options_.least_precision;
}

}  // namespace ptxgraft::search
