// What a GPU says of itself.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "device/cuda_entry.hpp"

namespace ptxgraft::device {
namespace {

using driver::DeviceAttribute;
using driver::Driver;
using driver::Result;

struct Row {
    DeviceAttribute attribute;
    std::uint32_t DeviceProperties::*number;
};
constexpr Row rows[] = {
    {DeviceAttribute::compute_capability_major, &DeviceProperties::compute_major},
    {DeviceAttribute::compute_capability_minor, &DeviceProperties::compute_minor},
    {DeviceAttribute::multiprocessor_count, &DeviceProperties::multiprocessors},
    {DeviceAttribute::clock_rate, &DeviceProperties::clock_khz},
    {DeviceAttribute::memory_clock_rate, &DeviceProperties::memory_clock_khz},
    {DeviceAttribute::global_memory_bus_width, &DeviceProperties::memory_bus_bits},
    {DeviceAttribute::warp_size, &DeviceProperties::warp_size},
    {DeviceAttribute::max_threads_per_block, &DeviceProperties::threads_per_block},
    {DeviceAttribute::max_threads_per_multiprocessor, &DeviceProperties::threads_per_multiprocessor},
    {DeviceAttribute::max_blocks_per_multiprocessor, &DeviceProperties::blocks_per_multiprocessor},
    {DeviceAttribute::max_registers_per_block, &DeviceProperties::registers_per_block},
    {DeviceAttribute::max_registers_per_multiprocessor, &DeviceProperties::registers_per_multiprocessor},
    {DeviceAttribute::max_shared_memory_per_block, &DeviceProperties::shared_bytes_per_block},
    {DeviceAttribute::max_shared_memory_per_block_optin, &DeviceProperties::shared_bytes_per_block_optin},
    {DeviceAttribute::max_shared_memory_per_multiprocessor,
     &DeviceProperties::shared_bytes_per_multiprocessor},
    {DeviceAttribute::reserved_shared_memory_per_block, &DeviceProperties::reserved_shared_bytes_per_block}};

// 0 where an old driver does not know the attribute: one of those that came with CUDA 11 and later.
Expected<std::uint32_t> attribute(const Driver& driver, driver::Device device, DeviceAttribute which) {
    int value = 0;
    const Result result = driver.cuDeviceGetAttribute(&value, which, device);
    if (result == Result::invalid_value && which >= DeviceAttribute::max_blocks_per_multiprocessor) return 0;
    TRY(driver.check(result, "cuDeviceGetAttribute"));
    return static_cast<std::uint32_t>(std::max(value, 0));
}

// "GPU-2b1c9d5e-…", as nvidia-smi writes it; empty where the driver does not tell.
std::string uuid_of(const Driver& driver, driver::Device device) {
    driver::Uuid uuid{};
    if (driver.cuDeviceGetUuid_v2 == nullptr || driver.cuDeviceGetUuid_v2(&uuid, device) != Result::success)
        return {};
    std::string text = "GPU";
    for (std::size_t i = 0; i < std::size(uuid.bytes); ++i) {
        if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += fmt::format("{:02x}", uuid.bytes[i]);
    }
    return text;
}

}  // namespace

std::string version_text(const Driver& driver) {
    int version = 0;
    driver.cuDriverGetVersion(&version);
    return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Expected<DeviceProperties> cuda_properties(const Driver& driver, driver::Device device) {
    DeviceProperties result{.kind = DeviceKind::cuda};
    std::array<char, 256> name{};
    TRY(driver.check(driver.cuDeviceGetName(name.data(), int{name.size() - 1}, device), "cuDeviceGetName"));
    result.name = name.data();
    for (const Row& row : rows) result.*row.number = TRY(attribute(driver, device, row.attribute));
    result.l2_bytes = TRY(attribute(driver, device, DeviceAttribute::l2_cache_size));
    result.persisting_l2_bytes =
        TRY(attribute(driver, device, DeviceAttribute::max_persisting_l2_cache_size));
    const std::uint32_t cooperative = TRY(attribute(driver, device, DeviceAttribute::cooperative_launch));
    const std::uint32_t clusters = TRY(attribute(driver, device, DeviceAttribute::cluster_launch));
    std::size_t bytes = 0;
    TRY(driver.check(driver.cuDeviceTotalMem_v2(&bytes, device), "cuDeviceTotalMem"));
    const Architecture architecture = whole_architecture(result.compute_major * 10 + result.compute_minor);
    result.memory_bytes = bytes;
    result.cooperative = cooperative != 0;
    result.blocks_per_cluster = clusters != 0 ? architecture_limits(architecture.sm).blocks_per_cluster : 1;
    result.uuid = uuid_of(driver, device);
    result.target = ptxgraft::name(architecture);
    result.driver_version = version_text(driver);
    return result;
}

}  // namespace ptxgraft::device
