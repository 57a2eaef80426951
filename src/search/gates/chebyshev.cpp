// Lawson's algorithm, with normal equations: the systems have a few unknowns.

#include "search/gates/chebyshev.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace ptxgraft::search {
namespace {

constexpr int iterations = 300;
constexpr double close_enough = 1.0005;  // to the weighted mean, which no solution is below
constexpr double damping = 1e-12;        // of the diagonal: constants of which only a sum matters

// Cholesky's decomposition in place, and both substitutions. False: the matrix is not positive.
bool solve(std::vector<double>& a, std::vector<double>& b) {
    const std::size_t n = b.size();
    for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t k = 0; k < j; ++k) a[j * n + j] -= a[j * n + k] * a[j * n + k];
        if (!(a[j * n + j] > 0)) return false;
        a[j * n + j] = std::sqrt(a[j * n + j]);
        for (std::size_t i = j + 1; i < n; ++i) {
            for (std::size_t k = 0; k < j; ++k) a[i * n + j] -= a[i * n + k] * a[j * n + k];
            a[i * n + j] /= a[j * n + j];
        }
    }
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t k = 0; k < i; ++k) b[i] -= a[i * n + k] * b[k];
        b[i] /= a[i * n + i];
    }
    for (std::size_t i = n; i-- > 0;) {
        for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[k * n + i] * b[k];
        b[i] /= a[i * n + i];
    }
    return std::ranges::all_of(b, [](double x) { return std::isfinite(x); });
}

// The sum of weight * (r + J x)^2 is least.
bool weighted_solution(std::span<const double> jacobian, std::span<const double> residuals,
                       std::span<const double> weights, std::vector<double>& matrix, std::vector<double>& x) {
    const std::size_t n = x.size();
    matrix.assign(n * n, 0);
    std::ranges::fill(x, 0.0);
    for (std::size_t row = 0; row < residuals.size(); ++row) {
        const double* const j = jacobian.data() + row * n;
        for (std::size_t a = 0; a < n; ++a) {
            const double weighted = weights[row] * j[a];
            x[a] -= weighted * residuals[row];
            for (std::size_t b = 0; b <= a; ++b) matrix[a * n + b] += weighted * j[b];
        }
    }
    for (std::size_t a = 0; a < n; ++a) {
        matrix[a * n + a] += damping * matrix[a * n + a] + 1e-300;
        for (std::size_t b = 0; b < a; ++b) matrix[b * n + a] = matrix[a * n + b];
    }
    return solve(matrix, x);
}

}  // namespace

std::vector<double> chebyshev_solution(std::span<const double> jacobian, std::span<const double> residuals,
                                       std::size_t columns) {
    std::vector<double> weights(residuals.size(), 1.0 / static_cast<double>(residuals.size()));
    std::vector<double> x(columns), matrix, best, distances(residuals.size());
    double least = INFINITY;
    for (int k = 0; k < iterations; ++k) {
        if (!weighted_solution(jacobian, residuals, weights, matrix, x)) break;
        double largest = 0, sum = 0, squares = 0;
        for (std::size_t row = 0; row < residuals.size(); ++row) {
            const double* const j = jacobian.data() + row * columns;
            distances[row] = std::abs(std::inner_product(x.begin(), x.end(), j, residuals[row]));
            largest = std::max(largest, distances[row]);
            sum += weights[row] * distances[row];
            squares += weights[row] * distances[row] * distances[row];
        }
        if (largest < least) least = largest, best = x;
        if (!(sum > 0) || largest <= close_enough * std::sqrt(squares)) break;
        for (std::size_t row = 0; row < residuals.size(); ++row) weights[row] *= distances[row] / sum;
    }
    return best;
}

}  // namespace ptxgraft::search
