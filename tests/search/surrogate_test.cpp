// What is guessed of candidates: features of programs whose counts are known, costs that are linear, noise
// that nobody can guess, and registers and bytes of machine code that an assembler gave.
#include "search/surrogate/surrogate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "ptxgraft/isa.hpp"
#include "ptxgraft/kernel.hpp"
#include "ptxgraft/program.hpp"

namespace ptxgraft::search {
namespace {

constexpr std::string_view set_text = R"(add.f32
sub.f32
mul.f32
fma.rn.f32
min.f32
max.f32
ex2.approx.f32
rcp.approx.f32
rcp.rn.f32
add.u32
and.b32
shl.b32
cvt.rn.f32.u32
cvt.f64.f32
add.f64
cvt.rn.f32.f64
setp.lt.f32
selp.f32
)";

Space space_of(const Signature& signature) {
    const auto machine = stack::Machine::make(*stack::InstructionSet::parse(set_text), signature);
    EXPECT_TRUE(machine);
    Space space;
    space.sites.push_back({.name = "f", .machine = *machine, .seeds = {}, .max_genes = 64});
    return space;
}
Space space_of(std::string_view signature = "mod f32 x, in f32 z, in u32 i") {
    return space_of(*Signature::parse(signature));
}

std::vector<Candidate> random_candidates(const Space& space, std::size_t count, std::uint64_t seed) {
    const auto sampler =
        stack::Sampler::make(space.sites[0].machine, {.shape = stack::ProgramShape::sequence});
    EXPECT_TRUE(sampler);
    std::vector<Candidate> made(count);
    for (std::size_t k = 0; k < count; ++k) {
        stack::Random random(seed, k);
        made[k].index = k;
        made[k].genome.programs.push_back(
            sampler->program(random, 1 + static_cast<std::uint32_t>(random.below(40))));
        for (const Tunable& tunable : space.tunables)
            made[k].genome.tunables.push_back(
                static_cast<std::uint32_t>(random.below(tunable.values.size())));
    }
    return made;
}

std::vector<const Candidate*> all_of(const std::vector<Candidate>& candidates) {
    std::vector<const Candidate*> made;
    for (const Candidate& candidate : candidates) made.push_back(&candidate);
    return made;
}

std::map<std::string, double> features_of(const Space& space, const Genome& genome) {
    const Features features(space);
    Features::Scratch scratch;
    std::vector<double> row(features.count());
    features.write(genome, {}, row, scratch);
    std::map<std::string, double> made;
    for (std::size_t k = 0; k < row.size(); ++k) made[features.names()[k]] = row[k];
    return made;
}
std::map<std::string, double> features_of(const Space& space, std::string_view program) {
    const auto parsed = stack::parse(program, space.sites[0].machine);
    EXPECT_TRUE(parsed) << describe(parsed.error(), program);
    if (!parsed) return {};
    return features_of(space, Genome{.programs = {*parsed}, .tunables = {}});
}

TEST(SurrogateFeatures, KnowEveryPureOpcode) {
    std::set<std::string_view> unknown;
    for (std::string_view opcode : isa::pure_opcodes())
        if (const std::string_view word = opcode.substr(0, opcode.find('.')); !has_cost_class(word))
            unknown.insert(word);
    EXPECT_THAT(unknown, testing::IsEmpty()) << "`classes` of features.cpp has no place for these";
}

TEST(SurrogateFeatures, CountWhatIsLive) {
    const Space space = space_of();
    auto row = features_of(space, "x z mul.f32 z 1.5 add.f32 fma.rn.f32 x add.f32 -> x");
    // fma needs three: what it finds is two values, so it does nothing, and mul is dead
    EXPECT_EQ(row["f: add"], 2);
    EXPECT_EQ(row["f: mul"], 0);
    row = features_of(space,
                      "x z 2.0 fma.rn.f32 dup.f32 mul.f32 ex2.approx.f32 z rcp.rn.f32 add.f32 -> x; "
                      "x x mul.f32 drop.f32");
    EXPECT_EQ(row["f: fma"], 1);
    EXPECT_EQ(row["f: mul"], 1);
    EXPECT_EQ(row["f: approximate"], 1);
    EXPECT_EQ(row["f: special"], 1);
    EXPECT_EQ(row["f: divide"], 1);
    EXPECT_EQ(row["f: add"], 1);
    EXPECT_EQ(row["f: live"], 5);
    EXPECT_EQ(row["f: depth"], 4);
    EXPECT_EQ(row["f: constants"], 1);
    EXPECT_EQ(row["f: inputs"], 2);
    row = features_of(space, "z cvt.f64.f32 dup.f64 add.f64 cvt.rn.f32.f64 store.f32 3 load.f32 3 -> x");
    EXPECT_EQ(row["f: wide"], 2);
    EXPECT_EQ(row["f: any wide"], 1);
    EXPECT_EQ(row["f: any divide"], 0);
    EXPECT_EQ(row["f: live"], 3);
    row = features_of(space, "i as.f32.u32 -> x");
    EXPECT_EQ(row["f: live"], 0);
    EXPECT_EQ(row["f: inputs"], 1);
}

// Without shared computations the compiler counts the same instructions.
TEST(SurrogateFeatures, CountWhatTheCompilerEmits) {
    const Space space = space_of();
    double ours = 0, theirs = 0;
    for (const Candidate& candidate : random_candidates(space, 300, 3)) {
        const stack::Program& program = candidate.genome.programs[0];
        stack::Compiler compiler;
        const auto compiled = compiler.compile(program, space.sites[0].machine, stack::mutated);
        ASSERT_TRUE(compiled);
        const double live = features_of(space, candidate.genome)["f: live"];
        EXPECT_NEAR(live, compiled->instruction_count, 2 + 0.2 * live)
            << stack::print(program, space.sites[0].machine);
        ours += live;
        theirs += compiled->instruction_count;
    }
    EXPECT_NEAR(ours / theirs, 1, 0.1);
}

TEST(SurrogateFeatures, TakeAnyBytesAsPrograms) {
    const Space space = space_of();
    stack::Random random(5);
    for (int k = 0; k < 3000; ++k) {
        Genome genome{.programs = {{}}, .tunables = {}};
        for (std::uint64_t n = random.below(60); n > 0; --n) {
            const std::uint64_t bytes = random.next();
            genome.programs[0].code.push_back(
                {.opcode = static_cast<stack::Opcode>(bytes & 31),
                 .type = static_cast<stack::TypeId>(bytes >> 8),
                 .index = static_cast<std::uint16_t>(bytes >> 16 & (k % 2 ? 31 : 0xFFFF)),
                 .payload = static_cast<std::uint32_t>(bytes >> 32)});
        }
        for (const auto& [name, value] : features_of(space, genome))
            EXPECT_TRUE(std::isfinite(value)) << name;
    }
}

// A cost that is linear in the features.
std::vector<double> linear_costs(const Space& space, const std::vector<Candidate>& candidates) {
    std::vector<double> made;
    for (const Candidate& candidate : candidates) {
        auto row = features_of(space, candidate.genome);
        made.push_back(7 + 2 * row["f: add"] + 5 * row["f: fma"] + 0.5 * row["f: depth"] + 3 * row["tile"]);
    }
    return made;
}

TEST(Surrogate, LearnsALinearCost) {
    Space space = space_of();
    space.tunables.push_back({.name = "tile", .values = {16, 32, 64}});
    const auto known = random_candidates(space, 512, 1), unknown = random_candidates(space, 200, 2);
    Surrogate surrogate = Surrogate::make(space);
    ASSERT_TRUE(surrogate.learn(all_of(known), linear_costs(space, known)));
    const auto guesses = surrogate.predict(all_of(unknown));
    ASSERT_TRUE(guesses);
    const auto costs = linear_costs(space, unknown);
    for (std::size_t k = 0; k < costs.size(); ++k) EXPECT_NEAR((*guesses)[k], costs[k], 1e-4) << k;
    EXPECT_GT(surrogate.recall(), 0.99);
    EXPECT_GT(surrogate.r_squared(), 0.9999);
    EXPECT_TRUE(surrogate.is_trusted());
}

TEST(Surrogate, IsNotTrustedBeforeItHasSeenEnough) {
    const Space space = space_of();
    const auto known = random_candidates(space, 256, 1);
    const auto costs = linear_costs(space, known);
    Surrogate surrogate = Surrogate::make(space);
    for (std::size_t k = 0; k < known.size(); ++k) {
        EXPECT_FALSE(surrogate.is_trusted()) << k;
        const Candidate* const one = &known[k];
        ASSERT_TRUE(surrogate.learn(std::span(&one, 1), std::span(&costs[k], 1)));
    }
    EXPECT_TRUE(surrogate.is_trusted());
    EXPECT_EQ(surrogate.learnt(), 256u);
}

std::vector<double> noise(std::size_t count, std::uint64_t seed) {
    stack::Random random(seed);
    std::vector<double> made;
    for (std::size_t k = 0; k < count; ++k) made.push_back(random.unit());
    return made;
}

TEST(Surrogate, DoesNotTrustNoise) {
    const Space space = space_of();
    for (const SurrogateModel model : {SurrogateModel::ridge, SurrogateModel::boosted_trees}) {
        Surrogate surrogate = Surrogate::make(space, {.model = model});
        for (std::uint64_t batch = 0; batch < 30; ++batch) {
            const auto candidates = random_candidates(space, 64, 100 + batch);
            ASSERT_TRUE(surrogate.learn(all_of(candidates), noise(64, batch)));
            EXPECT_FALSE(surrogate.is_trusted()) << batch;
        }
        EXPECT_LT(surrogate.r_squared(), 0.1);
    }
}

// Twelve candidates of great variety that no model forgets: guessed after they are learnt they would be
// right.
TEST(Surrogate, StatesRecallOfWhatItHadNotSeen) {
    const Space space = space_of();
    Surrogate surrogate = Surrogate::make(space, {.batch = 12, .remembered = 1});
    const auto candidates = random_candidates(space, 12, 1);
    const auto values = noise(12, 4);
    ASSERT_TRUE(surrogate.learn(all_of(candidates), values));
    EXPECT_EQ(surrogate.recall(), 0);  // nothing was guessed yet
    const auto guesses = surrogate.predict(all_of(candidates));
    for (std::size_t k = 0; k < values.size(); ++k) EXPECT_NEAR((*guesses)[k], values[k], 0.05);
    ASSERT_TRUE(surrogate.learn(all_of(candidates), values));
    EXPECT_EQ(surrogate.recall(), 1);  // the same again, which now was seen
    std::vector<double> other(values);
    for (double& value : other) value = 1 - value;
    ASSERT_TRUE(surrogate.learn(all_of(candidates), other));
    EXPECT_EQ(surrogate.recall(), 0);  // by then learnt, but guessed before
    EXPECT_LT(surrogate.r_squared(), 0);
}

TEST(Surrogate, MakesNothingOfEqualValues) {
    const Space space = space_of();
    const auto known = random_candidates(space, 512, 1);
    Surrogate surrogate = Surrogate::make(space);
    ASSERT_TRUE(surrogate.learn(all_of(known), std::vector<double>(512, 3.0)));
    EXPECT_EQ(surrogate.recall(), 0);
    EXPECT_FALSE(surrogate.is_trusted());
}

// Two thirds are equal, and nothing is the best: what is beyond a limit is known all the same.
TEST(Surrogate, IsTrustedWithALimitByWhatItNames) {
    Space space = space_of();
    space.tunables.push_back({.name = "tile", .values = {16, 32, 64}});
    const auto known = random_candidates(space, 512, 1);
    const auto sizes_of = [](const std::vector<Candidate>& candidates, double wide) {
        std::vector<double> made;
        for (const Candidate& candidate : candidates)
            made.push_back(candidate.genome.tunables[0] == 2 ? wide : 2800);
        return made;
    };
    Surrogate plain = Surrogate::make(space), limited = Surrogate::make(space, {.limit = 3000});
    const auto sizes = sizes_of(known, 4096);
    for (std::size_t k = 0; k < known.size(); ++k) {
        const Candidate* const one = &known[k];
        ASSERT_TRUE(plain.learn(std::span(&one, 1), std::span(&sizes[k], 1)));
        ASSERT_TRUE(limited.learn(std::span(&one, 1), std::span(&sizes[k], 1)));
        EXPECT_EQ(limited.is_trusted(), k >= 255) << k;
    }
    EXPECT_EQ(plain.recall(), 0);
    EXPECT_FALSE(plain.is_trusted());
    EXPECT_TRUE(limited.is_trusted());
    EXPECT_EQ(limited.precision(), 1);
    const auto guesses = *limited.predict(all_of(known));
    for (std::size_t k = 0; k < known.size(); ++k)
        EXPECT_EQ(limited.is_surely_beyond(guesses[k]), sizes[k] > 3000) << guesses[k];
    // what it names is beyond no more: by the next batch it knows
    const auto others = random_candidates(space, 64, 2);
    ASSERT_TRUE(limited.learn(all_of(others), sizes_of(others, 2900)));
    EXPECT_LT(limited.precision(), 0.9);
    EXPECT_FALSE(limited.is_trusted());
    EXPECT_FALSE(Surrogate::make(space).is_surely_beyond(1e9)) << "without a limit nothing is";
}

TEST(Surrogate, DoesNotTrustNoiseAboutALimit) {
    const Space space = space_of();
    Surrogate surrogate = Surrogate::make(space, {.limit = 0.5});
    for (std::uint64_t batch = 0; batch < 30; ++batch) {
        const auto candidates = random_candidates(space, 64, 100 + batch);
        ASSERT_TRUE(surrogate.learn(all_of(candidates), noise(64, batch)));
        EXPECT_FALSE(surrogate.is_trusted()) << batch;
    }
}

TEST(Surrogate, IsTheSameHoweverResultsCome) {
    const Space space = space_of();
    const auto known = random_candidates(space, 700, 1), unknown = random_candidates(space, 50, 2);
    const auto costs = linear_costs(space, known);
    for (const SurrogateModel model : {SurrogateModel::ridge, SurrogateModel::boosted_trees}) {
        std::vector<std::vector<double>> guesses;
        for (const std::size_t at_once : {1u, 33u, 700u}) {
            Surrogate surrogate = Surrogate::make(space, {.model = model});
            const auto candidates = all_of(known);
            for (std::size_t k = 0; k < known.size(); k += at_once) {
                const std::size_t n = std::min(at_once, known.size() - k);
                ASSERT_TRUE(
                    surrogate.learn(std::span(candidates).subspan(k, n), std::span(costs).subspan(k, n)));
            }
            guesses.push_back(*surrogate.predict(all_of(unknown)));
        }
        EXPECT_EQ(guesses[0], guesses[1]);
        EXPECT_EQ(guesses[0], guesses[2]);
    }
}

TEST(Surrogate, RefusesWhatIsNoNumber) {
    Space space = space_of();
    const auto known = random_candidates(space, 64, 1);
    Surrogate surrogate = Surrogate::make(space), with_extra = Surrogate::make(space, {.extras = 1});
    for (const double bad : {HUGE_VAL, -HUGE_VAL, std::nan("")}) {
        std::vector<double> values(64, 1.0);
        values[40] = bad;
        const auto learnt = surrogate.learn(all_of(known), values);
        ASSERT_FALSE(learnt);
        EXPECT_EQ(learnt.error().code, Errc::argument_invalid);
        EXPECT_FALSE(with_extra.learn(all_of(known), std::vector<double>(64, 1.0), values));
    }
    EXPECT_EQ(surrogate.learnt(), 0u);
    EXPECT_FALSE(surrogate.learn(all_of(known), noise(63, 1)));
    EXPECT_FALSE(with_extra.learn(all_of(known), noise(64, 1)));
    EXPECT_TRUE(with_extra.learn(all_of(known), noise(64, 1), noise(64, 2)));
    Candidate other;
    const Candidate* const one = &other;
    EXPECT_FALSE(surrogate.predict(std::span(&one, 1)));
    EXPECT_TRUE(surrogate.learn(all_of(known), noise(64, 1)));
    EXPECT_EQ(surrogate.learnt(), 64u);
}

TEST(Surrogate, OrdersQueuesAndNowAndThenAgainstItself) {
    const Space space = space_of();
    const auto known = random_candidates(space, 512, 1), queue = random_candidates(space, 100, 2);
    Surrogate surrogate = Surrogate::make(space);
    const auto before = surrogate.order(all_of(queue));
    ASSERT_TRUE(before);
    EXPECT_TRUE(std::ranges::is_sorted(*before));
    ASSERT_TRUE(surrogate.learn(all_of(known), linear_costs(space, known)));
    const auto order = *surrogate.order(all_of(queue));
    const auto costs = linear_costs(space, queue);
    EXPECT_EQ(costs[order[0]], std::ranges::min(costs));
    EXPECT_EQ(costs[order[19]], std::ranges::max(costs));
    auto sorted = order;
    std::ranges::sort(sorted);
    EXPECT_EQ(sorted, *before);
}

TEST(Surrogate, BoostedTreesLearnWhatIsNotLinear) {
    if (boosted_trees() == nullptr) GTEST_SKIP() << "there is no libxgboost.so";
    const Space space = space_of();
    const auto known = random_candidates(space, 1024, 1);
    std::vector<double> costs;
    for (const Candidate& candidate : known) {
        auto row = features_of(space, candidate.genome);
        costs.push_back(row["f: live"] > 10 ? 1 : row["f: depth"] > 4 ? 5 : 3);
    }
    Surrogate trees = Surrogate::make(space, {.model = SurrogateModel::boosted_trees}),
              line = Surrogate::make(space);
    ASSERT_TRUE(trees.learn(all_of(known), costs));
    ASSERT_TRUE(line.learn(all_of(known), costs));
    EXPECT_GT(trees.r_squared(), 0.9);
    EXPECT_LT(line.r_squared(), trees.r_squared());
}

// 640 stubs in a small kernel, as an assembler makes them; the last 256 are guessed before they are learnt.
TEST(Surrogate, LearnsRegistersAndBytesOfCode) {
    const auto skeleton = Skeleton::from_cuda(R"(#include <ptxgraft/site.cuh>
        extern "C" __global__ void apply(float* data, const float* other) {
            float x = data[threadIdx.x], z = other[threadIdx.x];
            unsigned i = threadIdx.x;
            PTXGRAFT_SITE("f", "", mod(f32, x), in(f32, z), in(u32, i));
            data[threadIdx.x] = x;
        })",
                                              {.target = "sm_90a"});
    ASSERT_TRUE(skeleton) << describe(skeleton.error());
    const Space space = space_of(skeleton->site("f")->signature);
    const auto candidates = random_candidates(space, 640, 11);
    std::vector<std::vector<Graft>> grafts;
    for (const Candidate& candidate : candidates) {
        const auto stub =
            stack::make_stub(candidate.genome.programs[0], space.sites[0].machine, program_options);
        ASSERT_TRUE(stub) << describe(stub.error());
        grafts.push_back({{"f", *stub}});
    }
    const auto codes = skeleton->assemble_many(grafts, {}, {.threads = 2, .variants_per_module = 16});
    std::vector<double> registers, bytes;
    for (const auto& code : codes) {
        ASSERT_TRUE(code) << describe(code.error());
        const auto& functions = code->cubin->functions;
        const auto own = std::ranges::find_if(
            functions, [&](const FunctionUsage& f) { return f.name == "apply" + code->suffix; });
        ASSERT_NE(own, functions.end());
        registers.push_back(own->registers);
        bytes.push_back(own->code_bytes);
    }
    for (const SurrogateModel model : {SurrogateModel::ridge, SurrogateModel::boosted_trees})
        for (const auto& [what, values] :
             {std::pair("registers", &registers), std::pair("code_bytes", &bytes)}) {
            Surrogate surrogate = Surrogate::make(space, {.model = model});
            ASSERT_TRUE(surrogate.learn(all_of(candidates), *values));
            std::printf(
                "[ %s by %s: of the last 256, unseen: R^2 %.3f, recall of the lowest tenth %.2f%s ]\n", what,
                model == SurrogateModel::ridge ? "ridge" : "boosted trees", surrogate.r_squared(),
                surrogate.recall(), surrogate.is_trusted() ? ", trusted" : "");
            EXPECT_GT(surrogate.r_squared(), 0.5) << what;
        }
}

}  // namespace
}  // namespace ptxgraft::search
