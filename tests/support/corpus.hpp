#pragma once
// The folder of PTX files by many compilers, where there is one.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "support/files.hpp"
#include "support/paths.hpp"

namespace ptxgraft::test {

inline const std::filesystem::path corpus = test::corpus_folder();

#define SKIP_WITHOUT_CORPUS                                       \
    if (!std::filesystem::is_directory(::ptxgraft::test::corpus)) \
    GTEST_SKIP() << "no corpus in " << ::ptxgraft::test::corpus

/// Its PTX files, in the order of their names.
inline std::vector<std::filesystem::path> corpus_files() {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(corpus))
        if (entry.path().extension() == ".ptx") files.push_back(entry.path());
    std::ranges::sort(files);
    return files;
}

/// Whether the manifest says of a file, in so many words, what ptxas 13.0 makes of it: "ok" or "no".
inline bool manifest_says(const std::filesystem::path& file, const std::string& word) {
    std::istringstream manifest(read_file(file.parent_path() / "MANIFEST.tsv"));
    for (std::string line; std::getline(manifest, line);)
        if (line.starts_with(file.filename().string() + "\t"))
            return line.find("\t" + word) != std::string::npos;
    return false;
}

}  // namespace ptxgraft::test
