#pragma once
// A program run as a process of its own, with a limit on its time.

#include <chrono>
#include <string>
#include <vector>

#include "ptxgraft/error.hpp"

namespace ptxgraft::link {

struct ProcessEnd {
    int exit_status = 0;       ///< when `signal` is 0 and it was not stopped
    int signal = 0;            ///< that ended it
    bool was_stopped = false;  ///< its time was up
    std::string output;        ///< standard output and error, as they came
};

/// Runs `arguments[0]`, a path, in a folder, with nothing on standard input and none of the caller's other
/// files open. When its time is up, it and what it started are killed. Output beyond 16 MB is dropped.
/// Errors: Errc::assembler_not_usable when it cannot be started.
[[nodiscard]] Expected<ProcessEnd> run_process(const std::vector<std::string>& arguments,
                                               const std::string& folder, std::chrono::milliseconds timeout);

}  // namespace ptxgraft::link
