#pragma once
/// @file session_data.hpp
/// What a session keeps, and who takes part in its rounds.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/timing/nvml.hpp"
#include "measure/timing/sampler.hpp"
#include "measure/timing/sets.hpp"
#include "ptxgraft/measure/timing.hpp"

namespace ptxgraft::measure {

/// One round of a participant: the mean of its samples' logarithms.
struct Datum {
    std::uint32_t round = 0;
    Sample::Purpose purpose = Sample::Purpose::report;
    bool is_noisy = false;
    double log_milliseconds = 0;
    std::optional<double> log_cycles = {};  ///< where the clock of each sample is known
};

struct Participant {
    const Kernel* kernel = nullptr;
    std::uint16_t number = 0;                  ///< Sample::variant
    std::size_t variant = Progress::baseline;  ///< Progress::variant
    std::vector<std::uint64_t> wanted = {};    ///< digests, by image
    std::shared_ptr<Graph> batch = {};         ///< null: launches are single ones
    TimingStatus status = TimingStatus::ok;
    Finding finding = Finding::right;
    std::string why = {};
    Error error = {};
    std::vector<Datum> data = {};

    [[nodiscard]] bool is_in() const { return status == TimingStatus::ok; }
    void leave(TimingStatus as, std::string because) { status = as, why = std::move(because); }
};

struct Session::Data {
    Protocol protocol;
    TimedLaunch launch;
    Kernel kernel;  // the baseline
    Device device;
    SessionFacts facts = {};
    std::unique_ptr<Nvml> nvml = {};
    Sets sets = {};
    std::optional<Sampler> sampler = {};
    Participant baseline = {};
    stack::Random random;
    std::uint32_t rounds = 0;
    std::vector<Sample> calibration_samples = {};
    std::optional<std::size_t> persisting_l2 = {};  // as it was before

    Data(TimedLaunch launch_, Kernel kernel_, Device device_, Protocol protocol_)
        : protocol(std::move(protocol_)),
          launch(std::move(launch_)),
          kernel(std::move(kernel_)),
          device(std::move(device_)),
          random(protocol.seed) {}
    Data(const Data&) = delete;
    Data& operator=(const Data&) = delete;
    ~Data() {
        if (persisting_l2) static_cast<void>(device.set_persisting_l2(*persisting_l2));
    }
};

}  // namespace ptxgraft::measure
