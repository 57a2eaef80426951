#pragma once
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace ptxgraft::link {

/// The bytes of a regular file; nullopt when there is none or it cannot be read.
inline std::optional<std::string> read_file(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
    std::ifstream file(path, std::ios::binary);
    if (!file) return std::nullopt;
    std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    return file.bad() ? std::nullopt : std::optional(std::move(bytes));
}

}  // namespace ptxgraft::link
