#pragma once
/// @file words.hpp
/// The words for tensor maps in files, in the order of the enumerations of tensor_map.hpp, and the strides
/// of what lies there without gaps.

#include <cstdint>
#include <string_view>
#include <vector>

#include "ptxgraft/tensor_map.hpp"

namespace ptxgraft::tensor {

inline constexpr std::string_view type_words[] = {
    "u8",  "u16",  "u32",     "s32",  "u64",      "s64",   "f16",       "f32",
    "f64", "bf16", "f32_ftz", "tf32", "tf32_ftz", "b4x16", "b4x16_p64", "b6x16_p32"};
inline constexpr std::string_view interleave_words[] = {"none", "16B", "32B"};
inline constexpr std::string_view swizzle_words[] = {
    "none", "32B", "64B", "128B", "128B_atom_32B", "128B_atom_32B_flip_8B", "128B_atom_64B"};
inline constexpr std::string_view promotion_words[] = {"none", "64B", "128B", "256B"};
inline constexpr std::string_view fill_words[] = {"zero", "nan"};

/// Of an element.
[[nodiscard]] constexpr std::uint32_t bits_of(TensorType type) {
    constexpr std::uint32_t bits[] = {8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 4, 6};
    return bits[static_cast<unsigned>(type)];
}

/// Bytes from the second dimension on, of a tensor without gaps whose innermost dimension comes first.
[[nodiscard]] inline std::vector<std::uint64_t> dense_strides(const std::vector<std::uint64_t>& dims,
                                                              std::uint64_t bits) {
    std::vector<std::uint64_t> result;
    std::uint64_t bytes = 1;
    for (std::size_t i = 0; i + 1 < dims.size(); ++i) {
        bytes = i == 0 ? dims[0] * bits / 8 : bytes * dims[i];
        result.push_back(bytes);
    }
    return result;
}

}  // namespace ptxgraft::tensor
