#pragma once
/// @file interrupt.hpp
/// Ctrl-C, and other signals that ask for the end, while something runs that can be stopped.

#include <array>
#include <csignal>
#include <stop_token>
#include <string>
#include <thread>

#include "verb.hpp"

namespace ptxgraft::cli {

/// While it lives, the first SIGINT, SIGTERM or SIGHUP is kept instead of ending the program; the second one
/// ends it, as ever. One at a time.
class Interrupt {
  public:
    Interrupt();
    ~Interrupt();
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;
    [[nodiscard]] bool came() const;

    /// The end of a verb that was stopped by the last one: "stopped by Ctrl-C", what `more` says (whole
    /// lines, or nothing), and a status of 128 and the signal's number.
    [[nodiscard]] static Failure failure(const std::string& more = "\n");

  private:
    std::array<struct sigaction, 3> before_ = {};
};

/// Asks for a stop when an Interrupt has come.
class Stopper {
  public:
    [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }
    [[nodiscard]] bool came() const { return interrupt_.came(); }

  private:
    void watch(const std::stop_token& ended);

    Interrupt interrupt_;
    std::stop_source stop_;
    std::jthread watch_ = std::jthread([this](const std::stop_token& ended) { watch(ended); });
};

}  // namespace ptxgraft::cli
