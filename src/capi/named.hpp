#pragma once
/// @file named.hpp
/// Lists of names and values in a text: "tile_m=64,type=f16".

#include <map>
#include <string>

#include "capi/boundary.hpp"
#include "ptxgraft/template.hpp"

namespace ptxgraft::capi {

/// Null is the empty list. Errors: Errc::argument_invalid.
[[nodiscard]] Expected<Choices> choices_of(const char* text);
[[nodiscard]] Expected<Dimensions> dimensions_of(const char* text);
[[nodiscard]] Expected<std::map<std::string, double, std::less<>>> numbers_of(const char* text);
/// As choices_of() reads it.
[[nodiscard]] std::string to_text(const Choices& choices);

/// How CUDA source is compiled, and whether the caller names a target.
[[nodiscard]] Expected<CudaOptions> cuda_options(const ptxgraft_cuda_options* given);
[[nodiscard]] Expected<std::string> target_of(const ptxgraft_cuda_options* given);
/// Hands a new skeleton to the caller.
[[nodiscard]] Expected<void> give_skeleton(ptxgraft_skeleton** out, Expected<Skeleton> skeleton);

}  // namespace ptxgraft::capi
