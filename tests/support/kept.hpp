#pragma once
// Texts that take long to make, kept in the build tree for later runs of the tests.

#include <optional>
#include <string>
#include <string_view>

namespace ptxgraft::test {

/// What was kept, by all that it is made of: who makes it, in which version, and from what.
std::optional<std::string> kept(std::string_view of);
void keep(std::string_view of, std::string_view text);

}  // namespace ptxgraft::test
