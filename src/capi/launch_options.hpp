#pragma once
/// @file launch_options.hpp
/// A launch, as a C caller says it.

#include <cstddef>
#include <vector>

#include "ptxgraft/device.hpp"
#include "ptxgraft/ptxgraft.h"

namespace ptxgraft::capi {

/// Of a list `arguments`, whose size the field `count_field` says.
[[nodiscard]] Expected<std::vector<Argument>> arguments_of(const ptxgraft_argument* arguments,
                                                           std::size_t count,
                                                           const char* count_field = "count");
[[nodiscard]] LaunchConfig launch_config(const ptxgraft_launch_options& given);

}  // namespace ptxgraft::capi
