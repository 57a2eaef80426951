// Copies of boxes: bytes per second of one core, beside memcpy in the same run.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstring>
#include <vector>

#include "tensor/tensor_copy.hpp"

namespace {

using namespace ptxgraft;
using namespace ptxgraft::tensor;

constexpr std::uint64_t base = 0x10000;
constexpr std::uint32_t columns = 64, rows = 128, box_bytes = columns * rows * 2;

// A box of bf16, of a matrix that is four times as wide.
MapFields map(TensorSwizzle swizzle) {
    const auto encoded = encode({.type = TensorType::bf16,
                                 .address = base,
                                 .dims = {4 * columns, rows},
                                 .strides = {8 * columns},
                                 .box = {columns, rows},
                                 .swizzle = swizzle});
    return decode(encoded->bytes.data()).value();
}

double memcpy_seconds() {
    std::vector<std::byte> from(box_bytes, std::byte{1}), to(box_bytes);
    const auto begin = std::chrono::steady_clock::now();
    constexpr int rounds = 20000;
    for (int i = 0; i < rounds; ++i) {
        std::memcpy(to.data(), from.data(), box_bytes);
        benchmark::ClobberMemory();
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / rounds;
}

template <class Each> void run(benchmark::State& state, Direction direction, Each&& each) {
    const MapFields fields = map(static_cast<TensorSwizzle>(state.range(0)));
    std::vector<std::byte> global(8 * columns * rows, std::byte{1}), shared(box_bytes, std::byte{1});
    const std::array<std::int32_t, 2> start{64, 0};
    const auto begin = std::chrono::steady_clock::now();
    for (auto _ : state) {
        auto tile = Tile::at(fields, start, {}, direction);
        for (Row row; tile->next(row);) each(*tile, row, &global[row.global - base], shared.data());
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * box_bytes);
    const auto spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    state.counters["times_memcpy"] = spent / static_cast<double>(state.iterations()) / memcpy_seconds();
}

// The swizzles: 0 none, 3 128B.
void BM_TensorLoad(benchmark::State& state) {
    run(state, Direction::load, [](const auto& tile, const auto& row, std::byte* global, std::byte* shared) {
        load_row(tile, row, global, shared, 0);
    });
}
BENCHMARK(BM_TensorLoad)->Arg(0)->Arg(3);

void BM_TensorStore(benchmark::State& state) {
    run(state, Direction::store, [](const auto& tile, const auto& row, std::byte* global, std::byte* shared) {
        store_row(tile, row, global, shared, 0);
    });
}
BENCHMARK(BM_TensorStore)->Arg(0)->Arg(3);

void BM_TensorReduceAdd(benchmark::State& state) {
    const auto reduction = Reduction::of(ReduceOperation::add, TensorType::bf16);
    run(state, Direction::store,
        [&](const auto& tile, const auto& row, std::byte* global, std::byte* shared) {
            reduce_row(tile, row, *reduction, global, shared, 0);
        });
}
BENCHMARK(BM_TensorReduceAdd)->Arg(0);

}  // namespace
