#pragma once
/// @file template_json.hpp
/// What the manifest of a template says, as JSON.

#include <string>

#include "ptxgraft/template.hpp"

namespace ptxgraft {

/// An object with `name`, `meaning`, `target`, `source`, `entry`, `dimensions`, `tunables`, `names`,
/// `requires`, `arguments`, `sites`, `launch`, `outputs`, `numpy`.
[[nodiscard]] PTXGRAFT_API std::string json_text(const Template& from);

}  // namespace ptxgraft
