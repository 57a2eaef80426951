// Ridge regression.

#include <algorithm>
#include <cmath>

#include "search/surrogate/model.hpp"

namespace ptxgraft::search {
namespace {

// Solves A x = b for a symmetric positive definite A, of which the lower triangle is read; A and b are
// overwritten.
void solve(std::vector<double>& a, std::vector<double>& b) {
    const std::size_t n = b.size();
    for (std::size_t j = 0; j < n; ++j) {
        double sum = a[j * n + j];
        for (std::size_t k = 0; k < j; ++k) sum -= a[j * n + k] * a[j * n + k];
        // columns that others make up leave nothing but rounding: their weight is then 0
        const double pivot = sum > 1e-14 * a[j * n + j] ? std::sqrt(sum) : INFINITY;
        a[j * n + j] = pivot;
        for (std::size_t i = j + 1; i < n; ++i) {
            double value = a[i * n + j];
            for (std::size_t k = 0; k < j; ++k) value -= a[i * n + k] * a[j * n + k];
            a[i * n + j] = value / pivot;
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
}

class Ridge final : public Model {
  public:
    explicit Ridge(double penalty) : penalty_(penalty) {}

    void fit(const Samples& samples) override {
        const std::size_t d = samples.width;
        const auto n = static_cast<double>(samples.count());
        mean_.assign(d, 0);
        weights_.assign(d, 0);
        offset_ = 0;
        if (samples.count() == 0) return;
        for (std::size_t r = 0; r < samples.count(); ++r) {
            for (std::size_t k = 0; k < d; ++k) mean_[k] += samples.row(r)[k] / n;
            offset_ += samples.values[r] / n;
        }
        const std::vector<double> scale = scales(samples);
        std::vector<double> normal(d * d, 0), right(d, 0), z(d);
        for (std::size_t r = 0; r < samples.count(); ++r) {
            for (std::size_t k = 0; k < d; ++k) z[k] = (samples.row(r)[k] - mean_[k]) * scale[k];
            for (std::size_t i = 0; i < d; ++i) {
                right[i] += z[i] * (samples.values[r] - offset_);
                for (std::size_t j = 0; j <= i; ++j) normal[i * d + j] += z[i] * z[j];
            }
        }
        for (std::size_t k = 0; k < d; ++k) normal[k * d + k] += scale[k] == 0 ? 1 : penalty_ * n;
        solve(normal, right);
        for (std::size_t k = 0; k < d; ++k) weights_[k] = right[k] * scale[k];
    }

    void predict(std::span<const double> rows, std::span<double> values) const override {
        const std::size_t d = weights_.size();
        for (std::size_t r = 0; r < values.size(); ++r) {
            double sum = offset_;
            for (std::size_t k = 0; k < d; ++k) sum += (rows[r * d + k] - mean_[k]) * weights_[k];
            values[r] = sum;
        }
    }

  private:
    // The inverse of the standard deviation; 0 for a column that does not vary.
    [[nodiscard]] std::vector<double> scales(const Samples& samples) const {
        std::vector<double> made(samples.width, 0);
        for (std::size_t k = 0; k < samples.width; ++k) {
            double sum = 0;
            for (std::size_t r = 0; r < samples.count(); ++r) {
                const double away = samples.row(r)[k] - mean_[k];
                sum += away * away;
            }
            const double deviation = std::sqrt(sum / static_cast<double>(samples.count()));
            if (deviation > 1e-12 * (1 + std::abs(mean_[k]))) made[k] = 1 / deviation;
        }
        return made;
    }

    double penalty_, offset_ = 0;
    std::vector<double> mean_, weights_;
};

}  // namespace

std::unique_ptr<Model> ridge(double penalty) { return std::make_unique<Ridge>(penalty); }

}  // namespace ptxgraft::search
