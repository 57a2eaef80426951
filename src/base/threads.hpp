#pragma once
/// @file threads.hpp
/// Work on several threads, the calling one among them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace ptxgraft {

/// As many as are wanted; for 0 as many as the machine has.
[[nodiscard]] inline std::uint32_t thread_count(std::uint32_t wanted) {
    return wanted != 0 ? wanted : std::max(1u, std::thread::hardware_concurrency());
}

/// Calls work(t) for all t below `count`, each on a thread of its own as far as there are threads. What one
/// throws comes out when all are done.
template <class Work> void on_threads(std::size_t count, Work work) {
    std::mutex mutex;
    std::exception_ptr thrown;
    const auto run = [&](std::size_t t) noexcept {
        try {
            work(t);
        } catch (...) {
            const std::scoped_lock lock(mutex);
            if (thrown == nullptr) thrown = std::current_exception();
        }
    };
    {
        std::vector<std::jthread> others;
        try {
            others.reserve(count);
            for (std::size_t t = 1; t < count; ++t) others.emplace_back(run, t);
        } catch (const std::system_error&) {  // this thread does the rest
        } catch (const std::bad_alloc&) {}
        run(0);
        for (std::size_t t = others.size() + 1; t < count; ++t) run(t);
    }
    if (thrown != nullptr) std::rethrow_exception(thrown);
}

}  // namespace ptxgraft
