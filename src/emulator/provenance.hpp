#pragma once
/// @file provenance.hpp
/// Where the instruction of an error comes from: the source that PTX was made of.

#include <string_view>

#include "ptxgraft/error.hpp"

namespace ptxgraft::emulator {

/// Adds it to the error's detail, where `.loc` says so.
[[nodiscard]] Error with_provenance(Error error, std::string_view text);

}  // namespace ptxgraft::emulator
