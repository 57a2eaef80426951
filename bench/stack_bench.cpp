// Stack programs to PTX. `memcpy` is the time of copying the output, measured in the same run: the ratio to
// it says how far the compiler is from just writing its text.

#include <benchmark/benchmark.h>

#include <cstring>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "ptxgraft/isa.hpp"
#include "ptxgraft/stack.hpp"

namespace {

using namespace ptxgraft;

// Processor time: other work on the machine does not count.
double seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

const Signature& signature() {
    static const Signature s = *Signature::parse("mod f32 acc, in f32 a, in f32 b, in f32 c");
    return s;
}

// A text whose every instruction is live.
std::string live_text(std::int64_t instructions) {
    constexpr const char* words[] = {" a add.f32", " b mul.rn.f32", " c 0.5 fma.rn.f32", " b sub.f32",
                                     " 0.0 max.f32"};
    std::string text = "acc";
    for (std::int64_t i = 0; i < instructions; ++i) text += words[i % 5];
    return text + " -> acc";
}

double memcpy_seconds(std::string_view text) {
    std::vector<char> to(text.size());
    const int rounds = static_cast<int>(40'000'000 / text.size() + 1);  // some milliseconds
    const double start = seconds();
    for (int i = 0; i < rounds; ++i) {
        std::memcpy(to.data(), text.data(), text.size());
        benchmark::DoNotOptimize(to.data());
        benchmark::ClobberMemory();
    }
    return (seconds() - start) / rounds;
}

void report(benchmark::State& state, double instructions, std::string_view output, double spent) {
    const auto rounds = static_cast<double>(state.iterations());
    state.counters["ns_per_instruction"] = spent / rounds / instructions * 1e9;
    state.counters["bytes"] = static_cast<double>(output.size());
    if (!output.empty()) state.counters["ratio_to_memcpy"] = spent / rounds / memcpy_seconds(output);
}

void BM_StackCompile(benchmark::State& state) {
    const stack::Program program = *stack::parse(live_text(state.range(0)), signature());
    stack::Compiler compiler;
    std::string_view output;
    const double start = seconds();
    for (auto _ : state) benchmark::DoNotOptimize(output = *compiler.compile(program, signature()));
    report(state, static_cast<double>(compiler.instruction_count()), output, (seconds() - start));
}
BENCHMARK(BM_StackCompile)->RangeMultiplier(10)->Range(10, 10000);

// Random instructions over f32, most of them dead, in the way of a mutated population.
void BM_StackCompileRandom(benchmark::State& state) {
    std::mt19937 random(1);
    std::vector<std::uint16_t> forms;
    for (std::size_t i = 0; i < isa::forms().size(); ++i) {
        bool is_f32 = isa::forms()[i].stack;
        for (const isa::OperandSpec& operand : isa::forms()[i].operands)
            is_f32 = is_f32 && operand.type == isa::OperandType::f32;
        if (is_f32) forms.push_back(static_cast<std::uint16_t>(i));
    }
    std::vector<stack::Program> programs(64);
    for (stack::Program& program : programs) {
        for (int i = 0; i < 100; ++i) {
            const auto f32 = static_cast<std::uint8_t>(Type::f32);
            const auto index = static_cast<std::uint16_t>(random() % 4);
            if (random() % 2 == 0)
                program.push_back({stack::Opcode::form, 0, forms[random() % forms.size()], 0});
            else if (random() % 4 == 0)
                program.push_back({stack::Opcode::constant, f32, 0, static_cast<std::uint32_t>(random())});
            else
                program.push_back({stack::Opcode::input, 0, index, 0});
        }
        program.push_back({stack::Opcode::assign, 0, 0, 0});
    }
    stack::Compiler compiler;
    std::string_view output;
    std::size_t i = 0;
    const double start = seconds();
    for (auto _ : state)
        benchmark::DoNotOptimize(output = *compiler.compile(programs[i++ % programs.size()], signature(),
                                                            {.missing = stack::Missing::skip}));
    report(state, 100, output, (seconds() - start));
}
BENCHMARK(BM_StackCompileRandom);

// A text of 100 tokens to a Stub: parse, compile, check, copy.
void BM_StackText(benchmark::State& state) {
    const std::string text = live_text(45);  // 99 tokens before the arrow's two
    std::string output;
    const double start = seconds();
    for (auto _ : state) {
        auto stub = stack::compile(text, signature());
        benchmark::DoNotOptimize(stub);
        output = stub->ptx();
    }
    report(state, 102, output, (seconds() - start));
}
BENCHMARK(BM_StackText);

}  // namespace
