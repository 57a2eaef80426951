#pragma once
/// @file sampler.hpp
/// One sample after the other: everything between two decisions of a session.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "measure/timing/nvml.hpp"
#include "measure/timing/sets.hpp"
#include "measure/timing/timing_kernels.hpp"
#include "ptxgraft/graph.hpp"
#include "ptxgraft/program.hpp"

namespace ptxgraft::measure {

/// Which image a launch has, and where.
struct Setting {
    std::size_t image = 0, place = 0;
};

struct Measured {
    double milliseconds = 0;             ///< between the events, of all launches
    NvmlState state = {};                ///< behind them; of a marker the clock alone
    std::vector<std::uint64_t> digests;  ///< of the launches' places afterwards, in their order
};

class Sampler {
  public:
    /// Makes the stream, the events and what is written over; loads the kernels and launches each once.
    [[nodiscard]] static Expected<Sampler> make(const Device& device, const Sets& sets,
                                                const SessionFacts& facts, std::uint64_t seed);

    /// A launch on each setting's place, one behind the other between two events: through `graph` where it is
    /// given, which then has them all, else there is one.
    [[nodiscard]] Expected<Measured> measure(const TimedLaunch& launch, const Kernel& kernel, Graph* graph,
                                             std::span<const Setting> settings);
    /// Milliseconds between two events with nothing in between.
    [[nodiscard]] Expected<double> measure_nothing();
    /// What is at a place now.
    [[nodiscard]] Expected<std::vector<std::byte>> content(std::size_t place) const;
    /// A graph of a launch at each place.
    [[nodiscard]] Expected<Graph> batch(const TimedLaunch& launch, const Kernel& kernel) const;

    /// Whether the last error came of the launch that was measured.
    [[nodiscard]] bool failed_in_launch() const { return in_launch_; }
    void use(const Nvml* nvml) { nvml_ = nvml; }
    void use_marker(bool is_used) { has_marker_ = is_used; }

  private:
    Sampler(const Device& device, const Sets& sets, TimingKernels kernels, Stream stream, Event begin,
            Event end, Buffer flush, Buffer slots, std::uint64_t seed)
        : device_(device),
          sets_(&sets),
          kernels_(std::move(kernels)),
          stream_(std::move(stream)),
          begin_(std::move(begin)),
          end_(std::move(end)),
          flush_(std::move(flush)),
          slots_(std::move(slots)),
          random_(seed, 1),
          secret_(random_.next()) {}
    [[nodiscard]] Expected<void> prepare(std::span<const Setting> settings, std::uint64_t slot);
    [[nodiscard]] Expected<void> launch_between_events(const TimedLaunch& launch, const Kernel& kernel,
                                                       Graph* graph, std::span<const Setting> settings);
    [[nodiscard]] Expected<void> look(std::span<const Setting> settings, std::uint64_t slot);

    Device device_;
    const Sets* sets_;
    TimingKernels kernels_;
    Stream stream_;
    Event begin_, end_;
    Buffer flush_, slots_;
    stack::Random random_;
    std::uint64_t secret_;  // of the digests
    const Nvml* nvml_ = nullptr;
    bool has_persisting_lines_ = true, has_marker_ = false, in_launch_ = false;
    std::uint32_t flushes_ = 0;
};

}  // namespace ptxgraft::measure
