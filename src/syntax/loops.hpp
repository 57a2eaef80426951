#pragma once
/// @file loops.hpp
/// The control-flow graph of a function, and its loops.

#include <cstddef>
#include <vector>

#include "ptxgraft/syntax.hpp"

namespace ptxgraft::syntax {

/// Instructions that are executed one after the other.
struct BasicBlock {
    Span span;    ///< of its instructions, in the text that was parsed; unknown where it has none
    Span extent;  ///< from its label, or from behind the branch before it, to where the next one begins
    bool falls_through = true;                 ///< to the next one; behind the last one the function ends
    std::vector<std::size_t> successors = {};  ///< to which its last instruction branches
};
/// The blocks of a function in the order of the text: the first is where it begins. Calls return behind
/// themselves; an indirect branch (`brx.idx`) may go to every label that a `.branchtargets` of the function
/// lists.
[[nodiscard]] std::vector<BasicBlock> basic_blocks(Statement function);

/// The basic blocks of a function that lie on a cycle of its graph, by their extents: what stands there, or
/// is put there, may run more than once in one call.
[[nodiscard]] std::vector<Span> blocks_in_loops(Statement function);

/// The nodes of a graph that lie on a cycle; `successors[i]` are those of node i.
[[nodiscard]] std::vector<bool> nodes_on_cycles(const std::vector<std::vector<std::size_t>>& successors);

}  // namespace ptxgraft::syntax
