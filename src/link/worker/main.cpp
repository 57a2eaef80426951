// The program ptxgraft-worker: assembles one module after the other for the pool that has started it, which
// it talks to over its standard input, a socket. It ends with the pool.

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "base/host_memory.hpp"
#include "link/worker/malloc.hpp"
#include "link/worker/protocol.hpp"
#include "ptxgraft/link.hpp"
#include "ptxgraft/version.h"

namespace ptxgraft::link::worker {
namespace {

constexpr int socket_file = STDIN_FILENO;

// --- what a worker is to the machine

// Ends this process when the pool's closes the socket or dies, also in the midst of a module. The signal that
// Linux can send a child instead (PR_SET_PDEATHSIG) comes when the thread ends that has started it.
void end_with_pool(pid_t parent) {
    const int process = static_cast<int>(::syscall(SYS_pidfd_open, parent, 0));
    // A process that was forked from the pool's holds the socket too. Kernels before 5.3 have no such file.
    const int look_again_ms = process < 0 ? 1000 : -1;
    while (::getppid() == parent) {
        pollfd wanted[] = {{socket_file, POLLRDHUP, 0}, {process, POLLIN, 0}};
        if (::poll(wanted, 2, look_again_ms) > 0) break;
    }
    ::_exit(EXIT_SUCCESS);
}

// Where memory runs out the system ends workers first. Their deaths leave no core behind.
void come_first_when_memory_is_short() {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    if (const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); file >= 0) {
        [[maybe_unused]] const ssize_t written = ::write(file, "1000", 4);
        ::close(file);
    }
}

// Bytes of memory that this process can write and shares with none.
std::uint64_t data_bytes() {
    unsigned long pages = 0;
    if (std::FILE* const file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%*u %*u %*u %*u %*u %lu", &pages) != 1) pages = 0;
        std::fclose(file);
    }
    return std::uint64_t(pages) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// RLIMIT_DATA, not RLIMIT_AS, which counts 250 MB of libraries as well. nvPTXCompiler takes a malloc that
// fails for an error, and says so.
void limit_memory(std::uint64_t bytes) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose shadow would count
    if (bytes == 0) return;
    const rlimit limit{data_bytes() + bytes, data_bytes() + bytes};
    ::setrlimit(RLIMIT_DATA, &limit);
#else
    static_cast<void>(bytes);
#endif
}

// --- the conversation

bool read_all(char* to, std::size_t size) {
    while (size > 0) {
        const ssize_t got = ::recv(socket_file, to, size, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to += got;
        size -= static_cast<std::size_t>(got);
    }
    return true;
}

bool send_all(std::string_view message) {
    while (!message.empty()) {
        const ssize_t sent = ::send(socket_file, message.data(), message.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        message.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

// A module from the pool; without one this process ends. A module that is too large for this process ends it
// by std::bad_alloc, which the pool reads.
Request receive_request() {
    Header header;
    if (!read_all(reinterpret_cast<char*>(&header), sizeof header)) std::exit(EXIT_SUCCESS);
    if (!is_header_of(header, Kind::request)) std::exit(EXIT_FAILURE);
    std::string payload(header.size, '\0');
    if (!read_all(payload.data(), payload.size())) std::exit(EXIT_SUCCESS);
    auto request = decode_request(payload);
    if (!request || !send_all(encode_begun())) std::exit(EXIT_FAILURE);
    return std::move(*request);
}

Expected<Cubin> assemble_next(const Assembler& assembler) {
    const Request request = receive_request();
    return or_out_of_memory([&] { return assembler.assemble(request.ptx, request.options); });
}

int serve(std::string_view assembler_name, std::uint64_t memory_bytes) {
    keep_memory();
    come_first_when_memory_is_short();
    std::thread(end_with_pool, ::getppid()).detach();
    const auto assembler = find_assembler(assembler_name);
    // To know its version the assembler assembles, and is warm from then on.
    const auto hello = assembler.map([](const auto& found) {
        return Hello{PTXGRAFT_VERSION_STRING, std::string(found->name()), found->version()};
    });
    if (!send_all(encode(hello)) || !hello) return EXIT_FAILURE;
    limit_memory(memory_bytes);
    while (send_all(encode(assemble_next(**assembler)))) {}
    return EXIT_SUCCESS;
}

}  // namespace
}  // namespace ptxgraft::link::worker

int main(int argc, char** argv) {
    using namespace ptxgraft::link;
    const std::string_view memory = argc == 4 ? argv[3] : "";
    std::uint64_t memory_bytes = 0;
    const auto [end, error] = std::from_chars(memory.data(), memory.data() + memory.size(), memory_bytes);
    if (argc == 4 && argv[1] == worker::protocol && error == std::errc() &&
        end == memory.data() + memory.size())
        return worker::serve(argv[2], memory_bytes);
    std::fputs("ptxgraft-worker assembles for ptxgraft's worker_pool(), which starts it.\n", stderr);
    return 2;
}
