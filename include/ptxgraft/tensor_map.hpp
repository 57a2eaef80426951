#pragma once
/// @file tensor_map.hpp
/// Tensor maps: what `cp.async.bulk.tensor` needs to know of a tensor in global memory and of the boxes that
/// it copies (PTX ISA 5.5.8; CUDA Driver API, "Tensor Map Object Management"). Device::encode_tensor_map
/// makes one for a GPU or for the emulator; a kernel takes it by value, as a `.param .align 64 .b8 map[128]`.
///
/// @code
/// // 64 x 64 boxes of a row-major bf16 matrix of 256 rows and 128 columns.
/// auto map = device.encode_tensor_map({.type = TensorType::bf16, .address = a.address(),
///                                      .dims = {128, 256}, .strides = {256}, .box = {64, 64},
///                                      .swizzle = TensorSwizzle::bytes128});
/// kernel.launch(config, {*map, …});
/// @endcode

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ptxgraft {

/// Types of elements; the values are those of CUtensorMapDataType. `f32_ftz` and `tf32_ftz` make subnormals
/// zero, `tf32` and `tf32_ftz` round to tf32, as elements are copied. The last three are packed: dims and
/// boxes count 4-bit and 6-bit elements, of which sixteen take 8, 8 and 12 bytes in global and 8, 16 and 16
/// in shared memory (PTX ISA 5.5.1).
enum class TensorType : std::uint8_t {
    u8,
    u16,
    u32,
    s32,
    u64,
    s64,
    f16,
    f32,
    f64,
    bf16,
    f32_ftz,
    tf32,
    tf32_ftz,
    b4x16,
    b4x16_p64,
    b6x16_p32
};

/// Interleaved layouts: dimension 0 is a slice of channels, of 16 or 32 bytes (PTX ISA 5.5.6).
enum class TensorInterleave : std::uint8_t { none, bytes16, bytes32 };

/// How a box lies in shared memory (PTX ISA 5.5.7): pieces of 16 bytes (or of 32, or of 64) change places
/// within spans of 32, 64 or 128 bytes.
enum class TensorSwizzle : std::uint8_t {
    none,
    bytes32,
    bytes64,
    bytes128,
    bytes128_atom32,
    bytes128_atom32_flip8,
    bytes128_atom64
};

/// A hint: how much the L2 cache fetches at a time.
enum class TensorL2Promotion : std::uint8_t { none, bytes64, bytes128, bytes256 };

/// What a load gives for elements outside of the tensor. `nan` is for floating-point types.
enum class TensorFill : std::uint8_t { zero, nan };

/// The im2col mode in place of boxes (PTX ISA 5.5.4), for tensors of 3 to 5 dimensions: C, W, H, D, N from
/// the innermost on. Corners are offsets from the tensor's own corners, for W, H and D.
struct TensorIm2col {
    std::vector<std::int32_t> lower_corner = {}, upper_corner = {};
    std::uint32_t channels_per_pixel = 0;
    std::uint32_t pixels_per_column = 0;
};

/// A tensor and its boxes; all lists begin with the innermost dimension. The rules are those of
/// cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col.
struct TensorMapOptions {
    TensorType type = TensorType::u8;
    std::uint64_t address = 0;                ///< in global memory; a multiple of 16
    std::vector<std::uint64_t> dims = {};     ///< in elements, one to five
    std::vector<std::uint64_t> strides = {};  ///< in bytes, from the second dimension on; multiples of 16
    std::vector<std::uint32_t> box = {};      ///< in elements; empty with `im2col`
    std::vector<std::uint32_t> element_strides = {};  ///< empty: all 1
    TensorInterleave interleave = TensorInterleave::none;
    TensorSwizzle swizzle = TensorSwizzle::none;
    TensorL2Promotion l2 = TensorL2Promotion::none;
    TensorFill fill = TensorFill::zero;
    std::optional<TensorIm2col> im2col = std::nullopt;
};

/// An encoded map: opaque, and of use only on devices of the kind that encoded it.
struct alignas(64) TensorMap {
    std::array<std::byte, 128> bytes;
};

}  // namespace ptxgraft
