#pragma once
/// @file dsl/pipeline.hpp
/// Rings of stages in shared memory, guarded by mbarriers (PTX ISA 9.7.13.15): a barrier for each stage, and
/// a cursor that goes around. From sm_90 on, PTX 8.0.
///
/// @code
/// Barriers full(k, "full", 4), empty(k, "empty", 4);
/// …                                               // one thread: full.init(1), empty.init(consumers)
/// const Cursor in = cursor(k, 1);                 // of a producer: the first round finds all stages empty
/// empty.wait(in), full.expect_tx(in, bytes);      // … copies that complete at full[in] …
/// advance(k, in, 4);
///
/// const Cursor out = cursor(k);                   // of a consumer
/// full.wait(out);                                 // … reads …
/// empty.arrive(out), advance(k, out, 4);
/// @endcode

#include <cstdint>
#include <string>
#include <string_view>

#include "ptxgraft/dsl/module.hpp"

namespace ptxgraft::dsl {

/// A stage, and the parity of the phase that is waited for there.
struct Cursor {
    Reg<u32> stage, phase;
};
/// A cursor at stage 0: `mov.u32 stage, 0;` `mov.u32 phase, 0;`. The phase before a barrier's first one
/// counts as complete, and has parity 1.
template <Target On> Cursor cursor(Builder<On>& b, std::uint32_t phase = 0) {
    const Cursor made = {b.template reg<u32>(), b.template reg<u32>()};
    b.template emit<"mov.u32">(made.stage, 0);
    b.template emit<"mov.u32">(made.phase, phase);
    return made;
}
/// To the next of so many stages:
/// @code
/// add.u32 stage, stage, 1;
/// setp.eq.u32 %p, stage, 4;
/// selp.b32 stage, 0, stage, %p;
/// @%p xor.b32 phase, phase, 1;
/// @endcode
template <Target On> void advance(Builder<On>& b, const Cursor& at, std::uint32_t stages) {
    const auto is_round = b.template reg<pred>();
    b.template emit<"add.u32">(at.stage, at.stage, 1);
    b.template emit<"setp.eq.u32">(is_round, at.stage, stages);
    b.template emit<"selp.b32">(at.stage, 0, at.stage, is_round);
    b.if_(is_round).template emit<"xor.b32">(at.phase, at.phase, 1);
}

/// An mbarrier for each stage.
template <Target On> class Barriers {
  public:
    /// `.shared .align 8 .b64 full[4];` and `mov.u32 %full, full;`, an address that all calls count from.
    Barriers(FunctionBuilder<On>& k, std::string_view name, std::uint32_t count)
        : k_(k), count_(count), first_(k.template reg<u32>()) {
        k_.template emit<"mov.u32">(first_, k.shared(name, {.type = b64, .count = count, .align = 8}));
    }

    /// `mbarrier.init.shared::cta.b64 [%full+8], arrivals;` for each. One thread does that; others know of it
    /// by a barrier, copies that complete there by `fence.mbarrier_init.release.cluster`.
    void init(std::uint32_t arrivals) const {
        for (std::uint32_t i = 0; i < count_; ++i)
            k_.template emit<"mbarrier.init.shared::cta.b64">(dsl::at(first_, 8 * i), arrivals);
    }
    /// The address of a stage's barrier: `mad.lo.u32 %t, stage, 8, %full;`.
    [[nodiscard]] Reg<u32> address(const Cursor& at) const {
        const auto made = k_.template reg<u32>();
        k_.template emit<"mad.lo.u32">(made, at.stage, 8, first_);
        return made;
    }
    /// Until the cursor's phase is complete: address(), and
    /// @code
    /// L1:
    /// mbarrier.try_wait.parity.shared::cta.b64 %p, [%t], phase;
    /// @!%p bra L1;
    /// @endcode
    void wait(const Cursor& at) const { wait_by<"mbarrier.try_wait.parity.shared::cta.b64">(at); }
    /// The same where threads of other CTAs arrive (cluster.hpp: arrive_in), and with what they wrote before:
    /// `mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64`.
    void wait_in_cluster(const Cursor& at) const {
        wait_by<"mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64">(at);
    }
    /// address(), and `mbarrier.arrive.shared::cta.b64 _, [%t];`
    void arrive(const Cursor& at) const { arrive(at, k_); }
    /// The same under a guard.
    void arrive_if(Pred p, const Cursor& at) const { arrive(at, k_.if_(p)); }
    /// An arrival that announces bytes: address(), and
    /// `mbarrier.arrive.expect_tx.shared::cta.b64 _, [%t], bytes;`. Gives the address, for the copies.
    Reg<u32> expect_tx(const Cursor& at, std::uint32_t bytes) const {
        const auto barrier = address(at);
        k_.template emit<"mbarrier.arrive.expect_tx.shared::cta.b64">(sink, dsl::at(barrier), bytes);
        return barrier;
    }

    [[nodiscard]] std::uint32_t stages() const { return count_; }

  private:
    template <Literal TryWait> void wait_by(const Cursor& at) const {
        const auto barrier = address(at);
        const auto is_complete = k_.template reg<pred>();
        k_.loop_while([&] {
            k_.template emit<TryWait>(is_complete, dsl::at(barrier), at.phase);
            return !is_complete;
        });
    }
    void arrive(const Cursor& at, auto&& by) const {
        const auto barrier = address(at);
        by.template emit<"mbarrier.arrive.shared::cta.b64">(sink, dsl::at(barrier));
    }
    FunctionBuilder<On>& k_;
    std::uint32_t count_;
    Reg<u32> first_;
};

/// The stages that one thread fills by copies and some warps empty: two barriers for each, and on either side
/// the next one.
///
/// @code
/// Ring ring(k, "keys", 4);              // barriers keys_full and keys_empty
/// …                                     // one thread: ring.init(8), of 8 warps
/// ring.begin_filling();                 // the producer
/// ring.fill(bytes, [&](Reg<u32> barrier) { … });      // copies to ring.next.stage
/// …
/// ring.begin_emptying();                // a consumer
/// ring.wait();                          // … reads ring.next.stage …
/// ring.free(is_first_lane);
/// @endcode
template <Target On> class Ring {
  public:
    Ring(FunctionBuilder<On>& k, const std::string& name, std::uint32_t stages)
        : full(k, name + "_full", stages), empty(k, name + "_empty", stages), k_(k) {}

    Barriers<On> full, empty;
    Cursor next = {};  ///< the stage to be filled, or to be emptied

    /// A stage is full by the producer and the bytes that it announces; empty by each consumer.
    void init(std::uint32_t consumers) const {
        full.init(1);
        empty.init(consumers);
    }
    /// `next` is cursor(k, 1): the first round finds all stages empty.
    void begin_filling() { next = cursor(k_, 1); }
    /// `next` is cursor(k).
    void begin_emptying() { next = cursor(k_); }
    /// Waits until the next stage is empty, announces the bytes of the copies that the body emits, which gets
    /// the barrier where they complete, and goes on to the stage behind: empty.wait(), full.expect_tx(),
    /// advance().
    template <class Body> void fill(std::uint32_t bytes, Body&& body) const {
        empty.wait(next);
        body(full.expect_tx(next, bytes));
        advance(k_, next, full.stages());
    }
    /// Until the next stage is full: full.wait().
    void wait() const { full.wait(next); }
    /// One lane of each consumer says that it has read the stage; then the next one: empty.arrive_if(),
    /// advance().
    void free(Pred is_speaker) const {
        empty.arrive_if(is_speaker, next);
        advance(k_, next, full.stages());
    }

  private:
    FunctionBuilder<On>& k_;
};

}  // namespace ptxgraft::dsl
