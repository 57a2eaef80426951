#pragma once
/// @file tensor_map.hpp
/// Tensor maps of the emulator: 128 bytes of a layout of its own, which programs treat as opaque. They know
/// nothing of memory or of a running program.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ptxgraft/error.hpp"
#include "ptxgraft/tensor_map.hpp"

namespace ptxgraft::tensor {

inline constexpr unsigned most_tensor_dims = 5;

/// PTX ISA 9.7.9.28, table 33: the values of .swizzle_mode and .swizzle_atomicity.
enum class SwizzleMode : std::uint8_t { none, bytes32, bytes64, bytes128, bytes96 };
enum class SwizzleAtomicity : std::uint8_t { bytes16, bytes32, bytes32_flip8, bytes64 };

/// What the 128 bytes hold. A program may write anything there, so nothing is relied on before `decode` has
/// checked it.
///
/// CuTe clears bit 21 of the second word of the maps of small tensors, to mend what drivers up to 13.1
/// encode: here that bit is 0 in every map.
struct alignas(64) MapFields {
    std::uint64_t address;
    std::uint64_t magic;
    std::uint64_t dims[most_tensor_dims];         ///< in elements
    std::uint64_t strides[most_tensor_dims - 1];  ///< in bytes, from dimension 1 on
    std::uint16_t box[most_tensor_dims];          ///< in elements
    std::int16_t lower_corner[3], upper_corner[3];
    std::uint16_t channels_per_pixel, pixels_per_column;
    std::uint8_t element_strides[most_tensor_dims];
    TensorType type;
    std::uint8_t rank;
    TensorInterleave interleave;
    SwizzleMode swizzle;
    SwizzleAtomicity atomicity;
    TensorFill fill;
    TensorL2Promotion l2;
    std::uint8_t is_im2col;
    std::uint8_t unused;
};
static_assert(sizeof(MapFields) == sizeof(TensorMap));

/// What the elements of a type are in memory: `elements` of them together take `global_bytes` in global and
/// `shared_bytes` in shared memory.
struct TypeUnit {
    std::uint8_t elements, global_bytes, shared_bytes;
    bool is_floating;
    std::string_view name;
};
[[nodiscard]] const TypeUnit& unit_of(TensorType type);

/// Makes a map. Errc::tensor_map_invalid names the rule that is broken and what would be right.
[[nodiscard]] Expected<TensorMap> encode(const TensorMapOptions& options);

/// Reads the 128 bytes of a map. Errors: Errc::tensor_map_unknown; Errc::tensor_map_invalid, for a map whose
/// fields `replace` has made disagree.
[[nodiscard]] Expected<MapFields> decode(const std::byte* map);

/// The fields that `tensormap.replace` can write (PTX ISA 9.7.9.28), with PTX's names.
enum class MapField : std::uint8_t {
    global_address,
    rank,
    box_dim,
    global_dim,
    global_stride,
    element_stride,
    elemtype,
    interleave_layout,
    swizzle_mode,
    swizzle_atomicity,
    fill_mode
};

/// Replaces one field of the 128 bytes of a map, or of zeros, which become one. `ordinal` counts dimensions
/// from 0 (for global_stride: strides); `value` is what the instruction says (for rank: one less than the
/// rank). Values that no map can have are Errc::tensor_map_invalid; whether the fields agree with each other
/// is for `decode`.
[[nodiscard]] Expected<void> replace(std::byte* map, MapField field, std::uint32_t ordinal,
                                     std::uint64_t value);

/// Elements of a box along a dimension: its extent over the traversal stride, rounded up. The stride of
/// dimension 0 counts only in interleaved layouts.
[[nodiscard]] std::uint32_t box_elements(const MapFields& map, unsigned dimension);

/// Where the byte of a box that would lie at a shared address lies when it is swizzled. The pattern is one of
/// address bits, so it does not begin with the box.
[[nodiscard]] std::uint32_t swizzled(const MapFields& map, std::uint32_t shared_address);

}  // namespace ptxgraft::tensor
