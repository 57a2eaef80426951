// The operator that makes one instruction of two.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "ptxgraft/program.hpp"
#include "ptxgraft/search.hpp"

namespace ptxgraft::search {
namespace {

using testing::HasSubstr;

Space seeded_space(std::string_view set, std::string_view signature, std::string_view seed) {
    auto machine = stack::Machine::make(*stack::InstructionSet::parse(set), *Signature::parse(signature));
    EXPECT_TRUE(machine);
    auto program = stack::parse(seed, *machine);
    EXPECT_TRUE(program) << describe(program.error(), seed);
    Space space;
    space.sites.push_back({.name = "f", .machine = *machine, .seeds = {*program}, .max_genes = 24});
    return space;
}

// A function of the words 0 to 127.
template <class F> Cases cases_of(F f) {
    Cases cases{.count = 128, .measure = Measure::bits};
    cases.inputs.resize(2);
    cases.right.resize(2);
    cases.inputs[0].resize(4 * cases.count);
    for (std::uint32_t k = 0; k < cases.count; ++k) {
        std::memcpy(cases.inputs[0].data() + 4 * k, &k, 4);
        cases.right[1].push_back(f(k));
    }
    return cases;
}

Expected<Summary> ran(const Space& space, const Cases& cases, const Options& options,
                      std::uint64_t candidates, std::uint32_t threads = 1) {
    const auto gate = columns(space, cases);
    EXPECT_TRUE(gate);
    auto search = Search::open("", space, options);
    EXPECT_TRUE(search) << message(search.error());
    Gate* const gates[] = {gate->get()};
    return search->run(gates, {.budget = {.candidates = candidates}, .threads = threads});
}

Options options_with(std::string_view op, std::uint64_t seed) {
    return {.seed = seed,
            .islands = 1,
            .block = 16,
            .refine = false,
            .operators = {{std::string(op), 1}},
            .adapt = false};
}

// A shift and a sum are a product and a sum: in each of ten searches, of which none makes it by mutation.
TEST(Fuse, MakesOneInstructionOfTwo) {
    const Space space = seeded_space("shl.b32\nadd.u32\nmad.lo.u32\nmad.hi.u32\nand.b32\n",
                                     "in u32 x, out u32 y", "x 3 shl.b32 x 5 and.b32 add.u32 -> y");
    const Cases cases = cases_of([](std::uint32_t x) { return (x << 3) + (x & 5); });
    int fused = 0, mutated = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const auto by_fusing = ran(space, cases, options_with("fuse", seed), 160);
        const auto by_swapping = ran(space, cases, options_with("swap", seed), 160);
        ASSERT_TRUE(by_fusing && by_swapping);
        ASSERT_TRUE(by_fusing->best);
        fused += by_fusing->best->cost == 2 ? 1 : 0;
        mutated += by_swapping->best->cost == 2 ? 1 : 0;
        const std::string text = program_text(by_fusing->best->genome.programs[0], space.sites[0].machine);
        if (by_fusing->best->cost == 2) { EXPECT_THAT(text, HasSubstr("mad.lo.u32")); }
    }
    EXPECT_GE(fused, 9);
    EXPECT_EQ(mutated, 0);
}

// Across types of one width: the sum is of integers, what it adds are the bits of a float.
TEST(Fuse, TakesBitsOfOtherTypesAlong) {
    const Space space =
        seeded_space("add.f32\nshl.b32\nadd.s32\nmad.lo.s32\n", "in u32 x, out f32 y",
                     "1.0 1.0 add.f32 as.s32.f32 x 23 shl.b32 as.s32.u32 add.s32 as.f32.s32 -> y");
    Cases cases = cases_of([](std::uint32_t x) { return std::ldexp(2.0, static_cast<int>(x)); });
    cases.count = 32;
    cases.inputs[0].resize(4 * cases.count);
    cases.right[1].resize(cases.count);
    cases.measure = Measure::relative;
    const auto found = ran(space, cases, options_with("fuse", 1), 300);
    ASSERT_TRUE(found && found->best);
    EXPECT_EQ(found->best->cost, 1);
    EXPECT_THAT(program_text(found->best->genome.programs[0], space.sites[0].machine), HasSubstr("8388608"));
}

// Whatever stands in a program: selections, cells, several types, garbage. Children are the same on any
// number of threads.
TEST(Fuse, TakesAnyProgram) {
    const Space space = seeded_space(
        "add.f32\nmul.f32\nfma.rn.f32\nadd.u32\nmad.lo.u32\nsetp.lt.f32\nselp.f32\nmul.wide.u32\nadd.u64\n"
        "lop3.b32\ncvt.rn.f32.u32\nmin.f32\nmul.lo.u32\n",
        "in f32 x, in u32 k, out f32 y", "x k cvt.rn.f32.u32 mul.f32 x add.f32 -> y");
    const auto exported = [&](std::uint32_t threads) {
        Options options = options_with("fuse", 3);
        options.block = 128;
        options.operators.push_back({"umad", 1});
        auto search = Search::open("", space, options);
        EXPECT_TRUE(search);
        std::string all;
        class Notes final : public Gate {
          public:
            [[nodiscard]] std::string_view name() const override { return "notes"; }
            void evaluate(std::span<const Candidate* const> in, std::span<Result* const> out) override {
                for (std::size_t k = 0; k < in.size(); ++k)
                    out[k]->cost = static_cast<double>(in[k]->key.structure % 1000);
            }
        } notes;
        Gate* const gates[] = {&notes};
        EXPECT_TRUE(search->run(gates, {.budget = {.candidates = 3000}, .threads = threads}));
        for (const Elite& elite : search->elites())
            all += program_text(elite.genome.programs[0], space.sites[0].machine);
        return all + std::to_string(search->ledger().duplicates);
    };
    const std::string one = exported(1);
    EXPECT_FALSE(one.empty());
    EXPECT_EQ(one, exported(3));
}

}  // namespace
}  // namespace ptxgraft::search
