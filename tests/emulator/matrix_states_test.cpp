// Which elements of a product are undefined: those that change when what nothing had written changes.
#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "emulator/matrix/matrix.hpp"
#include "gtest/gtest.h"

namespace ptxgraft::emulator {
namespace {

using enum MatrixType;

struct alignas(64) Register {
    std::uint64_t lane[32] = {};
};
using Registers = std::vector<Register>;

std::vector<const void*> pointers(const Registers& all) {
    std::vector<const void*> to;
    for (const Register& one : all) to.push_back(one.lane);
    return to;
}
std::vector<void*> pointers(Registers& all) {
    std::vector<void*> to;
    for (Register& one : all) to.push_back(one.lane);
    return to;
}

// Small numbers that add up exactly in every type; never zero.
std::uint64_t number(MatrixType type, unsigned i) {
    constexpr std::uint64_t halves[] = {0x3C00, 0x4000, 0x4200}, bfloats[] = {0x3F80, 0x4000, 0x4040},
                            floats[] = {0x3F800000, 0x40000000, 0x40400000}, e4[] = {0x38, 0x40, 0x44},
                            e5[] = {0x3C, 0x40, 0x42},
                            doubles[] = {0x3FF0000000000000, 0x4000000000000000, 0x4008000000000000};
    switch (type) {
        case f16: return halves[i];
        case bf16: return bfloats[i];
        case tf32:
        case f32: return floats[i];
        case e4m3: return e4[i];
        case e5m2: return e5[i];
        case f64: return doubles[i];
        case b1: return i % 2;
        default: return i + 1;
    }
}

struct Operand {
    MatrixType type;
    Registers values, states;
    std::vector<std::uint64_t> undefined;  // register, lane and bit

    Operand(MatrixType of, unsigned count, std::mt19937& random, unsigned one_in)
        : type(of), values(count), states(count) {
        const unsigned bits = element_bits(of), width = bits == 64 ? 64 : 32;
        for (unsigned r = 0; r < count; ++r)
            for (unsigned lane = 0; lane < 32; ++lane)
                for (unsigned at = 0; at < width; at += bits) {
                    set(values[r], lane, at, number(of, static_cast<unsigned>(random() % 3)));
                    const bool is_undefined = random() % one_in == 0;
                    set(states[r], lane, at, is_undefined ? 0 : ~std::uint64_t{0} >> (64 - bits));
                    if (is_undefined) undefined.push_back(std::uint64_t{r} << 32 | lane << 8 | at);
                }
    }
    void set(Register& to, unsigned lane, unsigned at, std::uint64_t value) const {
        const unsigned bits = element_bits(type);
        if (bits == 64) {
            to.lane[lane] = value;
            return;
        }
        auto& word = reinterpret_cast<std::uint32_t*>(to.lane)[lane];
        const std::uint32_t mask = ~std::uint32_t{0} >> (32 - bits) << at;
        word = (word & ~mask) | (static_cast<std::uint32_t>(value) << at & mask);
    }
    void change(std::mt19937& random) {
        for (const std::uint64_t one : undefined)
            set(values[one >> 32], one >> 8 & 0xFF, one & 0xFF,
                number(type, static_cast<unsigned>(random() % 3)));
    }
};

std::uint64_t element(const Register& from, MatrixType type, unsigned lane, unsigned at) {
    if (type == f64) return from.lane[lane];
    const unsigned bits = element_bits(type);
    return reinterpret_cast<const std::uint32_t*>(from.lane)[lane] >> at & (~std::uint32_t{0} >> (32 - bits));
}

Mma mma_of(unsigned m, unsigned n, unsigned k, MatrixType ab, MatrixType cd, bool wmma = false) {
    return {.m = static_cast<std::uint16_t>(m),
            .n = static_cast<std::uint16_t>(n),
            .k = static_cast<std::uint16_t>(k),
            .a = ab,
            .b = ab,
            .c = cd,
            .d = cd,
            .wmma = wmma};
}

std::vector<Mma> products() {
    std::vector<Mma> all = {mma_of(8, 8, 4, f16, f16),          mma_of(8, 8, 4, f16, f32),
                            mma_of(16, 8, 8, f16, f16),         mma_of(16, 8, 16, f16, f32),
                            mma_of(16, 8, 16, bf16, f32),       mma_of(16, 8, 4, tf32, f32),
                            mma_of(16, 8, 8, tf32, f32),        mma_of(8, 8, 4, f64, f64),
                            mma_of(16, 8, 4, f64, f64),         mma_of(16, 8, 16, f64, f64),
                            mma_of(8, 8, 16, s8, s32),          mma_of(16, 8, 32, u8, s32),
                            mma_of(8, 8, 32, s4, s32),          mma_of(16, 8, 64, u4, s32),
                            mma_of(8, 8, 128, b1, s32),         mma_of(16, 8, 256, b1, s32),
                            mma_of(16, 8, 32, e4m3, f32),       mma_of(16, 8, 16, e5m2, f16),
                            mma_of(16, 16, 16, f16, f32, true), mma_of(8, 32, 16, bf16, f32, true),
                            mma_of(32, 8, 16, s8, s32, true),   mma_of(16, 16, 8, tf32, f32, true),
                            mma_of(8, 8, 128, b1, s32, true)};
    Mma layouts = mma_of(8, 8, 4, f16, f32);
    layouts.a_layout = MatrixLayout::col;
    layouts.b_layout = MatrixLayout::row;
    all.push_back(layouts);
    Mma sparse = mma_of(16, 8, 32, f16, f32);
    sparse.sparsity = Sparsity::sp;
    all.push_back(sparse);
    sparse = mma_of(16, 8, 64, s8, s32);
    sparse.sparsity = Sparsity::sp;
    all.push_back(sparse);
    return all;
}

// `one_in`: of how many elements of A, B and C one is undefined.
void check(const Mma& mma, std::mt19937& random, const std::array<unsigned, 3>& one_in) {
    ASSERT_TRUE(is_supported(mma));
    const FragmentSizes sizes = fragment_sizes(mma);
    Operand a(mma.a, sizes.a, random, one_in[0]), b(mma.b, sizes.b, random, one_in[1]),
        c(mma.c, sizes.c, random, one_in[2]);
    Registers d(sizes.d), first(sizes.d), differs(sizes.d), states(sizes.d);
    alignas(64) std::uint32_t metadata[32];
    std::fill_n(metadata, 32, 0x4E4E4E4Eu);
    constexpr unsigned trials = 24;
    for (unsigned trial = 0; trial < trials; ++trial) {
        Registers& to = trial == 0 ? first : d;
        multiply(mma, {pointers(to).data(), pointers(std::as_const(a.values)).data(),
                       pointers(std::as_const(b.values)).data(), pointers(std::as_const(c.values)).data(),
                       metadata});
        for (unsigned r = 0; trial != 0 && r < sizes.d; ++r)
            for (unsigned lane = 0; lane < 32; ++lane)
                differs[r].lane[lane] |= d[r].lane[lane] ^ first[r].lane[lane];
        a.change(random), b.change(random), c.change(random);
    }
    multiply_states(
        mma, {pointers(states).data(), pointers(std::as_const(a.states)).data(),
              pointers(std::as_const(b.states)).data(), pointers(std::as_const(c.states)).data(), metadata});
    const unsigned bits = element_bits(mma.d), width = bits == 64 ? 64 : 32;
    for (unsigned r = 0; r < sizes.d; ++r)
        for (unsigned lane = 0; lane < 32; ++lane)
            for (unsigned at = 0; at < width; at += bits) {
                const std::uint64_t all = ~std::uint64_t{0} >> (64 - bits);
                ASSERT_EQ(element(states[r], mma.d, lane, at),
                          element(differs[r], mma.d, lane, at) != 0 ? 0 : all)
                    << mma.m << ' ' << mma.n << ' ' << mma.k << " type " << static_cast<int>(mma.a) << " d"
                    << r << " lane " << lane;
            }
}

TEST(MatrixStates, WhatChangesWithTheUndefinedIsUndefined) {
    std::mt19937 random(7);
    for (const Mma& mma : products())
        for (const std::array<unsigned, 3>& one_in : {std::array<unsigned, 3>{300, 1u << 30, 1u << 30},
                                                      {1u << 30, 300, 1u << 30},
                                                      {1u << 30, 1u << 30, 20},
                                                      {400, 400, 50}}) {
            check(mma, random, one_in);
            if (HasFatalFailure()) return;
        }
}

// A is at 0 and B at 4096 of shared memory: 8x8 matrices of 128 bytes, without swizzling.
struct WgmmaTile {
    std::vector<std::byte> values = std::vector<std::byte>(8192),
                           states = std::vector<std::byte>(8192, std::byte{0xFF});
    static std::uint32_t place(std::uint32_t base, unsigned mn, unsigned k) {
        return base + mn / 8 * 256 + k / 8 * 128 + mn % 8 * 16 + k % 8 * 2;
    }
    void set(std::uint32_t at, std::uint16_t value) { std::memcpy(&values[at], &value, 2); }
    [[nodiscard]] SharedMemory of(const std::vector<std::byte>& bytes) const { return {bytes.data(), 8192}; }
};

TEST(MatrixStates, RowsAndColumnsOfAWgmmaAreWhereItsResultsAre) {
    for (const MatrixType accumulator : {f32, f16})
        for (unsigned place = 0; place < 64 + 32; ++place) {
            const bool is_row = place < 64;
            const unsigned mn = is_row ? place : place - 64;
            WgmmaTile tile;
            for (unsigned i = 0; i < 64; ++i)
                for (unsigned k = 0; k < 16; ++k) tile.set(WgmmaTile::place(0, i, k), is_row ? 0 : 0x3C00);
            for (unsigned i = 0; i < 32; ++i)
                for (unsigned k = 0; k < 16; ++k) tile.set(WgmmaTile::place(4096, i, k), is_row ? 0x3C00 : 0);
            const std::uint32_t at = WgmmaTile::place(is_row ? 0 : 4096, mn, 5);
            tile.set(at, 0x3C00);
            tile.states[at + 1] = std::byte{0xFE};
            const Wgmma wgmma{.n = 32, .d = accumulator};
            for (std::uint8_t warp = 0; warp < 4; ++warp) {
                Registers d(accumulator_size(wgmma)), states(d.size());
                auto to = pointers(d);
                const std::uint64_t layout = std::uint64_t{0x8} << 16 | std::uint64_t{0x10} << 32;
                const WgmmaOperands operands{.d = to.data(),
                                             .a_descriptor = layout,
                                             .b_descriptor = layout | 4096 >> 4,
                                             .scale_d = false,
                                             .warp = warp};
                ASSERT_FALSE(multiply(wgmma, operands, tile.of(tile.values)));
                const UndefinedParts parts = undefined_parts(wgmma, operands, tile.of(tile.states));
                EXPECT_EQ(parts.rows.count(), is_row && mn / 16 == warp ? 1u : 0u);
                EXPECT_EQ(parts.columns.count(), is_row ? 0u : 1u);
                for (unsigned r = 0; r < d.size(); ++r) {
                    undefined_columns(wgmma, parts, r, reinterpret_cast<std::uint32_t*>(states[r].lane));
                    for (unsigned lane = 0; lane < 32; ++lane)
                        for (unsigned bit = 0; bit < 32; bit += element_bits(accumulator)) {
                            const bool is_undefined = element(states[r], accumulator, lane, bit) == 0;
                            ASSERT_EQ(is_undefined, element(d[r], accumulator, lane, bit) != 0)
                                << place << " d" << r << " lane " << lane;
                        }
                }
            }
        }
}

TEST(MatrixStates, TheLowBitsOfTf32DoNotCount) {
    const Mma mma = mma_of(16, 8, 4, tf32, f32);
    Registers a(2), b(1), c(4), d(4);
    for (Registers* all : {&a, &b, &c})
        for (Register& one : *all) std::fill_n(one.lane, 32, ~std::uint64_t{0});
    reinterpret_cast<std::uint32_t*>(a[0].lane)[0] = 0xFFFFE000;
    const auto run = [&] {
        multiply_states(mma, {pointers(d).data(), pointers(std::as_const(a)).data(),
                              pointers(std::as_const(b)).data(), pointers(std::as_const(c)).data()});
        return element(d[0], f32, 0, 0);
    };
    EXPECT_EQ(run(), 0xFFFFFFFFu);
    reinterpret_cast<std::uint32_t*>(a[0].lane)[0] = 0xFFFFC000;
    EXPECT_EQ(run(), 0u);
}

}  // namespace
}  // namespace ptxgraft::emulator
