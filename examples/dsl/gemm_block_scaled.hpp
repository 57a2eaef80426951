#pragma once
/// @file gemm_block_scaled.hpp
/// A GEMM of matrices with scale factors, for the tensor cores of sm_100a: C = A B^T, where every 32 or 16
/// elements of a row of A (m rows) and of B (n rows) have a scale factor that they are multiplied by. The
/// kinds are .mxf8f6f4 with elements of .e4m3 or .e5m2, .mxf4 and .mxf4nvf4, whose elements are .e2m1, two a
/// byte, the first in the lower half. C is .f32. Any m, n and depth but 0, the depth a multiple of the block.
///
/// Scale factors are in memory as ScaleTile::offset has them, a tile for each 128 rows and 4 blocks that are
/// begun. What is beyond the last row and block of the last tile is any number, as long as it is one.
///
/// Arguments: tensor maps of A, of B and of their scale factors (BlockScaledGemm::map_…); u64 c; u32 m, n,
/// depth; u32 ldc (elements from row to row, an even number). One site, `epilogue`: mod f32 acc, in u32 row,
/// in u32 col.

#include <utility>

#include "tcgen05_kernel.hpp"

namespace gemm {

/// The elements of A and B, their scale factors and how many of them have one; a tile's columns and how many
/// stages there are.
struct BlockScaledShape {
    MmaKind kind = MmaKind::mxf8f6f4;
    MmaType type = MmaType::e4m3;
    std::uint32_t block = 32;
    MmaType scale = MmaType::ue8m0;
    std::uint32_t tile_n = 128, stages = 5;

    /// A step: 128 bytes of a row of A or B.
    [[nodiscard]] constexpr std::uint32_t depth() const { return kind == MmaKind::mxf8f6f4 ? 128 : 256; }
    /// Tiles of scale factors in a step: of A, and of B.
    [[nodiscard]] constexpr std::uint32_t tiles_along() const {
        return ScaleTile::tiles_of_blocks(depth() / block);
    }
    [[nodiscard]] constexpr std::uint32_t tiles_a() const { return tiles_along(); }
    [[nodiscard]] constexpr std::uint32_t tiles_b() const {
        return tiles_along() * ScaleTile::tiles_of_rows(tile_n);
    }
    [[nodiscard]] constexpr Tcgen05Frame frame() const {
        const std::uint32_t tiles = tiles_a() + tiles_b();
        return {.tile_n = tile_n,
                .tile_depth = depth(),
                .stages = stages,
                .stage_bytes = 128 * (128 + tile_n) + ScaleTile::bytes * tiles,
                .accumulators = tile_n == 128 ? 2u : 1u,
                .other_columns = stages * ScaleTile::columns * tiles};
    }
    [[nodiscard]] constexpr InstructionDescriptor instruction() const {
        return {.kind = kind, .n = tile_n, .a = type, .b = type, .block = block, .scale = scale};
    }
};

template <BlockScaledShape S> class BlockScaledGemm;

/// Emits the kernel.
template <BlockScaledShape S = BlockScaledShape{}>
void emit_gemm_block_scaled(Module& module, std::string_view name = "gemm_block_scaled") {
    BlockScaledGemm<S> gemm(module, name);
    emit_roles(
        gemm, [&] { gemm.copy(); }, [&] { gemm.make_descriptors(); },
        [&] {
            gemm.copy_scales();  // tcgen05.cp
            gemm.multiply();
        });
}

template <BlockScaledShape S> class BlockScaledGemm : public Tcgen05Kernel<S.frame()> {
    using Base = Tcgen05Kernel<S.frame()>;

  public:
    static constexpr InstructionDescriptor instruction = S.instruction();
    static constexpr SharedDescriptor rows{descriptor_of(tile_of(128))};  // of A and of B
    static constexpr std::uint32_t a_bytes = 128 * 128, b_bytes = 128 * S.tile_n,
                                   scales_a_bytes = ScaleTile::bytes * S.tiles_a();
    static constexpr std::uint32_t products = S.depth() / instruction.depth();  // of a step
    static_assert(S.tile_n == 128 || S.tile_n == 256);
    static_assert(products == 4 && S.tiles_along() * ScaleTile::blocks == products * instruction.scales());

    /// Tensor maps of A and of B, but for the address; the bytes from row to row are a multiple of 16.
    static ptxgraft::TensorMapOptions map_a(std::uint32_t rows, std::uint32_t depth,
                                            std::uint64_t row_bytes) {
        return map_of(rows, depth, row_bytes, 128);
    }
    static ptxgraft::TensorMapOptions map_b(std::uint32_t rows, std::uint32_t depth,
                                            std::uint64_t row_bytes) {
        return map_of(rows, depth, row_bytes, S.tile_n);
    }
    /// Of the scale factors of A and of B.
    static ptxgraft::TensorMapOptions map_scales_a(std::uint32_t rows, std::uint32_t depth) {
        return map_of_scales(rows, depth, 1);
    }
    static ptxgraft::TensorMapOptions map_scales_b(std::uint32_t rows, std::uint32_t depth) {
        return map_of_scales(rows, depth, ScaleTile::tiles_of_rows(S.tile_n));
    }

  private:
    friend void emit_gemm_block_scaled<S>(Module& module, std::string_view name);

    static ptxgraft::TensorMapOptions map_of(std::uint32_t rows, std::uint32_t depth, std::uint64_t row_bytes,
                                             std::uint32_t box_rows) {
        return {.dims = {depth * 128 / S.depth(), rows},  // in bytes
                .strides = {row_bytes},
                .box = {128, box_rows},
                .swizzle = ptxgraft::TensorSwizzle::bytes128,
                .l2 = ptxgraft::TensorL2Promotion::bytes128};
    }
    // A row of the tensor is all that 128 rows have, in pieces of 8 bytes.
    static ptxgraft::TensorMapOptions map_of_scales(std::uint32_t rows, std::uint32_t depth,
                                                    std::uint32_t box_rows) {
        const std::uint32_t along = ScaleTile::tiles_of_blocks((depth + S.block - 1) / S.block);
        return {.type = ptxgraft::TensorType::u64,
                .dims = {along * ScaleTile::bytes / 8, ScaleTile::tiles_of_rows(rows)},
                .strides = {along * ScaleTile::bytes},
                .box = {S.tiles_along() * ScaleTile::bytes / 8, box_rows}};
    }

    BlockScaledGemm(Module& module, std::string_view name)
        : Base(module, name),
          map_of_a(this->map("a")),
          map_of_b(this->map("b")),
          map_of_scales_a(this->map("scales_a")),
          map_of_scales_b(this->map("scales_b")) {}

    void copy() {
        const auto barrier = this->expect_copies();
        const auto to = value(k, here.stage) * Base::stage_pitch + this->begin;
        const auto byte = value(k, step) / (S.depth() / 128);
        const auto scale = value(k, step) / S.depth() * (S.tiles_along() * ScaleTile::bytes / 8);
        const auto tile_a = value(k, this->row) / ScaleTile::rows,
                   tile_b = value(k, this->col) / ScaleTile::rows;
        Base::copy(to, 0, map_of_a, byte, this->row, barrier);
        Base::copy(to, a_bytes, map_of_b, byte, this->col, barrier);
        Base::copy(to, a_bytes + b_bytes, map_of_scales_a, scale, tile_a, barrier);
        Base::copy(to, a_bytes + b_bytes + scales_a_bytes, map_of_scales_b, scale, tile_b, barrier);
        advance(k, here, S.stages);
    }

    void make_descriptors() {
        a_first = shared_descriptor<rows>(k, this->begin);
        b_first = shared_descriptor<rows>(k, value(k, this->begin) + a_bytes);
        scales_first = shared_descriptor<scale_descriptor>(k, value(k, this->begin) + (a_bytes + b_bytes));
        // Of the products of a step, which differ in the bytes of a cell that are theirs.
        [this]<std::size_t... I>(std::index_sequence<I...>) {
            (k.template emit<"mov.u32">(product[I], bits_of<instruction.with_scales(first_scale(I) % 4)>),
             ...);
        }
        (std::make_index_sequence<products>());
    }
    static constexpr std::uint32_t first_scale(std::uint32_t i) { return i * instruction.scales(); }

    // Into columns of the stage's own, which its products are done with when it is full again: tiles of A in
    // the order of the steps, then those of B for all columns of C at a time.
    void copy_scales() {
        const auto from = k.template reg<u64>();
        k.template emit<"mad.wide.u32">(from, here.stage, MatrixDescriptor::advance(Base::stage_pitch),
                                        scales_first);
        scales = value(k, here.stage) * (ScaleTile::columns * (S.tiles_a() + S.tiles_b())) + this->tensor;
        k.template emit<"add.u32">(scales, scales, S.frame().accumulators * S.tile_n);
        for (std::uint32_t i = 0; i < S.tiles_a(); ++i) copy_tile(from, i, i);
        for (std::uint32_t i = 0; i < S.tiles_b(); ++i)
            copy_tile(from, S.tiles_a() + i,
                      S.tiles_a() + i % S.tiles_along() * rows_b + i / S.tiles_along());
    }
    static constexpr std::uint32_t rows_b = ScaleTile::tiles_of_rows(S.tile_n);
    void copy_tile(Reg<u64> from, std::uint32_t at_memory, std::uint32_t at_columns) {
        k.template emit<"tcgen05.cp.cta_group::1.32x128b.warpx4">(
            at(scales, ScaleTile::columns * at_columns),
            value(k, from) + MatrixDescriptor::advance(ScaleTile::bytes * at_memory));
    }
    void multiply() {
        const auto a = k.template reg<u64>(), b = k.template reg<u64>();
        constexpr auto stage = MatrixDescriptor::advance(Base::stage_pitch);
        k.template emit<"mad.wide.u32">(a, here.stage, stage, a_first);
        k.template emit<"mad.wide.u32">(b, here.stage, stage, b_first);
        const auto d = k.template reg<b32>(), of_a = k.template reg<b32>(), of_b = k.template reg<b32>();
        k.template emit<"mad.lo.u32">(d, this->accumulator.stage, S.tile_n, this->tensor);
        const Pred accumulate = value(k, step) != 0;
        for (std::uint32_t i = 0; i < products; ++i) {
            const auto along = MatrixDescriptor::advance(rows.along_k(i));
            const std::uint32_t tile = first_scale(i) / ScaleTile::blocks;
            k.template emit<"add.u32">(of_a, scales, ScaleTile::columns * tile);
            k.template emit<"add.u32">(of_b, scales, ScaleTile::columns * (S.tiles_a() + rows_b * tile));
            k.template emit<tcgen05_mma<instruction>>(at(d), value(k, a) + along, value(k, b) + along,
                                                      product[i], at(of_a), at(of_b),
                                                      i == 0 ? accumulate : this->always);
        }
    }

    using Base::here, Base::step;
    FunctionBuilder<sm_100a>& k = Base::k;
    Reg<u64> map_of_a, map_of_b, map_of_scales_a, map_of_scales_b;
    Reg<u64> a_first = {}, b_first = {}, scales_first = {};          // descriptors in the first stage
    Reg<u32> scales = {};                                            // where the stage's are in tensor memory
    Regs<u32, products> product = k.template regs<u32, products>();  // the instruction's descriptors
};

}  // namespace gemm
