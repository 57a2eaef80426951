#pragma once
/// @file map.hpp
/// Elementwise: out = map(x0, x1, …), where `map` is a site, so that the module is a skeleton of every such
/// kernel. Ungrafted, it is the sum.
///
/// Launch: `out`, the inputs, and the number of elements; a chunk per thread, so
/// ceil(count / (threads * count_of<T>(access))) blocks. With Access::vector arrays begin at multiples of 16
/// bytes; what does not fill a chunk is left to the first threads, an element each. `out` may be an input.

#include <string>

#include "elements.hpp"

namespace rows {

struct MapOptions {
    std::uint32_t inputs = 2;
    std::uint32_t threads = 256;  ///< of a block, at least 8
    Access access = Access::vector;
};

/// `in f32 x0, in f32 x1, …, out f32 y`
inline void emit_map_site(FunctionBuilder<>& k, const Values& x, const Reg<f32>& y) {
    std::vector<std::string> names(x.size());
    std::vector<SiteArgument> arguments;
    for (std::size_t i = 0; i < x.size(); ++i)
        arguments.push_back(in(names[i] = "x" + std::to_string(i), x[i]));
    arguments.push_back(out("y", y));
    k.site("map", arguments, {}, [&] {
        const Reg<f32> result{"_y"}, first{"_x0"};
        k.emit<"mov.f32">(result, first);
        for (std::size_t i = 1; i < x.size(); ++i) fold<Fold::sum>(k, result, {"_" + names[i]});
    });
}

template <Type T> void emit_map(Module& module, const MapOptions& options = {}) {
    auto& k = module.entry("map");
    k.directives({.required_threads = {options.threads}});
    const auto out = k.argument<u64>("out");
    std::vector<Reg<u64>> in;
    for (std::uint32_t i = 0; i < options.inputs; ++i) in.push_back(k.argument<u64>("x" + std::to_string(i)));
    const auto count = k.argument<u64>("count");
    for (const auto& array : in) k.emit<"cvta.to.global.u64">(array, array);
    k.emit<"cvta.to.global.u64">(out, out);

    // y = map(x0, …) at this many bytes, where the predicate holds.
    const auto map_at = [&](Access access, Pred inside, const Reg<u64>& bytes) {
        const auto address = k.reg<u64>();
        std::vector<Values> x;
        for (const auto& array : in) {
            k.emit<"add.u64">(address, array, bytes);
            x.push_back(load<T>(k, access, inside, address));
        }
        Values y;
        for (std::uint32_t i = 0; i < count_of<T>(access); ++i) {
            Values arguments;
            for (const Values& values : x) arguments.push_back(values[i]);
            y.push_back(k.reg<f32>());
            emit_map_site(k, arguments, y.back());
        }
        k.emit<"add.u64">(address, out, bytes);
        store<T>(k, access, inside, address, 0, y);
    };

    k.comment("this thread's chunk");
    const std::uint32_t at_once = count_of<T>(options.access);
    const auto thread = k.reg<u32>(), block = k.reg<u32>();
    const auto first = k.reg<u64>(), end = k.reg<u64>(), bytes = k.reg<u64>();
    const auto inside = k.reg<pred>();
    k.emit<"mov.u32">(thread, special<"%tid.x">);
    k.emit<"mov.u32">(block, special<"%ctaid.x">);
    k.emit<"cvt.u64.u32">(first, thread);
    k.emit<"mad.wide.u32">(first, block, options.threads, first);
    k.emit<"mul.lo.u64">(first, first, at_once);
    k.emit<"and.b64">(end, count, -std::int64_t{at_once});
    k.emit<"setp.lt.u64">(inside, first, end);
    k.emit<"shl.b64">(bytes, first, bytes_shift<T>);
    map_at(options.access, inside, bytes);
    if (options.access == Access::vector) {
        k.comment("what is left behind the last chunk, fewer elements than one has");
        const auto is_left = k.reg<pred>();
        k.emit<"mad.wide.u32">(first, block, options.threads, end);
        k.emit<"cvt.u64.u32">(bytes, thread);
        k.emit<"add.u64">(first, first, bytes);
        k.emit<"setp.lt.u64">(is_left, first, count);
        k.emit<"shl.b64">(bytes, first, bytes_shift<T>);
        map_at(Access::element, is_left, bytes);
    }
    k.emit<"ret">();
}

}  // namespace rows
