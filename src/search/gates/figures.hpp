#pragma once
/// @file figures.hpp
/// What gates find, put where the search wants it; and what they do with a genome.

#include <vector>

#include "ptxgraft/search_gates.hpp"

namespace ptxgraft::search {

/// Puts a figure into the descriptor and the cost, where it is wanted. Those that were not yet found are plus
/// infinity.
void note(Result& result, const Figures& figures, Objective figure, double value);

/// The error of a case that was not tried, because an earlier one had failed: larger than every other.
inline constexpr float never_tried = 3e38f;

/// What is to be judged: what Refine made of it, where that is better.
[[nodiscard]] const Genome& genome_of(const Candidate& candidate, const Result& result);
/// Whether an earlier gate was to refine it and could not: then it is in the archive as it is.
[[nodiscard]] bool is_known(const Candidate& candidate, const Result& result);

/// The stubs of a genome, for a skeleton's sites.
[[nodiscard]] Expected<std::vector<Graft>> grafts_of(const Genome& genome, const Space& space);
/// Errors: Errc::space_invalid where the skeleton has no such sites.
[[nodiscard]] Expected<void> check_sites(const Space& space, const Skeleton& skeleton);

/// A result that ends here.
void end(Result& result, Status status, std::string detail);

}  // namespace ptxgraft::search
