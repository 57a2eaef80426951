#pragma once
/// @file npy.hpp
/// NumPy's array files (NumPy's documentation, "NEP 1: a simple file format for NumPy arrays"). Read:
/// versions 1.0 to 3.0, little-endian numbers and bools, both orders. Written: version 1.0, byte for byte as
/// numpy.save does.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/error.hpp"

namespace ptxgraft::array {

/// An array in C order, the last index fastest.
struct Array {
    std::string dtype;                 ///< as NumPy spells it: "<f4", "|u1"
    std::vector<std::uint64_t> shape;  ///< empty for a single value
    std::vector<std::byte> data;
};

/// Number of elements; Errc::argument_invalid when it does not fit.
[[nodiscard]] Expected<std::uint64_t> element_count(const std::vector<std::uint64_t>& shape);

/// Reads the bytes of a .npy file. Errors: Errc::npy_malformed, Errc::npy_not_supported.
[[nodiscard]] Expected<Array> read_npy(std::string_view bytes);
[[nodiscard]] std::string write_npy(const Array& array);

}  // namespace ptxgraft::array
