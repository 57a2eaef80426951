#pragma once
// `.stub` files.

#include <string_view>

#include "ptxgraft/stack.hpp"

namespace ptxgraft::stack {

/// The place of the signature line, of a file that has one.
[[nodiscard]] Span signature_line(std::string_view text);

/// Whether a file's signature line agrees with a site; `place` is that line's.
[[nodiscard]] Expected<void> check_fit(const StubFile& file, const Signature& site, const Policy& policy,
                                       Span place);

/// An error in a part of a text, as one in the whole.
[[nodiscard]] Error shifted(Error error, std::uint32_t by);

}  // namespace ptxgraft::stack
