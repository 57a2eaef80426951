#pragma once
/// @file options_text.hpp
/// Options as a text of JSON: how the archive keeps them, and how two of them are compared.

#include <string>

#include "ptxgraft/search.hpp"

namespace ptxgraft::search {

[[nodiscard]] std::string text_of(const Options& options);
/// Errors: Errc::archive_malformed.
[[nodiscard]] Expected<Options> options_of(const std::string& text);

}  // namespace ptxgraft::search
