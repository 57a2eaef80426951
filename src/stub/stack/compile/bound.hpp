#pragma once
// How much room a program needs at most, from one pass over it.

#include <cstddef>
#include <cstdint>

#include "ptxgraft/stack.hpp"
#include "stub/stack/compile/machine.hpp"

namespace ptxgraft::stack {

inline constexpr std::uint32_t max_depth = 256, max_routines = 256, max_repeats = 255;

/// Counts of what executing a program makes at most. Where `steps` passes the limit the others mean nothing.
struct Bound {
    std::uint64_t steps = 0;
    std::uint64_t nodes = 0;
    /// pushes, changes of stacks, cells and assignments, places of `extra`: of each no more
    std::uint64_t values = 0;
    std::uint64_t reverses = 0;      ///< instructions that change whole stacks
    std::uint64_t merges = 0;        ///< places that an `if` may have to select
    std::uint64_t whole_merges = 0;  ///< `if`s around a reverse
    std::uint64_t text = 0;
    std::uint32_t if_depth = 0;
    bool has_brackets = false;

    void add(const Bound& other, std::uint64_t times);
};

/// Adds what an entry costs to the tables that bound_of reads.
void add_cost(SetCode& code, const EntryCode& entry);

[[nodiscard]] Bound bound_of(ProgramView program, const Machine::Data& machine);

/// Nodes that have numbers.
inline constexpr std::uint64_t most_nodes = 0xFFFFFF00u;
/// Whether a program may execute more than a compile may take.
[[nodiscard]] bool passes(const Bound& bound, const Limits& limits);

/// Bytes of arena for a bound.
[[nodiscard]] std::size_t bytes_of(const Bound& bound, ProgramView program, const Machine::Data& machine,
                                   const CompileOptions& options);

}  // namespace ptxgraft::stack
