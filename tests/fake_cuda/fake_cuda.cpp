#include "fake_cuda.hpp"

#include <cstdlib>
#include <cstring>

#include "device/driver.hpp"

using namespace ptxgraft::driver;

namespace {

FakeCuda state;
std::string function_name;

Result begin(const char* call) {
    ++state.calls[call];
    return state.failing_call == call ? static_cast<Result>(state.failing_result) : Result::success;
}

// Every call but those about devices needs a current context.
Result begin_in_context(const char* call) {
    state.called_without_context |= state.current.empty();
    return begin(call);
}

constexpr auto invalid_value = static_cast<Result>(1);

bool inside(DevicePointer address, std::size_t bytes) {
    auto after = state.allocations.upper_bound(address);
    if (after == state.allocations.begin()) return false;
    const auto& [base, size] = *--after;
    return address + bytes <= base + size;
}

void* host(DevicePointer address) { return reinterpret_cast<void*>(address); }

template <class Handle> Handle new_handle() {
    static std::uint64_t last = 0;
    return reinterpret_cast<Handle>(++last * 16);
}

}  // namespace

// Variants of the library: one whose driver does not start, one that finds no GPU, one that lacks a function.
#ifndef FAKE_CUDA_INIT_RESULT
#define FAKE_CUDA_INIT_RESULT 0
#endif

// The names are the driver's; driver.hpp declares their types.
#define FAKE extern "C" __attribute__((visibility("default")))

FAKE FakeCuda* fake_cuda() { return &state; }

FAKE Result cuInit(unsigned) {
    begin("cuInit");
    return static_cast<Result>(FAKE_CUDA_INIT_RESULT);
}
FAKE Result cuGetErrorName(Result error, const char** name) {
    *name = error == Result::out_of_memory     ? "CUDA_ERROR_OUT_OF_MEMORY"
            : error == Result::illegal_address ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : error == invalid_value           ? "CUDA_ERROR_INVALID_VALUE"
                                               : nullptr;
    return *name == nullptr ? invalid_value : Result::success;
}
FAKE Result cuGetErrorString(Result error, const char** text) {
    *text = error == Result::out_of_memory ? "out of memory" : nullptr;
    return *text == nullptr ? invalid_value : Result::success;
}
FAKE Result cuDriverGetVersion(int* version) {
    *version = state.version;
    return begin("cuDriverGetVersion");
}
FAKE Result cuDeviceGetCount(int* count) {
    *count = state.device_count;
    return begin("cuDeviceGetCount");
}
FAKE Result cuDeviceGet(Device* device, int ordinal) {
    if (ordinal < 0 || ordinal >= state.device_count) return invalid_value;
    *device = ordinal;
    return begin("cuDeviceGet");
}
FAKE Result cuDeviceGetName(char* name, int length, Device device) {
    std::strncpy(name, device == 0 ? "Fake GPU 0" : "Fake GPU 1", static_cast<std::size_t>(length));
    return begin("cuDeviceGetName");
}
FAKE Result cuDeviceGetAttribute(int* value, DeviceAttribute attribute, Device) {
    switch (attribute) {
        case DeviceAttribute::compute_capability_major: *value = state.major; break;
        case DeviceAttribute::compute_capability_minor: *value = state.minor; break;
        case DeviceAttribute::max_shared_memory_per_block_optin: *value = 227 * 1024; break;
        default: return invalid_value;
    }
    return begin("cuDeviceGetAttribute");
}
FAKE Result cuDevicePrimaryCtxRetain(Context* context, Device device) {
    ++state.retained[device];
    *context = reinterpret_cast<Context>(std::uint64_t{0x1000} + static_cast<std::uint64_t>(device));
    return begin("cuDevicePrimaryCtxRetain");
}
FAKE Result cuDevicePrimaryCtxRelease_v2(Device device) {
    --state.retained[device];
    return begin("cuDevicePrimaryCtxRelease_v2");
}
FAKE Result cuCtxPushCurrent_v2(Context context) {
    const Result result = begin("cuCtxPushCurrent_v2");
    if (result == Result::success) state.current.push_back(reinterpret_cast<std::uint64_t>(context));
    return result;
}
FAKE Result cuCtxPopCurrent_v2(Context* context) {
    if (state.current.empty()) return invalid_value;
    *context = reinterpret_cast<Context>(state.current.back());
    state.current.pop_back();
    return begin("cuCtxPopCurrent_v2");
}
FAKE Result cuCtxSynchronize() { return begin_in_context("cuCtxSynchronize"); }

FAKE Result cuMemAlloc_v2(DevicePointer* address, std::size_t bytes) {
    if (bytes == 0) return invalid_value;
    const Result result = begin_in_context("cuMemAlloc_v2");
    if (result != Result::success) return result;
    *address = reinterpret_cast<DevicePointer>(std::malloc(bytes));
    state.allocations[*address] = bytes;
    return Result::success;
}
FAKE Result cuMemFree_v2(DevicePointer address) {
    if (state.allocations.erase(address) == 0) return invalid_value;
    std::free(host(address));
    return begin_in_context("cuMemFree_v2");
}
FAKE Result cuMemcpyHtoD_v2(DevicePointer target, const void* source, std::size_t bytes) {
    if (!inside(target, bytes)) return invalid_value;
    std::memcpy(host(target), source, bytes);
    return begin_in_context("cuMemcpyHtoD_v2");
}
FAKE Result cuMemcpyDtoH_v2(void* target, DevicePointer source, std::size_t bytes) {
    if (!inside(source, bytes)) return invalid_value;
    std::memcpy(target, host(source), bytes);
    return begin_in_context("cuMemcpyDtoH_v2");
}
FAKE Result cuMemcpyDtoD_v2(DevicePointer target, DevicePointer source, std::size_t bytes) {
    if (!inside(target, bytes) || !inside(source, bytes)) return invalid_value;
    std::memcpy(host(target), host(source), bytes);
    return begin_in_context("cuMemcpyDtoD_v2");
}
FAKE Result cuMemsetD8_v2(DevicePointer target, unsigned char value, std::size_t count) {
    if (!inside(target, count)) return invalid_value;
    std::memset(host(target), value, count);
    return begin_in_context("cuMemsetD8_v2");
}

FAKE Result cuStreamCreate(Stream* stream, unsigned) {
    *stream = new_handle<Stream>();
    ++state.streams;
    return begin_in_context("cuStreamCreate");
}
FAKE Result cuStreamDestroy_v2(Stream) {
    --state.streams;
    return begin_in_context("cuStreamDestroy_v2");
}
FAKE Result cuStreamSynchronize(Stream) { return begin_in_context("cuStreamSynchronize"); }
FAKE Result cuEventCreate(Event* event, unsigned) {
    *event = new_handle<Event>();
    ++state.events;
    return begin_in_context("cuEventCreate");
}
FAKE Result cuEventDestroy_v2(Event) {
    --state.events;
    return begin_in_context("cuEventDestroy_v2");
}
FAKE Result cuEventRecord(Event, Stream) { return begin_in_context("cuEventRecord"); }
FAKE Result cuEventSynchronize(Event) { return begin_in_context("cuEventSynchronize"); }
FAKE Result cuEventElapsedTime(float* milliseconds, Event, Event) {
    *milliseconds = 1.5f;
    return begin_in_context("cuEventElapsedTime");
}

FAKE Result cuModuleLoadDataEx(Module* module, const void* image, unsigned count, JitOption* options,
                               void** values) {
    const Result result = begin_in_context("cuModuleLoadDataEx");
    if (result != Result::success) {
        for (unsigned i = 0; i < count; ++i)
            if (options[i] == JitOption::error_log_buffer)
                std::strcpy(static_cast<char*>(values[i]), state.module_log.c_str());
        return result;
    }
    state.image.assign(static_cast<const char*>(image), 4);
    *module = new_handle<Module>();
    auto& table = state.tables[reinterpret_cast<std::uint64_t>(*module)];
    table.resize(64);
    state.allocations[reinterpret_cast<DevicePointer>(table.data())] = table.size();
    ++state.modules;
    return result;
}
FAKE Result cuModuleUnload(Module module) {
    --state.modules;
    if (const auto table = state.tables.find(reinterpret_cast<std::uint64_t>(module));
        table != state.tables.end()) {
        state.allocations.erase(reinterpret_cast<DevicePointer>(table->second.data()));
        state.tables.erase(table);
    }
    return begin_in_context("cuModuleUnload");
}
FAKE Result cuModuleGetFunction(Function* function, Module, const char* name) {
    function_name = name;
    *function = new_handle<Function>();
    return begin_in_context("cuModuleGetFunction");
}
FAKE Result cuModuleGetGlobal_v2(DevicePointer* address, std::size_t* bytes, Module module,
                                 const char* name) {
    const Result result = begin_in_context("cuModuleGetGlobal_v2");
    if (result != Result::success) return result;
    if (std::strcmp(name, "table") != 0) return Result::not_found;
    auto& table = state.tables[reinterpret_cast<std::uint64_t>(module)];
    *address = reinterpret_cast<DevicePointer>(table.data());
    *bytes = table.size();
    return Result::success;
}
FAKE Result cuFuncGetAttribute(int* value, FunctionAttribute attribute, Function) {
    *value = attribute == FunctionAttribute::max_threads_per_block ? state.max_threads_per_block
                                                                   : state.static_shared_bytes;
    return begin_in_context("cuFuncGetAttribute");
}
FAKE Result cuFuncSetAttribute(Function, FunctionAttribute attribute, int value) {
    if (attribute == FunctionAttribute::non_portable_cluster_size_allowed) {
        state.large_clusters = value == 1;
        return begin_in_context("cuFuncSetAttribute");
    }
    if (attribute != FunctionAttribute::max_dynamic_shared_size_bytes) return invalid_value;
    state.dynamic_shared_bytes = value;
    return begin_in_context("cuFuncSetAttribute");
}

#ifndef FAKE_CUDA_WITHOUT_LAUNCH
FAKE Result cuLaunchKernel(Function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                           unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream stream,
                           void** parameters, void** extra) {
    if (extra != nullptr || shared_bytes > static_cast<unsigned>(state.dynamic_shared_bytes))
        return invalid_value;
    const Result result = begin_in_context("cuLaunchKernel");
    if (result != Result::success) return result;
    FakeLaunch launch{function_name,
                      {grid_x, grid_y, grid_z},
                      {block_x, block_y, block_z},
                      shared_bytes,
                      reinterpret_cast<std::uint64_t>(stream),
                      {}};
    for (std::size_t i = 0; i < state.argument_sizes.size(); ++i) {
        const auto* bytes = static_cast<const std::byte*>(parameters[i]);
        launch.arguments.emplace_back(bytes, bytes + state.argument_sizes[i]);
    }
    if (function_name == "fill") {
        DevicePointer target = 0;
        unsigned count = 0;
        std::memcpy(&target, launch.arguments[0].data(), sizeof(target));
        std::memcpy(&count, launch.arguments[1].data(), sizeof(count));
        if (!inside(target, count)) return Result::illegal_address;
        std::memset(host(target), static_cast<int>(launch.arguments[2][0]), count);
    }
    state.launches.push_back(std::move(launch));
    return Result::success;
}
#endif

#ifndef FAKE_CUDA_OF_CUDA_11
FAKE Result cuLaunchKernelEx(const LaunchConfiguration* config, Function function, void** parameters,
                             void** extra) {
    const LaunchConfiguration& c = *config;
    if (begin_in_context("cuLaunchKernelEx") != Result::success)
        return static_cast<Result>(state.failing_result);
    const Result result = cuLaunchKernel(function, c.grid_x, c.grid_y, c.grid_z, c.block_x, c.block_y,
                                         c.block_z, c.shared_bytes, c.stream, parameters, extra);
    if (result != Result::success) return result;
    FakeLaunch& launch = state.launches.back();
    for (unsigned i = 0; i < c.attribute_count; ++i) {
        const LaunchAttribute& attribute = c.attributes[i];
        if (attribute.id == LaunchAttributeId::cooperative) launch.cooperative = attribute.cooperative == 1;
        if (attribute.id == LaunchAttributeId::cluster_dimension)
            launch.cluster = {attribute.cluster[0], attribute.cluster[1], attribute.cluster[2]};
    }
    return result;
}

namespace {

Result keep_map(void* map, FakeTensorMap given, const char* call) {
    const Result result = begin_in_context(call);
    if (result != Result::success) return result;
    state.maps.push_back(std::move(given));
    std::memset(map, static_cast<int>(state.maps.size()), 128);
    return result;
}

}  // namespace

FAKE Result cuTensorMapEncodeTiled(void* map, int type, unsigned rank, void* address,
                                   const std::uint64_t* dims, const std::uint64_t* strides,
                                   const unsigned* box, const unsigned* element_strides, int interleave,
                                   int swizzle, int l2_promotion, int fill) {
    return keep_map(map,
                    {type,
                     reinterpret_cast<std::uint64_t>(address),
                     {dims, dims + rank},
                     {strides, strides + rank - 1},
                     {box, box + rank},
                     {element_strides, element_strides + rank},
                     {interleave, swizzle, l2_promotion, fill},
                     {}},
                    "cuTensorMapEncodeTiled");
}

FAKE Result cuTensorMapEncodeIm2col(void* map, int type, unsigned rank, void* address,
                                    const std::uint64_t* dims, const std::uint64_t* strides,
                                    const int* lower_corner, const int* upper_corner,
                                    unsigned channels_per_pixel, unsigned pixels_per_column,
                                    const unsigned* element_strides, int interleave, int swizzle,
                                    int l2_promotion, int fill) {
    std::vector<int> corners(lower_corner, lower_corner + rank - 2);
    corners.insert(corners.end(), upper_corner, upper_corner + rank - 2);
    corners.insert(corners.end(),
                   {static_cast<int>(channels_per_pixel), static_cast<int>(pixels_per_column)});
    return keep_map(map,
                    {type,
                     reinterpret_cast<std::uint64_t>(address),
                     {dims, dims + rank},
                     {strides, strides + rank - 1},
                     {},
                     {element_strides, element_strides + rank},
                     {interleave, swizzle, l2_promotion, fill},
                     corners},
                    "cuTensorMapEncodeIm2col");
}
#endif
