// The verbs templates, template and try.

#include <cmath>
#include <nlohmann/json.hpp>

#include "support/cli.hpp"

namespace ptxgraft::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using Json = nlohmann::json;

// The numbers of a file, behind NumPy's header.
std::vector<float> floats_of(const fs::path& path) {
    const std::string bytes = read_file(path);
    const auto byte = [&](std::size_t at) -> std::size_t { return static_cast<unsigned char>(bytes.at(at)); };
    const std::size_t header = 10 + byte(8) + 256 * byte(9);
    std::vector<float> values((bytes.size() - header) / sizeof(float));
    std::memcpy(values.data(), bytes.data() + header, values.size() * sizeof(float));
    return values;
}

TEST_F(Cli, TemplatesAreListed) {
    const Result listed = ptxgraft({"templates"});
    EXPECT_EQ(listed.status, 0) << listed.err;
    EXPECT_THAT(listed.out, AllOf(HasSubstr("gemm/simt"), HasSubstr("c = a b, float matrices of any size")));
    const auto json = Json::parse(ptxgraft({"templates", "--json"}).out);
    const auto gemm =
        std::find_if(json.begin(), json.end(), [](const Json& t) { return t["name"] == "gemm/simt"; });
    ASSERT_NE(gemm, json.end());
    EXPECT_EQ((*gemm)["sites"]["epilogue"]["copies"], "16");
    EXPECT_EQ((*gemm)["arguments"][0]["shape"], Json({"m", "k"}));
    const auto mma =
        std::find_if(json.begin(), json.end(), [](const Json& t) { return t["name"] == "gemm/mma"; });
    ASSERT_NE(mma, json.end());
    EXPECT_EQ((*mma)["requires"].back(),
              Json({{"that", "shared <= shared_bytes_per_block"}, {"why", "shared memory of a block"}}));
    EXPECT_TRUE((*mma)["names"].contains("shared"));
    EXPECT_EQ((*mma)["sites"]["epilogue"]["spare_registers_with"], Json::object());
    EXPECT_EQ((*mma)["sites"]["reduce"]["spare_registers_with"],
              Json({{"epilogue", "compact"}, {"statistic", "row"}}));
    EXPECT_THAT(ptxgraft({"templates", "--templates", "nowhere"}).err, HasSubstr("cannot open nowhere"));
}

TEST_F(Cli, TemplateIsDescribed) {
    const Result text = ptxgraft({"template", "attention/simt"});
    EXPECT_EQ(text.status, 0) << text.err;
    EXPECT_THAT(text.out,
                AllOf(StartsWith("attention/simt  (sm_75 and later)\n"), HasSubstr("\ndimensions\n  heads"),
                      HasSubstr("32, 40, 64 (default), 96, 128"), HasSubstr("site score (hot)\n")));
    EXPECT_THAT(ptxgraft({"template", "attention/simt", "--source"}).out,
                HasSubstr("PTXGRAFT_SITE(\"score\""));
    EXPECT_EQ(Json::parse(
                  ptxgraft({"template", "attention/simt", "--json"}).out)["tunables"]["head_dim"]["default"],
              64);
    const Result unknown = ptxgraft({"template", "gemm/none"});
    EXPECT_EQ(unknown.status, 1);
    EXPECT_THAT(unknown.err, HasSubstr("no such template: gemm/none; there are "));
    EXPECT_EQ(ptxgraft({"template", "gemm/simt", "--dims", "m=1"}).status, 2);
    EXPECT_EQ(ptxgraft({"template", "attention/simt", "--value", "scale=2"}).status, 2);
    EXPECT_EQ(ptxgraft({"template", "gemm/simt", "--inputs", "1"}).status, 2);
    for (const char* const how : {"--describe", "--source", "--json"})
        EXPECT_THAT(ptxgraft({"template", "attention/simt", "--set", "width=3", how}).err,
                    HasSubstr("attention/simt has no tunable width; it has head_dim"));
}

TEST_F(Cli, TemplatesSayWhatTheyRequire) {
    const Result text = ptxgraft({"template", "gemm/mma"});
    EXPECT_THAT(text.out, AllOf(HasSubstr("\nrequires\n  "),
                                HasSubstr("  shared memory of a block: shared <= shared_bytes_per_block\n"),
                                HasSubstr("\nnames\n  threads = 32 * warps\n"),
                                HasSubstr(" registers to spare on sm_80, with the usual tunables\n"),
                                HasSubstr("with the usual tunables but epilogue=compact, statistic=row\n")));
    const std::vector<std::string> large = {"template", "gemm/mma", "--set",
                                            "tile_m=128,tile_n=256,warps=8,stages=5", "--target"};
    const auto for_target = [&](const char* target) {
        auto arguments = large;
        arguments.emplace_back(target);
        return ptxgraft(arguments);
    };
    EXPECT_EQ(for_target("sm_90a").status, 0);
    EXPECT_THAT(for_target("sm_86").err, HasSubstr("which is 101376 for sm_86"));
}

TEST_F(Cli, TemplateMeasuresWhatStubsMayKeepAlive) {
    const Result text = ptxgraft({"template", "elementwise/simple", "--spare-registers", "--most", "4"});
    ASSERT_EQ(text.status, 0) << text.err;
    EXPECT_EQ(text.out, "function        4 or more\n");
    const Json json =
        Json::parse(ptxgraft({"template", "norm/rms", "--set", "threads=512,vectors=2", "--target", "sm_90a",
                              "--spare-registers", "--site", "epilogue", "--json"})
                        .out);
    EXPECT_EQ(json["target"], "sm_90a");
    EXPECT_EQ(json["tunables"]["threads"], 512);
    ASSERT_EQ(json["sites"].size(), 1u);
    EXPECT_GT(json["sites"]["epilogue"]["spare_registers"], 0);
    EXPECT_EQ(ptxgraft({"template", "norm/rms", "--spare-registers", "--site", "none"}).status, 1);
    EXPECT_EQ(ptxgraft({"template", "norm/rms", "--site", "epilogue"}).status, 2);
}

TEST_F(Cli, TemplateBecomesPtx) {
    const Result made =
        ptxgraft({"template", "attention/simt", "--set", "head_dim=32", "--target", "sm_80", "-o", "a.ptx"});
    ASSERT_EQ(made.status, 0) << made.err;
    EXPECT_EQ(made.out, "");
    EXPECT_THAT(read_file("a.ptx"), HasSubstr(".target sm_80"));
    const auto sites = Json::parse(ptxgraft({"sites", "a.ptx", "--json"}).out)["sites"];
    EXPECT_EQ(sites.size(), 2u);
    EXPECT_NE(read_file("a.ptx"),
              ptxgraft({"template", "attention/simt", "--target", "sm_80", "-o", "-"}).out);
    EXPECT_EQ(ptxgraft({"template", "attention/simt", "--set", "head_dim=33", "-o", "b.ptx"}).status, 1);
    EXPECT_FALSE(fs::exists("b.ptx"));
}

TEST_F(Cli, TemplateBecomesALaunch) {
    const std::vector<std::string> made = {"template", "gemm/simt", "--dims",   "m=5,n=3,k=17",
                                           "--launch", "dir",       "--inputs", "7"};
    ASSERT_EQ(ptxgraft(made).status, 0);
    fs::remove("dir/bias.npy");  // may be null, but the launch file asks for it
    write_file("dir/bias.npy", floats({1, 2, 3}));
    const Result ran = ptxgraft({"run", "dir/kernel.ptx", "--launch", "dir/launch.json", "--device",
                                 "emulator", "--program", "epilogue=acc bias add.f32 -> acc"});
    ASSERT_EQ(ran.status, 0) << ran.err;
    const auto a = floats_of("dir/a.npy"), b = floats_of("dir/b.npy"), c = floats_of("dir/c.npy");
    ASSERT_EQ(c.size(), 15u);
    for (std::size_t row = 0; row < 5; ++row)
        for (std::size_t col = 0; col < 3; ++col) {
            double sum = 1.0 + static_cast<double>(col);
            for (std::size_t k = 0; k < 17; ++k) sum += double(a[row * 17 + k]) * b[k * 3 + col];
            EXPECT_NEAR(c[row * 3 + col], sum, 1e-5) << row << " " << col;
        }
}

TEST_F(Cli, TemplateLaunchesSayTheShapesOfTheirFiles) {
    const std::vector<std::string> made = {"template", "gemm/simt", "--dims",   "m=1,n=4,k=2",
                                           "--launch", "dir",       "--inputs", "7"};
    ASSERT_EQ(ptxgraft(made).status, 0);
    const std::vector<std::string> run = {"run",      "dir/kernel.ptx", "--launch", "dir/launch.json",
                                          "--device", "emulator"};
    write_file("dir/a.npy", floats({1, 2}));  // [2] is the same memory as [1, 2]
    EXPECT_EQ(ptxgraft(run).status, 0) << ptxgraft(run).err;
    write_file("dir/b.npy", floats({1, 2, 3, 4, 5, 6, 7, 8}));
    EXPECT_THAT(ptxgraft(run).err, HasSubstr("b.npy has the shape [8], not [2, 4]"));
}

TEST_F(Cli, TemplateLaunchesHaveNullPointers) {
    const std::vector<std::string> made = {"template", "attention/mma", "--dims",   "queries=3,keys=5",
                                           "--set",    "head_dim=64",   "--launch", "dir",
                                           "--null",   "lse",           "--inputs", "7"};
    ASSERT_EQ(ptxgraft(made).status, 0);
    EXPECT_FALSE(fs::exists("dir/offsets_q.npy"));  // random ones would be places out of bounds
    const Result ran =
        ptxgraft({"run", "dir/kernel.ptx", "--launch", "dir/launch.json", "--device", "emulator"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_TRUE(fs::exists("dir/out.npy"));
    EXPECT_FALSE(fs::exists("dir/lse.npy"));
    EXPECT_THAT(
        ptxgraft({"template", "gemm/simt", "--launch", "dir", "--dims", "m=5,n=3,k=17", "--null", "a"}).err,
        HasSubstr("--null: no tensor a may be a null pointer"));
}

// A tensor map that nothing uses, because the rows of c are not aligned for one, is not larger than c either.
TEST_F(Cli, TemplateLaunchesHaveMapsWithinTheirTensors) {
    for (const char* name : {"gemm/wgmma", "gemm/quantised"}) {
        ASSERT_EQ(ptxgraft({"template", name, "--dims", "m=1,n=1,k=16,batch=3", "--set", "output=bf16",
                            "--launch", "dir", "--inputs", "7"})
                      .status,
                  0)
            << name;
        const Result ran =
            ptxgraft({"run", "dir/kernel.ptx", "--launch", "dir/launch.json", "--device", "emulator"});
        EXPECT_EQ(ran.status, 0) << name << ran.err;
        fs::remove_all("dir");
    }
}

TEST_F(Cli, TryComparesWithTheReference) {
    const Result right = ptxgraft({"try", "gemm/simt", "--dims", "m=9,n=7,k=5", "--expr",
                                   "epilogue=acc = max(acc + bias, 0.0)", "--device", "emulator"});
    EXPECT_EQ(right.status, 0) << right.err;
    EXPECT_THAT(right.out, AllOf(StartsWith("right: 63 of 63 elements are as the reference has them\n"),
                                 HasSubstr(" registers, 0 bytes of spills")));
    const auto json = Json::parse(ptxgraft({"try", "norm/simple", "--dims", "rows=2,columns=33", "--value",
                                            "eps=0.5", "--null", "weight", "--device", "emulator", "--json"})
                                      .out);
    EXPECT_EQ(json["right"], true);
    EXPECT_EQ(json["elements"], 66);
}

TEST_F(Cli, TryFindsWhatIsWrong) {
    fs::create_directories("own/sum");
    write_file("own/sum/sum.cu",
               "extern \"C\" __global__ void sum(const float* x, float* y, unsigned n) {\n"
               "    if (threadIdx.x + 1 < n) y[threadIdx.x] = x[threadIdx.x] + 1;\n}\n"
               "extern \"C\" __global__ void want(const float* x, double* y, unsigned n) {\n"
               "    y[threadIdx.x] = x[threadIdx.x] + 1.0;\n}\n");
    write_file("own/sum/manifest.json",
               R"({"family": "sum", "skeletons": [{"name": "sum/one", "source": "sum.cu",
  "entry": "sum", "meaning": "y = x + 1", "dimensions": {"n": {"meaning": "elements", "maximum": 1024}},
  "arguments": [{"name": "x", "type": "f32", "shape": ["n"], "access": "in"},
    {"name": "y", "type": "f32", "shape": ["n"], "access": "out"}, {"name": "n", "type": "u32"}],
  "sites": {}, "launch": {"grid": [1], "block": ["n"]},
  "reference": {"source": "sum.cu", "entry": "want", "grid": [1], "block": ["n"]},
  "output": "y", "tolerance": {"relative": 1e-6}}]})");
    const Result wrong =
        ptxgraft({"try", "sum/one", "--templates", "own", "--dims", "n=10", "--device", "emulator"});
    EXPECT_EQ(wrong.status, 1);
    EXPECT_THAT(wrong.out, AllOf(StartsWith("wrong: 9 of 10 elements"), HasSubstr("y[9] is nan, wanted ")));
    EXPECT_THAT(ptxgraft({"try", "sum/one", "--templates", "own", "--dims", "n=2000"}).err,
                HasSubstr("n is 1 to 1024, not 2000"));
}

TEST_F(Cli, TryTakesNumbersThatMeanSomething) {
    const auto why = [](const char* name, const char* dimensions, const std::string& value) {
        return ptxgraft({"try", name, "--dims", dimensions, "--value", value, "--device", "emulator"}).err;
    };
    EXPECT_THAT(why("norm/rms", "rows=3,columns=8", "eps=-5"), HasSubstr("eps is 0 or more, not -5"));
    EXPECT_THAT(why("norm/rms", "rows=3,columns=8", "eps=nan"), HasSubstr("eps is 0 or more, not nan"));
    EXPECT_THAT(why("norm/rms", "rows=3,columns=8", "eps=inf"), HasSubstr("eps is a finite number, not inf"));
    EXPECT_THAT(why("attention/mma", "queries=3,keys=5", "scale=inf"),
                HasSubstr("scale is a finite number, not inf"));
    EXPECT_EQ(why("norm/rms", "rows=3,columns=8", "eps=0"), "");
}

TEST_F(Cli, TrySaysWhereNothingWasCompared) {
    const std::vector<std::string> command = {"try",      "elementwise/simple",
                                              "--dims",   "n=8",
                                              "--expr",   "function=y = sqrt(0 - 1 - x * x)",
                                              "--device", "emulator"};
    const Result wrong = ptxgraft(command);
    EXPECT_EQ(wrong.status, 1);
    EXPECT_THAT(wrong.out,
                AllOf(StartsWith("wrong: 0 of 8 elements"),
                      HasSubstr("nothing was compared of y: all of it is NaN in the reference\n")));
    auto json = command;
    json.emplace_back("--json");
    EXPECT_EQ(Json::parse(ptxgraft(json).out)["not_compared"], Json({"y"}));
}

// A stub that multiplies makes errors larger than those of the default stubs, which the tolerance is for.
TEST_F(Cli, TryTakesAnotherTolerance) {
    const auto scan = [](std::vector<std::string> more) {
        more.insert(more.begin(), {"try", "scan/scan", "--dims", "n=20000", "--expr", "epilogue=y = y * 1000",
                                   "--device", "emulator"});
        return ptxgraft(more);
    };
    const Result wrong = scan({});
    EXPECT_EQ(wrong.status, 1);
    EXPECT_THAT(wrong.out, AllOf(HasSubstr("note: the tolerance, "),
                                 HasSubstr("is that of the default stubs; --tolerance RELATIVE,ABSOLUTE")));
    const Result right = scan({"--tolerance", "1e-3,1", "--json"});
    EXPECT_EQ(right.status, 0) << right.out;
    EXPECT_EQ(Json::parse(right.out)["tolerance"], Json({{"relative", 1e-3}, {"absolute", 1}}));
    for (const char* const text : {"x", "-1", "1,", "1,2,3", "inf"})
        EXPECT_THAT(scan({"--tolerance", text}).err, HasSubstr("--tolerance: RELATIVE[,ABSOLUTE], numbers"))
            << text;
}

TEST_F(Cli, TemplatesAreNeverHalfOfWhatWasAsked) {
    EXPECT_EQ(ptxgraft({"template", "gemm/simt", "--source", "--json"}).status, 2);
    const Result nowhere =
        ptxgraft({"template", "elementwise/simple", "--dims", "n=5", "--launch", "/proc/x"});
    EXPECT_EQ(nowhere.status, 1);
    EXPECT_THAT(nowhere.err, HasSubstr("/proc/x: the folder cannot be made: "));
    fs::create_directories("empty");
    EXPECT_THAT(ptxgraft({"template", "gemm/simt", "--templates", "empty"}).err,
                HasSubstr("no such template: gemm/simt; there are none in empty"));
}

TEST_F(Cli, TryChecksItsFlags) {
    const auto why = [](std::vector<std::string> flags) {
        flags.insert(flags.begin(), {"try", "attention/simt", "--device", "emulator"});
        return ptxgraft(flags).err;
    };
    EXPECT_THAT(why({"--dims", "heads"}), HasSubstr("--dims"));
    EXPECT_THAT(why({"--dims", "heads=1,rows=1,columns=1", "--seed", "-1"}),
                HasSubstr("--seed: it is a number from 0 on, not -1"));
    EXPECT_THAT(why({"--dims", "heads=1,rows=1,columns=1", "--repeats", "-1"}), HasSubstr("--repeats"));
    EXPECT_THAT(why({"--dims", "heads=x"}), HasSubstr("heads is a whole number, not 'x'"));
    EXPECT_THAT(why({"--dims", "heads=1,heads=2"}), HasSubstr("heads is given twice"));
    EXPECT_THAT(why({"--dims", "heads=1"}), HasSubstr("rows is missing"));
    EXPECT_THAT(why({"--dims", "heads=1,rows=1,columns=1", "--set", "head_dim=65"}),
                HasSubstr("head_dim is one of 32, 40, 64, 96, 128, not 65"));
    EXPECT_THAT(why({"--dims", "heads=1,rows=1,columns=1", "--null", "q"}),
                HasSubstr("no tensor q may be a null pointer"));
    EXPECT_THAT(why({"--dims", "heads=1,rows=1,columns=1", "--value", "scale=x"}),
                HasSubstr("scale is a number, not 'x'"));
    EXPECT_THAT(why({"--dims", "heads=1,rows=1,columns=1", "--value", "rows=2"}),
                HasSubstr("rows is no floating-point number"));
}

}  // namespace
}  // namespace ptxgraft::test
