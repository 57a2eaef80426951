#pragma once
/// @file attention_check.hpp
/// Queries, keys and values for an attention, its reference in double precision, and the comparison of the
/// two.
///
/// How far a result may be from the reference is not a guess but a bound, made of the same values. With A the
/// weighted mean of |v|, relative errors of the weights count A times: their rounding to the type of q, half
/// a unit in the last place; and, twice, because the sum has it too, the error of a score: that of an f32 sum
/// of head_dim products, which tensor cores may truncate, and some roundings of the score itself. There are
/// f32 sums over the keys besides, and the rounding of the result.

#include <functional>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "attention_mma.hpp"
#include "attention_wgmma.hpp"
#include "ptxgraft/ptxgraft.hpp"
#include "run.hpp"

namespace attention {

using ptxgraft::Expected;

struct Size {
    std::uint32_t rows = 1, columns = 1;  ///< queries, keys
    std::uint32_t heads = 1, group = 1;   ///< of q; of those so many share keys and values
    std::uint32_t batches = 1;
};

/// What a site makes of a score, or of a value of the output: what is added there must be exact in .f32.
using AtSite =
    std::function<double(double value, std::uint32_t row, std::uint32_t column, std::uint32_t head)>;
inline double unchanged(double value, std::uint32_t, std::uint32_t, std::uint32_t) { return value; }

/// A tensor with rows of `dim` elements: of a sequence the rows, each for all heads, or the heads, each of
/// all rows.
struct Layout {
    std::uint32_t heads, rows, dim;
    bool is_row_first;
    [[nodiscard]] std::uint32_t head_stride() const { return is_row_first ? dim : rows * dim; }
    [[nodiscard]] std::uint32_t row_stride() const { return is_row_first ? heads * dim : dim; }
    [[nodiscard]] std::size_t batch_stride() const { return std::size_t{heads} * rows * dim; }
    [[nodiscard]] Tensor tensor(const ptxgraft::Buffer& buffer) const {
        return {buffer.address(), batch_stride(), head_stride(), row_stride()};
    }
    [[nodiscard]] std::size_t place(std::uint32_t batch, std::uint32_t head, std::uint32_t row) const {
        return batch * batch_stride() + std::size_t{head} * head_stride() + std::size_t{row} * row_stride();
    }
};

template <Options O> struct Case {
    Size size;
    AtSite score = unchanged, epilogue = unchanged;
    float scale = 1 / std::sqrt(static_cast<float>(O.head_dim));
    [[nodiscard]] Layout of_queries() const { return {size.heads, size.rows, O.head_dim, true}; }
    [[nodiscard]] Layout of_keys() const {
        return {size.heads / size.group, size.columns, O.head_dim, false};
    }
    rows::Numbers q = random(of_queries(), 1), k = random(of_keys(), 2), v = random(of_keys(), 3);

    /// The largest error of a result, and that in what is allowed there: at most 1 where it is right.
    struct Errors {
        double absolute = 0, in_allowed = 0;
    };
    [[nodiscard]] Errors errors_of(const rows::Numbers& got) const {
        Errors worst;
        for (std::uint32_t batch = 0; batch < size.batches; ++batch)
            for (std::uint32_t head = 0; head < size.heads; ++head)
                for (std::uint32_t row = 0; row < size.rows; ++row) compare(worst, got, {batch, head, row});
        return worst;
    }

  private:
    struct Query {
        std::uint32_t batch, head, row;
    };
    [[nodiscard]] rows::Numbers random(const Layout& of, unsigned seed) const {
        return rows::some_values<O.type>(size.batches * of.batch_stride(), seed);
    }
    [[nodiscard]] const double* at_query(const rows::Numbers& all, const Query& of) const {
        return &all.at(of_queries().place(of.batch, of.head, of.row));
    }
    [[nodiscard]] const double* at_key(const rows::Numbers& all, const Query& of,
                                       std::uint32_t column) const {
        return &all.at(of_keys().place(of.batch, of.head / size.group, column));
    }
    // The keys that the query sees: their weights, and the relative error that the weights may have.
    struct Weights {
        rows::Numbers all;
        double sum = 0, error = 0;
    };
    [[nodiscard]] Weights weights_of(const Query& of) const {
        constexpr double f32_step = 0x1p-23;  // tensor cores may truncate
        const double* const query = at_query(q, of);
        const std::int64_t seen =
            O.is_causal ? std::int64_t{of.row} + size.columns - size.rows + 1 : size.columns;
        Weights weights;
        for (std::int64_t column = 0; column < seen; ++column) {
            const auto at = static_cast<std::uint32_t>(column);
            const double* const key = at_key(k, of, at);
            double product = 0, magnitude = 0;
            for (std::uint32_t i = 0; i < O.head_dim; ++i)
                product += query[i] * key[i], magnitude += std::fabs(query[i] * key[i]);
            const double one = score(product * scale, of.row, at, of.head);
            weights.all.push_back(one);
            if (std::isinf(one)) continue;
            const double steps = (O.head_dim + 1) * magnitude * std::fabs(scale) + 4 * std::fabs(one);
            weights.error = std::max(weights.error, f32_step * steps);
        }
        const double top =
            weights.all.empty() ? 0 : *std::max_element(weights.all.begin(), weights.all.end());
        for (double& one : weights.all) weights.sum += one = std::isinf(one) ? 0 : std::exp(one - top);
        return weights;
    }
    void compare(Errors& worst, const rows::Numbers& got, const Query& of) const {
        const double rounding = std::ldexp(1.0, -rows::Stored<O.type>::digits);
        const Weights weights = weights_of(of);
        const double relative =
            rounding + 2 * weights.error + 0x1p-23 * static_cast<double>(weights.all.size() + 16);
        // Weights that are next to nothing beside the largest one, 1, have no such relative error; values are
        // 2 at most.
        const double vanishing =
            rows::step_at<O.type>(0) * static_cast<double>(weights.all.size()) / std::max(weights.sum, 1.0);
        for (std::uint32_t i = 0; i < O.head_dim; ++i) {
            double exact = 0, magnitude = 0;
            for (std::uint32_t column = 0; column < weights.all.size(); ++column) {
                const double part = weights.all[column] * at_key(v, of, column)[i];
                exact += part, magnitude += std::fabs(part);
            }
            if (weights.sum > 0) exact /= weights.sum, magnitude /= weights.sum;
            exact = epilogue(exact, of.row, i, of.head);
            const double error = std::fabs(at_query(got, of)[i] - exact);
            const double allowed = relative * magnitude + vanishing + rows::step_at<O.type>(exact) / 2;
            worst.absolute = std::max(worst.absolute, std::isnan(error) ? HUGE_VAL : error);
            worst.in_allowed = std::max(worst.in_allowed, std::isnan(error) ? HUGE_VAL : error / allowed);
        }
    }
};

/// The tensors on a device.
struct Buffers {
    ptxgraft::Buffer q, k, v, out;
};
template <Options O> using Launch = std::function<Expected<void>(const Case<O>& of, const Buffers& buffers)>;

/// Launches and compares. Throws what a device says.
template <Options O>
typename Case<O>::Errors run(const ptxgraft::Device& device, const Case<O>& of, const Launch<O>& launch) {
    const rows::Numbers nothing(of.q.size(), 3.5);  // a result that is not stored is wrong
    const Buffers buffers = {rows::upload<O.type>(device, of.q), rows::upload<O.type>(device, of.k),
                             rows::upload<O.type>(device, of.v), rows::upload<O.type>(device, nothing)};
    rows::must(launch(of, buffers));
    return of.errors_of(rows::download<O.type>(buffers.out));
}

template <Options O, MmaShape S = mma_shape(O)> Launch<O> launch_mma(const ptxgraft::Kernel& kernel) {
    return [=](const Case<O>& of, const Buffers& in) {
        const Size& size = of.size;
        return kernel.launch(MmaAttention<O, S>::launch(size.rows, size.heads, size.batches),
                             of.of_queries().tensor(in.q), of.of_keys().tensor(in.k),
                             of.of_keys().tensor(in.v), of.of_queries().tensor(in.out), size.rows,
                             size.columns, size.group, of.scale);
    };
}

template <Options O, WgmmaShape S = WgmmaShape{}>
Launch<O> launch_wgmma(const ptxgraft::Device& device, const ptxgraft::Kernel& kernel) {
    return [=](const Case<O>& of, const Buffers& in) -> Expected<void> {
        using Kernel = WgmmaAttention<O, S>;
        const Size& size = of.size;
        const auto map_keys = [&](const ptxgraft::Buffer& buffer) {
            return device.encode_tensor_map(Kernel::map_keys(of.of_keys().tensor(buffer), size.columns,
                                                             size.heads / size.group, size.batches));
        };
        const auto q = device.encode_tensor_map(
            Kernel::map_queries(of.of_queries().tensor(in.q), size.rows, size.heads, size.batches));
        const auto k = map_keys(in.k), v = map_keys(in.v);
        for (const auto* const map : {&q, &k, &v})
            if (!*map) return tl::unexpected(map->error());
        return kernel.launch(Kernel::launch(size.rows, size.heads, size.batches), *q, *k, *v,
                             of.of_queries().tensor(in.out), size.rows, size.columns, size.group, of.scale);
    };
}

}  // namespace attention
