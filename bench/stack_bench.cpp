// Stack programs to PTX, and what else a search does with them. `memcpy` is the time of copying the output,
// measured in the same run: the ratio to it says how far the compiler is from just writing its text.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include "measure.hpp"
#include "ptxgraft/program.hpp"
#include "ptxgraft/ptxgraft.h"
#include "ptxgraft/stack.hpp"
#include "stub/stack/compile/run.hpp"

namespace {

using namespace ptxgraft;

using bench::memcpy_seconds, bench::seconds;

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

void report(benchmark::State& state, double units, std::string_view output, double spent) {
    bench::report(state, "ns_per_instruction", units, output, spent);
}

stack::Machine machine_of(const char* set) {
    return *stack::Machine::make(stack::find_set(set), signature());
}

// The same with values that are shared and exchanged, and of other types.
std::string mixed_text(std::int64_t instructions) {
    constexpr const char* words[] = {" dup.f32 mul.f32", " b swap.f32 sub.f32", " 7 cvt.rn.f32.u32 add.f32",
                                     " over.f32 c setp.lt.f32 a selp.f32", " abs.f32"};
    constexpr int counts[] = {1, 1, 2, 2, 1};
    std::string text = "a acc";
    std::int64_t done = 0;
    for (std::size_t i = 0; done < instructions; i = (i + 1) % std::size(words)) {
        text += words[i];
        done += counts[i];
    }
    return text + " -> acc";
}

// Compiles as users do, or by way of the graph alone: what the fast way buys.
class Way {
  public:
    explicit Way(bool is_graph_alone) : is_graph_alone_(is_graph_alone) {}

    Expected<stack::Compiled> compile(const stack::Program& program, const stack::Machine& machine,
                                      const stack::CompileOptions& options) {
        if (!is_graph_alone_) return compiler_.compile(program, machine, options);
        auto compiled = stack::compile_by_graph(program, machine, arena_, options);
        if (compiled) return compiled;
        arena_.resize(std::max(arena_.size(), stack::arena_bound(program, machine, options)));
        return stack::compile_by_graph(program, machine, arena_, options);
    }

  private:
    bool is_graph_alone_;
    stack::Compiler compiler_;
    std::vector<std::byte> arena_;
};

void BM_StackCompile(benchmark::State& state, std::string (*text)(std::int64_t instructions)) {
    const stack::Machine machine = machine_of("standard");
    const stack::Program program = *stack::parse(text(state.range(0)), machine);
    Way way(state.range(1) != 0);
    stack::Compiled compiled;
    const double start = seconds();
    for (auto _ : state) benchmark::DoNotOptimize(compiled = *way.compile(program, machine, {}));
    report(state, static_cast<double>(compiled.instruction_count), compiled.ptx, seconds() - start);
}
void of_lengths(benchmark::internal::Benchmark* bench) {
    bench->ArgNames({"instructions", "graph_alone"})->ArgsProduct({{10, 100, 1000, 10000}, {0, 1}});
}
BENCHMARK_CAPTURE(BM_StackCompile, live, live_text)->Apply(of_lengths);
BENCHMARK_CAPTURE(BM_StackCompile, mixed, mixed_text)->Apply(of_lengths);

std::vector<stack::Program> random_programs(const stack::Machine& machine, std::size_t count,
                                            std::uint32_t length) {
    std::vector<stack::Program> programs;
    for (std::size_t i = 0; i < count; ++i) programs.push_back(stack::random_program(machine, i, length));
    return programs;
}

bool is_plain(const stack::Instruction& i, const stack::Machine& machine) {
    const auto f32 = stack::type_id(Type::f32);
    if (i.opcode == stack::Opcode::constant) return i.type == f32;
    if (i.opcode != stack::Opcode::form) return i.opcode == stack::Opcode::input;
    const stack::Entry& e = machine.set().entries()[i.index];
    return e.form != nullptr && std::all_of(e.operands.begin(), e.operands.end(),
                                            [&](const stack::EntryOperand& o) { return o.type == f32; });
}

// Random programs of inputs, constants and forms over f32 alone, as mm-ptx draws them.
std::vector<stack::Program> plain_programs(const stack::Machine& machine, std::size_t count,
                                           std::uint32_t length) {
    std::vector<stack::Program> programs = random_programs(machine, count, 8 * length);
    for (stack::Program& p : programs) {
        std::erase_if(p.code, [&](const stack::Instruction& i) { return !is_plain(i, machine); });
        p.code.resize(std::min<std::size_t>(p.code.size(), length));
    }
    return programs;
}

// Random programs over a set, in the way of a mutated population.
void BM_StackCompileRandom(benchmark::State& state, const char* set, decltype(random_programs)* draw) {
    const stack::Machine machine = machine_of(set);
    const std::vector<stack::Program> programs =
        draw(machine, 64, static_cast<std::uint32_t>(state.range(0)));
    Way way(state.range(1) != 0);
    std::size_t bytes = 0, i = 0;
    std::string output;
    const double start = seconds();
    for (auto _ : state)
        bytes += way.compile(programs[i++ % programs.size()], machine, stack::mutated)->ptx.size();
    const double spent = seconds() - start;
    output.resize(bytes / static_cast<std::size_t>(state.iterations()) + 1);
    report(state, static_cast<double>(state.range(0)), output, spent);
}
void of_search_lengths(benchmark::internal::Benchmark* bench) {
    bench->ArgNames({"instructions", "graph_alone"})->ArgsProduct({{10, 100, 300}, {0, 1}});
}
BENCHMARK_CAPTURE(BM_StackCompileRandom, f32, "f32", random_programs)->Apply(of_search_lengths);
BENCHMARK_CAPTURE(BM_StackCompileRandom, standard, "standard", random_programs)->Apply(of_search_lengths);
BENCHMARK_CAPTURE(BM_StackCompileRandom, full, "full", random_programs)->Apply(of_search_lengths);
BENCHMARK_CAPTURE(BM_StackCompileRandom, plain, "f32", plain_programs)->Apply(of_search_lengths);

// Many programs on one and on two threads, in wall time.
void BM_StackBatch(benchmark::State& state) {
    const stack::Machine machine = machine_of("f32");
    const std::vector<stack::Program> programs = random_programs(machine, 100000, 100);
    const std::vector<stack::ProgramView> views(programs.begin(), programs.end());
    std::size_t bytes = 0;
    for (auto _ : state)
        bytes =
            stack::compile_batch(
                views, machine, {.compile = stack::mutated, .threads = static_cast<unsigned>(state.range(0))})
                .text.size();
    state.counters["bytes"] = static_cast<double>(bytes);
    state.SetItemsProcessed(state.iterations() * 100000);
}
BENCHMARK(BM_StackBatch)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

// The same from C: programs as bytes, what became of each in arrays.
void BM_StackBatchFromC(benchmark::State& state) {
    const std::vector<stack::Program> programs = random_programs(machine_of("f32"), 100000, 100);
    std::vector<stack::Instruction> code;
    std::vector<std::size_t> offsets = {0};
    for (const stack::Program& program : programs) {
        code.insert(code.end(), program.code.begin(), program.code.end());
        offsets.push_back(code.size() * sizeof(stack::Instruction));
    }
    ptxgraft_set* set = nullptr;
    ptxgraft_machine* machine = nullptr;
    ptxgraft_set_create_by_name(&set, "f32");
    ptxgraft_machine_create(&machine, set, signature().text().c_str(), nullptr);
    const ptxgraft_programs given = {code.data(), offsets.data(), programs.size(), PTXGRAFT_ENCODING_code, 0};
    std::vector<ptxgraft_status> statuses(programs.size());
    std::vector<std::uint32_t> counts(programs.size());
    std::vector<std::size_t> text_offsets(programs.size() + 1);
    ptxgraft_compilation_arrays arrays = PTXGRAFT_COMPILATION_ARRAYS_INIT;
    arrays.statuses = statuses.data();
    arrays.instruction_counts = counts.data();
    arrays.text_offsets = text_offsets.data();
    for (auto _ : state) {
        ptxgraft_compilation* compilation = nullptr;
        ptxgraft_compilation_create(&compilation, machine, &given, nullptr,
                                    static_cast<std::uint32_t>(state.range(0)));
        ptxgraft_compilation_read(&arrays, compilation);
        ptxgraft_compilation_destroy(compilation);
    }
    state.counters["bytes"] = static_cast<double>(text_offsets.back());
    state.SetItemsProcessed(state.iterations() * 100000);
    ptxgraft_machine_destroy(machine);
    ptxgraft_set_destroy(set);
}
BENCHMARK(BM_StackBatchFromC)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

// `tokens` of a text with few different words, or with many: every second one is a literal that stands
// nowhere else.
std::string text_of(std::int64_t tokens, bool is_varied) {
    if (!is_varied) return live_text((tokens - 3) * 5 / 11);
    std::string text = "acc";
    for (std::int64_t i = 3; i + 1 < tokens; i += 2)
        text += " " + std::to_string(i) + ".5 " + (i % 4 == 1 ? "add.f32" : "mul.rn.f32");
    return text + " -> acc";
}

double count_tokens(const std::string& text) {
    return 1 + static_cast<double>(std::count(text.begin(), text.end(), ' '));
}

// A text of 100 tokens to a Stub: parse, compile, check, copy.
void BM_StackText(benchmark::State& state) {
    const std::string text = text_of(state.range(0), state.range(1) != 0);
    std::string output;
    const double start = seconds();
    for (auto _ : state) {
        auto stub = stack::compile(text, signature());
        benchmark::DoNotOptimize(stub);
        output = stub->ptx();
    }
    const double spent = seconds() - start;
    report(state, count_tokens(text), output, spent);
    state.counters["ns_per_token"] = state.counters["ns_per_instruction"];
    state.counters.erase("ns_per_instruction");
    state.counters["tokens"] = count_tokens(text);
}
BENCHMARK(BM_StackText)
    ->ArgNames({"tokens", "varied"})
    ->Args({100, 0})
    ->Args({100, 1})
    ->Args({10000, 0})
    ->Args({10000, 1});

// Text to program alone, and back.
void BM_StackParse(benchmark::State& state) {
    const stack::Machine machine = machine_of("standard");
    const std::string text = text_of(100, state.range(0) != 0);
    const double start = seconds();
    for (auto _ : state) benchmark::DoNotOptimize(stack::parse(text, machine));
    const double spent = seconds() - start;
    state.counters["ns_per_token"] =
        spent / (static_cast<double>(state.iterations()) * count_tokens(text)) * 1e9;
    state.counters["ratio_to_memcpy"] =
        spent / static_cast<double>(state.iterations()) / memcpy_seconds(text);
}
BENCHMARK(BM_StackParse)->ArgName("varied")->Arg(0)->Arg(1);

void BM_StackPrint(benchmark::State& state) {
    const stack::Machine machine = machine_of("standard");
    const std::string text = text_of(100, false);
    const stack::Program program = *stack::parse(text, machine);
    const double start = seconds();
    for (auto _ : state) benchmark::DoNotOptimize(stack::print(program, machine));
    state.counters["ns_per_token"] =
        (seconds() - start) / (static_cast<double>(state.iterations()) * count_tokens(text)) * 1e9;
}
BENCHMARK(BM_StackPrint);

// ---- what a search does with programs ---------------------------------------------------------------------

// Nanoseconds of one program.
void report_programs(benchmark::State& state, double spent) {
    state.counters["ns_per_program"] = spent / static_cast<double>(state.iterations()) * 1e9;
}

// Of so many live instructions, over a set.
void BM_ProgramRandom(benchmark::State& state, const char* set, stack::ProgramShape shape) {
    const stack::Machine machine = machine_of(set);
    const stack::Sampler sampler = *stack::Sampler::make(machine, {.shape = shape});
    const auto live = static_cast<std::uint32_t>(state.range(0));
    std::uint64_t n = 0;
    const double start = seconds();
    for (auto _ : state) {
        stack::Random random(1, n++);
        benchmark::DoNotOptimize(sampler.program(random, live));
    }
    report_programs(state, seconds() - start);
}
BENCHMARK_CAPTURE(BM_ProgramRandom, tree_f32, "f32", stack::ProgramShape::tree)->Arg(8)->Arg(32);
BENCHMARK_CAPTURE(BM_ProgramRandom, tree_standard, "standard", stack::ProgramShape::tree)->Arg(8)->Arg(32);
BENCHMARK_CAPTURE(BM_ProgramRandom, sequence_f32, "f32", stack::ProgramShape::sequence)->Arg(8)->Arg(32);

void BM_ProgramSampler(benchmark::State& state, const char* set) {
    const stack::Machine machine = machine_of(set);
    for (auto _ : state) benchmark::DoNotOptimize(stack::Sampler::make(machine));
}
BENCHMARK_CAPTURE(BM_ProgramSampler, f32, "f32")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_ProgramSampler, standard, "standard")->Unit(benchmark::kMicrosecond);

// Trees, or the sequences of random_program with their dead code; one after the other through a function.
template <class F> void for_programs(benchmark::State& state, bool is_tree, F run) {
    const stack::Machine machine = machine_of("f32");
    const stack::Sampler sampler = *stack::Sampler::make(machine);
    std::vector<stack::Program> programs;
    for (std::uint64_t n = 0; n < 64; ++n) {
        stack::Random random(1, n);
        programs.push_back(
            is_tree ? sampler.program(random, static_cast<std::uint32_t>(state.range(0)))
                    : stack::random_program(machine, n, static_cast<std::uint32_t>(state.range(0))));
    }
    std::size_t n = 0;
    const double start = seconds();
    for (auto _ : state) run(programs[n++ % programs.size()], machine);
    report_programs(state, seconds() - start);
}

void BM_ProgramToBytes(benchmark::State& state) {
    for_programs(state, true, [](const stack::Program& p, const stack::Machine&) {
        benchmark::DoNotOptimize(stack::to_bytes(p, 1));
    });
}
BENCHMARK(BM_ProgramToBytes)->Arg(8)->Arg(32);

void BM_ProgramFromBytes(benchmark::State& state) {
    std::vector<std::vector<std::byte>> bytes;
    const stack::Machine machine = machine_of("f32");
    const stack::Sampler sampler = *stack::Sampler::make(machine);
    for (std::uint64_t n = 0; n < 64; ++n) {
        stack::Random random(1, n);
        bytes.push_back(
            stack::to_bytes(sampler.program(random, static_cast<std::uint32_t>(state.range(0))), 1));
    }
    std::size_t n = 0;
    const double start = seconds();
    for (auto _ : state) benchmark::DoNotOptimize(stack::program_from_bytes(bytes[n++ % bytes.size()], 1));
    report_programs(state, seconds() - start);
}
BENCHMARK(BM_ProgramFromBytes)->Arg(8)->Arg(32);

void BM_MachineHash(benchmark::State& state, const char* set) {
    const stack::Machine machine = machine_of(set);
    for (auto _ : state) benchmark::DoNotOptimize(stack::machine_hash(machine));
}
BENCHMARK_CAPTURE(BM_MachineHash, f32, "f32")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_MachineHash, standard, "standard")->Unit(benchmark::kMicrosecond);

// Of trees of so many live instructions, and of sequences of so many, most of them dead.
void BM_ProgramLiveCode(benchmark::State& state) {
    for_programs(state, state.range(1) == 0, [](const stack::Program& p, const stack::Machine& machine) {
        benchmark::DoNotOptimize(stack::live_code(p, machine));
    });
}
BENCHMARK(BM_ProgramLiveCode)->ArgNames({"instructions", "dead"})->ArgsProduct({{8, 32, 100}, {0, 1}});

void BM_ProgramSimplify(benchmark::State& state) {
    for_programs(state, state.range(1) == 0, [](const stack::Program& p, const stack::Machine& machine) {
        benchmark::DoNotOptimize(stack::simplify(p, machine));
    });
}
BENCHMARK(BM_ProgramSimplify)->ArgNames({"instructions", "dead"})->ArgsProduct({{8, 32, 100}, {0, 1}});

void BM_ProgramDataConstants(benchmark::State& state) {
    for_programs(state, true, [](const stack::Program& p, const stack::Machine& machine) {
        benchmark::DoNotOptimize(stack::data_constants(p, machine));
    });
}
BENCHMARK(BM_ProgramDataConstants)->Arg(8)->Arg(32);

}  // namespace
