// The result of mma_quantised.cu and splitk_quantised.cu in double precision.
#define TILE_K 64
#include "../hardware/narrow.cuh"
#include "mma_reference.cuh"

extern "C" __global__ void gemm_quantised_reference(const Element* a, const unsigned char* b,
                                                    const float* scale_b, const float* bias,
                                                    const float* row_scale, const float* column_scale,
                                                    const Result* residual, double* c, unsigned m, unsigned n,
                                                    unsigned k, unsigned pitch_a, unsigned pitch_b,
                                                    double* statistics) {
    constexpr Narrow stored = Narrow::TYPE_B;
    const unsigned groups = (k + GROUP - 1) / GROUP;
    b += 1ull * blockIdx.z * n * pitch_b;
    if (scale_b) scale_b += 1ull * blockIdx.z * n * groups;
    // Elements i and i + 1 of a column, as they are multiplied; beyond the last one there are zeros, of the
    // last tile's group.
    const auto word_of_b = [&](unsigned col, unsigned i) {
        const unsigned char* const column = b + 1ull * col * pitch_b;
        const float low = i < k ? narrow_value<stored>(column, i) : 0;
        const float high = i + 1 < k ? narrow_value<stored>(column, i + 1) : 0;
        const float scale = scale_b ? scale_b[1ull * col * groups + i / TILE_K * TILE_K / GROUP] : 1;
        unsigned x = pack(low * scale, high * scale, Element{});
        PTXGRAFT_HOT_SITE("prologue_b", "", mod(b32, x), in(f32, low), in(f32, high), in(f32, scale),
                          in(u32, col), in(u32, k, i));
        return x;
    };
    leave({a, bias, row_scale, column_scale, residual, m, n, k, pitch_a}, word_of_b, c, statistics);
}
