// Limits of the own process, and its end.

#include "link/worker/self.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

namespace ptxgraft::link::worker {
namespace {

void watch(pid_t parent, const std::vector<int>& files) {
    const int process = static_cast<int>(::syscall(SYS_pidfd_open, parent, 0));
    // A process that was forked from the parent holds the socket too. Kernels before 5.3 have no such file.
    const int look_again_ms = process < 0 ? 1000 : -1;
    std::vector<pollfd> wanted{{process, POLLIN, 0}};
    for (const int file : files) wanted.push_back({file, POLLRDHUP, 0});
    while (::getppid() == parent)
        if (::poll(wanted.data(), wanted.size(), look_again_ms) > 0) break;
    ::_exit(EXIT_SUCCESS);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Bytes of memory that this process can write and shares with none.
std::uint64_t data_bytes() {
    unsigned long pages = 0;
    if (std::FILE* const file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%*u %*u %*u %*u %*u %lu", &pages) != 1) pages = 0;
        std::fclose(file);
    }
    return std::uint64_t(pages) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}
#endif

}  // namespace

void end_with(pid_t parent, std::vector<int> files) { std::thread(watch, parent, std::move(files)).detach(); }

void come_first_when_memory_is_short() {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    if (const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); file >= 0) {
        [[maybe_unused]] const ssize_t written = ::write(file, "1000", 4);
        ::close(file);
    }
}

// RLIMIT_DATA, not RLIMIT_AS, which counts 250 MB of libraries as well.
void limit_memory(std::uint64_t bytes) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose shadow would count
    if (bytes == 0) return;
    const rlimit limit{data_bytes() + bytes, data_bytes() + bytes};
    ::setrlimit(RLIMIT_DATA, &limit);
#else
    static_cast<void>(bytes);
#endif
}

}  // namespace ptxgraft::link::worker
