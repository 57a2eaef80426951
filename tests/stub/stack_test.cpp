// Programs of the stack language: parsed, compiled, evaluated.
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "ptxgraft/stack.hpp"
#include "support/stub_text.hpp"

// Calls of operator new so far, counted by allocations.cpp
extern std::size_t allocations;

namespace ptxgraft {
namespace {

using stack::Instruction;
using stack::Opcode;
using stack::Program;
using test::body;

// Everything may stand in it.
constexpr Policy everything{.allowed = Effect::all, .pure = false};

const Signature& signature() {
    static const Signature s = *Signature::parse(
        "mod f32 x, mod f32 y, mod f32 z, in f32 a, in u32 n, mod s32 m, mod pred p, mod f32 frag[4], in f64 "
        "d, mod b32 w");
    return s;
}

const stack::Machine& machine() {
    static const stack::Machine m =
        *stack::Machine::make(stack::find_set("standard"), signature(), {.policy = everything});
    return m;
}

struct StackRow {
    const char* program;
    const char* ptx;
};

class StackCompiles : public testing::TestWithParam<StackRow> {};

TEST_P(StackCompiles, ToThisPtx) {
    const auto stub = stack::compile(GetParam().program, signature());
    ASSERT_TRUE(stub) << describe(stub.error(), GetParam().program);
    EXPECT_EQ(body(stub->ptx()), GetParam().ptx);
    const auto cubin = test::assemble(test::kernel(signature(), stub->ptx()));
    EXPECT_TRUE(cubin) << describe(cubin.error(), test::kernel(signature(), stub->ptx()));
}

INSTANTIATE_TEST_SUITE_P(
    Stack, StackCompiles,
    testing::Values(
        StackRow{"", ""}, StackRow{"  # nothing\r\n// at all\r\n", ""}, StackRow{"x -> x", ""},
        // operands in writing order
        StackRow{"x y sub.f32 -> z", "sub.f32 _z, _x, _y;"},
        StackRow{"x y p selp.f32 -> z", "selp.f32 _z, _x, _y, _p;"},
        StackRow{"x y z fma.rn.f32 -> x", "fma.rn.f32 _x, _x, _y, _z;"},
        // assignments
        StackRow{"x y -> y x", "mov.f32 %f0, _x; mov.f32 _x, _y; mov.f32 _y, %f0;"},
        StackRow{"x y -> x y", ""}, StackRow{"x y -> z x", "mov.f32 _z, _x; mov.f32 _x, _y;"},
        StackRow{"x y add.f32 x -> x z", "add.f32 %f0, _x, _y; mov.f32 _z, _x; mov.f32 _x, %f0;"},
        StackRow{"x y add.f32 -> z; z -> x", "add.f32 %f0, _x, _y; mov.f32 _x, _z; mov.f32 _z, %f0;"},
        StackRow{"1.0 -> x; x -> y", "mov.f32 _y, _x; mov.f32 _x, 0f3F800000;"},
        StackRow{"a a mul.f32 dup.f32 -> x y", "mul.f32 _x, _a, _a; mov.f32 _y, _x;"},
        StackRow{"m x -> m y", "mov.f32 _y, _x;"}, StackRow{"x->y", "mov.f32 _y, _x;"},
        StackRow{"frag[3] -> frag[0]", "mov.f32 _frag0, _frag3;"}, StackRow{"n -> w", "mov.b32 _w, _n;"},
        StackRow{"w n and.b32 -> w", "and.b32 _w, _w, _n;"},
        // only live code, a shared value once
        StackRow{"x y mul.f32 drop.f32 x y add.f32 -> z", "add.f32 _z, _x, _y;"},
        StackRow{"x y mul.f32 dup.f32 add.f32 -> z", "mul.f32 %f0, _x, _y; add.f32 _z, %f0, %f0;"},
        StackRow{"x y swap.f32 sub.f32 -> z", "sub.f32 _z, _y, _x;"},
        StackRow{"x y over.f32 sub.f32 mul.f32 -> z", "sub.f32 %f0, _y, _x; mul.f32 _z, _x, %f0;"},
        StackRow{"x y z rotate.f32 sub.f32 mul.f32 -> x", "sub.f32 %f0, _z, _x; mul.f32 _x, _y, %f0;"},
        // literals
        StackRow{"1.5 -0.0 -> x y", "mov.f32 _x, 0f3FC00000; mov.f32 _y, 0f80000000;"},
        StackRow{"1e-3 .5 -> x y", "mov.f32 _x, 0f3A83126F; mov.f32 _y, 0f3F000000;"},
        StackRow{"0f7FC12345 inf -> x y", "mov.f32 _x, 0f7FC12345; mov.f32 _y, 0f7F800000;"},
        StackRow{"-inf nan -> x y", "mov.f32 _x, 0fFF800000; mov.f32 _y, 0f7FFFFFFF;"},
        StackRow{"-7 -> m", "mov.b32 _m, -7;"}, StackRow{"7s32 -> m", "mov.b32 _m, 7;"},
        StackRow{"-2147483648 -> m", "mov.b32 _m, -2147483648;"},
        StackRow{"4294967295 -> w", "mov.b32 _w, 4294967295;"}, StackRow{"0x1F -> w", "mov.b32 _w, 31;"},
        StackRow{"1f32 16777217f32 -> x y", "mov.f32 _x, 0f3F800000; mov.f32 _y, 0f4B800000;"},
        StackRow{"1e-45 -> x", "mov.f32 _x, 0f00000001;"},
        StackRow{"7b32 8U xor.b32 -> w", "xor.b32 _w, 7, 8;"},
        // predicates
        StackRow{"x y setp.lt.f32 -> p", "setp.lt.f32 _p, _x, _y;"},
        StackRow{"x y p setp.lt.and.f32 -> p", "setp.lt.and.f32 _p, _x, _y, _p;"},
        StackRow{"p not.pred true or.pred -> p", "not.pred %p0, _p; mov.pred %p1, 1; or.pred _p, %p0, %p1;"},
        StackRow{"false -> p", "mov.pred _p, 0;"},
        // conversions, casts, immediates
        StackRow{"n cvt.rn.f32.u32 -> x", "cvt.rn.f32.u32 _x, _n;"},
        StackRow{"n as.s32.u32 m add.s32 -> m", "add.s32 _m, _n, _m;"},
        StackRow{"x as.s32.f32 -> m", "mov.b32 _m, _x;"},
        StackRow{"1.0 as.u32.f32 -> w", "mov.b32 _w, 1065353216;"},
        StackRow{"-1 as.u32.s32 -> w", "mov.b32 _w, 4294967295;"},
        StackRow{"n 300 8 bfe.u32 -> w", "mov.b32 %r0, 300; bfe.u32 _w, _n, %r0, 8;"},
        StackRow{"n w n 0x96 lop3.b32 -> w", "lop3.b32 _w, _n, _w, _n, 150;"}));

struct BadStack {
    const char* program;
    Errc code;
    std::uint32_t line, column;
};

class StackRefuses : public testing::TestWithParam<BadStack> {};

TEST_P(StackRefuses, AtThisPlace) {
    const auto stub = stack::compile(GetParam().program, signature());
    ASSERT_FALSE(stub) << stub->ptx();
    EXPECT_EQ(name(stub.error().code), name(GetParam().code)) << describe(stub.error(), GetParam().program);
    ASSERT_TRUE(stub.error().span.known());
    const Position at = position(GetParam().program, stub.error().span.begin);
    EXPECT_EQ(at.line, GetParam().line) << describe(stub.error(), GetParam().program);
    EXPECT_EQ(at.column, GetParam().column) << describe(stub.error(), GetParam().program);
}

INSTANTIATE_TEST_SUITE_P(
    Stack, StackRefuses,
    testing::Values(BadStack{"x add.f33 -> x", Errc::stack_word_unknown, 1, 3},
                    BadStack{"x\r\n q -> x", Errc::stack_word_unknown, 2, 2},
                    BadStack{"x ld.global.f33 -> x", Errc::stack_word_unknown, 1, 3},
                    BadStack{"0u64 ld.global.f32 -> x", Errc::stub_effect_forbidden, 1, 6},
                    BadStack{"x sub.f32 -> z", Errc::stack_values_missing, 1, 3},
                    BadStack{"-> x", Errc::stack_values_missing, 1, 4},
                    BadStack{"n m add.s32 -> m", Errc::stack_values_missing, 1, 5},
                    BadStack{"7 -> x", Errc::stack_values_missing, 1, 6},
                    BadStack{"dup.f32", Errc::stack_values_missing, 1, 1},
                    BadStack{"x rotate.f32", Errc::stack_values_missing, 1, 3},
                    BadStack{"as.u32.f32", Errc::stack_values_missing, 1, 1},
                    BadStack{"x y -> z", Errc::stack_leftover, 1, 1},
                    BadStack{"x y add.f32 1.0 -> z", Errc::stack_leftover, 1, 5},
                    BadStack{"x -> a", Errc::stack_input_assigned, 1, 6},
                    BadStack{"x y -> z z", Errc::stack_assigned_twice, 1, 8},
                    BadStack{"x ->", Errc::stack_assignment_wrong, 1, 3},
                    BadStack{"x -> foo", Errc::stack_assignment_wrong, 1, 6},
                    BadStack{"x -> y add.f32", Errc::stack_assignment_wrong, 1, 8},
                    BadStack{"x y -> y -> x", Errc::stack_assignment_wrong, 1, 10},
                    BadStack{"frag -> x", Errc::stack_element_out_of_range, 1, 1},
                    BadStack{"frag[4] -> x", Errc::stack_element_out_of_range, 1, 1},
                    BadStack{"frag[-1] -> x", Errc::stack_element_out_of_range, 1, 1},
                    BadStack{"x[0] -> x", Errc::stack_element_out_of_range, 1, 1},
                    BadStack{"frag[99999999999] -> x", Errc::stack_element_out_of_range, 1, 1},
                    BadStack{"frag[] -> x", Errc::stack_element_out_of_range, 1, 1},
                    BadStack{"d -> x", Errc::stack_values_missing, 1, 6},
                    BadStack{"1.5f64 -> x", Errc::stack_values_missing, 1, 11},
                    BadStack{"0d3FF0000000000000 -> x", Errc::stack_values_missing, 1, 23},
                    BadStack{"x dup.f16", Errc::stack_values_missing, 1, 3},
                    BadStack{"7u64 -> x", Errc::stack_values_missing, 1, 9},
                    BadStack{"4294967296 -> w", Errc::stack_literal_out_of_range, 1, 1},
                    BadStack{"-2147483649 -> m", Errc::stack_literal_out_of_range, 1, 1},
                    BadStack{"2147483648s32 -> m", Errc::stack_literal_out_of_range, 1, 1},
                    BadStack{"-7u32 -> w", Errc::stack_literal_out_of_range, 1, 1},
                    BadStack{"1e39 -> x", Errc::stack_literal_out_of_range, 1, 1},
                    BadStack{"1e-60 -> x", Errc::stack_literal_out_of_range, 1, 1},
                    BadStack{"99999999999999999999 -> w", Errc::stack_literal_out_of_range, 1, 1},
                    BadStack{"0f3F80 -> x", Errc::stack_literal_malformed, 1, 1},
                    BadStack{"1.5u32 -> w", Errc::stack_literal_malformed, 1, 1},
                    BadStack{"7q -> w", Errc::stack_literal_malformed, 1, 1},
                    BadStack{"- -> w", Errc::stack_literal_malformed, 1, 1},
                    BadStack{". -> x", Errc::stack_literal_malformed, 1, 1},
                    BadStack{"017 -> w", Errc::stack_literal_malformed, 1, 1},
                    BadStack{"0x -> w", Errc::stack_literal_malformed, 1, 1},
                    BadStack{"1.5e -> x", Errc::stack_literal_malformed, 1, 1},
                    BadStack{"0x1.8 -> x", Errc::stack_literal_malformed, 1, 1},
                    BadStack{"n n n n lop3.b32 -> w", Errc::stack_literal_required, 1, 9},
                    BadStack{"n n n 256 lop3.b32 -> w", Errc::stack_literal_required, 1, 11},
                    BadStack{"p as.u32.pred -> w", Errc::stack_word_unknown, 1, 3},
                    BadStack{"!12 -> x", Errc::stack_word_unknown, 1, 1},
                    BadStack{"\x01\xFF -> x", Errc::stack_word_unknown, 1, 1}));

TEST(Stack, AnUnassignedOutIsAnError) {
    const Signature s = *Signature::parse("in f32 x, out f32 y");
    const auto stub = stack::compile("x drop.f32", s);
    ASSERT_FALSE(stub);
    EXPECT_EQ(stub.error().code, Errc::stack_output_missing);
    EXPECT_NE(message(stub.error()).find("-> y"), std::string::npos);
    const auto read = stack::compile("y -> y", s);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Errc::stack_output_read);
    EXPECT_FALSE(stack::compile("", s));
}

TEST(Stack, ErrorsSayWhatWouldBeRight) {
    const auto say = [](const char* program) {
        return describe(stack::compile(program, signature()).error(), program, "p.stub");
    };
    EXPECT_NE(say("x y add -> z").find("did you mean add.f32"), std::string::npos);
    EXPECT_NE(say("x y x fma.f32 -> z").find("did you mean fma.rn.f32,"), std::string::npos);
    EXPECT_NE(say("x y mx.f32 -> z").find("did you mean max.f32?"), std::string::npos);
    EXPECT_NE(say("x y mul.rn.f33 -> z").find("mul.rn.f32"), std::string::npos);
    EXPECT_NE(say("fraq[0] -> x").find("frag[0]"), std::string::npos);
    EXPECT_NE(say("n -> x").find("cvt.rn.f32.u32"), std::string::npos);
    EXPECT_EQ(say("x\ny sub -> z").substr(0, 11), "p.stub:2:3:");
}

// --- parallel copies: every way to assign four operands from five values, executed

using Registers = std::map<std::string, std::string>;

Registers execute_moves(const std::string& text) {
    Registers registers;
    std::size_t at = 0;
    while ((at = text.find("mov.", at)) != std::string::npos) {
        const std::size_t to = text.find(' ', at) + 1, comma = text.find(',', to),
                          end = text.find(';', comma);
        const std::string source = text.substr(comma + 2, end - comma - 2);
        registers[text.substr(to, comma - to)] = registers.count(source) != 0 ? registers[source] : source;
        at = end;
    }
    return registers;
}

TEST(Stack, AssignmentsAreAParallelCopy) {
    const std::string names[] = {"frag[0]", "frag[1]", "frag[2]", "frag[3]", "a", "1.0"};
    const std::string values[] = {"_frag0", "_frag1", "_frag2", "_frag3", "_a", "0f3F800000"};
    stack::Compiler compiler;
    for (int code = 0; code < 6 * 6 * 6 * 6; ++code) {
        const int source[] = {code % 6, code / 6 % 6, code / 36 % 6, code / 216};
        std::string program;
        for (const int s : source) program += names[s] + " ";
        program += "-> frag[0] frag[1] frag[2] frag[3]";
        const auto parsed = stack::parse(program, machine());
        ASSERT_TRUE(parsed) << program;
        const auto compiled = compiler.compile(*parsed, machine());
        ASSERT_TRUE(compiled) << program;
        const Registers result = execute_moves(std::string(compiled->ptx));
        for (int i = 0; i < 4; ++i) {
            const auto at = result.find(values[i]);
            EXPECT_EQ(at == result.end() ? values[i] : at->second, values[source[i]]) << program << "\n"
                                                                                      << compiled->ptx;
        }
    }
}

// --- programs as bytes

// Random bytes, or instructions that mean something more often.
std::vector<Instruction> random_code(std::mt19937_64& random, std::size_t size, bool any_bytes) {
    const auto entries = static_cast<std::uint32_t>(machine().set().entries().size());
    std::vector<Instruction> code(size);
    for (Instruction& instruction : code) {
        instruction = std::bit_cast<Instruction>(random());
        if (any_bytes) continue;
        const auto pick = [&](std::uint64_t n) { return static_cast<std::uint16_t>(random() % n); };
        constexpr Type types[] = {Type::pred, Type::u32, Type::s32, Type::f32,
                                  Type::b32,  Type::f64, Type::f16};
        const auto type = stack::type_id(types[pick(7)]);
        const Opcode opcode = pick(2) == 0   ? static_cast<Opcode>(pick(stack::opcode_count))
                              : pick(2) == 0 ? Opcode::input
                                             : Opcode::form;
        switch (opcode) {
            case Opcode::input:
            case Opcode::assign: instruction = {opcode, 0, pick(11), 0}; break;
            case Opcode::form:
                instruction = {opcode, 0, pick(entries),
                               pick(3) == 0 ? 0 : static_cast<std::uint32_t>(random())};
                break;
            case Opcode::cast: instruction = {opcode, type, stack::type_id(types[pick(7)]), 0}; break;
            case Opcode::constant:
                instruction = {opcode, type, 0, static_cast<std::uint32_t>(random())};
                break;
            case Opcode::repeat: instruction = {opcode, 0, 0, pick(4)}; break;
            case Opcode::if_:
            case Opcode::else_:
            case Opcode::end: instruction = {opcode, 0, 0, 0}; break;
            case Opcode::call: instruction = {opcode, 0, pick(3), 0}; break;
            default: instruction = {opcode, type, 0, pick(4)}; break;
        }
    }
    return code;
}

Program random_program(std::mt19937_64& random, bool any_bytes) {
    Program program;
    program.code = random_code(random, random() % 100, any_bytes);
    for (std::size_t i = random() % 4; i-- > 0;)
        program.pool.push_back(random() % 2 == 0 ? random() : random() % 100);
    for (std::size_t i = random() % 3; i-- > 0;)
        program.routines.push_back({"r" + std::to_string(i),
                                    {stack::type_id(Type::f32)},
                                    {stack::type_id(Type::f32)},
                                    random_code(random, random() % 10, any_bytes)});
    return program;
}

TEST(Stack, AnyBytesCompileWhenNothingIsAnError) {
    std::mt19937_64 random(7);
    stack::Compiler compiler;
    for (int i = 0; i < 3000; ++i) {
        const Program program = random_program(random, i % 4 == 0);
        const auto compiled = compiler.compile(program, machine(), stack::mutated);
        ASSERT_TRUE(compiled) << describe(compiled.error());
        (void)compiler.compile(program, machine());  // a clear error or a result
    }
}

TEST(Stack, AnyBytesRoundTripThroughText) {
    std::mt19937_64 random(8);
    for (int i = 0; i < 1500; ++i) {
        const Program program = random_program(random, i % 4 == 0);
        const std::string text = stack::print(program, machine());
        const auto again = stack::parse(text, machine());
        ASSERT_TRUE(again) << describe(again.error(), text);
        EXPECT_EQ(*again, program) << text;
    }
}

TEST(Stack, AnOutputThatASkippingProgramMissesIsZero) {
    const Signature s = *Signature::parse("in f32 x, out f32 y, out pred p");
    const auto made = *stack::Machine::make(stack::find_set("standard"), s);
    const auto stub = stack::make_stub(Program{}, made, stack::mutated);
    ASSERT_TRUE(stub);
    EXPECT_EQ(body(stub->ptx()), "mov.f32 _y, 0f00000000; mov.pred _p, 0;");
}

TEST(Stack, RegistersNeverClashWithOperands) {
    Signature s = *Signature::parse("mod f32 x, mod f32 y, mod pred p");
    s.operands[0].register_name = "%f0";
    s.operands[1].register_name = "%f$0_1";
    s.operands[2].register_name = "%p7";
    const auto stub = stack::compile("x y -> y x", s);
    ASSERT_TRUE(stub);
    EXPECT_EQ(body(stub->ptx()), "mov.f32 %f$1_0, %f0; mov.f32 %f0, %f$0_1; mov.f32 %f$0_1, %f$1_0;");
    EXPECT_TRUE(test::assemble(test::kernel(s, stub->ptx())));
}

TEST(Stack, CompilingDoesNotAllocateAfterTheFirstCall) {
    std::string text = "x";
    for (int i = 0; i < 100; ++i) text += i % 2 == 0 ? " y mul.rn.f32" : " 0.5 add.f32";
    text += " -> x\nfrag[0] frag[1] -> frag[1] frag[0]";
    const Program program = *stack::parse(text, machine());
    stack::Compiler compiler;
    const std::string first(compiler.compile(program, machine())->ptx);
    const std::size_t before = allocations;
    bool same = true;
    for (int i = 0; i < 10; ++i) {
        const auto compiled = compiler.compile(program, machine());
        same = same && compiled && compiled->ptx == first && compiled->instruction_count == 103;
    }
    EXPECT_EQ(allocations, before);
    EXPECT_TRUE(same);
    (void)std::string(64, 'x');
    EXPECT_GT(allocations, before);  // the count counts
}

TEST(Stack, TextsOfAnyLengthTakeTheSameAllocations) {
    const auto count = [](int instructions) {
        std::string text = "x";
        for (int i = 0; i < instructions; ++i) text += " y mul.rn.f32 1.5f64 drop.f64";
        text += " -> x";
        (void)*stack::compile(text, signature());
        const std::size_t before = allocations;
        (void)*stack::compile(text, signature());
        return allocations - before;
    };
    EXPECT_EQ(count(500), count(5));
}

TEST(Stack, LeftoversAreFoundBesideStrayBrackets) {
    const Program p{{{Opcode::input, 0, 0, 0}, {Opcode::else_}, {Opcode::end}}, {}, {}};
    stack::CompileOptions options = stack::mutated;
    options.requests = stack::Requests::assigned;
    options.leftover = stack::Leftover::error;
    EXPECT_FALSE(stack::Compiler().compile(p, machine(), options));
}

TEST(Stack, LongProgramsCompile) {
    std::string text = "x";
    for (int i = 0; i < 20000; ++i) text += " y add.rn.f32";
    const auto stub = stack::compile(text + " -> x", signature());
    ASSERT_TRUE(stub);
    EXPECT_EQ(stub->instruction_count(), 20000u);
    EXPECT_TRUE(test::assemble(test::kernel(signature(), stub->ptx())));
}

TEST(Stack, SignaturesThatAreTooLargeAreErrors) {
    Signature s = *Signature::parse("mod f32 x");
    s.operands[0].count = 0xFFFFFFFF;
    const auto stub = stack::compile("", s);
    ASSERT_FALSE(stub);
    EXPECT_EQ(stub.error().code, Errc::stack_too_large);
}

}  // namespace
}  // namespace ptxgraft
