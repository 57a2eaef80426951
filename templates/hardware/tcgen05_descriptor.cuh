#pragma once
/// @file tcgen05_descriptor.cuh
/// What products of sm_100a are told in numbers: where tiles of A and B lie in shared memory, and what a
/// product is of. Arithmetic alone, without an instruction of tcgen05 (those are in tcgen05.cuh). PTX ISA
/// 9.7.16.3, 9.7.16.4 and 9.7.16.10.6 say what each number means.

#include "wgmma.cuh"  // Element, Major, and descriptors of tiles

namespace hardware {

/// The depth of a product: 32 bytes of a row along k.
__host__ __device__ constexpr u32 tcgen05_depth(Element type) { return 32 / bytes_of(type); }

/// The descriptor of a tile in shared memory that a tensor copy has swizzled by 128 bytes: that of wgmma
/// (wgmma_descriptor() says how the two majors lie), and bit 46, which is always set. A panel of an MN-major
/// tile has 128 bytes of m or n, 64 elements of 16 bits or 128 of 8, with a row for each of the depth.
template <Major major> __device__ inline u64 tcgen05_descriptor(u32 address, u32 panel_bytes) {
    return wgmma_descriptor<major>(address, major == Major::k ? 16 : panel_bytes) | u64{1} << 46;
}
/// The descriptor of what stands so many bytes further.
__device__ inline u64 tcgen05_advance(u64 descriptor, u32 bytes) { return wgmma_advance(descriptor, bytes); }
/// Bytes from a product's part of a tile to the next one's, along the depth.
__host__ __device__ constexpr u32 tcgen05_step_bytes(Element type, Major major) {
    return major == Major::k ? 32 : tcgen05_depth(type) * 128;
}

/// The instruction descriptor of a product with .f32 accumulators: m rows (of both blocks of a pair) and n
/// columns. Bits 4 and 5 are the accumulators' type, 7 to 9 and 10 to 12 those of A and B, 15 and 16 say that
/// A or B is MN-major, 17 to 22 are n / 8, 24 to 28 m / 16.
__host__ __device__ constexpr u32 tcgen05_instruction(Element type, u32 m, u32 n, Major major_a,
                                                      Major major_b) {
    const u32 code = type == Element::bf16 || type == Element::e5m2 ? 1 : 0;  // f16 and e4m3 are 0
    return 1u << 4 | code << 7 | code << 10 | (major_a == Major::mn ? 1u << 15 : 0) |
           (major_b == Major::mn ? 1u << 16 : 0) | n / 8 << 17 | m / 16 << 24;
}

/// What tcgen05.alloc is asked for when so many columns are needed: a power of two from 32 on.
__host__ __device__ constexpr u32 tensor_columns(u32 needed) {
    u32 columns = 32;
    while (columns < needed) columns *= 2;
    return columns;
}
/// The address of a cell of tensor memory: its lane in the upper half, its column in the lower one.
__host__ __device__ constexpr u32 tensor_offset(u32 lane, u32 column) { return lane << 16 | column; }

}  // namespace hardware
