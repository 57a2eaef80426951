// What a user of the library does: compiles CUDA with CUDA's own headers, assembles in a worker, links
// relocatable machine code, runs on the emulator. Prints what the scripts of tests/install look for.

#include <cstdio>
#include <cstdlib>
#include <ptxgraft/ptxgraft.hpp>

namespace {

template <class T> T value(ptxgraft::Expected<T> expected) {
    if (expected) return std::move(*expected);
    std::fprintf(stderr, "%s", ptxgraft::describe(expected.error()).c_str());
    std::exit(1);
}

constexpr const char* source = R"(#include <cuda_fp16.h>
#include <cuda/std/array>
#include <ptxgraft/site.cuh>
extern "C" __global__ void twice(float* data) {
    __shared__ __half shared[32];
    const cuda::std::array<float, 1> given{data[threadIdx.x]};
    float x = given[0];
    PTXGRAFT_SITE("f", "", mod(f32, x));
    shared[threadIdx.x] = __float2half(x);
    __syncthreads();
    data[threadIdx.x] = __half2float(shared[threadIdx.x]);
})";

}  // namespace

int main() {
    for (const auto& folder : ptxgraft::toolkit_include_dirs()) std::printf("headers: %s\n", folder.c_str());
    std::printf("NVRTC %s, %s\n", ptxgraft::nvrtc_version().c_str(),
                ptxgraft::default_assembler().version().c_str());

    const auto skeleton = value(ptxgraft::Skeleton::from_cuda(source, {.target = "sm_90a"}));
    const auto workers = value(ptxgraft::find_assembler("workers:1"));
    const auto part = value(workers->assemble(skeleton.ptx(), {.relocatable = true}));
    const std::span<const std::byte> one[] = {part.image};
    std::printf("linked: %s\n", value(ptxgraft::link_cubins(one, "sm_90a")).assembler.c_str());

    const auto device = value(ptxgraft::Device::open("emulator:sm_90a"));
    const auto data = value(device.upload(std::vector{1.f, 2.f, 3.f}));
    const auto stub = value(ptxgraft::stack::compile("x x add.f32 -> x", *skeleton.site("f")));
    const auto kernel = value(skeleton.graft({{"f", stub}}, device));
    if (const auto done = kernel.launch({.grid = {1}, .block = {3}}, data); !done) {
        std::fprintf(stderr, "%s", ptxgraft::describe(done.error()).c_str());
        return 1;
    }
    for (const float x : value(data.download<float>())) std::printf("%g ", x);
    std::printf("\n");
}
