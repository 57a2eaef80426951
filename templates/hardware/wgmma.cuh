#pragma once
/// @file wgmma.cuh
/// Products of a warpgroup (sm_90a): D = A B + D, with 64 rows of D and n columns, 16 of the depth for 16-bit
/// elements and 32 for 8-bit ones. A stands in shared memory or in registers, B in shared memory, D in
/// registers. PTX ISA 9.7.15 says what each does.
///
/// The order of a step, for all four warps of a warpgroup (warps 4 i to 4 i + 3 of the block):
/// @code
/// wgmma_fence();                                            // registers written before are seen
/// for (…) Wgmma<Element::bf16, 128>::multiply(d, a, b, 1);  // starts, and goes on by itself
/// wgmma_commit_group();
/// wgmma_wait_group<0>();                                    // then d may be read, the tiles overwritten
/// @endcode
///
/// Where a thread has D: lane l of warp w has, in d[4 j + 2 h + e] for h and e of 0 and 1, row 16 w + l / 4 +
/// 8 h and column 8 j + 2 (l % 4) + e (accumulator_row(), accumulator_col()). A in registers stands alike:
/// a[2 i + h] has in row 16 w + l / 4 + 8 h two 16-bit neighbours, columns 8 i + 2 (l % 4) and the next, or
/// four 8-bit ones from column 16 i + 4 (l % 4) on.

#include "mbarrier.cuh"

namespace hardware {

enum class Element { bf16, f16, e4m3, e5m2 };
__host__ __device__ constexpr u32 bytes_of(Element type) {
    return type == Element::bf16 || type == Element::f16 ? 2 : 1;
}

/// How a tile of A or B lies in shared memory. K-major: rows of m or n, along the depth. MN-major: rows of
/// the depth, along m or n; of 16-bit elements alone.
enum class Major { k, mn };

// ---- descriptors of tiles in shared memory
//
// Both majors here are swizzled by 128 bytes, as a tensor copy makes them whose box has rows of 128 bytes:
// the 16-byte units of row r are permuted by r % 8, so that a column of them is spread over all banks. The
// pattern repeats every 8 rows, 1024 bytes, at which tiles are aligned. A descriptor has, each in units of 16
// bytes, the address (bits 0 to 13), the leading offset (16 to 29) and the stride offset (32 to 45), and in
// bits 62 and 63 the swizzle, 1 for 128 bytes.

/// K-major: rows of 128 bytes along the depth, 8 rows (1024 bytes) after 8 rows. 16-bit elements have 64 of
/// the depth in a row, four products; the next product's descriptor is wgmma_step_bytes further.
/// MN-major: panels of 64 columns, one behind the other, each with a row of 128 bytes for each of the depth.
template <Major major> __device__ inline u64 wgmma_descriptor(u32 address, u32 panel_bytes = 16) {
    const u32 low = (address & 0x3FFFF) >> 4 | (panel_bytes >> 4) << 16;  // K-major takes no leading offset
    const u32 high = 1024 >> 4 | 1u << 30;
    u64 descriptor;
    asm("mov.b64 %0, {%1, %2};" : "=l"(descriptor) : "r"(low), "r"(high));
    return descriptor;
}
/// The descriptor of what stands so many bytes further, a multiple of 16. Adds to the low half alone: an
/// address never carries into the leading offset, for shared memory ends before.
__device__ inline u64 wgmma_advance(u64 descriptor, u32 bytes) {
    u64 further;
    asm("{\n"
        "\t.reg .b32 low, high;\n"
        "\tmov.b64 {low, high}, %1;\n"
        "\tadd.u32 low, low, %2;\n"
        "\tmov.b64 %0, {low, high};\n"
        "}"
        : "=l"(further)
        : "l"(descriptor), "r"(bytes >> 4));
    return further;
}
/// Bytes from a product's part of a tile to the next one's, along the depth.
__host__ __device__ constexpr u32 wgmma_step_bytes(Major major) { return major == Major::k ? 32 : 16 * 128; }

// ---- the order of registers and products

/// Before the first product, and wherever registers of D or A have been accessed since the last one.
__device__ inline void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
/// The products so far are one group.
__device__ inline void wgmma_commit_group() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Until at most so many of the last groups are under way.
template <u32 pending> __device__ inline void wgmma_wait_group() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

/// Behind the last wait: what reads registers of D stays behind it. No instruction.
template <u32 count> __device__ __forceinline__ void wgmma_keep(float (&d)[count]) {
#pragma unroll
    for (u32 i = 0; i < count; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

/// Row and column, in the 64 rows of its warpgroup, of register 0 of a thread's D.
__device__ inline u32 accumulator_row() { return threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4; }
__device__ inline u32 accumulator_col() { return threadIdx.x % 4 * 2; }

// ---- the products, n = 16, 32 … 256
//
//   multiply(d, a, b, accumulate)            A and B by descriptors
//   multiply(d, {a0, a1, a2, a3}, b, accumulate)   A in registers
//
// `accumulate` of 0 makes it D = A B, whatever D was. The majors are template arguments.
template <Element type, u32 n> struct Wgmma;

// The text of registers, and their constraints, eight at a time.
// clang-format off
#define HARDWARE_TEXT_0 "%0, %1, %2, %3, %4, %5, %6, %7"
#define HARDWARE_TEXT_1 "%8, %9, %10, %11, %12, %13, %14, %15"
#define HARDWARE_TEXT_2 "%16, %17, %18, %19, %20, %21, %22, %23"
#define HARDWARE_TEXT_3 "%24, %25, %26, %27, %28, %29, %30, %31"
#define HARDWARE_TEXT_4 "%32, %33, %34, %35, %36, %37, %38, %39"
#define HARDWARE_TEXT_5 "%40, %41, %42, %43, %44, %45, %46, %47"
#define HARDWARE_TEXT_6 "%48, %49, %50, %51, %52, %53, %54, %55"
#define HARDWARE_TEXT_7 "%56, %57, %58, %59, %60, %61, %62, %63"
#define HARDWARE_TEXT_8 "%64, %65, %66, %67, %68, %69, %70, %71"
#define HARDWARE_TEXT_9 "%72, %73, %74, %75, %76, %77, %78, %79"
#define HARDWARE_TEXT_10 "%80, %81, %82, %83, %84, %85, %86, %87"
#define HARDWARE_TEXT_11 "%88, %89, %90, %91, %92, %93, %94, %95"
#define HARDWARE_TEXT_12 "%96, %97, %98, %99, %100, %101, %102, %103"
#define HARDWARE_TEXT_13 "%104, %105, %106, %107, %108, %109, %110, %111"
#define HARDWARE_TEXT_14 "%112, %113, %114, %115, %116, %117, %118, %119"
#define HARDWARE_TEXT_15 "%120, %121, %122, %123, %124, %125, %126, %127"
#define HARDWARE_D_16 HARDWARE_TEXT_0
#define HARDWARE_D_32 HARDWARE_D_16 ", " HARDWARE_TEXT_1
#define HARDWARE_D_48 HARDWARE_D_32 ", " HARDWARE_TEXT_2
#define HARDWARE_D_64 HARDWARE_D_48 ", " HARDWARE_TEXT_3
#define HARDWARE_D_80 HARDWARE_D_64 ", " HARDWARE_TEXT_4
#define HARDWARE_D_96 HARDWARE_D_80 ", " HARDWARE_TEXT_5
#define HARDWARE_D_112 HARDWARE_D_96 ", " HARDWARE_TEXT_6
#define HARDWARE_D_128 HARDWARE_D_112 ", " HARDWARE_TEXT_7
#define HARDWARE_D_144 HARDWARE_D_128 ", " HARDWARE_TEXT_8
#define HARDWARE_D_160 HARDWARE_D_144 ", " HARDWARE_TEXT_9
#define HARDWARE_D_176 HARDWARE_D_160 ", " HARDWARE_TEXT_10
#define HARDWARE_D_192 HARDWARE_D_176 ", " HARDWARE_TEXT_11
#define HARDWARE_D_208 HARDWARE_D_192 ", " HARDWARE_TEXT_12
#define HARDWARE_D_224 HARDWARE_D_208 ", " HARDWARE_TEXT_13
#define HARDWARE_D_240 HARDWARE_D_224 ", " HARDWARE_TEXT_14
#define HARDWARE_D_256 HARDWARE_D_240 ", " HARDWARE_TEXT_15
#define HARDWARE_IO_4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define HARDWARE_IO_8(i) HARDWARE_IO_4(i), HARDWARE_IO_4(i + 4)
#define HARDWARE_IO_OF_16 HARDWARE_IO_8(0)
#define HARDWARE_IO_OF_32 HARDWARE_IO_OF_16, HARDWARE_IO_8(8)
#define HARDWARE_IO_OF_48 HARDWARE_IO_OF_32, HARDWARE_IO_8(16)
#define HARDWARE_IO_OF_64 HARDWARE_IO_OF_48, HARDWARE_IO_8(24)
#define HARDWARE_IO_OF_80 HARDWARE_IO_OF_64, HARDWARE_IO_8(32)
#define HARDWARE_IO_OF_96 HARDWARE_IO_OF_80, HARDWARE_IO_8(40)
#define HARDWARE_IO_OF_112 HARDWARE_IO_OF_96, HARDWARE_IO_8(48)
#define HARDWARE_IO_OF_128 HARDWARE_IO_OF_112, HARDWARE_IO_8(56)
#define HARDWARE_IO_OF_144 HARDWARE_IO_OF_128, HARDWARE_IO_8(64)
#define HARDWARE_IO_OF_160 HARDWARE_IO_OF_144, HARDWARE_IO_8(72)
#define HARDWARE_IO_OF_176 HARDWARE_IO_OF_160, HARDWARE_IO_8(80)
#define HARDWARE_IO_OF_192 HARDWARE_IO_OF_176, HARDWARE_IO_8(88)
#define HARDWARE_IO_OF_208 HARDWARE_IO_OF_192, HARDWARE_IO_8(96)
#define HARDWARE_IO_OF_224 HARDWARE_IO_OF_208, HARDWARE_IO_8(104)
#define HARDWARE_IO_OF_240 HARDWARE_IO_OF_224, HARDWARE_IO_8(112)
#define HARDWARE_IO_OF_256 HARDWARE_IO_OF_240, HARDWARE_IO_8(120)

// i0 to i6: the numbers of the operands behind D.
#define HARDWARE_WGMMA_16(TYPE, N, i0, i1, i2, i3, i4, i5, i6) \
    template <> struct Wgmma<Element::TYPE, N> { \
        template <Major major_a = Major::k, Major major_b = Major::k> \
        static __device__ __forceinline__ void multiply(float (&d)[N / 2], u64 a, u64 b, int accumulate) { \
            asm volatile( \
                "{\n\t.reg .pred accumulate;\n\tsetp.ne.b32 accumulate, %" #i2 ", 0;\n" \
                "\twgmma.mma_async.sync.aligned.m64n" #N "k16.f32." #TYPE "." #TYPE " {" HARDWARE_D_##N \
                "}, %" #i0 ", %" #i1 ", accumulate, 1, 1, %" #i3 ", %" #i4 ";\n}" \
                : HARDWARE_IO_OF_##N \
                : "l"(a), "l"(b), "r"(accumulate), "n"(int(major_a)), "n"(int(major_b))); \
        } \
        template <Major major_b = Major::k> \
        static __device__ __forceinline__ void multiply(float (&d)[N / 2], const u32 (&a)[4], u64 b, \
                                                        int accumulate) { \
            asm volatile( \
                "{\n\t.reg .pred accumulate;\n\tsetp.ne.b32 accumulate, %" #i5 ", 0;\n" \
                "\twgmma.mma_async.sync.aligned.m64n" #N "k16.f32." #TYPE "." #TYPE " {" HARDWARE_D_##N \
                "}, {%" #i0 ", %" #i1 ", %" #i2 ", %" #i3 "}, %" #i4 ", accumulate, 1, 1, %" #i6 ";\n}" \
                : HARDWARE_IO_OF_##N \
                : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate), "n"(int(major_b))); \
        } \
    };
#define HARDWARE_WGMMA_8(TYPE, N, i0, i1, i2, i3, i4, i5, i6) \
    template <> struct Wgmma<Element::TYPE, N> { \
        template <Major major_a = Major::k, Major major_b = Major::k> \
        static __device__ __forceinline__ void multiply(float (&d)[N / 2], u64 a, u64 b, int accumulate) { \
            static_assert(major_a == Major::k && major_b == Major::k, "8-bit elements are K-major"); \
            asm volatile( \
                "{\n\t.reg .pred accumulate;\n\tsetp.ne.b32 accumulate, %" #i2 ", 0;\n" \
                "\twgmma.mma_async.sync.aligned.m64n" #N "k32.f32." #TYPE "." #TYPE " {" HARDWARE_D_##N \
                "}, %" #i0 ", %" #i1 ", accumulate, 1, 1;\n}" \
                : HARDWARE_IO_OF_##N \
                : "l"(a), "l"(b), "r"(accumulate)); \
        } \
        template <Major major_b = Major::k> \
        static __device__ __forceinline__ void multiply(float (&d)[N / 2], const u32 (&a)[4], u64 b, \
                                                        int accumulate) { \
            static_assert(major_b == Major::k, "8-bit elements are K-major"); \
            asm volatile( \
                "{\n\t.reg .pred accumulate;\n\tsetp.ne.b32 accumulate, %" #i5 ", 0;\n" \
                "\twgmma.mma_async.sync.aligned.m64n" #N "k32.f32." #TYPE "." #TYPE " {" HARDWARE_D_##N \
                "}, {%" #i0 ", %" #i1 ", %" #i2 ", %" #i3 "}, %" #i4 ", accumulate, 1, 1;\n}" \
                : HARDWARE_IO_OF_##N \
                : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate)); \
        } \
    };
#define HARDWARE_WGMMA(...) \
    HARDWARE_WGMMA_16(bf16, __VA_ARGS__) HARDWARE_WGMMA_16(f16, __VA_ARGS__) \
    HARDWARE_WGMMA_8(e4m3, __VA_ARGS__) HARDWARE_WGMMA_8(e5m2, __VA_ARGS__)

HARDWARE_WGMMA(16, 8, 9, 10, 11, 12, 13, 14)
HARDWARE_WGMMA(32, 16, 17, 18, 19, 20, 21, 22)
HARDWARE_WGMMA(48, 24, 25, 26, 27, 28, 29, 30)
HARDWARE_WGMMA(64, 32, 33, 34, 35, 36, 37, 38)
HARDWARE_WGMMA(80, 40, 41, 42, 43, 44, 45, 46)
HARDWARE_WGMMA(96, 48, 49, 50, 51, 52, 53, 54)
HARDWARE_WGMMA(112, 56, 57, 58, 59, 60, 61, 62)
HARDWARE_WGMMA(128, 64, 65, 66, 67, 68, 69, 70)
HARDWARE_WGMMA(144, 72, 73, 74, 75, 76, 77, 78)
HARDWARE_WGMMA(160, 80, 81, 82, 83, 84, 85, 86)
HARDWARE_WGMMA(176, 88, 89, 90, 91, 92, 93, 94)
HARDWARE_WGMMA(192, 96, 97, 98, 99, 100, 101, 102)
HARDWARE_WGMMA(208, 104, 105, 106, 107, 108, 109, 110)
HARDWARE_WGMMA(224, 112, 113, 114, 115, 116, 117, 118)
HARDWARE_WGMMA(240, 120, 121, 122, 123, 124, 125, 126)
HARDWARE_WGMMA(256, 128, 129, 130, 131, 132, 133, 134)
// clang-format on

#undef HARDWARE_WGMMA
#undef HARDWARE_WGMMA_16
#undef HARDWARE_WGMMA_8

}  // namespace hardware
