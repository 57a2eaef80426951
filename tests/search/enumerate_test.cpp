// Enumeration leaves nothing out: of programs drawn at random none is shorter than what it finds.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <random>
#include <span>
#include <tuple>

#include "ptxgraft/evaluate.hpp"
#include "ptxgraft/program.hpp"
#include "ptxgraft/search.hpp"

namespace ptxgraft::search {
namespace {

constexpr std::size_t points = 256;

struct Problem {
    Space space;
    std::vector<std::uint32_t> x, z;
    stack::Sampler sampler;
};

Problem problem_of(std::string_view set, std::vector<double> constants = {1, 5}) {
    const auto parsed = stack::InstructionSet::parse(set);
    const auto machine = stack::Machine::make(*parsed, *Signature::parse("in u32 x, in u32 z, out u32 y"));
    stack::SamplerOptions options;
    options.constants = {{.kind = stack::ConstantSource::Kind::values, .values = {1, 5}, .constants = {}}};
    options.shared = 0.4;
    Problem made{.space = {}, .x = {}, .z = {}, .sampler = *stack::Sampler::make(*machine, options)};
    made.space.sites.push_back({.name = "f", .machine = *machine, .seeds = {}, .max_genes = 64});
    made.space.constants = std::move(constants);
    std::mt19937 random(3);
    for (std::size_t k = 0; k < points; ++k) {
        made.x.push_back(static_cast<std::uint32_t>(random()) >> random() % 32);
        made.z.push_back(static_cast<std::uint32_t>(random()) >> random() % 32);
    }
    return made;
}

// What a program computes, as what is right.
Cases cases_of(const stack::Program& program, const Problem& problem) {
    Cases cases{.count = points, .measure = Measure::bits, .screen = points};
    std::vector<std::uint32_t> y(points);
    const void* const in[] = {problem.x.data(), problem.z.data(), nullptr};
    void* const out[] = {nullptr, nullptr, y.data()};
    const stack::Machine& machine = problem.space.sites[0].machine;
    EXPECT_TRUE(stack::evaluate(program, machine, {in, out, points}, program_options));
    cases.inputs.resize(3);
    cases.right.resize(3);
    for (const auto& [column, from] : {std::pair(0, &problem.x), std::pair(1, &problem.z)}) {
        cases.inputs[static_cast<std::size_t>(column)].resize(4 * points);
        std::memcpy(cases.inputs[static_cast<std::size_t>(column)].data(), from->data(), 4 * points);
    }
    for (const std::uint32_t value : y) cases.right[2].push_back(value);
    return cases;
}

void find_all(std::string_view set, std::uint32_t most, int count) {
    const Problem problem = problem_of(set);
    const stack::Machine& machine = problem.space.sites[0].machine;
    stack::Random random(1, most);
    for (int k = 0; k < count; ++k) {
        const auto live = static_cast<std::uint32_t>(1 + random.below(most));
        const stack::Program drawn = problem.sampler.program(random, live);
        stack::Evaluator evaluator;
        ASSERT_TRUE(evaluator.prepare(drawn, machine, program_options));
        const std::uint32_t length = evaluator.instruction_count();
        const auto made = enumerate(problem.space, cases_of(drawn, problem), {.instructions = most});
        ASSERT_TRUE(made);
        const std::string text = stack::print(drawn, machine);
        ASSERT_TRUE(made->program) << text;
        EXPECT_LE(made->instructions, length) << text;
        ASSERT_TRUE(evaluator.prepare(*made->program, machine, program_options));
        EXPECT_LE(evaluator.instruction_count(), made->instructions) << text;  // constants are folded
    }
}

TEST(Enumerate, FindsWhateverIsShort) {
    find_all("add.u32\nsub.u32\nand.b32\nxor.b32\nshr.u32\nnot.b32\n", 4, 40);
}

TEST(Enumerate, FindsWhateverIsShortOfSeveralTypes) {
    find_all("add.u32\nmin.u32\nmad.lo.u32\nsetp.lt.u32\nsetp.eq.u32\nselp.b32\nclz.b32\n", 4, 30);
}

// By the 0-1 principle all inputs of zeros and ones are enough.
Cases sorting_cases(std::size_t inputs) {
    Cases cases{.count = std::size_t{1} << inputs, .measure = Measure::absolute};
    cases.inputs.resize(2 * inputs);
    cases.right.resize(2 * inputs);
    for (std::size_t k = 0; k < inputs; ++k) {
        cases.inputs[k].resize(4 * cases.count);
        for (std::size_t p = 0; p < cases.count; ++p) {
            const auto value = static_cast<float>(p >> k & 1);
            std::memcpy(cases.inputs[k].data() + 4 * p, &value, 4);
            cases.right[inputs + k].push_back(std::popcount(p) >= static_cast<int>(inputs - k));
        }
    }
    return cases;
}

// Values that agree on the screen are one: a proof has to come to the points that tell them apart.
TEST(Enumerate, ProvesNothingByValuesThatOnlyTheScreenTakesForOne) {
    const Space space = problem_of("min.u32\nadd.u32\nxor.b32\n", {1, 100}).space;
    for (const std::size_t count : {200u, 3000u}) {
        std::vector<std::uint32_t> x(count), z(count);
        for (std::size_t k = 0; k < count; ++k) x[k] = z[k] = static_cast<std::uint32_t>(k * 37 % 100);
        x[count / 3] = 1000, z[count / 2 + 1] = 77'777;
        const auto m = [](std::uint32_t value) { return std::min(value, 100u); };
        const std::tuple<std::uint32_t, std::function<std::uint32_t(std::uint32_t, std::uint32_t)>> all[] = {
            {0, [&](auto, auto b) { return b; }},
            {1, [&](auto, auto b) { return m(b); }},
            {2, [&](auto a, auto b) { return m(b) + a; }},
            {3, [&](auto a, auto b) { return (m(b) + 1) ^ a; }},
            {3, [&](auto a, auto b) { return (m(b) + m(a)); }},
            {4, [&](auto a, auto b) { return (m(b) + m(a)) ^ b; }},
        };
        for (const auto& [length, f] : all) {
            Cases cases{.count = count, .measure = Measure::bits};
            const auto in_x = std::as_bytes(std::span(x)), in_z = std::as_bytes(std::span(z));
            cases.inputs = {{in_x.begin(), in_x.end()}, {in_z.begin(), in_z.end()}, {}};
            cases.right.resize(3);
            for (std::size_t k = 0; k < count; ++k) cases.right[2].push_back(f(x[k], z[k]));
            for (const std::uint32_t threads : {1u, 2u}) {
                const auto found = enumerate(space, cases, {.instructions = 4, .threads = threads});
                ASSERT_TRUE(found) << message(found.error());
                ASSERT_TRUE(found->program) << count << ' ' << length;
                EXPECT_EQ(found->instructions, length) << count;
                EXPECT_TRUE(found->is_complete);
            }
        }
    }
}

// 128 values in three places are more than are kept at once: 2 million, of which a late one is the right one.
TEST(Enumerate, ClosesMoreValuesThanItKeeps) {
    const auto set = stack::InstructionSet::parse("shf.l.wrap.b32\ncvt.u64.u32\n");
    const auto machine = stack::Machine::make(*set, *Signature::parse("in u32 x, in u32 z, out u64 y"));
    ASSERT_TRUE(machine);
    Space space;
    space.sites.push_back({.name = "f", .machine = *machine, .seeds = {}, .max_genes = 64});
    for (int k = 0; k < 126; ++k) space.constants.push_back(k < 32 ? k : 1'000'003.0 * k);
    const std::uint32_t last = 125'000'375;
    const Problem from = problem_of("add.u32\n");
    Cases cases{.count = points, .measure = Measure::bits};
    const auto in_x = std::as_bytes(std::span(from.x)), in_z = std::as_bytes(std::span(from.z));
    cases.inputs = {{in_x.begin(), in_x.end()}, {in_z.begin(), in_z.end()}, {}};
    cases.right.resize(3);
    for (const std::uint32_t z : from.z) cases.right[2].push_back((z << 7) | (last >> 25));
    for (const std::uint32_t threads : {1u, 2u}) {
        const auto found = enumerate(space, cases, {.instructions = 2, .threads = threads});
        ASSERT_TRUE(found) << message(found.error());
        ASSERT_TRUE(found->program);
        EXPECT_EQ(found->instructions, 2u);
        EXPECT_GT(found->trials, 3'000'000u);
    }
    // A budget ends it within one instruction's arguments, and the same everywhere on one thread.
    for (const std::uint64_t trials : {1u, 5'000u, 1'500'000u, 2'500'000u}) {
        const auto few = enumerate(space, cases, {.instructions = 2, .trials = trials, .threads = 1});
        ASSERT_TRUE(few) << message(few.error());
        EXPECT_FALSE(few->is_complete);
        EXPECT_GE(few->trials, trials);
        EXPECT_LE(few->trials, trials + 8'192);
        EXPECT_EQ(enumerate(space, cases, {.instructions = 2, .trials = trials, .threads = 1})->trials,
                  few->trials);
    }
}

TEST(Enumerate, SortsThreeValuesBySixInstructions) {
    const auto set = stack::InstructionSet::parse("min.f32\nmax.f32\n");
    const auto machine = stack::Machine::make(
        *set, *Signature::parse("in f32 a, in f32 b, in f32 c, out f32 p, out f32 q, out f32 r"));
    ASSERT_TRUE(machine);
    Space space;
    space.sites.push_back({.name = "f", .machine = *machine, .seeds = {}, .max_genes = 64});
    const auto none = enumerate(space, sorting_cases(3), {.instructions = 5});
    ASSERT_TRUE(none) << message(none.error());
    EXPECT_FALSE(none->program);
    EXPECT_TRUE(none->is_complete);
    const auto found = enumerate(space, sorting_cases(3), {.instructions = 7, .threads = 2});
    ASSERT_TRUE(found && found->program);
    EXPECT_EQ(found->instructions, 6u);
    Cases loose = sorting_cases(3);
    loose.bound = 0.1;
    const auto near = enumerate(space, loose, {.instructions = 6, .threads = 2});
    ASSERT_TRUE(near && near->program);
    EXPECT_EQ(near->instructions, 6u);
}

// A site of two floats in and two out, and what programs compute there.
struct TwoResults {
    explicit TwoResults(std::string_view set_text) {
        const auto set = stack::InstructionSet::parse(set_text);
        const auto machine =
            stack::Machine::make(*set, *Signature::parse("in f32 x, in f32 z, out f32 p, out f32 q"));
        space.sites.push_back({.name = "f", .machine = *machine, .seeds = {}, .max_genes = 64});
        space.constants = {1, 2};
        const float special[] = {0, -0.0f, 1, -1, INFINITY, -INFINITY, NAN, 3e38f};
        std::mt19937 random(5);
        for (const float a : special)
            for (const float b : special) x.push_back(a), z.push_back(b);
        for (int k = 0; k < 64; ++k)
            x.push_back(static_cast<float>(random() % 100) - 50),
                z.push_back(static_cast<float>(random() % 9));
    }
    [[nodiscard]] const stack::Machine& machine() const { return space.sites[0].machine; }
    [[nodiscard]] Cases cases_of(const stack::Program& program) const {
        std::vector<float> p(x.size()), q(x.size());
        const void* const in[] = {x.data(), z.data(), nullptr, nullptr};
        void* const out[] = {nullptr, nullptr, p.data(), q.data()};
        EXPECT_TRUE(stack::evaluate(program, machine(), {in, out, x.size()}, program_options));
        Cases cases{.count = x.size(), .measure = Measure::absolute};
        const auto in_x = std::as_bytes(std::span(x)), in_z = std::as_bytes(std::span(z));
        cases.inputs = {{in_x.begin(), in_x.end()}, {in_z.begin(), in_z.end()}, {}, {}};
        cases.right.resize(4);
        for (const float value : p) cases.right[2].push_back(value == 0 ? -value : value);  // another zero
        for (const float value : q) cases.right[3].push_back(value);
        return cases;
    }
    Space space;
    std::vector<float> x, z;
};

// -0 is 0, and a NaN another one, for `columns` and for a proof.
TEST(Enumerate, SeveralResultsAreNumbers) {
    const TwoResults problem("add.f32\nsub.f32\nmul.f32\nneg.f32\nmax.f32\n");
    const auto program = stack::parse("x x sub.f32 -> p\nx z mul.f32 neg.f32 -> q\n", problem.machine());
    ASSERT_TRUE(program) << message(program.error());
    const auto found = enumerate(problem.space, problem.cases_of(*program), {.instructions = 3});
    ASSERT_TRUE(found) << message(found.error());
    ASSERT_TRUE(found->program);
    EXPECT_EQ(found->instructions, 3u);
    stack::SamplerOptions options;
    options.constants = {{.kind = stack::ConstantSource::Kind::values, .values = {1, 2}, .constants = {}}};
    options.shared = 0.5;
    const auto sampler = stack::Sampler::make(problem.machine(), options);
    ASSERT_TRUE(sampler);
    stack::Random random(1, 2);
    int several = 0;
    for (int k = 0; k < 60; ++k) {
        const stack::Program drawn =
            sampler->program(random, static_cast<std::uint32_t>(2 + random.below(2)));
        stack::Evaluator evaluator;
        ASSERT_TRUE(evaluator.prepare(drawn, problem.machine(), program_options));
        const std::uint32_t length = evaluator.instruction_count();
        if (length > 3) continue;
        const auto made = enumerate(problem.space, problem.cases_of(drawn), {.instructions = 3});
        ASSERT_TRUE(made && made->program) << stack::print(drawn, problem.machine());
        EXPECT_LE(made->instructions, length) << stack::print(drawn, problem.machine());
        several += made->instructions > 1;
    }
    EXPECT_GT(several, 10);
}

// rcp.rn is exact and rcp.approx is not, though on the points they agree; whichever comes first in the set.
TEST(Enumerate, TakesNoApproximateValueForAnExactOne) {
    for (const char* text : {"rcp.approx.f32\nrcp.rn.f32\nadd.f32\nmul.f32\n",
                             "rcp.rn.f32\nrcp.approx.f32\nadd.f32\nmul.f32\n"}) {
        const auto set = stack::InstructionSet::parse(text);
        const auto machine = stack::Machine::make(*set, *Signature::parse("in f32 x, in f32 z, out f32 y"));
        Space space;
        space.sites.push_back({.name = "f", .machine = *machine, .seeds = {}, .max_genes = 64});
        Cases cases{.count = 8, .measure = Measure::absolute};
        const float x[] = {1, 2, 4, 0.5, 8, 16, 32, 64}, z[] = {3, 5, 7, 9, 11, 2, 1, 6};
        const auto in_x = std::as_bytes(std::span(x)), in_z = std::as_bytes(std::span(z));
        cases.inputs = {{in_x.begin(), in_x.end()}, {in_z.begin(), in_z.end()}, {}};
        cases.right.resize(3);
        for (std::size_t k = 0; k < cases.count; ++k) cases.right[2].push_back((z[k] + 1 / x[k]) / x[k]);
        const auto found = enumerate(space, cases, {.instructions = 3});
        ASSERT_TRUE(found && found->program) << text;
        EXPECT_EQ(found->instructions, 3u);
        EXPECT_TRUE(found->is_complete);
        space.sites[0].machine =
            *stack::Machine::make(*stack::InstructionSet::parse("rcp.approx.f32\nadd.f32\nmul.f32\n"),
                                  *Signature::parse("in f32 x, in f32 z, out f32 y"));
        EXPECT_FALSE(enumerate(space, cases, {.instructions = 3})->program);
        EXPECT_TRUE(enumerate(space, cases, {.instructions = 3, .perturb = false})->program);
    }
}

// Of one form, without a program that is right.
std::uint64_t trials_of(std::string_view form, std::string_view outputs, std::size_t count) {
    const auto set = stack::InstructionSet::parse(form);
    const auto machine = stack::Machine::make(*set, *Signature::parse("in b32 x, " + std::string(outputs)));
    Space space;
    space.sites.push_back({.name = "f", .machine = *machine, .seeds = {}, .max_genes = 64});
    for (int k = 2; k < 8; ++k) space.constants.push_back(k);
    const std::size_t registers = machine->signature().operands.size();
    Cases cases{.count = count, .measure = Measure::bits};
    cases.inputs.resize(registers);
    cases.inputs[0].resize(4 * count, std::byte{1});
    cases.right.resize(registers);
    for (std::size_t r = 1; r < registers; ++r)
        for (std::size_t k = 0; k < count; ++k)
            cases.right[r].push_back(static_cast<double>(4'000'123'457 - 1000 * k - r));
    const auto made = enumerate(space, cases, {.instructions = 2, .threads = 1});
    EXPECT_TRUE(made) << message(made.error());
    EXPECT_FALSE(made->program);
    return made->trials;
}

TEST(Enumerate, CountsWhatTakesLonger) {
    EXPECT_EQ(trials_of("div.u32\n", "out b32 y", 300), 6 * trials_of("sub.u32\n", "out b32 y", 300));
    // Beside two points the way to a value takes its time all the same: 49 values, and of each some 64 more.
    EXPECT_GE(trials_of("sub.u32\n", "out b32 y, out b32 z", 2), 49 * 64u);
}

}  // namespace
}  // namespace ptxgraft::search
