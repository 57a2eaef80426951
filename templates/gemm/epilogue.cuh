#pragma once
/// @file epilogue.cuh
/// What an accumulated element meets on its way to c in those GEMMs: the site, with the scales, the bias and
/// the residual that it may ask for, and the order in which elements lie in shared memory. Where c is, a
/// kernel says by a Result of its own, which has `n` and `extras`.

#include <ptxgraft/site.cuh>

#include "tile.cuh"

namespace gemm {

/// What the epilogue takes besides the accumulators; null where there is none.
struct Extras {
    const float *row_scale, *column_scale, *bias;
    const Out* residual;
};
__device__ inline float float_of(float x) { return x; }
__device__ inline float float_of(unsigned short bits) {
    if constexpr (output == Output::bf16) return __uint_as_float(u32{bits} << 16);
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}
/// Two neighbours of c, the first in the lower half.
__device__ inline u32 pack(float first, float second) {
    u32 both;
    if constexpr (output == Output::bf16)
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
    else
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
    return both;
}

/// An element of an array that is there, else another value. Predicated: no branch, and nothing at all where
/// the stub does not use it.
__device__ inline float load_if(bool is_there, const float* array, u64 index, float otherwise) {
    float value;
    asm("{\n"
        "\t.reg .pred is_there;\n"
        "\tsetp.ne.u32 is_there, %3, 0;\n"
        "\tmov.f32 %0, %2;\n"
        "\t@is_there ld.global.nc.f32 %0, [%1];\n"
        "}"
        : "=&f"(value)
        : "l"(array + index), "f"(otherwise), "r"(static_cast<u32>(is_there)));
    return value;
}
__device__ inline float load_if(bool is_there, const unsigned short* array, u64 index, float) {
    unsigned short bits;
    asm("{\n"
        "\t.reg .pred is_there;\n"
        "\tsetp.ne.u32 is_there, %2, 0;\n"
        "\tmov.b16 %0, 0;\n"
        "\t@is_there ld.global.nc.u16 %0, [%1];\n"
        "}"
        : "=&h"(bits)
        : "l"(array + index), "r"(static_cast<u32>(is_there)));
    return float_of(bits);
}

/// 16 bytes of c's row, zeros where they are not to be loaded.
__device__ inline uint4 load_vector_if(bool is_there, const Out* array, u64 index) {
    uint4 v;
    asm("{\n"
        "\t.reg .pred is_there;\n"
        "\tsetp.ne.u32 is_there, %5, 0;\n"
        "\tmov.u32 %0, 0;\n"
        "\tmov.u32 %1, 0;\n"
        "\tmov.u32 %2, 0;\n"
        "\tmov.u32 %3, 0;\n"
        "\t@is_there ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];\n"
        "}"
        : "=&r"(v.x), "=&r"(v.y), "=&r"(v.z), "=&r"(v.w)
        : "l"(array + index), "r"(static_cast<u32>(is_there)));
    return v;
}
/// The elements of 16 bytes of c's row, and the bytes of such elements.
__device__ inline void unpack(float* values, const uint4& v) {
    const u32 words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (u32 i = 0; i < vector; ++i) {
        if constexpr (output == Output::f32)
            values[i] = __uint_as_float(words[i]);
        else
            values[i] = float_of(static_cast<unsigned short>(words[i / 2] >> i % 2 * 16));
    }
}
__device__ inline uint4 packed(const float* values) {
    if constexpr (output == Output::f32)
        return {__float_as_uint(values[0]), __float_as_uint(values[1]), __float_as_uint(values[2]),
                __float_as_uint(values[3])};
    else
        return {pack(values[0], values[1]), pack(values[2], values[3]), pack(values[4], values[5]),
                pack(values[6], values[7])};
}

/// Of a row, and of a column, what the site may ask for.
struct OfRow {
    u32 row;
    bool inside;
    float scale;
};
struct OfCol {
    u32 col;
    bool inside;
    float scale, bias;
};
__device__ inline OfRow of_row(const Tile& tile, const Extras& extras, u32 row) {
    const bool inside = row < tile.row_end;
    return {row, inside, load_if(inside && extras.row_scale, extras.row_scale, tile.c_row + row, 1.0f)};
}
template <class Result> __device__ inline OfCol of_col(const Tile& tile, const Result& to, u32 col) {
    const bool inside = col < to.n;
    const u64 in_batch = u64{tile.batch_b} * to.n + col;
    return {col, inside, load_if(inside && to.extras.column_scale, to.extras.column_scale, in_batch, 1.0f),
            load_if(inside && to.extras.bias, to.extras.bias, in_batch, 0.0f)};
}

// 8-bit elements have scales, and their products are scaled by default.
#define GEMM_DEFAULT_EPILOGUE_bf16 ""
#define GEMM_DEFAULT_EPILOGUE_f16 ""
#define GEMM_DEFAULT_EPILOGUE_e4m3 "mul.f32 _acc, _acc, _row_scale; mul.f32 _acc, _acc, _col_scale;"
#define GEMM_DEFAULT_EPILOGUE_e5m2 GEMM_DEFAULT_EPILOGUE_e4m3
#define GEMM_DEFAULT_EPILOGUE_OF(TYPE) GEMM_DEFAULT_EPILOGUE_##TYPE
#define GEMM_DEFAULT_EPILOGUE(TYPE) GEMM_DEFAULT_EPILOGUE_OF(TYPE)

/// The site, with an element of c's residual.
__device__ __forceinline__ void apply_epilogue(float& acc, const Tile& tile, const OfRow& r, const OfCol& c,
                                               float residual) {
    PTXGRAFT_COLD_SITE("epilogue", GEMM_DEFAULT_EPILOGUE(TYPE), mod(f32, acc), in(u32, row, r.row),
                       in(u32, col, c.col), in(u32, batch, tile.batch_b), in(f32, row_scale, r.scale),
                       in(f32, col_scale, c.scale), in(f32, bias, c.bias), in(f32, residual, residual));
}
/// The same, which loads the element.
template <class Result>
__device__ __forceinline__ void apply_epilogue(float& acc, const Tile& tile, const Result& to, const OfRow& r,
                                               const OfCol& c) {
    apply_epilogue(acc, tile, r, c,
                   load_if(r.inside && c.inside && to.extras.residual, to.extras.residual,
                           (tile.c_row + r.row) * to.n + c.col, 0.0f));
}

/// Where a warp keeps rows of a chunk in shared memory: 16 bytes of a row, permuted as tensor copies permute
/// rows of 128 bytes.
__device__ inline u32 unit_out(u32 row, u32 unit) { return row * 128 + ((unit ^ row % 8) * 16); }
__device__ inline uint4 load_shared(u32 address) {
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(address)
                 : "memory");
    return v;
}
__device__ inline void store_shared(u32 address, const uint4& v) {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v.x), "r"(v.y), "r"(v.z),
                 "r"(v.w)
                 : "memory");
}

}  // namespace gemm
