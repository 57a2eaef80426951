// LU with pivots, Cholesky and QR by Householder, in double precision: a matrix per thread, and one per block
// in shared memory.
#include "twin.hpp"

namespace decompositions {

constexpr u32 size = 10;
typedef double Matrix[size][size];

// Fused by hand: the same roundings on both sides.
BOTH inline bool lu(Matrix a, u32* pivots) {
    for (u32 k = 0; k < size; ++k) {
        u32 best = k;
        for (u32 i = k + 1; i < size; ++i)
            if (fabs(a[i][k]) > fabs(a[best][k])) best = i;
        pivots[k] = best;
        if (a[best][k] == 0) return false;
        for (u32 c = 0; c < size; ++c) {
            const double kept = a[k][c];
            a[k][c] = a[best][c], a[best][c] = kept;
        }
        for (u32 i = k + 1; i < size; ++i) {
            a[i][k] /= a[k][k];
            for (u32 c = k + 1; c < size; ++c) a[i][c] = fma(-a[i][k], a[k][c], a[i][c]);
        }
    }
    return true;
}

BOTH inline void cholesky(Matrix a) {
    for (u32 k = 0; k < size; ++k) {
        a[k][k] = sqrt(a[k][k]);
        for (u32 i = k + 1; i < size; ++i) a[i][k] /= a[k][k];
        for (u32 c = k + 1; c < size; ++c)
            for (u32 i = c; i < size; ++i) a[i][c] = fma(-a[i][k], a[c][k], a[i][c]);
    }
}

BOTH inline void qr(Matrix a, double* scales) {
    for (u32 k = 0; k < size; ++k) {
        double norm = 0;
        for (u32 i = k; i < size; ++i) norm = fma(a[i][k], a[i][k], norm);
        norm = copysign(sqrt(norm), a[k][k]);
        const double top = a[k][k] + norm;
        for (u32 i = k + 1; i < size; ++i) a[i][k] /= top;
        scales[k] = norm == 0 ? 0 : top / norm;
        a[k][k] = -norm;
        for (u32 c = k + 1; c < size; ++c) {
            double dot = a[k][c];
            for (u32 i = k + 1; i < size; ++i) dot = fma(a[i][k], a[i][c], dot);
            dot = dot * scales[k];
            a[k][c] = a[k][c] - dot;
            for (u32 i = k + 1; i < size; ++i) a[i][c] = fma(-dot, a[i][k], a[i][c]);
        }
    }
}

struct System {
    Matrix lu, cholesky, qr;
    double scales[size];
    u32 pivots[size];
};

BOTH inline void decompose(System& s) {
    if (!lu(s.lu, s.pivots)) s.pivots[0] = ~0u;
    cholesky(s.cholesky);
    qr(s.qr, s.scales);
}

#ifdef __CUDACC__
ENTRY by_thread(System* systems) { decompose(systems[thread_number()]); }

ENTRY cholesky_by_block(System* systems) {
    __shared__ Matrix a;
    const u32 row = threadIdx.y, column = threadIdx.x;
    a[row][column] = systems[blockIdx.x].cholesky[row][column];
    for (u32 k = 0; k < size; ++k) {
        __syncthreads();
        if (row == k && column == k) a[k][k] = sqrt(a[k][k]);
        __syncthreads();
        if (column == k && row > k) a[row][k] /= a[k][k];
        __syncthreads();
        if (column > k && row >= column) a[row][column] = fma(-a[row][k], a[column][k], a[row][column]);
    }
    systems[blockIdx.x].cholesky[row][column] = a[row][column];
}
#else

static std::vector<System> systems(twin::Run& run) {
    std::vector<System> all(40);
    for (System& s : all) {
        const auto values = run.random_reals<double>(size * size, -1, 1);
        std::memcpy(s.lu, values.data(), sizeof s.lu);
        std::memcpy(s.qr, values.data(), sizeof s.qr);
        for (u32 i = 0; i < size; ++i)
            for (u32 k = 0; k < size; ++k) {
                s.cholesky[i][k] = i == k ? 0.5 : 0;
                for (u32 j = 0; j < size; ++j)
                    s.cholesky[i][k] += values[i * size + j] * values[k * size + j];
            }
    }
    for (auto& row : all[3].lu) row[4] = 0;  // singular
    return all;
}

TWIN(Decompositions, "sm_80 --fmad=false", "sm_90a -G", "sm_75 nvcc -fmad=false -Xcicc -O0") {
    auto all = systems(run);
    const u64 by_thread = run.upload(all), by_block = run.upload(all);
    run.launch("by_thread", {.grid = 2, .block = 20}, by_thread);
    run.launch("cholesky_by_block", {.grid = 40, .block = size, .block_y = size}, by_block);
    for (System& s : all) decompose(s);
    run.expect(all[3].pivots[0] == ~0u, "a singular matrix has no LU decomposition");
    run.expect_same("by thread", run.download<System>(by_thread, 40), all);
    const auto blocks = run.download<System>(by_block, 40);
    std::vector<double> device, host;
    for (u32 s = 0; s < 40; ++s)
        for (u32 i = 0; i < size; ++i)
            for (u32 k = 0; k < size; ++k)
                device.push_back(blocks[s].cholesky[i][k]), host.push_back(all[s].cholesky[i][k]);
    run.expect_same("by block", device, host);
}
#endif
}  // namespace decompositions
