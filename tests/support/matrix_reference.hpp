#pragma once
// What matrix_test.cpp and wgmma_test.cpp compare with: numbers of the tensor cores' types as doubles, and
// the products that matrix.hpp states, one element after the other. Nothing here is taken from the
// implementation.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "emulator/matrix/matrix.hpp"

namespace ptxgraft::emulator {

/// A register of a warp.
struct alignas(64) TestRegister {
    std::uint32_t lane[32];
};
struct alignas(64) TestDoubles {
    double lane[32];
};

inline double number(std::uint32_t bits, int exponent_bits, int fraction_bits) {
    const std::uint32_t exponent_mask = (1u << exponent_bits) - 1;
    const std::uint32_t exponent = bits >> fraction_bits & exponent_mask,
                        fraction = bits & ((1u << fraction_bits) - 1);
    const double sign = (bits >> (exponent_bits + fraction_bits) & 1) != 0 ? -1 : 1;
    const int bias = static_cast<int>(exponent_mask / 2);
    if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
    return sign *
           std::ldexp(fraction + (1u << fraction_bits), static_cast<int>(exponent) - bias - fraction_bits);
}

inline double number_with_specials(std::uint32_t bits, int exponent_bits, int fraction_bits) {
    const std::uint32_t all = (1u << exponent_bits) - 1;
    if ((bits >> fraction_bits & all) != all) return number(bits, exponent_bits, fraction_bits);
    if ((bits & ((1u << fraction_bits) - 1)) != 0) return std::numeric_limits<double>::quiet_NaN();
    const bool negative = (bits >> (exponent_bits + fraction_bits) & 1) != 0;
    return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
}

/// The value of an element that stands in the low bits.
inline double value_of(MatrixType type, std::uint32_t bits) {
    switch (type) {
        case MatrixType::f16: return number_with_specials(bits & 0xFFFF, 5, 10);
        case MatrixType::bf16: return number_with_specials(bits & 0xFFFF, 8, 7);
        case MatrixType::tf32: return number_with_specials(bits >> 13, 8, 10);
        case MatrixType::e5m2: return number_with_specials(bits & 0xFF, 5, 2);
        case MatrixType::e4m3: return (bits & 0x7F) == 0x7F ? std::nan("") : number(bits & 0xFF, 4, 3);
        case MatrixType::f32: return static_cast<double>(std::bit_cast<float>(bits));
        case MatrixType::s8: return static_cast<std::int8_t>(bits & 0xFF);
        case MatrixType::u8: return bits & 0xFF;
        case MatrixType::s4: return (bits & 7) - static_cast<double>(bits & 8);
        case MatrixType::u4: return bits & 0xF;
        case MatrixType::s32: return static_cast<std::int32_t>(bits);
        default: return bits & 1;
    }
}

/// The nearest .f16, ties to even: of all of them.
inline std::uint32_t nearest_f16(float value) {
    if (std::isnan(value)) return 0x7FFF;
    const std::uint32_t sign = std::signbit(value) ? 0x8000 : 0;
    const double magnitude = std::fabs(static_cast<double>(value));
    const auto at = [](std::uint32_t bits) {
        return bits == 0x7C00 ? 65536.0 : number(bits, 5, 10);
    };  // 2^16 would be the next
    std::uint32_t low = 0, high = 0x7C00;
    if (magnitude >= at(high)) return sign | high;
    while (high - low > 1) {
        const std::uint32_t middle = (low + high) / 2;
        (at(middle) <= magnitude ? low : high) = middle;
    }
    const double below = magnitude - at(low), above = at(high) - magnitude;
    return sign | (below < above || (below == above && low % 2 == 0) ? low : high);
}

/// Bits of the result that matrix.hpp states: fma in .f32 for k ascending, rounded once to the type of D.
class FloatSum {
  public:
    FloatSum(MatrixType type, std::uint32_t c) : sum_(static_cast<float>(value_of(type, c))) {}
    void add(double a, double b) { sum_ = std::fma(static_cast<float>(a), static_cast<float>(b), sum_); }
    [[nodiscard]] std::uint32_t bits(MatrixType type) const {
        if (type == MatrixType::f16) return nearest_f16(sum_);
        return std::isnan(sum_) ? 0x7FFFFFFF : std::bit_cast<std::uint32_t>(sum_);
    }

  private:
    float sum_;
};

inline std::uint32_t finish_integer(__int128 sum, bool satfinite) {
    if (satfinite && sum > INT32_MAX) sum = INT32_MAX;
    if (satfinite && sum < INT32_MIN) sum = INT32_MIN;
    return static_cast<std::uint32_t>(sum);
}

/// The bits of elements by row and column; a sparse one has some of them.
class Matrix {
  public:
    std::uint32_t& operator[](std::pair<unsigned, unsigned> at) {
        auto& cell = cells_.at(at.first * width + at.second);
        if (!cell.second) ++size_;
        cell.second = true;
        return cell.first;
    }
    /// Null where there is none.
    [[nodiscard]] const std::uint32_t* find(unsigned row, unsigned col) const {
        const auto& cell = cells_.at(row * width + col);
        return cell.second ? &cell.first : nullptr;
    }
    [[nodiscard]] std::uint32_t at(unsigned row, unsigned col) const {
        const auto* cell = find(row, col);
        if (cell == nullptr) throw std::out_of_range("no such element");
        return *cell;
    }
    [[nodiscard]] std::size_t size() const { return size_; }
    static constexpr unsigned height = 256, width = 256;

  private:
    std::vector<std::pair<std::uint32_t, bool>> cells_ =
        std::vector<std::pair<std::uint32_t, bool>>(height * width);
    std::size_t size_ = 0;
};

/// Random elements: `special` of 64 are zeros, infinities, NaNs, subnormals, largest numbers.
class RandomElements {
  public:
    explicit RandomElements(unsigned seed, unsigned special) : random_(seed), special_(special) {}

    std::uint32_t word() { return static_cast<std::uint32_t>(random_()); }
    std::uint32_t below(std::uint32_t end) { return word() % end; }
    std::uint32_t element(MatrixType type) {
        const std::uint32_t any = word();
        const bool special = below(64) < special_;
        switch (type) {
            case MatrixType::f16:
                return special ? pick({0, 0x8000, 0x7C00, 0xFC00, 0x7E01, 1, 0x83FF, 0x7BFF})
                               : moderate(any, 5, 10);
            case MatrixType::bf16:
                return special ? pick({0, 0x8000, 0x7F80, 0xFF80, 0x7FC1, 1, 0x807F, 0x7F7F})
                               : moderate(any, 8, 7);
            case MatrixType::tf32:
                return special ? pick({0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x2000, 0x7F7FE000,
                                       0x1FFF, 0x7F801000})
                               : moderate(any >> 13, 8, 10) << 13 | (any & 0x1FFF);
            case MatrixType::f32:
                return special ? pick({0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00001, 1, 0x807FFFFF,
                                       0x7F7FFFFF})
                               : moderate(any, 8, 23);
            default: return any;
        }
    }

  private:
    std::uint32_t pick(std::initializer_list<std::uint32_t> values) {
        return values.begin()[below(static_cast<std::uint32_t>(values.size()))];
    }
    /// Within a factor of 2^6 of 1, so that sums cancel and round.
    static std::uint32_t moderate(std::uint32_t any, int exponent_bits, int fraction_bits) {
        const auto exponent =
            static_cast<std::uint32_t>((1 << (exponent_bits - 1)) - 7 + static_cast<int>(any >> 24) % 13);
        const std::uint32_t sign = any >> 31 << (exponent_bits + fraction_bits);
        return sign | exponent << fraction_bits | (any & ((1u << fraction_bits) - 1));
    }

    std::mt19937_64 random_;
    unsigned special_;
};

inline std::vector<MatrixEngine> engines() {
    std::vector<MatrixEngine> all;
    for (const auto engine : {MatrixEngine::plain, MatrixEngine::avx2, MatrixEngine::avx512})
        if (has_engine(engine)) all.push_back(engine);
    return all;
}

/// Takes an engine, and at its end the best one again.
class WithEngine {
  public:
    explicit WithEngine(MatrixEngine engine) { select_engine(engine); }
    ~WithEngine() { select_engine(engines().back()); }
    WithEngine(const WithEngine&) = delete;
    WithEngine& operator=(const WithEngine&) = delete;
};

inline std::uint32_t element_in(const TestRegister* registers, MatrixType type, unsigned lane, unsigned i) {
    const unsigned bits = element_bits(type), per_word = 32 / bits;
    const std::uint32_t word = registers[i / per_word].lane[lane];
    return bits == 32 ? word : word >> i % per_word * bits & ((1u << bits) - 1);
}

inline void set_element(TestRegister* registers, MatrixType type, unsigned lane, unsigned i,
                        std::uint32_t value) {
    const unsigned bits = element_bits(type), per_word = 32 / bits, shift = i % per_word * bits;
    const std::uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;
    auto& word = registers[i / per_word].lane[lane];
    word = (word & ~(mask << shift)) | (value & mask) << shift;
}

template <class T> std::vector<void*> pointers(std::vector<T>& registers) {
    std::vector<void*> all;
    for (auto& one : registers) all.push_back(one.lane);
    return all;
}
inline std::vector<const void*> constant(const std::vector<void*>& all) { return {all.begin(), all.end()}; }

}  // namespace ptxgraft::emulator
