#pragma once
/// @file called.hpp
/// The comments around a stub in the function that its copies call: whoever reports a place in it finds the
/// site.

#include <string_view>

namespace ptxgraft::site {

inline constexpr std::string_view called_begin =
                                      "// PTXGRAFT_CALLED ",  ///< before the site's name, to the line's end
    called_end = "// PTXGRAFT_CALLED_END\n";

}  // namespace ptxgraft::site
