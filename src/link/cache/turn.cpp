// Turns of processes: taken without waiting where nobody has one, as nearly always.

#include "link/cache/turn.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

namespace ptxgraft::link {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// flock(2) waits without a limit of time; what is waited for takes some ten milliseconds or more.
constexpr Clock::duration first_pause = 200us, longest_pause = 5ms;

// Of this thread: who works for one cache may ask another one of the folder for the same.
thread_local std::vector<const Turn*> turns_of_this_thread;

// The file, made if need be, with the folder.
std::optional<OpenFile> open_turn(const std::string& path) {
    for (bool is_again = false;; is_again = true) {
        OpenFile file(path, O_RDWR | O_CREAT | O_NOFOLLOW);
        if (file) return file;
        std::error_code error(errno, std::generic_category());
        if (is_again || error != std::errc::no_such_file_or_directory) return std::nullopt;
        std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
    }
}

}  // namespace

Turn::Turn(std::string path, std::chrono::milliseconds patience) : path_(std::move(path)) {
    const auto is_same = [&](const Turn* turn) { return turn->path_ == path_; };
    if (std::ranges::any_of(turns_of_this_thread, is_same)) return;
    turns_of_this_thread.push_back(this);
    const Clock::time_point end = Clock::now() + patience;
    Clock::duration pause = first_pause;
    for (;;) {
        auto file = open_turn(path_);
        struct stat status {};
        if (!file || !file->is_regular(status)) return;
        while (!file->lock()) {
            if (errno != EWOULDBLOCK || Clock::now() >= end) return;
            has_waited_ = true;
            std::this_thread::sleep_for(pause);
            pause = std::min(pause * 2, longest_pause);
        }
        if (is_at(path_, status)) {  // else whoever had it has removed it
            file_.emplace(std::move(*file));
            return;
        }
    }
}

Turn::~Turn() {
    if (file_) ::unlink(path_.c_str());
    std::erase(turns_of_this_thread, this);
}

}  // namespace ptxgraft::link
