// A kernel over tensors of named extents: a launch resolves them, and each choice is emitted once.

#include <cstdio>
#include <ptxgraft/dsl.hpp>
#include <ptxgraft/dsl/tensor_kernel.hpp>

using namespace ptxgraft::dsl;

// y[row, column] = x[row, column] * w[column]: a block for each row, unrolled over its columns.
const TensorKernel weigh(
    {.name = "weigh",
     .inputs = {Tile("rows", "columns", f32).named("x"), Tile("columns", f32).named("w")},
     .outputs = {Tile("rows", "columns", f32).named("y")},
     .grid = [](const Specialisation& s) { return ptxgraft::Dim3{s.extent("rows")}; },
     .block = {32},
     .dynamic = {"rows"}},
    [](FunctionBuilder<>& k, const Specialisation& s, const Tensor& x, const Tensor& w, const Tensor& y) {
        const auto columns = s.extent("columns");
        const auto from = global_address(k, x), weights = global_address(k, w), to = global_address(k, y);
        const auto column = read<"%tid.x">(k);
        const auto element = read<"%ctaid.x">(k) * columns + column;
        const auto a = k.reg<f32>(), b = k.reg<f32>();
        k.emit<"mad.wide.u32">(from, element, 4, from);
        k.emit<"mad.wide.u32">(weights, column, 4, weights);
        k.emit<"mad.wide.u32">(to, element, 4, to);
        for (std::uint32_t first = 0; first < columns; first += 32) {
            const auto inside = column < columns - first;
            k.if_(inside, [&] {
                k.emit<"ld.global.f32">(a, at(from, 4 * first));
                k.emit<"ld.global.f32">(b, at(weights, 4 * first));
                k.emit<"mul.f32">(a, a, b);
                k.emit<"st.global.f32">(at(to, 4 * first), a);
            });
        }
        k.emit<"ret">();
    });

int main() {
    const auto device = ptxgraft::Device::open().value();  // a GPU, else the emulator
    const auto x = device.upload(std::vector<float>{1, 2, 3, 4, 5, 6}).value();
    const auto w = device.upload(std::vector<float>{10, 100, 1000}).value();
    const auto y = weigh(device, {{x, {2, 3}}, {w, {3}}}).value();  // rows = 2, columns = 3
    const auto numbers = y.front().download<float>().value();
    for (const float number : numbers) std::printf("%g ", number);
    const auto wrong = weigh(device, {{x, {2, 3}}, {w, {2}}});
    std::printf("\n%s\n", describe(wrong.error(), "").c_str());
}
