#include "fake_cuda.hpp"

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include "device/driver.hpp"

using namespace ptxgraft::driver;

namespace {

FakeCuda state;
std::recursive_mutex state_mutex;

std::mutex hang_mutex;
std::condition_variable hang_changed;
bool is_hanging = false, may_go = false;

template <class Handle> std::uint64_t number(Handle handle) {
    return reinterpret_cast<std::uint64_t>(handle);
}

void hang() {
    std::unique_lock lock(hang_mutex);
    is_hanging = true;
    hang_changed.notify_all();
    hang_changed.wait(lock, [] { return may_go; });
    is_hanging = may_go = false;
}

std::vector<std::uint64_t>* contexts_of_this_thread() {
    const auto found = state.current.find(std::this_thread::get_id());
    return found == state.current.end() ? nullptr : &found->second;
}

/// A call from its begin to its end: it is recorded, and has the state for itself.
class Call {
  public:
    enum class In : std::uint8_t { driver, context };
    explicit Call(const char* name, In in = In::context) {
        if (state.hanging_call == name) hang();
        lock_ = std::unique_lock(state_mutex);
        ++state.calls[name];
        if (in == In::context) state.called_without_context |= contexts_of_this_thread() == nullptr;
        if (in == In::context && state.lost_with != 0) result = static_cast<Result>(state.lost_with);
        if (state.failing_call != name) return;
        result = static_cast<Result>(state.failing_result);
        if (state.failing_for_ever) state.lost_with = state.failing_result;
    }
    Result result = Result::success;
    [[nodiscard]] bool failed() const { return result != Result::success; }

  private:
    std::unique_lock<std::recursive_mutex> lock_;
};

// For those that only fail as they are told.
Result in_context(const char* name) { return Call(name).result; }

constexpr auto invalid_value = Result::invalid_value;

bool inside(DevicePointer address, std::size_t bytes) {
    auto after = state.allocations.upper_bound(address);
    if (after == state.allocations.begin()) return false;
    const auto& [base, size] = *--after;
    return address + bytes <= base + size;
}

void* host(DevicePointer address) { return reinterpret_cast<void*>(address); }

std::uint64_t new_number() {
    static std::uint64_t last = 0;
    return ++last * 16;
}
// Of all kinds each has a number of its own.
template <class Handle> Handle new_handle() { return reinterpret_cast<Handle>(new_number()); }

// Which launch the driver would make of this; what it does to memory comes when it runs. (Some variants of
// the library have no launches.)
[[maybe_unused]] FakeLaunch launch_of(Function function, std::array<unsigned, 3> grid,
                                      std::array<unsigned, 3> block, unsigned shared_bytes, Stream stream,
                                      void** parameters) {
    FakeLaunch launch{state.functions[number(function)], grid, block, shared_bytes, number(stream), {}};
    for (std::size_t i = 0; i < state.argument_sizes.size(); ++i) {
        const auto* bytes = static_cast<const std::byte*>(parameters[i]);
        launch.arguments.emplace_back(bytes, bytes + state.argument_sizes[i]);
    }
    return launch;
}

[[maybe_unused]] void set(FakeLaunch& launch, LaunchAttributeId id, const LaunchAttributeValue& value) {
    switch (id) {
        case LaunchAttributeId::cooperative: launch.cooperative = value.cooperative == 1; break;
        case LaunchAttributeId::cluster_dimension:
            launch.cluster = {value.cluster[0], value.cluster[1], value.cluster[2]};
            break;
        case LaunchAttributeId::programmatic_stream_serialization:
            launch.programmatic = value.programmatic == 1;
            break;
        case LaunchAttributeId::priority: launch.priority = value.priority; break;
    }
}

[[maybe_unused]] constexpr auto capture_unsupported = static_cast<Result>(900),
                                capture_invalidated = static_cast<Result>(901);

[[maybe_unused]] bool is_captured(Stream stream) { return state.captures.contains(number(stream)); }

[[maybe_unused]] Result run(FakeLaunch launch) {
    if (const auto captured = state.captures.find(launch.stream);
        captured != state.captures.end() && !launch.of_graph) {
        if (state.capture_is_invalidated) return capture_invalidated;
        state.graph_launches[captured->second].push_back(std::move(launch));
        return Result::success;
    }
    if (launch.function == "fill") {
        DevicePointer target = 0;
        unsigned count = 0;
        std::memcpy(&target, launch.arguments[0].data(), sizeof(target));
        std::memcpy(&count, launch.arguments[1].data(), sizeof(count));
        if (!inside(target, count)) return Result::illegal_address;
        std::memset(host(target), static_cast<int>(launch.arguments[2][0]), count);
    }
    state.milliseconds += state.launch_milliseconds;
    state.launches.push_back(std::move(launch));
    return Result::success;
}

}  // namespace

// Variants of the library: one whose driver does not start, one that finds no GPU, one that lacks a function.
#ifndef FAKE_CUDA_INIT_RESULT
#define FAKE_CUDA_INIT_RESULT 0
#endif

// The names are the driver's; driver.hpp declares their types.
#define FAKE extern "C" __attribute__((visibility("default")))

FAKE FakeCuda* fake_cuda() { return &state; }
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
FAKE Result cuModuleGetFunction(Function* function, Module, const char* name) {
    const Call call("cuModuleGetFunction");
    *function = new_handle<Function>();
    state.functions[number(*function)] = name;
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

// --- graphs: a node is the number of its launch, from 1

namespace {

FakeLaunch launch_of(const KernelNodeParameters& p) {
    return launch_of(p.function, {p.grid_x, p.grid_y, p.grid_z}, {p.block_x, p.block_y, p.block_z},
                     p.shared_bytes, nullptr, p.parameters);
}

// Another launch for a node, whose attributes stay.
void change(FakeLaunch& node, const KernelNodeParameters& parameters) {
    FakeLaunch next = launch_of(parameters);
    next.cluster = node.cluster;
    next.cooperative = node.cooperative;
    next.priority = node.priority;
    node = std::move(next);
}

std::uint64_t last_graph = 0;  // a test has one that it still changes

}  // namespace

FAKE Result cuStreamBeginCapture_v2(Stream stream, CaptureMode mode) {
    const Call call("cuStreamBeginCapture_v2");
    if (call.failed()) return call.result;
    if (number(stream) == 0) return capture_unsupported;  // the legacy stream
    if (mode != CaptureMode::relaxed || is_captured(stream)) return invalid_value;
    last_graph = number(new_handle<Graph>());
    state.graph_launches[last_graph];
    state.captures[number(stream)] = last_graph;
    return call.result;
}
FAKE Result cuStreamGetCaptureInfo_v3(Stream stream, CaptureStatus* status, std::uint64_t* id, Graph* graph,
                                      const GraphNode** dependencies, const GraphEdgeData** edges,
                                      std::size_t* count) {
    static GraphNode last = nullptr;
    const Call call("cuStreamGetCaptureInfo_v3");
    if (call.failed()) return call.result;
    *status = CaptureStatus::none;
    if (!is_captured(stream)) return call.result;
    *status = state.capture_is_invalidated ? CaptureStatus::invalidated : CaptureStatus::active;
    const std::uint64_t captured = state.captures[number(stream)];
    *id = captured;
    *graph = reinterpret_cast<Graph>(captured);
    last = reinterpret_cast<GraphNode>(state.graph_launches[captured].size());
    *dependencies = &last;
    *edges = nullptr;
    *count = last == nullptr ? 0 : 1;
    return call.result;
}
FAKE Result cuStreamEndCapture(Stream stream, Graph* graph) {
    const Call call("cuStreamEndCapture");
    if (!is_captured(stream)) return invalid_value;
    const std::uint64_t captured = state.captures[number(stream)];
    state.captures.erase(number(stream));
    if (call.failed() || state.capture_is_invalidated) {
        state.graph_launches.erase(captured);
        *graph = nullptr;
        return call.failed() ? call.result : capture_invalidated;
    }
    *graph = reinterpret_cast<Graph>(captured);
    ++state.graphs;
    return call.result;
}
FAKE void fake_cuda_capture_foreign(std::uint64_t stream) {
    FakeLaunch launch{};
    launch.function = "foreign";
    launch.is_foreign = true;
    state.graph_launches[state.captures.at(stream)].push_back(std::move(launch));
}
FAKE Result cuGraphCreate(Graph* graph, unsigned) {
    const Call call("cuGraphCreate");
    if (call.failed()) return call.result;
    *graph = new_handle<Graph>();
    last_graph = number(*graph);
    state.graph_launches[last_graph];
    ++state.graphs;
    return call.result;
}
FAKE Result cuGraphDestroy(Graph graph) {
    const Call call("cuGraphDestroy");
    state.graph_launches.erase(number(graph));
    --state.graphs;
    return call.result;
}
FAKE Result cuGraphAddKernelNode_v2(GraphNode* node, Graph graph, const GraphNode* dependencies,
                                    std::size_t count, const KernelNodeParameters* parameters) {
    const Call call("cuGraphAddKernelNode_v2");
    if (call.failed()) return call.result;
    auto& launches = state.graph_launches[number(graph)];
    // A chain: each behind the one before it.
    if (count != (launches.empty() ? 0u : 1u) || (count == 1 && number(*dependencies) != launches.size()))
        return invalid_value;
    launches.push_back(launch_of(*parameters));
    *node = reinterpret_cast<GraphNode>(launches.size());
    return call.result;
}
FAKE Result cuGraphDestroyNode(GraphNode node) {
    const Call call("cuGraphDestroyNode");
    auto& launches = state.graph_launches[last_graph];
    if (number(node) != launches.size()) return invalid_value;  // the last of the chain
    launches.pop_back();
    return call.result;
}
FAKE Result cuGraphKernelNodeSetParams_v2(GraphNode node, const KernelNodeParameters* parameters) {
    const Call call("cuGraphKernelNodeSetParams_v2");
    if (!call.failed()) change(state.graph_launches[last_graph].at(number(node) - 1), *parameters);
    return call.result;
}
FAKE Result cuGraphKernelNodeSetAttribute(GraphNode node, LaunchAttributeId id,
                                          const LaunchAttributeValue* value) {
    const Call call("cuGraphKernelNodeSetAttribute");
    if (!call.failed()) set(state.graph_launches[last_graph].at(number(node) - 1), id, *value);
    return call.result;
}
FAKE Result cuGraphInstantiateWithFlags(GraphExec* exec, Graph graph, unsigned long long flags) {
    const Call call("cuGraphInstantiateWithFlags");
    if (call.failed()) return call.result;
    *exec = new_handle<GraphExec>();
    const std::vector<FakeLaunch> copy = state.graph_launches[number(graph)];
    state.graph_launches[number(*exec)] = copy;
    state.instantiate_flags = flags;
    ++state.executable_graphs;
    return call.result;
}
FAKE Result cuGraphExecKernelNodeSetParams_v2(GraphExec exec, GraphNode node,
                                              const KernelNodeParameters* parameters) {
    const Call call("cuGraphExecKernelNodeSetParams_v2");
    if (!call.failed()) change(state.graph_launches[number(exec)].at(number(node) - 1), *parameters);
    return call.result;
}
FAKE Result cuGraphUpload(GraphExec, Stream) { return in_context("cuGraphUpload"); }
FAKE Result cuGraphLaunch(GraphExec exec, Stream stream) {
    const Call call("cuGraphLaunch");
    if (call.failed()) return call.result;
    for (FakeLaunch launch : state.graph_launches[number(exec)]) {
        launch.stream = number(stream);
        launch.of_graph = true;
        if (const Result result = run(std::move(launch)); result != Result::success) return result;
    }
    return call.result;
}
FAKE Result cuGraphExecDestroy(GraphExec exec) {
    const Call call("cuGraphExecDestroy");
    state.graph_launches.erase(number(exec));
    --state.executable_graphs;
    return call.result;
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
