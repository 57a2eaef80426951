// What the templates reach on a GPU: products beside cuBLAS in the same run, rows beside the copy bandwidth.
// cuBLAS is opened where there is one, and its figures are left out where there is none.

#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <string>

#include "gpu/templates.hpp"
#include "gpu_bench.hpp"
#include "ptxgraft/expression.hpp"
#include "ptxgraft/template.hpp"

namespace ptxgraft {
namespace {

// ---- cuBLAS, by the names and numbers of its C interface (cublas_api.h, library_types.h)
class Cublas {
  public:
    Cublas() {
        void* library = nullptr;
        for (const char* name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so"})
            if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) return;
        const auto create = reinterpret_cast<int (*)(void**)>(dlsym(library, "cublasCreate_v2"));
        product_ = reinterpret_cast<Product>(dlsym(library, "cublasGemmEx"));
        set_stream_ = reinterpret_cast<int (*)(void*, void*)>(dlsym(library, "cublasSetStream_v2"));
        if (create == nullptr || product_ == nullptr || set_stream_ == nullptr || create(&handle_) != 0)
            handle_ = nullptr;
    }
    [[nodiscard]] bool is_there() const { return handle_ != nullptr; }

    // c = a b^T of bf16, c m x n row after row in f32, as a row-major caller asks a column-major library.
    void multiply(const Stream& stream, const Buffer& a, const Buffer& b, const Buffer& c, int m, int n,
                  int k) const {
        constexpr int transposed = 1, plain = 0, bf16 = 14, f32 = 0, compute_f32 = 68, usual = -1;
        const float one = 1, zero = 0;
        int failed = set_stream_(handle_, reinterpret_cast<void*>(stream.handle()));
        if (failed == 0)
            failed = product_(handle_, transposed, plain, n, m, k, &one, reinterpret_cast<void*>(b.address()),
                              bf16, k, reinterpret_cast<void*>(a.address()), bf16, k, &zero,
                              reinterpret_cast<void*>(c.address()), f32, n, compute_f32, usual);
        if (failed != 0) throw std::runtime_error("cuBLAS says " + std::to_string(failed));
    }

  private:
    using Product = int (*)(void*, int, int, int, int, int, const void*, const void*, int, int, const void*,
                            int, int, const void*, void*, int, int, int, int);
    void* handle_ = nullptr;
    Product product_ = nullptr;
    int (*set_stream_)(void*, void*) = nullptr;
};

// Seconds of one launch, the least of some measurements.
template <class Launch> double seconds_of(const Device& device, Launch&& launch) {
    constexpr int rounds = 5, launches = 10;
    const Stream stream = value(device.create_stream());
    Event start = value(device.create_event()), end = value(device.create_event());
    double least = 1e9;
    for (int round = 0; round <= rounds; ++round) {
        done(start.record(&stream));
        for (int i = 0; i < launches; ++i) launch(stream);
        done(end.record(&stream));
        const double seconds = value(end.elapsed_since(start)) / 1000.0 / launches;
        if (round != 0) least = std::min(least, seconds);
    }
    return least;
}

// A template that is ready to be launched.
struct Ready {
    Kernel kernel;
    LaunchConfig config;
    std::vector<Buffer> buffers;
    std::vector<Argument> arguments;
    std::vector<std::size_t> zeroed = {};  // of the buffers: zeros before every launch, which is a part of it
    void launch(const Stream& stream) const {
        for (const std::size_t i : zeroed) done(buffers[i].fill(std::byte{0}));
        done(kernel.launch_with(config, arguments, &stream));
    }
};
struct What {
    std::string name;
    Dimensions dimensions;
    Choices choices = {};
    std::map<std::string, std::string> stubs = {};  // expressions
};
Ready ready(const Device& device, const What& what) {
    const Template from = value(Template::find(what.name, templates_folder()));
    const auto multiprocessors = value(device.properties()).multiprocessors;
    const TemplateLaunch launch = value(from.launch(what.dimensions, what.choices, multiprocessors));
    const Skeleton skeleton =
        value(from.skeleton(what.choices, from.target().ends_with('a') ? "" : device.target()));
    std::vector<Graft> grafts;
    for (const auto& [site, text] : what.stubs)
        grafts.emplace_back(site, value(compile_expression(text, *value(skeleton.find_site(site)))));
    Ready all{value(skeleton.graft(grafts, device, {.entry = launch.entry})), launch.config, {}, {}};
    std::vector<const Buffer*> pointers;
    all.buffers.reserve(launch.tensors.size());
    for (const TemplateTensor& tensor : launch.tensors) {
        all.buffers.push_back(value(device.allocate(tensor.bytes)));
        if (tensor.access == TensorAccess::in || tensor.access == TensorAccess::modified)
            done(all.buffers.back().write(random_bytes(tensor, 1)));
        else
            done(all.buffers.back().fill(std::byte{0}));
        if (tensor.zeroed) all.zeroed.push_back(all.buffers.size() - 1);
        pointers.push_back(tensor.nullable ? nullptr : &all.buffers.back());
    }
    all.arguments = value(launch.arguments(pointers));
    return all;
}

void run(benchmark::State& state, const Device& device, const Ready& kernel) {
    time_on_stream(state, device, 10, [&](const Stream& stream) { kernel.launch(stream); });
}

// ---- products

constexpr const char* eight_instructions =
    "x = acc * 0.7978845608 + 0.0356774081 * acc\nacc = max(x * 0.5 + 0.25, acc * 0.125) - min(acc, 1.5)";

void check_target(const What& what, const Device& device) {
    const std::string target = value(Template::find(what.name, templates_folder())).target();
    if (target.ends_with('a') && device.target() != target)
        throw std::runtime_error(what.name + " is of " + target + " alone");
}

void time_gemm(benchmark::State& state, What what) {
    with_gpu(state, [&](const Device& device) {
        const auto m = static_cast<std::uint32_t>(state.range(0)),
                   n = static_cast<std::uint32_t>(state.range(1)),
                   k = static_cast<std::uint32_t>(state.range(2));
        check_target(what, device);
        what.dimensions = {{"m", m}, {"n", n}, {"k", k}};
        const Ready kernel = ready(device, what);
        run(state, device, kernel);
        const double flops = 2.0 * m * n * k;
        state.counters["TFLOPS"] =
            benchmark::Counter(flops / 1e12, benchmark::Counter::kIsIterationInvariantRate);
        static const auto current = value(device.make_current());
        static const Cublas cublas;
        if (!cublas.is_there() || what.name.ends_with("quantised")) return;  // whose b cuBLAS does not take
        const Buffer c = value(device.allocate(std::size_t{4} * m * n));
        const double theirs = seconds_of(device, [&](const Stream& stream) {
            cublas.multiply(stream, kernel.buffers[0], kernel.buffers[1], c, static_cast<int>(m),
                            static_cast<int>(n), static_cast<int>(k));
        });
        state.counters["cublas_TFLOPS"] = flops / 1e12 / theirs;
        state.counters["of_cublas"] =
            benchmark::Counter(theirs, benchmark::Counter::kIsIterationInvariantRate);
    });
}
void shapes(benchmark::internal::Benchmark* bench) {
    for (const std::int64_t side : {2048, 4096, 8192}) bench->Args({side, side, side});
    bench->Args({4096, 14336, 4096})->Args({4096, 4096, 14336})->Args({128, 6144, 4096});
    bench->UseManualTime()->Unit(benchmark::kMillisecond);
}
const Choices to_f32 = {{"output", "f32"}};
BENCHMARK_CAPTURE(time_gemm, mma, What{"gemm/mma", {}, to_f32})->Apply(shapes);
BENCHMARK_CAPTURE(time_gemm, wgmma, What{"gemm/wgmma", {}, to_f32})->Apply(shapes);
BENCHMARK_CAPTURE(time_gemm, wgmma_of_8_instructions,
                  What{"gemm/wgmma", {}, to_f32, {{"epilogue", eight_instructions}}})
    ->Apply(shapes);

BENCHMARK_CAPTURE(time_gemm, quantised_s8, What{"gemm/quantised", {}, to_f32})->Apply(shapes);
BENCHMARK_CAPTURE(time_gemm, mma_quantised_s8, What{"gemm/mma_quantised", {}, to_f32})->Apply(shapes);
BENCHMARK_CAPTURE(time_gemm, splitk_quantised_int4,
                  What{"gemm/splitk_quantised", {}, {{"tile_m", "64"}, {"type_b", "u8"}}})
    ->Args({16, 4096, 4096})
    ->Args({16, 4096, 14336})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(time_gemm, quantised_int4,
                  What{"gemm/quantised", {}, {{"output", "f32"}, {"type_b", "u8"}}})
    ->Apply(shapes);

// ---- convolutions: 3 x 3 filters with padding, as the stages of a ResNet-50 have them, 256 images

void time_conv(benchmark::State& state, What what) {
    with_gpu(state, [&](const Device& device) {
        check_target(what, device);
        const auto side = static_cast<std::uint64_t>(state.range(0)),
                   channels = static_cast<std::uint64_t>(state.range(1));
        constexpr std::uint64_t images = 256, places = 9;
        what.dimensions = {{"images", images},
                           {"height", side},
                           {"width", side},
                           {"channels", channels},
                           {"filters", channels}};
        what.choices = {{"tile_n", std::min<std::uint64_t>(channels, 256)}};
        run(state, device, ready(device, what));
        const auto flops = static_cast<double>(2 * images * side * side * channels * channels * places);
        state.counters["TFLOPS"] =
            benchmark::Counter(flops / 1e12, benchmark::Counter::kIsIterationInvariantRate);
    });
}
void stages(benchmark::internal::Benchmark* bench) {
    bench->Args({56, 64})->Args({28, 128})->Args({14, 256})->Args({7, 512});
    bench->UseManualTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(time_conv, wgmma, What{"conv/wgmma", {}})->Apply(stages);

// ---- rows: so many bytes are read once and written once

void time_rows(benchmark::State& state, What what) {
    with_gpu(state, [&](const Device& device) {
        const auto columns = static_cast<std::uint64_t>(state.range(0));
        const std::uint64_t rows = array_bytes / 2 / columns;
        what.dimensions = {{"rows", rows}, {"columns", columns}};
        run(state, device, ready(device, what));
        count_bytes(state, device, 4.0 * static_cast<double>(rows * columns));
    });
}
void lengths(benchmark::internal::Benchmark* bench) {
    for (const std::int64_t columns : {1024, 4096, 8192, 32768}) bench->Arg(columns);
    bench->UseManualTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(time_rows, rms_norm, What{"norm/rms", {}})->Apply(lengths);
BENCHMARK_CAPTURE(time_rows, layer_norm, What{"norm/layer", {}})->Apply(lengths);

}  // namespace
}  // namespace ptxgraft
