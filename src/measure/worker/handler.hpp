#pragma once
/// @file handler.hpp
/// What a worker does with a request, on its device.

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "measure/worker/timekeeper.hpp"
#include "ptxgraft/syntax.hpp"

namespace ptxgraft::measure {

class Handler {
  public:
    Handler(Device device, const CheckOptions& options);
    Handler(const Handler&) = delete;
    Handler& operator=(const Handler&) = delete;

    /// The workloads that were asked for last stay open.
    [[nodiscard]] Expected<Opened> open(const OpenRequest& request, const Tell& tell);
    /// What a variant does is a finding: an error is the workload's, or the device's.
    [[nodiscard]] Expected<Check> check(const CheckRequest& request, const Tell& tell);
    [[nodiscard]] Expected<Check> health(const HealthRequest& request, const Tell& tell);
    /// Times variants beside the baseline, in the workload's session.
    [[nodiscard]] Expected<Timed> time(const TimeRequest& request, const Tell& tell);

    /// Whether nothing works here any more, so that the process has to end.
    [[nodiscard]] bool is_lost() const { return !device_.health().ok(); }

  private:
    struct Workspace {
        std::uint64_t key;
        Opened opened;
        Checker checker;
        syntax::Module skeleton;  // what variants may do because it does
        Timekeeper timekeeper = {};
    };
    [[nodiscard]] Expected<Workspace*> find(std::uint64_t key);
    void step(CheckStep step);
    [[nodiscard]] Expected<Kernel> load(const Workspace& workspace, const VariantCode& variant) const;

    Device device_;
    CheckOptions options_;
    const Tell* tell_ = nullptr;  // of the request under way
    Opened* counted_ = nullptr;   // while a workload is opened: launches of its baseline
    std::chrono::steady_clock::time_point launched_;
    std::list<Workspace> open_;  // the one in front was used last
};

/// What a worker is, for its first frame.
[[nodiscard]] Expected<WorkerInfo> describe_worker(const Device& device);

/// Answers requests until the other side ends it. A result that this process has given for the same content
/// is given again. Errors: Errc::frame_malformed.
[[nodiscard]] Expected<void> serve(Handler& handler, const WorkerInfo& info, int input, int output);

}  // namespace ptxgraft::measure
