#pragma once
/// @file checked.hpp
/// What machine code must not be, whoever made it.

#include "ptxgraft/link.hpp"

namespace ptxgraft::link {

/// The cubin, unless it lost performance or is over a limit: Errc::performance_loss unless that is allowed,
/// Errc::assemble_limit_exceeded.
[[nodiscard]] Expected<Cubin> checked(Cubin cubin, const AssembleOptions& options);

}  // namespace ptxgraft::link
