#pragma once
// Files of the library's own: caches, and what an assembler's process reads and writes.

#include <optional>
#include <string>
#include <string_view>

namespace ptxgraft::link {

/// The bytes of a regular file; nullopt when there is none or it cannot be read.
[[nodiscard]] std::optional<std::string> read_file(const std::string& path);

/// The same of a file that the library itself has written: a symbolic link in its place counts as no file.
[[nodiscard]] std::optional<std::string> read_own_file(const std::string& path);

/// Makes a file that was not there and writes it. Whatever has the name already, a symbolic link above all,
/// stays as it is. False, with errno, when that or the writing fails; what was begun is removed.
[[nodiscard]] bool write_new_file(const std::string& path, std::string_view bytes);

}  // namespace ptxgraft::link
