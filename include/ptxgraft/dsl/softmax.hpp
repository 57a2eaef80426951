#pragma once
/// @file dsl/softmax.hpp
/// The online softmax (Milakov and Gimelshein 2018) of rows whose scores come block by block, in the
/// registers that products of mma and wgmma leave (matrix.hpp: half_of, column_of): 16 rows of a warp, two of
/// which a lane has a part of.
///
/// @code
/// OnlineSoftmax rows(k, -1e8f);
/// loop {                                // scores: Regs<f32, 32>, 64 columns
///     rows.weigh(scores);               // exp(score - top), and `top` may have grown
///     rows.rescale(out);                // what was added up before that
///     …                                 // out += scores * values
/// }
/// rows.normalise(0), rows.normalise(1); // 1 / sum
/// k.emit<"mul.f32">(out[i], out[i], rows.sum[half_of(i)]);
/// @endcode

#include <cstdint>
#include <numbers>

#include "ptxgraft/dsl/matrix.hpp"
#include "ptxgraft/dsl/reduce.hpp"
#include "ptxgraft/dsl/value.hpp"

namespace ptxgraft::dsl {

/// Scores are below 1e8 in magnitude, or hidden by numbers below `least`: the product with log2(e) is
/// rounded, which all weights of a row have in common, until it is more than an exponent holds.
///
/// The state of a lane's two rows. `top` is the largest score so far, or what it began with; the sums of
/// weights, and what the caller adds up, are relative to it, and shrink by `factor` when it grows.
template <Target On> class OnlineSoftmax {
  public:
    /// `mov.f32 top, least;` `mov.f32 sum, 0f00000000;` for each row. Scores below `least` have weights of 0
    /// while there are no others: with a finite one that holds for rows that begin with minus infinity too,
    /// whose differences would be no numbers.
    explicit OnlineSoftmax(Builder<On>& b, float least) : b_(b) {
        for (std::size_t half = 0; half < 2; ++half) {
            b.template emit<"mov.f32">(top[half], least);
            b.template emit<"mov.f32">(sum[half], neutral_of<Fold::sum>);
        }
    }

    /// Scores become weights, exp(score - top). For each row `max.f32` of its scores, warp_reduce of 4 lanes,
    /// and
    /// @code
    /// mul.f32 base, next, -log2(e);
    /// fma.rn.f32 factor, top, log2(e), base;
    /// ex2.approx.ftz.f32 factor, factor;
    /// mov.f32 top, next;
    /// mul.f32 sum, sum, factor;
    /// @endcode
    /// and for each score
    /// @code
    /// fma.rn.f32 score, score, log2(e), base;
    /// ex2.approx.ftz.f32 score, score;
    /// add.f32 sum, sum, score;
    /// @endcode
    template <std::size_t N> void weigh(const Regs<f32, N>& scores) {
        constexpr float log2e = std::numbers::log2e_v<float>;
        const Regs<f32, 2> next = b_.template regs<f32, 2>(), base = b_.template regs<f32, 2>();
        for (std::size_t half = 0; half < 2; ++half) b_.template emit<"mov.f32">(next[half], top[half]);
        for (std::size_t i = 0; i < N; ++i) fold<Fold::max>(b_, next[half_of(i)], scores[i]);
        for (std::size_t half = 0; half < 2; ++half) {
            warp_reduce<Fold::max>(b_, next[half], 4);
            b_.template emit<"mul.f32">(base[half], next[half], -log2e);
            b_.template emit<"fma.rn.f32">(factor[half], top[half], log2e, base[half]);
            b_.template emit<"ex2.approx.ftz.f32">(factor[half], factor[half]);
            b_.template emit<"mov.f32">(top[half], next[half]);
            b_.template emit<"mul.f32">(sum[half], sum[half], factor[half]);
        }
        for (std::size_t i = 0; i < N; ++i) {
            b_.template emit<"fma.rn.f32">(scores[i], scores[i], log2e, base[half_of(i)]);
            b_.template emit<"ex2.approx.ftz.f32">(scores[i], scores[i]);
            fold<Fold::sum>(b_, sum[half_of(i)], scores[i]);
        }
    }

    /// `mul.f32 x, x, factor;` for what was added up before the last weigh().
    template <std::size_t N> void rescale(const Regs<f32, N>& of) const {
        for (std::size_t i = 0; i < N; ++i) b_.template emit<"mul.f32">(of[i], of[i], factor[half_of(i)]);
    }

    /// At the end `sum` becomes its inverse, 0 for a row all of whose weights are 0: warp_reduce of 4 lanes,
    /// and
    /// @code
    /// setp.eq.f32 %p, sum, 0f00000000;
    /// rcp.approx.ftz.f32 sum, sum;
    /// selp.f32 sum, 0f00000000, sum, %p;
    /// @endcode
    void normalise(std::size_t half) const {
        warp_reduce<Fold::sum>(b_, sum[half], 4);
        const Pred has_none = value(b_, sum[half]) == 0.0f;
        b_.template emit<"rcp.approx.ftz.f32">(sum[half], sum[half]);
        b_.template emit<"selp.f32">(sum[half], 0.0f, sum[half], has_none);
    }

  private:
    Builder<On>& b_;

  public:
    Regs<f32, 2> top = b_.template regs<f32, 2>(), sum = b_.template regs<f32, 2>(),
                 factor = b_.template regs<f32, 2>();
};

}  // namespace ptxgraft::dsl
