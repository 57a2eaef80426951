#pragma once
/// What a Kernel holds, and the watch for the steps of a graft.

#include <chrono>
#include <utility>

#include "ptxgraft/kernel.hpp"

namespace ptxgraft {

struct Kernel::Data {
    MachineCode code;  // without a cubin on the emulator
    Function function;
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
