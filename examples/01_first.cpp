#include <cstdio>
#include <ptxgraft/ptxgraft.hpp>

const char* const cuda = R"(#include <ptxgraft/site.cuh>
    extern "C" __global__ void apply(float* data) {
        float x = data[threadIdx.x];
        PTXGRAFT_SITE("f", "", mod(f32, x));
        data[threadIdx.x] = x;
    })";

int main() {
    const auto device = ptxgraft::Device::open().value();  // a GPU, else the emulator
    const auto skeleton = ptxgraft::Skeleton::from_cuda(cuda, {.target = device.target()}).value();  // once
    for (const char* program : {"x 1.5 sub.f32 -> x", "x x mul.f32 -> x", "x 0.0 max.f32 -> x"}) {
        const auto data = device.upload(std::vector{-2.f, -1.f, 0.f, 1.f, 2.f}).value();
        const auto stub = ptxgraft::stack::compile(program, *skeleton.site("f")).value();
        const auto kernel = skeleton.graft({{"f", stub}}, device).value();
        if (!kernel.launch({.grid = {1}, .block = {5}}, data)) return 1;
        const auto y = data.download<float>().value();
        std::printf("%-20s %4g %4g %4g %4g %4g\n", program, y[0], y[1], y[2], y[3], y[4]);
    }
}
