#pragma once
/// @file spending.hpp
/// What a run has spent of its budget, and how many candidates it may judge before it would pass one.

#include <span>

#include "ptxgraft/search.hpp"

namespace ptxgraft::search {

/// The names of gates that a budget counts.
inline constexpr std::string_view assembling = "assembly", emulating = "emulation";

class Spending {
  public:
    Spending(const Budget& budget, std::span<Gate* const> gates);

    /// What gates did for a batch.
    void add(std::span<const GateCount> gates);
    /// Candidates of the next batch, each of which may come to every gate. 0: a budget is spent.
    [[nodiscard]] std::uint64_t left(std::uint64_t judged) const;
    /// Whether the clock, or that of the processors, says that it is over.
    [[nodiscard]] bool is_late() const;

  private:
    const Budget budget_;
    double begin_wall_, begin_cpu_;
    std::uint64_t assembling_ = 0, emulating_ = 0;   ///< gates
    std::uint64_t assemblies_ = 0, emulations_ = 0;  ///< candidates that came to them
    double gpu_seconds_ = 0, dearest_ = 0;           ///< of a candidate, in the dearest batch
    bool uses_gpu_ = false, has_price_ = false;
};

}  // namespace ptxgraft::search
