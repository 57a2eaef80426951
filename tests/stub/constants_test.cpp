// Constants as data, and hashes in parts: programs that differ in constants alone are one structure.
#include <gtest/gtest.h>

#include <bit>
#include <set>

#include "ptxgraft/expression.hpp"
#include "ptxgraft/stack.hpp"
#include "support/random_programs.hpp"

namespace ptxgraft {
namespace {

using stack::Constants;

constexpr stack::CompileOptions as_data{.hash = true, .constants = Constants::data};

const Signature& constants_signature() {
    static const Signature made = *Signature::parse("mod f32 acc, in f32 bias, mod u32 n, mod f64 wide");
    return made;
}
Stub compiled(std::string_view text, const stack::CompileOptions& options = as_data) {
    auto stub = stack::compile(text, constants_signature(), {.compile = options});
    EXPECT_TRUE(stub) << describe(stub.error(), text);
    return *stub;
}
std::uint64_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

std::vector<std::uint64_t> constants_of(const Stub& stub) {
    return {stub.constants().begin(), stub.constants().end()};
}

TEST(StackConstants, AreLoadedInTheirOrder) {
    const Stub stub = compiled("acc 2.5 mul.f32 -1.0 max.f32 -> acc; n 7 and.b32 -> n");
    EXPECT_EQ(stub.ptx(),
              "\t{\n\t.reg .b32 %r<1>;\n\t.reg .f32 %f<3>;\n"
              "\tld.const.f32 %f0, [ptxgraft_constants+0];\n\tmul.f32 %f1, _acc, %f0;\n"
              "\tld.const.f32 %f2, [ptxgraft_constants+8];\n\tmax.f32 _acc, %f1, %f2;\n"
              "\tld.const.b32 %r0, [ptxgraft_constants+16];\n\tand.b32 _n, _n, %r0;\n\t}\n");
    EXPECT_EQ(constants_of(stub), (std::vector<std::uint64_t>{bits_of(2.5f), bits_of(-1.0f), 7}));
    // The loads are the library's: the site's policy need not allow any.
    EXPECT_EQ(stub.effects(), Effect::none);
}

TEST(StackConstants, VariantsAreOneTextAndOneStructure) {
    const Stub one = compiled("acc 2.5 mul.f32 -1.0 max.f32 -> acc"),
               other = compiled("acc 0.0 mul.f32 inf max.f32 -> acc");
    EXPECT_EQ(one.ptx(), other.ptx());
    EXPECT_TRUE(one.has_structure_of(other));
    EXPECT_EQ(one.dataflow_parts().structure, other.dataflow_parts().structure);
    EXPECT_NE(one.dataflow_parts().constants, other.dataflow_parts().constants);
    EXPECT_NE(one.dataflow_hash(), other.dataflow_hash());
    const auto moved = one.with_constants(other.constants());
    ASSERT_TRUE(moved);
    EXPECT_EQ(constants_of(*moved), constants_of(other));
    EXPECT_EQ(moved->dataflow_hash(), other.dataflow_hash());
    EXPECT_EQ(moved->dataflow_parts(), other.dataflow_parts());
    const auto wrong = one.with_constants(other.constants().first(1));
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, Errc::constants_differ);
}

// Literals have parts too: a search groups programs by them, whatever it compiles them to.
TEST(StackConstants, PartsOfTheHash) {
    constexpr stack::CompileOptions literals{.hash = true};
    const auto parts = [&](std::string_view text) { return compiled(text, literals).dataflow_parts(); };
    const DataflowParts of = parts("acc 2.0 mul.f32 3.0 add.f32 -> acc");
    EXPECT_EQ(of, compiled("acc 2.0 mul.f32 3.0 add.f32 -> acc").dataflow_parts());
    EXPECT_EQ(of.structure, parts("acc 3.0 mul.f32 3.0 add.f32 -> acc").structure);
    EXPECT_NE(of.constants, parts("acc 3.0 mul.f32 2.0 add.f32 -> acc").constants);
    EXPECT_EQ(of, parts("7.0 drop.f32 acc 2.0 mul.f32 3.0 add.f32 -> acc"));
    std::set<std::uint64_t> structures{of.structure};
    for (const char* text : {
             "acc 2.0 add.f32 3.0 mul.f32 -> acc",                 // other forms
             "acc 2.0 mul.f32 bias add.f32 -> acc",                // an operand for a constant
             "2.0 acc mul.f32 3.0 add.f32 -> acc",                 // another place
             "acc 3.0 dup.f32 rotate.f32 mul.f32 add.f32 -> acc",  // one constant at two places
             "acc 2.0 mul.f32 -> acc",                             // fewer
             "acc 2.0 mul.f32 3.0 add.f32 -> acc; 1 -> n",         // more
             "acc 2.0 mul.f32 3.0 add.f32 -> acc; 1.0f64 -> wide",
         })
        EXPECT_TRUE(structures.insert(parts(text).structure).second) << text;
}

TEST(StackConstants, ImmediatesAndPredsAreStructure) {
    const auto lop = [](const char* table) {
        return compiled(std::string("n n 5 ") + table + " lop3.b32 -> n");
    };
    EXPECT_NE(lop("0xE8").dataflow_parts().structure, lop("0x96").dataflow_parts().structure);
    EXPECT_FALSE(lop("0xE8").has_structure_of(lop("0x96")));
    EXPECT_EQ(constants_of(lop("0xE8")), (std::vector<std::uint64_t>{5}));
    const auto choose = [](const char* pred) {
        return compiled(std::string("acc bias ") + pred + " acc 1.0 setp.lt.f32 and.pred selp.f32 -> acc");
    };
    EXPECT_NE(choose("true").dataflow_parts().structure, choose("false").dataflow_parts().structure);
    EXPECT_EQ(choose("true").constants().size(), 1u);
}

// With equal constants shared, programs that differ in them would be two structures.
TEST(StackConstants, EqualConstantsAreNotShared) {
    stack::CompileOptions options = as_data;
    options.reuse = true;
    const Stub equal = compiled("acc 2.0 mul.f32 2.0 add.f32 -> acc", options),
               different = compiled("acc 2.0 mul.f32 3.0 add.f32 -> acc", options);
    EXPECT_EQ(equal.ptx(), different.ptx());
    EXPECT_EQ(equal.dataflow_parts().structure, different.dataflow_parts().structure);
    options.fold = true;
    const Stub folded = compiled("acc 2.0 3.0 mul.f32 add.f32 -> acc", options);
    EXPECT_EQ(constants_of(folded), (std::vector<std::uint64_t>{bits_of(6.0f)}));
}

TEST(StackConstants, ExpressionsHaveThem) {
    const ExpressionOptions options{.constants = Constants::data};
    const auto one = compile_expression("acc = acc * 2.0 + bias * 0.5", constants_signature(), options),
               other = compile_expression("acc = acc * 1.5 + bias * 0.25", constants_signature(), options);
    ASSERT_TRUE(one && other);
    EXPECT_EQ(one->ptx(), other->ptx());
    EXPECT_TRUE(one->has_structure_of(*other));
    EXPECT_EQ(constants_of(*other), (std::vector<std::uint64_t>{bits_of(1.5f), bits_of(0.25f)}));
}

TEST(StackConstants, MoreThanABankHoldsIsAnError) {
    const stack::Machine machine = *stack::Machine::make(stack::find_set("f32"), constants_signature());
    stack::Program program;
    const auto add = stack::parse("acc bias add.f32 -> acc", machine)->code[2];
    program.code.push_back({stack::Opcode::input, 0, 0, 0});
    for (std::uint32_t i = 0; i <= stack::most_data_constants; ++i) {
        program.code.push_back({stack::Opcode::constant, stack::type_id(Type::f32), 0, i});
        program.code.push_back(add);
    }
    program.code.push_back({stack::Opcode::assign, 0, 0, 0});
    stack::Compiler compiler;
    const auto too_many = compiler.compile(program, machine, as_data);
    ASSERT_FALSE(too_many);
    EXPECT_EQ(too_many.error().code, Errc::stack_limit_exceeded);
    program.code.erase(program.code.begin() + 1, program.code.begin() + 3);
    const auto most = compiler.compile(program, machine, as_data);
    ASSERT_TRUE(most) << describe(most.error());
    EXPECT_EQ(most->constants.size(), stack::most_data_constants);
}

// Changes the values of a program's constants and nothing else.
stack::Program with_other_constants(stack::Program program, test::RandomPrograms& random) {
    const auto change = [&](std::vector<stack::Instruction>& code) {
        for (stack::Instruction& i : code)
            if (i.opcode == stack::Opcode::constant && i.type != stack::type_id(Type::pred))
                i.payload = static_cast<std::uint32_t>(random.below(~0ull));
    };
    change(program.code);
    for (stack::Routine& routine : program.routines) change(routine.code);
    return program;
}

// Arenas of exactly the bound; the parts of literals and of data are the same; other constants change no
// text.
TEST(StackConstants, RandomProgramsHaveOneStructure) {
    test::RandomPrograms random(5);
    std::size_t with_constants = 0, changed = 0;
    for (int n = 0; n < 2000; ++n) {
        const Signature operands = random.signature();
        const auto machine = stack::Machine::make(stack::find_set("standard"), operands);
        ASSERT_TRUE(machine);
        const stack::Program program = random.program(*machine),
                             variant = with_other_constants(program, random);
        stack::CompileOptions options = random.lenient();
        options.limits.steps = 1u << 12;
        options.hash = true;
        options.fold = false;  // what cannot be computed of some constants stays a form
        options.reuse = false;
        const auto literal = stack::dataflow_parts(program, *machine, options);
        options.constants = Constants::data;
        std::vector<std::byte> arena(stack::arena_bound(program, *machine, options) + 64),
            other_arena(stack::arena_bound(variant, *machine, options) + 64);
        const auto aligned = [](std::vector<std::byte>& bytes) {
            const std::size_t past = reinterpret_cast<std::uintptr_t>(bytes.data()) % 64;
            return std::span(bytes).subspan(past == 0 ? 0 : 64 - past).first(bytes.size() - 64);
        };
        const auto data = stack::compile(program, *machine, aligned(arena), options),
                   other = stack::compile(variant, *machine, aligned(other_arena), options);
        ASSERT_EQ(literal.has_value(), data.has_value());
        ASSERT_EQ(other.has_value(), data.has_value());
        if (!data) continue;
        EXPECT_EQ(*literal, data->parts) << data->ptx;
        ASSERT_EQ(data->ptx, other->ptx) << stack::print(program, *machine);
        EXPECT_EQ(data->parts.structure, other->parts.structure);
        ASSERT_EQ(data->constants.size(), other->constants.size());
        with_constants += !data->constants.empty();
        changed += !std::ranges::equal(data->constants, other->constants);
        EXPECT_EQ(data->parts.constants == other->parts.constants,
                  std::ranges::equal(data->constants, other->constants));
        if (HasFailure()) return;
    }
    EXPECT_GT(with_constants, 500u);
    EXPECT_GT(changed, 300u);
}

TEST(StackConstants, BatchesHaveThem) {
    const stack::Machine machine = *stack::Machine::make(stack::find_set("f32"), constants_signature());
    std::vector<stack::Program> programs;
    for (int i = 0; i < 500; ++i)
        programs.push_back(*stack::parse(
            i % 3 == 0 ? "acc bias add.f32 -> acc" : "acc " + std::to_string(i) + ".0 mul.f32 -> acc",
            machine));
    const std::vector<stack::ProgramView> views(programs.begin(), programs.end());
    const stack::Batch batch = stack::compile_batch(views, machine, {.compile = as_data, .threads = 3});
    ASSERT_TRUE(batch.errors.empty());
    for (std::size_t i = 0; i < views.size(); ++i) {
        const auto& item = batch.items[i];
        ASSERT_EQ(item.constants_end - item.constants_begin, i % 3 == 0 ? 0u : 1u);
        if (i % 3 == 0) continue;
        EXPECT_EQ(batch.constants[item.constants_begin], bits_of(static_cast<float>(i)));
        EXPECT_EQ(item.parts.structure, batch.items[1].parts.structure);
    }
}

}  // namespace
}  // namespace ptxgraft
