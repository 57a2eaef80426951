// Verdicts on times: by hand where a table says them, by thousands of simulated sessions where they are a
// matter of chance. Seeds are fixed: a test that passes passes always.
#include "ptxgraft/measure/statistics.hpp"

#include <gmock/gmock.h>

#include <limits>

#include "fake_cuda/scripted_noise.hpp"

namespace ptxgraft::measure {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

// A session of two variants: each round ABBA or BAAB, by a coin, as timing.hpp measures.
std::vector<double> simulated(Noise noise, std::uint64_t seed, std::uint32_t rounds, double ratio,
                              double sigma = 0.0025) {
    NoiseScript script(noise, seed, sigma);
    stack::Random coin(seed, 77);
    std::vector<double> result;
    for (std::uint32_t i = 0; i < rounds; ++i) {
        double logs[2] = {0, 0};
        const int first = coin.chance(0.5) ? 1 : 0;
        for (const int variant : {first, 1 - first, 1 - first, first})
            logs[variant] += std::log(script.next() * (variant == 1 ? ratio : 1.0)) / 2;
        result.push_back(logs[1] - logs[0]);
    }
    return result;
}

struct Tally {
    int faster = 0, slower = 0, same = 0, unsure = 0, significant = 0;
    void add(const Comparison& c, double alpha) {
        ++(c.verdict == Verdict::faster   ? faster
           : c.verdict == Verdict::slower ? slower
           : c.verdict == Verdict::same   ? same
                                          : unsure);
        significant += c.p <= alpha;
    }
};

Tally sessions(Noise noise, int count, std::uint32_t rounds, double ratio, const CompareOptions& options = {},
               double sigma = 0.0025) {
    Tally tally;
    for (int i = 0; i < count; ++i)
        tally.add(compare(simulated(noise, static_cast<std::uint64_t>(i), rounds, ratio, sigma), {}, options)
                      .value(),
                  options.alpha);
    return tally;
}

// So many of `count` at probability p are surely too many: four deviations.
int too_many(int count, double p) { return static_cast<int>(count * p + 4 * std::sqrt(count * p * (1 - p))); }

TEST(Statistics, EqualVariantsAreSeldomToldApart) {
    for (const Noise noise : all_noise) {
        for (const std::uint32_t rounds : {8u, 16u, 33u}) {
            const Tally tally = sessions(noise, 3000, rounds, 1);
            EXPECT_LE(tally.significant, too_many(3000, 0.05)) << noise_name(noise) << ' ' << rounds;
            EXPECT_LE(tally.faster + tally.slower, too_many(3000, 0.05))
                << noise_name(noise) << ' ' << rounds;
        }
        const Tally strict = sessions(noise, 3000, 16, 1, {.alpha = 0.001});
        EXPECT_LE(strict.significant, too_many(3000, 0.001)) << noise_name(noise);
    }
}

// As many rounds as rounds_needed says show what it says as often as it says.
TEST(Statistics, RoundsShowTheEffectThatTheyAreFor) {
    for (const double alpha : {0.05, 0.001}) {
        // The mean of two samples on either side: a round's logarithm varies by as much as one sample.
        const double sigma = 0.005;
        const auto rounds = rounds_needed({.effect = 0.005, .sigma = sigma, .alpha = alpha}).value();
        for (const double ratio : {1.005, 1 / 1.005}) {
            const Tally tally = sessions(Noise::white, 2000, rounds, ratio, {.alpha = alpha}, sigma);
            EXPECT_GE(tally.significant, 2000 * 0.78) << alpha;
            EXPECT_LE(ratio > 1 ? tally.faster : tally.slower, 2) << "the wrong side";
        }
    }
    // A verdict needs the estimate beyond 0.5 % as well: of a true 0.5 % that is half of the time.
    const Tally edge = sessions(Noise::white, 2000, 16, 0.995);
    EXPECT_NEAR(edge.faster, 1000, 120);
    EXPECT_EQ(edge.slower, 0);
    for (const Noise noise : {Noise::none, Noise::white, Noise::ramp, Noise::drift})
        EXPECT_GE(sessions(noise, 1000, 16, 0.99).faster, 950) << noise_name(noise);
    EXPECT_GE(sessions(Noise::throttle, 1000, 16, 0.99).faster, 800);
    // A spike in a fifth of the rounds: the slower one wins nearly as many as separation allows, and it takes
    // more of them.
    EXPECT_GE(sessions(Noise::spikes, 1000, 16, 0.99).faster, 500);
    EXPECT_GE(sessions(Noise::spikes, 500, 32, 0.99).significant, 475);
    EXPECT_EQ(sessions(Noise::none, 100, 16, 1.0051).slower, 100);
}

// folo-rs/folo#366: a significant difference that few rounds show is none.
TEST(Statistics, ADifferenceThatFewRoundsShowIsNone) {
    EXPECT_LE(sessions(Noise::bimodal, 1000, 64, 0.994).faster, 50);
    EXPECT_GE(sessions(Noise::bimodal, 1000, 64, 0.994).significant, 800);
    EXPECT_GE(sessions(Noise::bimodal, 1000, 64, 0.95).faster, 990);
}

TEST(Statistics, EqualSamplesAreTheSame) {
    const std::vector<double> times(8, 0.25);
    const auto result = compare(log_ratios(times, times).value()).value();
    EXPECT_EQ(result.verdict, Verdict::same);
    EXPECT_EQ(result.ratio, 1);
    EXPECT_EQ(result.p, 1);
    EXPECT_EQ(result.superiority, 0.5);
    EXPECT_GE(sessions(Noise::white, 1000, 32, 1).same, 950);
    // Of five rounds there is no interval of 95 %.
    EXPECT_EQ(compare(std::vector<double>(5, 0.0))->verdict, Verdict::unsure);
    EXPECT_EQ(compare(std::vector<double>(5, -0.5))->verdict, Verdict::unsure);
    EXPECT_EQ(compare(std::vector<double>(6, -0.5))->verdict, Verdict::faster);
    EXPECT_EQ(compare({})->verdict, Verdict::unsure);
}

// Tables of the signed-rank distribution (Hollander, Wolfe, Chicken, table A.4): n = 8, P(T >= 31) = .039,
// P(T >= 33) = .020; n = 5, P(T >= 15) = .031.
TEST(Statistics, ThePValueIsTheTables) {
    const auto p = [](std::initializer_list<double> rounds) { return compare(std::vector(rounds))->p; };
    EXPECT_THAT(p({1, 2, 3, 4, 5}), DoubleNear(2 / 32.0, 1e-12));
    EXPECT_THAT(p({-1, 2, 3, 4, 5}), DoubleNear(4 / 32.0, 1e-12));
    EXPECT_THAT(p({1, 2, 3, 4, -5, 6, 7, 8}), DoubleNear(2 * 10 / 256.0, 1e-12));
    EXPECT_THAT(p({1, 2, -3, 4, 5, 6, 7, 8}), DoubleNear(2 * 5 / 256.0, 1e-12));
    // Ties share their ranks: of 1.5, 1.5, 3 and 4 the sums up to 1.5 are 0 and twice 1.5.
    EXPECT_THAT(p({-1, 1, 2, 3}), DoubleNear(2 * 3 / 16.0, 1e-12));
    // A zero has a rank and no sign: 2, 3 and 4 are left.
    EXPECT_THAT(p({0, 2, 3, 4}), DoubleNear(2 / 8.0, 1e-12));
    // The exact distribution goes over into the normal one.
    std::vector<double> many;
    for (int i = 1; i <= 128; ++i) many.push_back(i % 5 < 2 ? -i : i);
    const double exact = compare(many)->p;
    many.push_back(0.001);
    EXPECT_NEAR(compare(many)->p, exact, 0.1 * exact);
    EXPECT_LT(exact, 0.05);
}

TEST(Statistics, TheEstimateIsTheMedianOfAverages) {
    const auto result = compare(std::vector<double>{0.01, 0.02, 0.9, 0.03, 0.02, 0.01, 0.02, 0.02}).value();
    EXPECT_NEAR(result.ratio, std::exp(0.02), 1e-12);
    EXPECT_NEAR(result.median, std::exp(0.02), 1e-12);
    EXPECT_EQ(result.verdict, Verdict::slower);
    EXPECT_EQ(result.superiority, 0);
    // n = 8: the interval of 95 % is the averages 4 and 33 of 36 (P(T <= 3) = 5 / 256).
    const auto straight = compare(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}).value();
    EXPECT_NEAR(std::log(straight.low), 2, 1e-12);
    EXPECT_NEAR(std::log(straight.high), 7, 1e-12);
    // And it covers what it should.
    int covered = 0;
    for (std::uint64_t i = 0; i < 2000; ++i) {
        const auto one = compare(simulated(Noise::white, i, 20, 1.01)).value();
        covered += one.low <= 1.01 && one.high >= 1.01;
    }
    EXPECT_NEAR(covered, 1900, 50);
}

TEST(Statistics, AVerdictHasToHoldInCycles) {
    const std::vector<double> rounds(16, -0.02), slower(16, 0.02), none(16, 0.0);
    EXPECT_EQ(compare(rounds, rounds)->verdict, Verdict::faster);
    EXPECT_EQ(compare(rounds, slower)->verdict, Verdict::unsure);
    EXPECT_EQ(compare(rounds, none)->verdict, Verdict::unsure);  // it only had the higher clock
    EXPECT_NEAR(compare(rounds, none)->ratio_in_cycles, 1, 1e-12);
    EXPECT_FALSE(compare(rounds, std::vector<double>(15, 0.0)));
}

TEST(Statistics, WhatIsNoTimeIsRefused) {
    const std::vector<double> good(8, 1.0);
    for (const double bad : {0.0, -1.0, no_number, infinity, -infinity}) {
        std::vector<double> times = good;
        times[5] = bad;
        for (const auto& refused : {log_ratios(good, times), log_ratios(times, good)}) {
            ASSERT_FALSE(refused) << bad;
            EXPECT_EQ(refused.error().code, Errc::argument_invalid);
            EXPECT_EQ(refused.error().index, 5u);
            EXPECT_THAT(message(refused.error()), HasSubstr("number 5 is no time"));
        }
        EXPECT_FALSE(calibrate(good, times)) << bad;
        EXPECT_FALSE(overall(std::vector<ShapeSpeed>{{1.5}, {bad}})) << bad;
    }
    for (const double bad : {no_number, infinity, -infinity}) {
        std::vector<double> rounds(8, 0.0);
        rounds[2] = bad;
        EXPECT_EQ(compare(rounds).error().index, 2u);
        EXPECT_FALSE(compare(std::vector<double>(8, 0.0), rounds));
        EXPECT_FALSE(calibrate(rounds, good));
        EXPECT_FALSE(overall(std::vector<ShapeSpeed>{{1, bad}}));
        EXPECT_FALSE(compare({}, {}, {.alpha = bad}));
        EXPECT_FALSE(compare({}, {}, {.least_effect = bad}));
        EXPECT_FALSE(compare({}, {}, {.separation = bad}));
        EXPECT_FALSE(rounds_needed({.effect = bad}));
        EXPECT_FALSE(rounds_needed({.sigma = bad}));
    }
    EXPECT_FALSE(log_ratios(good, std::vector<double>(7, 1.0)));
    EXPECT_FALSE(overall({}));
    EXPECT_FALSE(rounds_needed({.effect = 0}));
    EXPECT_FALSE(rounds_needed({.effect = 1e-9, .sigma = 1}));
}

// pi / 3 (((1.96 + .8416) / .9975)^2 + 1.96^2 / 2) = 10.3 for sigma = effect; then the least numbers.
TEST(Statistics, HowManyRounds) {
    const auto rounds = [](double sigma, double alpha) {
        return rounds_needed({.effect = 0.005, .sigma = sigma, .alpha = alpha}).value();
    };
    EXPECT_EQ(rounds(0.005, 0.05), 11u);
    EXPECT_EQ(rounds(0.005, 0.001), 24u);
    EXPECT_EQ(rounds(0.01, 0.05), 36u);
    EXPECT_EQ(rounds(0.01, 0.001), 78u);
    EXPECT_EQ(rounds(0, 0.05), 6u);
    EXPECT_EQ(rounds(0, 0.001), 11u);
}

TEST(Statistics, ATestThatLooksOftenIsNoMoreOftenWrong) {
    const SequentialOptions options{.group = 8, .groups = 4};
    for (const Noise noise : all_noise) {
        int found = 0, early = 0, missed = 0;
        for (std::uint64_t i = 0; i < 2000; ++i) {
            const std::vector<double> equal = simulated(noise, i, 32, 1);
            const std::vector<double> faster = simulated(noise, i, 32, 0.97);
            auto test = SequentialTest::make(options).value(), other = SequentialTest::make(options).value();
            bool is_found = false;
            for (std::uint32_t rounds = 8; rounds <= 32; rounds += 8) {
                const auto look = test.look({equal.data(), rounds}).value();
                is_found |= look.comparison.p <= look.alpha;
                if (look.is_over) break;
            }
            found += is_found;
            for (std::uint32_t rounds = 8; rounds <= 32; rounds += 8) {
                const auto look = other.look({faster.data(), rounds}).value();
                early += look.is_over && rounds < 32 && look.comparison.verdict == Verdict::faster;
                missed += look.is_over && look.comparison.verdict != Verdict::faster;
                if (look.is_over) break;
            }
        }
        EXPECT_LE(found, too_many(2000, 0.05)) << noise_name(noise);
        EXPECT_GE(early, 1500) << noise_name(noise);
        EXPECT_LE(missed, noise == Noise::spikes ? 400 : 100) << noise_name(noise);
    }
}

TEST(Statistics, ASequentialTestSpendsItsAlpha) {
    auto test = SequentialTest::make({.group = 8, .groups = 3}).value();
    stack::Random random(1);
    std::vector<double> rounds;
    double spent = 0;
    for (int look = 0; look < 3; ++look) {
        for (int i = 0; i < 8; ++i) rounds.push_back((i % 2 == 0 ? 1 : -1) * (0.1 + random.unit()));
        const auto looked = test.look(rounds).value();
        spent += looked.alpha;
        EXPECT_EQ(looked.is_over, look == 2);
    }
    EXPECT_NEAR(spent, 0.05, 1e-12);
    EXPECT_FALSE(test.look(rounds));
    EXPECT_FALSE(SequentialTest::make({})->look(std::vector<double>(7)));
    EXPECT_FALSE(SequentialTest::make({.group = 0}));
    EXPECT_FALSE(SequentialTest::make({.groups = 0}));
    EXPECT_FALSE(SequentialTest::make({.compare = {.alpha = 1}}));
}

TEST(Statistics, ACalibrationSaysWhatMayBeJudged) {
    const std::vector<double> times(32, 0.1);
    const auto of = [&](Noise noise, double sigma) {
        return calibrate(simulated(noise, 5, 256, 1, sigma), times).value();
    };
    EXPECT_EQ(of(Noise::none, 0).sigma, 0);
    EXPECT_EQ(of(Noise::none, 0).least_effect(), 0.005);
    EXPECT_NEAR(of(Noise::white, 0.01).sigma, 0.01, 0.0015);
    EXPECT_NEAR(of(Noise::white, 0.01).least_effect(), 0.02, 0.003);
    EXPECT_EQ(of(Noise::white, 0.01).milliseconds, 0.1);
    EXPECT_GT(of(Noise::bimodal, 0.001).sigma, 0.01);
    EXPECT_LT(of(Noise::spikes, 0.001).sigma, 0.2);
    EXPECT_EQ(calibrate(std::vector<double>(7), times).error().code, Errc::argument_invalid);
    EXPECT_FALSE(calibrate(std::vector<double>(8), {}));
}

TEST(Statistics, ADeviceThatMovedIsFound) {
    const Calibration begin{.rounds = 32, .sigma = 0.002, .milliseconds = 0.1};
    const auto with = [&](auto change) {
        Calibration end = begin;
        change(end);
        return moved(begin, end);
    };
    EXPECT_EQ(with([](Calibration&) {}), "");
    EXPECT_THAT(with([](Calibration& c) { c.milliseconds = 0.106; }), HasSubstr("+6.0 % more time"));
    EXPECT_THAT(with([](Calibration& c) { c.milliseconds = 0.09; }), HasSubstr("-10.0 %"));
    EXPECT_THAT(with([](Calibration& c) { c.sigma = 0.005; }), HasSubstr("from 0.20 % to 0.50 %"));
    EXPECT_EQ(with([](Calibration& c) { c.sigma = 0; }), "");
    EXPECT_THAT(with([](Calibration& c) { c.bias = 0.02, c.p = 1e-6; }), HasSubstr("itself by +2.02 %"));
    EXPECT_EQ(with([](Calibration& c) { c.bias = 0.02, c.p = 0.2; }), "");
    // Seldom of a device that did not.
    int found = 0;
    const std::vector<double> times(32, 0.1);
    for (std::uint64_t i = 0; i < 1000; ++i)
        found += !moved(calibrate(simulated(Noise::white, 2 * i, 32, 1), times).value(),
                        calibrate(simulated(Noise::white, 2 * i + 1, 32, 1), times).value())
                      .empty();
    EXPECT_LE(found, 10);
}

TEST(Statistics, ShapesAreClippedAtTheirRoofline) {
    const std::vector<ShapeSpeed> shapes{{2, 4}, {8, 4}, {0.5}, {1}};
    const auto result = overall(shapes).value();
    EXPECT_NEAR(result.speedup, std::pow(2 * 4 * 0.5 * 1, 0.25), 1e-12);
    EXPECT_EQ(result.worst, 0.5);
    EXPECT_EQ(result.worst_shape, 2u);
    EXPECT_EQ(result.clipped, 1u);
}

// ShinkaEvolve#119: the best of a thousand equal ones looks faster than it is, and what is measured anew
// does not.
TEST(Statistics, TheBestOfManyIsMeasuredAnew) {
    double best = infinity;
    for (std::uint64_t i = 0; i < 1000; ++i)
        best = std::min(best, compare(simulated(Noise::white, i, 5, 1, 0.01))->ratio);
    EXPECT_LT(best, 0.99);
    EXPECT_NEAR(compare(simulated(Noise::white, 123456, 32, 1, 0.01))->ratio, 1, 0.005);
    EXPECT_EQ(sessions(Noise::white, 1000, 5, 1, {}, 0.01).faster, 0) << "five rounds show nothing";
}

}  // namespace
}  // namespace ptxgraft::measure
