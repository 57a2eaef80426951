#pragma once
/// @file surrogate.hpp
/// Guesses what a candidate will cost, from what others did: which of a queue to judge first, and which are
/// surely too large to be assembled. A guess is never a result: it accepts nothing and stands in no archive.
///
///     auto registers = Surrogate::make(space).value();
///     registers.learn(candidates, their_registers).value();        // as results come in
///     if (registers.is_trusted()) order = registers.order(queue);
///
/// It says itself whether it is of any use: each batch of results is guessed before it is learnt, so what it
/// states of itself is of candidates that it had not seen. What it has to be good for depends on what it is
/// asked: to order a queue it has to find the best of it; with a limit it has to say what is
/// beyond, also where most are equal and nothing is the best.

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ptxgraft/search.hpp"
#include "search/surrogate/features.hpp"
#include "search/surrogate/model.hpp"

namespace ptxgraft::search {

enum class SurrogateModel : std::uint8_t {
    ridge,          ///< linear; of several penalties the one that guessed best so far
    boosted_trees,  ///< XGBoost where its library is found, else ridge
};

struct SurrogateOptions {
    SurrogateModel model = SurrogateModel::ridge;
    std::size_t extras = 0;            ///< numbers beside each candidate, such as registers and bytes of code
    std::uint64_t least = 256;         ///< results without which it is not trusted
    double least_recall = 0.5;         ///< and without which neither, where there is no limit
    std::optional<double> limit = {};  ///< what is surely beyond it is asked for
    double least_precision = 0.9;      ///< without which it is not trusted, where there is one
    std::size_t least_named = 16;      ///< results that it named as beyond, without which neither
    std::size_t named = 64;            ///< of them that its precision is of: the last ones
    std::size_t batch = 64;            ///< results between two fits
    std::size_t remembered = 4;        ///< batches that its recall is of
    std::size_t most = 8192;           ///< results that are kept to learn from: the last ones
};

/// Equal results in equal order give equal guesses. Threads: any number may ask at once, none while it
/// learns.
class Surrogate {
  public:
    [[nodiscard]] static Surrogate make(const Space& space, const SurrogateOptions& options = {});

    /// Results, the lower the better. `extras` stand one candidate after the other. Errors:
    /// Errc::argument_invalid for infinite values and NaNs, for candidates of another space, and for lists
    /// that do not go together; then none of them is learnt.
    [[nodiscard]] Expected<void> learn(std::span<const Candidate* const> candidates,
                                       std::span<const double> values, std::span<const double> extras = {});
    /// A guess for each candidate; 0 before the first batch is full. Errors: as learn, but for values.
    [[nodiscard]] Expected<std::vector<double>> predict(std::span<const Candidate* const> candidates,
                                                        std::span<const double> extras = {}) const;
    /// In which order to judge: the lowest guess first, but every twentieth place goes to the highest that is
    /// left, so that what it misjudges is seen. Their own order as long as it is not trusted.
    [[nodiscard]] Expected<std::vector<std::size_t>> order(std::span<const Candidate* const> candidates,
                                                           std::span<const double> extras = {}) const;

    /// Of the best tenth of each of the last batches, the part that was in the tenth of the lowest guesses
    /// when nothing of that batch had been learnt; 0 where there was none. A batch of which half is as good
    /// as the best tenth orders nothing, and counts as 0.
    [[nodiscard]] double recall() const;
    /// Over the same guesses: 1 - (squared errors) / (squared distances from the mean); 0 where there is
    /// none.
    [[nodiscard]] double r_squared() const;
    /// The square root of the mean square of what the same guesses were off; infinite where there is none.
    [[nodiscard]] double deviation() const;
    /// Whether a guess is beyond the limit by more than twice the deviation.
    [[nodiscard]] bool is_surely_beyond(double guess) const;
    /// Of the last results that were surely beyond the limit by what was guessed of them when they had not
    /// been learnt, the part that was; 0 where there is none. Of how many batches they are does not matter:
    /// where what is named is left out, few come.
    [[nodiscard]] double precision() const;
    /// Of enough results: by its precision where there is a limit, else by its recall.
    [[nodiscard]] bool is_trusted() const;
    /// Results, in batches that are whole.
    [[nodiscard]] std::uint64_t learnt() const { return learnt_; }

    Surrogate(Surrogate&&) noexcept = default;
    Surrogate& operator=(Surrogate&&) noexcept = default;

  private:
    struct Unseen {
        double hits = 0, wanted = 0;  // of the best tenth
        double errors = 0, sum = 0, squares = 0, count = 0;
    };
    Surrogate(const Space& space, const SurrogateOptions& options);
    [[nodiscard]] Expected<std::vector<double>> rows_of(std::span<const Candidate* const> candidates,
                                                        std::span<const double> extras) const;
    void finish_batch();
    void look_at_limit(std::span<const double> guesses);
    [[nodiscard]] Unseen look(std::span<const double> guesses) const;

    [[nodiscard]] Unseen all_unseen() const;

    SurrogateOptions options_;
    Features features_;
    std::vector<std::unique_ptr<Model>> models_;
    std::vector<double> errors_;  // of each, the older the less
    std::size_t best_ = 0;        // the model that is asked
    Samples samples_, waiting_;
    std::uint64_t learnt_ = 0;  // in whole batches, also what is not kept any more
    std::deque<Unseen> unseen_;
    std::deque<bool> named_;  // of results that were named as beyond: whether they were
};

}  // namespace ptxgraft::search
