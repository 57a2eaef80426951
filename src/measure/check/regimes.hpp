#pragma once
/// @file regimes.hpp
/// Inputs of a launch that are more than usual ones.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ptxgraft/measure/workload.hpp"

namespace ptxgraft::measure {

/// The bytes of a tensor: the same for a seed, a regime and a tensor's name everywhere.
[[nodiscard]] std::vector<std::byte> input_bytes(const TemplateTensor& tensor, Regime regime,
                                                 std::uint64_t seed);

}  // namespace ptxgraft::measure
