#pragma once
/// @file tcgen05.cuh
/// The tensor cores of sm_100a: D = A B + D, where A and B stand in shared memory and D in tensor memory,
/// which each multiprocessor has for them: 128 lanes of 512 columns, cells of 32 bits. One function is one
/// instruction, but for the loop of a wait and the fence behind it. PTX ISA 9.7.16 says what each does.
///
/// `group` is the CTA group: 1, or 2 where the two blocks of a pair (cluster ranks 2 i and 2 i + 1) work on
/// one product. Then each has half of the rows of A and D and half of the columns of B in its own memory, at
/// the same places, and the first block alone starts the products. All instructions of a kernel are of the
/// same group.
///
/// The way of a product, each line by the threads that it names:
/// @code
/// tcgen05_alloc<group>(slot, columns);              // a warp; of a pair, one warp of each block
/// tcgen05_mma<type, group>(d, a, b, instruction, 1);                // a thread: starts, goes on by itself
/// tcgen05_commit<group>(barrier);                                   // the same: arrives when all is done
/// tcgen05_wait(barrier, parity);                                    // those who read D
/// tcgen05_ld(x, d + tensor_offset(32 * (warp % 4), column));        // a warp: the lanes that are its own
/// tcgen05_wait_ld(x);                                               // then registers x may be read
/// tcgen05_fence_before(); … mbarrier_arrive_relaxed(other);         // tells that D may be overwritten
/// tcgen05_dealloc<group>(address, columns);         // as alloc, when nobody accesses it any more
/// @endcode
///
/// Nothing of this is in order by itself but products into the same D, and a commit behind products of its
/// thread. Between threads: what is done first ends with a commit, or with tcgen05_fence_before() and an
/// arrival; what comes then begins with tcgen05_wait(). 9.7.16.6.4 has these patterns.

#include "tcgen05_descriptor.cuh"
#include "tma.cuh"

namespace hardware {

// ---- tensor memory is had for a while

/// Waits until so many columns (32, 64 … 512) are free, takes them, and writes their address into shared
/// memory at `slot`.
template <u32 group> __device__ inline void tcgen05_alloc(u32 slot, u32 columns) {
    if constexpr (group == 1)
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(slot),
                     "r"(columns)
                     : "memory");
    else
        asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(slot),
                     "r"(columns)
                     : "memory");
}
/// This block takes no more: another one on the multiprocessor may.
template <u32 group> __device__ inline void tcgen05_relinquish_alloc_permit() {
    if constexpr (group == 1)
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::: "memory");
    else
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;" ::: "memory");
}
/// Before the kernel ends, and of a pair when neither block accesses the memory of the other any more.
template <u32 group> __device__ inline void tcgen05_dealloc(u32 address, u32 columns) {
    if constexpr (group == 1)
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns)
                     : "memory");
    else
        asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns)
                     : "memory");
}

// ---- products, of one thread

/// Starts a product: into D at address `d`, of tiles by their descriptors, as `instruction` says.
/// `accumulate` of 0 makes it D = A B, whatever D was.
template <Element type, u32 group>
__device__ inline void tcgen05_mma(u32 d, u64 a, u64 b, u32 instruction, u32 accumulate) {
#define HARDWARE_TCGEN05_MMA(GROUP, KIND)                                                                \
    asm volatile(                                                                                        \
        "{\n\t.reg .pred accumulate;\n\tsetp.ne.b32 accumulate, %4, 0;\n"                                \
        "\ttcgen05.mma.cta_group::" #GROUP ".kind::" #KIND " [%0], %1, %2, %3, accumulate;\n}" ::"r"(d), \
        "l"(a), "l"(b), "r"(instruction), "r"(accumulate)                                                \
        : "memory")
    if constexpr (group == 1 && bytes_of(type) == 2)
        HARDWARE_TCGEN05_MMA(1, f16);
    else if constexpr (group == 1)
        HARDWARE_TCGEN05_MMA(1, f8f6f4);
    else if constexpr (bytes_of(type) == 2)
        HARDWARE_TCGEN05_MMA(2, f16);
    else
        HARDWARE_TCGEN05_MMA(2, f8f6f4);
#undef HARDWARE_TCGEN05_MMA
}
/// When all that this thread has started is done, one arrival at the barrier; of a pair, which has cluster
/// ranks 0 and 1, at those that both blocks have at this place. A tcgen05_fence_before() is part of it.
template <u32 group> __device__ inline void tcgen05_commit(u32 barrier) {
    if constexpr (group == 1)
        asm volatile(
            "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(barrier)
            : "memory");
    else
        asm volatile(
            "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64"
            " [%0], %1;" ::"r"(barrier),
            "h"(static_cast<unsigned short>(3))
            : "memory");
}

// ---- the order between threads

/// What this thread has done with tensor memory comes before what it tells others behind this.
__device__ inline void tcgen05_fence_before() {
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}
/// What this thread will do with tensor memory comes behind what it has been told of before this.
__device__ inline void tcgen05_fence_after() {
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}
/// Arrives on a barrier of any block of the cluster (mapa()), or of this one, and orders nothing by itself.
__device__ inline void mbarrier_arrive_relaxed(u32 cluster_barrier) {
    asm volatile("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];" ::"r"(cluster_barrier)
                 : "memory");
}
/// mbarrier_wait() that orders nothing by itself: for commits, whose products are done, and copies, which
/// the thread then starts or whose tiles tensor cores then read. (.acquire.cluster, which ordinary loads of
/// what another block wrote would need, empties the L1 cache.)
__device__ inline void mbarrier_wait_relaxed(u32 barrier, u32 parity) {
    asm volatile(
        "{\n"
        "\t.reg .pred ended;\n"
        "again:\n"
        "\tmbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 ended, [%0], %1;\n"
        "\t@!ended bra again;\n"
        "}" ::"r"(barrier),
        "r"(parity)
        : "memory");
}
/// Until the phase of this parity has ended: tensor memory and tiles are then as those who arrived left them.
__device__ inline void tcgen05_wait(u32 barrier, u32 parity) {
    mbarrier_wait_relaxed(barrier, parity);
    tcgen05_fence_after();
}

// ---- tensor memory into registers
//
// Lanes 32 w to 32 w + 31 are those of warps w, w + 4 … of a block. Lane l of the warp has in x[i] the cell
// of lane 32 w + l and column i of the address, which is the same in all lanes of the warp:
//
//   tcgen05_ld(x, address);    x of 8, 16 or 32 registers
//   tcgen05_wait_ld(x);        what reads x stays behind it

// The text of registers, and their constraints.
// clang-format off
#define HARDWARE_TEXT_OF_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define HARDWARE_TEXT_OF_16 HARDWARE_TEXT_OF_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define HARDWARE_TEXT_OF_32 HARDWARE_TEXT_OF_16 \
    ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define HARDWARE_4(C, i) C(x[i]), C(x[i + 1]), C(x[i + 2]), C(x[i + 3])
#define HARDWARE_OF_8(C, i) HARDWARE_4(C, i), HARDWARE_4(C, i + 4)
#define HARDWARE_OF_16(C, i) HARDWARE_OF_8(C, i), HARDWARE_OF_8(C, i + 8)
#define HARDWARE_OF_32(C, i) HARDWARE_OF_16(C, i), HARDWARE_OF_16(C, i + 16)
#define HARDWARE_LOAD(N) \
    __device__ __forceinline__ void tcgen05_ld(float (&x)[N], u32 address) { \
        asm volatile("tcgen05.ld.sync.aligned.32x32b.x" #N ".b32 {" HARDWARE_TEXT_OF_##N "}, [%" #N "];" \
                     : HARDWARE_OF_##N("=f", 0) : "r"(address) : "memory"); \
    } \
    __device__ __forceinline__ void tcgen05_wait_ld(float (&x)[N]) { \
        asm volatile("tcgen05.wait::ld.sync.aligned;" : HARDWARE_OF_##N("+f", 0)::"memory"); \
    }
HARDWARE_LOAD(8)
HARDWARE_LOAD(16)
HARDWARE_LOAD(32)
// clang-format on
#undef HARDWARE_LOAD
#undef HARDWARE_OF_32
#undef HARDWARE_OF_16
#undef HARDWARE_OF_8
#undef HARDWARE_4
#undef HARDWARE_TEXT_OF_32
#undef HARDWARE_TEXT_OF_16
#undef HARDWARE_TEXT_OF_8

// ---- tensor copies of a pair

/// tma_load_3d() whose bytes arrive at a barrier of either block of the pair (mapa()).
__device__ inline void tma_load_3d_of_pair(u32 to, const TensorMap& map, u32 cluster_barrier, u32 x, u32 y,
                                           u32 z) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2"
        " [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to),
        "l"(&map), "r"(x), "r"(y), "r"(z), "r"(cluster_barrier)
        : "memory");
}

}  // namespace hardware
