// Starts a process with a socket and a pipe, and talks to it as long as the caller has patience.

#include "link/worker/partner.hpp"

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
#include "link/text.hpp"

namespace ptxgraft::link::worker {
namespace {

using namespace std::chrono_literals;

tl::unexpected<Error> cannot_start(const PartnerStart& start) {
    return fail(Errc::assembler_not_usable,
                fmt::format("{}: {}", start.arguments.front(), std::strerror(errno)));
}

}  // namespace

Partner::Partner(pid_t id, File socket, File said)
    : child_(id), owner_(::getpid()), socket_(std::move(socket)), said_(std::move(said)) {}

Expected<std::unique_ptr<Partner>> Partner::start(const PartnerStart& start) {
    int sockets[2], pipe[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return cannot_start(start);
    File socket(sockets[0]), its_socket(sockets[1]);
    // Neither side waits for the pipe: what does not fit is lost.
    if (::pipe2(pipe, O_CLOEXEC | O_NONBLOCK) != 0) return cannot_start(start);
    File said(pipe[0]), its_said(pipe[1]);
    const int output = start.answers_by_output ? its_socket.number() : its_said.number();
    const pid_t id = TRY(start_process({.arguments = start.arguments,
                                        .input = its_socket.number(),
                                        .output = output,
                                        .errors = its_said.number(),
                                        .environment = start.environment}));
    return std::unique_ptr<Partner>(new Partner(id, std::move(socket), std::move(said)));
}

Partner::~Partner() {
    // One that has ended, and that others may have collected, is not killed by a number that is not its own.
    if (::getpid() != owner_ || child_.is_over()) child_.let_go();
}

void Partner::kill() {
    if (::getpid() == owner_ && !child_.is_over()) child_.kill();
}

bool Partner::is_quiet() const {
    pollfd wanted{socket_.number(), POLLIN, 0};
    return ::poll(&wanted, 1, 0) == 0;
}

bool Partner::is_there() const {
    pollfd wanted{socket_.number(), POLLRDHUP, 0};
    return ::poll(&wanted, 1, 0) == 0;
}

Wait Partner::send(std::string_view message, const Patience& patience) {
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

Wait Partner::receive(char* to, std::size_t size, const Patience& patience) {
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

Wait Partner::receive(std::string& to, std::uint64_t size, const Patience& patience) {
    constexpr std::uint64_t block = 1 << 20;
    Wait waited = Wait::done;
    while (is_open_ && size > 0) {
        const std::size_t at = to.size(), more = std::min(size, block);
        to.resize(at + more);
        waited = receive(to.data() + at, more, patience);
        size -= more;
    }
    return waited;
}

std::string Partner::take_said() {
    std::string all;
    std::array<char, 4096> block;
    for (ssize_t got; (got = ::read(said_.number(), block.data(), block.size())) > 0;)
        all.append(block.data(), static_cast<std::size_t>(got));
    return trimmed_log(std::move(all));
}

std::string Partner::how_it_died(const std::string& said) {
    // The socket of a process closes a little before it can be collected.
    if (child_.wait(Patience(1s)) != Wait::done) return "what it sends means nothing";
    const int status = child_.status();
    std::string how = WIFSIGNALED(status) ? ::strsignal(WTERMSIG(status))
                                          : fmt::format("it ended with status {}", WEXITSTATUS(status));
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        how += ", by another process or by the system when memory ran out";
    return said.empty() ? how : how + "\n" + said;
}

}  // namespace ptxgraft::link::worker
