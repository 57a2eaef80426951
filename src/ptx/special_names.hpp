#pragma once
/// @file special_names.hpp
/// The names of PTX's special registers (PTX ISA 10), for stages that read no PTX. They are those of isa's
/// table, out of which the build takes them.

#include <string_view>

namespace ptxgraft {

/// "%tid", "%tid.x", "%pm3".
[[nodiscard]] bool is_special_name(std::string_view name);

}  // namespace ptxgraft
