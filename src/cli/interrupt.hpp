#pragma once
/// @file interrupt.hpp
/// Ctrl-C while something runs that can be stopped.

#include <csignal>

namespace ptxgraft::cli {

/// While it lives, the first SIGINT is kept instead of ending the program; the second one ends it, as ever.
/// One at a time.
class Interrupt {
  public:
    Interrupt();
    ~Interrupt();
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;
    [[nodiscard]] bool came() const;

  private:
    struct sigaction before_ = {};
};

}  // namespace ptxgraft::cli
