// The error of programs over all of their inputs, and the first input for which two differ.
#include "ptxgraft/accuracy.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>

namespace ptxgraft::stack {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

Machine machine_of(std::string_view signature) {
    return *Machine::make(find_set("full"), *Signature::parse(signature));
}
Program program_of(std::string_view text, const Machine& machine) {
    const auto program = parse(text, machine);
    EXPECT_TRUE(program) << describe(program.error(), text);
    return *program;
}
template <class F> Reference function(F f) {
    return [f](std::span<const double> x, std::span<double> y) {
        for (std::size_t i = 0; i < x.size(); ++i) y[i] = f(x[i]);
    };
}
LargestError error_of(std::string_view signature, std::string_view text, const Reference& reference,
                      const ErrorOptions& options = {}) {
    const Machine machine = machine_of(signature);
    const auto found = largest_error(program_of(text, machine), machine, reference, options);
    EXPECT_TRUE(found) << describe(found.error(), text);
    return found ? *found : LargestError{.error = -1};
}
std::uint64_t word_of(float x) { return std::bit_cast<std::uint32_t>(x); }

TEST(Accuracy, RangesOfFloats) {
    EXPECT_EQ(inputs_between(Type::f32, -8, 8),
              (std::vector<InputRange>{{0, word_of(8)}, {0x80000000, word_of(-8)}}));
    EXPECT_EQ(inputs_between(Type::f32, 1, 2), (std::vector<InputRange>{{word_of(1), word_of(2)}}));
    EXPECT_EQ(inputs_between(Type::f32, -2, -1), (std::vector<InputRange>{{word_of(-1), word_of(-2)}}));
    EXPECT_EQ(inputs_between(Type::f32, 0, 0), (std::vector<InputRange>{{0, 0}, {0x80000000, 0x80000000}}));
    EXPECT_EQ(inputs_between(Type::f32, -infinite, 0),
              (std::vector<InputRange>{{0, 0}, {0x80000000, 0xFF800000}}));
    EXPECT_EQ(inputs_between(Type::f16, 1, 2), (std::vector<InputRange>{{0x3C00, 0x4000}}));
    // inwards
    EXPECT_EQ(inputs_between(Type::f16, 1.0001, 1.9999), (std::vector<InputRange>{{0x3C01, 0x3FFF}}));
    EXPECT_EQ(inputs_between(Type::bf16, 1, 2), (std::vector<InputRange>{{0x3F80, 0x4000}}));
    EXPECT_TRUE(inputs_between(Type::u32, 1, 2).empty());
    EXPECT_TRUE(inputs_between(Type::f32, 2, 1).empty());
    EXPECT_TRUE(inputs_between(Type::f32, 1.00000001, 1.00000002).empty());
}

TEST(Accuracy, FindsTheLargestErrorAndWhere) {
    const ErrorOptions absolute{.ranges = inputs_between(Type::f32, 1, 1.25),
                                .measure = ErrorMeasure::absolute};
    const LargestError found =
        error_of("in f32 x, out f32 y", "x 3.0 max.f32 -> y", function([](double x) { return x; }), absolute);
    EXPECT_EQ(found.error, 2);
    EXPECT_EQ(found.input, word_of(1));
    EXPECT_EQ(found.expected, 1);
    EXPECT_EQ(found.result, 3);
    EXPECT_EQ(found.inputs, word_of(1.25f) - word_of(1) + 1);
    EXPECT_TRUE(found.is_complete);
    ErrorOptions options = absolute;
    options.measure = ErrorMeasure::relative;
    const auto of = [&](std::string_view text) {
        return error_of("in f32 x, out f32 y", text, function([](double x) { return x; }), options).error;
    };
    EXPECT_EQ(of("x 3.0 max.f32 -> y"), 2);
    EXPECT_EQ(of("x 2.0 mul.f32 -> y"), 1);
    EXPECT_EQ(of("x -> y"), 0);
    options.floor = 2.5;
    EXPECT_EQ(of("x 2.0 mul.f32 -> y"), 0.5);  // 1.25 of 2.5
    options.measure = ErrorMeasure::ulp;
    EXPECT_EQ(of("x as.u32.f32 3 add.u32 as.f32.u32 -> y"), 3);
}

TEST(Accuracy, AllInputsOfSixteenBits) {
    // 2^x of f16 to the nearest: half a unit, and infinite where it overflows
    const auto exp2 = function([](double x) { return std::exp2(x); });
    const ErrorOptions exact{.measure = ErrorMeasure::ulp, .runs = {{}}};
    const LargestError found = error_of("in f16 x, out f16 y", "x ex2.approx.f16 -> y", exp2, exact);
    EXPECT_EQ(found.inputs, 65536u);
    EXPECT_LE(found.error, 0.5);
    EXPECT_GT(found.error, 0.499);
    // the manual's bound is 2^-9.9
    ErrorOptions all{.ranges = inputs_between(Type::f16, -14, 15.9)};
    const double bound = std::exp2(-9.9),
                 reached = error_of("in f16 x, out f16 y", "x ex2.approx.f16 -> y", exp2, all).error;
    EXPECT_LE(reached, bound * (1 + 1e-9));
    EXPECT_GT(reached, 0.99 * bound);
    // integers: units of one
    EXPECT_EQ(error_of("in s16 x, out s16 y", "x 3s16 add.s16 -> y", function([](double x) { return x; }),
                       {.ranges = {{0, 1000}}, .measure = ErrorMeasure::ulp})
                  .error,
              3);
}

TEST(Accuracy, TakesTheWorstOfApproximateResults) {
    const auto tanh = function([](double x) { return std::tanh(x); });
    ErrorOptions options{.ranges = inputs_between(Type::f32, 0.5, 0.5625)};
    const LargestError found = error_of("in f32 x, out f32 y", "x tanh.approx.f32 -> y", tanh, options);
    EXPECT_LE(found.error, 0x1p-11);
    EXPECT_GT(found.error, 0x1p-11 * 0.999);
    EXPECT_NE(found.run.approximation, Approximation::exact);
    options.runs = {{}};
    EXPECT_LE(error_of("in f32 x, out f32 y", "x tanh.approx.f32 -> y", tanh, options).error, 0x1p-24);
}

TEST(Accuracy, WhatIsNotANumberIsWrongUnlessItIsExpected) {
    const auto error = [](std::string_view text, const Reference& reference, InputRange range) {
        return error_of("in f32 x, out f32 y", text, reference, {.ranges = {range}}).error;
    };
    const auto root = function([](double x) { return std::sqrt(x); });
    const auto same = function([](double x) { return x; });
    EXPECT_EQ(error("x -> y", same, {0x7F800000, 0x7F900000}), 0);  // infinity and NaNs
    EXPECT_LE(error("x sqrt.rn.f32 -> y", root, {0xC0000000, 0xC0001000}), 0);
    EXPECT_EQ(error("nan -> y", same, {0x3F800000, 0x3F800000}), infinite);
    EXPECT_EQ(error("x -> y", root, {0xC0000000, 0xC0001000}), infinite);
    EXPECT_EQ(error("x x mul.f32 -> y", function([](double x) { return x * x; }), {0x7F000000, 0x7F001000}),
              0);
    EXPECT_EQ(error("inf -> y", same, {0x7F000000, 0x7F001000}), infinite);
    EXPECT_EQ(
        error("x x mul.f32 neg.f32 -> y", function([](double x) { return x * x; }), {0x7F000000, 0x7F001000}),
        infinite);
}

TEST(Accuracy, StopsPastALimitTheSameWithAnyNumberOfThreads) {
    const auto reference = function([](double x) { return x; });
    ErrorOptions options{.ranges = inputs_between(Type::f32, 0, 1), .stop_above = 0.5, .threads = 1};
    // wrong above one half alone
    const std::string program = "x 2.0 mul.f32 x x 0.5 setp.gt.f32 selp.f32 -> y";
    const LargestError one = error_of("in f32 x, out f32 y", program, reference, options);
    EXPECT_FALSE(one.is_complete);
    EXPECT_EQ(one.error, 1);
    EXPECT_GT(one.input, word_of(0.5f));
    EXPECT_LT(one.inputs, word_of(1) / 4);
    for (const unsigned threads : {2u, 5u}) {
        options.threads = threads;
        const LargestError other = error_of("in f32 x, out f32 y", program, reference, options);
        EXPECT_EQ(other.input, one.input);
        EXPECT_EQ(other.inputs, one.inputs);
        EXPECT_EQ(other.error, one.error);
    }
}

TEST(Accuracy, ProgramsThatAreTheSameFunction) {
    const auto first = [](std::string_view signature, std::string_view a, std::string_view b,
                          std::vector<InputRange> ranges = {}, unsigned threads = 0) {
        const Machine machine = machine_of(signature);
        const auto found = find_difference(program_of(a, machine), program_of(b, machine), machine,
                                           {.ranges = std::move(ranges), .threads = threads});
        EXPECT_TRUE(found) << describe(found.error());
        return *found;
    };
    const std::vector<InputRange> some = {{0, 1u << 20}, {0x7FFF0000, 0x80010000}, {0xFFF00000, 0xFFFFFFFF}};
    // the lowest set bit, removed
    EXPECT_FALSE(first("in u32 x, out u32 y", "x x 1 sub.u32 and.b32 -> y",
                       "x x 0 x sub.u32 and.b32 sub.u32 -> y", some));
    // the mean of two, without overflow: every pair of 16 bits whose first is small
    const char* mean = "a b and.b16 a b xor.b16 1 shr.u16 add.u16 -> m";
    const char* wide = "a cvt.u32.u16 b cvt.u32.u16 add.u32 1 shr.u32 cvt.u16.u32 -> m";
    EXPECT_FALSE(first("in u16 b, in u16 a, out u16 m", mean, wide, {{0, 0x3FFFFF}}));
    // … which the sum loses
    const auto lost =
        first("in u16 b, in u16 a, out u16 m", "a b add.u16 1 shr.u16 -> m", wide, {{0, 0x3FFFFF}});
    ASSERT_TRUE(lost);
    EXPECT_EQ(lost->input, 0x1FFFFu);  // b = 65535, a = 1
    EXPECT_EQ(lost->output, 2u);
    EXPECT_EQ(lost->expected, 0x8000u);
    EXPECT_EQ(lost->result, 0u);
    for (const unsigned threads : {1u, 4u}) {
        const auto again =
            first("in u32 x, out u32 y", "x -> y", "x 0x7FFFFFFFu32 min.u32 -> y", some, threads);
        ASSERT_TRUE(again);
        EXPECT_EQ(again->input, 0x80000000u);
    }
    // two outputs: the second differs first
    const auto second =
        first("in u16 x, out u16 y, out u16 z", "x x -> y z", "x 500u16 min.u16 x 300u16 min.u16 -> y z");
    ASSERT_TRUE(second);
    EXPECT_EQ(second->input, 301u);
    EXPECT_EQ(second->output, 2u);
}

TEST(Accuracy, SaysWhatItCannot) {
    const auto same = function([](double x) { return x; });
    const auto code = [&](std::string_view signature, std::string_view text,
                          const ErrorOptions& options = {}) {
        const Machine machine = machine_of(signature);
        const auto found = largest_error(program_of(text, machine), machine, same, options);
        return found ? std::string("none") : describe(found.error(), text);
    };
    EXPECT_NE(code("in f32 x, in f32 z, out f32 y", "x -> y").find("reads one register"), std::string::npos);
    EXPECT_NE(code("in f32 x, out f32 y, out f32 z", "x x -> y z").find("reads one register"),
              std::string::npos);
    EXPECT_NE(code("in f64 x, out f64 y", "x -> y").find("64 bits"), std::string::npos);
    EXPECT_NE(code("in f16x2 x, out f16x2 y", "x -> y").find("numbers"), std::string::npos);
    EXPECT_NE(code("in f16 x, out f16 y", "x -> y", {.ranges = {{0, 65536}}}).find("65535"),
              std::string::npos);
    EXPECT_NE(code("in f32 x, out f32 y", "x %tid.x cvt.rn.f32.u32 add.f32 -> y").find("%tid.x"),
              std::string::npos);
}

}  // namespace
}  // namespace ptxgraft::stack
