#pragma once
// A folder for the files of one process.

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace ptxgraft::link {

/// A new folder that only this user may enter; removed with its owner.
class TemporaryFolder {
  public:
    /// `is_made()` is false, with errno, where `parent` takes none.
    explicit TemporaryFolder(const std::string& parent) : path_(parent + "/ptxgraft-XXXXXX") {
        if (::mkdtemp(path_.data()) == nullptr) path_.clear();
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        if (is_made()) std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    [[nodiscard]] bool is_made() const { return !path_.empty(); }
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_;
};

}  // namespace ptxgraft::link
