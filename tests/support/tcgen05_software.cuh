#pragma once
// templates/hardware/tcgen05.cuh for machines that have no tensor memory: the same functions over those of
// tcgen05.cu, which compute what the instructions do, by one thread at a time. All is done when a call
// returns, so a commit is an arrival; arrivals and waits order what the fences of tcgen05 would, for tensor
// memory is ordinary memory here. Where a kernel uses tensor memory as the manual forbids, it stops.

#define TCGEN05_INCLUDED
#include "tcgen05.cu"
#include "tcgen05_descriptor.cuh"
#include "tma.cuh"

namespace hardware {

__device__ u32 allocated_address[16], allocated_columns[16];

// Memory of which others have a part begins anywhere: at its end, here.
template <u32 group> __device__ inline void tcgen05_alloc(u32 slot, u32 columns) {
    if (columns < 32 || columns > 512 || (columns & (columns - 1)) != 0) __trap();
    if (!elect_sync()) return;
    if (allocated_columns[block()] != 0) __trap();
    allocated_address[block()] = 512 - columns, allocated_columns[block()] = columns;
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(slot), "r"(512 - columns) : "memory");
}
template <u32 group> __device__ inline void tcgen05_relinquish_alloc_permit() {}
template <u32 group> __device__ inline void tcgen05_dealloc(u32 address, u32 columns) {
    if (!elect_sync()) return;
    if (address != allocated_address[block()] || columns != allocated_columns[block()]) __trap();
    allocated_columns[block()] = 0;
}
__device__ inline void check_columns(u32 address, u32 columns) {
    const u32 first = address & 0xFFFF, begin = allocated_address[block()];
    if (first < begin || first + columns > begin + allocated_columns[block()]) __trap();
}

template <Element type, u32 group>
__device__ inline void tcgen05_mma(u32 d, u64 a, u64 b, u32 instruction, u32 accumulate) {
    check_columns(d, (instruction >> 17 & 63) * 8);
    ::tcgen05_mma(d, a, b, instruction, accumulate, bytes_of(type) == 2 ? f16 : f8f6f4, group, 0, 0, 0);
}
template <u32 group> __device__ inline void tcgen05_commit(u32 barrier) {
#pragma unroll
    for (u32 rank = 0; rank < group; ++rank)
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(
                         group == 1 ? barrier : mapa(barrier, rank))
                     : "memory");
}

__device__ inline void tcgen05_fence_before() {}
__device__ inline void tcgen05_fence_after() {}
__device__ inline void mbarrier_arrive_relaxed(u32 cluster_barrier) {
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(cluster_barrier)
                 : "memory");
}
__device__ inline void mbarrier_wait_relaxed(u32 barrier, u32 parity) {
    asm volatile(
        "{\n"
        "\t.reg .pred ended;\n"
        "again:\n"
        "\tmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 ended, [%0], %1;\n"
        "\t@!ended bra again;\n"
        "}" ::"r"(barrier),
        "r"(parity)
        : "memory");
}
__device__ inline void tcgen05_wait(u32 barrier, u32 parity) { mbarrier_wait_relaxed(barrier, parity); }

template <u32 count> __device__ inline void tcgen05_ld(float (&x)[count], u32 address) {
    check_columns(address, count);
    const auto* cells = reinterpret_cast<const volatile float*>(tcgen05_cells(address));
    for (u32 i = 0; i < count; ++i) x[i] = cells[i];
}
template <u32 count> __device__ inline void tcgen05_wait_ld(float (&x)[count]) {}

__device__ inline void tma_load_3d_of_pair(u32 to, const TensorMap& map, u32 cluster_barrier, u32 x, u32 y,
                                           u32 z) {
    tma_load_3d(to, map, cluster_barrier, x, y, z);
}

}  // namespace hardware
