#pragma once
/// @file model.hpp
/// Models of one number by a row of others.

#include <memory>
#include <span>
#include <vector>

namespace ptxgraft::search {

/// Rows of equal length, with a value for each.
struct Samples {
    std::size_t width = 0;
    std::vector<double> rows = {};  ///< one after the other
    std::vector<double> values = {};
    [[nodiscard]] std::size_t count() const { return values.size(); }
    [[nodiscard]] std::span<const double> row(std::size_t k) const {
        return std::span(rows).subspan(k * width, width);
    }
};

class Model {
  public:
    virtual ~Model() = default;
    /// In the place of what it had learnt. Equal samples give an equal model.
    virtual void fit(const Samples& samples) = 0;
    /// Of rows one after the other. Of a model that was never fitted 0.
    virtual void predict(std::span<const double> rows, std::span<double> values) const = 0;
};

/// Ridge regression (Hoerl and Kennard, 1970) on standardised columns: penalty * n is added to the diagonal
/// of the normal equations, which Cholesky's decomposition solves. Columns that do not vary are left out.
[[nodiscard]] std::unique_ptr<Model> ridge(double penalty);

/// Boosted trees by XGBoost's C API, of one thread; null where no libxgboost.so is found.
[[nodiscard]] std::unique_ptr<Model> boosted_trees();

}  // namespace ptxgraft::search
