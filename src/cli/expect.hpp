#pragma once
/// @file expect.hpp
/// What a buffer of a launch file is expected to hold after the launch.

#include <optional>
#include <string>

#include "array/npy.hpp"
#include "array/scalar.hpp"
#include "array/source.hpp"
#include "ptxgraft/tolerance.hpp"

namespace ptxgraft::cli {

using namespace array;

/// How far an element may be from the expected one. Without any of it: equal bits, or equal values where the
/// arrays' types differ.
struct Tolerance {
    double absolute = 0, relative = 0;  ///< |value - expected| <= absolute + relative * |expected|
    std::optional<ProductSum> sum =
        {};  ///< the expected values are exact sums, and a legal one, rounded to the buffer's type, is right
    Array magnitudes = {};  ///< of `sum`: those of the sums' terms, added up
    bool is_exact = true;
};

struct Expectation {
    std::string text = {};  ///< what messages call it: the file that was read, a number
    Array wanted = {};      ///< of a rule: without data
    std::optional<Source> source = {};
    ElementType wanted_type = {};  ///< of a rule's elements
    bool is_any_nan = false;  ///< a NaN stands for every NaN, also where bits count: it was written as a word
    ElementType type = {};    ///< of the buffer's elements
    Tolerance tolerance = {};
};

/// Whether an array of that NumPy type can be compared with elements of `type`: the type's own, or numbers
/// where those have a value.
[[nodiscard]] bool is_comparable(std::string_view dtype, const ElementType& type);

/// What differs, in one line; empty when nothing does: `differs from want.npy in 3 of 4096 elements; the
/// first one is [1, 7]: 0.5, not 0.25 (0.24 to 0.26)`. NaN equals NaN.
[[nodiscard]] std::string difference(const Array& array, const Expectation& expected);

}  // namespace ptxgraft::cli
