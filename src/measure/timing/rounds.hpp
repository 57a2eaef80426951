#pragma once
/// @file rounds.hpp
/// Rounds of samples of several participants.

#include <cstdint>
#include <span>
#include <vector>

#include "measure/timing/session_data.hpp"

namespace ptxgraft::measure {

struct RoundOptions {
    Sample::Purpose purpose = Sample::Purpose::report;
    Progress::Phase phase = Progress::Phase::report;
    bool is_mirrored = true;  ///< the order and then its reverse
    bool is_batched = false;  ///< by the participants' graphs
};

/// Measures, and notes what becomes of participants: who is not right, or impossible, or does not launch,
/// leaves. An error is what ends a session: the driver's, a lost device, Errc::baseline_wrong.
class Rounds {
  public:
    Rounds(Session::Data& session, std::vector<Sample>& samples) : s_(session), samples_(samples) {}

    /// Launches a participant on every image, untimed: finds out whether it is right, and its digests. Those
    /// that equal `known` ones are right.
    [[nodiscard]] Expected<void> admit(Participant& participant, std::span<const std::uint64_t> known);
    [[nodiscard]] Expected<void> measure(std::span<Participant* const> participants,
                                         const RoundOptions& options);
    /// Whose launch came last.
    [[nodiscard]] std::size_t in_flight() const { return in_flight_; }
    [[nodiscard]] std::uint32_t noisy() const { return noisy_; }

  private:
    struct Taken {
        Participant* participant;
        std::vector<Setting> settings;
        std::size_t sample;  // in samples_
    };
    void announce(const Participant& participant, Progress::Phase phase);
    [[nodiscard]] std::vector<Setting> settings(bool is_batched);
    [[nodiscard]] std::vector<Participant*> order_of(std::span<Participant* const> participants,
                                                     bool is_mirrored);
    /// Nothing: the participant has left.
    [[nodiscard]] Expected<std::optional<Measured>> launch(Participant& participant, Graph* graph,
                                                           std::span<const Setting> settings);
    [[nodiscard]] Expected<void> compare_digests(Participant& participant, const Measured& measured,
                                                 std::span<const Setting> settings);
    [[nodiscard]] Expected<bool> take(Taken& taken, const RoundOptions& options);
    [[nodiscard]] Expected<bool> repeat_slow_ones(std::vector<Taken>& taken, const RoundOptions& options);
    [[nodiscard]] Expected<void> check_baseline(const Participant& participant) const;
    void note(std::span<Participant* const> participants, std::span<const Taken> taken,
              const RoundOptions& options, bool is_noisy);

    Session::Data& s_;
    std::vector<Sample>& samples_;
    std::size_t in_flight_ = Progress::baseline;
    std::uint32_t noisy_ = 0;
    std::uint16_t order_ = 0;
};

}  // namespace ptxgraft::measure
