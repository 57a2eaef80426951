#pragma once
/// @file narrow.cuh
/// Elements that are stored in 8 or 4 bits, as numbers: 16 of them at a time.

#include "copy.cuh"
#include "mma.cuh"

namespace hardware {

/// How they are stored. `u8` has two signed integers of 4 bits, the first in the lower half.
enum class Narrow { s8, u8, e4m3, e5m2 };
__host__ __device__ constexpr unsigned bits_of(Narrow type) { return type == Narrow::u8 ? 4 : 8; }

/// 16 elements that follow each other.
template <Narrow type> struct NarrowPiece {
    static constexpr unsigned bytes = 2 * bits_of(type);
    unsigned words[bytes / 4];

    __device__ __forceinline__ void load(unsigned from) { ld_shared(words, from); }
    /// Elements 2 i and the next.
    __device__ __forceinline__ void pair(unsigned i, float& low, float& high) const {
        if constexpr (type == Narrow::s8 || type == Narrow::u8) {
            low = integer(2 * i), high = integer(2 * i + 1);
        } else {
            const unsigned both = as_halves(i);
            low = to_f32(f16{static_cast<unsigned short>(both)});
            high = to_f32(f16{static_cast<unsigned short>(both >> 16)});
        }
    }

  private:
#if __CUDA_ARCH__ >= 890
    static constexpr bool has_conversions = true;  // cvt.rn.f16x2.e4m3x2 and its like
#else
    static constexpr bool has_conversions = false;
#endif
    // Floats 2 i and the next as f16, which has all of their values.
    __device__ __forceinline__ unsigned as_halves(unsigned i) const {
        unsigned both;
        if constexpr (!has_conversions) {
            const unsigned word = words[i / 2];
            if constexpr (type == Narrow::e4m3)
                both = halves_of_e4m3(word, i % 2);
            else
                both = two_of(word, 0, i % 2);  // an e5m2 is the upper half of an f16
        } else {
            const auto bits = static_cast<unsigned short>(words[i / 2] >> i % 2 * 16);
            if constexpr (type == Narrow::e4m3)
                asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(both) : "h"(bits));
            else
                asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(both) : "h"(bits));
        }
        return both;
    }
    // Bytes 2 i and the next of two words, i below 2, as 16 bits each: that of `upper` above that of `lower`.
    static __device__ __forceinline__ unsigned two_of(unsigned upper, unsigned lower, unsigned i) {
        return __byte_perm(lower, upper, i == 0 ? 0x5140 : 0x7362);
    }
    // The exponent and the fraction of an e4m3, one bit lower, are those of an f16, whose bias is 8 more. The
    // largest magnitude is NaN: a carry out of it sets the exponent's upper bit, so that all of it is set.
    static __device__ __forceinline__ unsigned halves_of_e4m3(unsigned word, unsigned i) {
        constexpr unsigned signs = 0x80808080, two_256 = 0x5C005C00;
        const unsigned carries = (word & ~signs) + 0x01010101;
        const unsigned magnitudes = word & ~signs | carries & signs;
        const unsigned upper = word & signs | magnitudes >> 1 & ~signs, lower = magnitudes << 7 & signs;
        unsigned both;
        asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(both) : "r"(two_of(upper, lower, i)), "r"(two_256));
        return both;
    }
    // Without I2F, which is slow: the integer, made positive, stands in the lowest bits of 2^23.
    __device__ __forceinline__ float integer(unsigned i) const {
        constexpr unsigned two_23 = 0x4B000000;
        constexpr bool is_nibble = type == Narrow::u8;
        const unsigned word = words[is_nibble ? i / 8 : i / 4];
        const unsigned positive =
            !is_nibble ? word ^ 0x80808080 : (i % 2 == 0 ? word : word >> 4) & 0x0F0F0F0F ^ 0x08080808;
        const unsigned byte = is_nibble ? i % 8 / 2 : i % 4;
        return __uint_as_float(__byte_perm(positive, two_23, 0x7440 | byte)) -
               (8388608.0f + (is_nibble ? 8 : 128));
    }
};

/// Element i of an array, in the plainest way: for references.
template <Narrow type>
__device__ inline float narrow_value(const unsigned char* array, unsigned long long i) {
    if constexpr (type == Narrow::u8) {
        const int bits = array[i / 2] >> i % 2 * 4 & 15;
        return static_cast<float>((bits ^ 8) - 8);
    } else if constexpr (type == Narrow::s8) {
        return static_cast<float>(static_cast<signed char>(array[i]));
    } else if constexpr (type == Narrow::e5m2) {  // the upper half of an f16
        return to_f32(f16{static_cast<unsigned short>(array[i] << 8)});
    } else {
        const float sign = array[i] & 0x80 ? -1 : 1;
        const int exponent = array[i] >> 3 & 15, fraction = array[i] & 7;
        if (exponent == 15 && fraction == 7) return __uint_as_float(0x7FFFFFFF);
        return sign * (exponent == 0 ? fraction / 512.0f
                                     : __uint_as_float((exponent + 120u) << 23 | fraction << 20));
    }
}

}  // namespace hardware
