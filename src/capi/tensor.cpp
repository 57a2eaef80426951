// Tensor maps and the bounds of tensor-core sums in C.

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"
#include "ptxgraft/tensor_map.hpp"
#include "ptxgraft/tolerance.hpp"

using namespace ptxgraft;
using capi::call;

// The enumerators of ptxgraft.h are those of the C++ headers.
static_assert(PTXGRAFT_TENSOR_b6x16_p32 == int(TensorType::b6x16_p32) &&
              PTXGRAFT_TENSOR_bf16 == int(TensorType::bf16));
static_assert(PTXGRAFT_INTERLEAVE_32B == int(TensorInterleave::bytes32));
static_assert(PTXGRAFT_SWIZZLE_128B == int(TensorSwizzle::bytes128) &&
              PTXGRAFT_SWIZZLE_128B_atom_64B == int(TensorSwizzle::bytes128_atom64));
static_assert(PTXGRAFT_L2_PROMOTION_256B == int(TensorL2Promotion::bytes256));
static_assert(PTXGRAFT_FILL_nan == int(TensorFill::nan));
static_assert(PTXGRAFT_PRODUCT_e5m2 == int(ProductType::e5m2) &&
              PTXGRAFT_ACCUMULATOR_f16 == int(AccumulatorType::f16));

namespace {

template <class T> std::vector<T> list(const T* numbers, std::size_t count) {
    return numbers ? std::vector<T>(numbers, numbers + count) : std::vector<T>();
}

bool is_im2col(const ptxgraft_tensor_map_options& given) {
    return given.lower_corner || given.upper_corner || given.channels_per_pixel || given.pixels_per_column;
}

Expected<void> check_mode(const ptxgraft_tensor_map_options& given) {
    if (!is_im2col(given)) return capi::check_list(given.box, given.rank, "box", "rank");
    if (given.box) return fail(Errc::argument_invalid, "box is given with im2col, which has none");
    if (given.rank < 3)
        return fail(Errc::tensor_map_invalid,
                    "rank is " + std::to_string(given.rank) + "; with im2col it is 3 to 5");
    if (auto valid = capi::check_list(given.lower_corner, given.rank, "lower_corner", "rank"); !valid)
        return valid;
    return capi::check_list(given.upper_corner, given.rank, "upper_corner", "rank");
}

Expected<void> check(const ptxgraft_tensor_map_options& given) {
    if (given.rank < 1 || given.rank > 5)
        return fail(Errc::tensor_map_invalid, "rank is " + std::to_string(given.rank) + "; it is 1 to 5");
    if (auto valid = capi::check_list(given.dims, given.rank, "dims", "rank"); !valid) return valid;
    if (auto valid = check_mode(given); !valid) return valid;
    if (given.rank > 1)
        if (auto valid = capi::check_list(given.strides, given.rank, "strides", "rank"); !valid) return valid;
    return capi::check_enumerators({{"type", given.type, PTXGRAFT_TENSOR_b6x16_p32},
                                    {"interleave", given.interleave, PTXGRAFT_INTERLEAVE_32B},
                                    {"swizzle", given.swizzle, PTXGRAFT_SWIZZLE_128B_atom_64B},
                                    {"l2_promotion", given.l2_promotion, PTXGRAFT_L2_PROMOTION_256B},
                                    {"fill", given.fill, PTXGRAFT_FILL_nan}});
}

std::optional<TensorIm2col> im2col(const ptxgraft_tensor_map_options& given) {
    if (!is_im2col(given)) return std::nullopt;
    return TensorIm2col{.lower_corner = list(given.lower_corner, given.rank - 2),
                        .upper_corner = list(given.upper_corner, given.rank - 2),
                        .channels_per_pixel = given.channels_per_pixel,
                        .pixels_per_column = given.pixels_per_column};
}

TensorMapOptions tensor_map_options(const ptxgraft_tensor_map_options& given) {
    return TensorMapOptions{.type = static_cast<TensorType>(given.type),
                            .address = given.offset,
                            .dims = list(given.dims, given.rank),
                            .strides = list(given.strides, given.rank - 1),
                            .box = list(given.box, given.rank),
                            .element_strides = list(given.element_strides, given.rank),
                            .interleave = static_cast<TensorInterleave>(given.interleave),
                            .swizzle = static_cast<TensorSwizzle>(given.swizzle),
                            .l2 = static_cast<TensorL2Promotion>(given.l2_promotion),
                            .fill = static_cast<TensorFill>(given.fill),
                            .im2col = im2col(given)};
}

}  // namespace

extern "C" {

ptxgraft_status ptxgraft_tensor_map_encode(ptxgraft_tensor_map* map, const ptxgraft_buffer* buffer,
                                           const ptxgraft_tensor_map_options* options) {
    return call({{map, "map"}, {buffer, "buffer"}, {options, "options"}}, [&]() -> Expected<void> {
        const auto given = TRY(capi::options_of(options));
        if (auto valid = check(given); !valid) return valid;
        const auto encoded = TRY(buffer->buffer.encode_tensor_map(tensor_map_options(given)));
        static_assert(sizeof *map == sizeof encoded);
        std::memcpy(map, &encoded, sizeof *map);
        return {};
    });
}

ptxgraft_status ptxgraft_sum_get_bounds(double* lowest, double* highest,
                                        const ptxgraft_sum_options* options) {
    return call({{lowest, "lowest"}, {highest, "highest"}, {options, "options"}}, [&]() -> Expected<void> {
        const auto given = TRY(capi::options_of(options));
        if (auto valid =
                capi::check_enumerators({{"type", given.type, PTXGRAFT_PRODUCT_e5m2},
                                         {"accumulator", given.accumulator, PTXGRAFT_ACCUMULATOR_f16}});
            !valid)
            return valid;
        const SumBounds bounds = legal_sum({.type = static_cast<ProductType>(given.type),
                                            .accumulator = static_cast<AccumulatorType>(given.accumulator),
                                            .products = given.products},
                                           given.exact, given.magnitudes);
        *lowest = bounds.lowest;
        *highest = bounds.highest;
        return {};
    });
}

}  // extern "C"
