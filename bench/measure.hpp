#pragma once
// What benches measure with.

#include <benchmark/benchmark.h>

#include <cstring>
#include <ctime>
#include <string_view>
#include <vector>

namespace ptxgraft::bench {

// Processor time: other work on the machine does not count.
inline double seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Of copying a text once.
inline double memcpy_seconds(std::string_view text) {
    std::vector<char> to(text.size());
    const int rounds = static_cast<int>(40'000'000 / text.size() + 1);  // some milliseconds
    const double start = seconds();
    for (int i = 0; i < rounds; ++i) {
        std::memcpy(to.data(), text.data(), text.size());
        benchmark::DoNotOptimize(to.data());
        benchmark::ClobberMemory();
    }
    return (seconds() - start) / rounds;
}

/// Counters of work that made `output`: the time of one of its units, and how far all of it is from copying
/// what it made.
inline void report(benchmark::State& state, const char* per_unit, double units, std::string_view output,
                   double spent) {
    const double once = spent / static_cast<double>(state.iterations());
    state.counters[per_unit] = once / units * 1e9;
    state.counters["bytes"] = static_cast<double>(output.size());
    if (!output.empty()) state.counters["ratio_to_memcpy"] = once / memcpy_seconds(output);
}

}  // namespace ptxgraft::bench
