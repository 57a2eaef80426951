#pragma once
/// @file turn.hpp
/// Of the processes that share a folder and want the same at once, one works: it has the lock of a file
/// `KEY.ptxgraft-work`, which the system gives back when its holder dies. The others wait for the lock, and
/// then look for the entry.

#include <chrono>
#include <optional>
#include <string>

#include "link/files.hpp"

namespace ptxgraft::link {

/// The turn to make an entry, until it goes. A folder that cannot be written has no turns: then everybody
/// works. Ends on the thread that took it, on which a second turn for the same is had at once.
class Turn {
  public:
    /// Waits while another process has the turn, at most so long: after that nobody has, and this one works
    /// too. Whoever waits for one turn while it has another can so not wait for ever.
    Turn(std::string path, std::chrono::milliseconds patience);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    [[nodiscard]] bool has_waited() const { return has_waited_; }

  private:
    std::string path_;
    std::optional<OpenFile> file_;  // whose lock this is
    bool has_waited_ = false;
};

}  // namespace ptxgraft::link
