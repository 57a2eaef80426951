#pragma once
/// @file chebyshev.hpp
/// Linear problems in the maximum norm, as the constants of approximations are.

#include <span>
#include <vector>

namespace ptxgraft::search {

/// The x that makes the largest |r + J x| small, where J has r.size() rows and `columns` columns, row by row:
/// least squares whose weights follow the residuals (C. L. Lawson, 1961). Empty where J has no such rank.
[[nodiscard]] std::vector<double> chebyshev_solution(std::span<const double> jacobian,
                                                     std::span<const double> residuals, std::size_t columns);

}  // namespace ptxgraft::search
