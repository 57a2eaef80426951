#pragma once
/// @file findings.hpp
/// What a finding of measure/ is to a search.

#include <string>

#include "ptxgraft/measure/timing.hpp"
#include "ptxgraft/search.hpp"

namespace ptxgraft::search {

[[nodiscard]] Status status_of(measure::Finding finding);
[[nodiscard]] Status status_of(measure::TimingStatus status);
/// Why a variant is not right, in a line.
[[nodiscard]] std::string detail_of(const measure::Check& check);

}  // namespace ptxgraft::search
