// Copies from global to shared memory behind the back of the threads (cp.async, sm_80), the order of 16-byte
// pieces in shared memory that keeps ldmatrix free of bank conflicts, and single accesses.
//
// A thread starts copies, commits those since the last commit as one group, and waits until all but the
// newest n of its groups have arrived. Then a barrier shows what arrived to the other threads.
#pragma once
#include "address.cuh"

namespace hardware {

// cp.async.cg copies 16 bytes past L1: a tile is read from shared memory, never again from L1. The hint has
// L2 fetch the whole line of 128 bytes, which the threads beside this one ask for anyway.
__device__ inline void cp_async(unsigned to, const void* from) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to),
                 "l"(__cvta_generic_to_global(from))
                 : "memory");
}
// Of the 16 bytes the first `bytes` (0 to 16) are copied, and zeros are written behind them. With 0 nothing
// is read: the address may be beyond the array.
__device__ inline void cp_async_zfill(unsigned to, const void* from, unsigned bytes) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes)
                 : "memory");
}
// One word, through L1: zeros where `is_inside` is not, and then nothing is read.
__device__ inline void cp_async_word_zfill(unsigned to, const void* from, bool is_inside) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to),
                 "l"(__cvta_generic_to_global(from)), "r"(is_inside ? 4 : 0)
                 : "memory");
}
__device__ inline void cp_async_commit_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits for all groups of this thread but the newest `but`.
template <unsigned but> __device__ void cp_async_wait_group() {
    asm volatile("cp.async.wait_group %0;" ::"n"(but) : "memory");
}

// Shared memory has 32 banks of 4 bytes. ldmatrix reads the same 16-byte piece of 8 rows at once; in rows of
// 128 bytes all 8 would lie in the same 4 banks. So row r has its piece p at p ^ r: the piece of 8 rows then
// lies in 8 different places of the 128 bytes. Rows of 64 or 32 bytes, of which 2 or 4 share 128 bytes, take
// every second or fourth row. These are the tensor copies' swizzles of 128, 64 and 32 bytes.
template <unsigned row_bytes> __device__ constexpr unsigned swizzle(unsigned row, unsigned piece) {
    static_assert(row_bytes == 32 || row_bytes == 64 || row_bytes == 128, "a swizzle of 32, 64 or 128 bytes");
    return piece ^ (row / (128 / row_bytes)) % (row_bytes / 16);
}
// Where the piece lies in a tile, whose first byte is at a multiple of 1024 bytes (8 rows of 128).
template <unsigned row_bytes> __device__ constexpr unsigned swizzled_offset(unsigned row, unsigned piece) {
    return row * row_bytes + swizzle<row_bytes>(row, piece) * 16;
}

// ---- Shared and global memory by single accesses. Those with a condition are one predicated instruction
// each, where an `if` might become a branch; a load that nothing reads is dropped with its condition.
__device__ inline unsigned ld_shared(unsigned at) {
    unsigned word;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(word) : "r"(at) : "memory");
    return word;
}
__device__ inline void ld_shared(unsigned (&to)[2], unsigned at) {
    asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(to[0]), "=r"(to[1]) : "r"(at) : "memory");
}
__device__ inline void ld_shared(unsigned (&to)[4], unsigned at) {
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at)
                 : "memory");
}
__device__ inline void st_shared(unsigned at, unsigned word) {
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(at), "r"(word) : "memory");
}
__device__ inline void st_shared(unsigned at, unsigned first, unsigned second) {
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(at), "r"(first), "r"(second) : "memory");
}
__device__ inline void st_shared(unsigned at, const unsigned (&of)[4]) {
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(of[0]), "r"(of[1]), "r"(of[2]),
                 "r"(of[3])
                 : "memory");
}

template <class T> __device__ T ld_global_if(const T* from, bool condition, T otherwise) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "");
    T result;
    if constexpr (sizeof(T) == 4) {
        unsigned bits = __builtin_bit_cast(unsigned, otherwise);
        asm("{ .reg .pred p;\n\tsetp.ne.u32 p, %2, 0;\n\t@p ld.global.b32 %0, [%1]; }"
            : "+r"(bits)
            : "l"(__cvta_generic_to_global(from)), "r"(static_cast<unsigned>(condition)));
        result = __builtin_bit_cast(T, bits);
    } else {
        unsigned short bits = __builtin_bit_cast(unsigned short, otherwise);
        asm("{ .reg .pred p;\n\tsetp.ne.u32 p, %2, 0;\n\t@p ld.global.b16 %0, [%1]; }"
            : "+h"(bits)
            : "l"(__cvta_generic_to_global(from)), "r"(static_cast<unsigned>(condition)));
        result = __builtin_bit_cast(T, bits);
    }
    return result;
}
__device__ inline void st_global_if(void* to, bool condition, unsigned short value) {
    asm volatile("{ .reg .pred p;\n\tsetp.ne.u32 p, %0, 0;\n\t@p st.global.b16 [%1], %2; }" ::"r"(
                     static_cast<unsigned>(condition)),
                 "l"(__cvta_generic_to_global(to)), "h"(value)
                 : "memory");
}
__device__ inline void st_global_if(void* to, bool condition, unsigned value) {
    asm volatile("{ .reg .pred p;\n\tsetp.ne.u32 p, %0, 0;\n\t@p st.global.b32 [%1], %2; }" ::"r"(
                     static_cast<unsigned>(condition)),
                 "l"(__cvta_generic_to_global(to)), "r"(value)
                 : "memory");
}
__device__ inline void st_global_if(void* to, bool condition, unsigned first, unsigned second) {
    asm volatile("{ .reg .pred p;\n\tsetp.ne.u32 p, %0, 0;\n\t@p st.global.v2.b32 [%1], {%2, %3}; }" ::"r"(
                     static_cast<unsigned>(condition)),
                 "l"(__cvta_generic_to_global(to)), "r"(first), "r"(second)
                 : "memory");
}
__device__ inline void st_global_if(void* to, bool condition, const unsigned (&values)[4]) {
    asm volatile(
        "{ .reg .pred p;\n\tsetp.ne.u32 p, %0, 0;\n\t@p st.global.v4.b32 [%1], {%2, %3, %4, %5}; }" ::"r"(
            static_cast<unsigned>(condition)),
        "l"(__cvta_generic_to_global(to)), "r"(values[0]), "r"(values[1]), "r"(values[2]), "r"(values[3])
        : "memory");
}

}  // namespace hardware
