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

#include "gemm_mma.hpp"
#include "gemm_wgmma.hpp"
#include "grouped_gemm.hpp"
#include "ptxgraft/ptxgraft.hpp"
#include "split_k.hpp"

namespace gemm {

struct Size {
    std::uint32_t m = 0, n = 0, depth = 0;
    Major b = Major::k;
    /// Elements from row to row, as all kernels want them.
    [[nodiscard]] std::uint32_t lda() const { return (depth + 7) / 8 * 8; }
    [[nodiscard]] std::uint32_t ldb() const { return b == Major::k ? lda() : (n + 7) / 8 * 8; }
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
    explicit Matrices(const Size& size)
        : size_(size),
          a(random(size.m, size.depth, size.lda(), 1)),
          b(size.b == Major::k ? random(size.n, size.depth, size.ldb(), 2)
                               : random(size.depth, size.n, size.ldb(), 2)) {}

    /// The first element that is wrong, in words.
    [[nodiscard]] std::optional<std::string> find_wrong(const std::vector<float>& c,
                                                        const Epilogue& epilogue) const {
        for (std::uint32_t row = 0; row < size_.m; ++row)
            for (std::uint32_t col = 0; col < size_.n; ++col) {
                const double want = epilogue(product(row, col), row, col), got = c[row * size_.ldc() + col];
                if (got == want) continue;
                return "C[" + std::to_string(row) + ", " + std::to_string(col) + "] is " +
                       std::to_string(got) + ", not " + std::to_string(want);
            }
        return std::nullopt;
    }

  private:
    // What is between a row's end and the next row is no number: whoever multiplies it has no number.
    [[nodiscard]] static std::vector<std::uint16_t> random(std::uint32_t rows, std::uint32_t cols,
                                                           std::uint32_t ld, unsigned seed) {
        std::mt19937 generator(seed);
        std::uniform_int_distribution<int> sixteenths(-64, 64);
        std::vector<std::uint16_t> all(std::size_t{rows} * ld, 0x7FFF);
        for (std::uint32_t row = 0; row < rows; ++row)
            for (std::uint32_t i = 0; i < cols; ++i)
                all[row * ld + i] = bf16_of(static_cast<float>(sixteenths(generator)) / 16);
        return all;
    }
    [[nodiscard]] double product(std::uint32_t row, std::uint32_t col) const {
        double sum = 0;
        for (std::uint32_t i = 0; i < size_.depth; ++i)
            sum += value_of(a[row * size_.lda() + i]) *
                   value_of(b[size_.b == Major::k ? col * size_.ldb() + i : i * size_.ldb() + col]);
        return sum;
    }

    Size size_;

  public:
    std::vector<std::uint16_t> a, b;  ///< m rows; n rows, or of Major::mn as many as the depth
};

/// The matrices on a device.
struct Buffers {
    ptxgraft::Buffer a, b, c;
};
inline ptxgraft::Expected<Buffers> upload(const ptxgraft::Device& device, const Size& size,
                                          const Matrices& matrices) {
    auto a = device.upload(matrices.a), b = device.upload(matrices.b);
    auto c = device.allocate(std::size_t{size.m} * size.ldc() * sizeof(float));
    for (const auto* made : {&a, &b, &c})
        if (!*made) return tl::unexpected(made->error());
    return Buffers{std::move(*a), std::move(*b), std::move(*c)};
}
inline std::optional<std::string> find_wrong(const Buffers& buffers, const Matrices& matrices,
                                             const Epilogue& epilogue) {
    const auto result = buffers.c.download<float>();
    return result ? matrices.find_wrong(*result, epilogue) : ptxgraft::describe(result.error());
}

using Launch = std::function<ptxgraft::Expected<void>(const Buffers& buffers)>;

/// Launches and compares: what is wrong, or nothing.
inline std::optional<std::string> check(const ptxgraft::Device& device, const Size& size,
                                        const Launch& launch, const Epilogue& epilogue = unchanged) {
    const Matrices matrices(size);
    const auto buffers = upload(device, size, matrices);
    if (!buffers) return ptxgraft::describe(buffers.error());
    if (const auto done = launch(*buffers); !done) return ptxgraft::describe(done.error());
    return find_wrong(*buffers, matrices, epilogue);
}

/// What the site makes of an element of one of many products.
using GroupedEpilogue =
    std::function<double(double acc, std::uint32_t row, std::uint32_t col, std::uint32_t product)>;

/// The same of products of all these sizes, in one launch.
template <MmaShape S>
std::optional<std::string> check_grouped(const ptxgraft::Device& device, std::span<const Size> sizes,
                                         const ptxgraft::Kernel& kernel, std::uint32_t multiprocessors,
                                         const GroupedEpilogue& epilogue) {
    std::vector<Matrices> matrices;
    std::vector<Buffers> buffers;
    std::vector<GroupedProduct> products;
    for (const Size& size : sizes) {
        auto made = upload(device, size, matrices.emplace_back(size));
        if (!made) return ptxgraft::describe(made.error());
        const auto& [a, b, c] = buffers.emplace_back(std::move(*made));
        products.push_back({a.address(), b.address(), c.address(), size.m, size.n, size.depth, size.lda(),
                            size.ldb(), size.ldc()});
    }
    const auto list = device.upload(products);
    if (!list) return ptxgraft::describe(list.error());
    const auto done = kernel.launch(launch_grouped<S>(products, multiprocessors), *list,
                                    static_cast<std::uint32_t>(products.size()));
    if (!done) return ptxgraft::describe(done.error());
    for (std::uint32_t i = 0; i < sizes.size(); ++i) {
        const auto of_product = [&](double acc, std::uint32_t row, std::uint32_t col) {
            return epilogue(acc, row, col, i);
        };
        if (auto wrong = find_wrong(buffers[i], matrices[i], of_product))
            return "product " + std::to_string(i) + ": " + *wrong;
    }
    return std::nullopt;
}

/// Launches of the other kernels.
template <MmaShape S> Launch launch_mma(const ptxgraft::Kernel& kernel, const Size& size) {
    return [=](const Buffers& of) {
        return kernel.launch(MmaGemm<S>::launch(size.m, size.n), of.a, of.b, of.c, size.m, size.n, size.depth,
                             size.lda(), size.ldb(), size.ldc());
    };
}
template <WgmmaShape S>
Launch launch_with_maps(const ptxgraft::Kernel& kernel, const Size& size,
                        const ptxgraft::LaunchConfig& config) {
    return [=](const Buffers& of) -> ptxgraft::Expected<void> {
        const std::uint64_t a_bytes = 2 * size.lda(), b_bytes = 2 * size.ldb();
        const auto a = of.a.encode_tensor_map(WgmmaGemm<S>::map_a(size.m, size.depth, a_bytes)),
                   b = of.b.encode_tensor_map(WgmmaGemm<S>::map_b(size.n, size.depth, b_bytes));
        if (!a || !b) return tl::unexpected((a ? b : a).error());
        return kernel.launch(config, *a, *b, of.c, size.m, size.n, size.depth, size.ldc());
    };
}
template <WgmmaShape S>
Launch launch_wgmma(const ptxgraft::Kernel& kernel, const Size& size, std::uint32_t multiprocessors) {
    return launch_with_maps<S>(kernel, size, WgmmaGemm<S>::launch(size.m, size.n, multiprocessors));
}
template <std::uint32_t Parts, WgmmaShape S>
Launch launch_split_k(const ptxgraft::Kernel& kernel, const Size& size) {
    return launch_with_maps<S>(kernel, size, SplitK<Parts, S>::launch(size.m, size.n));
}

}  // namespace gemm
