#pragma once
// Files of the library's own: caches, and what an assembler's process reads and writes.

#include <optional>
#include <string>
#include <string_view>

struct stat;

namespace ptxgraft::link {

/// An open file, which is closed with its owner; or none, with the reason in errno.
class OpenFile {
  public:
    /// open(2) with these flags, never handed on to other programs, and without waiting for what is no file.
    OpenFile(const std::string& path, int flags);
    OpenFile(OpenFile&& other) noexcept : number_(other.number_) { other.number_ = -1; }
    OpenFile& operator=(OpenFile&&) = delete;
    ~OpenFile();

    [[nodiscard]] explicit operator bool() const { return number_ >= 0; }
    [[nodiscard]] int number() const { return number_; }
    /// Whether this is a regular file, and what it is.
    [[nodiscard]] bool is_regular(struct stat& status) const;
    /// Reads up to so many bytes, fewer where the file ends before; nullopt when that fails.
    [[nodiscard]] std::optional<std::size_t> read(char* to, std::size_t size) const;
    [[nodiscard]] bool write(std::string_view bytes) const;
    /// Some file systems say only now that something was not written.
    [[nodiscard]] bool close();
    /// The lock of the whole file, which the system gives back when its holder dies (flock): false when
    /// another one holds it, or the file system has none.
    [[nodiscard]] bool lock() const;

  private:
    int number_;
};

/// Whether that file, and no other, is what a path names; a symbolic link is not followed.
[[nodiscard]] bool is_at(const std::string& path, const struct stat& file);

/// The bytes of a regular file; nullopt when there is none or it cannot be read.
[[nodiscard]] std::optional<std::string> read_file(const std::string& path);

/// Makes a file that was not there and writes it. Whatever has the name already, a symbolic link above all,
/// stays as it is. False, with errno, when that or the writing fails; what was begun is removed.
[[nodiscard]] bool write_new_file(const std::string& path, std::string_view bytes);

}  // namespace ptxgraft::link
