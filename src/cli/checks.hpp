#pragma once
/// @file checks.hpp
/// What `run` asks of the emulator's checks, and how it tells what they found.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "print_json.hpp"
#include "ptxgraft/device.hpp"

namespace CLI {
class App;
}

namespace ptxgraft::cli {

struct CheckFlags {
    bool fast = false;
    std::string checks;  ///< empty: all
    std::optional<std::uint32_t> keep_going;
    std::vector<std::string> excuses;
    std::string findings_file;
    [[nodiscard]] bool any() const {
        return fast || !checks.empty() || keep_going || !excuses.empty() || !findings_file.empty();
    }
};
void add_check_flags(CLI::App& verb, CheckFlags& flags);

/// Puts the flags into options of the emulator. Ends the verb when they make no sense.
void set_checks(const CheckFlags& flags, EmulatorOptions& options);

/// What a run's launches did and found.
class Findings {
  public:
    Findings(const CheckFlags& flags, std::string ptx, std::string ptx_name)
        : flags_(flags), ptx_(std::move(ptx)), ptx_name_(std::move(ptx_name)) {}
    /// Of launches that are over: tells of what checks found on standard error, and writes the file that was
    /// asked for.
    void take(const Device& device);
    /// {"warp_instructions", "thread_instructions", "checks", "findings": […], "all_findings"}
    [[nodiscard]] Json json() const;
    /// When all else has succeeded: `ok: 1,234 warp instructions …` on standard error, or the end of the verb
    /// where there were findings.
    void finish(const Device& device, std::chrono::nanoseconds time) const;

  private:
    [[nodiscard]] Json rows() const;
    void write() const;

    const CheckFlags& flags_;
    std::string ptx_, ptx_name_;
    EmulatorReport report_;
};

}  // namespace ptxgraft::cli
