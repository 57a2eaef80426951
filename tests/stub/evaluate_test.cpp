// Programs evaluated on the CPU: against the emulator running the PTX that they compile to, bit for bit, and
// by hand.
#include "ptxgraft/evaluate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "ptxgraft/emulator.hpp"
#include "ptxgraft/isa.hpp"
#include "support/evaluation.hpp"
#include "support/kernel_text.hpp"
#include "support/open_forms.hpp"

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
using test::Register;
using test::registers;
using test::Table;
using test::Values;

// ---- the emulator -----------------------------------------------------------------------------------------

// A kernel that reads every register from a column, runs the body and writes them back. `columns` is the
// table of the columns' addresses.
std::string kernel(const std::vector<Register>& all, std::string_view body) {
    std::string text;
    for (const Register& r : all)
        text += "\t.reg " + std::string(register_type(r.type)) + " " + r.name + ";\n";
    text += "\tld.param.u64 %zt, [columns];\n\tmov.u32 %zi, %tid.x;\n";
    const auto address = [&](std::size_t i) {
        text += "\tld.global.u64 %zb, [%zt+" + std::to_string(8 * i) + "];\n\tmul.wide.u32 %za, %zi, " +
                std::to_string(all[i].bytes()) + ";\n\tadd.u64 %za, %za, %zb;\n";
    };
    for (std::size_t i = 0; i < all.size(); ++i) {
        address(i);
        if (all[i].type == Type::pred)
            text += "\tld.global.u8 %zh, [%za];\n\tsetp.ne.u16 " + all[i].name + ", %zh, 0;\n";
        else
            text += "\tld.global.b" + std::to_string(8 * all[i].bytes()) + " " + all[i].name + ", [%za];\n";
    }
    text += body;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].direction == Direction::in) continue;
        address(i);
        if (all[i].type == Type::pred)
            text += "\tselp.u16 %zh, 1, 0, " + all[i].name + ";\n\tst.global.u8 [%za], %zh;\n";
        else
            text += "\tst.global.b" + std::to_string(8 * all[i].bytes()) + " [%za], " + all[i].name + ";\n";
    }
    return test::kernel_text({.version = "9.0",
                              .target = "sm_100a",
                              .parameters = {"u64 columns"},
                              .registers = {"u64 %zt, %za, %zb", "b32 %zi", "b16 %zh"},
                              .body = text});
}

class Emulated {
  public:
    explicit Emulated(const Table& table) : table_(table) {
        for (const Column& column : table.columns) addresses_.push_back(*emulator_.allocate(column.size()));
        table_address_ = *emulator_.allocate(8 * addresses_.size());
        EXPECT_TRUE(emulator_.write(table_address_, std::as_bytes(std::span(addresses_))));
    }
    Expected<std::vector<Column>> run(const std::string& ptx) {
        for (std::size_t i = 0; i < addresses_.size(); ++i)
            EXPECT_TRUE(emulator_.write(addresses_[i], table_.columns[i]));
        const auto module = emulator_.load(ptx);
        if (!module) return tl::unexpected(module.error());
        const std::span<const std::byte> argument = std::as_bytes(std::span(&table_address_, 1));
        const auto done = emulator_.launch(
            **module, "k", {.block = {static_cast<uint32_t>(table_.count), 1, 1}}, std::span(&argument, 1));
        if (!done) return tl::unexpected(done.error());
        std::vector<Column> results = table_.columns;
        for (std::size_t i = 0; i < addresses_.size(); ++i)
            EXPECT_TRUE(emulator_.read(addresses_[i], results[i]));
        return results;
    }

  private:
    Emulator emulator_{EmulatorOptions{.threads = 1}};
    const Table& table_;
    std::vector<uint64_t> addresses_;
    uint64_t table_address_ = 0;
};

uint64_t number_from(const char* name, uint64_t otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

void agrees_with_the_emulator(Values values, uint64_t programs) {
    const uint64_t begin = number_from("PTXGRAFT_SEED", 0);
    programs = number_from("PTXGRAFT_PROGRAMS", programs);
    ASSERT_NE(exact_set(), nullptr);
    const auto machine = stack::Machine::make(exact_set(), every_type(),
                                              {.policy = {}, .target = {100, 'a'}, .ptx_version = 90});
    ASSERT_TRUE(machine) << describe(machine.error(), "");
    const Table table(every_type(), 96, begin + 1, values);
    Emulated emulated(table);
    stack::Compiler compiler;
    uint64_t evaluated = 0;
    std::map<std::string, int> missing;
    for (uint64_t seed = begin; seed < begin + programs && !testing::Test::HasFailure(); ++seed) {
        const stack::Program program = stack::random_program(*machine, seed, 30);
        stack::CompileOptions options = stack::mutated;
        options.fold = seed % 3 == 0;
        options.reuse = seed % 2 == 0;
        const auto compiled = compiler.compile(program, *machine, options);
        ASSERT_TRUE(compiled) << describe(compiled.error(), "");
        const auto evaluator = stack::Evaluator::make(program, *machine, options);
        if (!evaluator) {
            ASSERT_EQ(evaluator.error().code, Errc::instruction_not_evaluable);
            ++missing[describe(evaluator.error(), "")];
            continue;
        }
        ++evaluated;
        const std::string ptx = kernel(table.registers, compiled->ptx);
        const auto expected = emulated.run(ptx);
        ASSERT_TRUE(expected) << describe(expected.error(), ptx) << "\n" << compiled->ptx;
        const auto results = table.evaluate(*evaluator);
        EXPECT_EQ(difference(table, results, *expected), "") << "program " << seed << "\n" << compiled->ptx;
        EXPECT_EQ(difference(table, table.evaluate_in_place(*evaluator), results), "")
            << "program " << seed << " in place";
    }
    std::string list;
    for (const auto& [name, count] : missing) list += name + " ";
    EXPECT_EQ(evaluated, programs) << "not evaluated: " << list;
}

TEST(Evaluate, AgreesWithTheEmulatorOnRandomProgramsOfExactForms) {
    agrees_with_the_emulator(Values::any, 1500);
}
TEST(Evaluate, AgreesWithTheEmulatorOnNaNsInfinitiesSubnormalsAndZeros) {
    agrees_with_the_emulator(Values::special, 500);
}

// ---- by hand ----------------------------------------------------------------------------------------------

TEST(Evaluate, ComputesTheExampleOfTheManual) {
    const stack::Machine machine = machine_of("mod f32 acc, in f32 bias");
    const stack::Evaluator evaluator = evaluator_of("acc bias add.f32 0.0 max.f32 -> acc", machine);
    EXPECT_EQ(evaluator.instruction_count(), 2u);
    const std::vector<float> acc = {-3, 1, 2.5f}, bias = {1, 1, 1};
    std::vector<float> result(3);
    evaluator.run(
        {std::vector<const void*>{acc.data(), bias.data()}, std::vector<void*>{result.data(), nullptr}, 3});
    EXPECT_EQ(result, (std::vector<float>{0, 2, 3.5f}));
}

TEST(Evaluate, OutputsMayStandWhereInputsStand) {
    const stack::Machine machine = machine_of("mod f32 x, mod f32 y, mod f32 z");
    const stack::Evaluator evaluator = evaluator_of("x y -> y x", machine);
    std::vector<float> x(5000), y(5000), z(5000);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i), y[i] = -1, z[i] = 7;
    const std::vector<void*> columns = {x.data(), y.data(), z.data()};
    evaluator.run({std::vector<const void*>(columns.begin(), columns.end()), columns, x.size()});
    EXPECT_EQ(x[4999], -1);
    EXPECT_EQ(y[4999], 4999);
    EXPECT_EQ(z[4999], 7);  // keeps its value
    // … also where another column is written over the place that it is read from
    std::vector<float> kept(5000);
    evaluator.run({std::vector<const void*>(columns.begin(), columns.end()),
                   std::vector<void*>{z.data(), y.data(), kept.data()}, x.size()});
    EXPECT_EQ(kept[4999], 7);
    EXPECT_EQ(z[4999], 4999);
}

TEST(Evaluate, EveryCountOfPoints) {
    const stack::Machine machine = machine_of("in f64 x, in pred p, out f64 y, out b32 bits[2], out pred q");
    const stack::Evaluator evaluator = evaluator_of(
        "x x add.f64 x p selp.f64 dup.f64 -> y; as.u64.f64 mov.b64:to.b32x2 -> bits[0] bits[1]; p not.pred "
        "-> q",
        machine);
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{1}, std::size_t{31}, std::size_t{33}, std::size_t{1023},
          std::size_t{1024}, std::size_t{1025}, std::size_t{9000}}) {
        std::vector<double> x(count), y(count + 1, 5);
        std::vector<std::uint8_t> p(count), q(count + 1, 9);
        std::vector<uint32_t> low(count + 1, 9), high(count + 1, 9);
        for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<double>(i) + 0.5, p[i] = i % 3 == 0;
        evaluator.run({std::vector<const void*>{x.data(), p.data(), nullptr, nullptr, nullptr, nullptr},
                       std::vector<void*>{nullptr, nullptr, y.data(), low.data(), high.data(), q.data()},
                       count});
        for (std::size_t i = 0; i < count; ++i) {
            const double expected = i % 3 == 0 ? 2 * x[i] : x[i];
            ASSERT_EQ(y[i], expected) << i << " of " << count;
            ASSERT_EQ(low[i] | uint64_t{high[i]} << 32, std::bit_cast<uint64_t>(expected));
            ASSERT_EQ(q[i], i % 3 != 0);
        }
        EXPECT_EQ(y[count], 5);
        EXPECT_EQ(q[count], 9);
        EXPECT_EQ(low[count], 9u);
    }
}

// First elements in the low bits; a vector from a scalar as ptxas has it, which the manual leaves out.
TEST(Evaluate, MovesThatPackAndUnpack) {
    const struct {
        const char* signature;
        const char* program;
        std::vector<uint64_t> before, after;
    } rows[] = {
        {"in u32 a, in u32 b, out u64 z", "a b mov.b64:b32x2 -> z", {1, 2, 0}, {1, 2, 0x200000001}},
        {"in u64 a, out u32 y, out u32 z",
         "a mov.b64:to.b32x2 -> y z",
         {0x200000001, 0, 0},
         {0x200000001, 1, 2}},
        {"in u16 a, in u16 b, out u32 z",
         "a b mov.b32:b16x2 -> z",
         {0x1234, 0xFEDC, 0},
         {0x1234, 0xFEDC, 0xFEDC1234}},
        {"in u64 a, out u16 w, out u16 x, out u16 y, out u16 z",
         "a mov.b64:to.b16x4 -> w x y z",
         {0x4000300020001, 0, 0, 0, 0},
         {0x4000300020001, 1, 2, 3, 4}},
        {"in u32 a, in u32 b, out u32 y, out u32 z", "a b mov.v2.b32 -> y z", {1, 2, 0, 0}, {1, 2, 1, 2}},
        {"in u32 a, out u32 y, out u32 z",
         "a mov.v2.b32:to.b32x2 -> y z",
         {0x12345678, 0, 0},
         {0x12345678, 0x5678, 0x1234}},
        {"in u32 a, out u32 w, out u32 x, out u32 y, out u32 z",
         "a mov.v4.u32:to.u32x4 -> w x y z",
         {0x12345678, 0, 0, 0, 0},
         {0x12345678, 0x78, 0x56, 0x34, 0x12}},
        {"in f64 a, out f64 y, out f64 z",
         "a mov.v2.f64:to.f64x2 -> y z",
         {0x123456789ABCDEF0, 0, 0},
         {0x123456789ABCDEF0, 0x9ABCDEF0, 0x12345678}},
        {"in u16 a, out u16 y, out u16 z",
         "a mov.v2.u16:to.u16x2 -> y z",
         {0x1234, 0, 0},
         {0x1234, 0x34, 0x12}},
    };
    for (const auto& row : rows) {
        const stack::Machine machine = machine_of(row.signature);
        const auto program = stack::parse(row.program, machine);
        ASSERT_TRUE(program) << describe(program.error(), row.program);
        Table table(machine.signature(), 1, 1);
        for (std::size_t r = 0; r < row.before.size(); ++r)
            std::memcpy(table.columns[r].data(), &row.before[r], table.columns[r].size());
        std::vector<Column> wanted = table.columns;
        for (std::size_t r = 0; r < row.after.size(); ++r)
            std::memcpy(wanted[r].data(), &row.after[r], wanted[r].size());
        EXPECT_EQ(difference(table, table.evaluate(evaluator_of(row.program, machine)), wanted), "")
            << row.program;
        stack::Compiler compiler;
        const auto emulated =
            Emulated(table).run(kernel(table.registers, compiler.compile(*program, machine)->ptx));
        ASSERT_TRUE(emulated) << describe(emulated.error());
        EXPECT_EQ(difference(table, *emulated, wanted), "") << row.program << " on the emulator";
    }
}

TEST(Evaluate, ManyValuesAliveAtATime) {
    // Thousands of values that are all needed at the end: more than any cache line up.
    const stack::Machine machine = machine_of("in f32 x, out f32 y");
    std::string text = "x ";
    constexpr int values = 4000;
    for (int i = 0; i < values; ++i) text += "dup.f32 1.0 add.f32 ";
    for (int i = 0; i < values; ++i) text += "add.f32 ";
    const stack::Evaluator evaluator = evaluator_of(text + "-> y", machine);
    EXPECT_EQ(evaluator.instruction_count(), 2u * values);
    const std::vector<float> x = {0, 1, 2};
    std::vector<float> y(3);
    evaluator.run({std::vector<const void*>{x.data(), nullptr}, std::vector<void*>{nullptr, y.data()}, 3});
    EXPECT_EQ(y[1], (values + 1) * (values + 2) / 2);  // 1 + 2 + … exactly
}

TEST(Evaluate, RunsWithoutAllocating) {
    const stack::Machine machine = machine_of("mod f32 acc, in f32 a, in f32 b");
    std::string text = "acc ";
    for (int i = 0; i < 50; ++i) text += "a mul.f32 b add.f32 ";
    const stack::Evaluator evaluator = evaluator_of(text + "-> acc", machine);
    std::vector<float> column(4096, 0.5f);
    const std::vector<const void*> in(3, column.data());
    std::vector<float> result(4096);
    const std::vector<void*> out = {result.data(), nullptr, nullptr};
    const std::size_t before = allocations;
    evaluator.run({in, out, column.size()});
    EXPECT_EQ(allocations, before);
}

TEST(Evaluate, SaysWhatItCannot) {
    const struct {
        const char* signature;
        const char* program;
        const char* name;
    } rows[] = {
        {"out u32 n", "%tid.x -> n", "%tid.x"},
        {"in u64 a, out u64 b", "a cvta.global.u64 -> b", "cvta.global.u64"},
        {"in u32 r, in f32 a, out f16x2 h", "a a r cvt.rs.f16x2.f32 -> h", "cvt.rs.f16x2.f32"},
    };
    for (const auto& row : rows) {
        const stack::Machine machine = *stack::Machine::make(
            stack::find_set("standard") ? stack::find_set("standard") : stack::find_set("full"),
            *Signature::parse(row.signature));
        const auto program = stack::parse(row.program, machine);
        ASSERT_TRUE(program) << describe(program.error(), row.program);
        const auto made = stack::Evaluator::make(*program, machine);
        ASSERT_FALSE(made) << row.program;
        EXPECT_EQ(made.error().code, Errc::instruction_not_evaluable);
        EXPECT_NE(describe(made.error(), "").find(row.name), std::string::npos) << describe(made.error(), "");
    }
}

// What is dead is not asked for.
TEST(Evaluate, DeadCodeIsNoObstacle) {
    const stack::Machine machine = machine_of("in u32 x, out u32 n");
    EXPECT_EQ(evaluator_of("%tid.x drop.u32 x -> n", machine).instruction_count(), 0u);
}

// ---- constants --------------------------------------------------------------------------------------------

TEST(Fold, ComputesWhatPtxDefines) {
    const struct {
        const char* program;
        const char* ptx;
    } rows[] = {
        {"1.5 2.0 add.f32 -> x", "mov.f32 _x, 0f40600000;"},
        {"1.5 2.0 3.0 fma.rn.f32 4.0 max.f32 -> x", "mov.f32 _x, 0f40C00000;"},
        {"2.0 ex2.approx.f32 -> x", "ex2.approx.f32 _x, 0f40000000;"},  // approximate: stays
        {"1.0 3.0 div.approx.f32 -> x", "div.approx.f32 _x, 0f3F800000, 0f40400000;"},
        {"1.0 3.0 div.rn.f32 -> x", "mov.f32 _x, 0f3EAAAAAB;"},
        {"1.0 0.0 div.rn.f32 -> x", "mov.f32 _x, 0f7F800000;"},
        {"7 0 div.u32 -> n", "div.u32 _n, 7, 0;"},  // of zero PTX says nothing
        {"7 2 div.u32 -> n", "mov.b32 _n, 3;"},
        {"1f64 0f64 div.rn.f64 -> d", "mov.f64 _d, 0d7FF0000000000000;"},
        // which NaN?
        {"0f64 0f64 div.rn.f64 -> d", "div.rn.f64 _d, 0d0000000000000000, 0d0000000000000000;"},
        // an unspecified NaN
        {"nan abs.f32 -> x", "abs.f32 _x, 0f7FFFFFFF;"},
        {"nan cvt.f64.f32 -> d", "cvt.f64.f32 _d, 0f7FFFFFFF;"},
        {"1.5 cvt.f64.f32 -> d", "mov.f64 _d, 0d3FF8000000000000;"},
        {"-2.0 abs.f32 -> x", "mov.f32 _x, 0f40000000;"},
        {"0xF0 0xCC 0xAA 0xE8 lop3.b32 -> n", "mov.b32 _n, 232;"},
    };
    const stack::Machine machine = machine_of("mod f32 x, mod u32 n, mod f64 d");
    for (const auto& row : rows) {
        const auto program = stack::parse(row.program, machine);
        ASSERT_TRUE(program) << describe(program.error(), row.program);
        stack::Compiler compiler;
        const auto compiled = compiler.compile(*program, machine, {.fold = true});
        ASSERT_TRUE(compiled) << row.program;
        EXPECT_EQ(compiled->ptx, "\t" + std::string(row.ptx) + "\n") << row.program;
    }
}

}  // namespace
}  // namespace ptxgraft
