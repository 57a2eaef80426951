// The lock of a device: a file that is locked, by the UUID of a GPU.
#include "measure/timing/device_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace ptxgraft::measure {
namespace {

constexpr auto pause = std::chrono::milliseconds(2);

// In a folder for all a file of another user's may be read and locked, but not opened with O_CREAT
// (fs.protected_regular). It stays where it is: one that is removed while others wait would be two locks.
int open_file(const std::string& path) {
    const int there = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (there >= 0 || errno != ENOENT) return there;
    return open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0666);
}

}  // namespace

Expected<DeviceLock> DeviceLock::take(const std::string& folder, const std::string& uuid, double seconds) {
    const std::string path = fmt::format("{}/ptxgraft-timing-{}.lock", folder, uuid);
    const int file = open_file(path);
    if (file < 0) return fail(Errc::timing_not_possible, fmt::format("{}: {}", path, std::strerror(errno)));
    DeviceLock lock(file);
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (flock(file, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return fail(Errc::timing_not_possible, fmt::format("{}: {}", path, std::strerror(errno)));
        if (std::chrono::steady_clock::now() >= end)
            return fail(Errc::timing_not_possible,
                        fmt::format("another session has measured on the GPU for {} s ({} is locked)",
                                    seconds, path));
        std::this_thread::sleep_for(pause);
    }
    return lock;
}

DeviceLock::DeviceLock(DeviceLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
DeviceLock::~DeviceLock() {
    if (file_ >= 0) close(file_);
}

}  // namespace ptxgraft::measure
