// Stack programs beside mm-ptx's Stack PTX, the same programs in the same run. Each figure is processor time
// of one compile: `mm_ptx_ns` of one call with a buffer that is large enough, `mm_ptx_documented_ns` of the
// two calls that its documentation shows (measure, then write), and `times`, `times_documented` how often
// ours (`ns`) goes into them.

#include <benchmark/benchmark.h>
#include <stack_ptx.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "measure.hpp"
#include "ptxgraft/stack.hpp"

namespace {

using namespace ptxgraft;

using bench::seconds;

// The fastest of some rounds, each of some milliseconds.
double seconds_of(const std::function<void()>& work) {
    double best = 1e9;
    for (int round = 0; round < 5; ++round) {
        int count = 0;
        const double start = seconds();
        double spent = 0;
        for (; spent < 0.02; spent = seconds() - start) {
            for (int k = 0; k < 64; ++k) work();
            count += 64;
        }
        best = std::min(best, spent / count);
    }
    return best;
}

stack::Machine machine_of(const char* set) {
    return *stack::Machine::make(stack::find_set(set),
                                 *Signature::parse("mod f32 acc, in f32 a, in f32 b, in f32 c"));
}

// The operands of that signature; acc is read as register 0 and written as register 4.
constexpr StackPtxRegister registers[] = {{"_acc", 0}, {"_a", 0}, {"_b", 0}, {"_c", 0}, {"_acc", 0}};
constexpr std::size_t requests[] = {4};

// Translates programs of inputs, constants and forms over f32. A form is an instruction of the same text.
class Peer {
  public:
    explicit Peer(const stack::Machine& machine) {
        for (const stack::Entry& e : machine.set().entries())
            strings_.push_back(e.form == nullptr ? e.special.c_str() : spelling(*e.form));
        stack_info_ = {strings_.data(), strings_.size(), nullptr, 0, prefixes, 1, arguments, 1};
        if (stack_ptx_compile_workspace_size(&compiler_info, &stack_info_, &workspace_size_) !=
            STACK_PTX_SUCCESS)
            std::abort();
        workspace_.resize(workspace_size_);
        buffer_.resize(1 << 22);
    }

    std::vector<StackPtxInstruction> translate(const stack::Program& program,
                                               const stack::Machine& machine) const {
        std::vector<StackPtxInstruction> code;
        for (const stack::Instruction& i : program.code) {
            StackPtxInstruction to{};
            switch (i.opcode) {
                case stack::Opcode::input:
                    to.instruction_type = STACK_PTX_INSTRUCTION_TYPE_INPUT;
                    to.idx = i.index;
                    break;
                case stack::Opcode::constant:
                    to.instruction_type = STACK_PTX_INSTRUCTION_TYPE_CONSTANT;
                    to.payload.u = i.payload;
                    break;
                case stack::Opcode::form: {
                    const std::size_t inputs = machine.set().entries()[i.index].operands.size() - 1;
                    to.instruction_type = STACK_PTX_INSTRUCTION_TYPE_PTX;
                    to.idx = i.index;
                    to.payload.ptx_args = {inputs > 0 ? 0u : none,
                                           inputs > 1 ? 0u : none,
                                           inputs > 2 ? 0u : none,
                                           inputs > 3 ? 0u : none,
                                           0u,
                                           none,
                                           false,
                                           0u};
                    break;
                }
                default: continue;  // what `-> acc` says, the request says
            }
            code.push_back(to);
        }
        StackPtxInstruction end{};
        end.instruction_type = STACK_PTX_INSTRUCTION_TYPE_RETURN;
        code.push_back(end);
        return code;
    }

    std::size_t compile(const std::vector<StackPtxInstruction>& code, bool writes) {
        std::size_t written = 0;
        const StackPtxResult result = stack_ptx_compile(
            &compiler_info, &stack_info_, code.data(), registers, std::size(registers), nullptr, 0, requests,
            std::size(requests), code.size() + 1, workspace_.data(), workspace_size_,
            writes ? buffer_.data() : nullptr, writes ? buffer_.size() : 0, &written);
        benchmark::DoNotOptimize(written);
        error_ = result;
        return written;
    }
    [[nodiscard]] StackPtxResult error() const { return error_; }

  private:
    const char* spelling(const isa::Form& form) {
        return texts_.emplace(std::string(form.spelling), 0).first->first.c_str();
    }

    static constexpr unsigned none = 1;  // as many as there are types of arguments
    static constexpr StackPtxCompilerInfo compiler_info = {65536, 65536, 128, 4, 16};
    static constexpr const char* prefixes[] = {"f32"};
    static constexpr StackPtxArgTypeInfo arguments[] = {{0, 0}};
    std::map<std::string, int> texts_;
    std::vector<const char*> strings_;
    StackPtxStackInfo stack_info_{};
    std::size_t workspace_size_ = 0;
    std::vector<char> workspace_, buffer_;
    StackPtxResult error_ = STACK_PTX_SUCCESS;
};

void report(benchmark::State& state, const std::function<void()>& ours, const std::function<void()>& theirs,
            const std::function<void()>& documented) {
    const double ns = seconds_of(ours) * 1e9, mm_ptx = seconds_of(theirs) * 1e9,
                 mm_ptx_documented = seconds_of(documented) * 1e9;
    state.counters["ns"] = ns;
    state.counters["mm_ptx_ns"] = mm_ptx;
    state.counters["mm_ptx_documented_ns"] = mm_ptx_documented;
    state.counters["times"] = mm_ptx / ns;
    state.counters["times_documented"] = mm_ptx_documented / ns;
}

void compare(benchmark::State& state, const stack::Machine& machine,
             const std::vector<stack::Program>& programs, const stack::CompileOptions& options) {
    Peer peer(machine);
    stack::Compiler compiler;
    std::vector<std::vector<StackPtxInstruction>> peers;
    for (const stack::Program& p : programs) {
        peers.push_back(peer.translate(p, machine));
        if (peer.compile(peers.back(), true); peer.error() != STACK_PTX_SUCCESS)
            return state.SkipWithError(stack_ptx_result_to_string(peer.error()));
        if (!compiler.compile(p, machine, options)) return state.SkipWithError("our compile failed");
    }
    std::size_t k = 0;
    for (auto _ : state)
        benchmark::DoNotOptimize(compiler.compile(programs[k++ % programs.size()], machine, options));
    report(
        state,
        [&] {
            benchmark::DoNotOptimize(compiler.compile(programs[k++ % programs.size()], machine, options));
        },
        [&] { peer.compile(peers[k++ % peers.size()], true); },
        [&] {
            const auto& code = peers[k++ % peers.size()];
            peer.compile(code, false);
            peer.compile(code, true);
        });
}

constexpr const char* sets[] = {"f32", "standard"};

// A program whose every instruction is live.
void BM_MmPtxLive(benchmark::State& state) {
    const stack::Machine machine = machine_of(sets[state.range(1)]);
    constexpr const char* words[] = {" a add.f32", " b mul.f32", " c 0.5 fma.rn.f32", " b sub.f32",
                                     " 0.0 max.f32"};
    std::string text = "acc";
    for (std::int64_t i = 0; i < state.range(0); ++i) text += words[i % 5];
    compare(state, machine, {*stack::parse(text + " -> acc", machine)}, {});
}
BENCHMARK(BM_MmPtxLive)
    ->ArgNames({"instructions", "standard"})
    ->ArgsProduct({{10, 100, 1000, 10000}, {0, 1}});

// As mm-ptx's own bench makes them: two inputs, then of ten instructions two inputs, two constants and six
// f32 instructions of the set.
std::vector<stack::Program> random_programs(const stack::Machine& machine) {
    std::vector<std::uint16_t> forms;
    const auto entries = machine.set().entries();
    for (std::size_t k = 0; k < entries.size(); ++k) {
        const stack::Entry& e = entries[k];
        const auto is_f32 = [](const stack::EntryOperand& o) {
            return o.type == stack::type_id(Type::f32) && !o.is_immediate && !o.spec->is_vector;
        };
        if (e.form != nullptr && e.form->pure && std::all_of(e.operands.begin(), e.operands.end(), is_f32))
            forms.push_back(static_cast<std::uint16_t>(k));
    }
    std::mt19937 random(1);
    std::vector<stack::Program> programs(64);
    for (stack::Program& p : programs) {
        p.code = {{stack::Opcode::input, 0, 0, 0}, {stack::Opcode::input, 0, 1, 0}};
        while (p.code.size() < 100) {
            const auto kind = random() % 10;
            if (kind < 2)
                p.code.push_back({stack::Opcode::input, 0, static_cast<std::uint16_t>(random() % 4), 0});
            else if (kind < 4)
                p.code.push_back(
                    {stack::Opcode::constant, stack::type_id(Type::f32), 0,
                     std::bit_cast<std::uint32_t>(static_cast<float>(random() % 20000) / 1000 - 10)});
            else
                p.code.push_back({stack::Opcode::form, 0, forms[random() % forms.size()], 0});
        }
    }
    return programs;
}

void BM_MmPtxRandom(benchmark::State& state) {
    const stack::Machine machine = machine_of(sets[state.range(0)]);
    compare(state, machine, random_programs(machine), stack::mutated);
}
BENCHMARK(BM_MmPtxRandom)->ArgName("standard")->Arg(0)->Arg(1);

// Text of 100 tokens to PTX; mm-ptx, which has no text, starts from its instructions.
void BM_MmPtxText(benchmark::State& state) {
    const stack::Machine machine = machine_of("standard");
    constexpr const char* words[] = {" a add.f32", " b mul.f32", " c 0.5 fma.rn.f32", " b sub.f32",
                                     " 0.0 max.f32"};
    std::string text = "acc";
    for (int i = 0; i < 44; ++i) text += words[i % 5];
    text += " -> acc";
    const stack::Program program = *stack::parse(text, machine);
    Peer peer(machine);
    const auto code = peer.translate(program, machine);
    const Signature signature = machine.signature();
    for (auto _ : state) benchmark::DoNotOptimize(stack::compile(text, signature));
    report(
        state, [&] { benchmark::DoNotOptimize(stack::compile(text, signature)); },
        [&] { peer.compile(code, true); },
        [&] {
            peer.compile(code, false);
            peer.compile(code, true);
        });
}
BENCHMARK(BM_MmPtxText);

}  // namespace
