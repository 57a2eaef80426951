#pragma once
/// @file operators.hpp
/// How children are made: the rows behind `default_operators`.

#include <span>
#include <string_view>
#include <vector>

#include "search/loop/genes.hpp"

namespace ptxgraft::search {

/// What operators draw from.
struct Breeder {
    [[nodiscard]] static Expected<Breeder> make(const Space& space);

    const Space* space = nullptr;
    std::vector<Genes> genes;  ///< for each site

    [[nodiscard]] Genome fresh(Random& random) const;
};

struct OperatorRow {
    std::string_view name;
    double weight;
    /// `child` is a copy of `a`.
    void (*vary)(const Breeder& breeder, Random& random, const Genome& a, const Genome& b, Genome& child);
    bool wants_two = false;
};
[[nodiscard]] std::span<const OperatorRow> operator_rows();
/// The row of a name; null: there is none.
[[nodiscard]] const OperatorRow* find_operator(std::string_view name);

}  // namespace ptxgraft::search
