#pragma once
// The layouts of mma's fragments, written down from the PTX manual section by section, and products by them.
#include <cstring>
#include <string>

#include "support/matrix_reference.hpp"

namespace ptxgraft::emulator {

using enum MatrixType;

struct MatrixPlace {
    unsigned row, col;
};
using Formula = MatrixPlace (*)(unsigned lane, unsigned i);

// The names of the manual.
struct Ids {
    unsigned group, in_group;
    explicit Ids(unsigned lane) : group(lane >> 2), in_group(lane % 4) {}
};

// C and D of m8n8 and of m16n8: the same in all sections.
inline MatrixPlace c_m8n8(unsigned lane, unsigned i) { return {Ids(lane).group, Ids(lane).in_group * 2 + i}; }
inline MatrixPlace c_m16n8(unsigned lane, unsigned i) {
    return {i < 2 ? Ids(lane).group : Ids(lane).group + 8, Ids(lane).in_group * 2 + (i & 1)};
}

// 9.7.14.5.2: m8n8k4 .f64
inline MatrixPlace a_m8n8k4_f64(unsigned lane, unsigned) { return {lane >> 2, lane % 4}; }
inline MatrixPlace b_m8n8k4_f64(unsigned lane, unsigned) { return {lane % 4, lane >> 2}; }
// 9.7.14.5.3 to 5: m8n8k16, k32, k128
inline MatrixPlace a_m8n8k16(unsigned lane, unsigned i) {
    return {Ids(lane).group, Ids(lane).in_group * 4 + i};
}
inline MatrixPlace b_m8n8k16(unsigned lane, unsigned i) {
    return {Ids(lane).in_group * 4 + i, Ids(lane).group};
}
inline MatrixPlace a_m8n8k32(unsigned lane, unsigned i) {
    return {Ids(lane).group, Ids(lane).in_group * 8 + i};
}
inline MatrixPlace b_m8n8k32(unsigned lane, unsigned i) {
    return {Ids(lane).in_group * 8 + i, Ids(lane).group};
}
inline MatrixPlace a_m8n8k128(unsigned lane, unsigned i) {
    return {Ids(lane).group, Ids(lane).in_group * 32 + i};
}
inline MatrixPlace b_m8n8k128(unsigned lane, unsigned i) {
    return {Ids(lane).in_group * 32 + i, Ids(lane).group};
}
// 9.7.14.5.6: m16n8k4 .tf32, .f64
inline MatrixPlace a_m16n8k4(unsigned lane, unsigned i) {
    return {i == 0 ? Ids(lane).group : Ids(lane).group + 8, Ids(lane).in_group};
}
inline MatrixPlace b_m16n8k4(unsigned lane, unsigned) { return {Ids(lane).in_group, Ids(lane).group}; }
// 9.7.14.5.7: m16n8k8
inline MatrixPlace a_m16n8k8_f16(unsigned lane, unsigned i) {
    return {i < 2 ? Ids(lane).group : Ids(lane).group + 8, Ids(lane).in_group * 2 + (i & 1)};
}
inline MatrixPlace b_m16n8k8_f16(unsigned lane, unsigned i) {
    return {Ids(lane).in_group * 2 + i, Ids(lane).group};
}
inline MatrixPlace a_m16n8k8_tf32(unsigned lane, unsigned i) {
    return {i == 0 || i == 2 ? Ids(lane).group : Ids(lane).group + 8,
            i < 2 ? Ids(lane).in_group : Ids(lane).in_group + 4};
}
inline MatrixPlace b_m16n8k8_tf32(unsigned lane, unsigned i) {
    return {i == 0 ? Ids(lane).in_group : Ids(lane).in_group + 4, Ids(lane).group};
}
// 9.7.14.5.8: m16n8k16 of floats
inline MatrixPlace a_m16n8k16_f16(unsigned lane, unsigned i) {
    return {i < 2 || (4 <= i && i < 6) ? Ids(lane).group : Ids(lane).group + 8,
            i < 4 ? Ids(lane).in_group * 2 + (i & 1) : Ids(lane).in_group * 2 + (i & 1) + 8};
}
inline MatrixPlace b_m16n8k16_f16(unsigned lane, unsigned i) {
    return {i < 2 ? Ids(lane).in_group * 2 + (i & 1) : Ids(lane).in_group * 2 + (i & 1) + 8, Ids(lane).group};
}
inline MatrixPlace a_m16n8k16_f64(unsigned lane, unsigned i) {
    return {i % 2 == 0 ? Ids(lane).group : Ids(lane).group + 8,
            i % 2 == 0 ? i * 2 + Ids(lane).in_group : i * 2 - 2 + Ids(lane).in_group};
}
inline MatrixPlace b_m16n8k16_f64(unsigned lane, unsigned i) {
    return {Ids(lane).in_group + i * 4, Ids(lane).group};
}
// 9.7.14.5.9: m16n8k16 of 8 bits
inline MatrixPlace a_m16n8k16_s8(unsigned lane, unsigned i) {
    return {i < 4 ? Ids(lane).group : Ids(lane).group + 8, Ids(lane).in_group * 4 + (i & 3)};
}
inline MatrixPlace b_m16n8k16_s8(unsigned lane, unsigned i) {
    return {Ids(lane).in_group * 4 + i, Ids(lane).group};
}
// 9.7.14.5.10: m16n8k32
inline MatrixPlace a_m16n8k32_s4(unsigned lane, unsigned i) {
    return {i < 8 ? Ids(lane).group : Ids(lane).group + 8, Ids(lane).in_group * 8 + (i & 7)};
}
inline MatrixPlace b_m16n8k32_s4(unsigned lane, unsigned i) {
    return {Ids(lane).in_group * 8 + (i & 7), Ids(lane).group};
}
inline MatrixPlace a_m16n8k32_s8(unsigned lane, unsigned i) {
    return {i < 4 || (8 <= i && i < 12) ? Ids(lane).group : Ids(lane).group + 8,
            i < 8 ? Ids(lane).in_group * 4 + (i & 3) : Ids(lane).in_group * 4 + (i & 3) + 16};
}
inline MatrixPlace b_m16n8k32_s8(unsigned lane, unsigned i) {
    return {i < 4 ? Ids(lane).in_group * 4 + (i & 3) : Ids(lane).in_group * 4 + (i & 3) + 16,
            Ids(lane).group};
}
// 9.7.14.5.11: m16n8k64 of 4 bits
inline MatrixPlace a_m16n8k64_s4(unsigned lane, unsigned i) {
    return {i < 8 || (16 <= i && i < 24) ? Ids(lane).group : Ids(lane).group + 8,
            i < 16 ? Ids(lane).in_group * 8 + (i & 7) : Ids(lane).in_group * 8 + (i & 7) + 32};
}
inline MatrixPlace b_m16n8k64_s4(unsigned lane, unsigned i) {
    return {i < 8 ? Ids(lane).in_group * 8 + (i & 7) : Ids(lane).in_group * 8 + (i & 7) + 32,
            Ids(lane).group};
}
// 9.7.14.5.12 and 13: m16n8k128, k256 of one bit. (For k256 the manual forgets "& 0x1F" in the first line of
// A.)
inline MatrixPlace a_m16n8k128(unsigned lane, unsigned i) {
    return {i < 32 ? Ids(lane).group : Ids(lane).group + 8, Ids(lane).in_group * 32 + (i & 0x1F)};
}
inline MatrixPlace b_m16n8k128(unsigned lane, unsigned i) {
    return {Ids(lane).in_group * 32 + i, Ids(lane).group};
}
inline MatrixPlace a_m16n8k256(unsigned lane, unsigned i) {
    return {i < 32 || (64 <= i && i < 96) ? Ids(lane).group : Ids(lane).group + 8,
            i < 64 ? Ids(lane).in_group * 32 + (i & 0x1F) : Ids(lane).in_group * 32 + (i & 0x1F) + 128};
}
inline MatrixPlace b_m16n8k256(unsigned lane, unsigned i) {
    return {i < 32 ? Ids(lane).in_group * 32 + (i & 0x1F) : Ids(lane).in_group * 32 + (i & 0x1F) + 128,
            Ids(lane).group};
}

inline std::string name_of(const Mma& mma) {
    return "m" + std::to_string(mma.m) + "n" + std::to_string(mma.n) + "k" + std::to_string(mma.k) + " a" +
           std::to_string(static_cast<int>(mma.a)) + " b" + std::to_string(static_cast<int>(mma.b)) + " c" +
           std::to_string(static_cast<int>(mma.c)) + " d" + std::to_string(static_cast<int>(mma.d)) + " sp" +
           std::to_string(static_cast<int>(mma.sparsity)) + (mma.satfinite ? " satfinite" : "");
}

/// D's element from the rows and columns of matrices of bits; A has no entry where it is sparse.
inline std::uint32_t expected_element(const Mma& mma, const Matrix& a, const Matrix& b, std::uint32_t c,
                                      unsigned row, unsigned col) {
    FloatSum sum(mma.c, c);
    __int128 integer = mma.c == s32 ? static_cast<std::int32_t>(c) : 0;
    for (unsigned k = 0; k < mma.k; ++k) {
        const std::uint32_t* x = a.find(row, k);
        if (x == nullptr) continue;
        const std::uint32_t y = b.at(k, col);
        if (mma.d != s32)
            sum.add(value_of(mma.a, *x), value_of(mma.b, y));
        else if (mma.a == b1)
            integer += mma.bits == BitOperation::xor_ ? *x ^ y : *x & y;
        else
            integer += static_cast<__int128>(value_of(mma.a, *x)) * static_cast<__int128>(value_of(mma.b, y));
    }
    return mma.d == s32 ? finish_integer(integer, mma.satfinite) : sum.bits(mma.d);
}

inline std::vector<TestRegister> random_registers(RandomElements& random, MatrixType type, unsigned count) {
    std::vector<TestRegister> registers(count);
    for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned i = 0; i < count * 32 / element_bits(type); ++i)
            set_element(registers.data(), type, lane, i, random.element(type));
    return registers;
}

inline Matrix matrix_of(const std::vector<TestRegister>& registers, MatrixType type, Formula formula) {
    Matrix matrix;
    for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned i = 0; i < registers.size() * 32 / element_bits(type); ++i) {
            const MatrixPlace place = formula(lane, i);
            matrix[{place.row, place.col}] = element_in(registers.data(), type, lane, i);
        }
    return matrix;
}

struct Fragments {
    std::vector<TestRegister> a, b, c, d;
    explicit Fragments(const Mma& mma, RandomElements& random) {
        const FragmentSizes sizes = fragment_sizes(mma);
        a = random_registers(random, mma.a, sizes.a);
        b = random_registers(random, mma.b, sizes.b);
        c = random_registers(random, mma.c, sizes.c);
        d.resize(sizes.d);
    }
    void run(const Mma& mma, const std::uint32_t* metadata = nullptr) {
        const auto d_pointers = pointers(d);
        const auto a_pointers = constant(pointers(a)), b_pointers = constant(pointers(b)),
                   c_pointers = constant(pointers(c));
        multiply(mma, {d_pointers.data(), a_pointers.data(), b_pointers.data(), c_pointers.data(), metadata});
    }
};

/// `a` are the elements of A, made of the registers by the caller.
inline void check(const Mma& mma, const Fragments& fragments, const Matrix& a, Formula b_formula) {
    const Matrix b = matrix_of(fragments.b, mma.b, b_formula);
    ASSERT_EQ(b.size(), mma.k * 8u);
    unsigned wrong = 0;
    for (unsigned lane = 0; lane < 32 && wrong < 4; ++lane)
        for (unsigned i = 0; i < fragments.d.size() * 32 / element_bits(mma.d); ++i) {
            const MatrixPlace place = mma.m == 8 ? c_m8n8(lane, i) : c_m16n8(lane, i);
            const std::uint32_t got = element_in(fragments.d.data(), mma.d, lane, i);
            const std::uint32_t want = expected_element(
                mma, a, b, element_in(fragments.c.data(), mma.c, lane, i), place.row, place.col);
            if (got == want) continue;
            ADD_FAILURE() << name_of(mma) << " lane " << lane << " element " << i << std::hex << ": " << got
                          << ", not " << want;
            ++wrong;
        }
}

}  // namespace ptxgraft::emulator
