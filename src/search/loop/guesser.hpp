#pragma once
/// @file guesser.hpp
/// Surrogates in the loop: what they learn of results that are committed, and what they do to a block that is
/// drawn. Equal logs give equal guesses, so a course with them is the same however it is run.

#include <string>
#include <vector>

#include "search/surrogate/surrogate.hpp"

namespace ptxgraft::search {

/// "guessed 70 registers: not assembled".
[[nodiscard]] std::string guess_text(const CodeSize& guess);
/// Whether a result was a guess, and none of a gate.
[[nodiscard]] bool is_guessed(const Result& result);

class Guesser {
  public:
    Guesser(const Space& space, const GuessOptions& options, std::uint64_t seed);

    /// The next candidate of the log; `genome` is what was judged.
    void learn(const Genome& genome, const Result& result);
    /// Puts the most promising of those that may move first, in the places that these have, and marks those
    /// whose code is surely beyond a limit. Those to be refined, and the first `fixed` indices, keep theirs.
    void guess(std::vector<Candidate>& block, std::uint64_t fixed) const;

  private:
    /// A figure with a limit.
    struct Limited {
        Surrogate surrogate;
        std::uint32_t CodeSize::*figure;
    };
    void order(std::vector<Candidate>& block, const std::vector<std::size_t>& places) const;
    void mark(std::vector<Candidate>& block, const std::vector<std::size_t>& places) const;

    GuessOptions options_;
    std::uint64_t seed_;
    std::vector<Limited> limited_;
    Surrogate cost_;
};

}  // namespace ptxgraft::search
