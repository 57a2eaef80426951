#pragma once
/// @file swiglu.hpp
/// SwiGLU: out = gate * sigmoid(gate) * up, element by element.
///
/// Launch: a block per row, of options.threads. Rows of `gate` and of `up` are `pitch` elements apart:
/// 2 * columns, and up = gate + columns, where one matrix product made both. `out` is another array.

#include <numbers>

#include "row.hpp"

namespace rows {

template <Type T> void emit_swiglu(Module& module, const RowOptions& options = {}) {
    auto& k = module.entry("swiglu");
    k.directives({.required_threads = {options.threads}});
    const auto out = k.argument<u64>("out"), gate = k.argument<u64>("gate"), up = k.argument<u64>("up");
    const auto columns = k.argument<u32>("columns"), pitch = k.argument<u32>("pitch");
    Row<T> row(k, options, columns);
    const auto g = row.in_row(gate, pitch), u = row.in_row(up, pitch), y = row.in_row(out);
    const auto load = [&](Chunk& chunk) {
        chunk.x = row.load(g, chunk);
        const Values ups = row.load(u, chunk);
        chunk.x.insert(chunk.x.end(), ups.begin(), ups.end());
    };
    const auto e = k.reg<f32>();
    row.pass(load, [&](Chunk& chunk) {
        Values result(chunk.x.begin(), chunk.x.begin() + static_cast<std::ptrdiff_t>(chunk.x.size() / 2));
        for (std::size_t i = 0; i < result.size(); ++i) {
            k.emit<"mul.f32">(e, result[i], -std::numbers::log2e_v<float>);
            k.emit<"ex2.approx.ftz.f32">(e, e);  // exp(-gate): infinite far below 0, and the result is 0 then
            k.emit<"add.f32">(e, e, 1.0f);
            k.emit<"rcp.approx.ftz.f32">(e, e);
            k.emit<"mul.f32">(result[i], result[i], e);
            k.emit<"mul.f32">(result[i], result[i], chunk.x[result.size() + i]);
        }
        row.store(y, chunk, result);
    });
    k.emit<"ret">();
}

}  // namespace rows
