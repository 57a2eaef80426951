#pragma once
// Whole files and folders, as the tests read, write and forget them.

#include <gtest/gtest.h>

#include <cstdlib>
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

/// Makes a file of these bytes, and the folders that it lies in, or replaces what it held.
inline void write_file(const std::filesystem::path& path, std::string_view text) {
    if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path());
    std::ofstream file(path, std::ios::binary);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    EXPECT_TRUE(file.flush()) << "cannot write " << path;
}

/// A folder of its own, which goes with all that lies in it.
class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::string name = testing::TempDir() + "ptxgraft-XXXXXX";
        EXPECT_NE(mkdtemp(name.data()), nullptr) << name;
        path = name;
    }
    ~TemporaryFolder() { std::filesystem::remove_all(path); }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    [[nodiscard]] std::string str() const { return path.string(); }

    std::filesystem::path path;
};

}  // namespace ptxgraft::test
