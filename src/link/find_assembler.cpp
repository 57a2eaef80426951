// Assemblers by the names that users write.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/try.hpp"
#include "ptxgraft/worker.hpp"

namespace ptxgraft {
namespace {

// One of the library's own, which nobody owns.
Expected<std::shared_ptr<const Assembler>> own(const Assembler* assembler, std::string_view name) {
    if (assembler == nullptr)
        return fail(Errc::assembler_not_usable, fmt::format("this library was built without {}", name));
    return std::shared_ptr<const Assembler>(std::shared_ptr<void>(), assembler);
}

// What stands behind "workers:".
Expected<unsigned> worker_count(std::string_view text) {
    constexpr unsigned most = 1024;
    unsigned count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error == std::errc() && end == text.data() + text.size() && count >= 1 && count <= most) return count;
    return fail(Errc::assembler_not_usable,
                fmt::format("'workers:{}'; right is workers:N, N from 1 to {}", text, most));
}

}  // namespace

Expected<std::shared_ptr<const Assembler>> find_assembler(std::string_view name,
                                                          std::optional<std::chrono::milliseconds> timeout) {
    constexpr std::string_view workers = "workers:",
                               in_process[] = {"", "default", "nvptxcompiler", "nvjitlink"};
    if (timeout && std::ranges::find(in_process, name) != std::end(in_process))
        return fail(Errc::argument_invalid,
                    "an assembler in the own process takes no timeout; workers, or the path of a ptxas, do");
    WorkerPoolOptions pool;
    PtxasOptions program;
    if (timeout) pool.timeout = program.timeout = *timeout;
    if (name.empty() || name == "default") return own(&default_assembler(), name);
    if (name == "nvptxcompiler") return own(nvptxcompiler(), name);
    if (name == "nvjitlink") return own(nvjitlink(), name);
    if (name.starts_with(workers)) pool.workers = TRY(worker_count(name.substr(workers.size())));
    if (name == "workers" || name.starts_with(workers)) return worker_pool(pool);
    return ptxas(std::string(name), program);
}

}  // namespace ptxgraft
