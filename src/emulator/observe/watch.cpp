// The budget and the time limit of a launch, looked at about every millisecond.
#include "emulator/observe/watch.hpp"

#include <algorithm>

namespace ptxgraft::emulator {
namespace {

using namespace std::chrono_literals;

// Looks that are closer together cost time, and those that are further apart make a launch end late.
constexpr std::chrono::microseconds shortest_look = 500us, longest_look = 2ms;
constexpr std::chrono::milliseconds between_questions = 2ms;

}  // namespace

Watch::Watch(const LaunchLimits& limits) : limits_(limits), may_stop_(limits.stop.stop_possible()) {
    if (limits.time_limit_ms != 0) deadline_ = Clock::now() + std::chrono::milliseconds(limits.time_limit_ms);
}

void Watch::end(Ending ending) {
    Ending none = Ending::none;
    ending_.compare_exchange_strong(none, ending, std::memory_order_relaxed);
}

std::uint64_t Watch::add(std::uint64_t units) {
    const std::uint64_t done = work_.fetch_add(units, std::memory_order_relaxed) + units;
    if (limits_.instruction_budget == 0) return ~std::uint64_t{0};
    if (done > limits_.instruction_budget) end(Ending::budget_spent);
    return limits_.instruction_budget - std::min(done, limits_.instruction_budget) + 1;
}

void Watch::look_at(Clock::time_point now) {
    if (now >= deadline_) end(Ending::time_spent);
    if (may_stop_ && limits_.stop.stop_requested()) end(Ending::stopped);
}

void Watch::ask() {
    if (limits_.should_stop()) end(Ending::stopped);
}

Pace::Pace(Watch& watch, Thread thread)
    : watch_(watch), thread_(thread), left_(std::min(first_interval, watch.add(0))) {}

Pace::~Pace() {
    if (done_ != 0) watch_.add(done_);
    watch_.warp_instructions.fetch_add(warp_instructions_, std::memory_order_relaxed);
    watch_.thread_instructions.fetch_add(thread_instructions_, std::memory_order_relaxed);
}

bool Pace::look(std::uint64_t units) {
    const std::uint64_t budget = watch_.add(done_ + units);
    done_ = 0;
    const auto now = Watch::Clock::now();
    watch_.look_at(now);
    if (thread_ == Thread::launching && watch_.asks() && now - last_question_ >= between_questions) {
        last_question_ = now;
        watch_.ask();
    }
    if (last_look_ != Watch::Clock::time_point()) learn(now - last_look_);
    last_look_ = now;
    left_ = std::min(interval_, budget);
    return watch_.ending() == Ending::none;
}

void Pace::learn(Watch::Clock::duration since_last) {
    if (since_last > longest_look) interval_ = std::max<std::uint64_t>(interval_ / 4, 1);
    if (since_last < shortest_look) interval_ = std::min(interval_ * 2, most_interval);
}

}  // namespace ptxgraft::emulator
