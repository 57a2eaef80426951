#pragma once
// Timing sessions on the fake driver: kernels in C++, with a time that a test says, on a GPU with
// little L2; and the driver's calls in their order.

#include <gmock/gmock.h>

#include <cstring>
#include <map>
#include <set>

#include "device/fake_gpu.hpp"
#include "fake_cuda/scripted_noise.hpp"
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
        fake().argument_sizes_of = {{"ptxgraft_copy", {8, 8, 8}},
                                    {"ptxgraft_fill", {8, 8, 4}},
                                    {"ptxgraft_discard", {8, 8}},
                                    {"ptxgraft_digest", {8, 8, 8, 8}},
                                    {"ptxgraft_marker", {8}}};
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
    static std::uint64_t argument(const FakeLaunch& launch, std::size_t i) {
        std::uint64_t value = 0;
        std::memcpy(&value, launch.arguments[i].data(), launch.arguments[i].size());
        return value;
    }
    template <class T> static T* pointer(const FakeLaunch& launch, std::size_t i) {
        return reinterpret_cast<T*>(argument(launch, i));
    }
    void run(const FakeLaunch& launch) {
        last_milliseconds_ = 0.002;
        streams_.insert(launch.stream);
        std::string traced = launch.function;
        if (launch.function == "ptxgraft_copy") {
            std::memcpy(pointer<char>(launch, 0), pointer<char>(launch, 1), 16 * argument(launch, 2));
        } else if (launch.function == "ptxgraft_fill") {
            std::memset(pointer<char>(launch, 0), static_cast<int>(argument(launch, 2)),
                        16 * argument(launch, 1));
            traced = 16 * argument(launch, 1) >= 2 * fake_l2 ? "flush" : "slots";
        } else if (launch.function == "ptxgraft_discard") {
            std::memset(pointer<char>(launch, 0), 0x5A, 128 * argument(launch, 1));  // anything
        } else if (launch.function == "ptxgraft_digest") {
            digest(launch);
        } else if (launch.function == "ptxgraft_marker") {
            auto* const slot = pointer<std::uint64_t>(launch, 0);
            slot[1] = marker_ns_, slot[2] = marker_ns_ * fake().megahertz / 1000;
        } else {
            run_kernel(launch);
        }
        if (is_traced_) trace_.push_back(traced);
    }
    // What the kernel computes, said once more; a test compares the kernel with the library's own words.
    static void digest(const FakeLaunch& launch) {
        const auto* const words = pointer<std::uint64_t>(launch, 0);
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < argument(launch, 1); ++i) {
            std::uint64_t x = words[i] ^ (i * 0x9E3779B97F4A7C15u + argument(launch, 2));
            x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
            x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
            sum += x ^ (x >> 31);
        }
        *pointer<std::uint64_t>(launch, 3) += sum;
    }
    void run_kernel(const FakeLaunch& launch) {
        FakeKernel& kernel = behaviours_[launch.function];
        FakeRun run{pointer<float>(launch, 0), pointer<float>(launch, 1), kernel.calls++, 1};
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
