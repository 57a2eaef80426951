#pragma once
/// @file attention_rows.hpp
/// What both attentions do with the rows of a warp between their two products and behind them: sites, masks,
/// the online softmax, the output.

#include <array>
#include <limits>
#include <numbers>
#include <span>

#include "ptxgraft/dsl.hpp"

namespace attention {

using namespace ptxgraft::dsl;

/// What is computed: elements of q, k, v and the output, .f16 or .bf16; how many of them a row has, 64 or
/// 128; whether a query sees only keys that are not behind it. The last query is beside the last key: query i
/// of `rows` sees keys 0 to i + columns - rows.
struct Options {
    Type type = bf16;
    std::uint32_t head_dim = 128;
    bool is_causal = false;
};

/// q, k, v or the output, as an argument: for each sequence of the batch and each head a matrix with a row
/// for each query or key. Strides count elements, and are multiples of 8; the address is one of 16.
struct Tensor {
    std::uint64_t address = 0;
    std::uint64_t batch = 0;          ///< from sequence to sequence
    std::uint32_t head = 0, row = 0;  ///< from head to head, from row to row
};

/// One of its matrices.
struct Matrix {
    Reg<u64> address;  // .global
    Reg<u64> row_bytes;
};
/// That of a head in the block's sequence, %ctaid.z.
template <Target On>
Matrix find_matrix(FunctionBuilder<On>& k, Variable<Space::param> tensor, const Value<u32, On>& head) {
    const auto address = k.template reg<u64>(), batch = k.template reg<u64>(), offset = k.template reg<u64>(),
               row = k.template reg<u64>();
    const auto strides = k.template regs<u32, 2>();
    emit<"ld.param.u64">(k, address, at(tensor));
    emit<"ld.param.u64">(k, batch, at(tensor, 8));
    emit<"ld.param.v2.u32">(k, strides, at(tensor, 16));
    emit<"cvta.to.global.u64">(k, address, address);
    emit<"mul.wide.u32">(k, offset, head, strides[0]);
    emit<"cvt.u64.u32">(k, row, read<"%ctaid.z">(k));
    emit<"mad.lo.u64">(k, offset, row, batch, offset);
    emit<"mul.wide.u32">(k, row, strides[1], 2);
    return {(value(k, offset) << 1) + address, row};
}

/// Of a fragment of 16 rows that a warp has: register 4 j + i is register i of mma_d (matrix.hpp), 8 j
/// columns on. A product of wgmma has it so in each warp of the warpgroup.
template <std::size_t N> using Fragment = Regs<f32, N>;
/// Of a register: 0 for the lane's first row, 1 for the one 8 below; how far it is from the lane's first
/// column.
constexpr std::size_t half_of(std::size_t i) { return i / 2 % 2; }
constexpr std::uint32_t column_of(std::size_t i) { return static_cast<std::uint32_t>(i / 4 * 8 + i % 2); }

/// Registers `first` and on.
template <std::size_t Count, class R, std::size_t N>
std::array<R, Count> slice(const std::array<R, N>& all, std::size_t first) {
    std::array<R, Count> some;
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(first), Count, some.begin());
    return some;
}

/// Two .f32 as a pair in one register, the first one below. For .bf16: `cvt.rn.bf16x2.f32 d, second, first;`
template <Type T, Target On> void pack(Builder<On>& k, Reg<b32> d, Reg<f32> first, Reg<f32> second) {
    constexpr Type both = T == bf16 ? bf16x2 : f16x2;
    emit<typed<typed<"cvt.rn", both>(), f32>()>(k, d, second, first);
}
/// A fragment as A of products with 16 columns each: registers 4 j to 4 j + 3.
template <Type T, Target On, std::size_t N>
void pack(Builder<On>& k, const std::array<Reg<b32>, N / 2>& d, const Fragment<N>& from) {
    for (std::size_t i = 0; i < N / 2; ++i) pack<T>(k, d[i], from[2 * i], from[2 * i + 1]);
}

/// The problem, as all threads of a block know it.
struct Problem {
    Reg<u32> rows = {}, columns = {};  // queries and keys
    Reg<u32> head = {};
    Reg<f32> scale = {};
};

/// The first query of a block that has so many. Where some see more keys than others, those begin first.
template <Options O, Target On>
Value<u32, On> first_row_of_block(FunctionBuilder<On>& k, std::uint32_t rows) {
    const auto block = read<"%ctaid.x">(k);
    if constexpr (O.is_causal) return (read<"%nctaid.x">(k) - 1 - block) * rows;
    return block * rows;
}
/// How many keys the block's queries see, from `first_row` to the one before `first_row` + count: 0 where
/// there are none.
template <Options O, Target On>
Reg<u32> keys_seen(FunctionBuilder<On>& k, const Problem& of, const Value<u32, On>& first_row,
                   std::uint32_t count) {
    if constexpr (!O.is_causal) return of.columns;
    const auto seen = k.template reg<s32>();
    const auto end = first_row + count;
    emit<"min.u32">(k, end, end, of.rows);
    emit<"sub.s32">(k, seen, end + of.columns, of.rows);
    emit<"max.s32">(k, seen, seen, 0);
    return {seen.name};
}

/// A key with a score below it is hidden: -inf, or what a stub takes for that, such as -1e9. Others lie
/// between -1e7 and 1e7.
inline constexpr float hidden = -1e8f;

/// 16 rows of a warp: the online softmax over keys that come block by block. `top` is the largest score so
/// far; the sum of the weights and the output are relative to it, and shrink by `factor` when it grows. Both
/// sites are asked about rows beyond the last query too, whose results are dropped.
template <Target On, Options O> class Rows {
  public:
    /// Rows from `first` on, a multiple of 16: a lane has that plus lane / 4, and the one 8 below.
    Rows(FunctionBuilder<On>& builder, const Problem& of, const Value<u32, On>& first)
        : k(builder), problem(of) {
        const auto lane = read<"%laneid">(k);
        column = (lane & 3) << 1;
        row = (lane >> 2) + first;
        for (std::size_t half = 0; half < 2; ++half) {
            emit<"mov.f32">(k, top[half], hidden);
            emit<"mov.f32">(k, sum[half], neutral_of<Fold::sum>);
        }
    }

    /// Products of queries with N keys from `first` on become scores: scaled, through the site, and minus
    /// infinity where a row does not see a key. The site is asked about those too.
    template <std::size_t N> void score(const Fragment<N>& scores, Reg<u32> first) {
        const auto begin = value(k, column) + first;
        const Regs<u32, 2> rows = both_rows();
        for (std::size_t i = 0; i < N; ++i) {
            emit<"mul.f32">(k, scores[i], scores[i], problem.scale);
            k.site("score",
                   {mod("score", scores[i]), in("row", rows[half_of(i)]),
                    in("column", (begin + column_of(i)).reg), in("head", problem.head)},
                   {.heat = ptxgraft::Heat::hot}, [] {});
        }
        const auto hides = k.template reg<pred>();
        emit<"setp.gt.s32">(k, hides, value(k, first) + 2 * N, keys_of(value(k, row) & -16));
        k.if_(hides, [&] { mask(scores, begin); });
    }

    /// Scores become weights. `top` begins at `hidden`, so that rows whose keys are all hidden so far have
    /// weights of 0, not exponentials of the difference of two infinities, or of two large numbers.
    template <std::size_t N> void weigh(const Fragment<N>& scores) {
        std::array<Reg<f32>, 2> next = k.template regs<f32, 2>(), base = k.template regs<f32, 2>();
        for (std::size_t half = 0; half < 2; ++half) emit<"mov.f32">(k, next[half], top[half]);
        for (std::size_t i = 0; i < N; ++i) fold<Fold::max>(k, next[half_of(i)], scores[i]);
        for (std::size_t half = 0; half < 2; ++half) {
            warp_reduce<Fold::max>(k, next[half], 4);
            emit<"mul.f32">(k, base[half], next[half], -log2e);
            emit<"fma.rn.f32">(k, factor[half], top[half], log2e, base[half]);
            emit<"ex2.approx.ftz.f32">(k, factor[half], factor[half]);
            emit<"mov.f32">(k, top[half], next[half]);
            emit<"mul.f32">(k, sum[half], sum[half], factor[half]);
        }
        for (std::size_t i = 0; i < N; ++i) {
            emit<"fma.rn.f32">(k, scores[i], scores[i], log2e, base[half_of(i)]);
            emit<"ex2.approx.ftz.f32">(k, scores[i], scores[i]);
            fold<Fold::sum>(k, sum[half_of(i)], scores[i]);
        }
    }
    /// What was added to the output before the last weigh().
    template <std::size_t N> void rescale(const Fragment<N>& out) {
        for (std::size_t i = 0; i < N; ++i) emit<"mul.f32">(k, out[i], out[i], factor[half_of(i)]);
    }

    /// The output over the sum of the weights, 0 for a row without any key, through the site and to memory.
    template <std::size_t N> void store(const Fragment<N>& out, const Matrix& to) {
        const auto begin = value(k, column);
        const auto address = k.template reg<u64>();
        const auto both = k.template reg<b32>();
        const Regs<u32, 2> rows = both_rows();
        for (std::size_t half = 0; half < 2; ++half) {
            const auto inverse = value(k, sum[half]);
            warp_reduce<Fold::sum>(k, inverse, 4);
            const Pred has_none = inverse == 0.0f, is_row = value(k, rows[half]) < problem.rows;
            emit<"rcp.approx.ftz.f32">(k, inverse, inverse);
            emit<"selp.f32">(k, inverse, 0.0f, inverse, has_none);
            emit<"cvt.u64.u32">(k, address, rows[half]);
            emit<"mad.lo.u64">(k, address, address, to.row_bytes, to.address);
            emit<"mad.wide.u32">(k, address, column, 2, address);
            for (std::size_t i = 2 * half; i < N; i += 4) {
                for (const std::size_t j : {i, i + 1}) {
                    emit<"mul.f32">(k, out[j], out[j], inverse);
                    k.site("epilogue",
                           {mod("value", out[j]), in("row", rows[half]),
                            in("column", (begin + column_of(j)).reg), in("head", problem.head)},
                           {.heat = ptxgraft::Heat::cold}, [] {});
                }
                pack<O.type>(k, both, out[i], out[i + 1]);
                k.if_(is_row).template emit<"st.global.b32">(at(address, 2 * column_of(i)), both);
            }
        }
    }

  private:
    static constexpr float log2e = std::numbers::log2e_v<float>;

    Regs<u32, 2> both_rows() { return {row, value(k, row) + 8}; }
    // Keys that a row sees; where it is negative, as many are lacking for the first one.
    Reg<s32> keys_of(const Value<u32, On>& of) {
        const auto keys = k.template reg<s32>();
        if constexpr (O.is_causal)
            emit<"sub.s32">(k, keys, of + problem.columns + 1, problem.rows);
        else
            emit<"mov.s32">(k, keys, problem.columns);
        return keys;
    }
    template <std::size_t N> void mask(const Fragment<N>& scores, Reg<u32> begin) {
        const auto left = k.template regs<s32, 2>();
        for (std::size_t half = 0; half < 2; ++half)
            emit<"sub.s32">(k, left[half], keys_of(value(k, both_rows()[half])), begin);
        for (std::size_t i = 0; i < N; ++i) {
            const Pred is_visible = value(k, left[half_of(i)]) > column_of(i);
            emit<"selp.f32">(k, scores[i], scores[i], neutral_of<Fold::max>, is_visible);
        }
    }

    FunctionBuilder<On>& k;
    Problem problem;
    Reg<u32> column = {};  // of a lane's first register, in a block of keys or of the head dimension
    Reg<u32> row = {};     // the first one of a lane
    Regs<f32, 2> top = k.template regs<f32, 2>(), sum = k.template regs<f32, 2>(),
                 factor = k.template regs<f32, 2>();
};

}  // namespace attention
