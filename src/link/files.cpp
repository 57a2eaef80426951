// Files, open or read and written whole.

#include "link/files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace ptxgraft::link {
namespace {

constexpr mode_t mode_of_new_files = 0666;  // less the user's umask

}  // namespace

OpenFile::OpenFile(const std::string& path, int flags)
    : number_(::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, mode_of_new_files)) {}

OpenFile::~OpenFile() {
    const int error = errno;
    if (number_ >= 0) ::close(number_);
    errno = error;
}

bool OpenFile::is_regular(struct stat& status) const {
    return ::fstat(number_, &status) == 0 && S_ISREG(status.st_mode);
}

std::optional<std::size_t> OpenFile::read(char* to, std::size_t size) const {
    std::size_t end = 0;
    while (end < size) {
        const ssize_t got = ::read(number_, to + end, size - end);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return std::nullopt;
        if (got == 0) break;
        end += static_cast<std::size_t>(got);
    }
    return end;
}

bool OpenFile::write(std::string_view bytes) const {
    while (!bytes.empty()) {
        const ssize_t written = ::write(number_, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

bool OpenFile::close() {
    const int number = std::exchange(number_, -1);
    return ::close(number) == 0;
}

bool OpenFile::lock() const {
    while (::flock(number_, LOCK_EX | LOCK_NB) != 0)
        if (errno != EINTR) return false;
    return true;
}

bool is_at(const std::string& path, const struct stat& file) {
    struct stat now {};
    return ::lstat(path.c_str(), &now) == 0 && now.st_ino == file.st_ino && now.st_dev == file.st_dev;
}

std::optional<std::string> read_file(const std::string& path) {
    const OpenFile file(path, O_RDONLY);
    struct stat status {};
    if (!file || !file.is_regular(status)) return std::nullopt;
    // One byte more than there is shows the end; some files grow, or do not say their size.
    std::string bytes(static_cast<std::size_t>(status.st_size) + 1, '\0');
    for (std::size_t end = 0;;) {
        const auto got = file.read(bytes.data() + end, bytes.size() - end);
        if (!got) return std::nullopt;
        end += *got;
        if (end < bytes.size()) {
            bytes.resize(end);
            return bytes;
        }
        bytes.resize(end + 4096);
    }
}

bool write_new_file(const std::string& path, std::string_view bytes) {
    OpenFile file(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
    if (!file) return false;
    if (file.write(bytes) && file.close()) return true;
    const int error = errno;
    ::unlink(path.c_str());
    errno = error;
    return false;
}

}  // namespace ptxgraft::link
