// Random programs for many targets: ptxas takes what they compile to.

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "ptxgraft/link.hpp"
#include "support/random_programs.hpp"
#include "support/stub_text.hpp"

namespace ptxgraft {
namespace {

struct Target {
    const char* name;
    isa::Architecture architecture;
};

std::string kernel(std::size_t number, const Signature& signature, std::string_view body) {
    return ".visible .entry k" + std::to_string(number) + "() {\n" + test::declarations(signature) +
           std::string(body) + "\tret;\n}\n";
}

std::string header(const Target& target) {
    return ".version 9.0\n.target " + std::string(target.name) + "\n.address_size 64\n";
}

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
    const char* const text = std::getenv(name);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

// ptxas's words on a module, empty when it takes it.
std::string refusal(const std::string& text) {
    const auto cubin = test::assemble(text);
    return cubin ? "" : describe(cubin.error(), text);
}

class StackPtxas : public testing::TestWithParam<Target> {};

TEST_P(StackPtxas, TakesRandomProgramsForItsTarget) {
    const Target& target = GetParam();
    const std::uint64_t count = setting("PTXGRAFT_PROGRAMS", 60);
    test::RandomPrograms random(target.architecture.sm + 1000 * setting("PTXGRAFT_SEED", 0));
    constexpr std::uint64_t programs_per_machine = 20;
    for (std::uint64_t done = 0; done < count; done += programs_per_machine) {
        stack::MachineOptions options{.policy = {}, .target = target.architecture, .ptx_version = 90};
        if (random.below(2) == 0)
            options.policy.allowed =
                Effect::load | Effect::store | Effect::atomic | Effect::warp | Effect::barrier;
        const auto machine = *stack::Machine::make(
            stack::find_set(random.below(2) == 0 ? "full" : "standard"), random.signature(), options);
        std::string all = header(target);
        std::vector<std::string> kernels;
        for (std::uint64_t n = 0; n < programs_per_machine; ++n) {
            stack::CompileOptions compile = random.lenient();
            compile.limits.steps = 1u << 12;
            const stack::Program program = random.program(machine);
            stack::Compiler compiler;
            const auto compiled = compiler.compile(program, machine, compile);
            if (!compiled) continue;
            kernels.push_back(kernel(kernels.size(), machine.signature(), compiled->ptx));
            all += kernels.back();
        }
        const std::string why_all = refusal(all);
        if (why_all.empty()) continue;
        ADD_FAILURE() << "of programs " << done << " to " << done + programs_per_machine - 1 << ": "
                      << why_all;
        for (const std::string& one : kernels) {
            const std::string why = refusal(header(target) + one);
            EXPECT_TRUE(why.empty()) << why << "\n" << (std::getenv("PTXGRAFT_SHOW") != nullptr ? one : "");
        }
    }
}

// ptxas expands video instructions itself, and forgets the end of names of 16, 24, 32 … characters.
TEST(StackVideo, IsThereForNamesThatPtxasExpands) {
    for (std::size_t size = 1; size < 100; ++size) {
        Signature signature = *Signature::parse("mod u32 x, in u32 a, in u32 b");
        for (SiteOperand& operand : signature.operands)
            operand.register_name = operand.name + std::string(size - 1, 'z');
        const auto stub = stack::compile("a b x vmin.s32.s32.u32.sat.min -> x", signature);
        ASSERT_EQ(stub.has_value(), size < 16 || size % 8 != 0) << size;
        if (!stub) {
            EXPECT_EQ(stub.error().code, Errc::stack_not_available);
            continue;
        }
        EXPECT_EQ(refusal(header({"sm_120a", {}}) + kernel(0, signature, stub->ptx())), "");
    }
}

INSTANTIATE_TEST_SUITE_P(Stack, StackPtxas,
                         testing::Values(Target{"sm_75", {75, 0}}, Target{"sm_80", {80, 0}},
                                         Target{"sm_90a", {90, 'a'}}, Target{"sm_100a", {100, 'a'}},
                                         Target{"sm_120a", {120, 'a'}}),
                         [](const auto& i) { return std::string(i.param.name); });

}  // namespace
}  // namespace ptxgraft
