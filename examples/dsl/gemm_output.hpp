#pragma once
/// @file gemm_output.hpp
/// What all GEMMs have: how matrices may lie, and how they end: what a thread has of a row of C goes through
/// the site and, where C has such elements, to global memory.

#include <span>
#include <vector>

#include "ptxgraft/dsl.hpp"

namespace gemm {

using namespace ptxgraft::dsl;

/// How B lies: K-major, n rows of `depth` elements; or N-major, `depth` rows of n.
enum class Major : std::uint8_t { k, mn };

/// C: row-major .f32, m rows of n columns, rows `ld` elements apart, an even number.
struct Output {
    Reg<u64> address;
    Reg<u32> m, n, ld;
    std::vector<SiteArgument> more = {};  // that the site has
};

/// Columns of a row whose accumulators a thread has: `col` and `col` + 1, and the same `step` columns on, and
/// on.
struct OutputRow {
    Reg<u32> row, col;
    std::span<const Regs<f32, 2>> pairs;
    std::uint32_t step = 8;
};

/// The site that every element goes through, on its way from the accumulators. It is asked about elements
/// beyond the last row and column too, whose results are dropped.
template <Target On>
void epilogue_site(FunctionBuilder<On>& k, const Output& c, Reg<f32> acc, Reg<u32> row, Reg<u32> col) {
    std::vector<SiteArgument> arguments = {mod("acc", acc), in("row", row), in("col", col)};
    arguments.insert(arguments.end(), c.more.begin(), c.more.end());
    k.site("epilogue", arguments, {.heat = ptxgraft::Heat::cold}, [] {});
}

template <Target On> void store_row(FunctionBuilder<On>& k, const Output& c, const OutputRow& of) {
    const auto has_both = k.template reg<pred>(), has_one = k.template reg<pred>();
    const auto first = k.template reg<u32>(), second = k.template reg<u32>();
    const auto offset = k.template reg<u64>(), column = k.template reg<u64>();
    const Pred is_row = value(k, of.row) < c.m;
    k.template emit<"mul.wide.u32">(offset, of.row, c.ld);
    k.template emit<"cvt.u64.u32">(column, of.col);
    const auto at_row = ((value(k, offset) + column) << 2) + c.address;
    for (std::uint32_t i = 0; i < of.pairs.size(); ++i) {
        k.template emit<"add.u32">(first, of.col, of.step * i);
        k.template emit<"add.u32">(second, of.col, of.step * i + 1);
        epilogue_site(k, c, of.pairs[i][0], of.row, first);
        epilogue_site(k, c, of.pairs[i][1], of.row, second);
        // Of an odd number of columns the last one stands alone.
        k.template emit<"setp.lt.and.u32">(has_both, second, c.n, is_row);
        k.template emit<"setp.eq.and.u32">(has_one, second, c.n, is_row);
        k.if_(has_both).template emit<"st.global.v2.f32">(at(at_row, 4 * of.step * i), of.pairs[i]);
        k.if_(has_one).template emit<"st.global.f32">(at(at_row, 4 * of.step * i), of.pairs[i][0]);
    }
}

}  // namespace gemm
