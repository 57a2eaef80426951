#pragma once
/// @file device_properties.hpp
/// What a device is, what one of its functions takes, and whether it still works: facts for whoever chooses
/// launches, computes rooflines or keeps a pool of processes.
///
/// @code
/// for (const DeviceProperties& gpu : Device::list_cuda().value_or(std::vector<DeviceProperties>()))
///     std::cout << gpu.name << ' ' << gpu.peak_bytes_per_second() / 1e12 << " TB/s\n";
/// @endcode

#include <cstdint>
#include <optional>
#include <string>

#include "ptxgraft/error.hpp"

namespace ptxgraft {

enum class DeviceKind : std::uint8_t { cuda, emulator };

/// A device. A number that a device does not know is 0: the emulator has neither clocks nor caches, and its
/// limits are those of its architecture; an old driver may lack some.
struct PTXGRAFT_API DeviceProperties {
    DeviceKind kind = DeviceKind::emulator;
    std::string name = {};            ///< "NVIDIA H200", "emulator"
    std::string uuid = {};            ///< "GPU-2b1c…", as nvidia-smi -L has it; of the emulator empty
    std::string target = {};          ///< "sm_90a", with all that the architecture has
    std::string driver_version = {};  ///< "13.0"; of the emulator ptxgraft's version
    std::uint32_t compute_major = 0, compute_minor = 0;  ///< compute capability

    std::uint32_t multiprocessors = 0;
    std::uint32_t clock_khz = 0;         ///< of the multiprocessors, the highest
    std::uint32_t memory_clock_khz = 0;  ///< the highest
    std::uint32_t memory_bus_bits = 0;
    std::uint64_t memory_bytes = 0;
    std::uint64_t l2_bytes = 0;
    std::uint64_t persisting_l2_bytes = 0;  ///< the most that Device::set_persisting_l2 takes

    std::uint32_t warp_size = 32;
    std::uint32_t threads_per_block = 0, threads_per_multiprocessor = 0;
    std::uint32_t blocks_per_multiprocessor = 0;
    std::uint32_t registers_per_block = 0, registers_per_multiprocessor = 0;  ///< of 32 bits
    std::uint32_t shared_bytes_per_block = 0;        ///< static and dynamic, without opting in
    std::uint32_t shared_bytes_per_block_optin = 0;  ///< that a launch may have: Function::launch opts in
    std::uint32_t shared_bytes_per_multiprocessor = 0;
    std::uint32_t reserved_shared_bytes_per_block = 0;  ///< that CUDA takes for itself
    std::uint32_t blocks_per_cluster = 1;               ///< 1: no clusters; above 8 they are not portable
    bool cooperative = false;                           ///< launches whose blocks all run at the same time

    /// What memory can move, computed of bus and clock at two transfers a cycle; 0: not known.
    [[nodiscard]] double peak_bytes_per_second() const {
        return 2.0 * memory_clock_khz * 1000.0 * memory_bus_bits / 8.0;
    }
};

/// What a loaded function takes. The emulator has no registers to count: 0, as whatever it does not know.
struct FunctionAttributes {
    std::uint32_t registers = 0;                  ///< of a thread
    std::uint32_t local_bytes = 0;                ///< of a thread: spills, arrays, its stack
    std::uint32_t static_shared_bytes = 0;        ///< of a block
    std::uint32_t most_dynamic_shared_bytes = 0;  ///< that a launch may ask for beside them
    std::uint32_t const_bytes = 0;                ///< of `.const` variables
    std::uint32_t threads_per_block = 0;          ///< the most that a launch may have
    std::uint32_t binary_version = 0;             ///< 90: of the machine code
    std::uint32_t ptx_version = 0;                ///< 80: that it was made from
};

/// Whether a device can go on. A kernel that made a GPU fail (an illegal address, a trap, an uncorrectable
/// memory error) takes the context with it: every call fails from then on, and only a new process helps.
struct DeviceHealth {
    /// The error that the context was lost with, as the call that first heard of it had it.
    std::optional<Error> lost = {};
    [[nodiscard]] bool ok() const { return !lost; }
};

}  // namespace ptxgraft
