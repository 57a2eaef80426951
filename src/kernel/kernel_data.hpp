#pragma once
/// What a Kernel holds, and the watch for the steps of a graft.

#include <chrono>
#include <optional>
#include <utility>

#include "ptxgraft/kernel.hpp"

namespace ptxgraft {

struct Kernel::Data {
    std::optional<Cubin> cubin;
    GraftTimes times;
    Function function;
    std::vector<RouteChoice> routes;
};

class Stopwatch {
  public:
    /// Milliseconds since the last lap or the start.
    double lap() {
        const Clock::time_point now = Clock::now();
        return std::chrono::duration<double, std::milli>(now - std::exchange(last_, now)).count();
    }

  private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point last_ = Clock::now();
};

}  // namespace ptxgraft
