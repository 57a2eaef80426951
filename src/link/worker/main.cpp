// The program ptxgraft-worker: assembles one module after the other for the pool that has started it, which
// it talks to over its standard input, a socket. It ends with the pool.

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/host_memory.hpp"
#include "base/keep_memory.hpp"
#include "link/worker/protocol.hpp"
#include "link/worker/self.hpp"
#include "ptxgraft/link.hpp"
#include "ptxgraft/version.h"

namespace ptxgraft::link::worker {
namespace {

constexpr int socket_file = STDIN_FILENO;

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
    end_with(::getppid(), {socket_file});
    const auto assembler = find_assembler(assembler_name);
    // To know its version the assembler assembles, and is warm from then on.
    const auto hello = assembler.map([](const auto& found) {
        return Hello{PTXGRAFT_VERSION_STRING, std::string(found->name()), found->version()};
    });
    if (!send_all(encode(hello)) || !hello) return EXIT_FAILURE;
    limit_memory(memory_bytes);  // nvPTXCompiler takes a malloc that fails for an error, and says so
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
