#pragma once
/// @file embedded.hpp
/// Text that the build puts into the library.

#include <string_view>

namespace ptxgraft::link {

/// The text of ptxgraft/site.cuh, zero-terminated: so that skeletons compile wherever the library is.
extern const std::string_view site_cuh;

}  // namespace ptxgraft::link
