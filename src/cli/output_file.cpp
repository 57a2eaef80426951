// Files are replaced by renames: what a file held is there until what it is to hold is on the disk.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "text_file.hpp"

namespace ptxgraft::cli {
namespace {

tl::unexpected<Error> not_written(const std::string& path, int error) {
    return fail(Errc::file_not_writable, fmt::format("{}: {}", path, std::strerror(error)));
}

class Descriptor {
  public:
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&&) = delete;

    [[nodiscard]] bool is_open() const { return number_ >= 0; }
    [[nodiscard]] int number() const { return number_; }
    /// 0, or what went wrong: some file systems find it only when the file is closed.
    [[nodiscard]] int close() { return ::close(std::exchange(number_, -1)) == 0 ? 0 : errno; }

    /// 0, or what went wrong.
    [[nodiscard]] int write(std::string_view bytes) const {
        while (!bytes.empty()) {
            const ssize_t count = ::write(number_, bytes.data(), bytes.size());
            if (count < 0 && errno == EINTR) continue;
            if (count <= 0) return count == 0 ? ENOSPC : errno;
            bytes.remove_prefix(static_cast<std::size_t>(count));
        }
        return 0;
    }

  private:
    int number_;
};

// A file with a name that no other has, in the folder of `path`.
std::pair<Descriptor, std::string> create_beside(const std::string& path, mode_t mode) {
    constexpr int most_tries = 1000;
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
    for (int i = 0; i < most_tries; ++i) {
        std::string name = fmt::format("{}.ptxgraft-{}-{}", folder, ::getpid(), i);
        const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (file >= 0 || errno != EEXIST) return {Descriptor(file), std::move(name)};
    }
    return {Descriptor(-1), ""};
}

/// One of the files that are written together.
class NewFile {
  public:
    explicit NewFile(const OutputFile& file) : file_(file) {}
    NewFile(NewFile&& other) noexcept
        : file_(other.file_),
          target_(std::move(other.target_)),
          beside_(std::exchange(other.beside_, "")),
          in_place_(std::move(other.in_place_)) {}
    NewFile& operator=(NewFile&&) = delete;
    ~NewFile() {
        if (!beside_.empty()) ::unlink(beside_.c_str());
    }

    /// Writes the file beside its place, or opens what is to be written in place.
    Expected<void> prepare() {
        struct stat link {
        }, old{};
        const bool is_there = ::stat(file_.path.c_str(), &old) == 0;
        const bool is_link = ::lstat(file_.path.c_str(), &link) == 0 && S_ISLNK(link.st_mode);
        if (is_there ? !S_ISREG(old.st_mode) : is_link) return open_in_place();
        if (is_there && ::access(file_.path.c_str(), W_OK) != 0) return not_written(file_.path, errno);
        target_ = is_link ? resolved(file_.path) : file_.path;
        return write_beside(is_there ? &old : nullptr);
    }
    /// What cannot be taken back once it is begun, and may fail.
    Expected<void> write_in_place() {
        if (!in_place_) return {};
        if (::ftruncate(in_place_->number(), 0) != 0 && errno != EINVAL)
            return not_written(file_.path, errno);
        int error = in_place_->write(file_.bytes);
        if (error == 0) error = in_place_->close();
        return error == 0 ? Expected<void>() : not_written(file_.path, error);
    }
    Expected<void> take_place() {
        if (beside_.empty()) return {};
        if (::rename(beside_.c_str(), target_.c_str()) != 0) return not_written(file_.path, errno);
        beside_.clear();
        return {};
    }

  private:
    static std::string resolved(const std::string& path) {
        const std::unique_ptr<char, decltype(&std::free)> name(::realpath(path.c_str(), nullptr), &std::free);
        return name ? std::string(name.get()) : path;
    }

    Expected<void> open_in_place() {
        in_place_.emplace(::open(file_.path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
        return in_place_->is_open() ? Expected<void>() : not_written(file_.path, errno);
    }

    // Only the superuser can give a file to another owner: a file that was another's is the caller's then.
    static void keep_attributes(const Descriptor& file, const struct stat& old) {
        const int owner = ::fchown(file.number(), old.st_uid, old.st_gid),
                  mode = ::fchmod(file.number(), old.st_mode & 0777);
        static_cast<void>(owner + mode);
    }

    Expected<void> write_beside(const struct stat* old) {
        auto [file, name] = create_beside(target_, old != nullptr ? old->st_mode & 0777 : 0666);
        if (!file.is_open()) {
            const int error = errno;
            const bool may_be_in_place =
                old != nullptr && (error == EACCES || error == EPERM || error == EROFS);
            return may_be_in_place ? open_in_place() : not_written(file_.path, error);
        }
        beside_ = std::move(name);
        if (old != nullptr) keep_attributes(file, *old);
        int error = file.write(file_.bytes);
        if (error == 0) error = file.close();
        return error == 0 ? Expected<void>() : not_written(file_.path, error);
    }

    const OutputFile& file_;
    std::string target_, beside_;
    std::optional<Descriptor> in_place_;
};

Expected<void> write_standard_output(std::string_view bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size() && std::fflush(stdout) == 0)
        return {};
    return not_written("standard output", errno);
}

}  // namespace

Expected<void> write_files(std::span<const OutputFile> files) {
    std::vector<NewFile> news;
    news.reserve(files.size());
    for (const OutputFile& file : files)
        if (file.path != "-")
            if (auto done = news.emplace_back(file).prepare(); !done) return done;
    for (NewFile& file : news)
        if (auto done = file.write_in_place(); !done) return done;
    for (const OutputFile& file : files)
        if (file.path == "-")
            if (auto done = write_standard_output(file.bytes); !done) return done;
    for (NewFile& file : news)
        if (auto done = file.take_place(); !done) return done;
    return {};
}

Expected<void> write_file(const std::string& path, std::string bytes) {
    const OutputFile file{path, std::move(bytes)};
    return write_files(std::span(&file, 1));
}

}  // namespace ptxgraft::cli
