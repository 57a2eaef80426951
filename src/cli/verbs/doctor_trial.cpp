// A kernel by the whole way, as it goes where everything is in its place.

#include <fmt/format.h>

#include <chrono>
#include <vector>

#include "doctor.hpp"
#include "ptxgraft/kernel.hpp"
#include "ptxgraft/link.hpp"
#include "ptxgraft/stack.hpp"

namespace ptxgraft::cli {
namespace {

// Its header shows that CUDA's are found.
const char* const cuda = R"(#include <cuda_fp16.h>
#include <ptxgraft/site.cuh>
extern "C" __global__ void trial(float* data) {
    float x = __half2float(__float2half(data[threadIdx.x]));
    PTXGRAFT_SITE("f", "", mod(f32, x));
    data[threadIdx.x] = x;
})";
const char* const program = "x x mul.f32 1.0 add.f32 -> x";

Expected<std::vector<float>> run(const Skeleton& skeleton, const Stub& stub) {
    const auto device = Device::open("emulator");
    if (!device) return tl::unexpected(device.error());
    const auto data = device->upload(std::vector{-2.f, 0.f, 3.f, 8.f});
    if (!data) return tl::unexpected(data.error());
    const auto kernel = skeleton.graft({{"f", stub}}, *device);
    if (!kernel) return tl::unexpected(kernel.error());
    if (auto done = kernel->launch({.block = {4}}, *data); !done) return tl::unexpected(done.error());
    return data->download<float>();
}

Expected<void> do_main_job() {
    const auto skeleton = Skeleton::from_cuda(cuda, {.target = "sm_90a"});
    if (!skeleton) return tl::unexpected(skeleton.error());
    const auto stub = stack::compile(program, *skeleton->site("f"));
    if (!stub) return tl::unexpected(stub.error());
    const auto code = skeleton->assemble({{"f", *stub}});
    if (!code) return tl::unexpected(code.error());
    const auto numbers = run(*skeleton, *stub);
    if (!numbers) return tl::unexpected(numbers.error());
    if (*numbers == std::vector{5.f, 1.f, 10.f, 65.f}) return {};
    return fail(Errc::launch_failed,
                fmt::format("-2, 0, 3 and 8, squared and 1 more, came out as {}, {}, {} and {}",
                            (*numbers)[0], (*numbers)[1], (*numbers)[2], (*numbers)[3]));
}

}  // namespace

Expected<Trial> try_main_job() {
    const auto began = std::chrono::steady_clock::now();
    if (auto done = do_main_job(); !done) return tl::unexpected(done.error());
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
    return Trial{fmt::format("CUDA compiled, a stub grafted, assembled by {}, run on the emulator",
                             default_assembler().name()),
                 took.count()};
}

}  // namespace ptxgraft::cli
