#pragma once
// Elements of memory as registers of f32: 16 bytes at once, the most that a thread moves with one
// instruction, or one by one. Kernels compute in f32, whatever stands in memory.

namespace hardware {

// What stands in memory. -DTYPE=bf16 names one: `using Element = hardware::TYPE;`.
using f32 = float;
struct bf16 {  // the upper half of an f32
    unsigned short bits;
};
struct f16 {
    unsigned short bits;
};

// Elements in 16 bytes.
template <class Element> constexpr unsigned width = 16 / sizeof(Element);

// 16 bytes on their way, as the load left them: half the registers of their elements, if those have 2 bytes.
struct Words {
    unsigned of[4];
};

// 16 bytes of ones.
template <class Element> struct Ones;
template <> struct Ones<float> { static constexpr unsigned bits = 0x3F800000; };
template <> struct Ones<bf16> { static constexpr unsigned bits = 0x3F803F80; };
template <> struct Ones<f16> { static constexpr unsigned bits = 0x3C003C00; };
template <class Element> __device__ Words ones() {
    constexpr unsigned bits = Ones<Element>::bits;
    return {{bits, bits, bits, bits}};
}

__device__ inline unsigned long long global_address(const void* pointer) {
    return __cvta_generic_to_global(pointer);
}

// LDG.E.128 under a predicate, without a branch, so that the loads of a thread leave one behind the other;
// `otherwise` where the condition does not hold. `from` is a multiple of 16 bytes.
__device__ inline Words load_16_if(bool condition, const void* from, Words otherwise = {}) {
    Words words = otherwise;
    asm volatile(
        "{\n\t.reg .pred is_there;\n\t"
        "setp.ne.u32 is_there, %5, 0;\n\t"
        "@is_there ld.global.v4.b32 {%0, %1, %2, %3}, [%4];\n\t}"
        : "+r"(words.of[0]), "+r"(words.of[1]), "+r"(words.of[2]), "+r"(words.of[3])
        : "l"(global_address(from)), "r"(unsigned(condition))
        : "memory");
    return words;
}

// STG.E.128 under a predicate.
__device__ inline void store_16_if(bool condition, void* to, const Words& words) {
    asm volatile(
        "{\n\t.reg .pred is_there;\n\t"
        "setp.ne.u32 is_there, %5, 0;\n\t"
        "@is_there st.global.v4.b32 [%4], {%0, %1, %2, %3};\n\t}" ::"r"(words.of[0]),
        "r"(words.of[1]), "r"(words.of[2]), "r"(words.of[3]), "l"(global_address(to)),
        "r"(unsigned(condition))
        : "memory");
}

// One element.
__device__ inline float to_f32(float x) { return x; }
__device__ inline float to_f32(bf16 x) { return __uint_as_float(unsigned(x.bits) << 16); }
__device__ inline float to_f32(f16 x) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
    return y;
}

// Rounded to nearest even.
template <class Element> __device__ Element from_f32(float x);
template <> __device__ inline float from_f32<float>(float x) { return x; }
template <> __device__ inline bf16 from_f32<bf16>(float x) {
    bf16 y;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
}
template <> __device__ inline f16 from_f32<f16>(float x) {
    f16 y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
}

// The elements of 16 bytes. Of two in a word the first is the lower half.
template <class Element> __device__ void unpack(const Words& words, float (&to)[width<Element>]);
template <> __device__ inline void unpack<float>(const Words& words, float (&to)[4]) {
    for (int i = 0; i < 4; ++i) to[i] = __uint_as_float(words.of[i]);
}
template <> __device__ inline void unpack<bf16>(const Words& words, float (&to)[8]) {
    for (int i = 0; i < 4; ++i) {
        to[2 * i] = __uint_as_float(words.of[i] << 16);
        to[2 * i + 1] = __uint_as_float(words.of[i] & 0xFFFF0000u);
    }
}
template <> __device__ inline void unpack<f16>(const Words& words, float (&to)[8]) {
    for (int i = 0; i < 8; ++i)
        to[i] = to_f32(f16{static_cast<unsigned short>(words.of[i / 2] >> 16 * (i % 2))});
}

template <class Element> __device__ Words pack(const float (&from)[width<Element>]);
template <> __device__ inline Words pack<float>(const float (&from)[4]) {
    Words words;
    for (int i = 0; i < 4; ++i) words.of[i] = __float_as_uint(from[i]);
    return words;
}
// One instruction rounds two elements; its first source is the upper half.
template <> __device__ inline Words pack<bf16>(const float (&from)[8]) {
    Words words;
    for (int i = 0; i < 4; ++i)
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(words.of[i]) : "f"(from[2 * i + 1]), "f"(from[2 * i]));
    return words;
}
template <> __device__ inline Words pack<f16>(const float (&from)[8]) {
    Words words;
    for (int i = 0; i < 4; ++i)
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(words.of[i]) : "f"(from[2 * i + 1]), "f"(from[2 * i]));
    return words;
}

// The same 16 bytes, element by element, for rows that do not begin at multiples of 16 bytes: the first
// `count` elements, and `otherwise` behind them. A count of width or more takes all, of 0 none.
template <class Element>
__device__ Words load_elements(const Element* from, unsigned count, Words otherwise = {}) {
    Words words = otherwise;
    const unsigned long long address = global_address(from);
    for (unsigned i = 0; i < width<Element>; ++i) {
        if (i >= count) continue;
        if constexpr (sizeof(Element) == 4) {
            asm volatile("ld.global.b32 %0, [%1];" : "=r"(words.of[i]) : "l"(address + 4 * i) : "memory");
        } else {
            unsigned short bits;
            asm volatile("ld.global.b16 %0, [%1];" : "=h"(bits) : "l"(address + 2 * i) : "memory");
            words.of[i / 2] = __byte_perm(words.of[i / 2], bits, i % 2 ? 0x5410 : 0x3254);
        }
    }
    return words;
}
template <class Element> __device__ void store_elements(Element* to, unsigned count, const Words& words) {
    const unsigned long long address = global_address(to);
    for (unsigned i = 0; i < width<Element>; ++i) {
        if (i >= count) continue;
        if constexpr (sizeof(Element) == 4) {
            asm volatile("st.global.b32 [%0], %1;" ::"l"(address + 4 * i), "r"(words.of[i]) : "memory");
        } else {
            const unsigned short bits = static_cast<unsigned short>(words.of[i / 2] >> 16 * (i % 2));
            asm volatile("st.global.b16 [%0], %1;" ::"l"(address + 2 * i), "h"(bits) : "memory");
        }
    }
}

}  // namespace hardware
