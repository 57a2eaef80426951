#pragma once
/// @file provenance.hpp
/// Where the instruction of an error comes from: the source that PTX was made of, and the stub that was put there.

#include <string_view>

#include "ptxgraft/error.hpp"

namespace ptxgraft::emulator {

/// Adds both to the error's detail, where `.loc` and the markers of sites say so.
[[nodiscard]] Error with_provenance(Error error, std::string_view text);

}  // namespace ptxgraft::emulator
