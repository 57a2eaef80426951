#pragma once
/// @file timing_call.hpp
/// A call of Pool::time: what is to be timed yet, and what came of the others.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "measure/worker/worker.hpp"

namespace ptxgraft::measure {

/// Variants that are to be timed together.
struct TimingPart {
    std::vector<std::size_t> variants;  ///< of the call
    bool is_excused = false;            ///< a worker that was dying got it: nothing in it
                                        ///< had a part in that
};

/// Threads: any number.
class TimingCall {
  public:
    /// Parts of `most_timed` at most, for each of the devices one, where that leaves a few variants in each.
    TimingCall(std::span<const VariantCode> variants, const PoolTimingOptions& options, std::size_t devices);
    TimingCall(const TimingCall&) = delete;
    TimingCall& operator=(const TimingCall&) = delete;

    [[nodiscard]] const PoolTimingOptions& options() const { return options_; }
    [[nodiscard]] std::size_t parts() const { return parts_; }  ///< at the begin
    [[nodiscard]] const VariantCode& variant(std::size_t number) const { return variants_[number]; }

    /// None where nothing waits.
    [[nodiscard]] std::optional<TimingPart> take();
    void give_back(TimingPart part);
    /// It ended early where the report says so: then what is not known waits again.
    void answered(const TimingPart& part, Timed timed);
    void died(const TimingPart& part, const Death& death);
    void failed(const TimingPart& part, const Error& error);
    /// Of all batches of the session that no calibration is behind.
    void closed(std::uint64_t session, const Closing& closing);
    [[nodiscard]] bool waits_for_closing(std::uint64_t session) const;
    /// True once for each device: its worker is to be another one.
    [[nodiscard]] bool renews(const void* device);

    [[nodiscard]] PoolTiming finish();

  private:
    struct Place {
        std::size_t batch, number;  // in its report
    };
    void try_again(std::vector<std::size_t> variants, std::optional<std::size_t> culprit,
                   const VariantTiming& at_last);
    void close(std::uint64_t session, const Closing& closing);

    const std::span<const VariantCode> variants_;
    const PoolTimingOptions& options_;
    std::size_t parts_ = 0;
    mutable std::mutex mutex_;
    std::deque<TimingPart> waiting_;
    std::vector<std::optional<Place>> places_;                      // of results that are in a report
    std::vector<std::optional<Expected<VariantTiming>>> verdicts_;  // of those that are in none
    std::vector<std::uint32_t> deaths_;
    std::vector<TimedBatch> batches_;
    std::set<const void*> renewed_;
};

}  // namespace ptxgraft::measure
