#pragma once
/// A CUDA driver of host memory, for tests of what ptxgraft does with a driver. It has two GPUs, records
/// every call, keeps every launch, and fails as it is told: any call, once or for ever, at once or never
/// coming back. Kernels do not run; a launch of `fill` writes its third argument's byte to the buffer of its
/// first, as far as the second says, so that data can be seen to flow, and a test may have a function that
/// stands for all others. Time is what the test says. It is NVIDIA's management library (NVML) too.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

struct FakeLaunch {
    std::string function;
    std::array<unsigned, 3> grid, block;
    unsigned shared_bytes;
    std::uint64_t stream;
    std::vector<std::vector<std::byte>> arguments;
    std::array<unsigned, 3> cluster{};  ///< zeros: the launch said nothing of clusters
    bool cooperative = false;
    bool programmatic = false;
    std::optional<int> priority = {};
    bool of_graph = false;
    bool is_foreign = false;  ///< what fake_cuda_capture_foreign() added
    /// The image of the function's module, where that is a text and no ELF; else null.
    std::shared_ptr<const std::string> text = {};
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

struct FakeCopy {
    std::uint64_t target;
    std::size_t bytes;
    std::uint64_t stream;
};

struct FakeStream {
    std::uint64_t context;
    unsigned flags;
    int priority;
};

struct FakeCuda {
    // What tests set. The state returns to this with `*fake_cuda() = {}`.
    int device_count = 2;
    int major = 9, minor = 0;
    int version = 13000;
    /// Device attributes by their number, as an H200 has them; those that are not here the driver does not
    /// know.
    std::map<int, int> attributes{
        {1, 1024},     {8, 48 * 1024},   {10, 32},       {12, 65536},     {13, 1980000},    {16, 132},
        {36, 3201000}, {37, 6144},       {38, 60 << 20}, {39, 2048},      {81, 228 * 1024}, {82, 65536},
        {95, 1},       {97, 227 * 1024}, {106, 32},      {108, 37 << 20}, {111, 1024},      {120, 1}};
    /// Function attributes by their number, of all functions.
    std::map<int, int> function_attributes{{2, 64}, {3, 16}, {4, 40}, {5, 80}, {6, 90}};
    std::string failing_call;  ///< this call returns failing_result
    int failing_result = 0;
    int failing_after = 0;          ///< … when so many calls of it came back
    bool failing_once = false;      ///< and then no more
    bool failing_for_ever = false;  ///< and from then on every call in the context does
    int lost_with = 0;              ///< not 0: what every call in a context returns
    std::string hanging_call;       ///< this call does not come back before fake_cuda_let_go() …
    int hanging_after = 0;          ///< … when so many calls of it came back
    /// Calls of a launch do nothing at all and are not recorded: what is left is their callers' time.
    bool is_quiet = false;
    double launch_milliseconds = 1.5;         ///< each launch moves the time that events record
    std::string module_log;                   ///< written into the error log of a module that does not load
    std::vector<std::size_t> argument_sizes;  ///< of launches: the driver knows them from the module
    std::map<std::string, std::vector<std::size_t>> argument_sizes_of;  ///< of one function, before those
    /// What a kernel does to memory, for all but `fill`; and how long it takes, where it is not
    /// launch_milliseconds. Called when a launch runs, by one thread at a time.
    std::function<void(const FakeLaunch&)> on_launch;
    std::function<double(const FakeLaunch&)> milliseconds_of;
    std::function<void(const FakeCuda&, const char*)> on_call;       ///< each call by its name, before it
    unsigned megahertz = 1980, celsius = 41, compute_processes = 1;  ///< that NVML tells
    unsigned long long throttled = 0;
    bool keeps_launches = true;
    int static_shared_bytes = 0;
    int max_threads_per_block = 1024;
    int blocks_per_multiprocessor = 3, active_clusters = 7;
    std::string jit_info_log, jit_error_log, jit_cubin;

    // What happened.
    std::map<std::string, int> calls;
    std::map<std::uint64_t, std::size_t> allocations;
    /// the variable `table` of 64 bytes that each module has; it stands for those of constants too
    std::map<std::uint64_t, std::vector<std::byte>> tables;
    std::vector<FakeCopy> copies;  ///< from the host that were queued on a stream
    /// the contexts of each thread that has any, the innermost last
    std::map<std::thread::id, std::vector<std::uint64_t>> current;
    std::map<int, int> retained;  ///< primary contexts by device
    int modules = 0, streams = 0, events = 0, graphs = 0, executable_graphs = 0, links = 0;
    int dynamic_shared_bytes = 48 * 1024;  ///< granted by cuFuncSetAttribute
    int carveout = -1;
    std::string image;  ///< of the last module
    std::map<std::uint64_t, std::string> functions;
    std::uint64_t last_function = 0;
    std::map<std::uint64_t, std::uint64_t> modules_of;  ///< of functions
    /// of modules, and then of their functions, that were loaded as texts
    std::map<std::uint64_t, std::shared_ptr<const std::string>> texts;
    std::map<std::uint64_t, FakeStream> stream_of;
    std::map<std::uint64_t, double> event_times;
    double milliseconds = 0;
    std::vector<FakeLaunch> launches;
    std::vector<FakeTensorMap> maps;
    std::size_t persisting_l2 = 0;
    int l2_resets = 0;
    /// launches of each graph by its handle; an executable one has its own
    std::map<std::uint64_t, std::vector<FakeLaunch>> graph_launches;
    unsigned long long instantiate_flags = 0;
    std::map<std::uint64_t, std::uint64_t> captures;  ///< the graph that each captured stream fills
    bool capture_is_invalidated = false;              ///< of any stream: as a forbidden call leaves it
    std::map<int, std::uintptr_t> jit_options;
    std::string jit_ptx;
    bool large_clusters = false;  ///< allowed by cuFuncSetAttribute
    bool called_without_context = false;

    /// All calls but those that only ask for the text of an error.
    [[nodiscard]] int all_calls() const {
        int all = 0;
        for (const auto& [name, count] : calls) all += count;
        return all;
    }
};

/// The library's state; looked up with dlsym. Tests of several threads read it when these are done.
extern "C" FakeCuda* fake_cuda();
/// FakeCuda::argument_sizes, for tests in other languages.
extern "C" void fake_cuda_set_argument_sizes(const std::size_t* sizes, std::size_t count);
/// The CUfunction of the last cuModuleGetFunction, as a number.
extern "C" std::uint64_t fake_cuda_last_function();
/// What another library launches on a stream that is captured.
extern "C" void fake_cuda_capture_foreign(std::uint64_t stream);
/// Waits until a call hangs.
extern "C" void fake_cuda_await_hanging();
/// Lets what hangs go on.
extern "C" void fake_cuda_let_go();
