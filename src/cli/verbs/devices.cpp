// ptxgraft devices: the GPUs of this machine and the architectures of the emulator.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/print_json.hpp"
#include "cli/verb.hpp"
#include "ptxgraft/device.hpp"

namespace ptxgraft::cli {
namespace {

struct DevicesFlags {
    bool json = false;
    std::string driver = DeviceOptions().driver;
};

constexpr double kib = 1024, mib = 1024 * kib, gib = 1024 * mib;

// `number`: of a GPU.
std::string device_name(const DeviceProperties& device, std::size_t number) {
    return device.kind == DeviceKind::cuda ? fmt::format("cuda:{}", number)
                                           : fmt::format("emulator:{}", device.target);
}

Json to_json(const DeviceProperties& p, std::size_t number) {
    return {{"device", device_name(p, number)},
            {"name", p.name},
            {"uuid", p.uuid},
            {"target", p.target},
            {"driver_version", p.driver_version},
            {"compute_capability", fmt::format("{}.{}", p.compute_major, p.compute_minor)},
            {"multiprocessors", p.multiprocessors},
            {"clock_khz", p.clock_khz},
            {"memory_clock_khz", p.memory_clock_khz},
            {"memory_bus_bits", p.memory_bus_bits},
            {"memory_bytes", p.memory_bytes},
            {"peak_bytes_per_second", p.peak_bytes_per_second()},
            {"l2_bytes", p.l2_bytes},
            {"persisting_l2_bytes", p.persisting_l2_bytes},
            {"warp_size", p.warp_size},
            {"threads_per_block", p.threads_per_block},
            {"threads_per_multiprocessor", p.threads_per_multiprocessor},
            {"blocks_per_multiprocessor", p.blocks_per_multiprocessor},
            {"registers_per_block", p.registers_per_block},
            {"registers_per_multiprocessor", p.registers_per_multiprocessor},
            {"shared_bytes_per_block", p.shared_bytes_per_block},
            {"shared_bytes_per_block_optin", p.shared_bytes_per_block_optin},
            {"shared_bytes_per_multiprocessor", p.shared_bytes_per_multiprocessor},
            {"reserved_shared_bytes_per_block", p.reserved_shared_bytes_per_block},
            {"blocks_per_cluster", p.blocks_per_cluster},
            {"cooperative", p.cooperative}};
}

Json to_json(const std::vector<DeviceProperties>& devices) {
    auto all = Json::array();
    for (std::size_t i = 0; i < devices.size(); ++i) all.push_back(to_json(devices[i], i));
    return all;
}

std::string limits(const DeviceProperties& p) {
    return fmt::format(
        "a block {} threads, {:g} KiB of shared memory{}; a multiprocessor {} threads, {} blocks, "
        "{:g} KiB",
        p.threads_per_block, p.shared_bytes_per_block_optin / kib,
        p.blocks_per_cluster > 1 ? fmt::format(", clusters of {}", p.blocks_per_cluster) : "",
        p.threads_per_multiprocessor, p.blocks_per_multiprocessor, p.shared_bytes_per_multiprocessor / kib);
}

void print_gpu(const DeviceProperties& p, std::size_t number) {
    fmt::print("{}  {}, {}, driver {}, {}\n", device_name(p, number), p.name, p.target, p.driver_version,
               p.uuid);
    fmt::print("    {} multiprocessors, {} MHz; {:.1f} GiB, {:.0f} GB/s; L2 cache {:g} MiB\n",
               p.multiprocessors, p.clock_khz / 1000, static_cast<double>(p.memory_bytes) / gib,
               p.peak_bytes_per_second() / 1e9, static_cast<double>(p.l2_bytes) / mib);
    fmt::print("    {}\n", limits(p));
}

void print(const Expected<std::vector<DeviceProperties>>& gpus) {
    if (!gpus)
        fmt::print("no GPU: {}\n", message(gpus.error()));
    else if (gpus->empty())
        fmt::print("no GPU: the driver finds none\n");
    else
        for (std::size_t i = 0; i < gpus->size(); ++i) print_gpu((*gpus)[i], i);
    for (const DeviceProperties& one : Device::list_emulated())
        fmt::print("{:<17}  {}\n", device_name(one, 0), limits(one));
}

void run_devices(const DevicesFlags& options) {
    const auto gpus = Device::list_cuda({.driver = options.driver});
    if (!options.json) return print(gpus);
    Json all{{"cuda", to_json(gpus.value_or(std::vector<DeviceProperties>()))},
             {"cuda_error", nullptr},
             {"emulator", to_json(Device::list_emulated())}};
    if (!gpus) all["cuda_error"] = message(gpus.error());
    print_json(all);
}

}  // namespace

void add_devices(CLI::App& app) {
    auto options = std::make_shared<DevicesFlags>();
    CLI::App* verb =
        app.add_subcommand("devices", "List the GPUs and what the emulator can be, with their properties");
    verb->add_flag(
        "--json", options->json,
        "Print JSON: {\"cuda\": […], \"cuda_error\": null or why there is none, \"emulator\": […]}");
    verb->add_option("--driver", options->driver, "The CUDA driver's library")->capture_default_str();
    verb->callback([options] { run_devices(*options); });
}

}  // namespace ptxgraft::cli
