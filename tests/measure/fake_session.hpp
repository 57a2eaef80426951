#pragma once
// Timing sessions on the fake driver: kernels in C++, with a time that a test says, on a GPU with
// little L2; and the driver's calls in their order.

#include <gmock/gmock.h>

#include <cstring>
#include <map>
#include <set>

#include "device/fake_gpu.hpp"
#include "fake_cuda/scripted_noise.hpp"
#include "measure/fake_kernels.hpp"
#include "ptxgraft/measure/timing.hpp"

namespace ptxgraft::measure {

inline constexpr std::size_t elements = 300, fake_l2 = 64 << 10;

// A launch of a kernel under test: y = 2 x is right.
struct FakeRun {
    const float* x;
    float* y;
    int call;       // of this kernel, from 0
    double factor;  // of its time, to be set
};
inline void twice_as_much(FakeRun& run) {
    for (std::size_t i = 0; i < elements; ++i) run.y[i] = 2 * run.x[i];
}

struct FakeKernel {
    double milliseconds = 0.1;
    std::function<void(FakeRun&)> run = twice_as_much;
    int calls = 0;
};

class FakeSession : public FakeGpu {
  protected:
    void SetUp() override {
        FakeGpu::SetUp();
        fake().attributes[38] = fake_l2;
        fake().keeps_launches = false;
        fake().argument_sizes = {8, 8, 4};
        add_timing_kernels(fake());
        fake().on_launch = [this](const FakeLaunch& launch) { run(launch); };
        fake().milliseconds_of = [this](const FakeLaunch&) { return last_milliseconds_; };
        fake().on_call = [this](const FakeCuda&, const char* call) {
            if (is_traced_) trace_.emplace_back(call);
        };
        // A device that was opened before has the L2 of an H200.
        device_.emplace(Device::open("cuda:1", driver()).value());
        protocol_.nvml = driver().driver;
        protocol_.lock_folder = testing::TempDir();
    }
    void TearDown() override {
        kernels_.clear();
        device_.reset();
        fake().on_launch = nullptr, fake().milliseconds_of = nullptr, fake().on_call = nullptr;
        fake().failing_call.clear(), fake().lost_with = 0;
        FakeGpu::TearDown();
    }
    [[nodiscard]] const Device& gpu() const { return *device_; }

    // With other properties.
    void reopen() {
        kernels_.clear();
        device_.emplace(Device::open("cuda:1", driver()).value());
    }

    // A kernel of that name, on the device; the same for the same name.
    const Kernel& kernel(const std::string& name, const FakeKernel& behaviour = {}) {
        behaviours_[name] = behaviour;
        const auto there = kernels_.find(name);
        if (there != kernels_.end()) return there->second;
        const std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry " + name +
                                 "(.param .u64 x, .param .u64 y, .param .u32 n) { ret; }\n";
        return kernels_.emplace(name, Skeleton::from_ptx(text)->graft({}, gpu()).value()).first->second;
    }
    Variant variant(const std::string& name, const FakeKernel& behaviour = {}) {
        return {name, kernel(name, behaviour)};
    }
    static TimedLaunch work() {
        TimedLaunch work;
        const auto tensor = [](const char* name, TensorAccess access) {
            TemplateTensor made;
            made.name = name, made.type = "f32", made.shape = {elements}, made.bytes = 4 * elements;
            made.access = access;
            return made;
        };
        work.launch.config = {.grid = {2}, .block = {256}};
        work.launch.tensors = {tensor("x", TensorAccess::in), tensor("y", TensorAccess::out)};
        const std::uint32_t n = elements;
        std::vector<std::byte> bytes(4);
        std::memcpy(bytes.data(), &n, 4);
        work.launch.parameters = {
            {"x", "u64", 0}, {"y", "u64", 1}, {.name = "n", .type = "u32", .value = bytes}};
        work.is_right = [](std::uint64_t, std::span<const std::vector<std::byte>> tensors) -> Expected<bool> {
            std::vector<float> x(elements), y(elements);
            std::memcpy(x.data(), tensors[0].data(), 4 * elements);
            std::memcpy(y.data(), tensors[1].data(), 4 * elements);
            for (std::size_t i = 0; i < elements; ++i)
                if (!(std::abs(y[i] - 2 * x[i]) <= 1e-3f)) return false;
            return true;
        };
        return work;
    }
    Expected<Session> open() { return Session::open(work(), kernel("baseline"), gpu(), protocol_); }
    void set_noise(Noise noise, std::uint64_t seed, double sigma = 0.0025) {
        noise_ = NoiseScript(noise, seed, sigma);
    }
    void start_trace() { is_traced_ = true, trace_.clear(); }
    std::vector<std::string> take_trace() {
        is_traced_ = false;
        return std::move(trace_);
    }
    FakeKernel& behaviour(const std::string& name) { return behaviours_.at(name); }
    std::set<std::uint64_t> streams_;  // of all launches

    Protocol protocol_;

  private:
    void run(const FakeLaunch& launch) {
        last_milliseconds_ = 0.002;
        streams_.insert(launch.stream);
        std::string traced = launch.function;
        if (launch.function == "ptxgraft_fill")
            traced = 16 * fake_argument(launch, 1) >= 2 * fake_l2 ? "flush" : "slots";
        if (!run_timing_kernel(launch, marker_ns_, fake().megahertz)) run_kernel(launch);
        if (is_traced_) trace_.push_back(traced);
    }
    void run_kernel(const FakeLaunch& launch) {
        FakeKernel& kernel = behaviours_[launch.function];
        FakeRun run{fake_pointer<float>(launch, 0), fake_pointer<float>(launch, 1), kernel.calls++, 1};
        kernel.run(run);
        last_milliseconds_ = kernel.milliseconds * run.factor * noise_.next();
        if (fake().megahertz != 0) fake().megahertz = static_cast<unsigned>(1980 * noise_.clock());
    }

  protected:
    std::uint64_t marker_ns_ = 20000;

  private:
    std::optional<Device> device_;
    std::map<std::string, FakeKernel> behaviours_;
    std::map<std::string, Kernel> kernels_;
    NoiseScript noise_{Noise::none, 1};
    double last_milliseconds_ = 0;
    bool is_traced_ = false;
    std::vector<std::string> trace_;
};

}  // namespace ptxgraft::measure
