#pragma once
/// @file task_site.hpp
/// What a task says of a site. Errors stand at their place in the task.

#include <string>
#include <string_view>
#include <vector>

#include "json/values.hpp"
#include "ptxgraft/search.hpp"

namespace ptxgraft::search {

/// An array of numbers.
[[nodiscard]] Expected<std::vector<double>> numbers_of(const json::JsonValue& value, std::string_view key);

/// `set`, `genes`, `seeds`, `library`.
[[nodiscard]] Expected<SiteSpace> site_of(const json::JsonValue& said, std::string name,
                                          const Signature& signature,
                                          const stack::MachineOptions& options = {});
/// `inputs`, `reference`, `measure`, `bound`, `screen`.
[[nodiscard]] Expected<Cases> cases_of(const json::JsonValue& said, const Signature& signature);

}  // namespace ptxgraft::search
