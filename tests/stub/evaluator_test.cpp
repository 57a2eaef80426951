// One evaluator for many programs, constants that are changed, and approximate instructions at the edges of
// what the manual allows them.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <random>
#include <thread>
#include <vector>

#include "ptxgraft/evaluate.hpp"
#include "support/evaluation.hpp"

// Calls of operator new so far, counted by allocations.cpp
extern std::size_t allocations;

namespace ptxgraft {
namespace {

using std::uint32_t;
using std::uint64_t;
using test::Column;
using test::difference;
using test::evaluator_of;
using test::every_type;
using test::exact_set;
using test::machine_of;
using test::Table;

// ---- one evaluator for many programs ----------------------------------------------------------------------

constexpr stack::CompileOptions as_data = [] {
    stack::CompileOptions options = stack::mutated;
    options.constants = stack::Constants::data;
    return options;
}();

std::vector<stack::Program> random_programs(const stack::Machine& machine, uint64_t count) {
    std::vector<stack::Program> all;
    for (uint64_t seed = 0; seed < count; ++seed) all.push_back(stack::random_program(machine, seed, 40));
    return all;
}

TEST(Evaluator, IsPreparedAgainAndAgainWithoutAllocating) {
    const auto machine = stack::Machine::make(exact_set(), every_type());
    ASSERT_TRUE(machine);
    const std::vector<stack::Program> programs = random_programs(*machine, 300);
    const Table table(every_type(), 40, 1);
    stack::Evaluator evaluator;
    for (const stack::Program& program : programs) ASSERT_TRUE(evaluator.prepare(program, *machine, as_data));
    const std::size_t before = allocations;
    for (const stack::Program& program : programs) {
        if (!evaluator.prepare(program, *machine, as_data)) FAIL();
        if (!evaluator.set_constants(evaluator.constants())) FAIL();
    }
    EXPECT_EQ(allocations, before);
    for (const stack::Program& program : programs) {
        ASSERT_TRUE(evaluator.prepare(program, *machine, as_data));
        const auto fresh = stack::Evaluator::make(program, *machine, as_data);
        EXPECT_EQ(difference(table, table.evaluate(evaluator), table.evaluate(*fresh)), "");
        EXPECT_EQ(evaluator.instruction_count(), fresh->instruction_count());
    }
}

// Other constants in a program, of the same types.
stack::Program with_other_constants(stack::Program program, uint64_t seed) {
    std::mt19937_64 random(seed);
    for (stack::Instruction& i : program.code)
        if (i.opcode == stack::Opcode::constant && i.type != stack::type_id(Type::pred))
            i.payload = static_cast<uint32_t>(random());
    for (uint64_t& constant : program.pool) constant = random();
    return program;
}

TEST(Evaluator, ConstantsThatAreDataAreThoseOfCompileAndMayBeOthers) {
    const auto machine = stack::Machine::make(exact_set(), every_type());
    ASSERT_TRUE(machine);
    const Table table(every_type(), 40, 2);
    stack::Compiler compiler;
    stack::Evaluator evaluator, other_evaluator;
    std::size_t constants = 0, changed = 0;
    for (const stack::Program& program : random_programs(*machine, 400)) {
        const stack::Program other = with_other_constants(program, constants);
        ASSERT_TRUE(evaluator.prepare(program, *machine, as_data));
        ASSERT_TRUE(other_evaluator.prepare(other, *machine, as_data));
        const auto own = evaluator.constants();
        constants += own.size();
        const auto compiled = compiler.compile(program, *machine, as_data);
        ASSERT_TRUE(compiled);
        EXPECT_TRUE(std::ranges::equal(own, compiled->constants));
        // immediates stand in the pool too, and make another structure
        if (stack::dataflow_parts(program, *machine, as_data)->structure !=
            stack::dataflow_parts(other, *machine, as_data)->structure)
            continue;
        const auto before = table.evaluate(evaluator);
        ASSERT_TRUE(evaluator.set_constants(other_evaluator.constants()));
        EXPECT_TRUE(std::ranges::equal(evaluator.constants(), other_evaluator.constants()));
        EXPECT_EQ(difference(table, table.evaluate(evaluator), table.evaluate(other_evaluator)), "");
        changed += table.evaluate(evaluator) != before;
    }
    EXPECT_GT(constants, 400u);
    EXPECT_GT(changed, 100u);
}

TEST(Evaluator, RefusesAnotherNumberOfConstants) {
    const stack::Machine machine = machine_of("in f32 x, out f32 y");
    stack::Evaluator literals = evaluator_of("x 2.0 mul.f32 -> y", machine);
    EXPECT_TRUE(literals.constants().empty());
    EXPECT_TRUE(literals.set_constants({}));
    const uint64_t two[] = {0x40000000, 0x40000000};
    EXPECT_EQ(literals.set_constants(two).error().code, Errc::constants_differ);
    stack::Evaluator data =
        evaluator_of("x 2.0 mul.f32 2.0 add.f32 -> y", machine, {.constants = stack::Constants::data});
    EXPECT_TRUE(std::ranges::equal(data.constants(), two));
    EXPECT_EQ(data.set_constants(std::span(two).first(1)).error().code, Errc::constants_differ);
    const uint64_t others[] = {std::bit_cast<uint32_t>(3.0f), std::bit_cast<uint32_t>(-1.0f)};
    ASSERT_TRUE(data.set_constants(others));
    const float x = 5;
    float y = 0;
    data.run({std::vector<const void*>{&x, nullptr}, std::vector<void*>{nullptr, &y}, 1});
    EXPECT_EQ(y, 14);
}

TEST(Evaluator, RunsNothingAfterAnError) {
    const stack::Machine machine = machine_of("mod f32 x");
    stack::Evaluator evaluator = evaluator_of("1.0 -> x", machine);
    const stack::Program clock = *stack::parse("%tid.x cvt.rn.f32.u32 -> x", machine);
    EXPECT_EQ(evaluator.prepare(clock, machine).error().code, Errc::instruction_not_evaluable);
    EXPECT_EQ(evaluator.instruction_count(), 0u);
    float x = 7;
    evaluator.run({std::vector<const void*>{&x}, std::vector<void*>{&x}, 1});
    EXPECT_EQ(x, 7);
    stack::Evaluator moved = std::move(evaluator);
    ASSERT_TRUE(moved.prepare(*stack::parse("2.0 -> x", machine), machine));
    moved.run({std::vector<const void*>{&x}, std::vector<void*>{&x}, 1});
    EXPECT_EQ(x, 2);
    stack::Evaluator().run({std::vector<const void*>{&x}, std::vector<void*>{&x}, 1});
    EXPECT_EQ(x, 2);
}

TEST(Evaluator, ManyThreadsPrepareTheirOwnAndRunOne) {
    const auto machine = stack::Machine::make(exact_set(), every_type());
    ASSERT_TRUE(machine);
    const std::vector<stack::Program> programs = random_programs(*machine, 60);
    const Table table(every_type(), 40, 3);
    std::vector<std::vector<Column>> expected;
    for (const stack::Program& program : programs)
        expected.push_back(table.evaluate(*stack::Evaluator::make(program, *machine, as_data)));
    const auto shared = stack::Evaluator::make(programs[0], *machine, as_data);
    std::atomic<int> wrong = 0;
    const auto work = [&] {
        stack::Evaluator own;
        for (std::size_t p = 0; p < programs.size(); ++p) {
            if (!own.prepare(programs[p], *machine, as_data)) ++wrong;
            wrong += difference(table, table.evaluate(own), expected[p]).empty() ? 0 : 1;
            wrong += difference(table, table.evaluate(*shared), expected[0]).empty() ? 0 : 1;
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back(work);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
}

// ---- approximate instructions -----------------------------------------------------------------------------

std::vector<float> run_on(const stack::Evaluator& evaluator, const std::vector<float>& x,
                          const stack::RunOptions& options = {}) {
    std::vector<float> y(x.size());
    evaluator.run(
        {std::vector<const void*>{x.data(), nullptr}, std::vector<void*>{nullptr, y.data()}, x.size()},
        options);
    return y;
}

TEST(Approximation, MovesTheResultsOfApproximateInstructionsAlone) {
    using enum stack::Approximation;
    const stack::Machine machine = machine_of("in f32 x, out f32 y");
    std::vector<float> x(3000);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.01f + 0.001f * static_cast<float>(i);
    const stack::Evaluator root = evaluator_of("x 3.0 mul.f32 sqrt.rn.f32 -> y", machine);
    EXPECT_FALSE(root.is_approximate());
    for (const stack::Approximation mode : {up, down, hashed})
        EXPECT_EQ(run_on(root, x, {mode, 1}), run_on(root, x));
    const stack::Evaluator tanh = evaluator_of("x tanh.approx.f32 -> y", machine);
    EXPECT_TRUE(tanh.is_approximate());
    const auto ups = run_on(tanh, x, {up, 0}), downs = run_on(tanh, x, {down, 0}),
               any = run_on(tanh, x, {hashed, 7});
    std::size_t chosen = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double y = std::tanh(static_cast<double>(x[i]));
        EXPECT_NEAR(ups[i], y * (1 + 0x1p-11), y * 0x1p-22);
        EXPECT_NEAR(downs[i], y * (1 - 0x1p-11), y * 0x1p-22);
        EXPECT_TRUE(any[i] == ups[i] || any[i] == downs[i]);
        chosen += any[i] == ups[i];
    }
    EXPECT_GT(chosen, 1300u);
    EXPECT_LT(chosen, 1700u);
}

TEST(Approximation, HashedEdgesDependOnSeedPlaceAndInputsAndNothingElse) {
    using enum stack::Approximation;
    const stack::Machine machine = machine_of("in f32 x, out f32 y");
    const stack::Evaluator ex2 = evaluator_of("x ex2.approx.f32 -> y", machine);
    const stack::Evaluator later = evaluator_of("x 1.0 mul.f32 ex2.approx.f32 -> y", machine);
    std::vector<float> x(5000);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.01f + 0.0011f * static_cast<float>(i);
    const auto y = run_on(ex2, x, {hashed, 1});
    EXPECT_EQ(run_on(ex2, x, {hashed, 1}), y);
    EXPECT_NE(run_on(ex2, x, {hashed, 2}), y);
    EXPECT_NE(run_on(later, x, {hashed, 1}), y);
    auto reversed = std::vector<float>(x.rbegin(), x.rend());
    reversed = run_on(ex2, reversed, {hashed, 1});
    EXPECT_EQ(std::vector<float>(reversed.rbegin(), reversed.rend()), y);
}

// A search that is shown exact results takes this for 1/x within 2^-23; the manual allows 2^-11.
TEST(Approximation, TakesAwayWhatExactResultsPromise) {
    using enum stack::Approximation;
    const stack::Machine machine = machine_of("in f32 x, out f32 y");
    const stack::Evaluator one = evaluator_of("x tanh.approx.f32 x tanh.approx.f32 div.rn.f32 -> y", machine);
    std::vector<float> x(2000);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.1f + 0.001f * static_cast<float>(i);
    EXPECT_EQ(std::ranges::count(run_on(one, x), 1.0f), 2000);
    EXPECT_LT(std::ranges::count(run_on(one, x, {hashed, 3}), 1.0f), 1200);
}

}  // namespace
}  // namespace ptxgraft
