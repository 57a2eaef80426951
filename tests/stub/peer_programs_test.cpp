// The programs of mm-ptx's tests and examples in our language: its numbers, by evaluate and on the emulator.
// Where mm-ptx is wrong the row says so and has the right number.
//
// Operands stand in reading order here. mm-ptx pops the first operand from the top of the stack, so that its
// `A B sub` is B - A: in what follows `B A sub`.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "support/expression_run.hpp"
#include "support/peer_words.hpp"

namespace ptxgraft {
namespace {

using std::uint32_t;
using test::f, test::number, test::Words;

constexpr std::uint64_t any = 0xA5A5A5A5;  // what an `out` holds before

struct PeerRow {
    const char* name;
    const char* signature;
    const char* program;
    Words before, after;      // one word per register of the signature
    double tolerance = 0;     // relative to 1, of f32 results that pass through .approx
    bool by_evaluate = true;  // false: special registers, which only the emulator knows
    stack::CompileOptions options = {};
};

std::ostream& operator<<(std::ostream& out, const PeerRow& row) { return out << row.name; }

const stack::Program& parsed(const PeerRow& row, const stack::Machine& machine) {
    static stack::Program program;
    auto read = stack::parse(row.program, machine);
    EXPECT_TRUE(read) << describe(read.error(), row.program);
    program = read ? std::move(*read) : stack::Program{};
    return program;
}

void expect_words(const PeerRow& row, const test::Values& values, const Words& wanted) {
    ASSERT_EQ(values.size(), wanted.size());
    for (std::size_t r = 0; r < wanted.size(); ++r) {
        if (row.tolerance == 0)
            EXPECT_EQ(values[r][0], wanted[r]) << "register " << r;
        else
            EXPECT_NEAR(number(values[r][0]), number(wanted[r]), row.tolerance) << "register " << r;
    }
}

class Peer : public testing::TestWithParam<PeerRow> {};

TEST_P(Peer, GivesItsNumbers) {
    const PeerRow& row = GetParam();
    const auto signature = Signature::parse(row.signature);
    ASSERT_TRUE(signature) << describe(signature.error(), row.signature);
    const auto machine =
        stack::Machine::make(stack::find_set("f32"), *signature, {.policy = {.allowed = Effect::tensor}});
    ASSERT_TRUE(machine);
    const stack::Program& program = parsed(row, *machine);
    test::Values before;
    for (const std::uint64_t word : row.before) before.push_back({word});
    if (row.by_evaluate) {
        const auto evaluated = test::by_evaluate(program, *machine, before, row.options);
        ASSERT_TRUE(evaluated) << describe(evaluated.error(), row.program);
        expect_words(row, *evaluated, row.after);
    }
    const auto stub = stack::make_stub(program, *machine, row.options);
    ASSERT_TRUE(stub) << describe(stub.error(), row.program);
    const auto emulated = test::by_emulator(*signature, {stub->ptx()}, before);
    ASSERT_TRUE(emulated) << describe(emulated.error());
    expect_words(row, (*emulated)[0], row.after);
}

// ---- stack programs that stand alone
// -----------------------------------------------------------------------------------------------------

constexpr const char* five = "out u32 o0, out u32 o1, out u32 o2, out u32 o3, out u32 o4";
const Words unset(5, any);

const PeerRow alone[] = {
    {"ConstantsAndProduct", "out f32 z", "1.0 2.0 mul.ftz.f32 0.2 add.ftz.f32 -> z", {any}, {f(2.2f)}},
    {"SumOfSwapped",
     "in u32 x, in u32 y, out u32 z",
     "x y swap.u32 add.u32 -> z",
     {7, 0xFFFFFFFE, any},
     {7, 0xFFFFFFFE, 5}},
    {"SwappedConstants",
     "in u32 in_0, in u32 in_1, out u32 z",
     "10 20 swap.u32 add.u32 in_0 add.u32 -> z",
     {12, 3, any},
     {12, 3, 42}},
    {"SumOfInputs", "in u32 z2, in u32 z1, out u32 z0", "z2 z1 add.u32 -> z0", {40, 2, any}, {40, 2, 42}},
    {"ProductAndSum",
     "in f32 a, in f32 b, out f32 z",
     "a b mul.ftz.f32 a add.ftz.f32 -> z",
     {f(3), f(4), any},
     {f(3), f(4), f(15)}},

    // routines: what they push is declared
    {"RoutineCallsRoutine",
     "in u32 a, in u32 b, out u32 z",
     "routine one -> u32 : 1024 end routine two -> u32 u32 : 1025 one end "
     "1 2 add.u32 3 add.u32 a add.u32 b two mul.lo.u32 -> z",
     {5, 6, any},
     {5, 6, 1025 * 1024}},
    {"RoutineLibrary",
     "in u32 a, in u32 b, out u32 z",
     "routine product -> u32 : 3 7 mul.lo.u32 end routine pair -> u32 u32 : 6 product end "
     "routine one -> u32 : 1024 end routine two -> u32 u32 : 1025 one end "
     "1 2 add.u32 3 add.u32 a add.u32 b two pair mul.lo.u32 -> z",
     {5, 6, any},
     {5, 6, 126}},
    {"RoutineLibraryOfFloats",
     "out f32 a, out f32 b, out f32 c",
     "routine product -> f32 : 3.0 7.0 mul.ftz.f32 end routine pair -> f32 f32 : 1.0 product end "
     "routine sum -> f32 : 30.0 40.0 add.ftz.f32 end  sum pair -> c a b",
     {any, any, any},
     {f(1), f(21), f(70)}},
    {"RoutinesThreeDeep",
     "in u32 a, in u32 b, out u32 o0, out u32 o1",
     "routine r0 -> u32 : 1 end routine r1 -> u32 u32 : 2 r0 end routine r2 -> u32 u32 u32 : 3 r1 end "
     "r2 r1 r0 add.u32 add.u32 add.u32 add.u32 -> o1 o0",
     {0, 0, any, any},
     {0, 0, 7, 3}},

    // meta instructions. Requests are popped in their order there: the first receives the top
    {"MetaSimple", "in u32 a, out u32 z", "1 a add.u32 -> z", {41, any}, {41, 42}},
    {"MetaFlipped", "in u32 a, out u32 z", "1 a swap.u32 add.u32 -> z", {41, any}, {41, 42}},
    {"MetaDup", "in u32 a, out u32 z", "1 a add.u32 dup.u32 mul.lo.u32 -> z", {41, any}, {41, 42 * 42}},
    {"MetaForward", five, "0 1 2 3 4 5 -> o4 o3 o2 o1 o0", unset, {5, 4, 3, 2, 1}},
    {"MetaReverse", five, "0 1 2 3 4 5 reverse.u32 -> o4 o3 o2 o1 o0", unset, {0, 1, 2, 3, 4}},
    {"MetaYankDup", five, "0 1 2 3 4 5 yank_dup.u32 2 -> o4 o3 o2 o1 o0", unset, {3, 5, 4, 3, 2}},
    {"MetaSwapWith", five, "0 1 2 3 4 5 swap_with.u32 2 -> o4 o3 o2 o1 o0", unset, {3, 4, 5, 2, 1}},
    {"MetaReplace", five, "0 1 2 3 4 5 replace.u32 2 -> o4 o3 o2 o1 o0", unset, {4, 5, 2, 1, 0}},
    // its drop takes a count
    {"MetaDrop",
     "out u32 o0, out u32 o1, out u32 o2, out u32 o3",
     "0 1 2 3 4 5 repeat 2 drop.u32 end -> o3 o2 o1 o0",
     {any, any, any, any},
     {3, 2, 1, 0}},
    // its rotate goes the other way round: the top under the two below it, which is ours twice
    {"MetaRotate", five, "0 1 2 3 4 5 rotate.u32 rotate.u32 -> o4 o3 o2 o1 o0", unset, {4, 3, 5, 2, 1}},

    {"SpecialRegisters",
     "in u32 a, in u32 b, out u32 z",
     "%warpid drop.u32 %clock drop.u32 %tid.x %tid.y %tid.z 0 %warpid %warpid a b 1 mul.lo.u32 repeat 7 "
     "add.u32 end -> z",
     {30, 12, any},
     {30, 12, 42},
     0,
     false},
    {"Predicates", "out f32 z", "2.0 1.0 setp.lt.ftz.f32 2.0 1.0 selp.f32 -> z", {any}, {f(1)}},
    {"StoreAndLoad",
     "in f32 a, in f32 b, out f32 o0, out f32 o1, out f32 o2",
     "b a sub.ftz.f32 store.f32 0 load.f32 0 abs.ftz.f32 store.f32 1 "
     "load.f32 1 ex2.approx.ftz.f32 -> o2; load.f32 1 cos.approx.ftz.f32 -> o1; load.f32 0 "
     "sin.approx.ftz.f32 -> o0",
     {f(2.5), f(1), any, any, any},
     {f(2.5), f(1), f(std::sin(-1.5)), f(std::cos(1.5)), f(std::exp2(1.5))},
     1e-6},
    {"StoreAndLoadFourTimes",
     "out u32 o0, out u32 o1, out u32 o2, out u32 o3",
     "1 2 add.u32 store.u32 0 3 4 repeat 4 load.u32 0 end -> o3 o2 o1 o0; clear.u32",
     {any, any, any, any},
     {3, 3, 3, 3}},

    // expressions written as trees
    {"TreeWithRoutine",
     "in f32 x, in f32 y, out f32 z",
     "routine product f32 f32 -> f32 : mul.ftz.f32 end x y product 1.0 add.ftz.f32 -> z",
     {f(5), f(3), any},
     {f(5), f(3), f(16)}},
    // refused there: a routine that leaves more than its result. Here the result is the top
    {"RoutineLeavesMore", "out f32 z", "routine last f32 f32 -> f32 : end 1.0 2.0 last -> z", {any}, {f(2)}},
    {"TreeOfAConstant", "out f32 z", "2.0 -> z", {any}, {f(2)}},

    // programs of kernels
    {"AddInputs",
     "in f32 x, in f32 y, out f32 z",
     "x y add.ftz.f32 -> z",
     {f(5), f(3), any},
     {f(5), f(3), f(8)}},
    {"MultiplyInputs",
     "in f32 x, in f32 y, out f32 z",
     "x y mul.ftz.f32 -> z",
     {f(5), f(3), any},
     {f(5), f(3), f(15)}},
    {"SineAndCosine",
     "in f32 x, in f32 y, out f32 z",
     "x sin.approx.ftz.f32 y cos.approx.ftz.f32 mul.ftz.f32 1.4 add.ftz.f32 -> z",
     {f(5), f(3), any},
     {f(5), f(3), f(std::sin(5.0) * std::cos(3.0) + 1.4)},
     1e-6},
    {"HalfPairAndHalf",
     "in f16x2 x_y, in f16 z, out f32 w",
     "z x_y f16x2_to_v2_f16 swap.f16 f16_to_f32 f16_to_f32 f16_to_f32 add.ftz.f32 add.ftz.f32 -> w",
     {0x45004200, 0x4400, any},
     {0x45004200, 0x4400, f(12)}},

    // the domain colouring of its Python examples
    {"DomainColouring",
     "in f32 t, in f32 x, in f32 y, out f32 f, out f32 g",
     "t sin.approx.ftz.f32 x mul.ftz.f32 1.295 mul.ftz.f32 sin.approx.ftz.f32 "
     "t sin.approx.ftz.f32 0.0 mul.ftz.f32 add.ftz.f32 "
     "y x mul.ftz.f32 0.56 mul.ftz.f32 t sin.approx.ftz.f32 0.25 mul.ftz.f32 add.ftz.f32 sin.approx.ftz.f32 "
     "add.ftz.f32 "
     "t sin.approx.ftz.f32 y mul.ftz.f32 0.395 mul.ftz.f32 cos.approx.ftz.f32 "
     "t cos.approx.ftz.f32 0.0 mul.ftz.f32 add.ftz.f32 "
     "y x mul.ftz.f32 0.44 mul.ftz.f32 t sin.approx.ftz.f32 0.0 mul.ftz.f32 add.ftz.f32 cos.approx.ftz.f32 "
     "add.ftz.f32 -> g f",
     {f(0.4), f(-1.25), f(0.75), any, any},
     {f(0.4), f(-1.25), f(0.75), f(std::cos(std::sin(0.4) * 0.75 * 0.395) + std::cos(0.75 * -1.25 * 0.44)),
      f(std::sin(std::sin(0.4) * -1.25 * 1.295) + std::sin(0.75 * -1.25 * 0.56 + std::sin(0.4) * 0.25))},
     2e-6},

    // ---- where mm-ptx is wrong
    // final moves one after the other: x is overwritten before z reads it, and nothing can be swapped
    {"MovesAreParallel",
     "mod f32 x, in f32 y, out f32 z",
     "x y -> z x",
     {f(1), f(2), any},
     {f(2), f(2), f(1)}},
    {"SwapOfOperands", "mod f32 x, mod f32 y", "x y -> y x", {f(1), f(2)}, {f(2), f(1)}},
    {"CycleOfOperands", "mod u32 a, mod u32 b, mod u32 c", "a b c -> b c a", {1, 2, 3}, {3, 1, 2}},
    // inputs named as its temporaries are shadowed
    {"NamesOfTemporaries",
     "in u32 _a0, in u32 a0, in u32 r0, in u32 _r1, out u32 z",
     "_a0 a0 add.u32 dup.u32 mul.lo.u32 r0 add.u32 _r1 add.u32 -> z",
     {1, 2, 30, 3, any},
     {1, 2, 30, 3, 42}},
    // its interpreter has copysign the other way round: PTX gives the second operand the sign of the first
    {"CopySign",
     "in f32 a, in f32 b, out f32 z",
     "a b copysign.f32 -> z",
     {f(-1), f(2), any},
     {f(-1), f(2), f(-2)}},
    // its routines reach the operands of their caller: here they see their arguments alone
    {"RoutineLeavesItsCallerAlone",
     "in u32 a, out u32 z",
     "routine hungry -> u32 : add.u32 drop.u32 7 end a hungry add.u32 -> z",
     {35, any},
     {35, 42},
     0,
     true,
     {.missing = stack::Missing::skip}},
    // `x y sub` is y - x there
    {"ReadingOrder",
     "in f32 x, in f32 y, out f32 z",
     "x y sub.f32 -> z",
     {f(5), f(3), any},
     {f(5), f(3), f(2)}},
    // a stack of 128 is full there, silently
    {"DeepStacks", "out u32 z", "0 repeat 200 1 end repeat 200 add.u32 end -> z", {any}, {200}},
};

INSTANTIATE_TEST_SUITE_P(Alone, Peer, testing::ValuesIn(alone),
                         [](const auto& info) { return std::string(info.param.name); });

// ---- what is refused, and what does nothing
// ----------------------------------------------------------------------------------------------

// A meta instruction on an empty stack, and a program of nothing.
TEST(PeerPrograms, NothingCompilesToNothing) {
    const auto machine = stack::Machine::make(stack::find_set("f32"), Signature{});
    for (const char* text : {"", "dup.f32", "reverse.f32",
                             "swap.f32 drop.f32 rotate.f32 yank_dup.f32 3 replace.f32 0 load.f32 1"}) {
        const auto program = stack::parse(text, *machine);
        ASSERT_TRUE(program) << text;
        stack::Compiler compiler;
        const auto compiled = compiler.compile(*program, *machine, stack::mutated);
        ASSERT_TRUE(compiled) << text;
        EXPECT_EQ(compiled->ptx, "") << text;
    }
}

TEST(PeerPrograms, TreesThatAreNone) {
    const auto signature = Signature::parse("out f32 z");
    const struct {
        const char* program;
        Errc code;
    } rows[] = {
        {"1.0 2.0 -> z", Errc::stack_leftover},                // a value too many
        {"1.0 add.ftz.f32 -> z", Errc::stack_values_missing},  // an operand too few
    };
    for (const auto& row : rows) {
        const auto stub = stack::compile(row.program, *signature, {.set = stack::find_set("f32")});
        ASSERT_FALSE(stub) << row.program;
        EXPECT_EQ(stub.error().code, row.code) << describe(stub.error(), row.program);
    }
}

// mm-ptx writes nothing and succeeds: here the caller chooses.
TEST(PeerPrograms, RequestsOfAnEmptyStack) {
    const auto signature = Signature::parse("out u32 o0, out f32 o1, mod u32 m");
    const auto machine = stack::Machine::make(stack::find_set("f32"), *signature);
    const auto program = stack::parse("1.0 2.0 mul.ftz.f32 0.2 add.ftz.f32", *machine);
    ASSERT_TRUE(program);
    const test::Values before = {{any}, {any}, {9}};
    const auto refused = test::by_evaluate(*program, *machine, before, {.requests = stack::Requests::top});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::stack_values_missing);
    const auto kept = test::by_evaluate(*program, *machine, before,
                                        {.requests = stack::Requests::top, .empty = stack::Empty::keep});
    ASSERT_TRUE(kept);
    EXPECT_EQ(*kept, (test::Values{{0}, {f(2.2f)}, {9}}));
    const auto zero = test::by_evaluate(*program, *machine, before, stack::mutated);
    ASSERT_TRUE(zero);
    EXPECT_EQ(*zero, (test::Values{{0}, {f(2.2f)}, {0}}));
}

// mm-ptx cuts the program short and succeeds.
TEST(PeerPrograms, LimitsAreErrors) {
    const auto signature = Signature::parse("out u32 z");
    const auto machine = stack::Machine::make(stack::find_set("f32"), *signature);
    const auto program = stack::parse(
        "routine one -> u32 : 1 end routine two -> u32 : one end routine three -> u32 : two end three 1 "
        "add.u32 1 add.u32 -> z",
        *machine);
    ASSERT_TRUE(program);
    stack::Compiler compiler;
    for (const stack::Limits limits : {stack::Limits{.steps = 4}, stack::Limits{.depth = 2}}) {
        const auto compiled = compiler.compile(*program, *machine, {.limits = limits});
        ASSERT_FALSE(compiled);
        EXPECT_EQ(compiled.error().code, Errc::stack_limit_exceeded);
    }
    EXPECT_TRUE(compiler.compile(*program, *machine, {.limits = {.steps = 10, .depth = 3}}));
}

// Special registers come with the architecture that has them; there they are emitted for any.
TEST(PeerPrograms, SpecialRegistersHaveTheirArchitecture) {
    const auto signature = Signature::parse("out u32 z");
    const char* text = "%cluster_ctarank -> z";
    EXPECT_TRUE(stack::compile(text, *signature, {.target = {.sm = 90}}));
    EXPECT_FALSE(stack::compile(text, *signature, {.target = {.sm = 80}}));
}

}  // namespace
}  // namespace ptxgraft
