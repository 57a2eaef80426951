#pragma once
/// @file elements.hpp
/// Elements of memory, in f32, bf16 or f16, as registers of f32: what all kernels of this folder load and
/// store.

#include <bit>
#include <cstdint>
#include <ptxgraft/dsl.hpp>
#include <vector>

namespace rows {

using namespace ptxgraft::dsl;

/// What a thread loads or stores at once: 16 bytes, for which whatever it begins at has to be a multiple of
/// 16 bytes, or one element.
enum class Access : std::uint8_t { vector, element };

/// `constant`: nobody writes it while the kernel runs, so that loads may move across stores (ld.global.nc).
enum class Memory : std::uint8_t { changing, constant };

template <Type T> inline constexpr std::uint32_t bytes_of = T == f32 ? 4 : 2;
template <Type T> constexpr std::uint32_t count_of(Access access) {
    return access == Access::vector ? 16 / bytes_of<T> : 1;
}
/// `shl.b64 d, a, 2` makes bytes of elements.
template <Type T> inline constexpr int bytes_shift = std::countr_zero(bytes_of<T>);

using Values = std::vector<Reg<f32>>;

/// The one or two elements of 32 bits.
template <Type T> void unpack(FunctionBuilder<>& k, const auto& word, Values& to) {
    if constexpr (T == f32) {
        to.push_back(word);
    } else if constexpr (T == bf16) {  // the upper half of an .f32
        to.push_back(k.reg<f32>()), to.push_back(k.reg<f32>());
        k.emit<"shl.b32">(to.end()[-2], word, 16);
        k.emit<"and.b32">(to.end()[-1], word, imm<0xFFFF0000u>);
    } else {
        const auto halves = k.regs<f16, 2>();
        k.emit<"mov.b32">(halves, word);
        for (const auto& half : halves) {
            to.push_back(k.reg<f32>());
            k.emit<"cvt.f32.f16">(to.back(), half);
        }
    }
}

/// Loads under a predicate; where it does not hold, the values are anything.
template <Type T, Memory M = Memory::changing>
[[nodiscard]] Values load(FunctionBuilder<>& k, Access access, Pred p, const Reg<u64>& from,
                          std::int64_t offset = 0) {
    Values values;
    if (access == Access::vector) {
        const auto words = k.regs < T == f32 ? f32 : b32, 4 > ();
        if constexpr (M == Memory::constant)
            k.if_(p).emit<"ld.global.nc.v4.b32">(words, at(from, offset));
        else
            k.if_(p).emit<"ld.global.v4.b32">(words, at(from, offset));
        for (const auto& word : words) unpack<T>(k, word, values);
        return values;
    }
    values.push_back(k.reg<f32>());
    if constexpr (T == f32) {
        k.if_(p).emit<"ld.global.f32">(values[0], at(from, offset));
    } else if constexpr (T == bf16) {
        const auto half = k.reg<u32>();
        k.if_(p).emit<"ld.global.u16">(half, at(from, offset));
        k.emit<"shl.b32">(values[0], half, 16);
    } else {
        const auto half = k.reg<f16>();
        k.if_(p).emit<"ld.global.b16">(half, at(from, offset));
        k.emit<"cvt.f32.f16">(values[0], half);
    }
    return values;
}

/// Stores under a predicate, rounded to nearest even.
template <Type T>
void store(FunctionBuilder<>& k, Access access, Pred p, const Reg<u64>& to, std::int64_t offset,
           const Values& values) {
    if constexpr (T == f32) {
        if (access == Access::vector)
            k.if_(p).emit<"st.global.v4.f32">(at(to, offset),
                                              vec(values[0], values[1], values[2], values[3]));
        else
            k.if_(p).emit<"st.global.f32">(at(to, offset), values[0]);
    } else if (access == Access::vector) {
        const auto words = k.regs<b32, 4>();
        for (std::size_t i = 0; i < 4; ++i) {  // the first operand is the upper half
            if constexpr (T == bf16)
                k.emit<"cvt.rn.bf16x2.f32">(words[i], values[2 * i + 1], values[2 * i]);
            else
                k.emit<"cvt.rn.f16x2.f32">(words[i], values[2 * i + 1], values[2 * i]);
        }
        k.if_(p).emit<"st.global.v4.b32">(at(to, offset), words);
    } else {
        const auto half = k.reg<b16>();
        if constexpr (T == bf16)
            k.emit<"cvt.rn.bf16.f32">(half, values[0]);
        else
            k.emit<"cvt.rn.f16.f32">(half, values[0]);
        k.if_(p).emit<"st.global.b16">(at(to, offset), half);
    }
}

}  // namespace rows
