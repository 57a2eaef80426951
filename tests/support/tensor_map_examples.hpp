#pragma once
// Tensor maps that the driver takes, for tests that change something of them.
#include "tensor/tensor_map.hpp"

namespace ptxgraft::tensor {

inline TensorMapOptions good() {
    return {.type = TensorType::f16,
            .address = 0x10000,
            .dims = {64, 32, 8},
            .strides = {128, 4096},
            .box = {64, 16, 2},
            .swizzle = TensorSwizzle::bytes128};
}
inline TensorIm2col good_im2col() {
    return {
        .lower_corner = {-1, -1}, .upper_corner = {-1, -1}, .channels_per_pixel = 8, .pixels_per_column = 64};
}
inline TensorMapOptions good_convolution() {
    return {.type = TensorType::f16,
            .address = 0x10000,
            .dims = {64, 9, 14, 64},
            .strides = {128, 1152, 16128},
            .im2col = good_im2col()};
}

}  // namespace ptxgraft::tensor
