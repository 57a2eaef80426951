// Opens the driver's library, finds its functions, and makes errors of its results.

#include "device/driver.hpp"
#include "base/try.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <map>
#include <mutex>

namespace ptxgraft::driver {
namespace {

struct Symbol {
    const char* name;
    void (*assign)(Driver& driver, void* address);
};

constexpr Symbol symbols[] = {
#define PTXGRAFT_DRIVER_SYMBOL(name, parameters) \
    {#name,                                      \
     [](Driver& driver, void* address) { driver.name = reinterpret_cast<Result(*) parameters>(address); }},
    PTXGRAFT_DRIVER_FUNCTIONS(PTXGRAFT_DRIVER_SYMBOL)};
constexpr Symbol later_symbols[] = {PTXGRAFT_LATER_DRIVER_FUNCTIONS(PTXGRAFT_DRIVER_SYMBOL)
#undef PTXGRAFT_DRIVER_SYMBOL
};

std::string loader_error(const std::string& otherwise) {
    const char* text = dlerror();
    return text != nullptr ? text : otherwise;
}

Expected<std::shared_ptr<const Driver>> load(const std::string& library) {
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return fail(Errc::driver_missing, loader_error(library));
    auto driver = std::make_shared<Driver>();
    for (const Symbol& symbol : symbols) {
        void* address = dlsym(handle, symbol.name);
        if (address == nullptr)
            return fail(Errc::driver_missing, fmt::format("{} has no function {}", library, symbol.name));
        symbol.assign(*driver, address);
    }
    for (const Symbol& symbol : later_symbols) symbol.assign(*driver, dlsym(handle, symbol.name));
    const Result started = driver->cuInit(0);
    driver->has_devices = started != Result::no_device;
    if (!driver->has_devices) return driver;
    TRY(driver->check(started, "cuInit"));
    return driver;
}

// What makes a kernel's failure: found at the launch or by whichever call comes after it.
bool is_kernel_failure(Result result) {
    switch (result) {
        case Result::illegal_address:
        case Result::launch_out_of_resources:
        case Result::launch_timeout:
        case Result::assert_:
        case Result::hardware_stack_error:
        case Result::illegal_instruction:
        case Result::misaligned_address:
        case Result::invalid_address_space:
        case Result::invalid_pc:
        case Result::tensor_memory_leak:
        case Result::launch_failed: return true;
        default: return false;
    }
}

}  // namespace

bool loses_context(Result result) {
    switch (result) {
        case Result::deinitialized:
        case Result::ecc_uncorrectable:
        case Result::nvlink_uncorrectable:
        case Result::contained:
        case Result::context_is_destroyed:
        case Result::mps_client_terminated:
        case Result::external_device:
        case Result::unknown: return true;
        case Result::launch_out_of_resources: return false;  // it never began
        default: return is_kernel_failure(result);
    }
}

Expected<std::shared_ptr<const Driver>> Driver::open(const std::string& library) {
    static std::mutex mutex;
    static std::map<std::string, std::shared_ptr<const Driver>> opened;
    const std::lock_guard lock(mutex);
    if (const auto found = opened.find(library); found != opened.end()) return found->second;
    auto driver = load(library);
    if (driver) opened.emplace(library, *driver);
    return driver;
}

std::string Driver::text(Result result) const {
    const char* name = nullptr;
    const char* meaning = nullptr;
    if (cuGetErrorName(result, &name) != Result::success || name == nullptr)
        return fmt::format("unknown error {}", static_cast<int>(result));
    if (cuGetErrorString(result, &meaning) != Result::success || meaning == nullptr) return name;
    return fmt::format("{} ({})", name, meaning);
}

Expected<void> Driver::check(Result result, std::string_view call, Errc otherwise) const {
    if (result == Result::success) return {};
    Errc code = otherwise;
    if (result == Result::out_of_memory) code = Errc::out_of_device_memory;
    if (is_kernel_failure(result)) code = Errc::launch_failed;
    return fail(code, fmt::format("{}: {}", call, text(result)));
}

Expected<void> Driver::absent(const char* name) {
    return fail(Errc::driver_too_old,
                fmt::format("it has no function {}; those from CUDA 12.0 on have it", name));
}

Expected<int> Driver::device_count() const {
    if (!has_devices) return 0;
    int count = 0;
    TRY(check(cuDeviceGetCount(&count), "cuDeviceGetCount"));
    return count;
}

}  // namespace ptxgraft::driver
