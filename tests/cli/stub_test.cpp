// The verb stub.

#include <nlohmann/json.hpp>
#include <sstream>

#include "support/cli.hpp"

namespace ptxgraft::test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST_F(Cli, StubCompilesForASiteForASignatureAndFromAFile) {
    write_file("relu.stub", "signature: mod f32 acc\nacc 0.0 max.f32 -> acc\n");
    const std::vector<std::vector<std::string>> rows = {
        {"acc 0.0 max.f32 -> acc", "--site", "affine.ptx:epilogue"},
        {"acc 0.0 max.f32 -> acc", "--signature", "mod f32 acc"},
        {"relu.stub"}};
    for (auto row : rows) {
        row.insert(row.begin(), "stub");
        const Result result = ptxgraft(row);
        EXPECT_EQ(result.status, 0) << result.err;
        EXPECT_THAT(result.out, HasSubstr("max.f32")) << testing::PrintToString(row);
        EXPECT_THAT(result.out, HasSubstr("_acc")) << testing::PrintToString(row);
    }
}

TEST_F(Cli, StubChecksHandWrittenPtx) {
    write_file("square.ptx", "mul.f32 acc, acc, acc;\n");
    EXPECT_THAT(ptxgraft({"stub", "square.ptx", "--site", "affine.ptx:epilogue"}).out,
                HasSubstr("mul.f32 _acc, _acc, _acc;"));
    write_file("wrong.ptx", "mul.f32 acc, acc,\n  nothing;\n");
    const Result wrong = ptxgraft({"stub", "wrong.ptx", "--site", "affine.ptx:epilogue"});
    EXPECT_EQ(wrong.status, 1);
    EXPECT_THAT(wrong.err, StartsWith("wrong.ptx:2:3: error: "));
}

TEST_F(Cli, StubErrorsHaveAPlaceInTheProgram) {
    const Result result = ptxgraft({"stub", "acc nothing add.f32 -> acc", "--site", "affine.ptx:epilogue"});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, StartsWith("PROGRAM:1:5: error: "));
    EXPECT_THAT(result.err, HasSubstr("    ^~~~~~~\n"));
}

TEST_F(Cli, StubEvaluates) {
    const std::string xyz = "in f32 x, in f32 y, out f32 z";
    struct Row {
        std::vector<std::string> arguments;
        std::string out;
    };
    const std::vector<Row> rows = {
        {{"x y add.f32 -> z", "--signature", xyz, "--evaluate", "x=1,2,3", "y=4,5,6"}, "z = 5 7 9\n"},
        {{"x y add.f32 -> z", "--signature", xyz, "--evaluate", "x=1,2,3", "y=4,5,6", "--bits"},
         "z = 0x40a00000 0x40e00000 0x41100000\n"},
        {{"--evaluate", "x=1,2,3", "y=4,5,6", "--signature", xyz, "x y sub.f32 -> z"}, "z = -3 -3 -3\n"},
        {{"x y div.rn.f32 -> z", "--signature", xyz, "--evaluate", "x=1,-1,0,0f3F800000", "y=3,0,-0.0,inf"},
         "z = 0.33333334 -inf nan 0\n"},
        {{"x y add.f32 -> z", "--signature", xyz, "--evaluate", "x=nan,inff32,1e-45", "y=1,-inf,0", "--bits"},
         "z = 0x7fffffff 0x7fffffff 0x00000001\n"},
        {{"--expr", "z = x + y; w = x < y", "--signature", xyz + ", out pred w", "--evaluate", "x=1,5",
          "y=4,4"},
         "z = 5 9\nw = true false\n"},
        {{"n -> m", "--signature", "in b32 n, out b32 m", "--evaluate", "n=0xff,7,0xFFFFFFFF"},
         "m = 255 7 4294967295\n"},
        {{"n neg.s16 -> m", "--signature", "in s16 n, out s16 m", "--evaluate", "n=-5,32767", "--bits"},
         "m = 0x0005 0x8001\n"},
        {{"n -> m", "--signature", "in s64 n, out s64 m", "--evaluate", "n=-9223372036854775808,0x10"},
         "m = -9223372036854775808 16\n"},
        {{"h -> k", "--signature", "in f16 h, out f16 k", "--evaluate", "h=0x3C00f16,0x3c00,1,1f16",
          "--bits"},
         "k = 0x3c00 0x3c00 0x3c00 0x3c00\n"},
        {{"n -> m", "--signature", "in f64 n, out f64 m", "--evaluate", "n=0.1,0d3FF0000000000000,inff64"},
         "m = 0.1 1 inf\n"},
        {{"frag[0] frag[1] -> h frag[1]; frag[1] -> frag[0]", "--signature", "mod f16 frag[2], out f16 h",
          "--evaluate", "frag[0]=1.5", "frag[1]=0x3c00"},
         "frag[0] = 1\nfrag[1] = 1\nh = 1.5\n"},
        {{"a -> b", "--signature", "in bf16x2 a, out bf16x2 b", "--evaluate", "a=0x3f803f80"},
         "b = 0x3F803F80\n"},
        {{"p not.pred -> p", "--signature", "mod pred p", "--evaluate", "p=true,0,1"},
         "p = false true false\n"},
        {{"p not.pred -> p", "--signature", "mod pred p", "--evaluate", "p=true", "--bits"}, "p = 0x0\n"},
        {{"1.5 -> z", "--signature", "out f32 z", "--evaluate"}, "z = 1.5\n"},
        {{"import activation/relu.stub x relu -> x", "--signature", "mod f32 x, mod u32 n", "--evaluate",
          "x=-1,2", "n=3,4"},
         "x = 0 2\nn = 3 4\n"}};
    for (const Row& row : rows) {
        std::vector<std::string> arguments = row.arguments;
        arguments.insert(arguments.begin(), "stub");
        const Result result = ptxgraft(arguments);
        EXPECT_EQ(result.status, 0) << testing::PrintToString(row.arguments) << result.err;
        EXPECT_EQ(result.out, row.out) << testing::PrintToString(row.arguments);
        EXPECT_EQ(result.err, "") << testing::PrintToString(row.arguments);
    }
}

TEST_F(Cli, StubEvaluatesFilesAndSaysWhatItCannot) {
    write_file("relu.stub", "# of a file\nsignature: mod f32 acc\nacc 0.0 max.f32 -> acc\n");
    EXPECT_EQ(ptxgraft({"stub", "relu.stub", "--evaluate", "acc=-1,1"}).out, "acc = 0 1\n");
    write_file("wrong.stub", "signature: mod f32 acc\n\nacc 0.0 maximum.f32 -> acc\n");
    EXPECT_THAT(ptxgraft({"stub", "wrong.stub", "--evaluate", "acc=-1,1"}).err,
                StartsWith("wrong.stub:3:9: error: "));
    const Result special = ptxgraft({"stub", "%laneid -> n", "--signature", "out u32 n", "--evaluate"});
    EXPECT_EQ(special.status, 1);
    EXPECT_THAT(special.err, HasSubstr("cannot be evaluated"));
    write_file("square.ptx", "mul.f32 acc, acc, acc;\n");
    EXPECT_EQ(ptxgraft({"stub", "square.ptx", "--signature", "mod f32 acc", "--evaluate", "acc=1"}).status,
              2);
    EXPECT_THAT(ptxgraft({"stub", "acc -> acc", "--signature", "mod f32 acc", "--evaluate", "acc=1e99"}).err,
                HasSubstr("acc is f32: '1e99' is no value of it"));
    EXPECT_THAT(
        ptxgraft({"stub", "acc -> acc", "--signature", "mod f32 acc, in f32 b", "--evaluate", "acc=1"}).err,
        HasSubstr("b has no value"));
}

TEST_F(Cli, StubForgivesWhatIsMissingWithAWarning) {
    const std::vector<std::string> arguments = {"stub", "x add.f32 y -> z", "--signature",
                                                "in f32 x, in f32 y, out f32 z"};
    const Result lenient = ptxgraft(arguments);
    EXPECT_EQ(lenient.status, 0);
    EXPECT_EQ(lenient.out, "\tmov.f32 _z, _y;\n");
    EXPECT_THAT(
        lenient.err,
        StartsWith("PROGRAM:1:3: warning: too few values: add.f32 takes 2 f32 values, only 1 is there\n"));
    EXPECT_THAT(lenient.err, HasSubstr("PROGRAM:1:1: warning: 1 f32 value left over at the end"));
    auto strict = arguments;
    strict.push_back("--strict");
    EXPECT_EQ(ptxgraft(strict).status, 1);
    EXPECT_THAT(ptxgraft(strict).err, StartsWith("PROGRAM:1:3: error: too few values"));
    EXPECT_EQ(
        ptxgraft({"stub", "x y -> z", "--signature", "in f32 x, in f32 y, out f32 z", "--strict"}).status, 1);
    // a warning for each, at its place: in a routine and in a repeat once
    const Result many =
        ptxgraft({"stub", "routine r f32 -> f32 : add.u32 end x r r add.s32 repeat 3 mul.lo.u32 end -> z",
                  "--signature", "in f32 x, out f32 z"});
    EXPECT_EQ(many.status, 0);
    EXPECT_THAT(many.err, StartsWith("PROGRAM:1:24: warning: too few values: in a routine: add.u32 takes 2"));
    EXPECT_THAT(many.err, HasSubstr("PROGRAM:1:42: warning: too few values: add.s32"));
    EXPECT_THAT(many.err, HasSubstr("PROGRAM:1:59: warning: too few values: mul.lo.u32"));
    EXPECT_EQ(std::count(many.err.begin(), many.err.end(), '^'), 3);
    // an output without a value, and what no values would mend, are errors
    EXPECT_THAT(ptxgraft({"stub", "x drop.f32", "--signature", "in f32 x, out f32 z"}).err,
                HasSubstr("error: operand z is `out` and is not assigned"));
    EXPECT_THAT(ptxgraft({"stub", "-> z", "--signature", "in f32 x, out f32 z"}).err, HasSubstr("error: "));
    EXPECT_THAT(ptxgraft({"stub", "x tanh.approx.f32 -> z", "--signature", "in f32 x, out f32 z", "--target",
                          "sm_70"})
                    .err,
                HasSubstr("error: tanh.approx.f32 is not available"));
    EXPECT_EQ(ptxgraft({"stub", "x tanh.approx.f32 -> z", "--signature", "in f32 x, out f32 z", "--target",
                        "sm_75"})
                  .status,
              0);
}

TEST_F(Cli, StubAllowsEveryEffectWhereThereIsNoSite) {
    EXPECT_EQ(ptxgraft({"stub", "q ld.global.f32 -> x", "--signature", "in u64 q, mod f32 x"}).status, 0);
    EXPECT_THAT(ptxgraft({"stub", "0u64 ld.global.f32 -> acc", "--site", "affine.ptx:epilogue"}).err,
                HasSubstr("is not allowed here"));
}

TEST_F(Cli, StubProgramsMayBeginWithAMinus) {
    for (const char* program :
         {"-1.0 x max.f32 -> x", "-inf x max.f32 -> x", "-.5 x max.f32 -> x", "-1e3 x max.f32 -> x"}) {
        const Result result = ptxgraft({"stub", program, "--signature", "mod f32 x"});
        EXPECT_EQ(result.status, 0) << program << result.err;
        EXPECT_THAT(result.out, HasSubstr("max.f32 _x, 0f")) << program;
        EXPECT_EQ(ptxgraft({"stub", "--signature", "mod f32 x", program}).out, result.out) << program;
    }
    EXPECT_THAT(ptxgraft({"stub", "--expr", "", "--signature", "mod f32 x"}).err,
                HasSubstr("the expression of --expr is empty"));
    // a value, but no assignment
    EXPECT_EQ(ptxgraft({"stub", "--expr", "-x", "--signature", "mod f32 x"}).status, 1);
    EXPECT_EQ(ptxgraft({"stub", "--expr", "x = -x", "--signature", "mod f32 x"}).status, 0);
}

TEST_F(Cli, StubTakesAnInstructionSet) {
    write_file("mine.set", "mac = fma.rn.f32\n");
    EXPECT_EQ(ptxgraft({"stub", "x x x mac -> x", "--signature", "mod f32 x", "--set", "mine.set"}).out,
              "\tfma.rn.f32 _x, _x, _x, _x;\n");
    EXPECT_EQ(
        ptxgraft({"stub", "x x x fma.rn.f32 -> x", "--signature", "mod f32 x", "--set", "mine.set"}).status,
        1);
    write_file("broken.set", "mac = fma.rn.f33\n");
    EXPECT_THAT(ptxgraft({"stub", "x -> x", "--signature", "mod f32 x", "--set", "broken.set"}).err,
                StartsWith("broken.set:1:"));
}

TEST_F(Cli, StubPrintsRandomProgramsThatCompile) {
    const std::string signature = "in f32 x, mod f32 acc, mod u32 n";
    const Result result = ptxgraft({"stub", "--random", "20", "--seed", "3", "--set", "f32", "--signature",
                                    signature, "--length", "12"});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 20);
    EXPECT_EQ(ptxgraft({"stub", "--random", "1", "--seed", "4", "--set", "f32", "--signature", signature,
                        "--length", "12"})
                  .out,
              result.out.substr(result.out.find('\n') + 1,
                                result.out.find('\n', result.out.find('\n') + 1) - result.out.find('\n')));
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) {
        const Result compiled = ptxgraft({"stub", line, "--signature", signature, "--set", "f32"});
        EXPECT_EQ(compiled.status, 0) << line << "\n" << compiled.err;
    }
    EXPECT_EQ(ptxgraft({"stub", "--random", "2", "--seed", "1", "--set", "full"}).status, 0);
}

}  // namespace
}  // namespace ptxgraft::test
