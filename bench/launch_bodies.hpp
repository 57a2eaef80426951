#pragma once
/// @file launch_bodies.hpp
/// What a launch costs the host beside the driver's own call: the same benches for the driver of host memory
/// (launch_bench.cpp), where the driver's call costs nothing, and for a GPU (gpu/launch_gpu_bench.cpp).

#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <array>
#include <stdexcept>
#include <string>

#include "ptxgraft/device.hpp"
#include "ptxgraft/graph.hpp"

namespace ptxgraft::bench {

template <class T> T value(Expected<T> result) {
    if (!result) throw std::runtime_error(describe(result.error()));
    return std::move(*result);
}
inline void done(const Expected<void>& result) {
    if (!result) throw std::runtime_error(describe(result.error()));
}

inline constexpr std::string_view empty_kernel =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry empty(.param .u64 a, .param .u32 n, .param .f32 x) { ret; }\n";

/// The driver's own functions.
class BareDriver {
  public:
    explicit BareDriver(const std::string& library) : handle_(dlopen(library.c_str(), RTLD_NOW)) {
        if (handle_ == nullptr) throw std::runtime_error(dlerror());
    }
    template <class Call> [[nodiscard]] Call* call(const char* name) const {
        void* const address = dlsym(handle_, name);
        if (address == nullptr) throw std::runtime_error(std::string("the driver has no ") + name);
        return reinterpret_cast<Call*>(address);
    }
    using Launch = int(void* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       void* stream, void** parameters, void** extra);
    /// The kernel, loaded by nothing but the driver, in the device's context, which is current.
    [[nodiscard]] void* load(const Device& device) const {
        const Cubin cubin = value(default_assembler().assemble(empty_kernel, {.target = device.target()}));
        void *module = nullptr, *function = nullptr;
        const int loaded = call<int(void**, const void*, unsigned, void*, void*)>("cuModuleLoadDataEx")(
            &module, cubin.image.data(), 0, nullptr, nullptr);
        if (loaded != 0 ||
            call<int(void**, void*, const char*)>("cuModuleGetFunction")(&function, module, "empty") != 0)
            throw std::runtime_error("the driver does not load the kernel");
        return function;
    }

  private:
    void* handle_;
};

/// Runs one launch an iteration; a GPU's queue never fills.
template <class Launch> void repeat(benchmark::State& state, const Device& device, Launch&& launch) {
    launch();
    done(device.synchronize());
    std::size_t queued = 0;
    for (auto _ : state) {
        launch();
        if (++queued % 256 != 0) continue;
        state.PauseTiming();
        done(device.synchronize());
        state.ResumeTiming();
    }
}

/// The way of a launch: how the context comes to be current, or that the driver's call is all there is.
enum class Way : std::uint8_t { bare, guarded, current, not_current, graph };

inline void run_launch(benchmark::State& state, const Device& device, const std::string& library, Way way) {
    const BareDriver driver(library);
    const Buffer buffer = value(device.allocate(4));
    const std::array<Argument, 3> arguments{buffer, 1u, 1.0f};
    if (way == Way::bare) {
        const CurrentDevice current = value(device.make_current());
        void* const function = driver.load(device);
        auto* const launch = driver.call<BareDriver::Launch>("cuLaunchKernel");
        std::uint64_t a = buffer.address();
        std::uint32_t n = 1;
        float x = 1;
        return repeat(state, device, [&] {
            std::array<void*, 3> parameters{&a, &n, &x};
            if (launch(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters.data(), nullptr) != 0)
                throw std::runtime_error("the launch fails");
        });
    }
    const Function function = value(device.load(empty_kernel, "empty"));
    if (way == Way::graph) {
        Graph graph = value(device.create_graph());
        value(graph.add(function, {}, arguments));
        return repeat(state, device, [&] { done(graph.launch()); });
    }
    if (way == Way::not_current) return repeat(state, device, [&] { done(function.launch({}, arguments)); });
    if (way == Way::guarded) {
        const CurrentDevice current = value(device.make_current());
        return repeat(state, device, [&] { done(function.launch({}, arguments)); });
    }
    driver.call<int(std::uint64_t)>("cuCtxPushCurrent_v2")(device.context());
    repeat(state, device, [&] { done(function.launch({}, arguments)); });
    std::uint64_t popped = 0;
    driver.call<int(std::uint64_t*)>("cuCtxPopCurrent_v2")(&popped);
}

}  // namespace ptxgraft::bench
