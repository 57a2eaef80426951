#pragma once
// Whole files, as the tests read and write them.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace ptxgraft::test {

/// The bytes of a file. One that cannot be read fails the test, and is empty.
inline std::string read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    EXPECT_TRUE(file) << "cannot read " << path;
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Makes a file of these bytes, or replaces what it held.
inline void write_file(const std::filesystem::path& path, std::string_view text) {
    std::ofstream file(path, std::ios::binary);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    EXPECT_TRUE(file.flush()) << "cannot write " << path;
}

}  // namespace ptxgraft::test
