#pragma once
/// @file new_file.hpp
/// Files that are not there unless they are whole.

#include <filesystem>
#include <string>

#include "ptxgraft/error.hpp"

namespace ptxgraft::search {

/// Where a link leads, though there be no file.
inline std::string target_of(std::filesystem::path path) {
    constexpr int most_links = 40;  // as Linux follows
    std::error_code none;
    for (int k = 0; k < most_links && std::filesystem::is_symlink(path, none); ++k)
        path = path.parent_path() / std::filesystem::read_symlink(path, none);
    return path.string();
}

/// A database in the making, under another name until it is kept: a process that dies leaves it, or none.
class NewFile {
  public:
    explicit NewFile(const std::string& path) : path_(target_of(path)), made_(name_of(path)) { remove(); }
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;
    ~NewFile() { remove(); }
    [[nodiscard]] const std::string& name() const { return made_; }
    /// Of the one that is made for a path.
    static std::string name_of(const std::string& path) { return target_of(path) + ".part"; }
    /// The database is closed. What stands there of an earlier one of that name, whose file is gone, goes
    /// too: SQLite would take its log for this one's. Errors: Errc::archive_failed.
    Expected<void> keep() {
        std::error_code error;
        for (const char* ending : {"-wal", "-shm", "-journal"}) {
            std::filesystem::remove(path_ + ending, error);
            if (error) return fail(Errc::archive_failed, path_ + ending + ": " + error.message());
        }
        std::filesystem::rename(made_, path_, error);
        if (error) return fail(Errc::archive_failed, path_ + ": " + error.message());
        return {};
    }

  private:
    void remove() {
        std::error_code none;
        for (const char* ending : {"", "-journal"}) std::filesystem::remove(made_ + ending, none);
    }
    std::string path_, made_;
};

}  // namespace ptxgraft::search
