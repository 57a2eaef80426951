#pragma once
/// @file mbarrier.cuh
/// What threads of a block or a cluster wait for each other with (sm_90 and later): mbarriers, named
/// barriers, the barrier of a cluster; and setmaxnreg, by which warpgroups share out the registers. One
/// function is one instruction, but for the loop of a wait. PTX ISA 9.7.13 says what each does.
///
/// Shared memory is addressed by 32-bit addresses of the window of this block; with mapa's, which the
/// functions with `cluster` in their name take, by those of the window of the cluster.
///
/// An mbarrier counts arrivals of threads and bytes of copies. Its phase ends when all that was announced has
/// come, and the next begins; mbarrier_wait() names a phase by its parity, the lowest bit of its number, and
/// must ask for the phase under way or the one before it.

#include "address.cuh"

namespace hardware {

typedef unsigned u32;
typedef unsigned long long u64;

/// Phase 0 begins, and ends after so many arrivals (and all bytes that those announce).
__device__ inline void mbarrier_init(u32 barrier, u32 arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
/// Behind the mbarrier_init() of a thread, before the barrier of the block or the cluster that shows them to
/// the others: also the copies of other blocks then find them made.
__device__ inline void fence_mbarrier_init() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ inline void mbarrier_arrive(u32 barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// On the barrier of any block of the cluster, whose address mapa() gives. Without a scope, as tile kernels
/// have it: what orders the reads of a stage before the copy that overwrites it. With .release.cluster, which
/// plain stores for another block would need, it costs a fence of the whole device (MEMBAR.ALL.GPU).
__device__ inline void mbarrier_arrive_in_cluster(u32 cluster_barrier) {
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(cluster_barrier) : "memory");
}
/// Arrives, and announces bytes that copies will bring in this phase.
__device__ inline void mbarrier_arrive_expect_tx(u32 barrier, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}
/// Until the phase of this parity has ended. try_wait sleeps in hardware for a while: the loop seldom turns.
__device__ inline void mbarrier_wait(u32 barrier, u32 parity) {
    asm volatile(
        "{\n"
        "\t.reg .pred ended;\n"
        "again:\n"
        "\tmbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n"
        "\t@!ended bra again;\n"
        "}" ::"r"(barrier),
        "r"(parity)
        : "memory");
}
/// A ring's place: the stage, and the parity of the phase in which it is. A consumer begins with {0, 0}; the
/// producer, which waits for stages to be empty, with {0, 1}: the phase before the first counts as ended.
template <u32 stages> struct RingPlace {
    u32 stage, parity;
    __device__ void advance() {
        ++stage;
        if (stage == stages) stage = 0, parity ^= 1;
    }
    /// As if advance() had been called so many times.
    __device__ void skip(u32 count) {
        const u32 sum = stage + count;
        stage = sum % stages;
        parity ^= sum / stages & 1;
    }
};

/// A named barrier, 1 to 15 (0 is __syncthreads()), of so many threads, a multiple of 32. bar_arrive() does
/// not wait, and counts as one of them.
__device__ inline void bar_sync(u32 barrier, u32 threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ inline void bar_arrive(u32 barrier, u32 threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// ---- clusters

__device__ inline u32 cluster_ctarank() {
    u32 rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
__device__ inline u32 clusterid_x() {
    u32 id;
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(id));
    return id;
}
__device__ inline u32 nclusterid_x() {
    u32 count;
    asm("mov.u32 %0, %%nclusterid.x;" : "=r"(count));
    return count;
}
/// The address in the window of the cluster of what another block has at the same place.
__device__ inline u32 mapa(u32 address, u32 rank) {
    u32 in_cluster;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(in_cluster) : "r"(address), "r"(rank));
    return in_cluster;
}
/// A barrier of all threads of the cluster. All lanes of a warp call it together.
__device__ inline void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// ---- registers: all four warps of a warpgroup call it; 24 to 256, a multiple of 8

/// Gives registers back to the block, down to so many a thread.
template <u32 registers> __device__ inline void setmaxnreg_dec() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}
/// Waits until the block has registers for so many a thread, and takes them.
template <u32 registers> __device__ inline void setmaxnreg_inc() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}

/// Whether this is the one lane of a converged warp that is to do what one thread does. The compiler knows of
/// elect.sync that it is one, and gives instructions of uniform registers, as tensor copies, their operands
/// without a loop over lanes.
__device__ inline bool elect_sync() {
    u32 elected;
    asm volatile(
        "{\n"
        "\t.reg .pred elected;\n"
        "\telect.sync _|elected, 0xFFFFFFFF;\n"
        "\tselp.u32 %0, 1, 0, elected;\n"
        "}"
        : "=r"(elected));
    return elected != 0;
}

/// What all lanes of a warp have, as the compiler cannot know: of lane 0, so that it may stand in a uniform
/// register. The number of the warpgroup of a thread is such a value.
__device__ inline u32 warp_uniform(u32 value) { return __shfl_sync(0xFFFFFFFF, value, 0); }

}  // namespace hardware
