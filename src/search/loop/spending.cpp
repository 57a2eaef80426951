// Budgets of a run.

#include "search/loop/spending.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>

namespace ptxgraft::search {
namespace {

constexpr std::uint64_t without_price = 16;  // candidates of the first batch, which says what a GPU takes

double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}
double wall_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Spending::Spending(const Budget& budget, std::span<Gate* const> gates)
    : budget_(budget), begin_wall_(wall_seconds()), begin_cpu_(cpu_seconds()) {
    for (const Gate* gate : gates) {
        if (gate->name() == assembling) ++assembling_;
        if (gate->name() == emulating) ++emulating_;
        uses_gpu_ = uses_gpu_ || gate->uses_gpu();
    }
}

void Spending::add(std::span<const GateCount> gates) {
    double seconds = 0;
    std::uint64_t in = 0;  // to the gates that have a GPU
    for (const GateCount& gate : gates) {
        if (gate.name == assembling) assemblies_ += gate.in;
        if (gate.name == emulating) emulations_ += gate.in;
        if (gate.gpu_seconds <= 0) continue;
        seconds += gate.gpu_seconds;
        in = in == 0 ? gate.in : std::min(in, gate.in);
    }
    gpu_seconds_ += seconds;
    if (seconds <= 0) return;
    has_price_ = true;
    dearest_ = std::max(dearest_, seconds / static_cast<double>(std::max<std::uint64_t>(in, 1)));
}

std::uint64_t Spending::left(std::uint64_t judged) const {
    std::uint64_t most = ~std::uint64_t{0};
    const auto limit = [&](std::uint64_t budget, std::uint64_t spent, std::uint64_t times) {
        if (budget != 0 && times != 0) most = std::min(most, (budget - std::min(budget, spent)) / times);
    };
    limit(budget_.candidates, judged, 1);
    limit(budget_.assemblies, assemblies_, assembling_);
    limit(budget_.emulations, emulations_, emulating_);
    if (budget_.gpu_seconds > 0 && uses_gpu_ && !has_price_) most = std::min(most, without_price);
    if (budget_.gpu_seconds > 0 && has_price_) {
        const double count = std::max(0.0, budget_.gpu_seconds - gpu_seconds_) / dearest_;
        most = std::min(most, static_cast<std::uint64_t>(std::min(count, 1e18)));
    }
    return is_late() ? 0 : most;
}

bool Spending::is_late() const {
    return (budget_.seconds != 0 && wall_seconds() - begin_wall_ >= budget_.seconds) ||
           (budget_.cpu_seconds != 0 && cpu_seconds() - begin_cpu_ >= budget_.cpu_seconds);
}

}  // namespace ptxgraft::search
