// What is used of NVIDIA's management library, of the fake driver's GPUs.

#include <string_view>

#include "fake_state.hpp"

using namespace fake;

namespace {
constexpr int not_found = 6, insufficient_size = 7;
}  // namespace

FAKE int nvmlInit_v2() { return 0; }
FAKE int nvmlShutdown() { return 0; }
FAKE int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
    const std::lock_guard lock(state_mutex);
    ++state.calls["nvmlDeviceGetHandleByUUID"];
    *device = &state;
    return state.megahertz == 0 || !std::string_view(uuid).starts_with("GPU-a") ? not_found : 0;
}
FAKE int nvmlDeviceGetClockInfo(void*, int, unsigned* megahertz) {
    const std::lock_guard lock(state_mutex);
    *megahertz = state.megahertz;
    return 0;
}
FAKE int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
    const std::lock_guard lock(state_mutex);
    *celsius = state.celsius;
    return 0;
}
FAKE int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
    const std::lock_guard lock(state_mutex);
    *reasons = state.throttled;
    return 0;
}
FAKE int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, void*) {
    const std::lock_guard lock(state_mutex);
    *count = state.compute_processes;
    return *count == 0 ? 0 : insufficient_size;
}
