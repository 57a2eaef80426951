#pragma once
/// @file parse_count.hpp
/// Counts what is parsed, for tests of who parses what: a candidate is parsed once on the emulator, and not
/// at all on a GPU.

#include <atomic>
#include <cstdint>

#include "ptxgraft/api.hpp"

namespace ptxgraft::syntax {

/// Texts of whole modules that this process has made trees of. Exported, so that tests of the library see it.
PTXGRAFT_API inline std::atomic<std::uint64_t> parse_count = 0;

}  // namespace ptxgraft::syntax
