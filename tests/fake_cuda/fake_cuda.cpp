// What a test asks of the fake driver: which calls there were, which of them fail.
#include "fake_cuda.hpp"

#include <cstdlib>
#include <cstring>

#include "fake_state.hpp"

using namespace fake;

// Variants of the library: one whose driver does not start, one that finds no GPU, one that lacks a function.
#ifndef FAKE_CUDA_INIT_RESULT
#define FAKE_CUDA_INIT_RESULT 0
#endif

FAKE FakeCuda* fake_cuda() { return &state; }
FAKE void fake_cuda_set_argument_sizes(const std::size_t* sizes, std::size_t count) {
    state.argument_sizes.assign(sizes, sizes + count);
}
FAKE std::uint64_t fake_cuda_last_function() { return state.last_function; }
FAKE void fake_cuda_await_hanging() {
    std::unique_lock lock(hang_mutex);
    hang_changed.wait(lock, [] { return is_hanging; });
}
FAKE void fake_cuda_let_go() {
    const std::lock_guard lock(hang_mutex);
    may_go = true;
    hang_changed.notify_all();
}

FAKE Result cuInit(unsigned) {
    const Call call("cuInit", Call::In::driver);
    return static_cast<Result>(FAKE_CUDA_INIT_RESULT);
}
FAKE Result cuGetErrorName(Result error, const char** name) {
    *name = error == Result::out_of_memory       ? "CUDA_ERROR_OUT_OF_MEMORY"
            : error == Result::illegal_address   ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : error == Result::ecc_uncorrectable ? "CUDA_ERROR_ECC_UNCORRECTABLE"
            : error == Result::unknown           ? "CUDA_ERROR_UNKNOWN"
            : error == invalid_value             ? "CUDA_ERROR_INVALID_VALUE"
                                                 : nullptr;
    return *name == nullptr ? invalid_value : Result::success;
}
FAKE Result cuGetErrorString(Result error, const char** text) {
    *text = error == Result::out_of_memory ? "out of memory" : nullptr;
    return *text == nullptr ? invalid_value : Result::success;
}
FAKE Result cuDriverGetVersion(int* version) {
    *version = state.version;
    return Call("cuDriverGetVersion", Call::In::driver).result;
}

// --- devices

FAKE Result cuDeviceGetCount(int* count) {
    *count = state.device_count;
    return Call("cuDeviceGetCount", Call::In::driver).result;
}
FAKE Result cuDeviceGet(Device* device, int ordinal) {
    if (ordinal < 0 || ordinal >= state.device_count) return invalid_value;
    *device = ordinal;
    return Call("cuDeviceGet", Call::In::driver).result;
}
FAKE Result cuDeviceGetName(char* name, int length, Device device) {
    std::strncpy(name, device == 0 ? "Fake GPU 0" : "Fake GPU 1", static_cast<std::size_t>(length));
    return Call("cuDeviceGetName", Call::In::driver).result;
}
FAKE Result cuDeviceTotalMem_v2(std::size_t* bytes, Device) {
    *bytes = std::size_t{141} << 30;
    return Call("cuDeviceTotalMem_v2", Call::In::driver).result;
}
FAKE Result cuDeviceGetAttribute(int* value, DeviceAttribute attribute, Device) {
    const Call call("cuDeviceGetAttribute", Call::In::driver);
    if (call.failed()) return call.result;
    if (attribute == DeviceAttribute::compute_capability_major) return *value = state.major, call.result;
    if (attribute == DeviceAttribute::compute_capability_minor) return *value = state.minor, call.result;
    const auto found = state.attributes.find(static_cast<int>(attribute));
    if (found == state.attributes.end()) return invalid_value;
    *value = found->second;
    return call.result;
}

// --- contexts

FAKE Result cuDevicePrimaryCtxRetain(Context* context, Device device) {
    const Call call("cuDevicePrimaryCtxRetain", Call::In::driver);
    ++state.retained[device];
    *context = reinterpret_cast<Context>(std::uint64_t{0x1000} + static_cast<std::uint64_t>(device));
    return call.result;
}
FAKE Result cuDevicePrimaryCtxRelease_v2(Device device) {
    const Call call("cuDevicePrimaryCtxRelease_v2", Call::In::driver);
    --state.retained[device];
    return call.result;
}
FAKE Result cuCtxPushCurrent_v2(Context context) {
    if (state.is_quiet) return Result::success;
    const Call call("cuCtxPushCurrent_v2", Call::In::driver);
    if (!call.failed()) state.current[std::this_thread::get_id()].push_back(number(context));
    return call.result;
}
FAKE Result cuCtxPopCurrent_v2(Context* context) {
    if (state.is_quiet) return Result::success;
    const Call call("cuCtxPopCurrent_v2", Call::In::driver);
    auto* contexts = contexts_of_this_thread();
    if (contexts == nullptr) return invalid_value;
    *context = reinterpret_cast<Context>(contexts->back());
    contexts->pop_back();
    if (contexts->empty()) state.current.erase(std::this_thread::get_id());
    return call.result;
}
FAKE Result cuCtxGetCurrent(Context* context) {
    if (state.is_quiet) {
        *context = reinterpret_cast<Context>(std::uint64_t{0x1000});
        return Result::success;
    }
    const Call call("cuCtxGetCurrent", Call::In::driver);
    const auto* contexts = contexts_of_this_thread();
    *context = contexts == nullptr ? nullptr : reinterpret_cast<Context>(contexts->back());
    return call.result;
}
FAKE Result cuCtxGetDevice(Device* device) {
    const Call call("cuCtxGetDevice");
    if (const auto* contexts = contexts_of_this_thread(); contexts != nullptr)
        *device = static_cast<Device>(contexts->back() - 0x1000);
    return call.result;
}
FAKE Result cuCtxSynchronize() { return in_context("cuCtxSynchronize"); }
FAKE Result cuCtxSetLimit(Limit limit, std::size_t value) {
    const Call call("cuCtxSetLimit");
    if (limit != Limit::persisting_l2_cache_size) return invalid_value;
    if (!call.failed()) state.persisting_l2 = value;
    return call.result;
}
FAKE Result cuCtxGetLimit(std::size_t* value, Limit limit) {
    const Call call("cuCtxGetLimit");
    if (limit != Limit::persisting_l2_cache_size) return invalid_value;
    *value = state.persisting_l2;
    return call.result;
}
FAKE Result cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    *least = 0;
    *greatest = -5;
    return in_context("cuCtxGetStreamPriorityRange");
}

// --- memory

FAKE Result cuMemAlloc_v2(DevicePointer* address, std::size_t bytes) {
    if (bytes == 0) return invalid_value;
    const Call call("cuMemAlloc_v2");
    if (call.failed()) return call.result;
    *address = reinterpret_cast<DevicePointer>(std::malloc(bytes));
    state.allocations[*address] = bytes;
    return call.result;
}
FAKE Result cuMemFree_v2(DevicePointer address) {
    const Call call("cuMemFree_v2");
    if (state.allocations.erase(address) == 0) return invalid_value;
    std::free(host(address));
    return call.result;
}
FAKE Result cuMemcpyHtoD_v2(DevicePointer target, const void* source, std::size_t bytes) {
    const Call call("cuMemcpyHtoD_v2");
    if (!inside(target, bytes)) return invalid_value;
    std::memcpy(host(target), source, bytes);
    return call.result;
}
FAKE Result cuMemcpyHtoDAsync_v2(DevicePointer target, const void* source, std::size_t bytes, Stream stream) {
    const Call call("cuMemcpyHtoDAsync_v2");
    state.copies.push_back({target, bytes, number(stream)});
    if (!call.failed()) std::memcpy(host(target), source, bytes);
    return call.result;
}
FAKE Result cuMemcpyDtoH_v2(void* target, DevicePointer source, std::size_t bytes) {
    const Call call("cuMemcpyDtoH_v2");
    if (!inside(source, bytes)) return invalid_value;
    std::memcpy(target, host(source), bytes);
    return call.result;
}
FAKE Result cuMemcpyDtoD_v2(DevicePointer target, DevicePointer source, std::size_t bytes) {
    const Call call("cuMemcpyDtoD_v2");
    if (!inside(target, bytes) || !inside(source, bytes)) return invalid_value;
    std::memcpy(host(target), host(source), bytes);
    return call.result;
}
FAKE Result cuMemsetD8_v2(DevicePointer target, unsigned char value, std::size_t count) {
    const Call call("cuMemsetD8_v2");
    if (!inside(target, count)) return invalid_value;
    std::memset(host(target), value, count);
    return call.result;
}

// --- streams and events

FAKE Result cuStreamCreateWithPriority(Stream* stream, unsigned flags, int priority) {
    const Call call("cuStreamCreateWithPriority");
    if (call.failed()) return call.result;
    *stream = new_handle<Stream>();
    const auto* contexts = contexts_of_this_thread();
    state.stream_of[number(*stream)] = {contexts == nullptr ? 0 : contexts->back(), flags, priority};
    ++state.streams;
    return call.result;
}
FAKE Result cuStreamDestroy_v2(Stream stream) {
    const Call call("cuStreamDestroy_v2");
    if (is_captured(stream)) return capture_unsupported;
    --state.streams;
    return call.result;
}
FAKE Result cuStreamSynchronize(Stream stream) {
    const Call call("cuStreamSynchronize");
    return is_captured(stream) ? capture_unsupported : call.result;
}
FAKE Result cuEventCreate(Event* event, unsigned) {
    const Call call("cuEventCreate");
    if (call.failed()) return call.result;
    *event = new_handle<Event>();
    ++state.events;
    return call.result;
}
FAKE Result cuEventDestroy_v2(Event) {
    const Call call("cuEventDestroy_v2");
    --state.events;
    return call.result;
}
FAKE Result cuEventRecord(Event event, Stream) {
    const Call call("cuEventRecord");
    state.event_times[number(event)] = state.milliseconds;
    return call.result;
}
FAKE Result cuEventSynchronize(Event) { return in_context("cuEventSynchronize"); }
FAKE Result cuEventElapsedTime(float* milliseconds, Event start, Event end) {
    const Call call("cuEventElapsedTime");
    *milliseconds = static_cast<float>(state.event_times[number(end)] - state.event_times[number(start)]);
    return call.result;
}

// --- modules and functions

FAKE Result cuModuleLoadDataEx(Module* module, const void* image, unsigned count, JitOption* options,
                               void** values) {
    const Call call("cuModuleLoadDataEx");
    if (call.failed()) {
        for (unsigned i = 0; i < count; ++i)
            if (options[i] == JitOption::error_log_buffer)
                std::strcpy(static_cast<char*>(values[i]), state.module_log.c_str());
        return call.result;
    }
    state.image.assign(static_cast<const char*>(image), 4);
    *module = new_handle<Module>();
    if (state.image[0] != 0x7F)
        state.texts[number(*module)] = std::make_shared<const std::string>(static_cast<const char*>(image));
    auto& table = state.tables[number(*module)];
    table.resize(64);
    state.allocations[reinterpret_cast<DevicePointer>(table.data())] = table.size();
    ++state.modules;
    return call.result;
}
FAKE Result cuModuleUnload(Module module) {
    const Call call("cuModuleUnload");
    --state.modules;
    if (const auto table = state.tables.find(number(module)); table != state.tables.end()) {
        state.allocations.erase(reinterpret_cast<DevicePointer>(table->second.data()));
        state.tables.erase(table);
    }
    return call.result;
}
FAKE Result cuModuleGetFunction(Function* function, Module module, const char* name) {
    const Call call("cuModuleGetFunction");
    *function = new_handle<Function>();
    state.functions[number(*function)] = name;
    state.last_function = number(*function);
    state.modules_of[number(*function)] = number(module);
    if (const auto text = state.texts.find(number(module)); text != state.texts.end())
        state.texts[number(*function)] = text->second;
    return call.result;
}
FAKE Result cuModuleGetGlobal_v2(DevicePointer* address, std::size_t* bytes, Module module,
                                 const char* name) {
    const Call call("cuModuleGetGlobal_v2");
    if (call.failed()) return call.result;
    if (std::strcmp(name, "table") != 0 && !std::string_view(name).starts_with("ptxgraft_constants_"))
        return Result::not_found;
    auto& table = state.tables[number(module)];
    *address = reinterpret_cast<DevicePointer>(table.data());
    *bytes = table.size();
    return Result::success;
}
FAKE Result cuFuncGetAttribute(int* value, FunctionAttribute attribute, Function) {
    const Call call("cuFuncGetAttribute");
    *value = attribute == FunctionAttribute::max_threads_per_block ? state.max_threads_per_block
             : attribute == FunctionAttribute::shared_size_bytes
                 ? state.static_shared_bytes
                 : state.function_attributes[static_cast<int>(attribute)];
    return call.result;
}
FAKE Result cuFuncSetAttribute(Function, FunctionAttribute attribute, int value) {
    const Call call("cuFuncSetAttribute");
    switch (attribute) {
        case FunctionAttribute::non_portable_cluster_size_allowed: state.large_clusters = value == 1; break;
        case FunctionAttribute::preferred_shared_memory_carveout: state.carveout = value; break;
        case FunctionAttribute::max_dynamic_shared_size_bytes: state.dynamic_shared_bytes = value; break;
        default: return invalid_value;
    }
    return call.result;
}
FAKE Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function, int,
                                                        std::size_t shared_bytes) {
    const Call call("cuOccupancyMaxActiveBlocksPerMultiprocessor");
    *blocks = shared_bytes > static_cast<std::size_t>(state.dynamic_shared_bytes)
                  ? 0
                  : state.blocks_per_multiprocessor;
    return call.result;
}

#ifndef FAKE_CUDA_WITHOUT_LAUNCH
FAKE Result cuLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                           unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                           Stream stream, void** parameters, void** extra) {
    if (state.is_quiet) return Result::success;
    const Call call("cuLaunchKernel");
    if (call.failed()) return call.result;
    if (extra != nullptr || shared_bytes > static_cast<unsigned>(state.dynamic_shared_bytes))
        return invalid_value;
    return run(launch_of(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes,
                         stream, parameters));
}
#endif

// --- the assembler

namespace {

// Where the log of the one link that is under way goes.
std::map<int, void*> link_values;

void write_log(JitOption option, const std::string& text) {
    if (const auto found = link_values.find(static_cast<int>(option)); found != link_values.end())
        std::strcpy(static_cast<char*>(found->second), text.c_str());
}

}  // namespace

FAKE Result cuLinkCreate_v2(unsigned count, JitOption* options, void** values, LinkState* link) {
    const Call call("cuLinkCreate_v2");
    if (call.failed()) return call.result;
    link_values.clear();
    for (unsigned i = 0; i < count; ++i) {
        link_values[static_cast<int>(options[i])] = values[i];
        state.jit_options[static_cast<int>(options[i])] = reinterpret_cast<std::uintptr_t>(values[i]);
    }
    *link = new_handle<LinkState>();
    ++state.links;
    return call.result;
}
FAKE Result cuLinkAddData_v2(LinkState, JitInput, void* data, std::size_t size, const char*, unsigned,
                             JitOption*, void**) {
    const Call call("cuLinkAddData_v2");
    state.jit_ptx.assign(static_cast<const char*>(data), size);
    if (call.failed()) write_log(JitOption::error_log_buffer, state.jit_error_log);
    return call.result;
}
FAKE Result cuLinkComplete(LinkState, void** cubin, std::size_t* size) {
    const Call call("cuLinkComplete");
    write_log(call.failed() ? JitOption::error_log_buffer : JitOption::info_log_buffer,
              call.failed() ? state.jit_error_log : state.jit_info_log);
    *cubin = state.jit_cubin.data();
    *size = state.jit_cubin.size();
    return call.result;
}
FAKE Result cuLinkDestroy(LinkState) {
    const Call call("cuLinkDestroy");
    --state.links;
    return call.result;
}

#ifndef FAKE_CUDA_OF_CUDA_11
FAKE Result cuDeviceGetUuid_v2(Uuid* uuid, Device device) {
    for (unsigned i = 0; i < 16; ++i)
        uuid->bytes[i] = static_cast<unsigned char>(0xA0 + i + static_cast<unsigned>(device));
    return Call("cuDeviceGetUuid_v2", Call::In::driver).result;
}
FAKE Result cuCtxResetPersistingL2Cache() {
    const Call call("cuCtxResetPersistingL2Cache");
    ++state.l2_resets;
    return call.result;
}
FAKE Result cuStreamGetCtx(Stream stream, Context* context) {
    const Call call("cuStreamGetCtx");
    const auto found = state.stream_of.find(number(stream));
    if (found == state.stream_of.end()) return invalid_value;
    *context = reinterpret_cast<Context>(found->second.context);
    return call.result;
}
FAKE Result cuFuncLoad(Function) { return in_context("cuFuncLoad"); }
FAKE Result cuFuncGetModule(Module* module, Function function) {
    const Call call("cuFuncGetModule");
    const auto found = state.modules_of.find(number(function));
    if (found == state.modules_of.end()) return invalid_value;
    *module = reinterpret_cast<Module>(found->second);
    return call.result;
}
FAKE Result cuFuncGetName(const char** name, Function function) {
    const Call call("cuFuncGetName");
    const auto found = state.functions.find(number(function));
    if (found == state.functions.end()) return invalid_value;
    *name = found->second.c_str();
    return call.result;
}
FAKE Result cuFuncGetParamInfo(Function function, std::size_t index, std::size_t* offset,
                               std::size_t* bytes) {
    const Call call("cuFuncGetParamInfo");
    if (call.failed()) return call.result;
    const auto& sizes = argument_sizes_of(state.functions[number(function)]);
    if (index >= sizes.size()) return invalid_value;
    *offset = 0;
    for (std::size_t i = 0; i <= index; ++i) {
        *offset = (*offset + sizes[i] - 1) / sizes[i] * sizes[i];
        if (i < index) *offset += sizes[i];
    }
    *bytes = sizes[index];
    return Result::success;
}
// A kernel's number is that of its function and one more.
FAKE Result cuKernelGetFunction(Function* function, Kernel kernel) {
    const Call call("cuKernelGetFunction");
    *function = reinterpret_cast<Function>(number(kernel) - 1);
    return state.functions.contains(number(kernel) - 1) ? call.result : static_cast<Result>(400);
}
FAKE Result cuOccupancyMaxActiveClusters(int* clusters, Function, const LaunchConfiguration* config) {
    const Call call("cuOccupancyMaxActiveClusters");
    *clusters = config->attribute_count == 0 ? 0 : state.active_clusters;
    return call.result;
}

FAKE Result cuLaunchKernelEx(const LaunchConfiguration* config, Function function, void** parameters,
                             void** extra) {
    const LaunchConfiguration& c = *config;
    const Call call("cuLaunchKernelEx");
    if (call.failed()) return call.result;
    if (extra != nullptr || c.shared_bytes > static_cast<unsigned>(state.dynamic_shared_bytes))
        return invalid_value;
    FakeLaunch launch = launch_of(function, {c.grid_x, c.grid_y, c.grid_z}, {c.block_x, c.block_y, c.block_z},
                                  c.shared_bytes, c.stream, parameters);
    for (unsigned i = 0; i < c.attribute_count; ++i) set(launch, c.attributes[i].id, c.attributes[i].value);
    return run(std::move(launch));
}

// --- tensor maps

namespace {

Result keep_map(void* map, FakeTensorMap given, const char* call) {
    const Call made(call);
    if (made.failed()) return made.result;
    state.maps.push_back(std::move(given));
    std::memset(map, static_cast<int>(state.maps.size()), 128);
    return made.result;
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
