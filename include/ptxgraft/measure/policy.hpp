#pragma once
/// @file measure/policy.hpp
/// What variants may not do because it is no way to be fast, but a way to look so: reading clocks, keeping
/// their data in the cache behind the measurement's back, keeping results from one launch to the next.
///
/// It is a look at the text, before anything is assembled. What a variant computes, the checker sees.

#include "ptxgraft/stub.hpp"
#include "ptxgraft/syntax.hpp"

namespace ptxgraft::measure {

/// What is allowed. A workload that needs one of these says so.
struct Policy {
    /// Registers that tell when and where a thread runs, or which launch it is of: those that the instruction
    /// table has as volatile (`%clock64`, `%globaltimer`, `%smid`, `%warpid`, `%pm0` …), `%nsmid`,
    /// `%nwarpid`, `%gridid`.
    bool clocks = false;
    /// What tells the caches what to keep beyond a launch, or to fetch what it will want: `createpolicy`,
    /// `applypriority`, `discard`, `prefetch`, `prefetchu`, `cp.async.bulk.prefetch`, and the modifiers
    /// `.L2::cache_hint` and `evict_last` of either cache. Hints on loads of a launch's own data
    /// (`.L2::128B`, `.L1::no_allocate`, `.L2::evict_first`) are nobody's harm.
    bool caches = false;
    /// Loads by which a thread may wait for other blocks: `.volatile`, `.mmio`, `.relaxed` and `.acquire`
    /// with `.gpu` or `.sys`; and `nanosleep`.
    bool waiting = false;
    /// Variables in memory that lasts from launch to launch: `.global` ones.
    bool variables = false;
};

/// Errors: Errc::stub_effect_forbidden for what the policy forbids, with its place in `stub.ptx()`, which it
/// brings along.
[[nodiscard]] PTXGRAFT_API Expected<void> check_policy(const Stub& stub, const Policy& policy = {});

/// The same of a whole module. What `skeleton`, another module, has too is allowed: an instruction of the
/// same opcode and modifiers, that register, a variable of that name. Spans are in `module`'s text.
[[nodiscard]] PTXGRAFT_API Expected<void> check_policy(const syntax::Module& module,
                                                       const syntax::Module& skeleton,
                                                       const Policy& policy = {});

}  // namespace ptxgraft::measure
