#pragma once
/// @file rms_norm.hpp
/// RMSNorm: out = in / sqrt(mean(in²) + epsilon) * weight, row by row.
///
/// Launch: a block per row, of options.threads. `out` may be `in`.

#include "row.hpp"

namespace rows {

template <Type T> void emit_rms_norm(Module& module, const RowOptions& options = {}) {
    auto& k = module.entry("rms_norm");
    k.directives({.required_threads = {options.threads}});
    const auto out = k.argument<u64>("out"), in = k.argument<u64>("in"), weight = k.argument<u64>("weight");
    const auto columns = k.argument<u32>("columns");
    const auto epsilon = k.argument<f32>("epsilon");
    const auto scratch = k.shared("scratch", {.type = f32, .count = 32});
    Row<T> row(k, options, columns);
    const auto x = row.in_row(in), y = row.in_row(out), w = row.in_all_rows(weight);
    const auto load = [&](Chunk& chunk) { chunk.x = row.load(x, chunk); };

    k.comment("sum = the row's sum of squares");
    const auto sum = k.reg<f32>();
    k.emit<"mov.f32">(sum, 0.0f);
    row.pass(load, [&](Chunk& chunk) {
        for (const auto& value : chunk.x) k.if_(chunk.inside).emit<"fma.rn.f32">(sum, value, value, sum);
    });
    block_reduce<Fold::sum>(k, sum, scratch, options.threads);

    k.comment("scale = 1 / sqrt(sum / columns + epsilon)");
    const auto scale = k.reg<f32>(), n = k.reg<f32>();
    k.emit<"cvt.rn.f32.u32">(n, columns);
    k.emit<"div.full.f32">(scale, sum, n);
    k.emit<"add.f32">(scale, scale, epsilon);
    k.emit<"rsqrt.approx.f32">(scale, scale);

    k.comment("out = in * scale * weight");
    row.pass(load, [&](Chunk& chunk) {
        const Values weights = row.template load<Memory::constant>(w, chunk);
        for (std::size_t i = 0; i < chunk.x.size(); ++i) {
            k.emit<"mul.f32">(chunk.x[i], chunk.x[i], scale);
            k.emit<"mul.f32">(chunk.x[i], chunk.x[i], weights[i]);
        }
        row.store(y, chunk, chunk.x);
    });
    k.emit<"ret">();
}

}  // namespace rows
