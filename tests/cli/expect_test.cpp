// What a launch file expects of a buffer, and how far it may be off.

#include <cmath>
#include <limits>

#include "support/cli.hpp"
#include "support/kernel_text.hpp"

namespace ptxgraft::test {
namespace {

using testing::HasSubstr;

// A kernel that does nothing, and a buffer that holds v.npy; w.npy is expected of it.
Result compare(const std::string& rest, const std::string& type = "") {
    write_file("none.ptx", ptxgraft::test::kernel_text({.version = "8.0", .target = "sm_80"}));
    write_file("launch.json", R"({"buffers": {"v": {"in": "v.npy", )" +
                                  (type.empty() ? "" : "\"type\": \"" + type + "\", ") +
                                  R"("expect": "w.npy")" + rest + "}}}");
    return ptxgraft({"run", "none.ptx", "--launch", "launch.json", "--device", "emulator"});
}

struct Row {
    const char* name;
    std::string value, wanted;  // files
    std::string type, tolerance;
    std::string says;  // empty: nothing differs
};

template <class T> std::string numbers(const std::string& descr, const std::vector<T>& values) {
    return array(descr, "(" + std::to_string(values.size()) + ",)", bytes_of(values));
}
std::string floats(const std::vector<float>& values) { return numbers("<f4", values); }
std::string doubles(const std::vector<double>& values) { return numbers("<f8", values); }

TEST_F(Cli, ABufferIsComparedWithWhatIsExpectedOfIt) {
    const float nan = std::nanf(""), infinity = INFINITY;
    const std::string within = R"(, "tolerance": {"abs": 0.25})",
                      relative = R"(, "tolerance": {"rel": 0.5, "abs": 0.125})",
                      zero = R"(, "tolerance": {})";
    const Row rows[] = {
        {"Equal", floats({1, 2}), floats({1, 2}), "", "", ""},
        {"OneDiffers", floats({1, 2, 3}), floats({1, 2.5f, 3}), "", "",
         "differs from w.npy in 1 of 3 elements; the first one is [1]: 2, not 2.5"},
        {"TwoDiffer", floats({1, 2, 3}), floats({0, 2, 0}), "", "",
         "in 2 of 3 elements; the first one is [0]: 1, not 0"},
        {"BitsCountWithoutATolerance", floats({0}), floats({-0.0f}), "", "", "[0]: 0, not -0"},
        {"ValuesCountWithOne", floats({0}), floats({-0.0f}), "", zero, ""},
        {"ValuesOfAnotherType", floats({0.1f}), doubles({0.1}), "", "", ""},
        {"AnotherValueOfAnotherType", floats({0.1f}), doubles({0.10000001}), "", "", "[0]: 0.1"},
        {"Within", floats({1, 2}), floats({1.25f, 1.75f}), "", within, ""},
        {"NotWithin", floats({1, 2}), floats({1, 1.5f}), "", within, "[1]: 2, not 1.5 (1.25 to 1.75)"},
        {"Relative", floats({1.625f, -1.625f}), floats({1, -1}), "", relative, ""},
        {"BeyondRelative", floats({1.75f}), floats({1}), "", relative, "[0]: 1.75, not 1 (0.375 to 1.625)"},
        {"NanIsNan", floats({nan}), doubles({std::nan("")}), "", within, ""},
        {"NanIsNoNumber", floats({nan}), floats({1}), "", within, "[0]: nan, not 1"},
        {"ANumberIsNoNan", floats({1}), floats({nan}), "", within, "[0]: 1, not nan"},
        {"InfinityIsItself", floats({infinity}), floats({infinity}), "", within, ""},
        {"InfinityIsNoNumber", floats({infinity}), floats({1e38f}), "", relative, "[0]: inf"},
        {"Integers", numbers<std::int32_t>("<i4", {-5, 7}), numbers<std::int64_t>("<i8", {-5, 7}), "", "",
         ""},
        {"IntegersDiffer", numbers<std::int32_t>("<i4", {-5, 7}), numbers<std::int64_t>("<i8", {-5, 8}), "",
         "", "[1]: 7, not 8"},
        {"LargeIntegersByBits", numbers<std::uint64_t>("<u8", {(1ull << 60) + 1}),
         numbers<std::uint64_t>("<u8", {1ull << 60}), "", "", "in 1 of 1"},
        {"Bfloat", numbers<std::uint16_t>("<u2", {0x3F80, 0xC040}), doubles({1, -3}), "bf16", "", ""},
        {"BfloatIsRounded", numbers<std::uint16_t>("<u2", {0x3F80}), doubles({1.003}), "bf16", "", ""},
        {"AnotherBfloat", numbers<std::uint16_t>("<u2", {0x3F81}), doubles({1.003}), "bf16", "",
         "[0]: 1.0078125, not 1.003"},
        {"Half", numbers<std::uint16_t>("<f2", {0x3C01, 0x0001, 0xFC00}),
         doubles({1.0009765625, 5.960464477539063e-08, -1e6}), "", "", ""},
        {"Eights", numbers<std::uint8_t>("|u1", {0x38, 0x01, 0xFE, 0x7F}),
         doubles({1, 0.001953125, -448, std::nan("")}), "e4m3", "", ""},
        {"OtherEights", numbers<std::uint8_t>("|u1", {0x3C, 0x7C}),
         doubles({1, std::numeric_limits<double>::infinity()}), "e5m2", zero, ""},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(row.name);
        write_file("v.npy", row.value);
        write_file("w.npy", row.wanted);
        const Result result = compare(row.tolerance, row.type);
        EXPECT_EQ(result.status, row.says.empty() ? 0 : 1) << result.err;
        EXPECT_THAT(result.err, HasSubstr(row.says));
        if (!row.says.empty()) {
            EXPECT_THAT(result.err, HasSubstr("error: buffer \"v\" differs from w.npy in "));
        }
    }
}

TEST_F(Cli, ElementsOfMatricesAreNamedByRowAndColumn) {
    write_file("v.npy", array("<f4", "(2, 3)", bytes_of(std::vector<float>{0, 1, 2, 3, 4, 5})));
    write_file("w.npy", array("<f4", "(2, 3)", bytes_of(std::vector<float>{0, 1, 2, 3, 4, 6})));
    EXPECT_THAT(compare("").err, HasSubstr("in 1 of 6 elements; the first one is [1, 2]: 5, not 6"));
}

// 64 products of bf16 whose terms add up to 100: f32 sums may be off by some 66 times 2^-23 of that.
TEST_F(Cli, SumsMayHaveAnyLegalOrder) {
    write_file("w.npy", doubles({1, 1}));
    write_file("m.npy", doubles({100, 100}));
    const std::string sum = R"(, "tolerance": {"sum": {"type": "bf16", "k": 64, "magnitudes": "m.npy"}})";
    const auto status = [&](double difference, const std::string& tolerance, const char* type = "") {
        write_file("v.npy", floats({1, static_cast<float>(1 + difference)}));
        return compare(tolerance, type).status;
    };
    EXPECT_EQ(status(7e-4, sum), 0);
    EXPECT_EQ(status(-7e-4, sum), 0);
    EXPECT_EQ(status(9e-4, sum), 1);
    EXPECT_EQ(
        status(
            9e-4,
            R"(, "tolerance": {"sum": {"type": "bf16", "accumulator": "f16", "k": 64, "magnitudes": "m.npy"}})"),
        0);
    EXPECT_EQ(status(9e-4, R"(, "tolerance": {"sum": {"type": "e4m3", "k": 64, "magnitudes": "m.npy"}})"), 0);
    // An infinite sum is that infinity alone, one that is NaN any NaN; one beyond the type may be either
    // largest or infinite.
    const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
    const auto sums = [&](double wanted, double magnitude, float value) {
        write_file("w.npy", doubles({wanted}));
        write_file("m.npy", doubles({magnitude}));
        write_file("v.npy", floats({value}));
        return compare(sum).status;
    };
    EXPECT_EQ(sums(infinity, infinity, std::numeric_limits<float>::infinity()), 0);
    EXPECT_EQ(sums(infinity, infinity, 1), 1);
    EXPECT_EQ(sums(infinity, infinity, -std::numeric_limits<float>::infinity()), 1);
    EXPECT_EQ(sums(infinity, infinity, std::nanf("")), 1);
    EXPECT_EQ(sums(nan, infinity, std::nanf("")), 0);
    EXPECT_EQ(sums(nan, infinity, 1), 1);
    EXPECT_EQ(sums(1e39, 1e39, std::numeric_limits<float>::infinity()), 0);
    EXPECT_EQ(sums(1e39, 1e39, std::numeric_limits<float>::max()), 0);
    EXPECT_EQ(sums(1e39, 1e39, std::nanf("")), 1);
    EXPECT_EQ(sums(0, 1e39, std::nanf("")), 0);
    EXPECT_EQ(sums(1, 2, std::nanf("")), 1);
    write_file("w.npy", doubles({1, 1}));
    write_file("m.npy", doubles({100, 100}));
    // A result of bf16 is a legal sum rounded: 1.0078125 is the next one after 1, and half way lies within
    // reach of 1000.
    write_file("v.npy", numbers<std::uint16_t>("<u2", {0x3F80, 0x3F81}));
    EXPECT_EQ(compare(sum, "bf16").status, 1);
    write_file("m.npy", doubles({1000, 1000}));
    EXPECT_EQ(compare(sum, "bf16").status, 0);
}

TEST_F(Cli, ExpectationsThatCannotBeAreErrors) {
    write_file("v.npy", floats({1, 2}));
    write_file("w.npy", floats({1, 2}));
    write_file("long.npy", doubles({1, 2, 3}));
    const std::pair<std::string, std::string> rows[] = {
        {R"(, "tolerance": {"abs": -1})", "\"abs\" is a number from 0 on"},
        {R"(, "tolerance": {"rel": "1"})", "\"rel\" is a number from 0 on"},
        {R"(, "tolerance": {"ulp": 1})", "unknown key \"ulp\"; \"tolerance\" has abs, rel, sum"},
        {R"(, "tolerance": 1e-3)", "\"tolerance\" is an object, not a number"},
        {R"(, "tolerance": {"sum": {"type": "bf16", "magnitudes": "w.npy"}})", "\"sum\" needs \"k\""},
        {R"(, "tolerance": {"sum": {"type": "f64", "k": 4, "magnitudes": "w.npy"}})",
         "\"type\" is one of f16, bf16, tf32, e4m3, e5m2, not \"f64\""},
        {R"(, "tolerance": {"sum": {"type": "bf16", "k": 0, "magnitudes": "w.npy"}})",
         "\"k\" is a whole number from 1"},
        {R"(, "tolerance": {"sum": {"type": "bf16", "k": 4, "magnitudes": "long.npy"}})",
         "long.npy has the shape [3]; the buffer has [2]"},
        {R"(, "tolerance": {"sum": {"type": "bf16", "k": 4, "magnitudes": "none.npy"}})", "none.npy"},
        {R"(, "tolerance": {"abs": 1, "sum": {"type": "bf16", "k": 4, "magnitudes": "w.npy"}})",
         "\"sum\" says all of a tolerance"},
    };
    for (const auto& [rest, says] : rows) {
        const Result result = compare(rest);
        EXPECT_EQ(result.status, 1) << rest;
        EXPECT_THAT(result.err, testing::AllOf(HasSubstr("launch.json:1:"), HasSubstr(says)));
    }
    write_file("launch.json", R"({"buffers": {"v": {"in": "v.npy", "tolerance": {}}}})");
    EXPECT_THAT(ptxgraft({"run", "none.ptx", "--launch", "launch.json", "--device", "emulator"}).err,
                HasSubstr("a \"tolerance\" needs \"expect\""));
    write_file("launch.json", R"({"buffers": {"v": {"in": "v.npy", "expect": "long.npy"}}})");
    EXPECT_THAT(ptxgraft({"run", "none.ptx", "--launch", "launch.json", "--device", "emulator"}).err,
                HasSubstr("long.npy has the shape [3]; the buffer has [2]"));
    write_file("w.npy", numbers<std::uint32_t>("<u4", {1, 2}));
    EXPECT_THAT(compare("").err, HasSubstr("w.npy has elements of <u4, which cannot be compared with f32"));
}

}  // namespace
}  // namespace ptxgraft::test
