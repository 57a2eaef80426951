// What a device is and whether it still works, through the C interface.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "capi/objects.hpp"
#include "device/fake_gpu.hpp"
#include "ptxgraft/device.hpp"
#include "ptxgraft/ptxgraft.h"

namespace ptxgraft {
namespace {

using testing::HasSubstr;

void expect_properties(const ptxgraft_device* device, const DeviceProperties& want) {
    ptxgraft_device_properties got = PTXGRAFT_DEVICE_PROPERTIES_INIT;
    ASSERT_EQ(ptxgraft_device_get_properties(&got, device), PTXGRAFT_STATUS_ok)
        << ptxgraft_error_get_message();
    EXPECT_EQ(got.name, want.name);
    EXPECT_EQ(got.uuid, want.uuid);
    EXPECT_EQ(got.target, want.target);
    EXPECT_EQ(got.driver_version, want.driver_version);
    EXPECT_EQ(got.kind, ptxgraft_device_get_kind(device));
    EXPECT_EQ(got.bandwidth, want.peak_bytes_per_second());
    EXPECT_EQ((std::vector<std::uint64_t>{got.memory_size,
                                          got.l2_size,
                                          got.persisting_l2_size,
                                          got.compute_major,
                                          got.compute_minor,
                                          got.multiprocessors,
                                          got.clock_khz,
                                          got.memory_clock_khz,
                                          got.memory_bus_bits,
                                          got.warp_size,
                                          got.threads_per_block,
                                          got.threads_per_multiprocessor,
                                          got.blocks_per_multiprocessor,
                                          got.registers_per_block,
                                          got.registers_per_multiprocessor,
                                          got.shared_size_per_block,
                                          got.shared_size_per_block_optin,
                                          got.shared_size_per_multiprocessor,
                                          got.reserved_shared_size_per_block,
                                          got.blocks_per_cluster,
                                          got.cooperative}),
              (std::vector<std::uint64_t>{want.memory_bytes,
                                          want.l2_bytes,
                                          want.persisting_l2_bytes,
                                          want.compute_major,
                                          want.compute_minor,
                                          want.multiprocessors,
                                          want.clock_khz,
                                          want.memory_clock_khz,
                                          want.memory_bus_bits,
                                          want.warp_size,
                                          want.threads_per_block,
                                          want.threads_per_multiprocessor,
                                          want.blocks_per_multiprocessor,
                                          want.registers_per_block,
                                          want.registers_per_multiprocessor,
                                          want.shared_bytes_per_block,
                                          want.shared_bytes_per_block_optin,
                                          want.shared_bytes_per_multiprocessor,
                                          want.reserved_shared_bytes_per_block,
                                          want.blocks_per_cluster,
                                          want.cooperative}));
    ptxgraft_device_properties again = PTXGRAFT_DEVICE_PROPERTIES_INIT;
    ASSERT_EQ(ptxgraft_device_get_properties(&again, device), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(again.name, got.name);  // the device's own string
}

TEST(CApiDevice, TellsItsProperties) {
    ptxgraft_device* emulator = nullptr;
    ASSERT_EQ(ptxgraft_device_open(&emulator, "emulator:sm_80"), PTXGRAFT_STATUS_ok);
    expect_properties(emulator, *Device::open("emulator:sm_80")->properties());
    EXPECT_EQ(ptxgraft_device_get_health(emulator), PTXGRAFT_STATUS_ok);
    ptxgraft_device_destroy(emulator);
}

using CApiGpu = FakeGpu;

TEST_F(CApiGpu, BorrowsKernels) {
    const auto owner = load_fill("other");
    ASSERT_TRUE(owner) << failure(owner);
    fake().argument_sizes = {4};
    const std::uint64_t number = fake().last_function;
    const ptxgraft_device gpu(device());
    ptxgraft_kernel* kernel = nullptr;
    ASSERT_EQ(ptxgraft_kernel_create_borrowed(&kernel, &gpu, PTXGRAFT_FUNCTION_HANDLE_kernel, number + 1),
              PTXGRAFT_STATUS_ok)
        << ptxgraft_error_get_message();
    EXPECT_STREQ(ptxgraft_kernel_get_entry(kernel), "other");
    EXPECT_EQ(ptxgraft_kernel_get_parameter_count(kernel), 1u);
    const std::uint32_t value = 7;
    const ptxgraft_argument argument = PTXGRAFT_VALUE(value);
    EXPECT_EQ(ptxgraft_kernel_launch(kernel, nullptr, &argument, 1), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(fake().launches.back().function, "other");
    std::size_t size = 0;
    EXPECT_EQ(ptxgraft_kernel_get_cubin(nullptr, &size, kernel), PTXGRAFT_STATUS_machine_code_missing);
    EXPECT_EQ(ptxgraft_kernel_get_ptx(nullptr, &size, kernel), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(size, 1u);
    ptxgraft_kernel_destroy(kernel);
    EXPECT_EQ(fake().calls["cuModuleUnload"], 0);

    EXPECT_EQ(
        ptxgraft_kernel_create_borrowed(&kernel, &gpu, static_cast<ptxgraft_function_handle>(2), number),
        PTXGRAFT_STATUS_argument_invalid);
    EXPECT_EQ(ptxgraft_kernel_create_borrowed(&kernel, &gpu, PTXGRAFT_FUNCTION_HANDLE_function, 0),
              PTXGRAFT_STATUS_argument_invalid);
    EXPECT_EQ(ptxgraft_kernel_create_borrowed(&kernel, nullptr, PTXGRAFT_FUNCTION_HANDLE_function, number),
              PTXGRAFT_STATUS_argument_invalid);
}

TEST_F(CApiGpu, TellsItsProperties) {
    const ptxgraft_device gpu(device());
    expect_properties(&gpu, *device().properties());
    EXPECT_GT(device().properties()->multiprocessors, 0u);
}

TEST_F(CApiGpu, TellsWhetherItsContextIsLost) {
    const ptxgraft_device gpu(device());
    EXPECT_EQ(ptxgraft_device_get_health(&gpu), PTXGRAFT_STATUS_ok);
    fake().failing_for_ever = true;
    break_call("cuCtxSynchronize", 700);
    EXPECT_EQ(ptxgraft_device_synchronize(&gpu), PTXGRAFT_STATUS_launch_failed);
    EXPECT_EQ(ptxgraft_device_get_health(&gpu), PTXGRAFT_STATUS_launch_failed);
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
}

TEST_F(CApiGpu, KeepsCacheForWhatPersists) {
    const ptxgraft_device gpu(device());
    std::size_t size = 7;
    EXPECT_EQ(ptxgraft_device_get_persisting_l2(&size, &gpu), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(size, 0u);
    EXPECT_EQ(ptxgraft_device_set_persisting_l2(&gpu, 1 << 20), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(ptxgraft_device_get_persisting_l2(&size, &gpu), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(size, 1u << 20);
    EXPECT_EQ(ptxgraft_device_clear_persisting_l2(&gpu), PTXGRAFT_STATUS_ok);
}

TEST_F(CApiGpu, StreamsOfOthersAreBorrowed) {
    const ptxgraft_device gpu(device());
    EXPECT_NE(ptxgraft_device_get_context(&gpu), 0u);
    std::int32_t least = 0, greatest = 0;
    EXPECT_EQ(ptxgraft_stream_get_priorities(&least, &greatest, &gpu), PTXGRAFT_STATUS_ok);
    EXPECT_LT(greatest, least);
    ptxgraft_stream_options options = PTXGRAFT_STREAM_OPTIONS_INIT;
    options.priority = greatest;
    ptxgraft_stream *made = nullptr, *borrowed = nullptr;
    ASSERT_EQ(ptxgraft_stream_create_with_options(&made, &gpu, &options), PTXGRAFT_STATUS_ok);
    const std::uint64_t handle = ptxgraft_stream_get_handle(made);
    EXPECT_NE(handle, 0u);
    ASSERT_EQ(ptxgraft_stream_create_borrowed(&borrowed, &gpu, handle), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(ptxgraft_stream_get_handle(borrowed), handle);
    ptxgraft_stream_destroy(borrowed);
    EXPECT_EQ(ptxgraft_stream_synchronize(made), PTXGRAFT_STATUS_ok) << "it is still there";
    ptxgraft_stream_destroy(made);
}

TEST_F(CApiGpu, GuardsAreOfTheirThread) {
    const ptxgraft_device gpu(device());
    ptxgraft_timing* timing = nullptr;
    ptxgraft_current* current = nullptr;
    ASSERT_EQ(ptxgraft_timing_create(&timing, &gpu), PTXGRAFT_STATUS_ok);
    ASSERT_EQ(ptxgraft_current_create(&current, &gpu), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(ptxgraft_device_get_module_count(&gpu), device().loaded_modules());
    ptxgraft_current_destroy(current);
    ptxgraft_timing_destroy(timing);
    ptxgraft_current_destroy(nullptr);
    ptxgraft_timing_destroy(nullptr);
}

}  // namespace
}  // namespace ptxgraft
