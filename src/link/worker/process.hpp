#pragma once
// One process of ptxgraft-worker, as the pool that has started it sees it.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "link/worker/partner.hpp"
#include "link/worker/protocol.hpp"
#include "ptxgraft/link.hpp"

namespace ptxgraft::link::worker {

struct Setup {
    std::string program, assembler;
    std::chrono::milliseconds timeout;  ///< for a module
    std::uint64_t memory_bytes;         ///< 0: no limit
};

/// Threads: one at a time.
class Process {
  public:
    /// Waits until it is ready. Errors: Errc::assembler_not_usable; Errc::assembler_ended at the stop.
    [[nodiscard]] static Expected<std::unique_ptr<Process>> start(const Setup& setup,
                                                                  const std::stop_token& stop);
    [[nodiscard]] const Hello& hello() const { return hello_; }
    [[nodiscard]] unsigned modules() const { return modules_; }
    /// Whether it can take a module: it is alive, and no module has spoilt it.
    [[nodiscard]] bool is_ready() const;
    void kill() { partner_->kill(); }

    /// Whether it died before it had read its last module, which therefore has no part in it.
    [[nodiscard]] bool died_idle() const { return died_idle_; }
    /// The assembler's result. Errc::assembler_ended when it did not come; then the process is not ready
    /// again.
    [[nodiscard]] Expected<Cubin> assemble(std::string_view ptx, const AssembleOptions& options);

  private:
    Process(const Setup& setup, std::unique_ptr<Partner> partner)
        : setup_(setup), partner_(std::move(partner)) {}
    [[nodiscard]] Wait receive(Kind kind, std::string& payload, const Patience& patience);
    [[nodiscard]] Expected<void> greet(const std::stop_token& stop);
    [[nodiscard]] tl::unexpected<Error> ended(Wait waited, const std::string& said);
    [[nodiscard]] tl::unexpected<Error> out_of_memory() const;
    [[nodiscard]] std::string what() const { return hello_.assembler + " " + hello_.version; }

    const Setup& setup_;
    std::unique_ptr<Partner> partner_;
    Hello hello_;
    unsigned modules_ = 0;
    bool died_idle_ = false;
    bool is_at_rest_ = false;  // nothing of the conversation is under way
};

}  // namespace ptxgraft::link::worker
