#pragma once
/// @file loops.hpp
/// The loops of a function, by its control-flow graph.

#include <cstddef>
#include <vector>

#include "ptxgraft/syntax.hpp"

namespace ptxgraft::syntax {

/// The basic blocks of a function that lie on a cycle of its control-flow graph, as spans of the text that
/// was parsed, in its order: what stands there may run more than once in one call. Calls return behind
/// themselves; an indirect branch (`brx.idx`) may go to every label that a `.branchtargets` of the function
/// lists.
[[nodiscard]] std::vector<Span> blocks_in_loops(Statement function);

/// The nodes of a graph that lie on a cycle; `successors[i]` are those of node i.
[[nodiscard]] std::vector<bool> nodes_on_cycles(const std::vector<std::vector<std::size_t>>& successors);

}  // namespace ptxgraft::syntax
