// Programs of any bytes over the set `full`: each compiles in an arena of exactly `arena_bound` bytes.

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <optional>

#include "random_programs.hpp"

namespace ptxgraft {
namespace {

using stack::Instruction;
using stack::Opcode;

// How often: PTXGRAFT_PROGRAMS says it for long runs by hand.
std::uint64_t program_count(std::uint64_t otherwise) {
    const char* const text = std::getenv("PTXGRAFT_PROGRAMS");
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}
std::uint64_t first_seed() {
    const char* const text = std::getenv("PTXGRAFT_SEED");
    return text != nullptr ? std::strtoull(text, nullptr, 10) : 1;
}

// Memory that ends where it ends: sanitizers see a byte behind it.
struct ExactArena {
    std::unique_ptr<std::byte[], void (*)(std::byte*)> memory;
    std::span<std::byte> bytes;
    explicit ExactArena(std::size_t size)
        : memory(static_cast<std::byte*>(::operator new[](size, std::align_val_t{64})),
                 [](std::byte* m) { ::operator delete[](m, std::align_val_t{64}); }),
          bytes(memory.get(), size) {}
};

Expected<stack::Compiled> compile_exactly(stack::ProgramView program, const stack::Machine& machine,
                                          const stack::CompileOptions& options) {
    ExactArena arena(stack::arena_bound(program, machine, options));
    return stack::compile(program, machine, arena.bytes, options);
}

TEST(StackBytes, CompileInAnArenaOfTheirBound) {
    const std::uint64_t seed = first_seed();
    test::RandomPrograms random(seed);
    const auto set = stack::find_set("full");
    constexpr std::uint64_t programs_per_machine = 200;
    std::uint64_t compiled_count = 0, live = 0;
    std::optional<stack::Machine> machine;
    for (std::uint64_t n = program_count(4000); n-- > 0;) {
        if (n % programs_per_machine == 0 || !machine) {
            stack::MachineOptions options;
            if (random.below(2) == 0) options.policy.allowed = Effect::all;
            machine = *stack::Machine::make(random.below(4) == 0 ? stack::find_set("standard") : set,
                                            random.signature(), options);
        }
        const stack::Program program = random.program(*machine);
        stack::CompileOptions options = random.lenient();
        options.limits.steps = 1u << 12;
        const auto compiled = compile_exactly(program, *machine, options);
        ASSERT_TRUE(compiled || compiled.error().code == Errc::stack_limit) << describe(compiled.error());
        if (compiled) ++compiled_count, live += compiled->instruction_count;
        options = random.any();
        options.limits.steps = 1u << 12;
        (void)compile_exactly(program, *machine, options);
    }
    EXPECT_GT(live, compiled_count);
}

// Brackets that are never closed, or stand deeper than any program may go, count for nothing, and those
// around them for what they are.
TEST(StackBytes, BracketsThatAreSkippedDoNotHideTheOnesAroundThem) {
    const auto machine =
        *stack::Machine::make(stack::find_set("full"), *Signature::parse("mod f32 x, mod pred p"));
    const Instruction one{Opcode::constant, stack::type_id(Type::f32), 0, 0x3F800000},
        begin{Opcode::repeat, 0, 0, 100}, never{Opcode::repeat, 0, 0, 0}, end{Opcode::end, 0, 0, 0};
    const Instruction if_{Opcode::if_, 0, 0, 0}, else_{Opcode::else_, 0, 0, 0}, p{Opcode::input, 0, 1, 0};
    for (const std::size_t deep : {0, 1, 255, 256, 257, 300, 1000}) {
        for (const Instruction skipped : {never, if_}) {
            for (const std::size_t closed : {deep, deep / 2, std::size_t{0}}) {
                std::vector<Instruction> code(7, end);  // without a begin
                code.insert(code.end(), {begin, begin, one, skipped});
                code.insert(code.end(), deep, begin);
                code.insert(code.end(), 50, one);
                code.insert(code.end(), closed, end);
                code.insert(code.end(), {end, end, one, end, p, if_, one, else_});
                stack::CompileOptions options = stack::mutated;
                const auto compiled = compile_exactly(stack::ProgramView(code), machine, options);
                ASSERT_TRUE(compiled || compiled.error().code == Errc::stack_limit)
                    << describe(compiled.error());
                if (closed == deep && skipped == never) {
                    ASSERT_TRUE(compiled) << deep << describe(compiled.error());
                    EXPECT_EQ(compiled->leftover, 100u * 100 + 100 + 1 - 1) << deep;
                }
            }
        }
    }
}

TEST(StackBytes, UnclosedBracketsAreCountedInLinearTime) {
    const auto machine = *stack::Machine::make(stack::find_set("full"), *Signature::parse("mod f32 x"));
    const std::vector<Instruction> code(1u << 20, Instruction{Opcode::if_, 0, 0, 0});
    EXPECT_TRUE(compile_exactly(stack::ProgramView(code), machine, stack::mutated));
}

}  // namespace
}  // namespace ptxgraft
