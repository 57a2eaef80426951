#pragma once
// The processes below a process, as /proc shows them.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace ptxgraft::test {

struct ProcessState {
    pid_t id = 0, parent = 0;
    std::string name;
    char state = 0;  ///< 'R', 'S', 'Z' …; 0 when there is no such process
};

[[nodiscard]] inline ProcessState process_state(pid_t id) {
    std::ifstream file("/proc/" + std::to_string(id) + "/stat");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    const std::size_t open = text.find('('), close = text.rfind(')');
    if (close == std::string::npos) return {};
    ProcessState process{.id = id, .name = text.substr(open + 1, close - open - 1)};
    process.state = text.at(close + 2);
    process.parent = static_cast<pid_t>(std::stol(text.substr(close + 4)));
    return process;
}

/// In the order of their numbers.
[[nodiscard]] inline std::vector<pid_t> children_of(pid_t parent) {
    std::vector<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const std::string name = entry.path().filename();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        const auto id = static_cast<pid_t>(std::stol(name));
        if (const ProcessState process = process_state(id); process.state != 0 && process.parent == parent)
            found.push_back(id);
    }
    std::sort(found.begin(), found.end());
    return found;
}
[[nodiscard]] inline std::vector<pid_t> children() { return children_of(::getpid()); }

/// Whether something becomes true in the next 20 seconds.
inline bool eventually(const std::function<bool()>& what) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!what()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
}

}  // namespace ptxgraft::test
