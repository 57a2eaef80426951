#pragma once
/// @file gemm_check.hpp
/// Matrices for a GEMM, its reference in double precision, and the comparison of the two. Elements of A and B
/// are multiples of 1/16 up to 4: all their products and sums are exact in .f32, in any order, up to a depth
/// of 4096, and the comparison is for equality.

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "ptxgraft/ptxgraft.hpp"

namespace gemm {

struct Size {
    std::uint32_t m = 0, n = 0, depth = 0;
    /// Elements from row to row, as both kernels want them.
    [[nodiscard]] std::uint32_t ld() const { return (depth + 7) / 8 * 8; }
    [[nodiscard]] std::uint32_t ldc() const { return (n + 1) / 2 * 2; }
};

/// What the site makes of an element.
using Epilogue = std::function<double(double acc, std::uint32_t row, std::uint32_t col)>;
inline double unchanged(double acc, std::uint32_t, std::uint32_t) { return acc; }

/// bf16 is the upper half of an .f32, here without rounding.
inline std::uint16_t bf16_of(float x) {
    return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16);
}
inline double value_of(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

class Matrices {
  public:
    explicit Matrices(const Size& size) : size_(size), a(random(size.m, 1)), b(random(size.n, 2)) {}

    /// The first element that is wrong, in words.
    [[nodiscard]] std::optional<std::string> find_wrong(const std::vector<float>& c,
                                                        const Epilogue& epilogue) const {
        const auto& [m, n, depth] = size_;
        for (std::uint32_t row = 0; row < m; ++row)
            for (std::uint32_t col = 0; col < n; ++col) {
                const double want = epilogue(product(row, col), row, col), got = c[row * size_.ldc() + col];
                if (got == want) continue;
                return "C[" + std::to_string(row) + ", " + std::to_string(col) + "] is " +
                       std::to_string(got) + ", not " + std::to_string(want);
            }
        return std::nullopt;
    }

  private:
    // What is between a row's end and the next row is no number: whoever multiplies it has no number.
    [[nodiscard]] std::vector<std::uint16_t> random(std::uint32_t rows, unsigned seed) const {
        std::mt19937 generator(seed);
        std::uniform_int_distribution<int> sixteenths(-64, 64);
        std::vector<std::uint16_t> all(std::size_t{rows} * size_.ld(), 0x7FFF);
        for (std::uint32_t row = 0; row < rows; ++row)
            for (std::uint32_t i = 0; i < size_.depth; ++i)
                all[row * size_.ld() + i] = bf16_of(static_cast<float>(sixteenths(generator)) / 16);
        return all;
    }
    [[nodiscard]] double product(std::uint32_t row, std::uint32_t col) const {
        double sum = 0;
        for (std::uint32_t i = 0; i < size_.depth; ++i)
            sum += value_of(a[row * size_.ld() + i]) * value_of(b[col * size_.ld() + i]);
        return sum;
    }

    Size size_;

  public:
    std::vector<std::uint16_t> a, b;  ///< m and n rows
};

/// Launches the kernel and compares: what is wrong, or nothing. The kernel of gemm_mma.hpp.
inline std::optional<std::string> check_mma(const ptxgraft::Device& device, const ptxgraft::Kernel& kernel,
                                            const ptxgraft::LaunchConfig& launch, const Size& size,
                                            const Epilogue& epilogue = unchanged) {
    const Matrices matrices(size);
    const auto a = device.upload(matrices.a), b = device.upload(matrices.b);
    const auto c = device.allocate(std::size_t{size.m} * size.ldc() * sizeof(float));
    if (!a || !b || !c) return "no memory";
    const auto done =
        kernel.launch(launch, *a, *b, *c, size.m, size.n, size.depth, size.ld(), size.ld(), size.ldc());
    if (!done) return ptxgraft::describe(done.error());
    const auto result = c->download<float>();
    return result ? matrices.find_wrong(*result, epilogue) : ptxgraft::describe(result.error());
}

}  // namespace gemm
