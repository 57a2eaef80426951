#pragma once
// What the tests of mm-ptx's programs and kernels share.

#include <bit>
#include <cstdint>
#include <vector>

namespace ptxgraft::test {

/// The contents of registers.
using Words = std::vector<std::uint64_t>;

inline std::uint32_t f(double value) { return std::bit_cast<std::uint32_t>(static_cast<float>(value)); }
inline float number(std::uint64_t word) { return std::bit_cast<float>(static_cast<std::uint32_t>(word)); }

}  // namespace ptxgraft::test
