#pragma once
/// @file reduce.hpp
/// Sums and maxima of .f32 over the threads of a warp and of a block, and running ones of a warp.
///
/// @code
/// const auto scratch = k.shared("scratch", {.type = f32, .count = 256 / 32});
/// block_reduce<Fold::sum>(k, sum, scratch, 256);   // every thread's `sum` is now that of the block
/// @endcode
///
/// Every lane of a warp that there is has to come: no divergent branch leads here. Operands are registers
/// that are read and written; what else is needed is new. The order of additions is the same in every run,
/// and every thread gets the same bits of a reduction.

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>

#include "ptxgraft/dsl/builder.hpp"
#include "ptxgraft/dsl/operand.hpp"

namespace ptxgraft::dsl {

/// How two values become one: `add.f32`; `max.f32`, for which a NaN is no value unless there is nothing else.
enum class Fold : std::uint8_t { sum, max };

/// What changes no value: 0, minus infinity.
template <Fold F>
inline constexpr float neutral_of = F == Fold::sum ? 0.0f : -std::numeric_limits<float>::infinity();

/// `add.f32 x, x, y;` or `max.f32 x, x, y;`, of a builder or of what if_() gives.
template <Fold F> void fold(auto&& b, const Reg<f32>& x, const Reg<f32>& y) {
    if constexpr (F == Fold::sum)
        b.template emit<"add.f32">(x, x, y);
    else
        b.template emit<"max.f32">(x, x, y);
}

/// Every lane of a whole warp gets the result of its group: of `lanes` lanes side by side, a power of two.
/// @code
/// shfl.sync.bfly.b32 y, x, 16, 31, -1;   // for 16, 8, 4, 2, 1: those below `lanes`
/// add.f32 x, x, y;
/// @endcode
template <Fold F, Target On> void warp_reduce(Builder<On>& b, const Reg<f32>& x, std::uint32_t lanes = 32) {
    const auto y = b.template reg<f32>();
    for (std::uint32_t distance = lanes / 2; distance > 0; distance /= 2) {
        b.template emit<"shfl.sync.bfly.b32">(y, x, distance, 31, -1);
        fold<F>(b, x, y);
    }
}

/// Every lane of a warp that ends early gets the result of them all; `last` is the number of its last lane, a
/// constant or a register that is the same in all.
/// @code
/// shfl.sync.down.b32 y|p, x, 16, last, -1;   // for 16, 8, 4, 2, 1
/// @p add.f32 x, x, y;
/// …
/// shfl.sync.idx.b32 x, x, 0, 31, -1;
/// @endcode
template <Fold F, Target On, Operand Last>
void partial_warp_reduce(Builder<On>& b, const Reg<f32>& x, const Last& last) {
    const auto y = b.template reg<f32>();
    const auto p = b.template reg<pred>();
    for (std::uint32_t distance = 16; distance > 0; distance /= 2) {
        b.template emit<"shfl.sync.down.b32">(pair(y, p), x, distance, last, -1);
        fold<F>(b.if_(p), x, y);
    }
    b.template emit<"shfl.sync.idx.b32">(x, x, 0, 31, -1);
}

/// Lane i gets the result of lanes 0 to i, in a warp of any number of lanes.
/// @code
/// shfl.sync.up.b32 y|p, x, 1, 0, -1;   // for 1, 2, 4, 8, 16
/// @p add.f32 x, x, y;
/// @endcode
template <Fold F, Target On> void warp_scan(Builder<On>& b, const Reg<f32>& x) {
    const auto y = b.template reg<f32>();
    const auto p = b.template reg<pred>();
    for (std::uint32_t distance = 1; distance < 32; distance *= 2) {
        b.template emit<"shfl.sync.up.b32">(pair(y, p), x, distance, 0, -1);
        fold<F>(b.if_(p), x, y);
    }
}

namespace emitting {

// What block_reduce knows of a thread, and where each warp leaves its result.
template <Target On> struct BlockPlace {
    Reg<u32> thread, warp, own;
    Pred is_first;  // of its warp

    BlockPlace(Builder<On>& b, const Variable<Space::shared>& scratch)
        : thread(b.template reg<u32>()),
          warp(b.template reg<u32>()),
          own(b.template reg<u32>()),
          is_first(b.template reg<pred>()),
          base_(b.template reg<u32>()) {
        const auto lane = b.template reg<u32>();
        b.template emit<"mov.u32">(thread, special<"%tid.x">);
        b.template emit<"shr.u32">(warp, thread, 5);
        b.template emit<"and.b32">(lane, thread, 31);
        b.template emit<"setp.eq.u32">(is_first, lane, 0);
        b.template emit<"mov.u32">(base_, scratch);
        b.template emit<"mad.lo.u32">(own, warp, 4, base_);
    }
    void leave(Builder<On>& b, const Reg<f32>& x) const {
        b.if_(is_first).template emit<"st.shared.f32">(at(own), x);
        b.template emit<"bar.sync">(0);
    }
    // The results of all warps, in each group of as many lanes: of a whole warp.
    template <Fold F> void gather(Builder<On>& b, const Reg<f32>& x, std::uint32_t warps) const {
        const std::uint32_t lanes = std::bit_ceil(warps);
        const auto slot = b.template reg<u32>(), other = b.template reg<u32>();
        b.template emit<"and.b32">(slot, thread, lanes - 1);
        b.template emit<"mad.lo.u32">(other, slot, 4, base_);
        if (lanes == warps) {
            b.template emit<"ld.shared.f32">(x, at(other));
        } else {
            const auto p = b.template reg<pred>();
            b.template emit<"setp.lt.u32">(p, slot, warps);
            b.template emit<"mov.f32">(x, neutral_of<F>);
            b.if_(p).template emit<"ld.shared.f32">(x, at(other));
        }
        warp_reduce<F>(b, x, lanes);
    }

  private:
    Reg<u32> base_;
};

}  // namespace emitting

/// Every thread of a block of `threads` in x, 1 to 1024, gets the result of them all. `scratch` has an .f32
/// for each warp; before the block uses it again, for a second reduction or this one in a loop, there has to
/// be a barrier. Of a block of one warp it is the reduction of the warp alone, else:
///
/// | whole warps | with a partial one |
/// |---|---|
/// | warp_reduce, lane 0 stores to scratch | partial_warp_reduce, lane 0 stores to scratch |
/// | `bar.sync 0;` | `bar.sync 0;` |
/// | every warp loads all, warp_reduce | warp 0 loads all, warp_reduce, lane 0 stores to scratch |
/// | | `bar.sync 0;` and all load that |
template <Fold F, Target On>
void block_reduce(Builder<On>& b, const Reg<f32>& x, const Variable<Space::shared>& scratch,
                  std::uint32_t threads) {
    if (threads == 32) return warp_reduce<F>(b, x);
    if (threads < 32) return partial_warp_reduce<F>(b, x, threads - 1);
    const std::uint32_t warps = (threads + 31) / 32;
    const emitting::BlockPlace<On> place(b, scratch);
    if (threads % 32 == 0) {
        warp_reduce<F>(b, x);
        place.leave(b, x);
        return place.template gather<F>(b, x, warps);
    }
    const auto last = b.template reg<u32>();
    b.template emit<"and.b32">(last, place.thread, -32);
    b.template emit<"sub.u32">(last, threads - 1, last);
    b.template emit<"min.u32">(last, last, 31);
    partial_warp_reduce<F>(b, x, last);
    place.leave(b, x);
    const auto is_warp_0 = b.template reg<pred>();
    b.template emit<"setp.eq.u32">(is_warp_0, place.warp, 0);
    b.if_(is_warp_0, [&] {
        place.template gather<F>(b, x, warps);
        b.if_(place.is_first).template emit<"st.shared.f32">(at(scratch), x);
    });
    b.template emit<"bar.sync">(0);
    b.template emit<"ld.shared.f32">(x, at(scratch));
}

}  // namespace ptxgraft::dsl
