#pragma once
/// @file stub_place.hpp
/// Which stub the place of an error stands in.

#include <string_view>

#include "ptxgraft/error.hpp"

namespace ptxgraft::site {

/// The error with "; in the stub of site epilogue, line 3" behind its detail when its span, which is one of
/// the rendered text `ptx` (the error brings no text of its own), lies in a stub: in a copy, or in a function
/// that copies call. Lines count from the stub's first.
[[nodiscard]] Error with_stub(Error error, std::string_view ptx);

}  // namespace ptxgraft::site
