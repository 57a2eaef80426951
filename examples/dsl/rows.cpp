// Kernels over rows, written with the emitter: emits each for three types, runs it, and compares it with a
// reference in double precision.
//
//   rows                     runs all of them on the GPU, or on the emulator where there is none
//   rows ptx softmax bf16    prints the PTX of one

#include <cstdio>
#include <string_view>

#include "run.hpp"

using namespace rows;

namespace {

// 16 bytes at once where rows begin at multiples of them.
template <Type T> Access access_of(std::uint32_t columns) {
    return columns % count_of<T>(Access::vector) == 0 ? Access::vector : Access::element;
}

template <Type T> bool run_all(const ptxgraft::Device& device, const char* type) {
    bool is_right = true;
    for (const Kernel& kernel : kernels<T>) {
        for (const std::uint32_t columns : {1000u, 1001u, 5120u}) {
            const Case of = {.rows = 7, .columns = columns, .options = {.access = access_of<T>(columns)}};
            const double worst = kernel.run(device, of);
            std::printf("%-10s %-4s %u x %-4u %s: error at most %.2f of what is allowed\n", kernel.name, type,
                        of.rows, columns, of.options.access == Access::vector ? "vector " : "element", worst);
            is_right = is_right && worst <= 1;
        }
    }
    return is_right;
}

template <Type T> int print_ptx(std::string_view name) {
    for (const Kernel& kernel : kernels<T>) {
        if (kernel.name != name) continue;
        Module module({.target = "sm_80"});
        kernel.emit(module, {});
        return std::fputs(must(module.ptx()).c_str(), stdout) < 0;
    }
    std::fputs("rms_norm, layer_norm, swiglu, softmax, map\n", stderr);
    return 1;
}

int run(const std::vector<std::string_view>& words) {
    if (words.size() == 3 && words[0] == "ptx")
        return words[2] == "bf16"  ? print_ptx<bf16>(words[1])
               : words[2] == "f16" ? print_ptx<f16>(words[1])
                                   : print_ptx<f32>(words[1]);
    const auto device = must(ptxgraft::Device::open("auto"));
    const bool is_right[] = {run_all<f32>(device, "f32"), run_all<bf16>(device, "bf16"),
                             run_all<f16>(device, "f16")};
    return is_right[0] && is_right[1] && is_right[2] ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run({argv + 1, argv + argc});
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
