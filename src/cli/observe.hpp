#pragma once
/// @file observe.hpp
/// What `run` tells of a launch on the emulator: a trace in a file, a profile on standard output.

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "print_json.hpp"
#include "ptxgraft/emulator_observer.hpp"

namespace CLI {
class App;
}

namespace ptxgraft::cli {

struct ObserveFlags {
    std::string trace_file, trace_block;
    std::optional<std::uint32_t> trace_warp;
    bool profile = false;
    [[nodiscard]] bool any() const { return profile || !trace_file.empty(); }
};
void add_observe_flags(CLI::App& verb, ObserveFlags& flags);

class Observation : EmulatorObserver {
  public:
    /// Opens the trace's file.
    explicit Observation(const ObserveFlags& flags);
    /// Null when nothing is asked for.
    [[nodiscard]] EmulatorObserver* observer();
    /// Ends the trace, of a launch that failed as well: up to there.
    void finish();
    /// The profile, as a table on standard output.
    void print_profile() const;
    /// The same: {"lines": […], "classes": […]}
    [[nodiscard]] Json profile_json() const;
    /// Of a launch that went well: its trace is not empty.
    void require_traced() const;

  private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    void step(const ObservedStep& step) override;

    const ObserveFlags& flags_;
    std::unique_ptr<std::FILE, Close> file_;
    std::optional<EmulatorTrace> trace_;
    bool has_traced_ = false;
    EmulatorProfile profile_;
};

}  // namespace ptxgraft::cli
