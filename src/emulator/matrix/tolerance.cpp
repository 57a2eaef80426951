// How far a result of the tensor cores may be from the exact one.
#include "ptxgraft/tolerance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "emulator/matrix/matrix.hpp"

namespace ptxgraft {
namespace {

emulator::MatrixType matrix_type(ProductType type) {
    using enum syntax::Type;
    constexpr emulator::MatrixType types[] = {f16, bf16, tf32, e4m3, e5m2};
    return types[static_cast<std::size_t>(type)];
}

}  // namespace

SumBounds legal_sum(const ProductSum& sum, double exact, double magnitudes) {
    using emulator::MatrixType;
    const MatrixType accumulator =
        sum.accumulator == AccumulatorType::f16 ? MatrixType::f16 : MatrixType::f32;
    const auto products =
        static_cast<unsigned>(std::min<std::uint64_t>(sum.products, std::numeric_limits<unsigned>::max()));
    const auto bound = emulator::accumulation_bound(matrix_type(sum.type), accumulator, products, exact,
                                                    std::max(std::abs(magnitudes), std::abs(exact)));
    return {bound.lowest, bound.highest};
}

}  // namespace ptxgraft
