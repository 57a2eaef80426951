#pragma once
/// @file text_file.hpp
/// Whole files in, whole files out. `-` is standard input or output.

#include <string>
#include <string_view>

#include "ptxgraft/error.hpp"

namespace ptxgraft::cli {

/// The bytes of a file. Errors: Errc::file_not_found, Errc::file_not_readable.
[[nodiscard]] Expected<std::string> read_file(const std::string& path);
/// Creates or replaces a file. Errors: Errc::file_not_writable.
[[nodiscard]] Expected<void> write_file(const std::string& path, std::string_view bytes);

/// What diagnostics call a path: `<stdin>` for `-`.
[[nodiscard]] std::string display_name(const std::string& path);

}  // namespace ptxgraft::cli
