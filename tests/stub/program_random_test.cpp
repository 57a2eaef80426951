// Programs at random: how large they are, that they compile, and that they are the same everywhere.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "ptxgraft/program.hpp"

namespace ptxgraft {
namespace {

using stack::ConstantSource;
using stack::Instruction;
using stack::Opcode;
using stack::Program;
using stack::ProgramShape;
using stack::Random;
using SourceKind = ConstantSource::Kind;

stack::Machine machine_of(const char* set, std::string_view signature) {
    return *stack::Machine::make(stack::find_set(set), *Signature::parse(signature));
}
const stack::Machine& usual_machine() {
    static const stack::Machine m = machine_of("standard", "mod f32 x, in f32 y");
    return m;
}

std::uint32_t live_forms(const Program& program, const stack::Machine& on) {
    std::uint32_t count = 0;
    const auto live = stack::live_code(program, on, {}).value();
    for (const std::uint32_t at : live) count += program.code[at].opcode == Opcode::form;
    return count;
}

struct Sizes {
    std::map<std::uint32_t, int> counts;
    double exact = 0, near = 0;  // shares: of the wanted size, and within a quarter of it
};
Sizes sizes_of(const stack::Sampler& sampler, const stack::Machine& on, std::uint32_t live) {
    constexpr std::uint64_t programs = 400;
    Sizes sizes;
    for (std::uint64_t n = 0; n < programs; ++n) {
        Random random(7, n);
        const Program program = sampler.program(random, live);
        const auto compiled = stack::make_stub(program, on);  // with nothing missing
        EXPECT_TRUE(compiled) << describe(compiled.error()) << stack::print(program, on);
        const std::uint32_t size = live_forms(program, on);
        ++sizes.counts[size];
        sizes.exact += size == live, sizes.near += 4 * size >= 3 * live && 4 * size <= 5 * live;
    }
    sizes.exact /= programs, sizes.near /= programs;
    return sizes;
}

TEST(ProgramRandom, TreesHaveAsManyLiveInstructionsAsWanted) {
    const char* const signatures[] = {"mod f32 x, in f32 y", "in f32 x, in u32 n, out f32 y, out pred p",
                                      "mod f16x2 h, in f32 a", "in u64 a, mod f32 v[4]"};
    for (const char* const set : {"f32", "math", "standard"}) {
        for (const char* const signature : signatures) {
            if (std::strcmp(set, "standard") != 0 && signature == signatures[2])
                continue;  // they make no f16x2
            const stack::Machine on = machine_of(set, signature);
            const auto sampler = *stack::Sampler::make(on);
            for (const std::uint32_t live : {0u, 4u, 8u, 16u, 32u}) {
                const Sizes sizes = sizes_of(sampler, on, live);
                EXPECT_GT(sizes.exact, 0.9) << set << ", " << signature << ", " << live;
                EXPECT_LE(sizes.counts.rbegin()->first, live);
            }
        }
    }
}

TEST(ProgramRandom, SequencesHaveAboutAsMany) {
    for (const char* const set : {"f32", "math", "standard"}) {
        const stack::Machine on = machine_of(set, "mod f32 x, in f32 y");
        const auto sampler = *stack::Sampler::make(on, {.shape = ProgramShape::sequence});
        for (const std::uint32_t live : {4u, 8u, 16u})
            EXPECT_GT(sizes_of(sampler, on, live).near, 0.7) << set << ", " << live;
    }
}

// An expression of constants alone is one constant.
TEST(ProgramRandom, TreesDependOnTheirOperands) {
    const auto sampler = *stack::Sampler::make(usual_machine());
    stack::CompileOptions folding;
    folding.fold = true;
    std::size_t folded = 0;
    stack::Compiler compiler;
    for (std::uint64_t n = 0; n < 500; ++n) {
        Random random(8, n);
        const Program program = sampler.program(random, 8);
        const std::uint32_t before = compiler.compile(program, usual_machine(), {})->instruction_count;
        folded += compiler.compile(program, usual_machine(), folding)->instruction_count < before;
    }
    EXPECT_EQ(folded, 0u);
}

TEST(ProgramRandom, SharedResultsAreComputedOnce) {
    const auto shares = *stack::Sampler::make(usual_machine(), {.shared = 0.5});
    const auto never = *stack::Sampler::make(usual_machine(), {.shared = 0});
    std::size_t loads = 0;
    for (std::uint64_t n = 0; n < 200; ++n) {
        Random one(9, n), two(9, n);
        for (const Instruction& i : shares.program(one, 12).code) loads += i.opcode == Opcode::load;
        for (const Instruction& i : never.program(two, 12).code) EXPECT_NE(i.opcode, Opcode::load);
    }
    EXPECT_GT(loads, 200u);
}

// Streams are functions of seed and number alone; the numbers are fixed, as archives and logs rest on them.
TEST(ProgramRandom, IsTheSameEverywhere) {
    Random random(1, 2);
    EXPECT_EQ(random.next(), 12335800082049884359u);
    EXPECT_EQ(random.below(1000), 571u);
    EXPECT_EQ(random.unit(), 0x1.4224b18413eb4p-1);
    const auto on = machine_of("f32", "mod f32 x, in f32 y");
    Random tree(3), sequence(3);
    EXPECT_EQ(stack::print((*stack::Sampler::make(on)).program(tree, 6), on),
              "y 2.0 min.ftz.f32 -1.1754944e-38 div.approx.ftz.f32 lg2.approx.ftz.f32 0.07166285 "
              "copysign.f32 abs.f32 abs.f32 -> x\n");
    EXPECT_EQ(
        stack::print((*stack::Sampler::make(on, {.shape = ProgramShape::sequence})).program(sequence, 6), on),
        "x x x 9.66633 -6.087817 x neg.ftz.f32 y mul.f32 add.ftz.f32 div.approx.f32 max.ftz.f32 add.f32 -> "
        "x\n");
    std::set<std::vector<std::byte>> all;
    const auto sampler = *stack::Sampler::make(usual_machine());
    for (std::uint64_t n = 0; n < 300; ++n) {
        Random one(4, n), two(4, n);
        const Program program = sampler.program(one, 10);
        EXPECT_EQ(program, sampler.program(two, 10));
        all.insert(stack::to_bytes(program));
    }
    EXPECT_EQ(all.size(), 300u);
}

TEST(ProgramRandom, NumbersAreEven) {
    Random random(5);
    std::array<int, 7> counts{};
    double sum = 0;
    for (int k = 0; k < 70000; ++k) ++counts[random.below(7)], sum += random.unit();
    for (const int count : counts) EXPECT_NEAR(count, 10000, 400);
    EXPECT_NEAR(sum / 70000, 0.5, 0.01);
}

// ---- what is drawn ----------------------------------------------------------------------------------------

TEST(ProgramRandom, WeightsSayWhatIsDrawn) {
    const auto& set = usual_machine().set();
    std::vector<double> weights(set.entries().size(), 0);
    const auto add = static_cast<std::uint16_t>(set.find("add.f32")),
               mul = static_cast<std::uint16_t>(set.find("mul.f32"));
    weights[add] = 3, weights[mul] = 1;
    for (const ProgramShape shape : {ProgramShape::tree, ProgramShape::sequence}) {
        const auto sampler = *stack::Sampler::make(usual_machine(), {.shape = shape, .weights = weights});
        std::map<std::uint16_t, int> counts;
        for (std::uint64_t n = 0; n < 500; ++n) {
            Random random(10, n);
            for (const Instruction& i : sampler.program(random, 10).code)
                if (i.opcode == Opcode::form) ++counts[i.index];
        }
        EXPECT_EQ(counts.size(), 2u);
        EXPECT_NEAR(counts[add], 3.0 * counts[mul], 0.5 * counts[mul]);
    }
}

std::vector<double> drawn(ConstantSource source, Type type = Type::f64, std::size_t count = 4000) {
    const auto sampler = *stack::Sampler::make(usual_machine(), {.constants = {std::move(source)}});
    Random random(11);
    std::vector<double> all;
    for (std::size_t k = 0; k < count; ++k) {
        const std::uint64_t bits = sampler.constant(random, stack::type_id(type));
        all.push_back(type == Type::f64   ? std::bit_cast<double>(bits)
                      : type == Type::f32 ? std::bit_cast<float>(static_cast<std::uint32_t>(bits))
                                          : static_cast<double>(bits));
    }
    return all;
}
double mean(const std::vector<double>& all, double (*of)(double)) {
    double sum = 0;
    for (const double x : all) sum += of(x);
    return sum / static_cast<double>(all.size());
}

TEST(ProgramRandom, ConstantsComeFromTheirDistribution) {
    const auto values = drawn({.kind = SourceKind::values, .values = {3.25, 12582912.0}}, Type::f32);
    EXPECT_EQ(std::set<double>(values.begin(), values.end()), (std::set<double>{3.25, 12582912.0}));
    const auto uniform = drawn({.kind = SourceKind::uniform, .low = -1, .high = 3});
    EXPECT_GE(*std::min_element(uniform.begin(), uniform.end()), -1);
    EXPECT_LE(*std::max_element(uniform.begin(), uniform.end()), 3);
    EXPECT_NEAR(mean(uniform, [](double x) { return x; }), 1, 0.1);
    const auto normal = drawn({.kind = SourceKind::normal, .low = 5, .high = 2});
    EXPECT_NEAR(mean(normal, [](double x) { return x; }), 5, 0.15);
    EXPECT_NEAR(mean(normal, [](double x) { return (x - 5) * (x - 5); }), 4, 0.4);
    const auto log = drawn({.kind = SourceKind::log_uniform, .low = 0x1p-6, .high = 0x1p10});
    for (const double x : log) EXPECT_TRUE(std::fabs(x) >= 0x1p-6 && std::fabs(x) <= 0x1p10) << x;
    EXPECT_NEAR(mean(log, [](double x) { return std::log2(std::fabs(x)); }), 2, 0.3);
    EXPECT_NEAR(mean(log, [](double x) { return std::log2(std::fabs(x)) < -2 ? 1.0 : 0.0; }), 0.25, 0.03);
    EXPECT_NEAR(mean(log, [](double x) { return x < 0 ? 1.0 : 0.0; }), 0.5, 0.05);
    const auto narrow = drawn({.kind = SourceKind::log_uniform, .low = 1, .high = 1.0625}, Type::f64, 500);
    for (const double x : narrow) EXPECT_TRUE(std::fabs(x) >= 1 && std::fabs(x) <= 1.0625) << x;
    const auto special = drawn({.kind = SourceKind::special}, Type::f32);
    EXPECT_TRUE(std::any_of(special.begin(), special.end(), [](double x) { return std::isnan(x); }));
    EXPECT_TRUE(std::any_of(special.begin(), special.end(), [](double x) { return std::isinf(x); }));
    EXPECT_TRUE(std::any_of(special.begin(), special.end(), [](double x) { return x == 0x1p-149; }));
    const auto whole = drawn({.kind = SourceKind::uniform, .low = 4, .high = 6}, Type::u32, 300);
    EXPECT_EQ(std::set<double>(whole.begin(), whole.end()), (std::set<double>{4, 5, 6}));
    const auto own = drawn({.kind = SourceKind::constants,
                            .constants = {{stack::type_id(Type::u64), 0x9E3779B97F4A7C15},
                                          {stack::type_id(Type::u32), 0x64006400}}},
                           Type::u32, 20);
    EXPECT_EQ(std::set<double>(own.begin(), own.end()), (std::set<double>{0x64006400}));
}

TEST(ProgramRandom, ConstantsFitTheirTypes) {
    const auto sampler = *stack::Sampler::make(usual_machine());
    Random random(12);
    for (stack::TypeId type = 0; type < stack::first_user_type; ++type) {
        for (int k = 0; k < 300; ++k) {
            const std::uint64_t bits = sampler.constant(random, type);
            Program program;
            program.code = {stack::constant_instruction(usual_machine(), {type, bits}, program.pool)};
            const auto all = stack::constants_of(program, usual_machine());
            if (type == stack::type_b8 || type == stack::type_b128) {
                EXPECT_EQ(bits, 0u);
                continue;
            }
            ASSERT_EQ(all.size(), 1u);
            EXPECT_EQ(all[0].constant, (stack::TypedConstant{stack::stack_of(type), bits}));
        }
    }
}

TEST(ProgramRandom, SiblingsPopAndPushTheSame) {
    const auto sampler = *stack::Sampler::make(usual_machine());
    const auto& set = usual_machine().set();
    Random random(13);
    const Instruction fma{Opcode::form, 0, static_cast<std::uint16_t>(set.find("fma.rn.f32")), 0};
    std::set<std::string> names;
    for (int k = 0; k < 200; ++k) {
        const Instruction other = sampler.sibling(random, fma);
        const stack::Entry& entry = set.entries()[other.index];
        names.insert(entry.name);
        ASSERT_EQ(entry.operands.size(), 4u);
        for (const stack::EntryOperand& o : entry.operands) EXPECT_EQ(o.type, stack::type_id(Type::f32));
    }
    EXPECT_GT(names.size(), 5u);
    const Instruction input{Opcode::input, 0, 0, 0};
    EXPECT_EQ(sampler.sibling(random, input), input);
}

TEST(ProgramRandom, InstructionsAreThere) {
    const auto sampler = *stack::Sampler::make(usual_machine());
    Random random(14);
    std::map<Opcode, int> counts;
    std::vector<std::uint64_t> pool;
    for (int k = 0; k < 4000; ++k) {
        const Instruction i = sampler.instruction(random, pool);
        ++counts[i.opcode];
        EXPECT_FALSE(stack::print(Program{{i}, pool, {}}, usual_machine()).starts_with("!00"));
    }
    EXPECT_NEAR(counts[Opcode::form], 2000, 200);
    EXPECT_NEAR(counts[Opcode::input], 1500, 200);
}

TEST(ProgramRandom, OptionsThatMakeNoSenseAreErrors) {
    const auto code = [](const stack::SamplerOptions& options) {
        const auto sampler = stack::Sampler::make(usual_machine(), options);
        return sampler ? Errc::ok : sampler.error().code;
    };
    EXPECT_EQ(code({}), Errc::ok);
    EXPECT_EQ(code({.weights = {1, 2}}), Errc::argument_invalid);
    EXPECT_EQ(code({.weights = std::vector<double>(usual_machine().set().entries().size(), -1)}),
              Errc::argument_invalid);
    EXPECT_EQ(code({.weights = std::vector<double>(usual_machine().set().entries().size(), NAN)}),
              Errc::argument_invalid);
    EXPECT_EQ(code({.constants = {{.kind = SourceKind::values}}}), Errc::argument_invalid);
    EXPECT_EQ(code({.constants = {{.kind = SourceKind::constants}}}), Errc::argument_invalid);
    EXPECT_EQ(code({.constants = {{.kind = SourceKind::uniform, .low = 2, .high = 1}}}),
              Errc::argument_invalid);
    EXPECT_EQ(code({.constants = {{.kind = SourceKind::log_uniform, .low = 0, .high = 1}}}),
              Errc::argument_invalid);
    EXPECT_EQ(code({.constants = {{.kind = SourceKind::normal, .low = 0, .high = -1}}}),
              Errc::argument_invalid);
    EXPECT_EQ(code({.constants = {{.kind = SourceKind::special, .weight = -1}}}), Errc::argument_invalid);
    EXPECT_EQ(code({.constant_share = 1.5}), Errc::argument_invalid);
    EXPECT_EQ(code({.shared = NAN}), Errc::argument_invalid);
    EXPECT_EQ(code({.words = -0.5}), Errc::argument_invalid);
    EXPECT_EQ(code({.constants = {}}), Errc::ok);  // then they are 0
}

}  // namespace
}  // namespace ptxgraft
