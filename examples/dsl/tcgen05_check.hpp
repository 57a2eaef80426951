#pragma once
/// @file tcgen05_check.hpp
/// Matrices for the GEMMs of sm_100a in all their element types, with and without scale factors, the
/// reference in double precision, and launches that compare with it. Elements are multiples of 1/4 up to 2
/// and scale factors 1/2, 1, 3/2 or 2: all products and sums are exact in .f32 up to a depth of 1024, in any
/// order, and the comparison is for equality.

#include <bit>
#include <cmath>

#include "gemm_block_scaled.hpp"
#include "gemm_check.hpp"
#include "gemm_tcgen05.hpp"

namespace gemm {

/// The bits of a floating-point type behind its sign, and what its exponent counts from.
struct FloatFormat {
    unsigned exponent_bits, mantissa_bits;
    int bias;
};
inline FloatFormat format_of(MmaType type) {
    switch (type) {
        case MmaType::f16: return {5, 10, 15};
        case MmaType::bf16: return {8, 7, 127};
        case MmaType::e5m2: return {5, 2, 15};
        case MmaType::e2m1: return {2, 1, 1};
        case MmaType::ue8m0: return {8, 0, 127};
        default: return {4, 3, 7};  // e4m3, ue4m3
    }
}
/// Of finite values.
inline double value_of(MmaType type, std::uint32_t bits) {
    if (type == MmaType::ue8m0) return std::ldexp(1.0, static_cast<int>(bits) - 127);
    const auto [exponent_bits, mantissa_bits, bias] = format_of(type);
    const std::uint32_t one = 1u << mantissa_bits,
                        exponent = bits >> mantissa_bits & ((1u << exponent_bits) - 1);
    const double significand = (exponent == 0 ? 0 : one) + bits % one;
    const double value = std::ldexp(
        significand, static_cast<int>(std::max(exponent, 1u)) - bias - static_cast<int>(mantissa_bits));
    return (bits >> (exponent_bits + mantissa_bits) & 1) != 0 ? -value : value;
}
inline std::uint32_t bits_of_type(MmaType type) {
    return type == MmaType::f16 || type == MmaType::bf16 ? 16 : type == MmaType::e2m1 ? 4 : 8;
}

struct ScaleFactors {
    MmaType type = MmaType::ue8m0;
    std::uint32_t block = 0;  ///< elements of each; 0: there are none
};
/// A matrix of some rows as it lies in memory, and its scale factors, if it has any.
class TypedMatrix {
  public:
    TypedMatrix(MmaType type, std::uint32_t rows, std::uint32_t depth, unsigned seed,
                ScaleFactors of_blocks = {})
        : rows(rows), depth(depth), type_(type), of_blocks_(of_blocks), random_(seed) {
        row_bytes = (depth * bits_of_type(type) / 8 + 15) / 16 * 16;
        // What is between a row's end and the next row is no number, or too large: nobody may multiply it.
        elements.assign(std::size_t{rows} * row_bytes, 0x7F);
        const auto codes = codes_of(type, -2, 2, 4);
        for (std::uint32_t row = 0; row < rows; ++row)
            for (std::uint32_t i = 0; i < depth; ++i) put(row, i, any_of(codes));
        if (of_blocks.block != 0) make_scales();
    }
    [[nodiscard]] double value(std::uint32_t row, std::uint32_t i) const {
        const double element = value_of(type_, get(row, i));
        if (of_blocks_.block == 0) return element;
        return element *
               value_of(of_blocks_.type, scales[ScaleTile::offset(row, i / of_blocks_.block, along())]);
    }

    std::uint32_t rows, depth, row_bytes = 0;
    std::vector<std::uint8_t> elements, scales;

  private:
    // The bits of all numbers in a range that are multiples of 1 / parts, without a sign that is of no use.
    static std::vector<std::uint32_t> codes_of(MmaType type, double low, double high, int parts) {
        std::vector<std::uint32_t> codes;
        for (std::uint32_t bits = 0; bits < 1u << bits_of_type(type); ++bits) {
            const double value = value_of(type, bits);
            if (value >= low && value <= high && std::floor(value * parts) == value * parts)
                codes.push_back(bits);
        }
        return codes;
    }
    std::uint32_t any_of(const std::vector<std::uint32_t>& codes) { return codes[random_() % codes.size()]; }
    [[nodiscard]] std::uint32_t along() const {
        return ScaleTile::tiles_of_blocks((depth + of_blocks_.block - 1) / of_blocks_.block);
    }
    void make_scales() {
        // Beyond the last row and block: a number, and a large one.
        scales.assign(std::size_t{ScaleTile::tiles_of_rows(rows)} * along() * ScaleTile::bytes,
                      of_blocks_.type == MmaType::ue8m0 ? 140 : 0x70);
        const auto codes = codes_of(of_blocks_.type, 0.5, 2, 2);
        for (std::uint32_t row = 0; row < rows; ++row)
            for (std::uint32_t block = 0; block * of_blocks_.block < depth; ++block)
                scales[ScaleTile::offset(row, block, along())] = static_cast<std::uint8_t>(any_of(codes));
    }
    // Of 4 bits the first of two is in the lower half of a byte.
    void put(std::uint32_t row, std::uint32_t i, std::uint32_t bits) {
        const std::uint32_t size = bits_of_type(type_);
        const std::size_t at = std::size_t{row} * row_bytes + i * size / 8;
        if (size == 4) {
            elements[at] = static_cast<std::uint8_t>(i % 2 == 0 ? bits : (elements[at] & 15) | bits << 4);
            return;
        }
        for (std::uint32_t byte = 0; byte < size / 8; ++byte)
            elements[at + byte] = static_cast<std::uint8_t>(bits >> 8 * byte);
    }
    [[nodiscard]] std::uint32_t get(std::uint32_t row, std::uint32_t i) const {
        const std::uint32_t size = bits_of_type(type_);
        const std::size_t at = std::size_t{row} * row_bytes + i * size / 8;
        if (size == 4) return elements[at] >> i % 2 * 4 & 15;
        return size == 8 ? elements[at] : elements[at] | std::uint32_t{elements[at + 1]} << 8;
    }

    MmaType type_;
    ScaleFactors of_blocks_;
    std::mt19937 random_;
};

/// The first element of C that is not that of A B^T after the site, in words.
inline std::optional<std::string> find_wrong(const TypedMatrix& a, const TypedMatrix& b,
                                             const std::vector<float>& c, std::uint32_t ldc,
                                             const Epilogue& epilogue) {
    std::vector<double> of_a(a.depth), of_b(std::size_t{b.rows} * b.depth);
    for (std::size_t i = 0; i < of_b.size(); ++i)
        of_b[i] = b.value(static_cast<std::uint32_t>(i / b.depth), static_cast<std::uint32_t>(i % b.depth));
    for (std::uint32_t row = 0; row < a.rows; ++row) {
        for (std::uint32_t i = 0; i < a.depth; ++i) of_a[i] = a.value(row, i);
        for (std::uint32_t col = 0; col < b.rows; ++col) {
            double sum = 0;
            for (std::uint32_t i = 0; i < a.depth; ++i) sum += of_a[i] * of_b[std::size_t{col} * b.depth + i];
            const double want = epilogue(sum, row, col), got = c[std::size_t{row} * ldc + col];
            if (got == want) continue;
            return "C[" + std::to_string(row) + ", " + std::to_string(col) + "] is " + std::to_string(got) +
                   ", not " + std::to_string(want);
        }
    }
    return std::nullopt;
}

/// Launches a kernel by `launch(buffers)`, and compares: what is wrong, or nothing.
struct TypedBuffers {
    ptxgraft::Buffer a, b, c;
    std::optional<ptxgraft::Buffer> scales_a = {}, scales_b = {};
};
using TypedLaunch = std::function<ptxgraft::Expected<void>(const TypedBuffers& buffers)>;
inline std::optional<std::string> check(const ptxgraft::Device& device, const TypedMatrix& a,
                                        const TypedMatrix& b, std::uint32_t ldc, const TypedLaunch& launch,
                                        const Epilogue& epilogue) {
    auto of_a = device.upload(a.elements), of_b = device.upload(b.elements);
    auto of_c = device.allocate(std::size_t{a.rows} * ldc * sizeof(float));
    if (!of_a || !of_b || !of_c) return "no memory";
    TypedBuffers buffers{std::move(*of_a), std::move(*of_b), std::move(*of_c)};
    if (!a.scales.empty()) {
        auto scales_a = device.upload(a.scales), scales_b = device.upload(b.scales);
        if (!scales_a || !scales_b) return "no memory";
        buffers.scales_a = std::move(*scales_a), buffers.scales_b = std::move(*scales_b);
    }
    if (const auto done = launch(buffers); !done) return ptxgraft::describe(done.error());
    const auto result = buffers.c.download<float>();
    return result ? find_wrong(a, b, *result, ldc, epilogue) : ptxgraft::describe(result.error());
}

/// The kernels of both files, on a device with so many multiprocessors.
template <Tcgen05Shape S>
std::optional<std::string> check_tcgen05(const ptxgraft::Device& device, const ptxgraft::Kernel& kernel,
                                         const Size& size, std::uint32_t multiprocessors,
                                         const Epilogue& epilogue = unchanged) {
    using Gemm = Tcgen05Gemm<S>;
    const TypedMatrix a(S.type, size.m, size.depth, 1), b(S.type, size.n, size.depth, 2);
    const auto launch = [&](const TypedBuffers& of) -> ptxgraft::Expected<void> {
        const auto map_a = of.a.encode_tensor_map(Gemm::map_a(size.m, size.depth, a.row_bytes)),
                   map_b = of.b.encode_tensor_map(Gemm::map_b(size.n, size.depth, b.row_bytes));
        if (!map_a || !map_b) return tl::unexpected((map_a ? map_b : map_a).error());
        return kernel.launch(Gemm::launch(size.m, size.n, multiprocessors), *map_a, *map_b, of.c, size.m,
                             size.n, size.depth, size.ldc());
    };
    return check(device, a, b, size.ldc(), launch, epilogue);
}
template <BlockScaledShape S>
std::optional<std::string> check_block_scaled(const ptxgraft::Device& device, const ptxgraft::Kernel& kernel,
                                              const Size& size, std::uint32_t multiprocessors,
                                              const Epilogue& epilogue = unchanged) {
    using Gemm = BlockScaledGemm<S>;
    const ScaleFactors scales{S.scale, S.block};
    const TypedMatrix a(S.type, size.m, size.depth, 1, scales), b(S.type, size.n, size.depth, 2, scales);
    const auto launch = [&](const TypedBuffers& of) -> ptxgraft::Expected<void> {
        const auto map_a = of.a.encode_tensor_map(Gemm::map_a(size.m, size.depth, a.row_bytes)),
                   map_b = of.b.encode_tensor_map(Gemm::map_b(size.n, size.depth, b.row_bytes)),
                   scales_a = of.scales_a->encode_tensor_map(Gemm::map_scales_a(size.m, size.depth)),
                   scales_b = of.scales_b->encode_tensor_map(Gemm::map_scales_b(size.n, size.depth));
        for (const auto* map : {&map_a, &map_b, &scales_a, &scales_b})
            if (!*map) return tl::unexpected(map->error());
        return kernel.launch(Gemm::launch(size.m, size.n, multiprocessors), *map_a, *map_b, *scales_a,
                             *scales_b, of.c, size.m, size.n, size.depth, size.ldc());
    };
    return check(device, a, b, size.ldc(), launch, epilogue);
}

}  // namespace gemm
