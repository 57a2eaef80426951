#pragma once
/// @file tma.cuh
/// Copies between tensors in global memory and tiles in shared memory by the tensor memory accelerator (sm_90
/// and later): one thread starts a copy of a whole box, and an mbarrier, or a bulk group, says when it is
/// done. PTX ISA 9.7.9.25 and 5.5 say what each does.
///
/// A tensor map says where the tensor is, how its dimensions and strides are, what box a copy takes and how
/// the box is swizzled; the host encodes it (cuTensorMapEncodeTiled), and a kernel takes it as
/// `const __grid_constant__ TensorMap map`. Coordinates are of elements, the innermost dimension first. What
/// is beyond an edge of the tensor arrives as zeros, and counts as bytes; what is stored there is dropped.

#include "mbarrier.cuh"

namespace hardware {

/// CUtensorMap, without the driver's header.
struct alignas(64) TensorMap {
    u64 opaque[16];
};

/// Fetches the map itself ahead of the first copy by it.
__device__ inline void prefetch_tensormap(const TensorMap& map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

/// A box of a 2-D or 3-D tensor to shared memory; its bytes arrive at the mbarrier.
__device__ inline void tma_load_2d(u32 to, const TensorMap& map, u32 barrier, u32 x, u32 y) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
        "l"(&map), "r"(x), "r"(y), "r"(barrier)
        : "memory");
}
__device__ inline void tma_load_3d(u32 to, const TensorMap& map, u32 barrier, u32 x, u32 y, u32 z) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to),
        "l"(&map), "r"(x), "r"(y), "r"(z), "r"(barrier)
        : "memory");
}
/// The same to all blocks of the cluster whose bits stand in `blocks`: to the same place in each, and the
/// bytes arrive at the barrier that each has at the place of this one.
__device__ inline void tma_load_2d_multicast(u32 to, const TensorMap& map, u32 barrier, u32 x, u32 y,
                                             unsigned short blocks) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
        " [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
        "l"(&map), "r"(x), "r"(y), "r"(barrier), "h"(blocks)
        : "memory");
}
__device__ inline void tma_load_3d_multicast(u32 to, const TensorMap& map, u32 barrier, u32 x, u32 y, u32 z,
                                             unsigned short blocks) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
        " [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(to),
        "l"(&map), "r"(x), "r"(y), "r"(z), "r"(barrier), "h"(blocks)
        : "memory");
}
__device__ inline void tma_load_4d(u32 to, const TensorMap& map, u32 barrier, u32 x, u32 y, u32 z, u32 w) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(to),
        "l"(&map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(barrier)
        : "memory");
}

/// Pixels of images, channels innermost (5.5.4): as many as the map says, from that on at which a filter's
/// first element lies at x, y of `image`, to the right, then downwards, then of the next image, by the map's
/// strides; of each the channels from `channel` on. Right and down are how far the pixels are from there.
__device__ inline void tma_load_im2col_4d(u32 to, const TensorMap& map, u32 barrier, u32 channel, int x,
                                          int y, u32 image, unsigned short right, unsigned short down) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};" ::"r"(to),
        "l"(&map), "r"(channel), "r"(x), "r"(y), "r"(image), "r"(barrier), "h"(right), "h"(down)
        : "memory");
}
__device__ inline void tma_load_im2col_4d_multicast(u32 to, const TensorMap& map, u32 barrier, u32 channel,
                                                    int x, int y, u32 image, unsigned short right,
                                                    unsigned short down, unsigned short blocks) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8}, %9;" ::"r"(to),
        "l"(&map), "r"(channel), "r"(x), "r"(y), "r"(image), "r"(barrier), "h"(right), "h"(down), "h"(blocks)
        : "memory");
}

/// What this thread has written to shared memory, and has been told of by a barrier, is seen by copies that
/// start behind this: they read through another proxy than st.shared writes.
__device__ inline void fence_proxy_async_shared() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
/// A box from shared memory to a tensor.
__device__ inline void tma_store_2d(const TensorMap& map, u32 from, u32 x, u32 y) {
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map),
        "r"(x), "r"(y), "r"(from)
        : "memory");
}
__device__ inline void tma_store_3d(const TensorMap& map, u32 from, u32 x, u32 y, u32 z) {
    asm volatile(
        "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(&map),
        "r"(x), "r"(y), "r"(z), "r"(from)
        : "memory");
}
__device__ inline void tma_store_4d(const TensorMap& map, u32 from, u32 x, u32 y, u32 z, u32 w) {
    asm volatile(
        "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3, %4}], [%5];" ::"l"(
            &map),
        "r"(x), "r"(y), "r"(z), "r"(w), "r"(from)
        : "memory");
}
/// The stores of this thread so far are one group.
__device__ inline void bulk_commit_group() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/// Until at most so many of the last groups still read shared memory.
template <u32 pending = 0> __device__ inline void bulk_wait_group_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}
/// Until all but so many of the last groups have written global memory.
template <u32 pending = 0> __device__ inline void bulk_wait_group() {
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(pending) : "memory");
}

}  // namespace hardware
