#pragma once
/// @file approximate.hpp
/// The errors that the PTX manual states of approximate instructions, and results moved to their edges: what
/// another processor may compute. arithmetic.hpp computes the exact value, rounded once.

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace ptxgraft::arithmetic {

enum class ErrorKind : std::uint8_t {
    ulp,               ///< units in the last place of the exact value
    ulp_from_rounded,  ///< the same, from the exact value rounded to nearest
    relative,
    absolute,
    unstated,  ///< the manual states no bound; `size` is one of ours, relative
    range,     ///< the manual states no bound: any value of [-size, size]
};

/// What is stated of inputs of at most this magnitude, and above those of the row before.
struct ErrorBound {
    double up_to = 0;
    ErrorKind kind = ErrorKind::range;
    double size = 0;
};

/// The error of a form. Zeros, infinities and NaNs as inputs have results that the manual fixes; what
/// overflows to infinity stays so.
struct StatedError {
    std::string_view form;     ///< without .ftz: "ex2.approx.f32"; pairs have their elements'
    std::string_view section;  ///< of the PTX ISA
    std::array<ErrorBound, 3> bounds;
};
[[nodiscard]] std::span<const StatedError> stated_errors();

/// Which edge results are moved to: the largest value of the format that is within the bound, the smallest,
/// or at each point one of them, by a hash of the seed and the bits of the inputs.
enum class Edge : std::uint8_t { up, down, hashed };
struct Perturbation {
    Edge edge = Edge::up;
    std::uint64_t seed = 0;
};

/// Moves the results of an instruction, which stand in the output and were computed of these inputs. The
/// output is none of the inputs. Columns are as in ColumnFunction. Of sin, cos and tanh of f32, whose
/// exact value is known by its nearest float alone, results stay within the bound, at most two units in the
/// last place short of its edge.
using PerturbFunction = void (*)(void* output, const void* const* inputs, std::size_t count,
                                 const Perturbation& perturbation);

/// Of an opcode with its modifiers, as find_pure takes them; null for one that is not approximate.
[[nodiscard]] PerturbFunction find_perturb(std::string_view opcode,
                                           std::span<const std::string_view> modifiers);

}  // namespace ptxgraft::arithmetic
