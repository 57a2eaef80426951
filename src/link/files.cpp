// Files read and written whole.

#include "link/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace ptxgraft::link {
namespace {

bool write_all(int file, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(file, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

std::optional<std::string> read_all(int file, std::size_t expected) {
    std::string bytes(expected + 1, '\0');  // one more than there is shows the end
    for (std::size_t end = 0;;) {
        if (end == bytes.size()) bytes.resize(end + 4096);  // what has grown, or does not say its size
        const ssize_t got = ::read(file, bytes.data() + end, bytes.size() - end);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return std::nullopt;
        end += static_cast<std::size_t>(got);
        if (got > 0) continue;
        bytes.resize(end);
        return bytes;
    }
}

std::optional<std::string> read_with(const std::string& path, int flags) {
    const int file =
        ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);  // a pipe must not block
    if (file < 0) return std::nullopt;
    struct stat status {};
    std::optional<std::string> bytes;
    if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode))
        bytes = read_all(file, static_cast<std::size_t>(status.st_size));
    ::close(file);
    return bytes;
}

}  // namespace

std::optional<std::string> read_file(const std::string& path) { return read_with(path, 0); }
std::optional<std::string> read_own_file(const std::string& path) { return read_with(path, O_NOFOLLOW); }

bool write_new_file(const std::string& path, std::string_view bytes) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                            0666);  // less the user's umask
    if (file < 0) return false;
    bool is_written = write_all(file, bytes);
    int error = errno;
    if (::close(file) != 0 && is_written) {
        is_written = false;
        error = errno;
    }
    if (is_written) return true;
    ::unlink(path.c_str());
    errno = error;
    return false;
}

}  // namespace ptxgraft::link
