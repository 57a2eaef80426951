#pragma once
/// @file gemm_tcgen05.hpp
/// A GEMM for the tensor cores of sm_100a: C = A B^T, where A has m rows and B has n, both of `depth`
/// elements of .f16, .bf16, .e4m3 or .e5m2, row-major; C is .f32. Any m, n and depth but 0: tensor copies
/// give zeros for what is beyond an edge of A and B, and what is beyond one of C is not stored.
///
/// Arguments: tensor maps of A and B (Tcgen05Gemm::map_a, map_b); u64 c; u32 m, n, depth; u32 ldc (elements
/// from row to row, an even number). One site, `epilogue`: mod f32 acc, in u32 row, in u32 col.

#include "tcgen05_kernel.hpp"

namespace gemm {

/// The elements of A and B, how many blocks are on a tile of C, its columns (its rows are 128 a block), and
/// how many stages of A and B there are.
struct Tcgen05Shape {
    MmaType type = MmaType::bf16;
    std::uint32_t blocks = 1, tile_n = 256, stages = 4;

    [[nodiscard]] constexpr bool has_bytes() const { return type == MmaType::e4m3 || type == MmaType::e5m2; }
    /// 128 bytes of a row of A or B are a step.
    [[nodiscard]] constexpr Tcgen05Frame frame() const {
        return {.blocks = blocks,
                .tile_n = tile_n,
                .tile_depth = has_bytes() ? 128u : 64u,
                .stages = stages,
                .stage_bytes = 128 * (128 + tile_n / blocks)};
    }
    [[nodiscard]] constexpr InstructionDescriptor instruction() const {
        return {.kind = has_bytes() ? MmaKind::f8f6f4 : MmaKind::f16,
                .cta_group = blocks,
                .m = 128 * blocks,
                .n = tile_n,
                .a = type,
                .b = type};
    }
};

template <Tcgen05Shape S> class Tcgen05Gemm;

/// Emits the kernel.
template <Tcgen05Shape S = Tcgen05Shape{}>
void emit_gemm_tcgen05(Module& module, std::string_view name = "gemm_tcgen05") {
    Tcgen05Gemm<S> gemm(module, name);
    emit_roles(
        gemm, [&] { gemm.copy(); }, [&] { gemm.make_descriptors(); }, [&] { gemm.multiply(); });
}

template <Tcgen05Shape S> class Tcgen05Gemm : public Tcgen05Kernel<S.frame()> {
    using Base = Tcgen05Kernel<S.frame()>;

  public:
    static constexpr InstructionDescriptor instruction = S.instruction();
    static constexpr SharedDescriptor rows{descriptor_of(tile_of(128))};  // of A and of B
    static constexpr std::uint32_t a_bytes = 128 * 128, b_rows = S.tile_n / S.blocks;
    static_assert(128 / 32 * instruction.depth() == S.frame().tile_depth &&
                  instruction.columns() == S.tile_n);
    static_assert(takes_a(instruction, rows) && takes_b(instruction, rows));

    /// Tensor maps of A and of B, but for the address; the bytes from row to row are a multiple of 16.
    static ptxgraft::TensorMapOptions map_a(std::uint32_t rows, std::uint32_t depth,
                                            std::uint64_t row_bytes) {
        return map_of(rows, depth, row_bytes, 128);
    }
    static ptxgraft::TensorMapOptions map_b(std::uint32_t rows, std::uint32_t depth,
                                            std::uint64_t row_bytes) {
        return map_of(rows, depth, row_bytes, b_rows);
    }

  private:
    friend void emit_gemm_tcgen05<S>(Module& module, std::string_view name);

    static ptxgraft::TensorMapOptions map_of(std::uint32_t rows, std::uint32_t depth, std::uint64_t row_bytes,
                                             std::uint32_t box_rows) {
        return {.type = S.has_bytes()            ? ptxgraft::TensorType::u8
                        : S.type == MmaType::f16 ? ptxgraft::TensorType::f16
                                                 : ptxgraft::TensorType::bf16,
                .dims = {depth, rows},
                .strides = {row_bytes},
                .box = {S.frame().tile_depth, box_rows},
                .swizzle = ptxgraft::TensorSwizzle::bytes128,
                .l2 = ptxgraft::TensorL2Promotion::bytes128};
    }

    Tcgen05Gemm(Module& module, std::string_view name)
        : Base(module, name), map_of_a(this->map("a")), map_of_b(this->map("b")) {}

    void copy() {
        const auto barrier = this->expect_copies();
        const auto to = value(k, here.stage) * Base::stage_pitch + this->begin;
        // B's rows, of which each block of a pair has half
        const auto b_row = value(k, this->rank) * (S.blocks == 1 ? 0 : b_rows) + this->col;
        Base::copy(to, 0, map_of_a, step, this->row, barrier);
        Base::copy(to, a_bytes, map_of_b, step, b_row, barrier);
        advance(k, here, S.stages);
    }
    void make_descriptors() {
        a_first = shared_descriptor<rows>(k, this->begin);
        b_first = shared_descriptor<rows>(k, value(k, this->begin) + a_bytes);
        k.template emit<"mov.u32">(product, bits_of<instruction>);
    }
    void multiply() {
        const auto a = k.template reg<u64>(), b = k.template reg<u64>();
        constexpr auto stage = MatrixDescriptor::advance(Base::stage_pitch);
        k.template emit<"mad.wide.u32">(a, here.stage, stage, a_first);
        k.template emit<"mad.wide.u32">(b, here.stage, stage, b_first);
        const auto d = k.template reg<b32>();
        k.template emit<"mad.lo.u32">(d, this->accumulator.stage, S.tile_n, this->tensor);
        const Pred accumulate = value(k, step) != 0;
        for (std::uint32_t i = 0; i < 4; ++i) {
            const auto along = MatrixDescriptor::advance(rows.along_k(i));
            k.template emit<tcgen05_mma<instruction>>(at(d), value(k, a) + along, value(k, b) + along,
                                                      product, i == 0 ? accumulate : this->always);
        }
    }

    using Base::here, Base::step;
    FunctionBuilder<sm_100a>& k = Base::k;
    Reg<u64> map_of_a, map_of_b;
    Reg<u64> a_first = {}, b_first = {};       // descriptors in the first stage
    Reg<u32> product = k.template reg<u32>();  // the instruction's descriptor
};

}  // namespace gemm
