#pragma once
/// @file run.hpp
/// The kernels of this folder on a device, beside references in double precision.

#include <algorithm>
#include <bit>
#include <cmath>
#include <ptxgraft/kernel.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "layer_norm.hpp"
#include "map.hpp"
#include "rms_norm.hpp"
#include "softmax.hpp"
#include "swiglu.hpp"

namespace rows {

using Numbers = std::vector<double>;

struct Case {
    std::uint32_t rows = 1, columns = 1;
    RowOptions options = {};
};

/// What is in memory, how much a rounding to it changes at most of a value, and its smallest value.
template <Type T> struct Stored {
    using Word = std::uint16_t;
    static constexpr int digits = T == bf16 ? 8 : 11, least_exponent = T == bf16 ? -126 : -14;
};
template <> struct Stored<f32> {
    using Word = std::uint32_t;
    static constexpr int digits = 24, least_exponent = -126;
};
template <Type T> double step_at(double value) {
    const int exponent =
        value == 0 ? Stored<T>::least_exponent : std::max(std::ilogb(value), Stored<T>::least_exponent);
    return std::ldexp(1.0, exponent - Stored<T>::digits + 1);
}

/// Of finite values that T has room for: to its bits, to nearest even, and back.
template <Type T> typename Stored<T>::Word to_bits(double value) {
    using S = Stored<T>;
    const double steps = std::nearbyint(std::fabs(value) / step_at<T>(value));
    // Behind the exponent of what is smaller than all normal values, each further step is one of the bits.
    const int exponent = value == 0 ? S::least_exponent : std::max(std::ilogb(value), S::least_exponent);
    const auto bits = static_cast<std::uint32_t>(exponent - S::least_exponent) * (1u << (S::digits - 1)) +
                      static_cast<std::uint32_t>(steps);
    return static_cast<typename S::Word>(bits | (std::signbit(value) ? 1u << (8 * bytes_of<T> - 1) : 0u));
}
template <Type T> double from_bits(typename Stored<T>::Word word) {
    using S = Stored<T>;
    if constexpr (T != f16) return std::bit_cast<float>(std::uint32_t{word} << (T == bf16 ? 16 : 0));
    const std::uint32_t magnitude = word & 0x7FFFu, fraction = magnitude & 0x3FFu;
    const int exponent = static_cast<int>(magnitude >> 10);
    double value = exponent == 31  ? (fraction == 0 ? HUGE_VAL : NAN)
                   : exponent == 0 ? std::ldexp(fraction, S::least_exponent - 10)
                                   : std::ldexp(fraction + 1024.0, exponent + S::least_exponent - 11);
    return (word & 0x8000u) != 0 ? -value : value;
}

template <class V> V must(ptxgraft::Expected<V> result, const std::string& ptx = {}) {
    if (!result) throw std::runtime_error(describe(result.error(), ptx));
    if constexpr (!std::is_void_v<V>) return std::move(*result);
}

/// Values that T has, the same in every run.
template <Type T> Numbers some_values(std::size_t count, unsigned seed, double low = -2, double high = 2) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(low, high);
    Numbers values(count);
    for (double& value : values) value = from_bits<T>(to_bits<T>(uniform(random)));
    return values;
}
template <Type T> ptxgraft::Buffer upload(const ptxgraft::Device& device, const Numbers& values) {
    std::vector<typename Stored<T>::Word> words;
    for (const double value : values) words.push_back(to_bits<T>(value));
    return must(device.upload(words));
}
template <Type T> Numbers download(const ptxgraft::Buffer& buffer) {
    Numbers values;
    for (const auto word : must(buffer.download<typename Stored<T>::Word>()))
        values.push_back(from_bits<T>(word));
    return values;
}

inline std::string ptx_for(const ptxgraft::Device& device, auto&& emit) {
    Module module({.target = device.target()});
    emit(module);
    return must(module.ptx());
}
inline void launch(const ptxgraft::Device& device, const std::string& ptx, std::uint32_t blocks,
                   std::uint32_t threads, std::vector<ptxgraft::Argument> arguments) {
    const auto kernel = must(device.load(ptx, {}), ptx);
    must(kernel.launch({.grid = {blocks}, .block = {threads}}, arguments), ptx);
    must(device.synchronize());
}

/// How far a kernel's results may be from the exact ones, before they are rounded to T.
struct Tolerance {
    double relative = 1e-5, absolute = 0;
};
/// The largest distance, in what is allowed: 1 at most where the results are right.
template <Type T> double worst_of(const Numbers& got, const Numbers& exact, const Tolerance& tolerance) {
    double worst = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
        const double allowed =
            tolerance.relative * std::fabs(exact[i]) + tolerance.absolute + step_at<T>(exact[i]) / 2;
        const double error = std::fabs(got.at(i) - exact[i]) / allowed;
        worst = std::isnan(error) ? HUGE_VAL : std::max(worst, error);
    }
    return worst;
}

template <Type T> double run_rms_norm(const ptxgraft::Device& device, const Case& c) {
    const std::size_t columns = c.columns, count = c.rows * columns;
    const float epsilon = 1e-5f;
    const Numbers in = some_values<T>(count, 1), weight = some_values<T>(columns, 2);
    Numbers exact(count);
    for (std::size_t row = 0; row < count; row += columns) {
        double sum = 0;
        for (std::size_t i = 0; i < columns; ++i) sum += in[row + i] * in[row + i];
        const double scale = 1 / std::sqrt(sum / c.columns + epsilon);
        for (std::size_t i = 0; i < columns; ++i) exact[row + i] = in[row + i] * scale * weight[i];
    }
    const auto out = upload<T>(device, Numbers(count)), x = upload<T>(device, in),
               w = upload<T>(device, weight);
    const auto ptx = ptx_for(device, [&](Module& module) { emit_rms_norm<T>(module, c.options); });
    launch(device, ptx, c.rows, c.options.threads, {out, x, w, c.columns, epsilon});
    return worst_of<T>(download<T>(out), exact, {});
}

template <Type T> double run_layer_norm(const ptxgraft::Device& device, const Case& c) {
    const std::size_t columns = c.columns, count = c.rows * columns;
    const float epsilon = 1e-5f;
    // Far from 0, where a variance of squares would be wrong.
    const Numbers in = some_values<T>(count, 1, 20, 24), residual = some_values<T>(count, 2);
    const Numbers weight = some_values<T>(columns, 3), bias = some_values<T>(columns, 4);
    Numbers exact(count), sums(count);
    for (std::size_t i = 0; i < count; ++i) sums[i] = in[i] + residual[i];
    for (std::size_t row = 0; row < count; row += columns) {
        double mean = 0, variance = 0;
        for (std::size_t i = 0; i < columns; ++i) mean += sums[row + i] / c.columns;
        for (std::size_t i = 0; i < columns; ++i) variance += std::pow(sums[row + i] - mean, 2) / c.columns;
        const double scale = 1 / std::sqrt(variance + epsilon);
        for (std::size_t i = 0; i < columns; ++i)
            exact[row + i] = (sums[row + i] - mean) * scale * weight[i] + bias[i];
    }
    const auto out = upload<T>(device, Numbers(count)), x = upload<T>(device, in),
               r = upload<T>(device, residual);
    const auto w = upload<T>(device, weight), b = upload<T>(device, bias);
    const auto ptx = ptx_for(device, [&](Module& module) { emit_layer_norm<T>(module, c.options); });
    launch(device, ptx, c.rows, c.options.threads, {out, r, x, r, w, b, c.columns, epsilon});
    // Of one column, sum - mean is a rounding error of the sum, times 1 / sqrt(epsilon).
    return std::max(worst_of<T>(download<T>(out), exact, {.relative = 1e-5, .absolute = 5e-5}),
                    worst_of<T>(download<T>(r), sums, {.relative = 1e-7}));
}

template <Type T> double run_swiglu(const ptxgraft::Device& device, const Case& c) {
    const std::size_t columns = c.columns, count = c.rows * columns;
    Numbers both = some_values<T>(2 * count, 1, -20, 20), exact(count);
    both.front() = -500, both[columns - 1] = 500;  // whose exponentials .f32 has not
    for (std::size_t i = 0; i < count; ++i) {
        const double gate = both[i / columns * 2 * columns + i % columns];
        exact[i] = gate / (1 + std::exp(-gate)) * both[(i / columns * 2 + 1) * columns + i % columns];
    }
    const auto out = upload<T>(device, Numbers(count)), gate = upload<T>(device, both);
    const std::uint64_t up = gate.address() + columns * bytes_of<T>;
    const auto ptx = ptx_for(device, [&](Module& module) { emit_swiglu<T>(module, c.options); });
    launch(device, ptx, c.rows, c.options.threads, {out, gate, up, c.columns, 2 * c.columns});
    return worst_of<T>(download<T>(out), exact, {.relative = 1e-5, .absolute = 1e-30});
}

template <Type T> double run_softmax(const ptxgraft::Device& device, const Case& c) {
    const std::size_t columns = c.columns, count = c.rows * columns;
    const Numbers in = some_values<T>(count, 1, -8, 8);
    Numbers exact(count);
    for (std::size_t row = 0; row < count; row += columns) {
        double sum = 0;
        for (std::size_t i = 0; i < columns; ++i) sum += std::exp(in[row + i]);
        for (std::size_t i = 0; i < columns; ++i) exact[row + i] = std::exp(in[row + i]) / sum;
    }
    const auto x = upload<T>(device, in);
    const auto ptx = ptx_for(device, [&](Module& module) { emit_softmax<T>(module, c.options); });
    launch(device, ptx, c.rows, c.options.threads, {x, x, c.columns});  // in place
    return worst_of<T>(download<T>(x), exact, {.relative = 1e-5});
}

/// The sum of three arrays.
template <Type T> double run_map(const ptxgraft::Device& device, const Case& c) {
    const std::size_t count = std::size_t{c.rows} * c.columns;
    const Numbers a = some_values<T>(count, 1), b = some_values<T>(count, 2), d = some_values<T>(count, 3);
    Numbers exact(count);
    for (std::size_t i = 0; i < count; ++i) exact[i] = a[i] + b[i] + d[i];
    const auto out = upload<T>(device, Numbers(count)), x0 = upload<T>(device, a), x1 = upload<T>(device, b),
               x2 = upload<T>(device, d);
    const MapOptions options = {.inputs = 3, .threads = c.options.threads, .access = c.options.access};
    const auto ptx = ptx_for(device, [&](Module& module) { emit_map<T>(module, options); });
    const std::uint64_t in_block = std::uint64_t{options.threads} * count_of<T>(options.access);
    launch(device, ptx, static_cast<std::uint32_t>((count + in_block - 1) / in_block), options.threads,
           {out, x0, x1, x2, std::uint64_t{count}});
    return worst_of<T>(download<T>(out), exact, {.relative = 1e-6, .absolute = 1e-6});
}

/// Every kernel, by its entry's name.
struct Kernel {
    const char* name;
    void (*emit)(Module&, const RowOptions&);
    double (*run)(const ptxgraft::Device&, const Case&);  ///< worst_of its results
    bool has_any_columns = false;                         ///< also with Access::vector
};
template <Type T>
inline constexpr Kernel kernels[] = {
    {"rms_norm", emit_rms_norm<T>, run_rms_norm<T>},
    {"layer_norm", emit_layer_norm<T>, run_layer_norm<T>},
    {"swiglu", emit_swiglu<T>, run_swiglu<T>},
    {"softmax", emit_softmax<T>, run_softmax<T>},
    {"map",
     [](Module& module, const RowOptions& options) {
         emit_map<T>(module, {.inputs = 3, .threads = options.threads, .access = options.access});
     },
     run_map<T>, true},
};

}  // namespace rows
