#pragma once
/// @file sections.hpp
/// The sections of a page, in its order, each as HTML; empty where there is nothing to say.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "search/report/facts.hpp"

namespace ptxgraft::search {

[[nodiscard]] std::string lead(const Facts& facts);
[[nodiscard]] std::string front_section(const Facts& facts);
[[nodiscard]] std::string course_section(const Facts& facts);
[[nodiscard]] std::string cells_section(const Facts& facts);
[[nodiscard]] std::string times_section(const Facts& facts);
[[nodiscard]] std::string ancestors_section(const Facts& facts);
[[nodiscard]] std::string gates_section(const Facts& facts);
[[nodiscard]] std::string operators_section(const Facts& facts);
[[nodiscard]] std::string task_section(const Facts& facts);

/// After how many candidates quartiles are stated: powers of ten, and as many as all of the group judged.
[[nodiscard]] std::vector<std::uint64_t> milestones(const Group& group);

}  // namespace ptxgraft::search
