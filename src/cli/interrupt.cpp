// Ctrl-C as a flag that a launch asks for.

#include "interrupt.hpp"

namespace ptxgraft::cli {
namespace {

volatile std::sig_atomic_t has_come = 0;

}  // namespace

Interrupt::Interrupt() {
    has_come = 0;
    struct sigaction action = {};
    action.sa_handler = [](int) { has_come = 1; };
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    sigaction(SIGINT, &action, &before_);
    // Who started the program so that Ctrl-C does not end it means that.
    if (before_.sa_handler == SIG_IGN) sigaction(SIGINT, &before_, nullptr);
}

Interrupt::~Interrupt() { sigaction(SIGINT, &before_, nullptr); }

bool Interrupt::came() const { return has_come != 0; }

}  // namespace ptxgraft::cli
