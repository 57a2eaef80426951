// What of a program is live, where its constants stand, and smaller programs.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "ptxgraft/evaluate.hpp"
#include "ptxgraft/program.hpp"
#include "support/random_programs.hpp"

namespace ptxgraft {
namespace {

using stack::Instruction;
using stack::Opcode;
using stack::Program;
using stack::ProgramView;

const stack::Machine& simplifying_machine() {
    static const stack::Machine m =
        *stack::Machine::make(stack::find_set("standard"),
                              *Signature::parse("mod f32 x, in f32 y, mod u32 n, out pred p, mod f64 d"),
                              {.policy = {.allowed = Effect::all}, .target = {}, .ptx_version = 0});
    return m;
}
const stack::Machine& small() {
    static const stack::Machine m =
        *stack::Machine::make(stack::find_set("standard"), *Signature::parse("mod f32 x, in f32 y"));
    return m;
}

constexpr stack::CompileOptions strict = {};

Program parsed(std::string_view text, const stack::Machine& on = small()) {
    auto program = stack::parse(text, on);
    EXPECT_TRUE(program) << describe(program.error(), text);
    return *program;
}
std::string simplified(std::string_view text, const stack::CompileOptions& options = stack::mutated) {
    const auto program = stack::simplify(parsed(text), small(), options);
    if (!program) return describe(program.error());
    std::string printed = stack::print(*program, small());
    while (!printed.empty() && printed.back() == '\n') printed.pop_back();
    std::replace(printed.begin(), printed.end(), '\n', ' ');
    return printed;
}

// ---- an instruction by one of its operands ----------------------------------------------------------------

std::string bypassed(std::string_view text, std::size_t at, std::uint32_t operand,
                     const stack::Machine& on = small()) {
    Program program = parsed(text, on);
    if (!stack::bypass(program, on, at, operand)) return "none";
    const auto shorter = stack::simplify(program, on);
    std::string printed = shorter ? stack::print(*shorter, on) : describe(shorter.error());
    std::replace(printed.begin(), printed.end(), '\n', ' ');
    while (printed.ends_with(' ')) printed.pop_back();
    return printed;
}

TEST(ProgramBypass, AnOperandStandsForTheResult) {
    EXPECT_EQ(bypassed("x y sub.f32 -> x", 2, 0), "y -> x");
    EXPECT_EQ(bypassed("x y sub.f32 -> x", 2, 1), "x -> x");
    EXPECT_EQ(bypassed("x y sub.f32 -> x", 2, 2), "y -> x") << "their number is taken modulo";
    const std::array<std::string, 3> operands = {"2.0", "y", "x"};  // what lies below stays there
    for (std::uint32_t k = 0; k < 3; ++k)
        EXPECT_EQ(bypassed("5.0 x y 2.0 fma.rn.f32 add.f32 -> x", 4, k),
                  "5.0 " + operands[k] + " add.f32 -> x");
    EXPECT_EQ(bypassed("x neg.f32 -> x", 1, 0), "x -> x");
}

TEST(ProgramBypass, APolynomialLosesADegree) {
    EXPECT_EQ(bypassed("0.5 y 0.25 fma.rn.f32 y 2.0 fma.rn.f32 -> x", 3, 0), "0.25 y 2.0 fma.rn.f32 -> x");
}

TEST(ProgramBypass, OperandsOfOtherTypesAreDropped) {
    EXPECT_EQ(bypassed("x y  x y setp.lt.f32  selp.f32 -> x", 5, 0, simplifying_machine()), "y -> x");
    EXPECT_EQ(bypassed("x y  x y setp.lt.f32  selp.f32 -> x", 5, 1, simplifying_machine()), "x -> x");
}

TEST(ProgramBypass, NothingHappensWhereThereIsNoSuchOperand) {
    EXPECT_EQ(bypassed("x y add.f32 -> x", 0, 0), "none") << "no instruction";
    EXPECT_EQ(bypassed("x y add.f32 -> x", 99, 0), "none") << "no place";
    EXPECT_EQ(bypassed("x y setp.lt.f32 -> p", 2, 0, simplifying_machine()), "none")
        << "none of the result's type";
    EXPECT_EQ(bypassed("n cvt.rn.f32.u32 -> x", 1, 0, simplifying_machine()), "none");
}

// ---- live code --------------------------------------------------------------------------------------------

std::vector<std::uint32_t> live(std::string_view text, const stack::CompileOptions& options = strict) {
    return *stack::live_code(parsed(text), small(), options);
}
using Places = std::vector<std::uint32_t>;

TEST(ProgramLive, WhatReachesNoOperandIsDead) {
    EXPECT_EQ(live("x y add.f32 -> x"), (Places{0, 1, 2, 3}));
    EXPECT_EQ(live("x y mul.f32 x y add.f32 -> x"), (Places{3, 4, 5, 6}));
    EXPECT_EQ(live("x y mul.f32 drop.f32 y -> x"), (Places{4, 5}));
    EXPECT_EQ(live("x drop.f32 add.f32 y -> x", stack::mutated), (Places{3, 4}));  // one does nothing
    EXPECT_EQ(live("7 y -> x", strict), (Places{1, 2}));
    EXPECT_EQ(live("1.0 store.f32 3 2.0 store.f32 4 load.f32 4 -> x"), (Places{2, 3, 4, 5}));
    EXPECT_EQ(live("1.0 store.f32 3 2.0 store.f32 3 load.f32 3 -> x"), (Places{2, 3, 4, 5}));
}

TEST(ProgramLive, WordsCountWhereTheyMoveLiveValues) {
    EXPECT_EQ(live("x dup.f32 mul.f32 -> x"), (Places{0, 1, 2, 3}));
    EXPECT_EQ(live("x dup.f32 drop.f32 -> x"), (Places{0, 3}));
    EXPECT_EQ(live("x y swap.f32 sub.f32 -> x"), (Places{0, 1, 2, 3, 4}));
    EXPECT_EQ(live("x y swap.f32 -> x"), (Places{0, 3}));
    EXPECT_EQ(live("x y 1.0 rotate.f32 drop.f32 sub.f32 -> x"), (Places{1, 2, 5, 6}));
    EXPECT_EQ(live("x y 1.0 reverse.f32 clear.f32 y -> x"), (Places{5, 6}));
}

TEST(ProgramLive, TheLastAssignmentCounts) {
    EXPECT_EQ(live("x -> x\ny -> x", stack::mutated), (Places{2, 3}));
    // operands that are not assigned take the top
    EXPECT_EQ(live("1.0 2.0 x y", stack::mutated), (Places{3}));
}

TEST(ProgramLive, InBracketsWhatCannotGo) {
    EXPECT_EQ(live("x repeat 3 y add.f32 end 1.0 drop.f32 -> x", stack::mutated),
              (Places{0, 1, 2, 3, 4, 5, 6}));
}

TEST(ProgramLive, SaysWhatIsWrongWithAProgramThatMustBeRight) {
    EXPECT_FALSE(stack::live_code(Program{{{Opcode::drop, stack::type_id(Type::f32), 0, 0}}, {}, {}}, small(),
                                  strict));
}

// Leaving out what is not live changes nothing.
TEST(ProgramLive, DeadCodeIsDead) {
    test::RandomPrograms random(3);
    std::size_t dead = 0, alive = 0;
    for (int n = 0; n < 3000; ++n) {
        Program program = random.program(simplifying_machine(), 60);
        std::erase_if(program.code, [](const Instruction& i) { return i.opcode >= Opcode::repeat; });
        for (stack::Routine& r : program.routines)
            std::erase_if(r.results,
                          [](stack::TypeId t) { return t == stack::type_b8 || t == stack::type_b128; });
        const auto places = stack::live_code(program, simplifying_machine());
        ASSERT_TRUE(places);
        ASSERT_TRUE(std::is_sorted(places->begin(), places->end()));
        alive += places->size();
        // Values that nobody needs may hold others in their places: forms alone can go by themselves.
        const auto hash = stack::dataflow_hash(program, simplifying_machine(), stack::mutated);
        for (std::uint32_t at = 0; at < program.code.size(); ++at) {
            if (std::binary_search(places->begin(), places->end(), at)) continue;
            ++dead;
            if (program.code[at].opcode != Opcode::constant) continue;
            program.code[at].payload ^= 1;  // of what is dead the value does not count
            EXPECT_EQ(stack::dataflow_hash(program, simplifying_machine(), stack::mutated).value(),
                      hash.value())
                << at << "\n"
                << stack::print(program, simplifying_machine());
            program.code[at].payload ^= 1;
        }
    }
    EXPECT_GT(dead, 10000u);
    EXPECT_GT(alive, 5000u);
}

// ---- constants --------------------------------------------------------------------------------------------

TEST(ProgramConstants, AreListedWithTypesAndPlaces) {
    const Program program =
        parsed("routine half f32 -> f32 : 0.5 mul.f32 end x half 3.3f64 -7s32 clear.s32 clear.f64 -> x");
    const auto all = stack::constants_of(program, small());
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0].place, (stack::CodePlace{2}));
    EXPECT_EQ(all[0].constant,
              (stack::TypedConstant{stack::type_id(Type::f64), std::bit_cast<std::uint64_t>(3.3)}));
    EXPECT_EQ(all[1].constant, (stack::TypedConstant{stack::type_id(Type::s32), 0xFFFFFFF9}));
    EXPECT_EQ(all[2].place, (stack::CodePlace{0, 0}));
    EXPECT_EQ(all[2].constant, (stack::TypedConstant{stack::type_id(Type::f32), 0x3F000000}));
}

TEST(ProgramConstants, AreReplaced) {
    Program program = parsed("3.3f64 1.0f64 clear.f64 x 2.0 mul.f32 -> x");
    const auto all = stack::constants_of(program, small());
    ASSERT_EQ(all.size(), 3u);
    stack::set_constant(program, small(), all[0].place, std::bit_cast<std::uint64_t>(-1.5));
    stack::set_constant(program, small(), all[1].place, std::bit_cast<std::uint64_t>(0.1));
    stack::set_constant(program, small(), all[2].place, 0x40400000);
    EXPECT_EQ(stack::print(stack::simplify(program, small()).value(), small()), "x 3.0 mul.f32 -> x\n");
    const auto now = stack::constants_of(program, small());
    EXPECT_EQ(now[0].constant.bits, std::bit_cast<std::uint64_t>(-1.5));
    EXPECT_EQ(now[1].constant.bits, std::bit_cast<std::uint64_t>(0.1));
    const Program before = program;
    stack::set_constant(program, small(), {5}, 1);
    stack::set_constant(program, small(), {500}, 1);
    stack::set_constant(program, small(), {0, 7}, 1);
    EXPECT_EQ(program, before);
}

// They are those of the stub, in its order, and what is put there is what the program then has.
TEST(ProgramConstants, ThatAreDataAreFound) {
    test::RandomPrograms random(5);
    std::size_t found = 0;
    for (int n = 0; n < 1500; ++n) {
        Program program = random.program(simplifying_machine(), 60);
        stack::CompileOptions options = stack::mutated;
        options.constants = stack::Constants::data;
        const auto stub = stack::make_stub(program, simplifying_machine(), options);
        const auto places = stack::data_constants(program, simplifying_machine());
        ASSERT_EQ(stub.has_value(), places.has_value());
        if (!stub) continue;
        ASSERT_EQ(places->size(), stub->constants().size());
        for (std::size_t k = 0; k < places->size(); ++k) {
            const auto& [place, constant] = (*places)[k];
            EXPECT_EQ(constant.bits, stub->constants()[k]) << k << "\n"
                                                           << stack::print(program, simplifying_machine());
            if (place.at == stack::CodePlace::none) continue;
            ++found;
            Program other = program;
            stack::set_constant(other, simplifying_machine(), place, constant.bits ^ 1);
            const auto changed = stack::make_stub(other, simplifying_machine(), options);
            ASSERT_TRUE(changed);
            EXPECT_EQ(changed->constants()[k], constant.bits ^ 1);
        }
    }
    EXPECT_GT(found, 500u);
}

// ---- the same in fewer instructions -----------------------------------------------------------------------

TEST(ProgramSimplify, WritesExpressionsInPostorder) {
    EXPECT_EQ(simplified("x y mul.f32 1.0 drop.f32 x y add.f32 -> x"), "x y add.f32 -> x");
    EXPECT_EQ(simplified("y x swap.f32 sub.f32"), "x y sub.f32 -> x");
    EXPECT_EQ(simplified("x y add.f32 dup.f32 mul.f32"), "x y add.f32 dup.f32 mul.f32 -> x");
    EXPECT_EQ(simplified("x dup.f32 mul.f32"), "x x mul.f32 -> x");
    EXPECT_EQ(simplified("routine twice f32 -> f32 : dup.f32 add.f32 end x twice"), "x x add.f32 -> x");
    EXPECT_EQ(simplified("x repeat 2 y mul.f32 end"), "x y mul.f32 y mul.f32 -> x");
    EXPECT_EQ(simplified("1 as.f32.u32 x add.f32"), "1e-45 x add.f32 -> x");
    EXPECT_EQ(simplified("add.f32 mul.f32 x !0000000000000016 y add.f32 !0000000000000013"),
              "x y add.f32 -> x");
    EXPECT_EQ(simplified("x y setp.lt.f32 if x else y end neg.f32"),
              "x y setp.lt.f32 if x else y end neg.f32");
}

bool has_brackets(const Program& p) {
    return std::any_of(p.code.begin(), p.code.end(),
                       [](const Instruction& i) { return i.opcode >= Opcode::repeat; });
}

// Under any options the same dataflow; never more instructions; and again nothing changes.
TEST(ProgramSimplify, KeepsTheDataflow) {
    test::RandomPrograms random(7);
    std::size_t smaller = 0, same = 0, none = 0, before = 0, after = 0, flat = 0;
    for (int n = 0; n < 3000; ++n) {
        const Program program = n % 5 == 0 ? random.any_bytes(simplifying_machine(), 60)
                                           : random.program(simplifying_machine(), 60);
        stack::CompileOptions options = n % 4 == 0 ? random.any() : random.lenient();
        if (n % 7 == 0) options.constants = stack::Constants::data;
        const auto hash = stack::dataflow_hash(program, simplifying_machine(), options);
        const auto simple = stack::simplify(program, simplifying_machine(), options);
        ASSERT_EQ(hash.has_value(), simple.has_value());
        if (!hash) {
            EXPECT_EQ(simple.error().code, hash.error().code);
            ++none;
            continue;
        }
        EXPECT_EQ(stack::dataflow_hash(*simple, simplifying_machine(), options).value(), *hash);
        const auto work = [](const Program& p) {
            auto count = std::count_if(p.code.begin(), p.code.end(),
                                       [](const Instruction& i) { return i.opcode != Opcode::assign; });
            for (const auto& r : p.routines) count += static_cast<std::ptrdiff_t>(r.code.size());
            return static_cast<std::size_t>(count);
        };
        EXPECT_LE(work(*simple), work(program));
        before += work(program), after += work(*simple);
        ++(work(*simple) < work(program) ? smaller : same);
        options.hash = true;
        stack::Compiler compiler;
        if (!simple->routines.empty() || has_brackets(*simple)) continue;  // they may skip now and then
        EXPECT_EQ(compiler.compile(*simple, simplifying_machine(), options)->skipped, 0u)
            << stack::print(*simple, simplifying_machine());
        ++flat;
    }
    EXPECT_GT(smaller, 1500u);
    EXPECT_GT(flat, 1000u);
    RecordProperty("instructions", std::to_string(before) + " -> " + std::to_string(after));
}

// Trees that were drawn have no superfluous instruction but the words that store what is used twice.
TEST(ProgramSimplify, LeavesTreesAlone) {
    const auto sampler = *stack::Sampler::make(small(), {.shared = 0});
    for (std::uint64_t n = 0; n < 500; ++n) {
        stack::Random random(n);
        const Program program = sampler.program(random, static_cast<std::uint32_t>(n % 20));
        EXPECT_EQ(stack::simplify(program, small(), strict).value().code.size(), program.code.size())
            << stack::print(program, small());
    }
}

// What is dead or moved about is found again whatever stands around it: the program before is the smallest.
TEST(ProgramSimplify, TakesOutWhatWasPutIn) {
    const auto sampler = *stack::Sampler::make(small(), {.shared = 0});
    const auto f32 = stack::type_id(Type::f32);
    for (std::uint64_t n = 0; n < 500; ++n) {
        stack::Random random(n);
        const Program program = sampler.program(random, 1 + static_cast<std::uint32_t>(n % 12));
        Program noisy = program;
        for (int k = 0; k < 6; ++k) {
            const auto at = noisy.code.begin() + static_cast<std::ptrdiff_t>(random.below(noisy.code.size()));
            const std::vector<std::vector<Instruction>> noise = {
                {{Opcode::constant, f32, 0, 5}, {Opcode::drop, f32, 0, 0}},
                {{Opcode::drop, stack::type_b128, 0, 0}},
                {{Opcode::constant, f32, 0, 5}, {Opcode::store, f32, 0, 250}},
                {{Opcode::input, 0, 0, 0},
                 {Opcode::input, 0, 1, 0},
                 {Opcode::swap, f32, 0, 0},
                 {Opcode::drop, f32, 0, 0},
                 {Opcode::drop, f32, 0, 0}},
                {{Opcode::reverse, f32, 0, 0}, {Opcode::reverse, f32, 0, 0}},
            };
            const auto& more = noise[random.below(noise.size())];
            noisy.code.insert(at, more.begin(), more.end());
        }
        EXPECT_EQ(stack::simplify(noisy, small()).value().code.size(), program.code.size())
            << stack::print(noisy, small());
    }
}

// ---- smaller ones that are as good ------------------------------------------------------------------------

std::vector<float> values_of(const Program& program) {
    std::vector<float> x, y, out(64);
    for (int k = 0; k < 64; ++k) x.push_back(static_cast<float>(k) / 4 - 8), y.push_back(1.5f);
    const void* const inputs[] = {x.data(), y.data()};
    void* const outputs[] = {out.data(), nullptr};
    EXPECT_TRUE(stack::evaluate(program, small(), {inputs, outputs, out.size()}, stack::mutated));
    return out;
}

TEST(ProgramReduce, FindsWhatIsAsGood) {
    // relu, in a way that a search may have found: x * 1 + y * 0, then two maxima
    const Program program = parsed(
        "x 1.0 mul.f32 y 0.0 mul.f32 add.f32 0.0 max.f32 x 0.0 min.f32 max.f32 7.5 abs.f32 drop.f32 -> x");
    const std::vector<float> wanted = values_of(program);
    std::uint32_t asked = 0;
    const auto reduced = stack::simplify(program, small(), [&](const Program& p) {
        ++asked;
        return values_of(p) == wanted;
    });
    ASSERT_TRUE(reduced);
    EXPECT_EQ(stack::print(reduced->program, small()), stack::print(parsed("x 0.0 max.f32 -> x"), small()));
    EXPECT_EQ(reduced->calls, asked);
    EXPECT_TRUE(reduced->is_complete);
    EXPECT_LT(asked, 100u);
}

TEST(ProgramReduce, AsksNoMoreThanItMay) {
    const auto sampler = *stack::Sampler::make(small());
    stack::Random random(1);
    const Program program = sampler.program(random, 40);
    for (const std::uint32_t most : {0u, 1u, 7u, 1000u}) {
        std::uint32_t asked = 0;
        const auto reduced = stack::simplify(program, small(), [&](const Program&) { return ++asked, false; },
                                             {.most_calls = most});
        ASSERT_TRUE(reduced);
        EXPECT_LE(asked, most);
        EXPECT_EQ(reduced->calls, asked);
        EXPECT_EQ(reduced->is_complete, asked < most) << most;
        EXPECT_EQ(stack::dataflow_hash(reduced->program, small()).value(),
                  stack::dataflow_hash(program, small()).value());
    }
}

// Whatever the predicate: what comes out is accepted, and no single step from there is.
TEST(ProgramReduce, EndsWhereNothingSmallerIsAccepted) {
    const auto sampler = *stack::Sampler::make(small());
    for (std::uint64_t n = 0; n < 30; ++n) {
        stack::Random random(n);
        const Program program = sampler.program(random, 15);
        const std::uint64_t wanted = stack::dataflow_hash(program, small()).value() % 3;
        const auto is_good = [&](const Program& p) {
            return stack::dataflow_hash(p, small(), stack::mutated).value() % 3 == wanted;
        };
        const auto one = stack::simplify(program, small(), is_good),
                   two = stack::simplify(program, small(), is_good);
        ASSERT_TRUE(one && two);
        EXPECT_EQ(one->program, two->program);
        EXPECT_TRUE(is_good(one->program));
        const auto again = stack::simplify(one->program, small(), is_good);
        EXPECT_EQ(again->program, one->program);
    }
}

}  // namespace
}  // namespace ptxgraft
