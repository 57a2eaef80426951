#pragma once
// Folds of values over the threads of a warp, of a block, of a cluster: sums, maxima, or whatever `combine`
// does, which has to be associative and commutative. Every thread gets the result, the same bits in each,
// and the same bits in every launch: the order is fixed.

namespace hardware {

constexpr unsigned warp_size = 32;

// What a fold does to `count` values at once: combine(mine, others).
struct Sum {
    template <unsigned count>
    __device__ void operator()(float (&mine)[count], const float (&others)[count]) const {
        for (unsigned i = 0; i < count; ++i) mine[i] += others[i];
    }
};
struct Max {
    template <unsigned count>
    __device__ void operator()(float (&mine)[count], const float (&others)[count]) const {
        for (unsigned i = 0; i < count; ++i) mine[i] = fmaxf(mine[i], others[i]);
    }
};

// Among each `lanes` neighbouring lanes of a warp, a power of two. A butterfly: after the step of distance d
// each lane has the fold of 2 d lanes.
template <unsigned lanes = warp_size, unsigned count, class Combine>
__device__ void fold_warp(float (&values)[count], const Combine& combine) {
#pragma unroll
    for (unsigned distance = lanes / 2; distance > 0; distance /= 2) {
        float others[count];
        for (unsigned i = 0; i < count; ++i) others[i] = __shfl_xor_sync(~0u, values[i], distance);
        combine(values, others);
    }
}

// The barrier of a cluster in halves: between them stands work that needs nobody else's.
__device__ inline void cluster_arrive() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ inline void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

// Writes to the variable of the block `rank` of the cluster that `mine` is in this block.
__device__ inline void store_to_block(unsigned rank, float* mine, float value) {
    asm volatile(
        "{\n\t.reg .u32 theirs;\n\t"
        "mapa.shared::cluster.u32 theirs, %0, %1;\n\t"
        "st.shared::cluster.f32 [theirs], %2;\n\t}" ::"r"(unsigned(__cvta_generic_to_shared(mine))),
        "r"(rank), "f"(value)
        : "memory");
}

// The shared memory of folds over `warps` warps of each of `blocks` blocks of a cluster: a slot for each
// warp. Folds take turns at two sets of slots. So one barrier is enough for each: who writes into a set has
// come past the barrier of the fold between, and so has everyone who read the set before that.
template <unsigned warps, unsigned blocks, unsigned count> struct FoldSlots {
    float of[2][count][warps * blocks];
};

// Among all threads of a block, or of a cluster of `blocks`, whose ranks are blockIdx.x % blocks. In a
// cluster everyone has to have passed a barrier before the first fold: shared memory of a block that has not
// begun is not there yet. Behind the last fold a block may end: nobody writes to it any more.
template <unsigned warps, unsigned blocks, unsigned count, class Combine>
__device__ void fold_block(float (&values)[count], FoldSlots<warps, blocks, count>& slots, unsigned turn,
                           const Combine& combine) {
    constexpr unsigned all = warps * blocks;
    static_assert((all & (all - 1)) == 0, "warps and blocks are powers of two");
    fold_warp(values, combine);
    if constexpr (all == 1) return;
    const unsigned lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
    float(&set)[count][all] = slots.of[turn % 2];
    if constexpr (blocks == 1) {
        if (lane == 0)
            for (unsigned i = 0; i < count; ++i) set[i][warp] = values[i];
        __syncthreads();
    } else {  // lane r tells block r
        if (lane < blocks)
            for (unsigned i = 0; i < count; ++i)
                store_to_block(lane, &set[i][blockIdx.x % blocks * warps + warp], values[i]);
        cluster_arrive();
        cluster_wait();
    }
    for (unsigned i = 0; i < count; ++i) values[i] = set[i][lane % all];
    for (unsigned slot = warp_size; slot < all; slot += warp_size) {
        float others[count];
        for (unsigned i = 0; i < count; ++i) others[i] = set[i][slot + lane];
        combine(values, others);
    }
    fold_warp < all<warp_size ? all : warp_size>(values, combine);
}

}  // namespace hardware
