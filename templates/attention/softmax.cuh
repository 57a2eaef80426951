// The online softmax of rows whose scores are accumulators of the tensor cores. Of 16 rows and 8 columns a
// lane has four: row lane / 4 and columns 2 (lane % 4) and one on, then the same of the row 8 below; the next
// four are 8 columns on. mma.sync has them so, and wgmma in each of its warps.
#pragma once
#include "visible.cuh"

namespace attention {

constexpr float log2_e = 1.44269504f, ln_2 = 0.693147181f;
constexpr float infinity = __builtin_bit_cast(float, 0x7F800000);
// What is below is hidden: -inf, or what a stub takes for that, such as -1e9. Rows begin there instead of at
// -inf, so that a row without a visible key has weights of 0 and not exponentials of the difference of two
// infinities, or of two numbers so large that rounding decides.
constexpr float hidden = -1e8f;

__device__ constexpr unsigned half_of(unsigned i) { return i / 2 % 2; }
__device__ constexpr unsigned column_of(unsigned i) { return i / 4 * 8 + i % 2; }

// The result of a reduction over the four lanes that share a row.
__device__ inline float max_of_row(float value) {
    value = fmaxf(value, __shfl_xor_sync(0xFFFFFFFF, value, 2));
    return fmaxf(value, __shfl_xor_sync(0xFFFFFFFF, value, 1));
}
__device__ inline float sum_of_row(float value) {
    value += __shfl_xor_sync(0xFFFFFFFF, value, 2);
    return value + __shfl_xor_sync(0xFFFFFFFF, value, 1);
}
__device__ inline float exp2_of(float x) {
    asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(x));
    return x;
}

// The same number, which no assembler computes with before the other one is there: of its bytes a permutation
// that takes none from the other. Where nothing uses the result it is no instruction.
__device__ inline unsigned behind(unsigned number, float other) {
    unsigned same;
    asm("prmt.b32 %0, %1, %2, 0x3210;" : "=r"(same) : "r"(number), "r"(__float_as_uint(other)));
    return same;
}
__device__ inline float behind(float number, float other) {
    return __uint_as_float(behind(__float_as_uint(number), other));
}

// What the site `score` sees: the product of query and key, which the softmax scales together with its own
// constant in one multiplication and addition; or the scaled product, for one multiplication more.
constexpr unsigned product = 0, logit = 1;

// Two rows of a lane, 8 apart: the largest score so far, and the sum of the weights of this lane's columns
// relative to it.
template <unsigned scored> struct Rows {
    Query query[2];
    float of_row[2];
    float top[2] = {hidden, hidden}, sum[2] = {0, 0};
    float scale;  // above 0 where scored == product

    // What `score` sees beside the scores.
    struct Seen {
        Query query[2];
        float of_row[2], scale;
        unsigned first_column;  // of the lane
    };
    __device__ Seen seen_behind(unsigned first_column, float done) const {
        Seen seen = {{query[0], query[1]}, {}, behind(scale, done), behind(first_column, done)};
#pragma unroll
        for (unsigned half = 0; half < 2; ++half) {
            seen.query[half].row = behind(query[half].row, done);
            seen.of_row[half] = behind(of_row[half], done);
        }
        return seen;
    }

    __device__ float in_exponent() const { return scored == logit ? log2_e : scale * log2_e; }

    // Products become scores: scaled, and through the sites. Stubs of `at_once` scores are begun where those
    // of the scores before them are done, the first where the products are; 0: where the assembler likes.
    template <unsigned at_once, unsigned count>
    __device__ void score(float (&scores)[count], unsigned column) const {
        const unsigned first = column + 2 * (threadIdx.x % 4);
        Seen seen = {{query[0], query[1]}, {of_row[0], of_row[1]}, scale, first};
#pragma unroll
        for (unsigned pair = 0; pair < count / 2; ++pair) {
            const unsigned i = pair / 2 * 4 + pair % 2;  // and i + 2, of the same column
            if (at_once != 0 && i % (at_once + (at_once == 0)) == 0)
                seen = seen_behind(first, scores[i == 0 ? 0 : i - 1]);
            const unsigned here = seen.first_column + column_of(i);
            const float of_column = value_of_column(here, seen.query[0]);
#pragma unroll
            for (unsigned half = 0; half < 2; ++half) {
                float& one = scores[i + 2 * half];
                if (scored == logit) one *= scale;
                change_score(one, seen.query[half], here, seen.scale, seen.of_row[half], of_column);
            }
        }
    }
    // Of a tile that is cut: -inf where a query does not see the key.
    template <unsigned count>
    __device__ void hide(float (&scores)[count], unsigned column, const Window& window) const {
#pragma unroll
        for (unsigned first = 0; first < 2 * count; first += 32)
#pragma unroll
            for (unsigned half = 0; half < 2; ++half) {
                unsigned visible = window.mask(query[half].row, column + first);
                change_mask(visible, query[half], column + first);
                visible >>= 2 * (threadIdx.x % 4);  // this lane's columns are those of bits 8 j and 8 j + 1
#pragma unroll
                for (unsigned i = first / 2; i < first / 2 + 16; ++i)
                    if (half_of(i) == half && (visible >> (column_of(i) - first) & 1) == 0)
                        scores[i] = -infinity;
            }
    }

    // Scores become weights. What was added to the output before is to be multiplied by `factor`.
    template <unsigned count> __device__ void weigh(float (&scores)[count], float (&factor)[2]) {
        const float by = in_exponent();
        float base[2], next[2] = {top[0], top[1]};
#pragma unroll
        for (unsigned i = 0; i < count; ++i) next[half_of(i)] = fmaxf(next[half_of(i)], scores[i]);
#pragma unroll
        for (unsigned half = 0; half < 2; ++half) {
            next[half] = max_of_row(next[half]);
            // The difference of two products that were rounded alike: the weights so far are relative to one.
            base[half] = __fmul_rn(next[half], by);
            factor[half] = exp2_of(__fsub_rn(__fmul_rn(top[half], by), base[half]));
            top[half] = next[half];
            sum[half] *= factor[half];
        }
#pragma unroll
        for (unsigned i = 0; i < count; i += 2) {  // and the next one, of the same row
            const unsigned half = half_of(i);
            const float x[2] = {__fmaf_rn(scores[i], by, -base[half]),
                                __fmaf_rn(scores[i + 1], by, -base[half])};
            float weight[2] = {exp2_of(x[0]), exp2_of(x[1])};
            change_weights(weight, x);
            sum[half] += weight[0];
            sum[half] += weight[1];
            scores[i] = weight[0], scores[i + 1] = weight[1];
        }
    }
    template <unsigned count>
    __device__ static void rescale(float (&output)[count], const float (&factor)[2]) {
#pragma unroll
        for (unsigned i = 0; i < count; ++i) output[i] *= factor[half_of(i)];
    }

    // Behind the last key: the sums of all lanes; what the output is to be multiplied by, 0 for a row without
    // any key; and the logarithm of the sum of the exponentials of the scores, -inf for such a row.
    __device__ void finish(float (&inverse)[2], float (&log_sum)[2]) {
#pragma unroll
        for (unsigned half = 0; half < 2; ++half) {
            sum[half] = sum_of_row(sum[half]);
            inverse[half] = sum[half] == 0 ? 0 : __fdividef(1.0f, sum[half]);
            log_sum[half] =
                sum[half] == 0 ? -infinity : (top[half] * in_exponent() + __log2f(sum[half])) * ln_2;
        }
    }
};

// Two floats as neighbouring elements in one register, the first one below.
__device__ inline unsigned pack(hardware::bf16, float first, float second) {
    unsigned both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
    return both;
}
__device__ inline unsigned pack(hardware::f16, float first, float second) {
    unsigned both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
    return both;
}

}  // namespace attention
