#pragma once
// What benches on a GPU share: the GPU, times by events, and bytes beside the copy bandwidth of the same run.

#include <benchmark/benchmark.h>

#include <stdexcept>

#include "ptxgraft/device.hpp"
#include "ptxgraft/error.hpp"

namespace ptxgraft {

template <class T> T value(Expected<T> result) {
    if (!result) throw std::runtime_error(describe(result.error()));
    return std::move(*result);
}
inline void done(const Expected<void>& result) {
    if (!result) throw std::runtime_error(describe(result.error()));
}

// Runs a bench's body with the first GPU; skips where there is none, and where a step fails.
template <class Body> void with_gpu(benchmark::State& state, Body&& body) {
    static const auto device = Device::open("cuda");
    if (!device) return state.SkipWithError(message(device.error()).c_str());
    try {
        body(*device);
    } catch (const std::exception& error) { state.SkipWithError(error.what()); }
}

// Milliseconds of each iteration, measured by events around `launches` launches.
template <class Launch>
void time_on_stream(benchmark::State& state, const Device& device, int launches, Launch&& launch) {
    const Stream stream = value(device.create_stream());
    Event start = value(device.create_event()), end = value(device.create_event());
    launch(stream);  // a first launch loads the function
    done(stream.synchronize());
    for (auto _ : state) {
        done(start.record(&stream));
        for (int i = 0; i < launches; ++i) launch(stream);
        done(end.record(&stream));
        state.SetIterationTime(value(end.elapsed_since(start)) / 1000.0 / launches);
    }
}

// Bytes of each array: far above every L2 cache.
inline constexpr std::size_t array_bytes = std::size_t{1} << 29;

// Bytes read and written per second by a device-to-device copy, in this process; measured once.
inline double copy_bandwidth(const Device& device) {
    static double bandwidth = 0;
    if (bandwidth != 0) return bandwidth;
    const Buffer a = value(device.allocate(array_bytes)), b = value(device.allocate(array_bytes));
    Event start = value(device.create_event()), end = value(device.create_event());
    for (int i = 0; i < 3; ++i) done(b.copy_from(a));
    constexpr int copies = 20;
    done(start.record());
    for (int i = 0; i < copies; ++i) done(b.copy_from(a));
    done(end.record());
    bandwidth = 2.0 * array_bytes * copies / (value(end.elapsed_since(start)) / 1000.0);
    return bandwidth;
}

inline void count_bytes(benchmark::State& state, const Device& device, double bytes) {
    state.counters["GB/s"] = benchmark::Counter(bytes / 1e9, benchmark::Counter::kIsIterationInvariantRate);
    state.counters["copy_GB/s"] = copy_bandwidth(device) / 1e9;
    state.counters["of_copy"] =
        benchmark::Counter(bytes / copy_bandwidth(device), benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace ptxgraft
