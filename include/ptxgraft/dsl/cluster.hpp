#pragma once
/// @file dsl/cluster.hpp
/// CTAs of a cluster and threads of a CTA that meet: cluster barriers, shared memory of other CTAs, masks of
/// multicasts (from sm_90 on, PTX 7.8; PTX ISA 2.2.2), named barriers, and one thread of a warp.
///
/// @code
/// using Four = Cluster<2, 2>;
/// k.directives({.cluster = Four::extent});
/// NamedBarrier consumers(k, 256);                       // of 256 of the block's threads
/// consumers.sync();                                     // bar.sync 1, 256;
/// …                                                     // st.shared
/// cluster_sync(k);                                      // barrier.cluster.arrive, barrier.cluster.wait
/// const auto there = address_in(k, buffer, 3);          // mapa: of CTA 3
/// k.emit<"ld.shared::cluster.f32">(x, at(there));
/// cluster_sync(k);                                      // no CTA ends while others read its shared memory
/// @endcode
///
/// Special registers are read as all others: `read<"%cluster_ctarank">(k)`, `%cluster_nctarank`,
/// `%cluster_ctaid.x`, `%clusterid.x` (PTX ISA 10.12 to 10.17).

#include <cstdint>

#include "ptxgraft/dsl/module.hpp"
#include "ptxgraft/dsl/value.hpp"

namespace ptxgraft::dsl {

/// The shape of a cluster, in CTAs: at most 16, and 8 where kernels are to run on every device. CTAs have
/// ranks as in a matrix, row after row: %cluster_ctarank is %cluster_ctaid.x + X %cluster_ctaid.y.
template <std::uint32_t X, std::uint32_t Y = 1>
requires(X >= 1 && X <= 16 && Y >= 1 && Y <= 16 && X * Y <= 16) struct Cluster {
    static constexpr std::uint32_t size = X * Y;
    static constexpr Extent extent = {X, Y, 1};  ///< EntryDirectives::cluster
    [[nodiscard]] static constexpr std::uint32_t rank(std::uint32_t x, std::uint32_t y) { return x + X * y; }

    /// The CTAs that a multicast goes to, a bit for each by its rank (PTX ISA 9.7.9.25.4.1): those whose
    /// %cluster_ctaid.y, or .x, is this.
    [[nodiscard]] static constexpr std::uint16_t row_mask(std::uint32_t y) {
        return static_cast<std::uint16_t>(((1u << X) - 1) << X * y);
    }
    [[nodiscard]] static constexpr std::uint16_t column_mask(std::uint32_t x) {
        std::uint32_t mask = 0;
        for (std::uint32_t y = 0; y < Y; ++y) mask |= 1u << rank(x, y);
        return static_cast<std::uint16_t>(mask);
    }
    static constexpr auto all_mask = static_cast<std::uint16_t>((1u << X * Y) - 1);

    /// Those of the row that this CTA is in:
    /// @code
    /// mov.u32 %u1, %cluster_ctaid.y;
    /// mul.lo.u32 %u2, %u1, X;
    /// shl.b16 mask, 3, %u2;             // row_mask(0)
    /// @endcode
    template <Target On> [[nodiscard]] static Reg<u16> row_mask(Builder<On>& b) {
        return shifted(b, row_mask(0), read<"%cluster_ctaid.y">(b) * X);
    }
    /// Those of its column:
    /// @code
    /// mov.u32 %u1, %cluster_ctaid.x;
    /// shl.b16 mask, 5, %u1;             // column_mask(0)
    /// @endcode
    template <Target On> [[nodiscard]] static Reg<u16> column_mask(Builder<On>& b) {
        return shifted(b, column_mask(0), read<"%cluster_ctaid.x">(b));
    }

  private:
    template <Target On>
    static Reg<u16> shifted(Builder<On>& b, std::uint16_t first, const Value<u32, On>& by) {
        const auto mask = b.template reg<u16>();
        b.template emit<"shl.b16">(mask, first, by);
        return mask;
    }
};

/// What a variable in shared memory, or an address there in a register, is in the CTA of this rank, a
/// constant or a register: `mapa.shared::cluster.u32 %u1, of, rank;` (PTX ISA 9.7.9.23). It is an address for
/// .shared::cluster alone: .shared and .shared::cta would take it for one of their own.
template <Target On, Operand Shared, Operand Rank>
[[nodiscard]] Value<u32, On> address_in(Builder<On>& b, const Shared& of, const Rank& rank) {
    const auto address = b.template reg<u32>();
    b.template emit<"mapa.shared::cluster.u32">(address, of, rank);
    return {b, address};
}

/// An arrival at the mbarrier of another CTA, by its address in this one (Barriers::address): address_in(),
/// and `mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%u1];` (PTX ISA 9.7.13.15.13). What waits
/// there is Barriers::wait_in_cluster.
template <Target On, Operand Rank> void arrive_in(Builder<On>& b, const Reg<u32>& barrier, const Rank& rank) {
    b.template emit<"mbarrier.arrive.release.cluster.shared::cluster.b64">(sink,
                                                                           at(address_in(b, barrier, rank)));
}
/// The same, the arrival under a guard. The rank is a CTA's also where the guard is false.
template <Target On, Operand Rank>
void arrive_in_if(Builder<On>& b, Pred p, const Reg<u32>& barrier, const Rank& rank) {
    const auto there = address_in(b, barrier, rank);
    b.if_(p).template emit<"mbarrier.arrive.release.cluster.shared::cluster.b64">(sink, at(there));
}

/// All threads of a cluster meet, and see what any of them wrote before (PTX ISA 9.7.13.3):
/// @code
/// barrier.cluster.arrive.release.aligned;
/// …                                          // what the body emits: no access that another CTA waits for
/// barrier.cluster.wait.acquire.aligned;
/// @endcode
/// Whole warps come here: no divergent branch leads to it. Threads that ended are not waited for.
template <Target On, class Body> void cluster_sync(Builder<On>& b, Body&& between) {
    b.template emit<"barrier.cluster.arrive.release.aligned">();
    between();
    b.template emit<"barrier.cluster.wait.acquire.aligned">();
}
template <Target On> void cluster_sync(Builder<On>& b) {
    cluster_sync(b, [] {});
}

/// A barrier of some warps of a CTA (PTX ISA 9.7.13.1), by a number that the function has not used yet: 1 to
/// 15, for 0 is that of all threads. A 16th one is the builder's error, as is a count of threads that is no
/// multiple of 32. (Functions that are called have numbers of their own, which may be the same.)
template <Target On> class NamedBarrier {
  public:
    NamedBarrier(FunctionBuilder<On>& k, std::uint32_t threads)
        : k_(k), number_(k.new_barrier()), threads_(threads) {}

    /// `bar.sync 1, 256;`: until as many threads are here, or have passed arrive(). Each sees what the others
    /// wrote before.
    void sync() const { k_.template emit<"bar.sync">(number_, threads_); }
    /// `bar.arrive 1, 256;`: for those who call sync(). A warp does so once before they go on.
    void arrive() const { k_.template emit<"bar.arrive">(number_, threads_); }
    [[nodiscard]] std::uint32_t number() const { return number_; }

  private:
    FunctionBuilder<On>& k_;
    std::uint32_t number_, threads_;
};

/// Groups of as many warps each, 0 and on, that take turns in that order: what one does between take() and
/// pass() no other does meanwhile. Each group has a barrier, new_barrier(), at which it waits and the one
/// before it arrives. Each group passes as often as it takes, and all of them as often as each other.
///
/// @code
/// Turns turns(k, 2, 128);                              // two groups of 128 threads
/// turns.begin(group);                                  // all groups: the last one passes, to group 0
/// k.loop([&](Label end) { … turns.take(); … turns.pass(); … });
/// turns.end();                                         // group 0 takes the turn that nobody uses
/// @endcode
template <Target On> class Turns {
  public:
    Turns(FunctionBuilder<On>& k, std::uint32_t groups, std::uint32_t threads)
        : k_(k), first_(k.new_barrier()), groups_(groups), threads_(2 * threads) {
        for (std::uint32_t i = 1; i < groups; ++i) (void)k.new_barrier();
    }
    /// From here on `group` is the number of this thread's; pass() where it is the last one.
    void begin(Reg<u32> group) {
        group_ = group;
        k_.if_(value(k_, group) == groups_ - 1, [&] { pass(); });
    }
    /// `add.u32 %u1, group, 1;` (the number of its barrier) and `bar.sync %u1, 256;`
    void take() const { k_.template emit<"bar.sync">(value(k_, group_) + first_, threads_); }
    /// @code
    /// add.u32 next, group, 2;
    /// setp.gt.u32 %p, next, 2;         // the last group's
    /// selp.b32 next, 1, next, %p;
    /// bar.arrive next, 256;
    /// @endcode
    void pass() const {
        const auto next = value(k_, group_) + (first_ + 1);
        k_.template emit<"selp.b32">(next, first_, next, next > first_ + groups_ - 1);
        k_.template emit<"bar.arrive">(next, threads_);
    }
    /// take() where it is group 0.
    void end() const {
        k_.if_(value(k_, group_) == 0, [&] { take(); });
    }

  private:
    FunctionBuilder<On>& k_;
    std::uint32_t first_, groups_, threads_;  // threads of two groups: who waits and who arrives
    Reg<u32> group_ = {};
};

/// True in one lane, always the same, of a whole warp that comes here: `elect.sync _|%p1, -1;` (PTX ISA
/// 9.7.13.14). From sm_90 on, PTX 8.0.
template <Target On> [[nodiscard]] Pred elect(Builder<On>& b) {
    const auto is_leader = b.template reg<pred>();
    b.template emit<"elect.sync">(pair(sink, is_leader), -1);
    return is_leader;
}

}  // namespace ptxgraft::dsl
