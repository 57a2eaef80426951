#pragma once
/// @file softmax.hpp
/// Softmax: out = exp(in - max(in)) / sum(exp(in - max(in))), row by row.
///
/// Launch: a block per row, of options.threads. `out` may be `in`. A row without a finite element, or with
/// plus infinity or a NaN in it, becomes NaN.

#include <numbers>

#include "row.hpp"

namespace rows {

template <Type T> void emit_softmax(Module& module, const RowOptions& options = {}) {
    auto& k = module.entry("softmax");
    k.directives({.required_threads = {options.threads}});
    const auto out = k.argument<u64>("out"), in = k.argument<u64>("in");
    const auto columns = k.argument<u32>("columns");
    const VariableOptions words = {.type = f32, .count = 32};
    const auto scratch = k.shared("scratch", words), scratch_2 = k.shared("scratch_2", words);
    Row<T> row(k, options, columns);
    const auto x = row.in_row(in), y = row.in_row(out);
    const auto load = [&](Chunk& chunk) { chunk.x = row.load(x, chunk); };

    k.comment("largest = the row's maximum");
    const auto largest = k.reg<f32>();
    k.emit<"mov.f32">(largest, neutral_of<Fold::max>);
    row.pass(load, [&](Chunk& chunk) {
        for (const auto& value : chunk.x) fold<Fold::max>(k.if_(chunk.inside), largest, value);
    });
    block_reduce<Fold::max>(k, largest, scratch, options.threads);

    k.comment("sum = that of exp(in - largest), which stay in the registers of held chunks");
    const auto exponentiate = [&](Chunk& chunk) {
        for (const auto& value : chunk.x) {
            k.emit<"sub.f32">(value, value, largest);
            k.emit<"mul.f32">(value, value, std::numbers::log2e_v<float>);
            k.emit<"ex2.approx.ftz.f32">(value, value);
        }
    };
    const auto sum = k.reg<f32>();
    k.emit<"mov.f32">(sum, 0.0f);
    row.pass(load, [&](Chunk& chunk) {
        exponentiate(chunk);
        for (const auto& value : chunk.x) fold<Fold::sum>(k.if_(chunk.inside), sum, value);
    });
    block_reduce<Fold::sum>(k, sum, scratch_2, options.threads);
    k.emit<"rcp.rn.f32">(sum, sum);

    k.comment("out = exp(in - largest) / sum");
    row.pass(load, [&](Chunk& chunk) {
        if (!chunk.is_held) exponentiate(chunk);
        for (const auto& value : chunk.x) k.emit<"mul.f32">(value, value, sum);
        row.store(y, chunk, chunk.x);
    });
    k.emit<"ret">();
}

}  // namespace rows
