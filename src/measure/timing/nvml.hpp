#pragma once
/// @file nvml.hpp
/// NVIDIA's management library, opened with dlopen where it is there: the clock of a GPU, and who is on it.

#include <cstdint>
#include <memory>
#include <string>

namespace ptxgraft::measure {

/// What is not known is 0.
struct NvmlState {
    double megahertz = 0;  ///< of the multiprocessors
    std::uint32_t celsius = 0;
    std::uint64_t throttled = 0;  ///< nvmlClocksThrottleReasons
};

class Nvml {
  public:
    /// Of the GPU with that UUID ("GPU-…"). Null: there is no such library, or it does not know the GPU.
    [[nodiscard]] static std::unique_ptr<Nvml> open(const std::string& library, const std::string& uuid);
    [[nodiscard]] NvmlState state() const;          ///< now
    [[nodiscard]] std::uint32_t processes() const;  ///< that compute on it; 0: not known
    Nvml(const Nvml&) = delete;
    Nvml& operator=(const Nvml&) = delete;
    ~Nvml();

  private:
    Nvml() = default;
    void* library_ = nullptr;
    void* device_ = nullptr;
    int (*shutdown_)() = nullptr;
    int (*clock_)(void*, int, unsigned*) = nullptr;
    int (*temperature_)(void*, int, unsigned*) = nullptr;
    int (*throttled_)(void*, unsigned long long*) = nullptr;
    int (*processes_)(void*, unsigned*, void*) = nullptr;
};

}  // namespace ptxgraft::measure
