#pragma once
/// @file attention_rows.hpp
/// What both attentions do with the rows of a warp between their two products and behind them: sites, masks,
/// the online softmax, the output.

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
Matrix find_matrix(FunctionBuilder<On>& k, const Structure<Tensor>& tensor, const Value<u32, On>& head) {
    const auto address = k.load(tensor, &Tensor::address), batch = k.load(tensor, &Tensor::batch),
               offset = k.template reg<u64>(), row = k.template reg<u64>();
    emit<"cvta.to.global.u64">(k, address, address);
    emit<"mul.wide.u32">(k, offset, head, k.load(tensor, &Tensor::head));
    emit<"cvt.u64.u32">(k, row, read<"%ctaid.z">(k));
    emit<"mad.lo.u64">(k, offset, row, batch, offset);
    emit<"mul.wide.u32">(k, row, k.load(tensor, &Tensor::row), 2);
    return {(value(k, offset) << 1) + address, row};
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

/// 16 rows of a warp, by their online softmax, over keys that come block by block. Both sites are asked about
/// rows beyond the last query too, whose results are dropped.
template <Target On, Options O> class Rows {
  public:
    /// Rows from `first` on, a multiple of 16: a lane has that plus lane / 4, and the one 8 below.
    Rows(FunctionBuilder<On>& builder, const Problem& of, const Value<u32, On>& first)
        : softmax(builder, hidden), k(builder), problem(of) {
        const auto lane = read<"%laneid">(k);
        column = (lane & 3) << 1;
        row = (lane >> 2) + first;
    }

    /// Products of queries with N keys from `first` on become scores: scaled, through the site, and minus
    /// infinity where a row does not see a key. The site is asked about those too.
    template <std::size_t N> void score(const Regs<f32, N>& scores, Reg<u32> first) {
        const auto begin = value(k, column) + first;
        const Regs<u32, 2> rows = both_rows();
        for (std::size_t i = 0; i < N; ++i) {
            emit<"mul.f32">(k, scores[i], scores[i], problem.scale);
            site("score", mod("score", scores[i]), rows[half_of(i)], begin + column_of(i), Heat::hot);
        }
        const auto hides = k.template reg<pred>();
        emit<"setp.gt.s32">(k, hides, value(k, first) + 2 * N, keys_of(value(k, row) & -16));
        k.if_(hides, [&] {
            const auto left = k.template regs<s32, 2>();
            for (std::size_t half = 0; half < 2; ++half)
                emit<"sub.s32">(k, left[half], keys_of(value(k, both_rows()[half])), begin);
            for (std::size_t i = 0; i < N; ++i) {
                const Pred is_visible = value(k, left[half_of(i)]) > column_of(i);
                emit<"selp.f32">(k, scores[i], scores[i], neutral_of<Fold::max>, is_visible);
            }
        });
    }

    /// The output over the sum of the weights, 0 for a row without any key, through the site and to memory.
    template <std::size_t N> void store(const Regs<f32, N>& out, const Matrix& to) {
        const auto address = k.template reg<u64>();
        const auto both = k.template reg<b32>();
        const Regs<u32, 2> rows = both_rows();
        for (std::size_t half = 0; half < 2; ++half) {
            softmax.normalise(half);
            const Pred is_row = value(k, rows[half]) < problem.rows;
            emit<"cvt.u64.u32">(k, address, rows[half]);
            emit<"mad.lo.u64">(k, address, address, to.row_bytes, to.address);
            emit<"mad.wide.u32">(k, address, column, 2, address);
            for (std::size_t i = 2 * half; i < N; i += 4) {
                for (const std::size_t j : {i, i + 1}) {
                    emit<"mul.f32">(k, out[j], out[j], softmax.sum[half]);
                    site("epilogue", mod("value", out[j]), rows[half], value(k, column) + column_of(j),
                         Heat::cold);
                }
                pack<O.type>(k, both, out[i], out[i + 1]);
                k.if_(is_row).template emit<"st.global.b32">(at(address, 2 * column_of(i)), both);
            }
        }
    }

    OnlineSoftmax<On> softmax;

  private:
    using Heat = ptxgraft::Heat;
    void site(std::string_view name, const SiteArgument& x, Reg<u32> of_row, Reg<u32> of_column, Heat heat) {
        k.site(name, {x, in("row", of_row), in("column", of_column), in("head", problem.head)},
               {.heat = heat}, [] {});
    }
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

    FunctionBuilder<On>& k;
    Problem problem;
    Reg<u32> column = {};  // of a lane's first register, in a block of keys or of the head dimension
    Reg<u32> row = {};     // the first one of a lane
};

}  // namespace attention
