#pragma once
/// @file work.hpp
/// What a warp has executed, and how long it may go on: a turn ends after so many instructions, and in
/// between the launch's budget and time limit are looked at.

#include <algorithm>
#include <cstdint>
#include <utility>

#include "emulator/machine/program.hpp"
#include "emulator/observe/watch.hpp"

namespace ptxgraft::emulator {

class Work {
  public:
    static constexpr std::uint64_t bytes_of_unit = 64;

    void begin() { *this = {}; }
    [[nodiscard]] std::uint64_t issued() const { return issued_; }
    [[nodiscard]] std::uint64_t thread_instructions() const { return thread_instructions_; }
    void count(std::uint64_t instructions, std::uint64_t lanes) {
        issued_ += instructions;
        thread_instructions_ += instructions * lanes;
    }
    /// The running instruction makes the host do as much as so many others: the launch is looked at the
    /// sooner.
    void charge(std::uint64_t units) {
        charged_ += units;
        pause_ = pause_ - std::min(pause_, issued_) > units ? pause_ - units : issued_;
    }
    /// The same, in bytes that are moved or looked at.
    void charge_bytes(std::uint64_t bytes) { charge(bytes / bytes_of_unit); }
    /// Counts an operation that may be part of a loop which waits for other threads.
    Flow strong() { return ++strong_ >= strong_limit_ ? Flow::yield : Flow::next; }

    void begin_turn(std::uint64_t quantum, Pace& pace) {
        pace_ = &pace;
        turn_end_ = issued_ + quantum;
        pause_ = std::min(turn_end_, issued_ + pace.left());
    }
    /// It is time to look at the launch.
    [[nodiscard]] bool is_due() const { return issued_ >= pause_; }
    [[nodiscard]] bool is_turn_over() const { return issued_ >= turn_end_; }
    /// Tells the pace what was done. False: the launch has ended.
    [[nodiscard]] bool pause() {
        const bool goes_on = pace_->spend(issued_ - paid_ + std::exchange(charged_, 0));
        paid_ = issued_;
        pause_ = std::min(turn_end_, issued_ + pace_->left());
        return goes_on;
    }
    /// The next turn is of another length: were all alike, a loop that takes a lock and gives it back could
    /// end each turn with the lock in its hands, and no other thread would ever get it.
    void vary_turn() {
        strong_ = 0;
        strong_limit_ = 32 + (strong_limit_ * 5 + 3) % 64;
    }

  private:
    std::uint64_t issued_ = 0;
    std::uint64_t thread_instructions_ = 0;
    Pace* pace_ = nullptr;
    std::uint64_t pause_ = 0;  // the launch is looked at when so many instructions were issued
    std::uint64_t turn_end_ = 0;
    std::uint64_t paid_ = 0;     // of the instructions, those that the pace knows of
    std::uint64_t charged_ = 0;  // what they cost beyond their number
    std::uint32_t strong_ = 0;
    std::uint32_t strong_limit_ = 64;
};

}  // namespace ptxgraft::emulator
