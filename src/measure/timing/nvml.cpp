// NVIDIA's management library where it is there: the clock of a GPU, and who is on it.
#include "measure/timing/nvml.hpp"

#include <dlfcn.h>

namespace ptxgraft::measure {
namespace {

// Values of nvml.h, which NVIDIA keeps stable.
constexpr int success = 0, insufficient_size = 7;
constexpr int clock_sm = 1, temperature_gpu = 0;

template <class Function> bool find(void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library, name));
    return function != nullptr;
}

}  // namespace

std::unique_ptr<Nvml> Nvml::open(const std::string& library, const std::string& uuid) {
    std::unique_ptr<Nvml> nvml(new Nvml);
    if (library.empty()) return nullptr;
    nvml->library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (nvml->library_ == nullptr) return nullptr;
    int (*init)() = nullptr;
    int (*by_uuid)(const char*, void**) = nullptr;
    if (!find(nvml->library_, "nvmlInit_v2", init) ||
        !find(nvml->library_, "nvmlDeviceGetHandleByUUID", by_uuid) ||
        !find(nvml->library_, "nvmlDeviceGetClockInfo", nvml->clock_) || init() != success)
        return nullptr;
    find(nvml->library_, "nvmlShutdown", nvml->shutdown_);
    find(nvml->library_, "nvmlDeviceGetTemperature", nvml->temperature_);
    find(nvml->library_, "nvmlDeviceGetCurrentClocksThrottleReasons", nvml->throttled_);
    find(nvml->library_, "nvmlDeviceGetComputeRunningProcesses_v3", nvml->processes_);
    if (by_uuid(uuid.c_str(), &nvml->device_) != success || nvml->state().megahertz == 0) return nullptr;
    return nvml;
}

NvmlState Nvml::state() const {
    NvmlState state;
    unsigned value = 0;
    unsigned long long reasons = 0;
    if (clock_(device_, clock_sm, &value) == success) state.megahertz = value;
    if (temperature_ != nullptr && temperature_(device_, temperature_gpu, &value) == success)
        state.celsius = value;
    if (throttled_ != nullptr && throttled_(device_, &reasons) == success) state.throttled = reasons;
    return state;
}

// Asked without room for them it says how many there are.
std::uint32_t Nvml::processes() const {
    unsigned count = 0;
    if (processes_ == nullptr) return 0;
    const int result = processes_(device_, &count, nullptr);
    return result == success || result == insufficient_size ? count : 0;
}

Nvml::~Nvml() {
    if (shutdown_ != nullptr) shutdown_();
    if (library_ != nullptr) dlclose(library_);
}

}  // namespace ptxgraft::measure
