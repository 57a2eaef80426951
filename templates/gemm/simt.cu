// c = a b for float matrices of any size (m, n, k below 2^31), row after row: a is m x k, b is k x n, c is m
// x n, bias has n elements or is null (then the epilogue sees 0).
//
// A block of 16 x 16 threads makes a tile of 64 x 64 results, 4 x 4 a thread. It walks along k in steps of
// 16, for each of which a slice of a and a slice of b stand in shared memory.
//
// Other semirings than (+, *) take two stubs: `initial`, the neutral element of the sum, and
// `multiply_accumulate`. For max-plus: -inf, and acc = max(acc, x + y). Elements past k are never
// accumulated, so nothing has to be neutral there.
#include <ptxgraft/site.cuh>

constexpr unsigned tile = 64;   // results along m and n of a block
constexpr unsigned depth = 16;  // elements along k of a step
constexpr unsigned side = 16;   // threads along m and n of a block
constexpr unsigned each = 4;    // results along m and n of a thread
constexpr unsigned threads = side * side;
constexpr unsigned padding = 4;  // spreads a column of `as` over the banks and keeps it aligned for float4
static_assert(tile == side * each && tile % depth == 0);

// Slices for one step. `as` is transposed, so that both are read along their rows.
struct Slices {
    alignas(16) float as[depth][tile + padding];
    alignas(16) float bs[depth][tile];
};

// Elements outside of the matrices are 0; what is computed from them is never stored.
__device__ void load(Slices& slices, const float* a, const float* b, unsigned row0, unsigned col0,
                     unsigned k0, unsigned m, unsigned n, unsigned k) {
    const unsigned thread = threadIdx.y * side + threadIdx.x;
    for (unsigned i = thread; i < tile * depth; i += threads) {
        const unsigned row = i / depth, step = i % depth;
        const bool inside = row0 + row < m && k0 + step < k;
        slices.as[step][row] = inside ? a[1ull * (row0 + row) * k + k0 + step] : 0.0f;
    }
    for (unsigned i = thread; i < tile * depth; i += threads) {
        const unsigned step = i / tile, col = i % tile;
        const bool inside = k0 + step < k && col0 + col < n;
        slices.bs[step][col] = inside ? b[1ull * (k0 + step) * n + col0 + col] : 0.0f;
    }
}

extern "C" __global__ void __launch_bounds__(threads)
    gemm(const float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ bias,
         float* __restrict__ c, unsigned m, unsigned n, unsigned k) {
    __shared__ Slices slices;
    const unsigned row0 = blockIdx.y * tile, col0 = blockIdx.x * tile;
    const unsigned my_row = threadIdx.y * each, my_col = threadIdx.x * each;

    float initial;
    PTXGRAFT_SITE("initial", "mov.f32 _acc, 0f00000000;", out(f32, acc, initial));
    float acc[each][each];
    for (auto& line : acc)
        for (float& value : line) value = initial;

    for (unsigned k0 = 0; k0 < k; k0 += depth) {
        load(slices, a, b, row0, col0, k0, m, n, k);
        __syncthreads();
        const unsigned steps = min(depth, k - k0);
#pragma unroll 1  // sixteen copies of the site, not sixteen times as many
        for (unsigned step = 0; step < steps; ++step) {
            const float4 x = *reinterpret_cast<const float4*>(&slices.as[step][my_row]);
            const float4 y = *reinterpret_cast<const float4*>(&slices.bs[step][my_col]);
            const float xs[each] = {x.x, x.y, x.z, x.w}, ys[each] = {y.x, y.y, y.z, y.w};
#pragma unroll
            for (unsigned i = 0; i < each; ++i)
#pragma unroll
                for (unsigned j = 0; j < each; ++j)
                    PTXGRAFT_SITE("multiply_accumulate", "fma.rn.f32 _acc, _a, _b, _acc;",
                                  mod(f32, acc, acc[i][j]), in(f32, a, xs[i]), in(f32, b, ys[j]));
        }
        __syncthreads();
    }

#pragma unroll
    for (unsigned i = 0; i < each; ++i) {
#pragma unroll
        for (unsigned j = 0; j < each; ++j) {
            const unsigned row = row0 + my_row + i, col = col0 + my_col + j;
            if (row >= m || col >= n) continue;
            PTXGRAFT_SITE("epilogue", "", mod(f32, acc, acc[i][j]), in(u32, row), in(u32, col),
                          in(f32, bias, bias ? bias[col] : 0.0f));
            c[1ull * row * n + col] = acc[i][j];
        }
    }
}
