// The verb run with kernels as they are published: arrays of pointers, structs by value with tensor maps in
// them, several launches that share buffers and variables. The kernels and their launch files are in
// golden/cli/launches.

#include <cmath>
#include <limits>

#include "support/cli.hpp"
#include "support/kernel_text.hpp"

namespace ptxgraft::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// A kernel and its launch file, with some of its text replaced.
Result run(const std::string& kernel, const std::string& launch,
           const std::vector<std::pair<std::string, std::string>>& changes = {}) {
    fs::copy(golden / "launches" / kernel, kernel, fs::copy_options::overwrite_existing);
    std::string json = read_file(golden / "launches" / launch);
    for (const auto& [from, to] : changes) {
        const std::size_t at = json.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        json.replace(at, from.size(), to);
    }
    write_file(launch, json);
    return ptxgraft({"run", kernel, "--launch", launch, "--device", "emulator"});
}

TEST_F(Cli, ABatchedProductTakesArraysOfPointers) {
    const Result result = run("batched.cu", "batched.json");
    ASSERT_EQ(result.status, 0) << result.err;
    const auto a = elements<float>("a.npy"), b = elements<float>("b.npy"), c = elements<float>("c.npy");
    ASSERT_EQ(c.size(), 96u);
    for (std::size_t i = 0; i < c.size(); ++i) {
        const std::size_t batch = i / 32, row = i / 8 % 4, column = i % 8;
        float sum = 0;
        for (std::size_t k = 0; k < 5; ++k)
            sum = std::fma(a[batch * 20 + row * 5 + k], b[batch * 40 + k * 8 + column], sum);
        EXPECT_EQ(c[i], sum) << i;
    }
    // A pointer that is 4 bytes off the last matrix runs over the end, and the run says so.
    EXPECT_THAT(run("batched.cu", "batched.json", {{"\"offset\": 160", "\"offset\": 164"}}).err,
                HasSubstr("error: address out of bounds: "));
}

TEST_F(Cli, AStructByValueHasTensorMapsWhereCPutsThem) {
    const Result result = run("tiles.cu", "tiles.json");
    ASSERT_EQ(result.status, 0) << result.err;
    const auto out = elements<float>("out.npy");
    ASSERT_EQ(out.size(), 1024u);
    for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], 2 * static_cast<float>(i) + 0.5f) << i;
    // The same struct with places written out, and one that is too small.
    EXPECT_EQ(run("tiles.cu", "tiles.json",
                  {{"{\"f32\": 2}", "{\"offset\": 392, \"f32\": 2}"},
                   {"{\"s32\": 16}, {\"s32\": 16}", "{\"s32\": [16, 16]}"}})
                  .status,
              0);
    EXPECT_THAT(
        run("tiles.cu", "tiles.json",
            {{", {\"f64\": 0.5}, {\"u8\": 1}", ""},
             {"{\"tensormap\"", "{\"align\": 64, \"tensormap\""},
             {"{\"tensormap\": {\"buffer\": \"b\"", "{\"align\": 64, \"tensormap\": {\"buffer\": \"b\""}})
            .err,
        HasSubstr("tiles.json:7:13: error: an argument does not fit its parameter: argument 0 of add_tiles "
                  "has 384 bytes, its parameter b8 add_tiles_param_0 has 512"));
}

TEST_F(Cli, TensorMapsMayLieInBuffers) {
    const Result result = run("tiles.cu", "maps.json");
    ASSERT_EQ(result.status, 0) << result.err;
    const auto out = elements<float>("out.npy");
    ASSERT_EQ(out.size(), 64u);
    for (std::size_t i = 0; i < 32; ++i) {
        EXPECT_EQ(out[i], static_cast<float>(32 + i % 16 + i / 16 * 32))
            << i;  // the first 16 columns of the rows behind the first
        EXPECT_EQ(out[32 + i], -3.0f);
    }
    EXPECT_THAT(run("tiles.cu", "maps.json", {{"[32, 31]", "[32, 32]"}}).err,
                AllOf(StartsWith("maps.json:5:38: error: "),
                      HasSubstr("a tensor of [32, 32] with strides of [128] bytes is larger than the 3968 "
                                "bytes of buffer \"a\"")));
}

TEST_F(Cli, LaunchesShareBuffersAndVariables) {
    const Result result = run("reduce.cu", "reduce.json");
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.err, StartsWith("ok: "));
    EXPECT_THAT(elements<float>("partials.npy"), ElementsAre(256, 512, 768, 928));
    // What is expected after the first launch is looked at as it was then.
    const Result wrong = run("reduce.cu", "reduce.json",
                             {{"768, 928", "768, 929"},
                              {"\"expect\": 2464", "\"expect\": 2465"},
                              {"\"expect\": 3", "\"expect\": 1"}});
    EXPECT_EQ(wrong.status, 1);
    EXPECT_EQ(
        wrong.err,
        "error: buffer \"partials\" differs from the list in 1 of 4 elements; the first one is [3]: 928, not "
        "929\n"
        "error: buffer \"y\" differs from 2465 in 1 of 1 elements; the first one is []: 2464, not 2465\n"
        "error: buffer \"runs\" differs from 1 in 1 of 1 elements; the first one is []: 3, not 1\n");
    // A launch that fails is named, and nothing is written.
    fs::remove("partials.npy");
    const Result failed = run("reduce.cu", "reduce.json", {{"{\"buffer\": \"y\"}", "{\"u64\": 64}"}});
    EXPECT_EQ(failed.status, 1);
    EXPECT_THAT(failed.err, AllOf(HasSubstr("error: address out of bounds: "),
                                  HasSubstr("note: this is launch 2 of 2, time 1 of 3\n")));
    EXPECT_FALSE(fs::exists("partials.npy"));
    // So is the time of one that is repeated.
    write_file("once.cu",
               "__device__ int runs;\nextern \"C\" __global__ void once() { if (runs++ == 1) __trap(); }\n");
    write_file("once.json", R"({"repeat": 3})");
    const Result second = ptxgraft({"run", "once.cu", "--launch", "once.json", "--device", "emulator"});
    EXPECT_EQ(second.status, 1);
    EXPECT_THAT(second.err, AllOf(HasSubstr("error: trap: "), HasSubstr("note: this is time 2 of 3\n")));
}

TEST_F(Cli, AStructMayBeAVariable) {
    write_file("copy.cu",
               "struct P { const float* x; float* y; int n; };\n__constant__ P params;\n"
               "extern \"C\" __global__ void copy() {\n int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
               " if (i < params.n) params.y[i] = params.x[i];\n}\n");
    write_file("copy.json", R"({"grid": [2], "block": [8], "buffers": {
        "x": {"random": "normal", "seed": 9, "type": "f32", "shape": [13]},
        "y": {"type": "f32", "shape": [13], "expect": {"random": "normal", "seed": 9}},
        "p": {"symbol": "params", "struct": [{"buffer": "x"}, {"buffer": "y"}, {"s32": 13}]}}})");
    const Result result = ptxgraft({"run", "copy.cu", "--launch", "copy.json", "--device", "emulator"});
    EXPECT_EQ(result.status, 0) << result.err;
}

// What a launch file says of a variable, against the module.
TEST_F(Cli, VariablesThatAreNotThereOrOtherwiseAreErrors) {
    EXPECT_THAT(
        run("reduce.cu", "reduce.json", {{"\"symbol\": \"runs\"", "\"symbol\": \"rnus\""}}).err,
        AllOf(StartsWith("reduce.json:5:5: error: the module has no variable named rnus; the module has "),
              HasSubstr("weights")));
    EXPECT_THAT(
        run("reduce.cu", "reduce.json", {{"[1, 2, 3, 4.0]", "[1, 2, 3]"}}).err,
        HasSubstr(
            "reduce.json:6:5: error: the variable weights has 16 bytes, what is said of it here has 12"));
    EXPECT_THAT(run("reduce.cu", "reduce.json",
                    {{"{\"buffer\": \"x\"}", "{\"buffer\": \"t\", \"offset\": 17}"},
                     {"\"runs\": {", "\"t\": {\"symbol\": \"weights\"}, \"runs\": {"}})
                    .err,
                HasSubstr(R"("offset" is a whole number from 0 to 16, not 17: buffer "t" has 16 bytes)"));
}

// ------------------------------------------------------------------------------------------------- layouts

const std::string nothing = ptxgraft::test::kernel_text({.version = "8.0", .target = "sm_80"});

// A launch that does nothing.
Result idle(const std::string& json) {
    write_file("none.ptx", nothing);
    write_file("launch.json", json);
    return ptxgraft({"run", "none.ptx", "--launch", "launch.json", "--device", "emulator"});
}

// The bytes of a buffer that begins as it is described.
std::vector<unsigned char> composed(const std::string& description, const std::string& others = "") {
    const Result result =
        idle(R"({"buffers": {)" + others + R"("v": {"out": "v.npy", )" + description + "}}}");
    EXPECT_EQ(result.status, 0) << description << result.err;
    return elements<unsigned char>("v.npy");
}

// What C says of a struct, and what the same fields say here.
TEST_F(Cli, StructsAreLaidOutAsCDoes) {
    struct Inner {
        std::uint8_t a;
        std::uint16_t b[3];
    };
    struct alignas(64) Aligned {
        float f;
    };
    struct Outer {
        std::uint8_t byte;
        double d;
        Inner inner[2];
        std::uint8_t last;
        Aligned aligned;
        std::uint32_t words[3];
    };
    Outer outer;
    std::memset(&outer, 0, sizeof outer);
    outer.byte = 1;
    outer.d = 2.5;
    outer.inner[0] = {3, {4, 5, 6}};
    outer.inner[1] = {7, {8, 9, 10}};
    outer.last = 11;
    outer.aligned.f = -1;
    outer.words[0] = 12;
    outer.words[2] = 14;
    std::vector<unsigned char> bytes(sizeof outer);
    std::memcpy(bytes.data(), &outer, sizeof outer);
    EXPECT_EQ(composed(R"("struct": [{"u8": 1}, {"f64": 2.5},
        {"array": [{"struct": [{"u8": 3}, {"u16": [4, 5, 6]}]}, {"struct": [{"u8": 7}, {"u16": [8, 9, 10]}]}]},
        {"u8": 11}, {"struct": [{"align": 64}, {"f32": -1}]}, {"u32": [12, 0, 14]}])"),
              bytes);
}

TEST_F(Cli, FieldsStandWhereTheFileSays) {
    const std::pair<const char*, std::vector<unsigned char>> rows[] = {
        {R"("struct": [{"u8": 1}, {"offset": 3, "u16": 258}])", {1, 0, 0, 2, 1, 0}},
        {R"("struct": [{"u8": 1}, {"offset": 3}, {"u8": 2}])", {1, 0, 0, 2}},
        {R"("struct": [{"u8": 1}, {"pad": 2}, {"u8": 2}])", {1, 0, 0, 2}},
        {R"("struct": [{"u8": 1}, {"align": 4}, {"u8": 2}])", {1, 0, 0, 0, 2, 0, 0, 0}},
        {R"("struct": [{"u8": 1}, {"align": 1, "u32": 2}])", {1, 2, 0, 0, 0}},
        {R"("struct": [{"u8": 1}, {"bytes": "ff00ff"}])", {1, 255, 0, 255}},
        {R"("struct": [{"u8": 1}], "size": 3)", {1, 0, 0}},
        {R"("struct": [{"u16": 1}, {"u8": 2}], "size": 3)", {1, 0, 2}},
        {R"("array": [{"u8": 1}, {"u8": 2}], "repeat": 2)", {1, 2, 1, 2}},
        {R"("array": [{"struct": [{"u8": 1}, {"u16": 2}]}], "repeat": 2)", {1, 0, 2, 0, 1, 0, 2, 0}},
        {R"("array": [{"u8": [1, 2, 3]}, {"u8": [4, 5, 6]}], "type": "u8", "shape": [2, 3])",
         {1, 2, 3, 4, 5, 6}},
        {R"("array": [])", {}},
    };
    for (const auto& [description, bytes] : rows) EXPECT_EQ(composed(description), bytes) << description;
}

// Buffers may hold each other's addresses, and their own.
TEST_F(Cli, AddressesAreThoseOfTheBuffers) {
    const Result result = idle(R"({"buffers": {
        "a": {"array": [{"buffer": "b"}, {"buffer": "a", "offset": 8}], "type": "u64", "out": "a.npy"},
        "b": {"array": [{"buffer": "a"}, {"buffer": "b", "offset": 16, "count": 3, "stride": 4}], "out": "b.npy"}}})");
    EXPECT_THAT(result.err, HasSubstr("this element has 24 bytes, the first one 8"));
    ASSERT_EQ(idle(R"({"buffers": {
        "a": {"array": [{"buffer": "b"}, {"buffer": "a", "offset": 8}], "type": "u64", "out": "a.npy"},
        "b": {"struct": [{"buffer": "a"}, {"buffer": "b", "offset": 16, "count": 3, "stride": 4}], "type": "u64", "shape": [2, 2], "out": "b.npy"}}})")
                  .status,
              0);
    const auto a = elements<std::uint64_t>("a.npy"), b = elements<std::uint64_t>("b.npy");
    EXPECT_THAT(read_file("b.npy"), HasSubstr("'descr': '<u8', 'fortran_order': False, 'shape': (2, 2)"));
    const std::uint64_t at_a = a[1] - 8, at_b = a[0];
    EXPECT_THAT(b, ElementsAre(at_a, at_b + 16, at_b + 20, at_b + 24));
    EXPECT_NE(at_a, at_b);
}

// ------------------------------------------------------------------------------------------------- contents

template <class T> std::vector<T> filled(const std::string& description) {
    const Result result = idle(R"({"buffers": {"v": {"out": "v.npy", )" + description + "}}}");
    EXPECT_EQ(result.status, 0) << description << result.err;
    return elements<T>("v.npy");
}

TEST_F(Cli, BuffersAreFilledByRules) {
    EXPECT_THAT(filled<float>(R"("fill": -1.5, "type": "f32", "shape": [2])"), ElementsAre(-1.5f, -1.5f));
    EXPECT_TRUE(std::isnan(filled<double>(R"("fill": "nan", "type": "f64", "shape": [1])")[0]));
    EXPECT_THAT(filled<std::uint8_t>(R"("fill": true, "type": "bool", "shape": [3])"), ElementsAre(1, 1, 1));
    EXPECT_THAT(filled<std::int32_t>(R"("fill": "iota", "type": "s32", "shape": [2, 2])"),
                ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(filled<std::uint16_t>(R"("fill": "iota", "type": "bf16", "shape": [4])"),
                ElementsAre(0, 0x3F80, 0x4000, 0x4040));
    EXPECT_THAT(filled<float>(R"("values": [[1, 2.5], [-3, "inf"]], "type": "f32")"),
                ElementsAre(1, 2.5f, -3, std::numeric_limits<float>::infinity()));
    EXPECT_THAT(read_file("v.npy"), HasSubstr("'shape': (2, 2)"));
    EXPECT_TRUE(filled<float>(R"("fill": 0, "type": "f32", "shape": [0, 7])").empty());
    // Every number of an iota is exact: it begins anew where the type has a gap.
    const auto eights = filled<std::uint8_t>(R"("fill": "iota", "type": "e4m3", "shape": [18])");
    EXPECT_EQ(eights[15], 0x57);  // 15
    EXPECT_EQ(eights[16], 0);
    EXPECT_EQ(filled<std::int8_t>(R"("fill": "iota", "type": "s8", "shape": [300])")[299], 299 % 128);
    EXPECT_EQ(filled<std::uint8_t>(R"("fill": "iota", "type": "u8", "shape": [300])")[299], 299 % 256);
}

TEST_F(Cli, RandomNumbersAreTheSameForTheSameSeed) {
    const std::string normal = R"("random": "normal", "type": "f32", "shape": [20000], "seed": )";
    const auto numbers = filled<float>(normal + "1");
    EXPECT_EQ(filled<float>(normal + "1"), numbers);
    EXPECT_NE(filled<float>(normal + "2"), numbers);
    EXPECT_EQ(filled<float>(R"("random": "normal", "type": "f32", "shape": [20001], "seed": 1)")[19999],
              numbers[19999]);
    double sum = 0, squares = 0, most = 0;
    for (const float x : numbers) {
        sum += x;
        squares += x * x;
        most = std::max(most, std::abs(double{x}));
    }
    EXPECT_NEAR(sum / 20000, 0, 0.03);
    EXPECT_NEAR(squares / 20000, 1, 0.03);
    EXPECT_GT(most, 3);
    EXPECT_LT(most, 6);
    // The numbers themselves: programs that were checked against them stay so.
    EXPECT_THAT(filled<std::uint32_t>(R"("random": "uniform", "seed": 1, "type": "u32", "shape": [2])"),
                ElementsAre(4039343104u, 787747183u));
    for (const float x :
         filled<float>(R"("random": "uniform", "range": [-2, 3], "type": "f32", "shape": [1000])"))
        EXPECT_TRUE(x >= -2 && x <= 3) << x;
    std::vector<int> counts(16);
    for (const std::int8_t x :
         filled<std::int8_t>(R"("random": "uniform", "range": [-8, 7], "type": "s8", "shape": [1600])"))
        ++counts.at(static_cast<std::size_t>(x + 8));
    for (const int count : counts) EXPECT_GT(count, 50);
    int ones = 0;
    for (const std::uint8_t bit :
         filled<std::uint8_t>(R"("random": "uniform", "type": "pred", "shape": [1000])"))
        ones += bit;
    EXPECT_NEAR(ones, 500, 80);
}

TEST_F(Cli, ExpectationsAreNumbersListsAndRules) {
    struct Row {
        const char* buffer;
        const char* says;  ///< empty: nothing differs
    };
    const Row rows[] = {
        {R"("fill": 3, "type": "f32", "shape": [4], "expect": 3)", ""},
        {R"("fill": 3, "type": "f32", "shape": [4], "expect": 4)",
         R"(buffer "v" differs from 4 in 4 of 4 elements; the first one is [0]: 3, not 4)"},
        {R"("fill": 0.1, "type": "f32", "shape": [4], "expect": 0.1)", ""},
        {R"("fill": "nan", "type": "f32", "shape": [4], "expect": "nan")", ""},
        {R"("fill": 3, "type": "f32", "shape": [4], "expect": "-inf")",
         "differs from -inf in 4 of 4 elements; the first one is [0]: 3, not -inf"},
        {R"("fill": 0.1, "type": "f16", "shape": [4], "expect": 0.1)", ""},
        {R"("fill": 0.1, "type": "f16", "shape": [4], "expect": 0.1, "tolerance": {"abs": 1e-6})",
         "not 0.1 (0.099999 to 0.100001)"},
        {R"("fill": 0.1, "type": "f16", "shape": [4], "expect": 0.1, "tolerance": {"abs": 1e-4})", ""},
        {R"("fill": "nan", "type": "f32", "shape": [1], "expect": {"fill": "nan"})", ""},
        {R"("fill": "0f7FFFFFFF", "type": "f32", "shape": [1], "expect": {"fill": "nan"})", ""},
        {R"("fill": 1, "type": "f32", "shape": [1], "expect": ["nan"])", "1, not nan"},
        {R"("fill": 1, "type": "pred", "shape": [2], "expect": true)", ""},
        {R"("values": [1, 2, 3], "type": "u8", "expect": [1, 2, 3])", ""},
        {R"("values": [1, 2, 3], "type": "u8", "expect": [1, 2, 4])",
         "differs from the list in 1 of 3 elements; the first one is [2]: 3, not 4"},
        {R"("values": [[1, 2], [3, 4]], "type": "s16", "expect": [[1, 2], [3, 4]])", ""},
        {R"("fill": "iota", "type": "u64", "shape": [9], "expect": {"fill": "iota"})", ""},
        {R"("random": "normal", "seed": 5, "type": "f16", "shape": [9], "expect": {"random": "normal", "seed": 5})",
         ""},
        {R"("random": "normal", "seed": 5, "type": "f16", "shape": [9], "expect": {"random": "normal", "seed": 5}, "tolerance": {"rel": 0.001})",
         ""},
        {R"("random": "normal", "seed": 5, "type": "f16", "shape": [9], "expect": {"random": "normal", "seed": 6})",
         "differs from \"random\" in 9 of 9"},
        {R"("fill": -128, "type": "s8", "shape": [2], "expect": -128)", ""},
        {R"("fill": 0, "type": "f32", "shape": [0], "expect": 1)", ""},
    };
    for (const auto& [buffer, says] : rows) {
        const Result result = idle(std::string(R"({"buffers": {"v": {)") + buffer + "}}}");
        EXPECT_EQ(result.status, *says == '\0' ? 0 : 1) << buffer << result.err;
        EXPECT_THAT(result.err, HasSubstr(says));
    }
}

}  // namespace
}  // namespace ptxgraft::test
