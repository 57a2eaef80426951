#pragma once
/// @file layer_norm.hpp
/// LayerNorm of a residual stream: sum = in + residual, and of each row
/// out = (sum - mean) / sqrt(variance + epsilon) * weight + bias. The variance is the mean of squared
/// differences from the mean: mean(sum²) - mean² would have no digits left where the mean is large.
///
/// Launch: a block per row, of options.threads. `sum` may be `residual` or `in`, for the next layer, and so
/// may `out`, if it is not `sum`. What is normalised is not rounded to T before.

#include "row.hpp"

namespace rows {

template <Type T> void emit_layer_norm(Module& module, const RowOptions& options = {}) {
    auto& k = module.entry("layer_norm");
    k.directives({.required_threads = {options.threads}});
    const auto out = k.argument<u64>("out"), sum_out = k.argument<u64>("sum");
    const auto in = k.argument<u64>("in"), residual = k.argument<u64>("residual");
    const auto weight = k.argument<u64>("weight"), bias = k.argument<u64>("bias");
    const auto columns = k.argument<u32>("columns");
    const auto epsilon = k.argument<f32>("epsilon");
    const VariableOptions words = {.type = f32, .count = 32};
    const auto scratch = k.shared("scratch", words), scratch_2 = k.shared("scratch_2", words);
    Row<T> row(k, options, columns);
    const auto x = row.in_row(in), r = row.in_row(residual), y = row.in_row(out), s = row.in_row(sum_out);
    const auto w = row.in_all_rows(weight), b = row.in_all_rows(bias);
    const auto load = [&](Chunk& chunk) {
        chunk.x = row.load(x, chunk);
        const Values added = row.load(r, chunk);
        for (std::size_t i = 0; i < added.size(); ++i) k.emit<"add.f32">(chunk.x[i], chunk.x[i], added[i]);
    };

    k.comment("mean = the row's sum / columns");
    const auto mean = k.reg<f32>(), n = k.reg<f32>();
    k.emit<"cvt.rn.f32.u32">(n, columns);
    k.emit<"mov.f32">(mean, 0.0f);
    row.pass(load, [&](Chunk& chunk) {
        for (const auto& value : chunk.x) k.if_(chunk.inside).emit<"add.f32">(mean, mean, value);
    });
    block_reduce<Fold::sum>(k, mean, scratch, options.threads);
    k.emit<"div.full.f32">(mean, mean, n);

    k.comment("scale = 1 / sqrt(variance + epsilon)");
    const auto scale = k.reg<f32>(), difference = k.reg<f32>();
    k.emit<"mov.f32">(scale, 0.0f);
    row.pass(load, [&](Chunk& chunk) {
        for (const auto& value : chunk.x) {
            k.emit<"sub.f32">(difference, value, mean);
            k.if_(chunk.inside).emit<"fma.rn.f32">(scale, difference, difference, scale);
        }
    });
    block_reduce<Fold::sum>(k, scale, scratch_2, options.threads);
    k.emit<"div.full.f32">(scale, scale, n);
    k.emit<"add.f32">(scale, scale, epsilon);
    k.emit<"rsqrt.approx.f32">(scale, scale);

    k.comment("out = (sum - mean) * scale * weight + bias");
    row.pass(load, [&](Chunk& chunk) {
        const Values weights = row.template load<Memory::constant>(w, chunk);
        const Values biases = row.template load<Memory::constant>(b, chunk);
        row.store(s, chunk, chunk.x);
        for (std::size_t i = 0; i < chunk.x.size(); ++i) {
            k.emit<"sub.f32">(chunk.x[i], chunk.x[i], mean);
            k.emit<"mul.f32">(chunk.x[i], chunk.x[i], scale);
            k.emit<"fma.rn.f32">(chunk.x[i], chunk.x[i], weights[i], biases[i]);
        }
        row.store(y, chunk, chunk.x);
    });
    k.emit<"ret">();
}

}  // namespace rows
