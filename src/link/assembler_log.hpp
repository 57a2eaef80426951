#pragma once
/// @file assembler_log.hpp
/// What the log of an assembler says.

#include <string_view>
#include <vector>

#include "ptxgraft/link.hpp"

namespace ptxgraft::link {

/// What ptxas says of every function when it is told to be verbose.
[[nodiscard]] std::vector<FunctionUsage> parse_usage(std::string_view log);

/// The "(C7510) Potential Performance Loss: …" lines.
[[nodiscard]] std::vector<PerformanceLoss> parse_losses(std::string_view log);

/// The place of the first error that has a line, as narrow as its message allows; unknown when none has.
[[nodiscard]] Span first_error_span(std::string_view log, std::string_view ptx);

}  // namespace ptxgraft::link
