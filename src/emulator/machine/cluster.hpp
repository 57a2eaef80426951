#pragma once
/// @file cluster.hpp
/// The CTAs of a cluster, which run together on one host thread, and their barrier. Without clusters each CTA
/// is one of its own.

#include <memory>
#include <vector>

#include "emulator/machine/cta.hpp"

namespace ptxgraft::emulator {

class Cluster {
  public:
    explicit Cluster(const Launch& launch);
    Cluster(const Cluster&) = delete;
    Cluster& operator=(const Cluster&) = delete;
    ~Cluster();

    /// Bytes of the host that one takes, before its threads call or allocate anything.
    [[nodiscard]] static std::uint64_t host_bytes(const Launch& launch);

    /// Puts the CTAs of the cluster of this number at their begin.
    /// False: the launch has ended.
    [[nodiscard]] bool begin(std::uint64_t index, Pace& pace);
    /// Runs until the end, an error, or a good while of waiting for other clusters.
    Cta::State run(Pace& pace);

    [[nodiscard]] std::uint64_t index() const { return index_; }
    [[nodiscard]] const Error& error() const { return error_; }
    /// Of its checks; none where there are no checks.
    [[nodiscard]] ClusterFindings* findings() { return checker_ != nullptr ? &checker_->findings : nullptr; }
    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(ctas_.size()); }
    [[nodiscard]] Cta& cta(std::uint32_t rank) { return *ctas_[rank]; }
    [[nodiscard]] Dim3 position() const;  ///< in the grid of clusters

    // --- barrier.cluster (PTX ISA 9.7.13.3): a thread arrives, and may then wait until all others have

    enum class Arrival : std::uint8_t { ok, twice };
    [[nodiscard]] Arrival arrive(const Warp& warp, std::uint32_t mask, Semantics semantics);
    /// Lanes that have not arrived, and so would wait for nothing.
    [[nodiscard]] std::uint32_t absent(const Warp& warp, std::uint32_t mask);
    /// Lanes for which the barrier is complete, which from now on may arrive anew. The others are to wait.
    [[nodiscard]] std::uint32_t pass(const Warp& warp, std::uint32_t mask);
    /// After a wait was parked, an arrival or an exit: lets them go on when all have arrived.
    void complete();

  private:
    struct Lanes {
        std::uint32_t arrived = 0;   // at the barrier that is not complete
        std::uint32_t complete = 0;  // of the one that is, and have not waited yet
        std::uint32_t waiting = 0;
    };
    [[nodiscard]] Lanes& lanes(const Warp& warp);
    [[nodiscard]] bool is_complete();
    Cta::State deadlock();

    const Launch* launch_;
    std::uint64_t index_ = 0;
    std::unique_ptr<Checker> checker_;
    std::vector<std::unique_ptr<Cta>> ctas_;
    std::vector<Lanes> lanes_;  // of each warp, by rank
    bool any_arrived_ = false;
    Error error_;
};

}  // namespace ptxgraft::emulator
