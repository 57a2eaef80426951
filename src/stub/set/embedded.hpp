#pragma once
// The files of stubs/, as the build writes them into the library (embed.cmake).

#include <span>

#include "ptxgraft/set.hpp"

namespace ptxgraft::stack {

extern const std::span<const LibraryFile> embedded_files;  // ordered by name

}  // namespace ptxgraft::stack
