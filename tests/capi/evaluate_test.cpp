// Programs on the CPU in C.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "handles.hpp"
#include "two_calls.hpp"

namespace {

using namespace ptxgraft::test;
using testing::ElementsAre;
using testing::HasSubstr;

struct CApiEvaluate : testing::Test {
    void SetUp() override {
        ASSERT_OK(ptxgraft_machine_create(&machine, nullptr, "in f32 x, out f32 y", nullptr));
    }

    CProgram program(const std::string& text) const {
        CProgram made;
        EXPECT_OK(ptxgraft_program_create_from_text(&made, machine, text.data(), text.size()));
        return made;
    }
    CEvaluator evaluator(const std::string& text, const ptxgraft_compile_options* options = nullptr) const {
        CEvaluator made;
        EXPECT_OK(ptxgraft_evaluator_create(&made, program(text), machine, options));
        return made;
    }
    static ptxgraft_columns columns_of(const void** inputs, void** outputs, size_t count) {
        ptxgraft_columns columns = PTXGRAFT_COLUMNS_INIT;
        columns.inputs = inputs;
        columns.outputs = outputs;
        columns.register_count = 2;
        columns.count = count;
        return columns;
    }

    CMachine machine;
};

TEST_F(CApiEvaluate, ComputesColumns) {
    const float x[] = {-1, 0, 2, 3.5f};
    float y[] = {9, 9, 9, 9};
    const void* inputs[] = {x, nullptr};
    void* outputs[] = {nullptr, y};
    const ptxgraft_columns columns = columns_of(inputs, outputs, 4);
    const CEvaluator made = evaluator("x x mul.f32 1.0 add.f32 -> y");
    ASSERT_OK(ptxgraft_evaluator_run(made, &columns));
    EXPECT_THAT(y, ElementsAre(2, 1, 5, 13.25f));
    EXPECT_EQ(ptxgraft_evaluator_get_instruction_count(made), 2u);
    EXPECT_EQ(ptxgraft_evaluator_get_approximate(made), 0u);
    ASSERT_OK(ptxgraft_evaluator_prepare(made, program("x neg.f32 -> y"), machine, nullptr));
    ASSERT_OK(ptxgraft_evaluator_run(made, &columns));
    EXPECT_THAT(y, ElementsAre(1, 0, -2, -3.5f));
}

TEST_F(CApiEvaluate, ConstantsAreBoundAnew) {
    ptxgraft_compile_options options = PTXGRAFT_COMPILE_OPTIONS_MUTATED;
    options.constants = PTXGRAFT_CONSTANTS_data;
    const CEvaluator made = evaluator("x 0.5 mul.f32 -> y", &options);
    const auto constants =
        list_of<uint64_t>([&](auto* c, size_t* n) { return ptxgraft_evaluator_get_constants(c, n, made); });
    EXPECT_THAT(constants, ElementsAre(0x3F000000));
    const uint64_t others[] = {0x40000000, 0};
    ASSERT_OK(ptxgraft_evaluator_set_constants(made, others, 1));
    const float x[] = {3};
    float y[] = {0};
    const void* inputs[] = {x, nullptr};
    void* outputs[] = {nullptr, y};
    const ptxgraft_columns columns = columns_of(inputs, outputs, 1);
    ASSERT_OK(ptxgraft_evaluator_run(made, &columns));
    EXPECT_EQ(y[0], 6);
    EXPECT_EQ(ptxgraft_evaluator_set_constants(made, others, 2), PTXGRAFT_STATUS_constants_differ);
    EXPECT_INVALID(ptxgraft_evaluator_set_constants(made, nullptr, 1), "constants is null, but count is 1");
}

TEST_F(CApiEvaluate, ApproximationsLieAtTheirEdges) {
    const CEvaluator made = evaluator("x ex2.approx.f32 -> y");
    EXPECT_EQ(ptxgraft_evaluator_get_approximate(made), 1u);
    const float x[] = {0.3f};
    const void* inputs[] = {x, nullptr};
    std::array<float, 3> y{};
    for (int edge = 0; edge < 3; ++edge) {
        void* outputs[] = {nullptr, &y[static_cast<size_t>(edge)]};
        ptxgraft_columns columns = columns_of(inputs, outputs, 1);
        columns.approximation = static_cast<ptxgraft_approximation>(edge);
        ASSERT_OK(ptxgraft_evaluator_run(made, &columns));
    }
    EXPECT_EQ(y[0], static_cast<float>(std::exp2(static_cast<double>(0.3f))));
    EXPECT_GT(y[1], y[0]);
    EXPECT_LT(y[2], y[0]);
}

TEST_F(CApiEvaluate, ArgumentsAreChecked) {
    const CEvaluator made = evaluator("x -> y");
    const float x[] = {0};
    float y[] = {0};
    const void* inputs[] = {x, nullptr};
    void* outputs[] = {nullptr, y};
    const ptxgraft_columns good = columns_of(inputs, outputs, 1);
    const auto run = [&](const ptxgraft_columns* columns) { return ptxgraft_evaluator_run(made, columns); };
    expect_options_of_all_versions(good, "ptxgraft_columns", 56, run);
    expect_checked(good, &ptxgraft_columns::approximation, "approximation", 3, run);
    ptxgraft_columns wrong = good;
    wrong.register_count = 1;
    EXPECT_INVALID(run(&wrong), "register_count is 1; the signature has 2");
    wrong = good;
    wrong.inputs = nullptr;
    EXPECT_INVALID(run(&wrong), "inputs is null");
    inputs[0] = nullptr;
    EXPECT_INVALID(run(&good), "inputs[0] is null");
    inputs[0] = x;
    outputs[1] = nullptr;
    EXPECT_INVALID(run(&good), "outputs[1] is null");
    EXPECT_EQ(ptxgraft_error_get_index(), 1u);
    EXPECT_INVALID(run(nullptr), "columns is null");
}

TEST_F(CApiEvaluate, WithoutAProgramNothingRuns) {
    const CEvaluator made = evaluator("x -> y");
    const std::string clock = "%tid.x cvt.rn.f32.u32 -> y";
    EXPECT_EQ(ptxgraft_evaluator_prepare(made, program(clock), machine, nullptr),
              PTXGRAFT_STATUS_instruction_not_evaluable);
    const ptxgraft_columns columns = PTXGRAFT_COLUMNS_INIT;
    EXPECT_INVALID(ptxgraft_evaluator_run(made, &columns), "evaluator has no program");
    CEvaluator none;
    EXPECT_EQ(ptxgraft_evaluator_create(&none, program(clock), machine, nullptr),
              PTXGRAFT_STATUS_instruction_not_evaluable);
    EXPECT_EQ(none, nullptr);
}

TEST_F(CApiEvaluate, AProgramWithoutOperandsRuns) {
    CMachine bare;
    ASSERT_OK(ptxgraft_machine_create(&bare, nullptr, "", nullptr));
    CProgram empty;
    ASSERT_OK(ptxgraft_program_create_from_text(&empty, bare, "", 0));
    CEvaluator made;
    ASSERT_OK(ptxgraft_evaluator_create(&made, empty, bare, nullptr));
    ptxgraft_columns columns = PTXGRAFT_COLUMNS_INIT;
    columns.count = 5;
    EXPECT_OK(ptxgraft_evaluator_run(made, &columns));
    columns.register_count = 1;
    EXPECT_INVALID(ptxgraft_evaluator_run(made, &columns), "register_count is 1; the signature has 0");
}

// ------------------------------------------------------------------------------------------------- errors

void square(const double* inputs, double* expected, size_t count, void* payload) {
    for (size_t i = 0; i < count; ++i) expected[i] = inputs[i] * inputs[i] + *static_cast<double*>(payload);
}

TEST_F(CApiEvaluate, FindsTheLargestError) {
    double offset = 0.25;
    const auto ranges = list_of<ptxgraft_input_range>(
        [](auto* r, size_t* n) { return ptxgraft_input_get_ranges(r, n, PTXGRAFT_TYPE_f32, -0.5, 0.5); });
    ASSERT_EQ(ranges.size(), 2u);
    const ptxgraft_input_range few[] = {{0x3F000000, 0x3F000100}};
    ptxgraft_error_options options = PTXGRAFT_ERROR_OPTIONS_INIT;
    options.reference = square;
    options.payload = &offset;
    options.ranges = few;
    options.range_count = 1;
    options.measure = PTXGRAFT_MEASURE_absolute;
    ptxgraft_error_info info = PTXGRAFT_ERROR_INFO_INIT;
    const CProgram exact = program("x x mul.f32 -> y");
    ASSERT_OK(ptxgraft_program_get_largest_error(&info, exact, machine, &options));
    EXPECT_NEAR(info.error, 0.25, 1e-6);
    EXPECT_EQ(info.input_count, 0x101u);
    EXPECT_EQ(info.complete, 1u);
    EXPECT_GE(info.input, 0x3F000000u);
    options.stop_above = 0.1;
    ASSERT_OK(ptxgraft_program_get_largest_error(&info, exact, machine, &options));
    EXPECT_GT(info.error, 0.1);
    const auto call = [&](const ptxgraft_error_options* o) {
        ptxgraft_error_info i = PTXGRAFT_ERROR_INFO_INIT;
        return ptxgraft_program_get_largest_error(&i, exact, machine, o);
    };
    expect_options_of_all_versions(options, "ptxgraft_error_options", 80, call);
    expect_checked(options, &ptxgraft_error_options::measure, "measure", 2, call);
    expect_infos_of_all_versions(
        ptxgraft_error_info PTXGRAFT_ERROR_INFO_INIT, "ptxgraft_error_info", 64,
        [&](auto* i) { return ptxgraft_program_get_largest_error(i, exact, machine, &options); });
    options.reference = nullptr;
    EXPECT_INVALID(call(&options), "reference is null");
    const ptxgraft_input_range backwards = {5, 4};
    options.reference = square;
    options.ranges = &backwards;
    EXPECT_INVALID(call(&options), "ranges[0] ends at 4 and begins at 5");
}

TEST_F(CApiEvaluate, FindsWhereProgramsDiffer) {
    const ptxgraft_input_range few[] = {{0x3F800000, 0x3F800010}};
    ptxgraft_error_options options = PTXGRAFT_ERROR_OPTIONS_INIT;
    options.ranges = few;
    options.range_count = 1;
    const CProgram twice = program("x x add.f32 -> y"), also = program("x 2.0 mul.f32 -> y"),
                   other = program("x 1.0 add.f32 -> y");
    ptxgraft_difference_info info = PTXGRAFT_DIFFERENCE_INFO_INIT;
    info.found = 7;
    ASSERT_OK(ptxgraft_program_find_difference(&info, twice, also, machine, &options));
    EXPECT_EQ(info.found, 0u);
    ASSERT_OK(ptxgraft_program_find_difference(&info, twice, other, machine, &options));
    EXPECT_EQ(info.found, 1u);
    EXPECT_EQ(info.input, 0x3F800001u) << "2 and 2 at 1";
    EXPECT_EQ(info.output, 1u);
    EXPECT_NE(info.expected, info.result);
    expect_infos_of_all_versions(
        ptxgraft_difference_info PTXGRAFT_DIFFERENCE_INFO_INIT, "ptxgraft_difference_info", 40,
        [&](auto* i) { return ptxgraft_program_find_difference(i, twice, other, machine, &options); });
}

TEST_F(CApiEvaluate, RangesAreOfFloats) {
    EXPECT_TRUE(list_of<ptxgraft_input_range>([](auto* r, size_t* n) {
                    return ptxgraft_input_get_ranges(r, n, PTXGRAFT_TYPE_u32, 0, 1);
                }).empty());
    size_t count = 0;
    EXPECT_INVALID(ptxgraft_input_get_ranges(nullptr, &count, static_cast<ptxgraft_type>(16), 0, 1),
                   "type is 16; it is 0 to 15");
}

}  // namespace
