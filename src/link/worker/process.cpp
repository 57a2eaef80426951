// Starts a worker, talks to it as long as its module may take, and finds out how it died.

#include "link/worker/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/try.hpp"
#include "link/assembler.hpp"
#include "link/text.hpp"
#include "ptxgraft/version.h"

namespace ptxgraft::link::worker {
namespace {

using namespace std::chrono_literals;

// A worker loads some 100 MB of libraries, and machines can be busy.
constexpr auto start_timeout = 30s;

tl::unexpected<Error> cannot_start(const std::string& program, std::string_view why) {
    return fail(Errc::assembler_not_usable, fmt::format("{}: {}", program, why));
}

// What nvPTXCompiler, nvJitLink and the C++ library print when they get no more memory. They end in several
// ways.
bool tells_of_no_memory(std::string_view said) {
    constexpr std::string_view words[] = {"Memory allocation failure", "std::bad_alloc"};
    return std::ranges::any_of(words, [&](std::string_view w) { return said.find(w) != said.npos; });
}

}  // namespace

Process::Process(const Setup& setup, pid_t id, File socket, File said)
    : setup_(setup), child_(id), owner_(::getpid()), socket_(std::move(socket)), said_(std::move(said)) {}

Expected<std::unique_ptr<Process>> Process::start(const Setup& setup, const std::stop_token& stop) {
    int sockets[2], pipe[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
        return cannot_start(setup.program, std::strerror(errno));
    File socket(sockets[0]), its_socket(sockets[1]);
    // Neither side waits for the pipe: what does not fit is lost.
    if (::pipe2(pipe, O_CLOEXEC | O_NONBLOCK) != 0) return cannot_start(setup.program, std::strerror(errno));
    File said(pipe[0]), its_said(pipe[1]);
    const pid_t id = TRY(start_process(
        {setup.program, std::string(protocol), setup.assembler, std::to_string(setup.memory_bytes)}, "/",
        its_socket.number(), its_said.number()));
    its_socket.close();
    its_said.close();
    std::unique_ptr<Process> process(new Process(setup, id, std::move(socket), std::move(said)));
    TRY(process->greet(stop));
    return process;
}

Process::~Process() {
    // One that has ended, and that others may have collected, is not killed by a number that is not its own.
    if (::getpid() != owner_ || child_.is_over()) child_.let_go();
}

void Process::kill() {
    if (::getpid() == owner_ && !child_.is_over()) child_.kill();
}

bool Process::is_ready() const {
    pollfd wanted{socket_.number(), POLLIN, 0};
    return is_at_rest_ && ::poll(&wanted, 1, 0) == 0;
}

Expected<void> Process::greet(const std::stop_token& stop) {
    std::string payload;
    const Wait waited = receive(Kind::hello, payload, Patience(start_timeout, stop));
    if (waited == Wait::stopped) return killed("a worker that was starting", waited, start_timeout);
    if (waited == Wait::late)
        return cannot_start(setup_.program, "it does not begin to speak as a worker does");
    if (!is_open_) return cannot_start(setup_.program, "it does not start: " + how_it_died(take_said()));
    hello_ = TRY(decode_hello(payload));
    if (hello_.library != PTXGRAFT_VERSION_STRING)
        return cannot_start(setup_.program, fmt::format("it is of ptxgraft {}, not {}", hello_.library,
                                                        PTXGRAFT_VERSION_STRING));
    is_at_rest_ = true;
    return {};
}

Expected<Cubin> Process::assemble(std::string_view ptx, const AssembleOptions& options) {
    ++modules_;
    is_at_rest_ = false;
    const Patience patience(setup_.timeout, options.stop);
    std::string payload;
    Wait waited = send(encode(ptx, options), patience);
    if (is_open_) waited = receive(Kind::begun, payload, patience);
    died_idle_ = !is_open_ && waited == Wait::done;
    if (is_open_) waited = receive(Kind::result, payload, patience);
    const std::string said = take_said();
    if (!is_open_) return ended(waited, said);
    auto result = decode_result(payload);
    if (result) {
        is_at_rest_ = true;
        return result;
    }
    const bool lacks_memory = result.error().code == Errc::out_of_memory || tells_of_no_memory(said);
    if (lacks_memory) return out_of_memory();
    is_at_rest_ = result.error().code != Errc::internal_error;
    return result;
}

// --- the conversation: whatever is not as it should be closes it

Wait Process::send(std::string_view message, const Patience& patience) {
    while (!message.empty()) {
        const ssize_t sent =
            ::send(socket_.number(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) message.remove_prefix(static_cast<std::size_t>(sent));
        if (sent >= 0 || errno == EINTR) continue;
        if (errno != EAGAIN && errno != EWOULDBLOCK) break;
        if (const Wait waited = patience.wait(socket_.number(), POLLOUT); waited != Wait::done) {
            is_open_ = false;
            return waited;
        }
    }
    is_open_ = is_open_ && message.empty();
    return Wait::done;
}

Wait Process::receive(char* to, std::size_t size, const Patience& patience) {
    while (size > 0) {
        if (const Wait waited = patience.wait(socket_.number(), POLLIN); waited != Wait::done) {
            is_open_ = false;
            return waited;
        }
        const ssize_t got = ::recv(socket_.number(), to, size, MSG_DONTWAIT);
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (got <= 0) break;
        to += got;
        size -= static_cast<std::size_t>(got);
    }
    is_open_ = is_open_ && size == 0;
    return Wait::done;
}

Wait Process::receive(Kind kind, std::string& payload, const Patience& patience) {
    constexpr std::size_t block = 1 << 20;  // so that a size that is a lie costs no more memory than comes
    Header header;
    Wait waited = receive(reinterpret_cast<char*>(&header), sizeof header, patience);
    is_open_ = is_open_ && is_header_of(header, kind);
    while (is_open_ && payload.size() < header.size) {
        const std::size_t at = payload.size(), more = std::min<std::size_t>(header.size - at, block);
        payload.resize(at + more);
        waited = receive(payload.data() + at, more, patience);
    }
    return waited;
}

std::string Process::take_said() {
    std::string all;
    std::array<char, 4096> block;
    for (ssize_t got; (got = ::read(said_.number(), block.data(), block.size())) > 0;)
        all.append(block.data(), static_cast<std::size_t>(got));
    return trimmed_log(std::move(all));
}

// --- how it went wrong

tl::unexpected<Error> Process::out_of_memory() const {
    const std::string limit = setup_.memory_bytes == 0
                                  ? std::string("the machine has")
                                  : fmt::format("{} MiB, the limit for a worker", setup_.memory_bytes >> 20);
    return fail(Errc::assembler_ended, fmt::format("{} wants more memory than {}", what(), limit));
}

std::string Process::how_it_died(const std::string& said) {
    // The socket of a process closes a little before it can be collected.
    if (child_.wait(Patience(1s)) != Wait::done) return "what it sends means nothing";
    const int status = child_.status();
    std::string how = WIFSIGNALED(status) ? ::strsignal(WTERMSIG(status))
                                          : fmt::format("it ended with status {}", WEXITSTATUS(status));
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        how += ", by another process or by the system when memory ran out";
    return said.empty() ? how : how + "\n" + said;
}

tl::unexpected<Error> Process::ended(Wait waited, const std::string& said) {
    if (waited != Wait::done) return killed(what(), waited, setup_.timeout);
    if (tells_of_no_memory(said)) return out_of_memory();
    return fail(Errc::assembler_ended, fmt::format("{}: {}", what(), how_it_died(said)));
}

}  // namespace ptxgraft::link::worker
