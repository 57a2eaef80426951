#pragma once
/// @file source.hpp
/// Arrays that a rule fills, so that a kernel can be tried without files. The same rule gives the same bits
/// everywhere.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "array/scalar.hpp"

namespace ptxgraft::array {

enum class Rule : std::uint8_t {
    value,    ///< every element is the same
    iota,     ///< 0, 1, 2 …, and from 0 again behind the last number that the type has without a gap
    uniform,  ///< between two numbers: of floating types `low` up to `high`, of others `least` to `most`
    normal,   ///< of floating types: the mean is 0, the deviation 1, and none is beyond 6 (the sum of 12
              ///< uniform numbers)
    codes,    ///< of floating types of 8 bits: half of the elements as `uniform`, of the others each bit
              ///< pattern between `low` and `high` is as likely: all exponents come
};

struct Source {
    Rule rule = Rule::value;
    std::vector<std::byte> value = {};  ///< of one element
    std::uint64_t seed = 0;
    double low = 0, high = 1;
    std::uint64_t least = 0, most = ~std::uint64_t{0};  ///< as the type, extended to 64 bits
};

/// Elements from number `first` on, as many as there is room for.
void generate(const Source& source, const ElementType& type, std::uint64_t first, std::span<std::byte> to);

}  // namespace ptxgraft::array
