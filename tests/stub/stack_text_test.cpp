// The text form of the stack language, sentence by sentence of stack.hpp.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "ptxgraft/stack.hpp"
#include "stub/stack_text.hpp"
#include "support/stub_text.hpp"

namespace ptxgraft {
namespace {

using namespace stack_text;
using stack::Instruction;
using stack::Opcode;
using stack::Program;
using stack::type_id;
using test::body;

// --- what words do

struct WordsRow {
    const char* text;
    const char* ptx;
};
class StackWords : public testing::TestWithParam<WordsRow> {};
TEST_P(StackWords, BecomeThisPtx) { EXPECT_EQ(ptx_of(GetParam().text), GetParam().ptx) << GetParam().text; }

INSTANTIATE_TEST_SUITE_P(
    Stack, StackWords,
    testing::Values(
        // the value is always the one from before the program
        WordsRow{"1.0 -> x; x -> y", "mov.f32 _y, _x; mov.f32 _x, 0f3F800000;"},
        // operands in the order of PTX, results in the order of PTX
        WordsRow{"x y sub.f32 -> z", "sub.f32 _z, _x, _y;"},
        WordsRow{"x y p selp.f32 -> z", "selp.f32 _z, _x, _y, _p;"},
        // immediates
        WordsRow{"w n n 0xE8 lop3.b32 -> w", "lop3.b32 _w, _w, _n, _n, 232;"},
        WordsRow{"w n n 232s64 lop3.b32 -> w", "lop3.b32 _w, _w, _n, _n, 232;"},
        // special registers
        WordsRow{"%tid.x -> w", "mov.u32 _w, %tid.x;"},
        // casts
        WordsRow{"x as.s32.f32 -> m", "mov.b32 _m, _x;"}, WordsRow{"n as.s32.u32 -> m", "mov.b32 _m, _n;"},
        WordsRow{"1.0 as.u32.f32 -> w", "mov.b32 _w, 1065353216;"},
        // stacks
        WordsRow{"x y swap.f32 sub.f32 -> z", "sub.f32 _z, _y, _x;"},
        WordsRow{"x dup.f32 mul.f32 -> z", "mul.f32 _z, _x, _x;"},
        WordsRow{"x y drop.f32 -> z", "mov.f32 _z, _x;"},
        WordsRow{"x y over.f32 sub.f32 mul.f32 -> z", "sub.f32 %f0, _y, _x; mul.f32 _z, _x, %f0;"},
        WordsRow{"x y z rotate.f32 sub.f32 mul.f32 -> x", "sub.f32 %f0, _z, _x; mul.f32 _x, _y, %f0;"},
        WordsRow{"x y z reverse.f32 sub.f32 sub.f32 -> z", "sub.f32 %f0, _y, _x; sub.f32 _z, _z, %f0;"},
        WordsRow{"x y clear.f32 a -> z", "mov.f32 _z, _a;"},
        WordsRow{"x y z yank_dup.f32 2 sub.f32 sub.f32 sub.f32 -> z",
                 "sub.f32 %f0, _z, _x; sub.f32 %f1, _y, %f0; sub.f32 _z, _x, %f1;"},
        WordsRow{"x y yank_dup.f32 0 sub.f32 sub.f32 -> z", "sub.f32 %f0, _y, _y; sub.f32 _z, _x, %f0;"},
        WordsRow{"x y z swap_with.f32 2 sub.f32 sub.f32 -> z", "sub.f32 %f0, _y, _x; sub.f32 _z, _z, %f0;"},
        WordsRow{"x y z replace.f32 2 sub.f32 -> z", "sub.f32 _z, _z, _y;"},
        WordsRow{"x store.f32 3 y load.f32 3 sub.f32 -> z", "sub.f32 _z, _y, _x;"},
        WordsRow{"x store.f32 255 n store.u32 255 load.f32 255 -> z", "mov.f32 _z, _x;"},
        // brackets
        WordsRow{"x repeat 3 y mul.f32 end -> z",
                 "mul.f32 %f0, _x, _y; mul.f32 %f1, %f0, _y; mul.f32 _z, %f1, _y;"},
        WordsRow{"x repeat 0 y mul.f32 end -> z", "mov.f32 _z, _x;"},
        WordsRow{"p if x else y end -> z", "selp.f32 _z, _x, _y, _p;"},
        WordsRow{"x p if y add.f32 end -> z", "add.f32 %f0, _x, _y; selp.f32 _z, %f0, _x, _p;"},
        WordsRow{
            "x repeat 2 p if y mul.f32 else y add.f32 end end -> z",
            "mul.f32 %f0, _x, _y; add.f32 %f1, _x, _y; selp.f32 %f2, %f0, %f1, _p; mul.f32 %f3, %f2, _y; "
            "add.f32 %f4, %f2, _y; selp.f32 _z, %f3, %f4, _p;"},
        WordsRow{"true if x else y end -> z", "mov.f32 _z, _x;"},
        // routines
        WordsRow{"routine square f32 -> f32 : dup.f32 mul.f32 end x square -> z", "mul.f32 _z, _x, _x;"},
        WordsRow{"routine square f32 -> f32: dup.f32 mul.f32 end\nroutine fourth\n f32 -> f32 :\n square "
                 "square\nend\nx fourth -> z",
                 "mul.f32 %f0, _x, _x; mul.f32 _z, %f0, %f0;"},
        WordsRow{"routine minus f32 f32 -> f32 : sub.f32 end x y minus -> z", "sub.f32 _z, _x, _y;"},
        WordsRow{"routine both f32 u32 -> u32 f32 : end x n both -> w z", "mov.b32 _w, _n; mov.f32 _z, _x;"},
        WordsRow{"routine one -> f32 : 1.0 end one -> z", "mov.f32 _z, 0f3F800000;"},
        WordsRow{"routine none -> : end none x -> z", "mov.f32 _z, _x;"},
        // a routine has stacks and cells of its own
        WordsRow{"routine quiet f32 -> f32 : 2.0 store.f32 0 end x store.f32 0 y quiet -> y; load.f32 0 -> z",
                 "mov.f32 _z, _x;"},
        WordsRow{"routine top f32 -> f32 : clear.f32 1.0 end x y top sub.f32 -> z",
                 "sub.f32 _z, _x, 0f3F800000;"},
        // arrows
        WordsRow{"x y -> y x", "mov.f32 %f0, _x; mov.f32 _x, _y; mov.f32 _y, %f0;"},
        WordsRow{"m x -> m y", "mov.f32 _y, _x;"}, WordsRow{"x->y", "mov.f32 _y, _x;"},
        WordsRow{"frag[3] -> frag[0]", "mov.f32 _frag0, _frag3;"},
        WordsRow{"x -> y # z\ny -> x // z", "mov.f32 %f0, _x; mov.f32 _x, _y; mov.f32 _y, %f0;"},
        // comments and blanks
        WordsRow{"\t# one\r\n x // two\r\n y sub.f32#three\n-> z", "sub.f32 _z, _x, _y;"}, WordsRow{"", ""}));

TEST(StackText, EffectsUnderAnIfAreExecutedUnderItsPredicate) {
    EXPECT_EQ(ptx_of("p if q x st.global.f32 end"), "@_p st.global.f32 [_q], _x;");
}

TEST(StackText, ConstantsOfUserTypesHaveTheirName) {
    const auto set = *stack::InstructionSet::parse(
        "type philox u32\nbump = add.u32 philox, philox -> philox\nas_is = mov.b32 philox -> u32\n");
    const auto made = *stack::Machine::make(set, *Signature::parse("out u32 o"));
    const std::string text = "7philox 0x10philox bump dup.philox drop.philox as.u32.philox -> o";
    const auto program = stack::parse(text, made);
    ASSERT_TRUE(program) << describe(program.error(), text);
    EXPECT_EQ(*stack::parse(stack::print(*program, made), made), *program) << stack::print(*program, made);
    const auto stub = stack::make_stub(*program, made);
    ASSERT_TRUE(stub) << describe(stub.error());
    EXPECT_EQ(body(stub->ptx()), "add.u32 _o, 7, 16;");
}

TEST(StackText, RandomProgramsHaveWordsForAllTheirInstructions) {
    const auto signature = *Signature::parse(
        "mod u64 x, mod s64 y, mod u32 z, mod pred p, mod f16x2 h, in f32 a, out f64 d[3], mod b64 k, mod "
        "bf16 l");
    for (const char* const set : {"standard", "full", "f32"}) {
        const auto machine = *stack::Machine::make(stack::find_set(set), signature);
        for (std::uint64_t seed = 0; seed < 60; ++seed) {
            const auto program = stack::random_program(machine, seed, seed % 10 == 0 ? 1500 : 40);
            const std::string text = stack::print(program, machine);
            EXPECT_EQ(text.find('!'), std::string::npos)
                << set << " " << seed << ": " << text.substr(0, 2000);
            EXPECT_EQ(*stack::parse(text, machine), program);
        }
    }
    // a weight of 0 is never drawn, even where there is no other
    const auto none =
        *stack::Machine::make(*stack::InstructionSet::parse("add.f32 weight 0\nmul.f32 weight 0\n"),
                              *Signature::parse("mod f32 x"));
    for (const auto& i : stack::random_program(none, 1, 200).code) EXPECT_NE(i.opcode, stack::Opcode::form);
}

// Each instruction once, though a routine is called and a repeat executed several times; in the order of
// execution.
TEST(StackText, FindsAllThatIsMissing) {
    const std::string_view text =
        "signature: mod f32 x\n"
        "routine r f32 -> f32 :\n"
        "  add.u32 end\n"
        "repeat 3 x r mul.f32 add.s32 end -> x\n";
    const auto signature = *Signature::parse("mod f32 x");
    std::vector<std::string> found;
    for (const Error& error : stack::find_missing(text, signature)) {
        const Position at = position(text, error.span.begin);
        found.push_back(std::string(text.substr(error.span.begin, error.span.end - error.span.begin)) + " " +
                        std::to_string(at.line) + ":" + std::to_string(at.column));
        EXPECT_EQ(error.code, Errc::stack_values_missing);
    }
    EXPECT_EQ(found, (std::vector<std::string>{"add.u32 3:3", "mul.f32 4:14", "add.s32 4:22"}));
    EXPECT_TRUE(stack::find_missing("x x add.f32 -> x", signature).empty());
    EXPECT_TRUE(stack::find_missing("x bogus", signature).empty());
}

// --- errors: each with its place, and what would be right

struct BadWords {
    const char* text;
    Errc code;
    std::uint32_t line, column;
    const char* says;
};
class StackTextRefuses : public testing::TestWithParam<BadWords> {};

TEST_P(StackTextRefuses, AtThisPlaceAndSaysThis) {
    const BadWords& bad = GetParam();
    const auto stub = stack::compile(bad.text, signature(), {}, everything);
    ASSERT_FALSE(stub) << bad.text << " is " << stub->ptx();
    EXPECT_EQ(name(stub.error().code), name(bad.code)) << describe(stub.error(), bad.text);
    ASSERT_TRUE(stub.error().span.known()) << bad.text;
    const Position at = position(bad.text, stub.error().span.begin);
    EXPECT_EQ(at.line, bad.line) << describe(stub.error(), bad.text);
    EXPECT_EQ(at.column, bad.column) << describe(stub.error(), bad.text);
    EXPECT_NE(message(stub.error(), bad.text).find(bad.says), std::string::npos)
        << describe(stub.error(), bad.text);
}

INSTANTIATE_TEST_SUITE_P(
    Stack, StackTextRefuses,
    testing::Values(
        // literals
        BadWords{"256b8 -> x", Errc::stack_literal_out_of_range, 1, 1, "b8 holds 0 to 255"},
        BadWords{"65536u16 -> x", Errc::stack_literal_out_of_range, 1, 1, "0 to 65535"},
        BadWords{"-32769s16 -> x", Errc::stack_literal_out_of_range, 1, 1, "-32768 to 32767"},
        BadWords{"4294967296 -> w", Errc::stack_literal_out_of_range, 1, 1, "7u64"},
        BadWords{"18446744073709551616u64 -> u", Errc::stack_literal_out_of_range, 1, 1,
                 "18446744073709551615"},
        BadWords{"-1b32 -> w", Errc::stack_literal_out_of_range, 1, 1, "b32"},
        BadWords{"65520f16 -> h", Errc::stack_literal_out_of_range, 1, 1, "65504"},
        BadWords{"1e-10f16 -> h", Errc::stack_literal_out_of_range, 1, 1, "6e-8"},
        BadWords{"1e400f64 -> e", Errc::stack_literal_out_of_range, 1, 1, "inff64"},
        BadWords{"0x1FFFFf16 -> h", Errc::stack_literal_out_of_range, 1, 1, "f16"},
        BadWords{"1.5f16x2 drop.f16x2", Errc::stack_literal_malformed, 1, 1, "0x3C003C00f16x2"},
        BadWords{"0x3F800000f32 -> x", Errc::stack_literal_malformed, 1, 1, "0f3F800000"},
        BadWords{"0xabf16 -> h", Errc::stack_literal_malformed, 1, 1, "0xAbf16"},
        BadWords{"0xffb32 -> w", Errc::stack_literal_malformed, 1, 1, "0xFFb32"},
        BadWords{"007 -> w", Errc::stack_literal_malformed, 1, 1, "start with 0"},
        BadWords{"1pred -> p", Errc::stack_literal_malformed, 1, 1, "true and false"},
        BadWords{"-0x1 -> m", Errc::stack_literal_malformed, 1, 1, "sign"},
        BadWords{"-0f3F800000 -> x", Errc::stack_literal_malformed, 1, 1, "sign"},
        BadWords{"0d3FF0 -> e", Errc::stack_literal_malformed, 1, 1, "0d takes 16"},
        BadWords{"1.5.5 -> x", Errc::stack_literal_malformed, 1, 1, "no type"},
        BadWords{"1f33 -> x", Errc::stack_literal_malformed, 1, 1, "f33 is no type"},
        BadWords{"-nan -> x", Errc::stack_literal_malformed, 1, 1, "nan"},
        BadWords{"infu32 -> x", Errc::stack_word_unknown, 1, 1, "infu32"},
        BadWords{"- -> x", Errc::stack_literal_malformed, 1, 1, "-7"},
        // immediates
        BadWords{"w w w n lop3.b32 -> w", Errc::stack_literal_required, 1, 9, "a literal from 0 to 255"},
        BadWords{"lop3.b32", Errc::stack_literal_required, 1, 1, "a literal"},
        BadWords{"w w w 256 lop3.b32 -> w", Errc::stack_literal_required, 1, 11, "256 is not"},
        BadWords{"w w w -1 lop3.b32 -> w", Errc::stack_literal_required, 1, 10, "-1 is not"},
        BadWords{"w w w 1.0 lop3.b32 -> w", Errc::stack_literal_required, 1, 11, "an integer"},
        BadWords{"w w w 5000000000u64 lop3.b32 -> w", Errc::stack_literal_required, 1, 21, "0 to 255"},
        BadWords{"!0000000000003F01 lop3.b32", Errc::stack_literal_required, 1, 19, "a literal"},
        BadWords{"!000000000000FF01 lop3.b32", Errc::stack_literal_required, 1, 19, "a literal"},
        // numbers behind words
        BadWords{"x yank_dup.f32", Errc::stack_number_missing, 1, 3, "yank_dup.f32 2"},
        BadWords{"x yank_dup.f32 y", Errc::stack_number_missing, 1, 16, "not y"},
        BadWords{"x store.f32\n3", Errc::stack_number_missing, 1, 3, "number"},
        BadWords{"x store.f32 256", Errc::stack_literal_out_of_range, 1, 13, "0 to 255"},
        BadWords{"repeat x end", Errc::stack_number_missing, 1, 8, "not x"},
        BadWords{"repeat 99999999999 end", Errc::stack_literal_out_of_range, 1, 8, "repeat takes"},
        BadWords{"x yank_dup.f32 01", Errc::stack_number_missing, 1, 16, "not 01"},
        // types
        BadWords{"dup.f33", Errc::stack_word_unknown, 1, 1, "f33 is no type"},
        BadWords{"dup.", Errc::stack_word_unknown, 1, 1, "no type"},
        BadWords{"as.f32", Errc::stack_word_unknown, 1, 1, "two types"},
        BadWords{"x as.u64.f32 -> u", Errc::stack_word_unknown, 1, 3, "64 bits"},
        BadWords{"p as.u32.pred -> w", Errc::stack_word_unknown, 1, 3, "selp"},
        // brackets
        BadWords{"end", Errc::stack_bracket_wrong, 1, 1, "without"},
        BadWords{"else", Errc::stack_bracket_wrong, 1, 1, "if"},
        BadWords{"repeat 2 else end", Errc::stack_bracket_wrong, 1, 10, "if"},
        BadWords{"p if x drop.f32", Errc::stack_bracket_wrong, 1, 3, "no end"},
        BadWords{"repeat 2 p if end", Errc::stack_bracket_wrong, 1, 1, "this repeat has no end"},
        BadWords{"p if else else end", Errc::stack_bracket_wrong, 1, 11, "already"},
        BadWords{"routine r -> : 1.0", Errc::stack_bracket_wrong, 1, 1, "routine has no end"},
        BadWords{"p if x end -> z", Errc::stack_bracket_wrong, 1, 8, "arms"},
        BadWords{"if x end", Errc::stack_values_missing, 1, 1, "if takes 1 pred"},
        // routines
        BadWords{"routine", Errc::stack_routine_wrong, 1, 1, "routine square"},
        BadWords{"routine x -> f32 : 1.0 end", Errc::stack_routine_wrong, 1, 9, "operand"},
        BadWords{"routine add.f32 -> f32 : end", Errc::stack_routine_wrong, 1, 9, "instruction"},
        BadWords{"routine end -> : end", Errc::stack_routine_wrong, 1, 9, "word of the language"},
        BadWords{"routine dup.f32 -> : end", Errc::stack_routine_wrong, 1, 9, "word of the language"},
        BadWords{"routine 7 -> : end", Errc::stack_routine_wrong, 1, 9, "not a name"},
        BadWords{"routine inf -> : end", Errc::stack_routine_wrong, 1, 9, "literal"},
        BadWords{"routine r -> : end routine r -> : end", Errc::stack_routine_wrong, 1, 28, "already"},
        BadWords{"routine r f33 -> : end", Errc::stack_routine_wrong, 1, 11, "f33 is no type"},
        BadWords{"routine r f32 : end", Errc::stack_routine_wrong, 1, 15, "->"},
        BadWords{"routine r f32 -> f32", Errc::stack_routine_wrong, 1, 21, "`:`"},
        BadWords{"routine r -> : x end", Errc::stack_routine_wrong, 1, 16, "operand"},
        BadWords{"routine r -> : frag[0] end", Errc::stack_routine_wrong, 1, 16, "operand"},
        BadWords{"routine r f32 -> : -> x end", Errc::stack_routine_wrong, 1, 20, "assigns nothing"},
        BadWords{"routine r -> : r end", Errc::stack_word_unknown, 1, 16, "not itself"},
        BadWords{"\xEF\xBB\xBFx bogus", Errc::stack_word_unknown, 1, 6, "bogus"},
        BadWords{"x \x01\x7F -> x", Errc::stack_word_unknown, 1, 3, "unknown word ??"},
        BadWords{"routine r -> : routine s -> : end end", Errc::stack_routine_wrong, 1, 16, "outside"},
        BadWords{"p if routine s -> : end end", Errc::stack_routine_wrong, 1, 6, "outside"},
        BadWords{"routine r f32 -> f32 : end n r", Errc::stack_values_missing, 1, 30, "r takes 1 f32"},
        BadWords{"routine r -> f32 : end r -> x", Errc::stack_routine_wrong, 1, 20, "leaves no f32"},
        BadWords{"routine r -> f32 : sub.f32 end r -> x", Errc::stack_values_missing, 1, 20,
                 "in a routine: sub.f32 takes 2"},
        // an error in a routine points there, however deep the call
        BadWords{"routine r f32 -> f32 :\n  dup.f32\n  add.u32 end\nroutine s f32 -> f32 : r r end\nx s -> x",
                 Errc::stack_values_missing, 3, 3, "in a routine: add.u32 takes 2"},
        BadWords{"routine r f32 -> f32 : repeat 2 dup.f32 2 yank_dup.f32 1 3 yank_dup.f32 9 end end x r -> x",
                 Errc::stack_values_missing, 1, 60, "yank_dup.f32 9 takes 10"},
        BadWords{"routine r f32 -> f32 :\n n n 3 lop3.b32 end", Errc::stack_routine_wrong, 2, 2, "operand"},
        BadWords{"routine r u32 -> u32 : dup.u32 dup.u32 3 lop3.b32\n add.f32 end n r -> n",
                 Errc::stack_values_missing, 2, 2, "add.f32"},
        // imports
        BadWords{"import", Errc::stack_import_wrong, 1, 1, "activation/relu.stub"},
        BadWords{"import gelu", Errc::stack_import_wrong, 1, 8,
                 "did you mean activation/gelu_erf.stub, activation/gelu_tanh.stub, "},
        BadWords{"import nothing.stub", Errc::stack_import_wrong, 1, 8, "no stub nothing.stub"},
        BadWords{"p if import gelu.stub end", Errc::stack_import_wrong, 1, 6, "outside"},
        // raw words
        BadWords{"!12", Errc::stack_word_unknown, 1, 1, "16"},
        BadWords{"!!12", Errc::stack_word_unknown, 1, 1, "16"},
        BadWords{"!0123456789ABCDEG", Errc::stack_word_unknown, 1, 1, "16"},
        // missing values
        BadWords{"load.f32 3 -> x", Errc::stack_values_missing, 1, 1, "nothing was stored"},
        BadWords{"n -> x", Errc::stack_values_missing, 1, 6,
                 "cvt.rn.f32.u32 converts it, as.f32.u32 takes its bits"},
        BadWords{"x y sub.s32 -> m", Errc::stack_values_missing, 1, 5,
                 "sub.s32 takes 2 s32 values, none is there; there are 2 f32 values: cvt.rni.s32.f32"},
        BadWords{"x sub.f32 -> z", Errc::stack_values_missing, 1, 3, "takes 2 f32 values, only 1 is there"},
        BadWords{"x replace.f32 2", Errc::stack_values_missing, 1, 3, "takes 3 f32 values"},
        BadWords{"x y -> z", Errc::stack_leftover, 1, 1, "drop.f32"},
        BadWords{"x -> p", Errc::stack_values_missing, 1, 6, "setp.ne.f32"},
        BadWords{"\xFF\x01", Errc::stack_word_unknown, 1, 1, "unknown word"}));

TEST(StackText, WhatTheSiteForbidsIsAnErrorThatNamesTheEffect) {
    const Signature s = *Signature::parse("in u64 q, mod f32 x");
    EXPECT_NE(describe_failure("q ld.global.f32 -> x", s, {})
                  .find("p.stub:1:3: error: ld.global.f32 is not allowed here"),
              std::string::npos);
    EXPECT_NE(describe_failure("q ld.global.f32 -> x", s, {}).find("allow load"), std::string::npos);
    EXPECT_TRUE(stack::compile("q ld.global.f32 -> x", s, {}, {.allowed = Effect::load}));
}

TEST(StackText, WhatTheTargetLacksIsAnError) {
    const Signature s = *Signature::parse("mod f32 x");
    const std::string text = "x tanh.approx.f32 -> x";
    EXPECT_TRUE(stack::compile(text, s, {.target = {.sm = 75}}));
    const auto stub = stack::compile(text, s, {.target = {.sm = 70}});
    ASSERT_FALSE(stub);
    EXPECT_EQ(stub.error().code, Errc::stack_not_available);
    EXPECT_EQ(stub.error().span.begin, 2u);
}

// --- hostile texts

TEST(StackText, HostileTextsAreErrorsInTime) {
    const auto many = [](const char* word, int count) {
        std::string text;
        for (int i = 0; i < count; ++i) text += word;
        return text;
    };
    for (const std::string& text : std::vector<std::string>{
             many("p if ", 100000) + many(" end", 100000), many("repeat 255 ", 60) + many(" end", 60),
             many("end ", 100000), many("(", 100000), many("p if ", 100000), std::string(1 << 20, 'x'),
             std::string(1 << 20, '9'), std::string(1 << 20, '-'), many("->", 100000), many("!", 100000),
             "0." + std::string(1 << 20, '0') + "1f16 -> h", std::string(1 << 20, '\0'),
             many("\xC3\xA9 ", 1000), "frag[" + std::string(1000, '9') + "] -> x",
             "repeat 4294967295 x drop.f32 end", many("routine r -> : end ", 1000)}) {
        const auto stub = stack::compile(text, signature(), {}, everything);
        ASSERT_FALSE(stub) << text.substr(0, 50);
        EXPECT_TRUE(stub.error().span.known()) << text.substr(0, 50);
        EXPECT_LT(describe(stub.error(), text).size(), 5000u) << text.substr(0, 50);
    }
}

TEST(StackText, ManyRoutinesAndConstantsAreReadInTime) {
    std::string text;
    for (int i = 0; i < 256; ++i)
        text += "routine r" + std::to_string(i) +
                " f32 -> f32 : " + (i == 0 ? "" : "r" + std::to_string(i - 1)) + " end\n";
    EXPECT_TRUE(stack::parse(text, machine()));
    EXPECT_FALSE(stack::parse(text + "routine more -> : end", machine()));
    std::string constants;
    for (int i = 0; i < 100000; ++i) constants += "0.1" + std::to_string(i + 1) + "f64 drop.f64 ";
    const auto program = stack::parse(constants + constants, machine());
    ASSERT_TRUE(program);
    std::set<std::uint64_t> different(program->pool.begin(), program->pool.end());
    EXPECT_EQ(different.size(), program->pool.size());  // equal ones share a place
}

// --- round trips

TEST(StackText, TextsRoundTripThroughPrograms) {
    for (const char* text :
         {"x y sub.f32 -> z", "x y -> y x\n1.5 -> z", "frag[2] as.u32.f32 7 and.b32 -> w",
          "-7 3s32 add.s32 -> m; p not.pred -> p", "0f7FC00001 -0.0 add.f32 1e30 mul.f32 -> x",
          "x dup.f32 over.f32 rotate.f32 swap.f32 drop.f32 -> x y", "0xFFb32 n or.b32 -> w\ntrue -> p",
          "repeat 3 p if x else y end drop.f32 end",
          "routine square f32 -> f32 : dup.f32 mul.f32 end x square -> x",
          "0.1f64 5000000000u64 0.1f64 drop.f64 drop.f64 -> u", "w w w 0xE8 lop3.b32 -> w", "%laneid -> w",
          "x store.f32 7 load.f32 7 yank_dup.f32 0 replace.f32 0 reverse.f32 clear.f32", "1.5f16 -> h",
          "0x7E01f16 -> h", "x setp.lt.f32|q drop.pred"}) {
        const auto program = stack::parse(text, machine());
        ASSERT_TRUE(program) << describe(program.error(), text);
        const std::string printed = stack::print(*program, machine());
        EXPECT_EQ(printed.find('!'), std::string::npos) << printed;
        const auto again = stack::parse(printed, machine());
        ASSERT_TRUE(again) << printed;
        EXPECT_EQ(*again, *program) << printed;
        EXPECT_EQ(stack::print(*again, machine()), printed);
    }
}

TEST(StackText, EveryInstructionOfTheSetRoundTrips) {
    const auto& entries = machine().set().entries();
    for (std::size_t i = 0; i < entries.size(); ++i) {
        Program program{{{Opcode::form, 0, static_cast<std::uint16_t>(i), 0}}, {}, {}};
        for (const auto& operand : entries[i].operands) {
            if (!operand.is_immediate) continue;
            if (program.code[0].payload != 0) program.pool.push_back(16);
            program.code[0].payload = 16;
        }
        const std::string text = stack::print(program, machine());
        const auto again = stack::parse(text, machine());
        ASSERT_TRUE(again) << describe(again.error(), text);
        EXPECT_EQ(*again, program) << text;
    }
}

TEST(StackText, UnmatchedBracketsRoundTrip) {
    const auto bracket = [](Opcode opcode, std::uint32_t payload = 0) {
        return Instruction{opcode, 0, 0, payload};
    };
    const Instruction choice = bracket(Opcode::if_), other = bracket(Opcode::else_),
                      close = bracket(Opcode::end), loop = bracket(Opcode::repeat, 3);
    for (const std::vector<Instruction>& code : {std::vector{choice},
                                                 {close},
                                                 {other},
                                                 {close, choice},
                                                 {choice, other},
                                                 {choice, close, close},
                                                 {choice, other, other, close},
                                                 {loop, other, close},
                                                 {choice, loop, close},
                                                 {loop, choice, other, close, close, other},
                                                 {bracket(Opcode::repeat, 0xFFFFFFFF), close},
                                                 {{Opcode::if_, 3, 7, 9}, other, close},
                                                 {choice, other, {Opcode::end, 1, 0, 0}}}) {
        const Program program{code, {}, {}};
        const std::string text = stack::print(program, machine());
        const auto again = stack::parse(text, machine());
        ASSERT_TRUE(again) << describe(again.error(), text);
        EXPECT_EQ(*again, program) << text;
    }
}

TEST(StackText, PoolsThatNoLiteralsMakeRoundTrip) {
    const auto f64 = type_id(Type::f64), s64 = type_id(Type::s64);
    for (const Program& program :
         {Program{{}, {1, 2, 3}, {}}, Program{{{Opcode::pooled, s64, 0, 0}}, {5}, {}},
          Program{{{Opcode::pooled, f64, 0, 7}}, {}, {}},
          Program{{{Opcode::pooled, f64, 0, 1}, {Opcode::pooled, f64, 0, 0}},
                  {0x3FB999999999999A, 0x3FC999999999999A},
                  {}},
          Program{{{Opcode::pooled, f64, 0, 0}, {Opcode::pooled, f64, 0, 1}},
                  {0x3FB999999999999A, 0x3FB999999999999A},
                  {}}}) {
        const std::string text = stack::print(program, machine());
        const auto again = stack::parse(text, machine());
        ASSERT_TRUE(again) << describe(again.error(), text);
        EXPECT_EQ(*again, program) << text;
    }
}

TEST(StackText, OperandsThatAreNamedLikeOtherWordsAreStillMeant) {
    const Signature s =
        *Signature::parse("mod f32 inf, in f32 nan, in f32 true, in f32 end, in f32 repeat, in pred p");
    const auto made = *stack::Machine::make(stack::find_set("standard"), s);
    for (std::uint16_t i = 0; i < 5; ++i) {
        const Program program{{{Opcode::input, 0, i, 0},
                               {Opcode::repeat, 0, 0, 2},
                               {Opcode::input, 0, i, 0},
                               {Opcode::end, 0, 0, 0},
                               {Opcode::input, 0, i, 0}},
                              {},
                              {}};
        const std::string text = stack::print(program, made);
        EXPECT_EQ(*stack::parse(text, made), program) << text;
    }
    EXPECT_EQ(body(stack::compile("nan true sub.f32 -> inf", s)->ptx()), "sub.f32 _inf, _nan, _true;");
    // where it closes nothing, `end` is the operand
    EXPECT_EQ(body(stack::compile("nan end sub.f32 -> inf", s)->ptx()), "sub.f32 _inf, _nan, _end;");
    EXPECT_EQ(body(stack::compile("p if nan else true end end sub.f32 -> inf", s)->ptx()),
              "selp.f32 %f0, _nan, _true, _p; sub.f32 _inf, %f0, _end;");
    // behind an arrow no other word can stand
    const Signature out = *Signature::parse("in f32 x, out f32 end, in pred p");
    EXPECT_EQ(body(stack::compile("p if x else 1.0 end -> end", out)->ptx()),
              "selp.f32 _end, _x, 0f3F800000, _p;");
}

// --- imports

TEST(StackText, EveryStubOfTheLibraryCanBeImported) {
    int count = 0;
    for (const stack::LibraryFile& file : stack::library()) {
        if (!file.name.ends_with(".stub")) continue;
        ++count;
        const auto parsed = stack::parse_file(file.text);
        ASSERT_TRUE(parsed) << file.name;
        // the program that does what the stub does by calling it
        std::string text = "import " + std::string(file.name) + "\n", targets;
        for (const SiteOperand& operand : parsed->signature.operands)
            for (std::uint32_t i = 0; i < std::max(operand.count, 1u); ++i) {
                const std::string name =
                    operand.count == 0 ? operand.name : operand.name + "[" + std::to_string(i) + "]";
                if (operand.direction != Direction::out) text += name + " ";
                if (operand.direction != Direction::in) targets += " " + name;
            }
        const std::string name(file.name.substr(file.name.rfind('/') + 1));
        text += name.substr(0, name.size() - 5) + " ->" + targets;
        const auto direct = stack::compile(file.text, parsed->signature, {}, parsed->policy);
        ASSERT_TRUE(direct) << describe(direct.error(), file.text, file.name);
        const auto called = stack::compile(text, parsed->signature, {}, parsed->policy);
        if (parsed->signature.find(name.substr(0, name.size() - 5))) {
            EXPECT_FALSE(called) << text;  // an operand has the name
            continue;
        }
        ASSERT_TRUE(called) << describe(called.error(), text);
        EXPECT_EQ(called->ptx(), direct->ptx()) << file.name;
        const auto made =
            *stack::Machine::make(stack::find_set("standard"), parsed->signature, {.policy = parsed->policy});
        const Program program = *stack::parse(text, made);
        EXPECT_EQ(*stack::parse(stack::print(program, made), made), program) << file.name;
    }
    EXPECT_GT(count, 0);
}

TEST(StackText, AnImportIsFoundWithoutItsEndingAndTwiceIsOnce) {
    const std::string text = "import activation/relu\nimport activation/relu.stub\nx relu -> z";
    const auto program = stack::parse(text, machine());
    ASSERT_TRUE(program) << describe(program.error(), text);
    EXPECT_EQ(program->routines.size(), 1u);
    EXPECT_NE(describe_failure("import activation/rellu.stub\n")
                  .find("p.stub:1:8: error: the library has no stub activation/rellu.stub; did you mean "
                        "activation/relu.stub?"),
              std::string::npos);
}

// --- files

TEST(StackText, FilesAreASignatureLineAndAProgram) {
    const char* text =
        "# relu\r\n\r\nsignature: mod f32 acc, in f32 bias  # the epilogue\r\nacc bias add.f32 0.0 max.f32 "
        "-> acc\r\n";
    const auto file = stack::parse_file(text);
    ASSERT_TRUE(file) << describe(file.error(), text);
    EXPECT_EQ(file->signature.text(), Signature::parse("mod f32 acc, in f32 bias")->text());
    const Signature site = *Signature::parse("in u32 row, in f32 bias, mod f32 acc");
    const auto stub = stack::compile(text, site);
    ASSERT_TRUE(stub) << describe(stub.error(), text);
    EXPECT_EQ(body(stub->ptx()), "add.f32 %f0, _acc, _bias; max.f32 _acc, %f0, 0f00000000;");
}

TEST(StackText, FilesMustFitTheSite) {
    const Signature site = *Signature::parse("mod f32 acc, in f32 bias, in u32 row");
    struct Case {
        const char* text;
        Errc code;
    };
    for (const Case& c : {Case{"signature: mod f32 acc, in f32 scale\nacc scale mul.f32 -> acc",
                               Errc::stub_signature_mismatch},
                          Case{"signature: in f32 acc\n", Errc::stub_signature_mismatch},
                          Case{"signature: mod u32 acc\n", Errc::stub_signature_mismatch},
                          Case{"signature: mod f32 acc[2]\n", Errc::stub_signature_mismatch}}) {
        const auto stub = stack::compile(c.text, site);
        ASSERT_FALSE(stub) << c.text;
        EXPECT_EQ(stub.error().code, c.code) << describe(stub.error(), c.text);
        EXPECT_EQ(stub.error().span.begin, 0u);
    }
    const auto late = stack::compile("signature: mod f32 acc\nacc nope.f32 -> acc", site);
    ASSERT_FALSE(late);
    EXPECT_EQ(position("signature: mod f32 acc\nacc nope.f32 -> acc", late.error().span.begin).line, 2u);
    EXPECT_FALSE(stack::compile("signature: mod q32 acc\n", site));
    EXPECT_FALSE(stack::compile("signature: mod f32 acc\n", *Signature::parse("mod f32 acc, out f32 y")));
}

TEST(StackText, ASignatureLineSaysWhichEffectsAreNeeded) {
    const std::string text = "signature: in u64 q, mod f32 x allow load warp # both\nq ld.global.f32 -> x\n";
    const auto file = stack::parse_file(text);
    ASSERT_TRUE(file) << describe(file.error(), text);
    EXPECT_EQ(file->policy.allowed, Effect::load | Effect::warp);
    EXPECT_EQ(file->signature.operands.size(), 2u);
    EXPECT_TRUE(stack::compile(text, file->signature, {}, everything));
    EXPECT_NE(describe_failure(text, file->signature, {.allowed = Effect::load})
                  .find("p.stub:1:1: error: the site does not allow"),
              std::string::npos);
    const std::string undeclared = "signature: in u64 q, mod f32 x\nq ld.global.f32 -> x\n";
    EXPECT_NE(
        describe_failure(undeclared, file->signature).find("p.stub:2:3: error: ld.global.f32 is not allowed"),
        std::string::npos);
    EXPECT_NE(describe_failure("signature: mod f32 x allow lod\n", file->signature)
                  .find("p.stub:1:28: error: unknown effect 'lod'"),
              std::string::npos);
    EXPECT_NE(describe_failure("signature: mod f32 x allow\n", file->signature)
                  .find("p.stub:1:22: error: unknown effect"),
              std::string::npos);
    EXPECT_EQ(stack::parse_file("signature: in f32 allow\n")->signature.operands[0].name, "allow");
}

}  // namespace
}  // namespace ptxgraft
