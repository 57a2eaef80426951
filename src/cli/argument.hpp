#pragma once
/// @file argument.hpp
/// The arguments of `ptxgraft run`: `u32=5`, `in=a.npy`, `out=f32:64x64:c.npy`, `inout=a.npy:b.npy`,
/// `bytes=00ff`.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "array/npy.hpp"
#include "array/scalar.hpp"
#include "ptxgraft/emulator.hpp"
#include "ptxgraft/error.hpp"

namespace ptxgraft::cli {

using namespace array;

enum class ArgumentKind : std::uint8_t { scalar, bytes, in, out, inout };

/// What a value is, so that it is not given to a parameter of another nature.
enum class Nature : std::uint8_t { integer, floating, bits, address };

/// One argument of a kernel, as the command line gives it.
struct KernelArgument {
    std::string text;  ///< as written
    ArgumentKind kind = ArgumentKind::scalar;
    Nature nature = Nature::bits;
    std::vector<std::byte> value;  ///< of scalar and bytes
    std::string input_file;        ///< of in and inout
    std::string output_file;       ///< of out and inout
    Array array;  ///< of out: type and shape without data; of in and inout: empty until the file is read
    std::uint64_t bytes = 0;  ///< of out: size of the array
};

[[nodiscard]] Nature nature_of(const ElementType& type);

/// Reads one argument; no file is touched. Errors: Errc::argument_invalid, with what would be right.
[[nodiscard]] Expected<KernelArgument> parse_argument(std::string_view text);

/// `8`, `8,4`, `8x4x1`: extents of a grid or block, each at least 1.
[[nodiscard]] Expected<Dim3> parse_dim3(std::string_view text);
/// The same for the place of a block: each at least 0, and 0 where it is left out. Nothing for what is no
/// place.
[[nodiscard]] std::optional<Dim3> parse_place(std::string_view text);

}  // namespace ptxgraft::cli
