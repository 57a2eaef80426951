#ifndef PTXGRAFT_C_TENSOR_H
#define PTXGRAFT_C_TENSOR_H
/**
 * @file tensor.h
 * Tensor maps, and the bounds of tensor-core sums.
 */

#include "ptxgraft/c/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Types of a tensor's elements: the values are those of CUtensorMapDataType. */
typedef enum ptxgraft_tensor_type PTXGRAFT_C_ENUM {
    PTXGRAFT_TENSOR_u8 = 0,
    PTXGRAFT_TENSOR_u16 = 1,
    PTXGRAFT_TENSOR_u32 = 2,
    PTXGRAFT_TENSOR_s32 = 3,
    PTXGRAFT_TENSOR_u64 = 4,
    PTXGRAFT_TENSOR_s64 = 5,
    PTXGRAFT_TENSOR_f16 = 6,
    PTXGRAFT_TENSOR_f32 = 7,
    PTXGRAFT_TENSOR_f64 = 8,
    PTXGRAFT_TENSOR_bf16 = 9,
    PTXGRAFT_TENSOR_f32_ftz = 10,
    PTXGRAFT_TENSOR_tf32 = 11,
    PTXGRAFT_TENSOR_tf32_ftz = 12,
    PTXGRAFT_TENSOR_b4x16 = 13,
    PTXGRAFT_TENSOR_b4x16_p64 = 14,
    PTXGRAFT_TENSOR_b6x16_p32 = 15
} ptxgraft_tensor_type;
typedef enum ptxgraft_tensor_interleave PTXGRAFT_C_ENUM {
    PTXGRAFT_INTERLEAVE_none = 0,
    PTXGRAFT_INTERLEAVE_16B = 1,
    PTXGRAFT_INTERLEAVE_32B = 2
} ptxgraft_tensor_interleave;
typedef enum ptxgraft_tensor_swizzle PTXGRAFT_C_ENUM {
    PTXGRAFT_SWIZZLE_none = 0,
    PTXGRAFT_SWIZZLE_32B = 1,
    PTXGRAFT_SWIZZLE_64B = 2,
    PTXGRAFT_SWIZZLE_128B = 3,
    PTXGRAFT_SWIZZLE_128B_atom_32B = 4,
    PTXGRAFT_SWIZZLE_128B_atom_32B_flip_8B = 5,
    PTXGRAFT_SWIZZLE_128B_atom_64B = 6
} ptxgraft_tensor_swizzle;
typedef enum ptxgraft_tensor_l2_promotion PTXGRAFT_C_ENUM {
    PTXGRAFT_L2_PROMOTION_none = 0,
    PTXGRAFT_L2_PROMOTION_64B = 1,
    PTXGRAFT_L2_PROMOTION_128B = 2,
    PTXGRAFT_L2_PROMOTION_256B = 3
} ptxgraft_tensor_l2_promotion;
typedef enum ptxgraft_tensor_fill PTXGRAFT_C_ENUM {
    PTXGRAFT_FILL_zero = 0,
    PTXGRAFT_FILL_nan = 1
} ptxgraft_tensor_fill;

/** A tensor in a buffer, and what `cp.async.bulk.tensor` copies of it; what each value may be is said at
    cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col. Arrays begin with the innermost dimension.

    Without the last four fields the mode is that of tiles: a copy takes a box. With them it is im2col (PTX
    ISA 5.5.4), for tensors of 3 to 5 dimensions C, W, H, D, N: `box` is null, and a copy takes
    `channels_per_pixel` elements of each of `pixels_per_column` pixels, which it counts within the bounding
    box of W, H and D that the corners leave, row after row and image after image. */
typedef struct ptxgraft_tensor_map_options {
    size_t struct_size;
    size_t offset; /**< of the tensor's first element in the buffer; a multiple of 16 */
    ptxgraft_tensor_type type;
    uint32_t rank;        /**< 1 to 5 */
    const uint64_t* dims; /**< rank numbers, in elements */
    const uint64_t*
        strides; /**< rank - 1 numbers, in bytes, from the second dimension on; may be null for rank 1 */
    const uint32_t* box;             /**< rank numbers, in elements; null with im2col */
    const uint32_t* element_strides; /**< rank numbers; null: all 1 */
    ptxgraft_tensor_interleave interleave;
    ptxgraft_tensor_swizzle swizzle;
    ptxgraft_tensor_l2_promotion l2_promotion;
    ptxgraft_tensor_fill fill;
    /* im2col */
    const int32_t* lower_corner; /**< rank - 2 numbers: from the first pixel to the first of the box */
    const int32_t* upper_corner; /**< rank - 2 numbers: from the last pixel to the last of the box */
    uint32_t channels_per_pixel; /**< 1 to 256 */
    uint32_t pixels_per_column;  /**< 1 to 1024 */
} ptxgraft_tensor_map_options;
#define PTXGRAFT_TENSOR_MAP_OPTIONS_INIT                                                                     \
    {                                                                                                        \
        sizeof(ptxgraft_tensor_map_options), 0, PTXGRAFT_TENSOR_u8, 0, NULL, NULL, NULL, NULL,               \
            PTXGRAFT_INTERLEAVE_none, PTXGRAFT_SWIZZLE_none, PTXGRAFT_L2_PROMOTION_none, PTXGRAFT_FILL_zero, \
            NULL, NULL, 0, 0                                                                                 \
    }

/** Opaque: an argument of a kernel, by value (PTXGRAFT_VALUE). Final. */
typedef struct ptxgraft_tensor_map {
    uint64_t words[16];
} ptxgraft_tensor_map;
/** Makes the tensor map of a tensor in a buffer, for kernels on the buffer's device. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_tensor_map_encode(ptxgraft_tensor_map* map,
                                                          const ptxgraft_buffer* buffer,
                                                          const ptxgraft_tensor_map_options* options);

/* ---- Tolerance of tensor-core sums (tolerance.hpp says where the bounds come from) ---- */

/** Types of multiplicands; the accumulator is .f32, or .f16. */
typedef enum ptxgraft_product_type PTXGRAFT_C_ENUM {
    PTXGRAFT_PRODUCT_f16 = 0,
    PTXGRAFT_PRODUCT_bf16 = 1,
    PTXGRAFT_PRODUCT_tf32 = 2,
    PTXGRAFT_PRODUCT_e4m3 = 3,
    PTXGRAFT_PRODUCT_e5m2 = 4
} ptxgraft_product_type;
typedef enum ptxgraft_accumulator_type PTXGRAFT_C_ENUM {
    PTXGRAFT_ACCUMULATOR_f32 = 0,
    PTXGRAFT_ACCUMULATOR_f16 = 1
} ptxgraft_accumulator_type;
/** One element of A * B + C. */
typedef struct ptxgraft_sum_options {
    size_t struct_size;
    ptxgraft_product_type type;
    ptxgraft_accumulator_type accumulator;
    uint64_t products; /**< those of the whole matrix product: K */
    double exact;      /**< c plus the sum of the products, computed in double */
    double magnitudes; /**< the sum of the absolute values of the products, computed in double */
} ptxgraft_sum_options;
#define PTXGRAFT_SUM_OPTIONS_INIT \
    { sizeof(ptxgraft_sum_options), PTXGRAFT_PRODUCT_f16, PTXGRAFT_ACCUMULATOR_f32, 0, 0, 0 }
/** Between which values the element lies, in whatever order and precision the hardware adds. A bound is
    infinite where intermediate sums may overflow that way; where both are, NaN is legal as well. An `exact`
    that is infinite or NaN is both bounds, and nothing else is legal. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_sum_get_bounds(double* lowest, double* highest,
                                                       const ptxgraft_sum_options* options);

#ifdef __cplusplus
}
#endif
#endif /* PTXGRAFT_C_TENSOR_H */
