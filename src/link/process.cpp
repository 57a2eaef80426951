// Starts programs in process groups of their own and collects them; runs one to its end, or kills it before.

#include "link/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/try.hpp"

namespace ptxgraft::link {
namespace {

// Reads until the writer has closed its end.
Wait read_all(int file, const Patience& patience, std::string& output) {
    constexpr std::size_t most = 16 << 20;
    std::array<char, 65536> block;
    for (;;) {
        if (const Wait waited = patience.wait(file, POLLIN); waited != Wait::done) return waited;
        const ssize_t got = ::read(file, block.data(), block.size());
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return Wait::done;
        output.append(block.data(), std::min(static_cast<std::size_t>(got), most - output.size()));
    }
}

// How the process starts: its files, its folder, a group of its own, and signals as a fresh program has them.
class SpawnPlan {
  public:
    // None of the files is one of the standard ones.
    SpawnPlan(const std::string& folder, int input, int output, int errors) {
        ::posix_spawn_file_actions_init(&files_);
        ::posix_spawnattr_init(&attributes_);
        if (input < 0)
            ::posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        else
            ::posix_spawn_file_actions_adddup2(&files_, input, STDIN_FILENO);
        ::posix_spawn_file_actions_adddup2(&files_, output, STDOUT_FILENO);
        ::posix_spawn_file_actions_adddup2(&files_, errors, STDERR_FILENO);
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
    int start(pid_t& id, const ProcessStart& start) const {
        const std::vector<char*> argv = pointers(start.arguments);
        const std::vector<char*> variables =
            start.environment ? pointers(*start.environment) : std::vector<char*>();
        return ::posix_spawn(&id, argv.front(), &files_, &attributes_, argv.data(),
                             start.environment ? variables.data() : environ);
    }

  private:
    // As exec wants them: a null pointer ends them.
    static std::vector<char*> pointers(const std::vector<std::string>& texts) {
        std::vector<char*> all;
        all.reserve(texts.size() + 1);
        for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
        all.push_back(nullptr);
        return all;
    }

    posix_spawn_file_actions_t files_;
    posix_spawnattr_t attributes_;
};

// The same file under a number that is no standard one's, as files have it that a program opens after it has
// closed a standard one: the process has its own there.
File beyond_standard(int file) { return File(::fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)); }

tl::unexpected<Error> cannot_start(const std::string& program, int error) {
    return fail(Errc::assembler_not_usable, fmt::format("{}: {}", program, std::strerror(error)));
}

}  // namespace

void File::close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
}

void Patience::Waker::operator()() const { ::eventfd_write(file, 1); }

Patience::Patience(Clock::time_point end, const std::stop_token& stop)
    : end_(end), stopped_(stop.stop_possible() ? ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1) {
    if (stopped_.number() >= 0) callback_.emplace(stop, Waker{stopped_.number()});
}

Patience::Patience(std::chrono::milliseconds time, const std::stop_token& stop)
    : Patience(Clock::now() + std::min<std::chrono::milliseconds>(time, std::chrono::hours(24 * 365)), stop) {
}

Wait Patience::wait(int file, short events) const {
    using std::chrono::milliseconds;
    for (;;) {
        pollfd wanted[] = {{file, events, 0}, {stopped_.number(), POLLIN, 0}};
        const auto left = std::chrono::ceil<milliseconds>(end_ - Clock::now()).count();
        const int most = file < 0 ? 1 : 1'000'000;
        const int ready = ::poll(wanted, 2, static_cast<int>(std::clamp<long long>(left, 0, most)));
        if (ready > 0 && wanted[1].revents != 0) return Wait::stopped;
        if (left <= 0) return Wait::late;
        if ((ready > 0 && wanted[0].revents != 0) || (ready == 0 && file < 0)) return Wait::done;
    }
}

Child::~Child() {
    if (is_over_) return;
    kill();
    while (::waitpid(id_, &status_, 0) < 0 && errno == EINTR) {}
}

bool Child::is_over() {
    if (is_over_) return true;
    const pid_t done = ::waitpid(id_, &status_, WNOHANG);
    // Without a status (the program ignores SIGCHLD) nothing tells how it went.
    return is_over_ = done == id_ || (done < 0 && errno != EINTR);
}

Wait Child::wait(const Patience& patience) {
    while (!is_over())
        if (const Wait waited = patience.wait(-1, 0); waited != Wait::done) return waited;
    return Wait::done;
}

void Child::kill() const { ::kill(-id_, SIGKILL); }

Expected<pid_t> start_process(const ProcessStart& start) {
    const std::string& program = start.arguments.front();
    const File in = start.input < 0 ? File() : beyond_standard(start.input);
    const File out = beyond_standard(start.output);
    const File errors = start.errors < 0 ? beyond_standard(start.output) : beyond_standard(start.errors);
    if ((start.input >= 0 && in.number() < 0) || out.number() < 0 || errors.number() < 0)
        return cannot_start(program, errno);
    pid_t id = 0;
    const SpawnPlan plan(start.folder, in.number(), out.number(), errors.number());
    const int error = plan.start(id, start);
    return error == 0 ? Expected<pid_t>(id) : cannot_start(program, error);
}

namespace {

// Where this process is killed, nobody is left to end the child: then it ends when it has worked as long as
// it might have been waited for, on all processors.
void limit_time(pid_t child, const Patience& patience) {
    using std::chrono::ceil, std::chrono::seconds;
    const auto left = static_cast<rlim_t>(std::max<long long>(ceil<seconds>(patience.left()).count(), 0) + 1);
    const rlim_t most = left * std::max(1u, std::thread::hardware_concurrency());
    const rlimit limit{most, most};
    ::prlimit(child, RLIMIT_CPU, &limit, nullptr);
}

}  // namespace

Expected<ProcessEnd> run_process(const std::vector<std::string>& arguments, const std::string& folder,
                                 const Patience& patience) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return cannot_start(arguments.front(), errno);
    File output(ends[0]), input(ends[1]);
    Child child(TRY(start_process({.arguments = arguments, .folder = folder, .output = input.number()})));
    input.close();
    limit_time(child.id(), patience);
    ProcessEnd end;
    end.waited = read_all(output.number(), patience, end.output);
    if (end.waited == Wait::done) end.waited = child.wait(patience);
    if (end.waited != Wait::done) return end;  // and the child is killed
    if (WIFEXITED(child.status())) end.exit_status = WEXITSTATUS(child.status());
    if (WIFSIGNALED(child.status())) end.signal = WTERMSIG(child.status());
    return end;
}

}  // namespace ptxgraft::link
