#pragma once
/// @file fuse.hpp
/// Two instructions by one that does both: where one takes the other's result, an instruction of the set that
/// takes all that both took, in some order (`shl` and `add` are a `mad`).

#include "ptxgraft/search.hpp"
#include "search/loop/genes.hpp"

namespace ptxgraft::search {

/// The program with two of its instructions fused, simplified before; nothing where there are no two of which
/// that can be said, or no such instruction. What the new one computes is another thing more often than not:
/// gates say so. Of a constant among its operands, as often as not, another is drawn: also, of an integer k,
/// 2 to the k, so that a shift becomes a product.
[[nodiscard]] std::optional<stack::Program> fused(const stack::Program& program, const SiteSpace& site,
                                                  const Genes& genes, Random& random);

}  // namespace ptxgraft::search
