#pragma once
/// @file archive_files.hpp
/// Archives of searches as files of tests.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "ptxgraft/search.hpp"

namespace ptxgraft::test {

/// Where no archive stands, and no log of one. It has the name of the test's suite.
inline std::string archive_path(std::string_view name) {
    const std::string suite = testing::UnitTest::GetInstance()->current_test_info()->test_suite_name();
    const std::string path = testing::TempDir() + "ptxgraft_" + suite + "_" + std::string(name) + ".sqlite";
    for (const char* ending : {"", "-wal", "-shm", ".lock"}) std::filesystem::remove(path + ending);
    return path;
}

/// An archive as JSON lines.
inline std::string exported(const std::string& path) {
    const auto archive = search::Archive::open(path);
    EXPECT_TRUE(archive) << message(archive.error());
    std::string all;
    if (!archive) return all;
    const auto done = archive->export_json([&](std::string_view line) { all.append(line).append("\n"); });
    EXPECT_TRUE(done) << message(done.error());
    return all;
}

}  // namespace ptxgraft::test
