#pragma once
/// The CUDA driver, opened with dlopen. What is used of its interface is declared here, so that no CUDA
/// header is needed: the types and values of cuda.h, which the driver keeps stable (CUDA Driver API manual,
/// section 6).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "ptxgraft/error.hpp"

namespace ptxgraft::driver {

using Device = int;                    // CUdevice
using DevicePointer = std::uint64_t;   // CUdeviceptr
using Context = struct ContextTag*;    // CUcontext
using Module = struct ModuleTag*;      // CUmodule
using Function = struct FunctionTag*;  // CUfunction
using Kernel = struct KernelTag*;      // CUkernel
using Stream = struct StreamTag*;      // CUstream
using Event = struct EventTag*;        // CUevent
using Graph = struct GraphTag*;        // CUgraph
using GraphNode = struct NodeTag*;     // CUgraphNode
using GraphExec = struct ExecTag*;     // CUgraphExec
using GraphEdgeData = struct EdgeTag;  // CUgraphEdgeData
using LinkState = struct LinkTag*;     // CUlinkState

/// CUuuid
struct Uuid {
    unsigned char bytes[16];
};

/// CUresult: the values that are told apart.
enum class Result : int {
    success = 0,
    invalid_value = 1,
    out_of_memory = 2,
    deinitialized = 4,
    no_device = 100,
    ecc_uncorrectable = 214,
    nvlink_uncorrectable = 220,
    contained = 226,
    not_found = 500,
    illegal_address = 700,
    launch_out_of_resources = 701,
    launch_timeout = 702,
    context_is_destroyed = 709,
    assert_ = 710,
    hardware_stack_error = 714,
    illegal_instruction = 715,
    misaligned_address = 716,
    invalid_address_space = 717,
    invalid_pc = 718,
    launch_failed = 719,
    tensor_memory_leak = 721,
    mps_client_terminated = 810,
    external_device = 911,
    unknown = 999,
};

/// CUdevice_attribute
enum class DeviceAttribute : int {
    max_threads_per_block = 1,
    max_shared_memory_per_block = 8,
    warp_size = 10,
    max_registers_per_block = 12,
    clock_rate = 13,
    multiprocessor_count = 16,
    memory_clock_rate = 36,
    global_memory_bus_width = 37,
    l2_cache_size = 38,
    max_threads_per_multiprocessor = 39,
    compute_capability_major = 75,
    compute_capability_minor = 76,
    max_shared_memory_per_multiprocessor = 81,
    max_registers_per_multiprocessor = 82,
    cooperative_launch = 95,
    max_shared_memory_per_block_optin = 97,
    max_blocks_per_multiprocessor = 106,
    max_persisting_l2_cache_size = 108,
    reserved_shared_memory_per_block = 111,
    cluster_launch = 120,
};

/// CUlimit
enum class Limit : int { persisting_l2_cache_size = 6 };

/// CUlaunchAttributeID, and CUkernelNodeAttrID, which is the same
enum class LaunchAttributeId : unsigned {
    cooperative = 2,
    cluster_dimension = 4,
    programmatic_stream_serialization = 6,
    priority = 8,
};

/// CUlaunchAttributeValue, with what is used of the union
union LaunchAttributeValue {
    int cooperative;
    unsigned cluster[3];
    int programmatic;
    int priority;
    char bytes[64];
};

/// CUlaunchAttribute
struct alignas(8) LaunchAttribute {
    LaunchAttributeId id;
    unsigned padding = 0;
    LaunchAttributeValue value;
};

/// CUlaunchConfig
struct LaunchConfiguration {
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    Stream stream;
    LaunchAttribute* attributes;
    unsigned attribute_count;
};

/// CUDA_KERNEL_NODE_PARAMS_v2
struct KernelNodeParameters {
    Function function;
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    void** parameters;
    void** extra = nullptr;
    void* kernel = nullptr;     // a CUkernel, where there is no function
    Context context = nullptr;  // for it
};

/// CUstreamCaptureMode: with `relaxed` no other call is refused while a stream is captured.
enum class CaptureMode : int { relaxed = 2 };
/// CUstreamCaptureStatus.
enum class CaptureStatus : int { none = 0, active = 1, invalidated = 2 };
/// CUgraphInstantiate_flags: the priorities of nodes count, not that of the stream.
constexpr unsigned long long use_node_priority = 8;

/// CUfunction_attribute
enum class FunctionAttribute : int {
    max_threads_per_block = 0,
    shared_size_bytes = 1,
    const_size_bytes = 2,
    local_size_bytes = 3,
    registers = 4,
    ptx_version = 5,
    binary_version = 6,
    max_dynamic_shared_size_bytes = 8,
    preferred_shared_memory_carveout = 9,
    cluster_size_must_be_set = 10,
    required_cluster_width = 11,
    required_cluster_height = 12,
    required_cluster_depth = 13,
    non_portable_cluster_size_allowed = 14,
};

/// CUjit_option. A value is a number in the bits of a pointer.
enum class JitOption : int {
    max_registers = 0,
    info_log_buffer = 3,
    info_log_buffer_size_bytes = 4,
    error_log_buffer = 5,
    error_log_buffer_size_bytes = 6,
    optimization_level = 7,
    target = 9,
    log_verbose = 12,
    generate_line_info = 13,
};
/// CUjitInputType
enum class JitInput : int { ptx = 1 };
/// What CUjit_target adds to the number of an architecture for its variants `a` and `f`.
constexpr unsigned accelerated_target = 0x10000, family_target = 0x20000;

/// CUstream_flags and CUevent_flags: both CU_STREAM_DEFAULT (waits for the default stream) and
/// CU_EVENT_DEFAULT are 0.
constexpr unsigned default_flags = 0, stream_non_blocking = 1;

// Every function used, by the name that the library exports. `_v2` stands where cuda.h renames the function
// to it. NAME(parameters); each returns a CUresult.
#define PTXGRAFT_DRIVER_FUNCTIONS(X)                                                                         \
    X(cuInit, (unsigned flags))                                                                              \
    X(cuGetErrorName, (Result error, const char** name))                                                     \
    X(cuGetErrorString, (Result error, const char** text))                                                   \
    X(cuDriverGetVersion, (int* version))                                                                    \
    X(cuDeviceGetCount, (int* count))                                                                        \
    X(cuDeviceGet, (Device * device, int ordinal))                                                           \
    X(cuDeviceGetName, (char* name, int length, Device device))                                              \
    X(cuDeviceGetAttribute, (int* value, DeviceAttribute attribute, Device device))                          \
    X(cuDeviceTotalMem_v2, (std::size_t * bytes, Device device))                                             \
    X(cuDevicePrimaryCtxRetain, (Context * context, Device device))                                          \
    X(cuDevicePrimaryCtxRelease_v2, (Device device))                                                         \
    X(cuCtxPushCurrent_v2, (Context context))                                                                \
    X(cuCtxPopCurrent_v2, (Context * context))                                                               \
    X(cuCtxGetCurrent, (Context * context))                                                                  \
    X(cuCtxGetDevice, (Device * device))                                                                     \
    X(cuCtxSetLimit, (Limit limit, std::size_t value))                                                       \
    X(cuCtxGetLimit, (std::size_t * value, Limit limit))                                                     \
    X(cuCtxGetStreamPriorityRange, (int* least, int* greatest))                                              \
    X(cuCtxSynchronize, ())                                                                                  \
    X(cuMemAlloc_v2, (DevicePointer * address, std::size_t bytes))                                           \
    X(cuMemFree_v2, (DevicePointer address))                                                                 \
    X(cuMemcpyHtoD_v2, (DevicePointer target, const void* source, std::size_t bytes))                        \
    X(cuMemcpyHtoDAsync_v2, (DevicePointer target, const void* source, std::size_t bytes, Stream stream))    \
    X(cuMemcpyDtoH_v2, (void* target, DevicePointer source, std::size_t bytes))                              \
    X(cuMemcpyDtoD_v2, (DevicePointer target, DevicePointer source, std::size_t bytes))                      \
    X(cuMemsetD8_v2, (DevicePointer target, unsigned char value, std::size_t count))                         \
    X(cuStreamCreateWithPriority, (Stream * stream, unsigned flags, int priority))                           \
    X(cuStreamDestroy_v2, (Stream stream))                                                                   \
    X(cuStreamSynchronize, (Stream stream))                                                                  \
    X(cuEventCreate, (Event * event, unsigned flags))                                                        \
    X(cuEventDestroy_v2, (Event event))                                                                      \
    X(cuEventRecord, (Event event, Stream stream))                                                           \
    X(cuEventSynchronize, (Event event))                                                                     \
    X(cuEventElapsedTime, (float* milliseconds, Event start, Event end))                                     \
    X(cuModuleLoadDataEx,                                                                                    \
      (Module * module, const void* image, unsigned count, JitOption* options, void** values))               \
    X(cuModuleUnload, (Module module))                                                                       \
    X(cuModuleGetFunction, (Function * function, Module module, const char* name))                           \
    X(cuModuleGetGlobal_v2, (DevicePointer * address, std::size_t * bytes, Module module, const char* name)) \
    X(cuFuncGetAttribute, (int* value, FunctionAttribute attribute, Function function))                      \
    X(cuFuncSetAttribute, (Function function, FunctionAttribute attribute, int value))                       \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor,                                                           \
      (int* blocks, Function function, int block_threads, std::size_t shared_bytes))                         \
    X(cuLinkCreate_v2, (unsigned count, JitOption* options, void** values, LinkState* state))                \
    X(cuLinkAddData_v2, (LinkState state, JitInput type, void* data, std::size_t size, const char* name,     \
                         unsigned count, JitOption* options, void** values))                                 \
    X(cuLinkComplete, (LinkState state, void** cubin, std::size_t* size))                                    \
    X(cuLinkDestroy, (LinkState state))                                                                      \
    X(cuLaunchKernel, (Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,                 \
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,          \
                       Stream stream, void** parameters, void** extra))

// The same for functions that came later, most of them with CUDA 12: a driver that lacks them is one that
// cannot do what they do.
#define PTXGRAFT_LATER_DRIVER_FUNCTIONS(X)                                                                   \
    X(cuDeviceGetUuid_v2, (Uuid * uuid, Device device))                                                      \
    X(cuCtxResetPersistingL2Cache, ())                                                                       \
    X(cuStreamGetCtx, (Stream stream, Context * context))                                                    \
    X(cuFuncLoad, (Function function))                                                                       \
    X(cuFuncGetModule, (Module * module, Function function))                                                 \
    X(cuFuncGetName, (const char** name, Function function))                                                 \
    X(cuFuncGetParamInfo, (Function function, std::size_t index, std::size_t * offset, std::size_t * bytes)) \
    X(cuKernelGetFunction, (Function * function, Kernel kernel))                                             \
    X(cuOccupancyMaxActiveClusters, (int* clusters, Function function, const LaunchConfiguration* config))   \
    X(cuStreamBeginCapture_v2, (Stream stream, CaptureMode mode))                                            \
    X(cuStreamEndCapture, (Stream stream, Graph * graph))                                                    \
    X(cuStreamGetCaptureInfo_v3,                                                                             \
      (Stream stream, CaptureStatus * status, std::uint64_t * id, Graph * graph,                             \
       const GraphNode** dependencies, const GraphEdgeData** edges, std::size_t* count))                     \
    X(cuGraphCreate, (Graph * graph, unsigned flags))                                                        \
    X(cuGraphDestroy, (Graph graph))                                                                         \
    X(cuGraphAddKernelNode_v2, (GraphNode * node, Graph graph, const GraphNode* dependencies,                \
                                std::size_t count, const KernelNodeParameters* parameters))                  \
    X(cuGraphDestroyNode, (GraphNode node))                                                                  \
    X(cuGraphKernelNodeSetParams_v2, (GraphNode node, const KernelNodeParameters* parameters))               \
    X(cuGraphKernelNodeSetAttribute,                                                                         \
      (GraphNode node, LaunchAttributeId attribute, const LaunchAttributeValue* value))                      \
    X(cuGraphInstantiateWithFlags, (GraphExec * exec, Graph graph, unsigned long long flags))                \
    X(cuGraphExecKernelNodeSetParams_v2,                                                                     \
      (GraphExec exec, GraphNode node, const KernelNodeParameters* parameters))                              \
    X(cuGraphUpload, (GraphExec exec, Stream stream))                                                        \
    X(cuGraphLaunch, (GraphExec exec, Stream stream))                                                        \
    X(cuGraphExecDestroy, (GraphExec exec))                                                                  \
    X(cuLaunchKernelEx,                                                                                      \
      (const LaunchConfiguration* config, Function function, void** parameters, void** extra))               \
    X(cuTensorMapEncodeTiled,                                                                                \
      (void* map, int type, unsigned rank, void* address, const std::uint64_t* dims,                         \
       const std::uint64_t* strides, const unsigned* box, const unsigned* element_strides, int interleave,   \
       int swizzle, int l2_promotion, int fill))                                                             \
    X(cuTensorMapEncodeIm2col,                                                                               \
      (void* map, int type, unsigned rank, void* address, const std::uint64_t* dims,                         \
       const std::uint64_t* strides, const int* lower_corner, const int* upper_corner,                       \
       unsigned channels_per_pixel, unsigned pixels_per_column, const unsigned* element_strides,             \
       int interleave, int swizzle, int l2_promotion, int fill))

/// With this result a context is lost ("sticky"): every later call in it fails (CUDA Driver API, CUresult:
/// "the process must be terminated and relaunched"). CUDA_ERROR_UNKNOWN counts: it is what a GPU that fell
/// off its bus gives.
[[nodiscard]] bool loses_context(Result result);

/// The functions of one driver library. Once opened it stays open: a driver does not survive being closed.
struct Driver {
#define PTXGRAFT_DRIVER_MEMBER(name, parameters) Result(*name) parameters = nullptr;
    PTXGRAFT_DRIVER_FUNCTIONS(PTXGRAFT_DRIVER_MEMBER)
    PTXGRAFT_LATER_DRIVER_FUNCTIONS(PTXGRAFT_DRIVER_MEMBER)  ///< null where the driver has none
#undef PTXGRAFT_DRIVER_MEMBER
    /// false where there is a driver and no GPU: nothing but the error texts works then
    bool has_devices = true;

    /// The driver of a library, opened and started once per process.
    /// Errors: Errc::driver_missing with the loader's reason; Errc::driver_failed when it does not start.
    [[nodiscard]] static Expected<std::shared_ptr<const Driver>> open(const std::string& library);

    /// The error of a result, with the driver's own name for it: "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (out
    /// of memory)".
    [[nodiscard]] Expected<void> check(Result result, std::string_view call,
                                       Errc otherwise = Errc::driver_failed) const;
    [[nodiscard]] std::string text(Result result) const;
    /// Errc::driver_too_old where the driver has no such function: one of the later ones.
    template <class Call> [[nodiscard]] static Expected<void> present(Call* call, const char* name) {
        return call != nullptr ? Expected<void>() : absent(name);
    }
    [[nodiscard]] static Expected<void> absent(const char* name);
    [[nodiscard]] Expected<int> device_count() const;
};

}  // namespace ptxgraft::driver
