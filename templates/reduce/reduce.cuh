#pragma once
// What the reductions share: the sites. A statistic is a pair (s, t), for a sum with its count, a value with
// its place, or one number alone.
#include <ptxgraft/site.cuh>

#include "../rowwise/row.cuh"

using namespace rowwise;

using Statistics = float[2];

__device__ inline void initial(Statistics& statistics) {
    PTXGRAFT_SITE("initial", "mov.f32 _s, 0f00000000; mov.f32 _t, 0f00000000;", out(f32, s, statistics[0]),
                  out(f32, t, statistics[1]));
}

__device__ inline void reduce(Statistics& statistics, float x, unsigned row, unsigned column) {
    PTXGRAFT_SITE("reduce", "add.f32 _s, _s, _x;", mod(f32, s, statistics[0]), mod(f32, t, statistics[1]),
                  in(f32, x), in(u32, row), in(u32, column));
}
// Elements that are not there are reduced as well, and then forgotten.
__device__ inline void take_if(bool is_there, Statistics& statistics, const Statistics& next) {
    for (unsigned k = 0; k < 2; ++k) statistics[k] = is_there ? next[k] : statistics[k];
}

struct Combine {
    __device__ void operator()(Statistics& mine, const Statistics& others) const {
        PTXGRAFT_SITE("combine", "add.f32 _s, _s, _s2; add.f32 _t, _t, _t2;", mod(f32, s, mine[0]),
                      mod(f32, t, mine[1]), in(f32, s2, others[0]), in(f32, t2, others[1]));
    }
};

// Writes the result: y, and z where it is given.
__device__ inline void finish(Statistics& statistics, unsigned index, unsigned count, float* y, float* z) {
    PTXGRAFT_SITE("finish", "", mod(f32, s, statistics[0]), mod(f32, t, statistics[1]), in(u32, index),
                  in(u32, count));
    y[index] = statistics[0];
    if (z) z[index] = statistics[1];
}

// Several blocks have a result together: each writes its statistics and takes a ticket; who takes the last
// one finds all of them written, and folds them in the order of the blocks, whoever it is: so a sum has the
// same bits in every launch. True for the threads of that block. The ticket is 0 again for the next launch.
__device__ inline bool is_last(unsigned* ticket, unsigned blocks) {
    __shared__ bool last;
    __syncthreads();  // this block's statistics are written
    if (threadIdx.x == 0) {
        unsigned before;
        asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], 1;"
                     : "=r"(before)
                     : "l"(global_address(ticket))
                     : "memory");
        last = before == blocks - 1;
        if (last) *ticket = 0;
    }
    __syncthreads();
    return last;
}
