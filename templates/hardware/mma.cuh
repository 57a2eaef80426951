// Tensor cores by the warp (sm_80): ldmatrix, mma.sync, and the elements that they take. Everything here is
// one instruction; a fragment is what one lane holds of a matrix that a warp works on.
//
// mma multiplies 16 rows of A by 8 columns of B over 32 bytes of k, whatever the element: 16 of 16 bits, 8 of
// tf32, 32 of 8 bits. In words of 32 bits, with group = lane / 4 and place = lane % 4, a lane holds
//
//   a[0] row group,     word place      a[1] row group + 8, word place          words are along k, from its
//   a[2] row group,     word place + 4  a[3] row group + 8, word place + 4      first byte on
//   b[0] column group,  word place      b[1] column group,  word place + 4
//   d[0] d[1] row group,     columns 2 * place and 2 * place + 1
//   d[2] d[3] row group + 8, columns 2 * place and 2 * place + 1
#pragma once

namespace hardware {

// Elements by the names that PTX gives them. Those that CUDA C++ has no type for are their bits.
struct bf16 {
    unsigned short bits;
};
struct f16 {
    unsigned short bits;
};
struct tf32 {  // an f32 of which mma reads the upper 19 bits
    float value;
};
using f32 = float;
using f64 = double;
using s8 = signed char;
using u8 = unsigned char;
using s32 = int;

// ---- ldmatrix: four matrices of 8 rows of 16 bytes. Lane l gives the address of row l % 8 of matrix l / 8;
// to[i] is word place of row group of matrix i.
__device__ inline void ldmatrix_x4(unsigned (&to)[4], unsigned row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(row)
                 : "memory");
}
// The same of the transposed matrices, of 16-bit elements: to[i] is elements 2 * place and 2 * place + 1 of
// column group.
__device__ inline void ldmatrix_x4_trans(unsigned (&to)[4], unsigned row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(row)
                 : "memory");
}

// ---- mma.sync: Mma<bf16>::add(d, a, b0, b1) is d += a * b.
template <class Element> struct Mma;
#define HARDWARE_MMA(ELEMENT, SHAPE, ACCUMULATOR, LETTER)                                                   \
    template <> struct Mma<ELEMENT> {                                                                       \
        using Accumulator = ACCUMULATOR;                                                                    \
        static __device__ void add(Accumulator (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) { \
            asm("mma.sync.aligned." SHAPE ".row.col." #ACCUMULATOR "." #ELEMENT "." #ELEMENT                \
                "." #ACCUMULATOR " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"         \
                : "+" LETTER(d[0]), "+" LETTER(d[1]), "+" LETTER(d[2]), "+" LETTER(d[3])                    \
                : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                            \
        }                                                                                                   \
    };
HARDWARE_MMA(bf16, "m16n8k16", f32, "f")
HARDWARE_MMA(f16, "m16n8k16", f32, "f")
HARDWARE_MMA(tf32, "m16n8k8", f32, "f")
HARDWARE_MMA(s8, "m16n8k32", s32, "r")
HARDWARE_MMA(u8, "m16n8k32", s32, "r")
#undef HARDWARE_MMA

// ---- Elements to f32 and back, to nearest even; two of 16 bits in a word, the first in its lower half.
__device__ inline unsigned pack(float first, float second, bf16) {
    unsigned word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
    return word;
}
__device__ inline unsigned pack(float first, float second, f16) {
    unsigned word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
    return word;
}
__device__ inline float to_f32(bf16 x) { return __uint_as_float(x.bits << 16); }
__device__ inline float to_f32(f16 x) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x.bits));
    return value;
}
__device__ inline float to_f32(tf32 x) { return x.value; }
__device__ inline float to_f32(float x) { return x; }
__device__ inline float to_f32(int x) { return __int2float_rn(x); }
__device__ inline float to_f32(s8 x) { return __int2float_rn(x); }

template <class Element> __device__ Element from_f32(float x);
template <> __device__ inline bf16 from_f32(float x) {
    bf16 result;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(x));
    return result;
}
template <> __device__ inline f16 from_f32(float x) {
    f16 result;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(x));
    return result;
}
template <> __device__ inline float from_f32(float x) { return x; }
template <> __device__ inline int from_f32(float x) { return __float2int_rn(x); }

__device__ inline unsigned short bits(bf16 x) { return x.bits; }
__device__ inline unsigned short bits(f16 x) { return x.bits; }
__device__ inline unsigned bits(float x) { return __float_as_uint(x); }
__device__ inline unsigned bits(int x) { return static_cast<unsigned>(x); }

}  // namespace hardware
