#pragma once
// What the kernels of a timing session do, on the fake driver.

#include <cstring>
#include <string>

#include "fake_cuda/fake_cuda.hpp"

namespace ptxgraft::measure {

inline std::uint64_t fake_argument(const FakeLaunch& launch, std::size_t i) {
    std::uint64_t value = 0;
    std::memcpy(&value, launch.arguments[i].data(), launch.arguments[i].size());
    return value;
}
template <class T> T* fake_pointer(const FakeLaunch& launch, std::size_t i) {
    return reinterpret_cast<T*>(fake_argument(launch, i));
}

inline void add_timing_kernels(FakeCuda& fake) {
    fake.argument_sizes_of.insert({{"ptxgraft_copy", {8, 8, 8}},
                                   {"ptxgraft_fill", {8, 8, 4}},
                                   {"ptxgraft_discard", {8, 8}},
                                   {"ptxgraft_digest", {8, 8, 8, 8}},
                                   {"ptxgraft_marker", {8}}});
}

// What the kernel computes, said once more; a test compares the kernel with the library's own words.
inline void fake_digest(const FakeLaunch& launch) {
    const auto* const words = fake_pointer<std::uint64_t>(launch, 0);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < fake_argument(launch, 1); ++i) {
        std::uint64_t x = words[i] ^ (i * 0x9E3779B97F4A7C15u + fake_argument(launch, 2));
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
        sum += x ^ (x >> 31);
    }
    *fake_pointer<std::uint64_t>(launch, 3) += sum;
}

/// False for any other kernel.
inline bool run_timing_kernel(const FakeLaunch& launch, std::uint64_t marker_ns, unsigned megahertz) {
    if (launch.function == "ptxgraft_copy") {
        std::memcpy(fake_pointer<char>(launch, 0), fake_pointer<char>(launch, 1),
                    16 * fake_argument(launch, 2));
    } else if (launch.function == "ptxgraft_fill") {
        std::memset(fake_pointer<char>(launch, 0), static_cast<int>(fake_argument(launch, 2)),
                    16 * fake_argument(launch, 1));
    } else if (launch.function == "ptxgraft_discard") {
        std::memset(fake_pointer<char>(launch, 0), 0x5A, 128 * fake_argument(launch, 1));  // anything
    } else if (launch.function == "ptxgraft_digest") {
        fake_digest(launch);
    } else if (launch.function == "ptxgraft_marker") {
        auto* const slot = fake_pointer<std::uint64_t>(launch, 0);
        slot[1] = marker_ns, slot[2] = marker_ns * megahertz / 1000;
    } else {
        return false;
    }
    return true;
}

}  // namespace ptxgraft::measure
