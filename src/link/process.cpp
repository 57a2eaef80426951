// Starts a program in a process group of its own, reads what it prints, and kills it when its time is up.

#include "link/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

namespace ptxgraft::link {
namespace {

using Clock = std::chrono::steady_clock;

// A file descriptor that is closed with its owner.
class File {
  public:
    explicit File(int number = -1) : number_(number) {}
    ~File() { close(); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    [[nodiscard]] int number() const { return number_; }
    void set(int number) { number_ = number; }
    void close() {
        if (number_ >= 0) ::close(number_);
        number_ = -1;
    }

  private:
    int number_;
};

// A started process and its group: killed and collected with its owner.
class Child {
  public:
    explicit Child(pid_t id) : id_(id) {}
    ~Child() {
        if (is_over_) return;
        kill();
        while (::waitpid(id_, &status_, 0) < 0 && errno == EINTR) {}
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    void kill() const { ::kill(-id_, SIGKILL); }
    // Whether it has ended by then.
    bool wait_until(Clock::time_point end) {
        for (;;) {
            const pid_t done = ::waitpid(id_, &status_, WNOHANG);
            // Without a status (the program ignores SIGCHLD) the output alone tells how it went.
            if (done == id_ || (done < 0 && errno != EINTR)) return is_over_ = true;
            if (Clock::now() >= end) return false;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    [[nodiscard]] int status() const { return status_; }

  private:
    pid_t id_;
    int status_ = 0;
    bool is_over_ = false;
};

// Reads until the writer has closed its end; false when the time is up before.
bool read_until(int file, Clock::time_point end, std::string& output) {
    constexpr std::size_t most = 16 << 20;
    std::array<char, 65536> block;
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
        if (left <= 0) return false;
        pollfd wanted{file, POLLIN, 0};
        const int ready = ::poll(&wanted, 1, static_cast<int>(std::min<long long>(left, 1'000'000)));
        if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
        const ssize_t got = ready < 0 ? -1 : ::read(file, block.data(), block.size());
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return true;
        output.append(block.data(), std::min(static_cast<std::size_t>(got), most - output.size()));
    }
}

// How the process starts: its files, its folder, a group of its own, and signals as a fresh program has them.
class SpawnPlan {
  public:
    SpawnPlan(const std::string& folder, int output) {
        ::posix_spawn_file_actions_init(&files_);
        ::posix_spawnattr_init(&attributes_);
        ::posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        ::posix_spawn_file_actions_adddup2(&files_, output, STDOUT_FILENO);
        ::posix_spawn_file_actions_adddup2(&files_, output, STDERR_FILENO);
        ::posix_spawn_file_actions_addclosefrom_np(&files_, STDERR_FILENO + 1);
        ::posix_spawn_file_actions_addchdir_np(&files_, folder.c_str());
        sigset_t none, all;
        ::sigemptyset(&none);
        ::sigfillset(&all);
        ::posix_spawnattr_setsigmask(&attributes_, &none);
        ::posix_spawnattr_setsigdefault(&attributes_, &all);
        ::posix_spawnattr_setpgroup(&attributes_, 0);
        ::posix_spawnattr_setflags(&attributes_,
                                   POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    }
    ~SpawnPlan() {
        ::posix_spawn_file_actions_destroy(&files_);
        ::posix_spawnattr_destroy(&attributes_);
    }
    SpawnPlan(const SpawnPlan&) = delete;
    SpawnPlan& operator=(const SpawnPlan&) = delete;

    // 0 or an error number.
    int start(pid_t& id, const std::vector<std::string>& arguments) const {
        std::vector<char*> argv;
        for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
        argv.push_back(nullptr);
        return ::posix_spawn(&id, argv.front(), &files_, &attributes_, argv.data(), environ);
    }

  private:
    posix_spawn_file_actions_t files_;
    posix_spawnattr_t attributes_;
};

tl::unexpected<Error> cannot_start(const std::string& program, int error) {
    return fail(Errc::assembler_not_usable, fmt::format("{}: {}", program, std::strerror(error)));
}

}  // namespace

Expected<ProcessEnd> run_process(const std::vector<std::string>& arguments, const std::string& folder,
                                 std::chrono::milliseconds timeout) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return cannot_start(arguments.front(), errno);
    File output(ends[0]), input(ends[1]);
    pid_t id = 0;
    if (const int error = SpawnPlan(folder, input.number()).start(id, arguments); error != 0)
        return cannot_start(arguments.front(), error);
    Child child(id);
    input.close();
    ProcessEnd end;
    const auto latest = Clock::now() + timeout;
    end.was_stopped = !read_until(output.number(), latest, end.output) || !child.wait_until(latest);
    if (end.was_stopped) return end;  // and the child is killed
    if (WIFEXITED(child.status())) end.exit_status = WEXITSTATUS(child.status());
    if (WIFSIGNALED(child.status())) end.signal = WTERMSIG(child.status());
    return end;
}

}  // namespace ptxgraft::link
