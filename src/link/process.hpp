#pragma once
// Programs run as processes of their own, with limits on how long they are waited for.

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "ptxgraft/error.hpp"

namespace ptxgraft::link {

using Clock = std::chrono::steady_clock;

/// A file descriptor that is closed with its owner.
class File {
  public:
    explicit File(int number = -1) : number_(number) {}
    ~File() { close(); }
    File(File&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    File& operator=(File&&) = delete;
    [[nodiscard]] int number() const { return number_; }
    void close();

  private:
    int number_;
};

/// How waiting ended.
enum class Wait { done, late, stopped };

/// How long to wait: until a time, or until the caller's stop.
class Patience {
  public:
    Patience(Clock::time_point end, const std::stop_token& stop);
    explicit Patience(std::chrono::milliseconds time, const std::stop_token& stop = {});

    /// Until one of poll's events happens to the file; of -1, which none happen to, at most a millisecond.
    [[nodiscard]] Wait wait(int file, short events) const;
    [[nodiscard]] Clock::duration left() const { return end_ - Clock::now(); }

  private:
    struct Waker {
        int file;
        void operator()() const;
    };

    Clock::time_point end_;
    File stopped_;  // an eventfd, readable once the caller asks for the stop; none where nobody can
    std::optional<std::stop_callback<Waker>> callback_;
};

/// A started process and its group: killed and collected with its owner.
class Child {
  public:
    explicit Child(pid_t id) : id_(id) {}
    ~Child();
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    [[nodiscard]] pid_t id() const { return id_; }
    /// Whether it has ended. Collects it.
    [[nodiscard]] bool is_over();
    /// Until it has ended.
    [[nodiscard]] Wait wait(const Patience& patience);
    void kill() const;
    /// As waitpid gives it, once it has ended; 0 where the program collects its children otherwise.
    [[nodiscard]] int status() const { return status_; }
    /// Leaves the process alone, now and at the end.
    void let_go() { is_over_ = true; }

  private:
    pid_t id_;
    int status_ = 0;
    bool is_over_ = false;
};

/// What is started, and what it gets of the caller.
struct ProcessStart {
    std::vector<std::string> arguments = {};  ///< the first one is a path
    std::string folder = "/";
    int input = -1;   ///< becomes its standard input; -1: nothing does
    int output = -1;  ///< its standard output
    int errors = -1;  ///< its standard error; -1: `output`
    /// `NAME=value`, all that there are; without: the caller's.
    std::optional<std::vector<std::string>> environment = {};
};
/// Starts it in a process group of its own, with signals as a fresh program has them. None of the caller's
/// other files are open in it. The caller may have threads. Errors: Errc::assembler_not_usable.
[[nodiscard]] Expected<pid_t> start_process(const ProcessStart& start);

struct ProcessEnd {
    Wait waited = Wait::done;  ///< else it was killed: its time was up, or the caller stopped it
    int exit_status = 0;       ///< when it ended by itself and `signal` is 0
    int signal = 0;            ///< that ended it
    std::string output;        ///< standard output and error, as they came
};

/// Runs `arguments[0]`, a path, in a folder, with nothing on standard input and none of the caller's other
/// files open. When patience ends, it and what it started are killed. Output beyond 16 MB is dropped.
/// Errors: Errc::assembler_not_usable when it cannot be started.
[[nodiscard]] Expected<ProcessEnd> run_process(const std::vector<std::string>& arguments,
                                               const std::string& folder, const Patience& patience);

}  // namespace ptxgraft::link
