#pragma once
/// @file timekeeper.hpp
/// The session of a workload in a worker: opened when it is first asked for, closed now and then.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "measure/worker/frames.hpp"

namespace ptxgraft::measure {

/// Is told what a request has come to, and with which variant (ProgressFrame::variant).
using Tell = std::function<void(FramePhase, std::uint32_t)>;
/// Puts a variant on the device.
using Load = std::function<Expected<Kernel>(const VariantCode&)>;

class Timekeeper {
  public:
    /// Errors: those of Session::open, compare and close.
    [[nodiscard]] Expected<Timed> time(const Checker& checker, const TimeRequest& request, const Load& load,
                                       const Tell& tell);

  private:
    [[nodiscard]] Expected<void> open(const Checker& checker, const Protocol& protocol);
    [[nodiscard]] Expected<Report> compare(const TimeRequest& request, const Load& load);
    void progressed(const Progress& progress) const;

    std::optional<Session> session_;
    std::string protocol_;  // as bytes
    std::uint64_t id_ = 0;
    std::uint32_t requests_ = 0;  // since the last calibration
    // Of the request under way: who is told, and which of its variants those are that are compared.
    const Tell* tell_ = nullptr;
    bool is_opening_ = false;
    std::vector<std::size_t> compared_;
};

}  // namespace ptxgraft::measure
