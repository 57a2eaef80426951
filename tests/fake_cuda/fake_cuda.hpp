#pragma once
/// A CUDA driver of host memory, for tests of what ptxgraft does with a driver. It has two GPUs, counts what
/// is made and destroyed, can fail any call, and keeps every launch. Kernels do not run; a launch of `fill`
/// writes its third argument's byte to the buffer of its first, as far as the second says, so that data can
/// be seen to flow.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

struct FakeLaunch {
    std::string function;
    std::array<unsigned, 3> grid, block;
    unsigned shared_bytes;
    std::uint64_t stream;
    std::vector<std::vector<std::byte>> arguments;
    std::array<unsigned, 3> cluster{};  ///< zeros: the launch said nothing of clusters
    bool cooperative = false;
};

/// What cuTensorMapEncodeTiled was given; the map itself gets the number of the encoding in each byte.
struct FakeTensorMap {
    int type;
    std::uint64_t address;
    std::vector<std::uint64_t> dims, strides;
    std::vector<unsigned> box, element_strides;
    std::array<int, 4> modes;  ///< interleave, swizzle, L2 promotion, fill
    std::vector<int> corners;  ///< of the im2col mode: the lower ones, the upper ones, channels, pixels
};

struct FakeCuda {
    // What tests set. The state returns to this with `*fake_cuda() = {}`.
    int device_count = 2;
    int major = 9, minor = 0;
    int version = 13000;
    std::string failing_call;  ///< this call returns failing_result
    int failing_result = 0;
    std::string module_log;                   ///< written into the error log of a module that does not load
    std::vector<std::size_t> argument_sizes;  ///< of launches: the driver knows them from the module
    int static_shared_bytes = 0;
    int max_threads_per_block = 1024;

    // What happened.
    std::map<std::string, int> calls;
    std::map<std::uint64_t, std::size_t> allocations;
    /// the variable `table` of 64 bytes that each module has
    std::map<std::uint64_t, std::vector<std::byte>> tables;
    std::vector<std::uint64_t> current;  ///< the contexts of this thread, the innermost last
    std::map<int, int> retained;         ///< primary contexts by device
    int modules = 0, streams = 0, events = 0;
    int dynamic_shared_bytes = 48 * 1024;  ///< granted by cuFuncSetAttribute
    std::string image;                     ///< of the last module
    std::vector<FakeLaunch> launches;
    std::vector<FakeTensorMap> maps;
    bool large_clusters = false;  ///< allowed by cuFuncSetAttribute
    bool called_without_context = false;
};

/// The library's state; looked up with dlsym.
extern "C" FakeCuda* fake_cuda();
