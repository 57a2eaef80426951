#pragma once
/// @file state.hpp
/// The state of a search as a fold over its log: what was drawn and committed, in the order of blocks and of
/// indices. Drawing does not change what parents are chosen from, and committing draws nothing, so the order
///
///     draw 0, draw 1, commit 0, draw 2, commit 1, draw 3, …
///
/// is all that a candidate depends on beside the seed.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "search/archive/store.hpp"
#include "search/loop/again.hpp"
#include "search/loop/crew.hpp"
#include "search/loop/guesser.hpp"
#include "search/loop/kept.hpp"
#include "search/loop/key_set.hpp"
#include "search/loop/operators.hpp"
#include "search/loop/population.hpp"

namespace ptxgraft::search {

struct Block {
    BlockCounts counts;
    std::vector<Candidate> candidates = {};  ///< in the order of their indices
    std::vector<ResultSlot> results = {};    ///< for each
    std::size_t asked = 0, committed = 0;    ///< from the front
    std::size_t ready = 0;  ///< from the front: have their results, which nobody changes any more
    [[nodiscard]] bool is_done() const { return committed == candidates.size(); }
    void note_ready() {
        while (ready < candidates.size() && results[ready]) ++ready;
    }
};

/// A space is exhausted where so many draws in a row gave nothing new: three blocks of default options.
inline constexpr std::uint64_t draws_in_vain = std::uint64_t{3} * 1024 * 16;

class State {
  public:
    /// `first` are genomes that are drawn first. Where nothing will be drawn, `draws` is false: then nothing
    /// is learnt for it.
    State(Breeder breeder, const Options& options, std::vector<Genome> first, bool draws = true);

    /// The block's candidates, whose keys were not seen before. Where `is_over` says so, which any thread
    /// asks now and then, it is left off and there is none; the same call then goes on with what was drawn.
    [[nodiscard]] std::optional<Block> draw(std::uint64_t block, Crew& crew,
                                            const std::function<bool()>& is_over);
    /// A block that was drawn before: what its drawing changed.
    void note_drawn(const Block& block);
    /// The next candidate of the log with its result.
    void commit(const Candidate& candidate, const Result& result);
    /// Behind the last candidate of a block.
    void end_block(std::uint64_t block);
    /// A block that nobody wants any more: its memory is used again.
    void take_back(Block block) { done_.push_back(std::move(block)); }

    [[nodiscard]] std::vector<Elite> elites() const;
    [[nodiscard]] bool reaches(const Target& target) const;
    /// Without the gates.
    [[nodiscard]] Ledger ledger() const;
    [[nodiscard]] std::uint64_t judged() const { return ledger_.judged; }
    [[nodiscard]] std::uint64_t without_gain() const { return ledger_.without_gain; }
    /// Whether the last candidate is the best of its cell, or was a measurement again of one.
    [[nodiscard]] bool has_changed() const { return ledger_.without_gain == 0 || was_measured_; }

  private:
    struct Drawn {
        Candidate candidate;
        bool has_failed = false;  ///< the genome does not compile: a limit was passed
    };
    void begin(Candidate& candidate, std::uint64_t slot) const;
    /// In the place of what was drawn before, whose memory it takes.
    void draw_one(std::uint64_t slot, std::uint32_t attempt, Drawn& drawn) const;
    void vary(Random& random, const Island& island, Drawn& drawn) const;
    [[nodiscard]] std::size_t any_operator(Random& random) const;
    [[nodiscard]] std::vector<std::pair<std::uint64_t, Island::ToRefine>> take_refinements(
        std::uint64_t block);
    /// Elites to be measured again, with slots for them from the block's end on.
    [[nodiscard]] std::vector<std::pair<std::uint64_t, Member>> take_measurements(std::uint64_t block);
    void commit_measurement(const Candidate& candidate, const Result& result);
    /// A block that is not wholly drawn.
    struct Drawing {
        Block made;
        std::vector<Drawn> drawn = {};
        std::vector<std::size_t> open = {};  ///< places without a candidate that is new
        std::uint32_t attempt = 0;
        std::uint64_t in_vain = 0;  ///< the last draws
    };
    [[nodiscard]] Drawing begin_drawing(std::uint64_t block);
    [[nodiscard]] Block empty_block();
    [[nodiscard]] std::vector<std::size_t> by_island(std::uint64_t first,
                                                     const std::vector<std::size_t>& open) const;
    void keep_new(Drawing& drawing);
    [[nodiscard]] Block finished(Drawing drawing);
    void adapt();
    void migrate(std::uint64_t block);

    const Space& space_;
    const Options& options_;
    Breeder breeder_;
    SharedGenomes genomes_;  ///< of all members: the first of those that have any
    std::vector<Island> islands_;
    Grid all_;  ///< of all islands, also of those that began again
    Again again_;
    bool was_measured_ = false;  ///< the last candidate
    KeySet keys_;
    std::vector<const OperatorRow*> rows_;  ///< for each operator
    std::vector<Genome> seeds_;
    std::optional<Guesser> guesser_;
    Ledger ledger_;
    std::vector<double> gains_;  ///< elites by operator, the older the less
    std::vector<double> tries_;  ///< candidates by operator, likewise
    std::uint64_t next_migration_ = 0;
    std::optional<Drawing> drawing_;  ///< that was left off
    std::vector<Drawn> drawn_;        ///< of the last block, for their memory
    std::vector<Block> done_;         ///< for theirs
};

/// Its key; where a program passes a limit of the compiler, has_value() is false.
[[nodiscard]] Expected<DataflowParts> key_of(const Genome& genome, const Space& space);

}  // namespace ptxgraft::search
