#pragma once
/// @file grouped_gemm.hpp
/// Products of many sizes in one launch, as the experts of a mixture have them: C[i] = A[i] B[i]^T for each
/// product of an array in global memory, by the parts of gemm_mma.hpp. Any m, n and depth, 0 among them.
///
/// Blocks stay, and take tile after tile of all products as if they were one row of tiles.
///
/// Arguments: u64 products (an array of GroupedProduct); u32 count. One site, `epilogue`: mod f32 acc, in u32
/// row, in u32 col, in u32 product.

#include <cstddef>
#include <span>

#include "gemm_mma.hpp"

namespace gemm {

/// A product in the array: addresses and numbers as gemm_mma.hpp's arguments.
struct alignas(16) GroupedProduct {
    std::uint64_t a = 0, b = 0, c = 0;
    std::uint32_t m = 0, n = 0, depth = 0, lda = 0, ldb = 0, ldc = 0;
};

inline Product load_product(FunctionBuilder<sm_80>& k, Reg<u64> address);

/// Emits the kernel.
template <MmaShape S = MmaShape{}>
void emit_grouped_gemm(Module& module, std::string_view name = "grouped_gemm") {
    MmaGemm<S> gemm(module, name);
    auto& k = gemm.k;
    const auto address = k.template argument<u64>("products");
    const auto count = k.template argument<u32>("count"), number = k.template reg<u32>();
    const TileSchedule schedule(k);
    k.template emit<"cvta.to.global.u64">(address, address);
    k.template emit<"mov.u32">(number, 0);
    gemm.find_thread();
    k.loop([&](Label end) {
        k.if_(value(k, number) == count).template emit<"bra">(end);
        Product product = load_product(k, address);  // ld.global
        product.c.more = {in("product", number)};
        const TileGrid tiles = {tiles_over(k, product.c.m, S.tile_m), tiles_over(k, product.c.n, S.tile_n)};
        schedule.for_each(tiles, [&](const TilePlace& tile) {
            gemm.find_tile(product, tile);
            multiply_by_mma(gemm);  // cp.async, ldmatrix, mma.sync
            gemm.store();           // the site, st.global
        });
        k.template emit<"add.u64">(address, address, sizeof(GroupedProduct));
        k.template emit<"add.u32">(number, number, 1);
    });
    k.template emit<"ret">();
}

/// The launch for these products on a device that has so many multiprocessors.
template <MmaShape S = MmaShape{}>
ptxgraft::LaunchConfig launch_grouped(std::span<const GroupedProduct> products,
                                      std::uint32_t multiprocessors) {
    std::uint32_t tiles = 0;
    for (const GroupedProduct& of : products) {
        const auto grid = MmaGemm<S>::launch(of.m, of.n).grid;
        tiles += grid.x * grid.y;
    }
    auto config = MmaGemm<S>::launch(1, 1);
    config.grid = {std::clamp(tiles, 1u, 2 * multiprocessors)};
    return config;
}

inline Product load_product(FunctionBuilder<sm_80>& k, Reg<u64> address) {
    const auto abc = k.regs<u64, 3>();
    const auto numbers = k.regs<u32, 6>();
    const auto [m, n, depth, lda, ldb, ldc] = numbers;
    k.emit<"ld.global.v2.u64">(vec(abc[0], abc[1]), at(address));
    k.emit<"ld.global.u64">(abc[2], at(address, offsetof(GroupedProduct, c)));
    k.emit<"ld.global.v2.u32">(vec(m, n), at(address, offsetof(GroupedProduct, m)));
    k.emit<"ld.global.v4.u32">(vec(depth, lda, ldb, ldc), at(address, offsetof(GroupedProduct, depth)));
    const Product of = {abc[0], abc[1], depth, lda, ldb, {abc[2], m, n, ldc}};
    to_global(k, of);
    return of;
}

}  // namespace gemm
