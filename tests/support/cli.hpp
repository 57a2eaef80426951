#pragma once
// The program as a user meets it: tests start the binary and look at what it prints, writes and returns.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "support/files.hpp"
#include "support/paths.hpp"

extern char** environ;

namespace ptxgraft::test {

namespace fs = std::filesystem;

inline const std::string program = test::build_path("ptxgraft");
inline const fs::path golden = test::source_path("tests/golden/cli");
inline const std::string gemm = test::source_path("templates/gemm/simt.cu");  // whose sites are filled

struct Result {
    int status;
    std::string out, err;
};

/// Of JSON Lines.
inline std::vector<nlohmann::json> json_lines(const std::string& text) {
    std::vector<nlohmann::json> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
}

/// A process of the program, begun.
inline pid_t begin(const std::vector<std::string>& arguments, std::string_view input = {}) {
    write_file("stdin", input);
    std::vector<char*> argv{const_cast<char*>(program.c_str())};
    for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "stdin", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, "stdout", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&files, 2, "stderr", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t child = 0;
    EXPECT_EQ(posix_spawn(&child, program.c_str(), &files, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&files);
    return child;
}

inline Result result_of(pid_t child) {
    int status = -1;
    waitpid(child, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status), read_file("stdout"),
            read_file("stderr")};
}

inline Result ptxgraft(const std::vector<std::string>& arguments, std::string_view input = {}) {
    return result_of(begin(arguments, input));
}

/// The same with Ctrl-C when it has run for some time.
inline Result interrupted(const std::vector<std::string>& arguments, std::chrono::milliseconds after) {
    const pid_t child = begin(arguments);
    std::this_thread::sleep_for(after);
    kill(child, SIGINT);
    return result_of(child);
}

// A .npy file as NumPy makes it, but for the header that a test wants otherwise.
inline std::string npy(const std::string& header, std::string_view data) {
    std::string text = header;
    text.append(64 - (10 + text.size() + 1) % 64, ' ').push_back('\n');
    const auto size = static_cast<std::uint16_t>(text.size());
    return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(size & 255) +
           static_cast<char>(size >> 8) + text + std::string(data);
}

inline std::string array(const std::string& descr, const std::string& shape, std::string_view data) {
    return npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }", data);
}

template <class T> std::string bytes_of(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline std::string floats(const std::vector<float>& values) {
    return array("<f4", "(" + std::to_string(values.size()) + ",)", bytes_of(values));
}

// The data of a .npy file of version 1.
template <class T> std::vector<T> elements(const fs::path& path) {
    const std::string file = read_file(path);
    const std::string data = file.substr(std::min(file.size(), file.find('\n') + 1));
    std::vector<T> values(data.size() / sizeof(T));
    std::memcpy(values.data(), data.data(), values.size() * sizeof(T));
    return values;
}

class Cli : public testing::Test {
  protected:
    void SetUp() override {
        std::string folder = testing::TempDir() + "ptxgraft-cli-XXXXXX";
        ASSERT_NE(mkdtemp(folder.data()), nullptr);
        folder_ = folder;
        cache_ = folder + "-cache";  // beside it: some tests look at all that is in the folder
        setenv("XDG_CACHE_HOME", cache_.c_str(), 1);
        fs::current_path(folder_);
        fs::copy(golden / "affine.ptx", "affine.ptx");
        write_file("x.npy", floats({1, -2, 3, -4}));
    }
    void TearDown() override {
        fs::current_path("/");
        fs::remove_all(folder_);
        fs::remove_all(cache_);
    }
    fs::path folder_, cache_;
};

}  // namespace ptxgraft::test
