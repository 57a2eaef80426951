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
using Stream = struct StreamTag*;      // CUstream
using Event = struct EventTag*;        // CUevent

/// CUresult: the values that are told apart.
enum class Result : int {
    success = 0,
    out_of_memory = 2,
    no_device = 100,
    not_found = 500,
    illegal_address = 700,
    launch_out_of_resources = 701,
    launch_timeout = 702,
    assert_ = 710,
    hardware_stack_error = 714,
    illegal_instruction = 715,
    misaligned_address = 716,
    invalid_address_space = 717,
    invalid_pc = 718,
    launch_failed = 719,
};

/// CUdevice_attribute
enum class DeviceAttribute : int {
    compute_capability_major = 75,
    compute_capability_minor = 76,
    max_shared_memory_per_block_optin = 97,
};

/// CUlaunchAttributeID
enum class LaunchAttributeId : unsigned { cooperative = 2, cluster_dimension = 4 };

/// CUlaunchAttribute, with what is used of its union.
struct alignas(8) LaunchAttribute {
    LaunchAttributeId id;
    unsigned padding = 0;
    union {
        int cooperative;
        unsigned cluster[3];
        char bytes[64];
    };
};

/// CUlaunchConfig
struct LaunchConfiguration {
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    Stream stream;
    LaunchAttribute* attributes;
    unsigned attribute_count;
};

/// CUfunction_attribute
enum class FunctionAttribute : int {
    max_threads_per_block = 0,
    shared_size_bytes = 1,
    max_dynamic_shared_size_bytes = 8,
    non_portable_cluster_size_allowed = 14,
};

/// CUjit_option
enum class JitOption : int { error_log_buffer = 5, error_log_buffer_size_bytes = 6 };

/// CUstream_flags and CUevent_flags: both CU_STREAM_DEFAULT (waits for the default stream) and
/// CU_EVENT_DEFAULT are 0.
constexpr unsigned default_flags = 0;

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
    X(cuDevicePrimaryCtxRetain, (Context * context, Device device))                                          \
    X(cuDevicePrimaryCtxRelease_v2, (Device device))                                                         \
    X(cuCtxPushCurrent_v2, (Context context))                                                                \
    X(cuCtxPopCurrent_v2, (Context * context))                                                               \
    X(cuCtxSynchronize, ())                                                                                  \
    X(cuMemAlloc_v2, (DevicePointer * address, std::size_t bytes))                                           \
    X(cuMemFree_v2, (DevicePointer address))                                                                 \
    X(cuMemcpyHtoD_v2, (DevicePointer target, const void* source, std::size_t bytes))                        \
    X(cuMemcpyDtoH_v2, (void* target, DevicePointer source, std::size_t bytes))                              \
    X(cuMemcpyDtoD_v2, (DevicePointer target, DevicePointer source, std::size_t bytes))                      \
    X(cuMemsetD8_v2, (DevicePointer target, unsigned char value, std::size_t count))                         \
    X(cuStreamCreate, (Stream * stream, unsigned flags))                                                     \
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
    X(cuLaunchKernel, (Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,                 \
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,          \
                       Stream stream, void** parameters, void** extra))

// The same for functions that came with CUDA 12: a driver that lacks them is one that cannot do what they do.
#define PTXGRAFT_LATER_DRIVER_FUNCTIONS(X)                                                                 \
    X(cuLaunchKernelEx,                                                                                    \
      (const LaunchConfiguration* config, Function function, void** parameters, void** extra))             \
    X(cuTensorMapEncodeTiled,                                                                              \
      (void* map, int type, unsigned rank, void* address, const std::uint64_t* dims,                       \
       const std::uint64_t* strides, const unsigned* box, const unsigned* element_strides, int interleave, \
       int swizzle, int l2_promotion, int fill))                                                           \
    X(cuTensorMapEncodeIm2col,                                                                             \
      (void* map, int type, unsigned rank, void* address, const std::uint64_t* dims,                       \
       const std::uint64_t* strides, const int* lower_corner, const int* upper_corner,                     \
       unsigned channels_per_pixel, unsigned pixels_per_column, const unsigned* element_strides,           \
       int interleave, int swizzle, int l2_promotion, int fill))

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
    [[nodiscard]] Expected<int> device_count() const;
};

}  // namespace ptxgraft::driver
