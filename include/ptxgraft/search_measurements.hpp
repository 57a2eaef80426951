#pragma once
/// @file search_measurements.hpp
/// What a search measured on GPUs, as its archive keeps it: every sample, so that every figure can be
/// computed again.
///
/// @code
/// const Measurements times = Archive::open("run.sqlite")->measurements().value();
/// for (const Measurement& one : times.measurements)
///     std::cout << one.candidate << ": " << one.comparison.ratio << " of the baseline's time\n";
/// @endcode

#include <cstdint>
#include <string>
#include <vector>

#include "ptxgraft/measure/timing.hpp"
#include "ptxgraft/search.hpp"

namespace ptxgraft::search {

/// A session of a worker: times of two of them never meet, ratios do.
struct MeasuredSession {
    std::uint64_t id = 0;  ///< TimedBatch::session_id
    std::string device = {}, uuid = {}, target = {}, driver = {};
    std::uint32_t clock_khz = 0, memory_clock_khz = 0;  ///< the highest that the device has
    measure::ClockSource clock = measure::ClockSource::none;
    measure::Calibration calibration = {};  ///< the baseline against itself: the noise
    double event_milliseconds = 0;
    double roofline_milliseconds = 0;  ///< 0: not known
    std::uint32_t batch = 1;           ///< launches between two events
    bool is_shared = false;            ///< another process was on the device
    /// Why its last calibration is not that of its first; empty: it is, or there was none.
    std::string moved = {};
};

/// Variants that were timed together.
struct MeasuredBatch {
    std::uint64_t id = 0;       ///< in the order in which they were measured
    std::uint64_t session = 0;  ///< MeasuredSession::id
    measure::Tier tier = measure::Tier::elite;
    std::uint64_t seed = 0;  ///< Protocol::seed
    std::uint32_t rounds = 0, noisy_rounds = 0;
    double least_effect = 0;  ///< what was judged at least
    double baseline_milliseconds = 0;
    bool is_shared = false;
    std::vector<measure::Sample> samples = {};  ///< in the order in which they were measured, with clocks
};

/// A candidate in a batch.
struct Measurement {
    std::uint64_t candidate = 0;  ///< its index
    std::uint64_t batch = 0;      ///< MeasuredBatch::id
    std::uint16_t number = 0;     ///< Sample::variant
    measure::TimingStatus status = measure::TimingStatus::ok;
    measure::Comparison comparison = {};  ///< of samples that chose nothing
    measure::Comparison selection = {};   ///< of those that it was chosen by
    double milliseconds = 0;
};

struct Measurements {
    std::vector<MeasuredSession> sessions = {};  ///< by their ids
    std::vector<MeasuredBatch> batches = {};     ///< by their ids, from 1
    std::vector<Measurement> measurements = {};  ///< by their batches and numbers
};

}  // namespace ptxgraft::search
