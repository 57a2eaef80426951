#pragma once
/// @file text_file.hpp
/// Whole files in, whole files out. `-` is standard input or output.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/error.hpp"

namespace ptxgraft::cli {

/// The bytes of a file. Errors: Errc::file_not_found, Errc::file_not_readable.
[[nodiscard]] Expected<std::string> read_file(const std::string& path);

/// The same of a file of numbers: no device, whose bytes need not end.
[[nodiscard]] Expected<std::string> read_array_file(const std::string& path);

/// A file to write, and what it is to hold.
struct OutputFile {
    std::string path;
    std::string bytes;
};

/// Creates or replaces files, all of them or none as far as a file system lets one: each is written whole
/// under another name in its folder, and takes its place by a rename when all of them are written. So no
/// failure, such as a full disk, loses what a file held before. A file keeps its permissions, a symbolic link
/// its target's place; what is no regular file (a terminal, a pipe, /dev/null), and a file in a folder that
/// takes no new files, is written in place. Errors: Errc::file_not_writable.
[[nodiscard]] Expected<void> write_files(std::span<const OutputFile> files);
[[nodiscard]] Expected<void> write_file(const std::string& path, std::string bytes);

/// The lines of a text, without their ends.
[[nodiscard]] std::vector<std::string> lines_of(std::string_view text);

/// What diagnostics call a path: `<stdin>` for `-`.
[[nodiscard]] std::string display_name(const std::string& path);

}  // namespace ptxgraft::cli
