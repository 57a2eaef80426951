// Ctrl-C and its like as a flag that a launch asks for.

#include "interrupt.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace ptxgraft::cli {
namespace {

constexpr std::array signals = {SIGINT, SIGTERM, SIGHUP};
volatile std::sig_atomic_t which_came = 0;

}  // namespace

Interrupt::Interrupt() {
    which_came = 0;
    struct sigaction action = {};
    action.sa_handler = [](int signal) { which_came = signal; };
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    for (std::size_t i = 0; i < signals.size(); ++i) {
        sigaction(signals[i], &action, &before_[i]);
        // Who started the program so that the signal does not end it means that.
        if (before_[i].sa_handler == SIG_IGN) sigaction(signals[i], &before_[i], nullptr);
    }
}

Interrupt::~Interrupt() {
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &before_[i], nullptr);
}

bool Interrupt::came() const { return which_came != 0; }

Failure Interrupt::failure(const std::string& more) {
    const int signal = which_came != 0 ? which_came : SIGINT;
    const char* const name = signal == SIGTERM ? "SIGTERM" : signal == SIGHUP ? "SIGHUP" : "Ctrl-C";
    return {std::string("stopped by ") + name + more, static_cast<Status>(128 + signal)};
}

void Stopper::watch(const std::stop_token& ended) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any wait;
    while (!ended.stop_requested() && !interrupt_.came())
        wait.wait_for(lock, ended, std::chrono::milliseconds(50), [] { return false; });
    if (interrupt_.came()) stop_.request_stop();
}

}  // namespace ptxgraft::cli
