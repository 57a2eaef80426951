#pragma once
// A host twin: one CUDA source, compiled by the host's compiler and by NVRTC or nvcc, run on both with the
// same inputs. A program has
//   - functions for both, marked BOTH,
//   - entries, under `#ifdef __CUDACC__`,
//   - after `#else`, a TWIN: it makes inputs, launches the entries, and compares with what the functions give
//   on the host.
// All of it stands in a namespace of the file's name, so that the programs' types do not meet.
// TWIN(Name, "sm_75", "sm_90a nvcc -G") { … run … } is the test HostTwin.Name; each string is one
// compilation: the target, then `nvcc` where NVRTC will not do, then options of that compiler.

typedef unsigned char u8;
typedef signed char s8;
typedef unsigned short u16;
typedef short s16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

#ifdef __CUDACC__

#define BOTH __host__ __device__
#define DEVICE __device__
#define ENTRY extern "C" __global__ void
/// The thread's number in a grid of one dimension.
DEVICE inline u32 thread_number() { return blockIdx.x * blockDim.x + threadIdx.x; }

#else

#define BOTH

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace twin {

struct Shape {
    u32 grid = 1;
    u32 block = 1;
    u32 shared = 0;  ///< bytes of dynamic shared memory
    u32 block_y = 1, grid_y = 1;
};

/// A tensor map, an argument of an entry.
struct Map {
    alignas(64) u64 words[16];
};

/// One compilation of a program, on a device. What goes wrong is a failure of the running test; after the
/// first, everything is a no-op.
class Run {
  public:
    struct Data;
    explicit Run(Data& data) : data_(data) {}

    std::mt19937_64 random{7};
    template <class T> std::vector<T> random_values(std::size_t count) {
        std::vector<T> values(count);
        for (T& value : values) value = static_cast<T>(random());
        return values;
    }
    /// Uniform in [low, high).
    template <class T> std::vector<T> random_reals(std::size_t count, T low, T high) {
        std::vector<T> values(count);
        for (T& value : values) value = std::uniform_real_distribution<T>(low, high)(random);
        return values;
    }

    template <class T> u64 upload(const std::vector<T>& values) {
        return upload_bytes(values.data(), values.size() * sizeof(T));
    }
    template <class T> u64 zeros(std::size_t count) { return upload(std::vector<T>(count)); }
    template <class T> std::vector<T> download(u64 address, std::size_t count) {
        std::vector<T> values(count);
        download_bytes(address, values.data(), count * sizeof(T));
        return values;
    }
    /// A matrix of bf16 by rows, in boxes; `swizzled`: by 128 bytes.
    Map map_of_bf16(u64 address, u32 columns, u32 rows, u32 box_columns, u32 box_rows, bool swizzled);
    template <class... T> void launch(const char* entry, Shape shape, const T&... arguments) {
        launch_bytes(entry, shape, {{&arguments, sizeof arguments}...});
    }
    /// What the program has printed since the last call.
    std::string output();

    /// The two are equal bit for bit; NaNs are equal to each other.
    template <class T>
    void expect_same(const char* what, const std::vector<T>& device, const std::vector<T>& host) {
        if (stopped()) return;
        if (device.size() != host.size()) return fail(std::string(what) + ": sizes differ");
        u32 shown = 0;
        for (std::size_t i = 0; i < host.size() && shown < 5; ++i)
            if (!same(device[i], host[i]))
                ++shown, differs(what, i, shown_value(device[i], host[i]), shown_value(host[i], device[i]));
    }
    /// The device's values are within so many units in the last place of the host's, which are given with
    /// more precision and rounded here: CUDA states its functions' errors so.
    template <class T, class Reference>
    void expect_within(const char* what, double ulps, const std::vector<T>& device,
                       const std::vector<Reference>& host) {
        if (stopped()) return;
        if (device.size() != host.size()) return fail(std::string(what) + ": sizes differ");
        u32 shown = 0;
        for (std::size_t i = 0; i < host.size() && shown < 5; ++i)
            if (!within(device[i], host[i], ulps))
                ++shown, differs(what, i, shown_value(device[i]), shown_value(host[i]));
    }
    void expect(bool holds, const std::string& what) {
        if (!holds && !stopped()) fail(what);
    }
    /// The test is skipped, with a reason.
    static void skip(const char* reason);
    /// An entry of (const In* in, Out* out, u32 count), a thread for each element, beside the function that
    /// it applies.
    template <class Out, class In, class Function>
    void map(const char* entry, const std::vector<In>& in, Function function, u32 block = 64) {
        const u32 count = static_cast<u32>(in.size());
        const u64 from = upload(in), to = zeros<Out>(count);
        launch(entry, {.grid = (count + block - 1) / block, .block = block}, from, to, count);
        std::vector<Out> host(count);
        for (u32 i = 0; i < count; ++i) host[i] = function(in[i]);
        expect_same(entry, download<Out>(to, count), host);
    }

  private:
    struct Bytes {
        const void* data;
        std::size_t size;
    };
    u64 upload_bytes(const void* data, std::size_t size);
    void download_bytes(u64 address, void* data, std::size_t size);
    void launch_bytes(const char* entry, const Shape& shape, const std::vector<Bytes>& arguments);
    void differs(const char* what, std::size_t index, const std::string& device, const std::string& host);
    void fail(const std::string& what);
    [[nodiscard]] bool stopped() const;

    template <class T> static bool same(const T& a, const T& b) {
        if constexpr (std::is_floating_point_v<T>)
            if (std::isnan(a) && std::isnan(b)) return true;
        return std::memcmp(&a, &b, sizeof(T)) == 0;
    }
    template <class T, class Reference> static bool within(T device, Reference host, double ulps) {
        if (std::isnan(host)) return std::isnan(device);
        const T rounded = static_cast<T>(host);
        if (std::isinf(rounded) || std::isinf(device)) return device == rounded;
        const T ulp =
            std::nextafter(std::abs(rounded), std::numeric_limits<T>::infinity()) - std::abs(rounded);
        return std::abs(device - rounded) <= static_cast<T>(ulps) * ulp;
    }
    template <class T> static std::string shown_value(const T& value) {
        if constexpr (std::is_floating_point_v<T>)
            return decimal(static_cast<double>(value)) + hex(&value, sizeof value);
        else if constexpr (std::is_integral_v<T>)
            return std::to_string(value) + hex(&value, sizeof value);
        else
            return hex(&value, sizeof value);
    }
    // Of a structure, the words that differ.
    template <class T> static std::string shown_value(const T& value, const T& other) {
        if constexpr (std::is_arithmetic_v<T> || sizeof(T) % 4 != 0)
            return shown_value(value);
        else
            return words(&value, &other, sizeof value);
    }
    static std::string words(const void* value, const void* other, std::size_t size);
    static std::string decimal(double value);
    static std::string hex(const void* value, std::size_t size);

    Data& data_;
};

/// Adds the test HostTwin.NAME.
bool add(const char* name, const char* file, std::vector<std::string> compilations, void (*body)(Run&));

}  // namespace twin

#define TWIN(name, ...)                                                                                      \
    static void run_##name(twin::Run& run);                                                                  \
    [[maybe_unused]] static const bool added_##name = twin::add(#name, __FILE__, {__VA_ARGS__}, run_##name); \
    static void run_##name([[maybe_unused]] twin::Run& run)

#endif
