// What device/driver.hpp declares of the driver, against CUDA's own header: every function's parameters in
// number, size and kind, and every value. A difference does not compile.

#include <cuda.h>

#include <cstddef>
#include <type_traits>

#include "device/driver.hpp"
#include "ptxgraft/tensor_map.hpp"

namespace ptxgraft::driver {
namespace {

template <class A, class B> constexpr bool same_kind() {
    return sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>;
}

template <class A, class B> struct SameShape : std::false_type {};
template <class... A, class... B>
requires(sizeof...(A) == sizeof...(B)) struct SameShape<CUresult (*)(A...), Result (*)(B...)>
    : std::bool_constant<(same_kind<A, B>() && ...)> {
};

#define PTXGRAFT_SAME_SHAPE(name, parameters)                                        \
    static_assert(SameShape<decltype(&::name), decltype(Driver::name)>::value, #name \
                  " differs from "                                                   \
                  "cuda.h");
PTXGRAFT_DRIVER_FUNCTIONS(PTXGRAFT_SAME_SHAPE)
PTXGRAFT_LATER_DRIVER_FUNCTIONS(PTXGRAFT_SAME_SHAPE)

template <class Ours, class Theirs> constexpr bool equal(Ours ours, Theirs theirs) {
    return static_cast<int>(ours) == static_cast<int>(theirs);
}
static_assert(equal(CaptureMode::relaxed, CU_STREAM_CAPTURE_MODE_RELAXED));
static_assert(equal(CaptureStatus::none, CU_STREAM_CAPTURE_STATUS_NONE));
static_assert(equal(CaptureStatus::active, CU_STREAM_CAPTURE_STATUS_ACTIVE));
static_assert(equal(CaptureStatus::invalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED));
static_assert(equal(Result::success, CUDA_SUCCESS));
static_assert(equal(Result::invalid_value, CUDA_ERROR_INVALID_VALUE));
static_assert(equal(Result::out_of_memory, CUDA_ERROR_OUT_OF_MEMORY));
static_assert(equal(Result::deinitialized, CUDA_ERROR_DEINITIALIZED));
static_assert(equal(Result::no_device, CUDA_ERROR_NO_DEVICE));
static_assert(equal(Result::ecc_uncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE));
static_assert(equal(Result::nvlink_uncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE));
static_assert(equal(Result::contained, CUDA_ERROR_CONTAINED));
static_assert(equal(Result::not_found, CUDA_ERROR_NOT_FOUND));
static_assert(equal(Result::illegal_address, CUDA_ERROR_ILLEGAL_ADDRESS));
static_assert(equal(Result::launch_out_of_resources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES));
static_assert(equal(Result::launch_timeout, CUDA_ERROR_LAUNCH_TIMEOUT));
static_assert(equal(Result::context_is_destroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED));
static_assert(equal(Result::assert_, CUDA_ERROR_ASSERT));
static_assert(equal(Result::hardware_stack_error, CUDA_ERROR_HARDWARE_STACK_ERROR));
static_assert(equal(Result::illegal_instruction, CUDA_ERROR_ILLEGAL_INSTRUCTION));
static_assert(equal(Result::misaligned_address, CUDA_ERROR_MISALIGNED_ADDRESS));
static_assert(equal(Result::invalid_address_space, CUDA_ERROR_INVALID_ADDRESS_SPACE));
static_assert(equal(Result::invalid_pc, CUDA_ERROR_INVALID_PC));
static_assert(equal(Result::launch_failed, CUDA_ERROR_LAUNCH_FAILED));
static_assert(equal(Result::tensor_memory_leak, CUDA_ERROR_TENSOR_MEMORY_LEAK));
static_assert(equal(Result::mps_client_terminated, CUDA_ERROR_MPS_CLIENT_TERMINATED));
static_assert(equal(Result::external_device, CUDA_ERROR_EXTERNAL_DEVICE));
static_assert(equal(Result::unknown, CUDA_ERROR_UNKNOWN));
static_assert(equal(DeviceAttribute::max_threads_per_block, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
static_assert(equal(DeviceAttribute::max_shared_memory_per_block,
                    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK));
static_assert(equal(DeviceAttribute::warp_size, CU_DEVICE_ATTRIBUTE_WARP_SIZE));
static_assert(equal(DeviceAttribute::max_registers_per_block, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK));
static_assert(equal(DeviceAttribute::clock_rate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE));
static_assert(equal(DeviceAttribute::multiprocessor_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
static_assert(equal(DeviceAttribute::memory_clock_rate, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE));
static_assert(equal(DeviceAttribute::global_memory_bus_width, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH));
static_assert(equal(DeviceAttribute::l2_cache_size, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
static_assert(equal(DeviceAttribute::max_threads_per_multiprocessor,
                    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR));
static_assert(equal(DeviceAttribute::compute_capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
static_assert(equal(DeviceAttribute::compute_capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
static_assert(equal(DeviceAttribute::max_shared_memory_per_multiprocessor,
                    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR));
static_assert(equal(DeviceAttribute::max_registers_per_multiprocessor,
                    CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR));
static_assert(equal(DeviceAttribute::cooperative_launch, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH));
static_assert(equal(DeviceAttribute::max_shared_memory_per_block_optin,
                    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
static_assert(equal(DeviceAttribute::max_blocks_per_multiprocessor,
                    CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR));
static_assert(equal(DeviceAttribute::max_persisting_l2_cache_size,
                    CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE));
static_assert(equal(DeviceAttribute::reserved_shared_memory_per_block,
                    CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK));
static_assert(equal(DeviceAttribute::cluster_launch, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH));
static_assert(equal(FunctionAttribute::max_threads_per_block, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
static_assert(equal(FunctionAttribute::shared_size_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
static_assert(equal(FunctionAttribute::const_size_bytes, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES));
static_assert(equal(FunctionAttribute::local_size_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
static_assert(equal(FunctionAttribute::registers, CU_FUNC_ATTRIBUTE_NUM_REGS));
static_assert(equal(FunctionAttribute::ptx_version, CU_FUNC_ATTRIBUTE_PTX_VERSION));
static_assert(equal(FunctionAttribute::binary_version, CU_FUNC_ATTRIBUTE_BINARY_VERSION));
static_assert(equal(FunctionAttribute::max_dynamic_shared_size_bytes,
                    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
static_assert(equal(FunctionAttribute::cluster_size_must_be_set, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET));
static_assert(equal(FunctionAttribute::required_cluster_width, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH));
static_assert(equal(FunctionAttribute::required_cluster_height, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT));
static_assert(equal(FunctionAttribute::required_cluster_depth, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH));
static_assert(equal(FunctionAttribute::preferred_shared_memory_carveout,
                    CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT));
static_assert(equal(FunctionAttribute::non_portable_cluster_size_allowed,
                    CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED));
static_assert(equal(LaunchAttributeId::cooperative, CU_LAUNCH_ATTRIBUTE_COOPERATIVE));
static_assert(equal(LaunchAttributeId::cluster_dimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION));
static_assert(equal(LaunchAttributeId::programmatic_stream_serialization,
                    CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION));
static_assert(equal(LaunchAttributeId::priority, CU_LAUNCH_ATTRIBUTE_PRIORITY));
static_assert(equal(Limit::persisting_l2_cache_size, CU_LIMIT_PERSISTING_L2_CACHE_SIZE));
static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute) &&
              offsetof(LaunchAttribute, value) == offsetof(CUlaunchAttribute, value) &&
              sizeof(LaunchAttributeValue) == sizeof(CUkernelNodeAttrValue));
static_assert(sizeof(KernelNodeParameters) == sizeof(CUDA_KERNEL_NODE_PARAMS) &&
              offsetof(KernelNodeParameters, shared_bytes) ==
                  offsetof(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes) &&
              offsetof(KernelNodeParameters, parameters) == offsetof(CUDA_KERNEL_NODE_PARAMS, kernelParams) &&
              offsetof(KernelNodeParameters, extra) == offsetof(CUDA_KERNEL_NODE_PARAMS, extra) &&
              offsetof(KernelNodeParameters, context) == offsetof(CUDA_KERNEL_NODE_PARAMS, ctx));
static_assert(sizeof(Uuid) == sizeof(CUuuid));
static_assert(sizeof(LaunchConfiguration) == sizeof(CUlaunchConfig) &&
              offsetof(LaunchConfiguration, shared_bytes) == offsetof(CUlaunchConfig, sharedMemBytes) &&
              offsetof(LaunchConfiguration, stream) == offsetof(CUlaunchConfig, hStream) &&
              offsetof(LaunchConfiguration, attributes) == offsetof(CUlaunchConfig, attrs) &&
              offsetof(LaunchConfiguration, attribute_count) == offsetof(CUlaunchConfig, numAttrs));
static_assert(sizeof(TensorMap) == sizeof(CUtensorMap) && alignof(TensorMap) >= 64);
static_assert(equal(TensorType::u8, CU_TENSOR_MAP_DATA_TYPE_UINT8) &&
              equal(TensorType::s32, CU_TENSOR_MAP_DATA_TYPE_INT32) &&
              equal(TensorType::f16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16) &&
              equal(TensorType::f64, CU_TENSOR_MAP_DATA_TYPE_FLOAT64) &&
              equal(TensorType::bf16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16) &&
              equal(TensorType::f32_ftz, CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ) &&
              equal(TensorType::tf32_ftz, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ) &&
              equal(TensorType::b6x16_p32, CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B));
static_assert(equal(TensorInterleave::bytes32, CU_TENSOR_MAP_INTERLEAVE_32B));
static_assert(equal(TensorSwizzle::bytes128, CU_TENSOR_MAP_SWIZZLE_128B) &&
              equal(TensorSwizzle::bytes128_atom32_flip8, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B) &&
              equal(TensorSwizzle::bytes128_atom64, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B));
static_assert(equal(TensorL2Promotion::bytes256, CU_TENSOR_MAP_L2_PROMOTION_L2_256B));
static_assert(equal(TensorFill::nan, CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA));
static_assert(equal(JitOption::max_registers, CU_JIT_MAX_REGISTERS));
static_assert(equal(JitOption::info_log_buffer, CU_JIT_INFO_LOG_BUFFER));
static_assert(equal(JitOption::info_log_buffer_size_bytes, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES));
static_assert(equal(JitOption::error_log_buffer, CU_JIT_ERROR_LOG_BUFFER));
static_assert(equal(JitOption::error_log_buffer_size_bytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES));
static_assert(equal(JitOption::optimization_level, CU_JIT_OPTIMIZATION_LEVEL));
static_assert(equal(JitOption::target, CU_JIT_TARGET));
static_assert(equal(JitOption::log_verbose, CU_JIT_LOG_VERBOSE));
static_assert(equal(JitOption::generate_line_info, CU_JIT_GENERATE_LINE_INFO));
static_assert(equal(JitInput::ptx, CU_JIT_INPUT_PTX));
static_assert(accelerated_target == CU_COMPUTE_ACCELERATED_TARGET_BASE &&
              family_target == CU_COMPUTE_FAMILY_TARGET_BASE);
static_assert(stream_non_blocking == CU_STREAM_NON_BLOCKING);
static_assert(use_node_priority == CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
static_assert(default_flags == CU_STREAM_DEFAULT && default_flags == CU_EVENT_DEFAULT);

}  // namespace
}  // namespace ptxgraft::driver
