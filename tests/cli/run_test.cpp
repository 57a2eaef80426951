// The verb run: scalars, arrays, CUDA.

#include <nlohmann/json.hpp>
#include <sstream>

#include "support/cli.hpp"
#include "support/kernel_text.hpp"

namespace ptxgraft::test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// The elements of an array file: what follows the first line.
// A run that works; options in `more` take the place of its own.
std::vector<std::string> run_affine(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"run", "affine.ptx"};
    for (const auto& [option, value] :
         {std::pair{"--device", "emulator"}, {"--entry", "affine"}, {"--block", "4"}})
        if (more.empty() || more[0] != option) arguments.insert(arguments.end(), {option, value});
    arguments.insert(arguments.end(), {"--arg", "in=x.npy", "out=f32:4:y.npy", "f32=0.5", "u32=4"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

TEST_F(Cli, RunComputes) {
    const Result result = ptxgraft(run_affine());
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(elements<float>("y.npy"), (std::vector<float>{1.5f, -1.5f, 3.5f, -3.5f}));
    EXPECT_EQ(read_file("y.npy"), [] {
        std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }";
        return npy(header.append(20, ' '), bytes_of(std::vector<float>{1.5f, -1.5f, 3.5f, -3.5f}));
    }());
}

TEST_F(Cli, RunTakesConstantsAsData) {
    write_file("scale.cu", R"(#include <ptxgraft/site.cuh>
extern "C" __global__ void k(float* y) {
    float value = threadIdx.x;
    PTXGRAFT_SITE("scale", "", mod(f32, value));
    y[threadIdx.x] = value;
})");
    for (const std::string where : {"literals", "data"}) {
        const Result result =
            ptxgraft({"run", "scale.cu", "--device", "emulator", "--block", "4", "--expr",
                      "scale=value = value * 2.5 + 1.0", "--constants", where, "--arg", "out=f32:4:y.npy"});
        ASSERT_EQ(result.status, 0) << result.err;
        EXPECT_EQ(elements<float>("y.npy"), (std::vector<float>{1, 3.5f, 6, 8.5f})) << where;
    }
}

TEST_F(Cli, RunProfilesAndTraces) {
    write_file("tiny.ptx",
               ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {\n.reg .b32 %r<3>;\n.shared .b8 "
               "s[4096];\n"
               "mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 7;\nst.shared.u32 [%r2], %r1;\nret;\n}\n");
    const std::vector<std::string> base = {"run",    "tiny.ptx", "--device", "emulator",
                                           "--grid", "2",        "--block",  "32"};
    const auto with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), base.begin(), base.end());
        return ptxgraft(more);
    };
    const Result profile = with({"--profile"});
    ASSERT_EQ(profile.status, 0) << profile.err;
    EXPECT_EQ(
        profile.out,
        "  line      warps  lanes conflicts  wavefronts/ideal     sectors/ideal       bytes  instruction\n"
        "     7          2  32.00         -                 -                 -           -  mov.u32 %r1, "
        "%tid.x;\n"
        "     8          2  32.00         -                 -                 -           -  shl.b32 %r2, "
        "%r1, 7;\n"
        "     9          2  32.00        62              64/2                 -         256  st.shared.u32 "
        "[%r2], %r1;\n"
        "    10          2  32.00         -                 -                 -           -  ret;\n"
        "\n     warps      threads  shared bytes  global bytes  class\n"
        "         2           64             -             -  control\n"
        "         2           64             -             -  logic and shift\n"
        "         2           64             -             -  move and convert\n"
        "         2           64           256             -  shared store\n"
        "         8          256           256             -  in all\n");
    ASSERT_EQ(with({"--trace", "t.txt", "--trace-cta", "1", "--trace-warp", "0"}).status, 0);
    const std::string trace = read_file("t.txt");
    EXPECT_EQ(std::count(trace.begin(), trace.end(), '\n'), 4);
    EXPECT_THAT(
        trace,
        StartsWith(
            "block (1, 0, 0) warp 0 lanes 0xffffffff 7:1: mov.u32 %r1, %tid.x; | %r1 = [0x0 0x1 0x2 "));
    EXPECT_EQ(with({"--trace", "t.txt", "--trace-cta", "one"}).status, 2);
    EXPECT_EQ(with({"--trace-warp", "0"}).status, 2);
    for (const char* const flag : {"--trace-cta", "--trace-warp"}) {
        const Result nothing = with({"--trace", "t.txt", flag, "7"});
        EXPECT_EQ(nothing.status, 1);
        EXPECT_EQ(nothing.err, "error: nothing was traced: the launch has no such block, or no such warp\n");
    }
    EXPECT_THAT(with({"--trace", "no/such/folder.txt"}).err, HasSubstr("cannot write no/such/folder.txt"));
}

TEST_F(Cli, RunSaysWhatIsWrongWithAnInstructionThatThereIsNot) {
    const auto of = [this](const std::string& instruction) {
        write_file("wrong.ptx",
                   ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {\n.reg .b32 %r<3>;\n.reg .f64 "
                   "%d<3>;\n" +
                       instruction + "\nret;\n}\n");
        return ptxgraft({"run", "wrong.ptx", "--device", "emulator"}).err;
    };
    EXPECT_THAT(of("mov.f64 %d1, 0d0000000000000000; add.sat.f64 %d1, %d1, %d1;"),
                StartsWith("wrong.ptx:7:37: error: .sat is not allowed in this form of add; forms: "
                           "add{.rnd}.f64 d, a, b; "));
    EXPECT_THAT(of("ad.u32 %r1, 1, 2;"), StartsWith("wrong.ptx:7:1: error: unknown opcode 'ad'"));
    EXPECT_THAT(of("tcgen05.wait::ld.sync.aligned;"),
                StartsWith("wrong.ptx:7:1: error: tcgen05.wait::ld.sync.aligned needs "));
}

TEST_F(Cli, RunGraftsStubs) {
    const Result result = ptxgraft(run_affine({"--program", "epilogue=acc bias mul.f32 0.0 max.f32 -> acc"}));
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(elements<float>("y.npy"), (std::vector<float>{0.5f, 0, 1.5f, 0}));
}

TEST_F(Cli, RunTakesArgumentsOneByOneAndBeforeTheFile) {
    const Result result =
        ptxgraft({"run", "--device", "emulator", "--entry", "affine", "--block", "4x1,1", "--arg", "in=x.npy",
                  "--arg", "out=f32:2x2:y.npy", "--arg=f32=0.5", "--arg", "u32=4", "affine.ptx"});
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(read_file("y.npy"), HasSubstr("'shape': (2, 2)"));
}

TEST_F(Cli, WhatAKernelDoesNotWriteStaysPoisoned) {
    ASSERT_EQ(ptxgraft({"run", "affine.ptx", "--device", "emulator", "--entry", "affine", "--block", "4",
                        "--arg", "in=x.npy", "out=u32:4:y.npy", "f32=0.5", "u32=3"})
                  .status,
              0);
    EXPECT_EQ(elements<std::uint32_t>("y.npy"),
              (std::vector<std::uint32_t>{0x3fc00000, 0xbfc00000, 0x40600000, 0xffffffff}));
}

TEST_F(Cli, RunShowsWhereAKernelFails) {
    const std::vector<std::string> bad_store = {"run",      "affine.ptx",      "--device",
                                                "emulator", "--entry",         "touch",
                                                "--arg",    "out=u32:1:y.npy", "u64=0x10000000"};
    const Result result = ptxgraft(bad_store);
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, StartsWith("affine.ptx:47:2: error: "));
    EXPECT_THAT(result.err, HasSubstr("st.global.u32 [%rd3], %r1;"));
    EXPECT_FALSE(fs::exists("y.npy"));

    auto with_stub = bad_store;
    with_stub.insert(with_stub.end(), {"--program", "epilogue=acc -> acc"});
    const Result rendered = ptxgraft(with_stub);
    EXPECT_EQ(rendered.status, 1);
    EXPECT_THAT(rendered.err, StartsWith("affine.ptx (with stubs):"));
    EXPECT_THAT(rendered.err, HasSubstr("note: "));
}

TEST_F(Cli, RunRefusesWhatMakesNoSense) {
    struct Row {
        std::vector<std::string> more;
        int status;
        const char* message;
    };
    const Row rows[] = {
        {{"--grid", "0"}, 2, "--grid: invalid argument: '0' is not a shape"},
        {{"--grid", "1,2,3,4"}, 2, "--grid"},
        {{"--grid", "1,,2"}, 2, "--grid"},
        {{"--block", "-4"}, 2, "--block"},
        {{"--block", "4294967296"}, 2, "--block"},
        {{"--block", ""}, 2, "--block"},
        {{"--block", "2048"}, 1, "2048"},
        {{"--smem", "many"}, 2, "--smem"},
        {{"--smem", "-1"}, 2, "--smem"},
        {{"--entry", "none"}, 1, "affine"},
        {{"--device", "toaster"}, 1, "toaster"},
        {{"--arg", "f32=abc"}, 2, "'abc' is not a number for f32"},
        {{"--arg", "f32="}, 2, "is not a number"},
        {{"--arg", "f32=1e99"}, 2, "out of range of f32"},
        {{"--arg", "f16=65520"}, 2, "out of range of f16"},
        {{"--arg", "u8=256"}, 2, "256 is out of range of u8: 0 to 255"},
        {{"--arg", "s8=-129"}, 2, "-128 to 127"},
        {{"--arg", "u32=-1"}, 2, "out of range of u32"},
        {{"--arg", "u64=18446744073709551616"}, 2, "u64"},
        {{"--arg", "u32=5x"}, 2, "is not an integer for u32"},
        {{"--arg", "pred=maybe"}, 2, "neither true nor false"},
        {{"--arg", "x32=5"}, 2, "is not a kind of argument"},
        {{"--arg", "5"}, 2, "should be KIND=VALUE"},
        {{"--arg", "bytes=0g"}, 2, "hexadecimal"},
        {{"--arg", "bytes=000"}, 2, "hexadecimal"},
        {{"--arg", "out=f32:4"}, 2, "out=TYPE:SHAPE:FILE"},
        {{"--arg", "out=f33:4:y.npy"}, 2, "'f33' is not an element type"},
        {{"--arg", "out=f32:4x:y.npy"}, 2, "is not a shape"},
        {{"--arg", "out=f32:99999999999x99999999999:y.npy"}, 2, "too large"},
        {{"--arg", "inout=a.npy"}, 2, "inout=FILE:FILE"},
        {{"--arg", "in="}, 2, "in=FILE"},
        {{"--arg", "in=none.npy"}, 1, "cannot open none.npy"},
        {{"--arg", "u32=4"}, 1, "wrong number of arguments"},
    };
    for (const Row& row : rows) {
        const Result result = ptxgraft(run_affine(row.more));
        EXPECT_EQ(result.status, row.status) << testing::PrintToString(row.more) << result.err;
        EXPECT_THAT(result.err, HasSubstr(row.message)) << testing::PrintToString(row.more);
        EXPECT_THAT(result.err, HasSubstr("error: ")) << testing::PrintToString(row.more);
    }
    EXPECT_FALSE(fs::exists("y.npy"));
}

// A link to what has no end is not read until memory has.
TEST_F(Cli, RunReadsArraysFromNoDevice) {
    fs::create_symlink("/dev/zero", "endless.npy");
    EXPECT_THAT(ptxgraft({"run", "affine.ptx", "--device", "emulator", "--arg", "in=endless.npy"}).err,
                HasSubstr("endless.npy: it is a device, not a file of numbers"));
    write_file("endless.json", R"({"entry": "affine", "buffers": {"x": {"in": "endless.npy"}}, "args": []})");
    EXPECT_THAT(ptxgraft({"run", "affine.ptx", "--launch", "endless.json", "--device", "emulator"}).err,
                HasSubstr("endless.npy: it is a device, not a file of numbers"));
}

TEST_F(Cli, RunRefusesArgumentsOfAnotherNature) {
    const auto with = [](const char* bias, const char* n) {
        return ptxgraft({"run", "affine.ptx", "--device", "emulator", "--entry", "affine", "--arg",
                         "in=x.npy", "out=f32:4:y.npy", bias, n});
    };
    EXPECT_THAT(with("u32=1", "u32=4").err, HasSubstr("argument 3 (u32=1) for the parameter .f32 bias"));
    EXPECT_THAT(with("f32=1", "f32=4").err, HasSubstr("argument 4 (f32=4) for the parameter .u32 n"));
    EXPECT_EQ(with("f64=1", "u32=4").status, 1);
    EXPECT_EQ(with("b32=0x3f800000", "s32=4").status, 0);
}

TEST_F(Cli, RunWantsAnEntryWhereThereAreTwo) {
    const Result result = ptxgraft({"run", "affine.ptx", "--device", "emulator"});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, HasSubstr("affine"));
    EXPECT_THAT(result.err, HasSubstr("touch"));
}

// ------------------------------------------------------------------------------------------------ scalars,
// arrays

// A kernel with one entry, which may therefore stay unnamed, that stores its second argument into its first.
std::string scalar_echo(unsigned bytes) {
    const std::string bits = std::to_string(bytes * 8), reg = bytes == 8 ? "b64" : bytes == 4 ? "b32" : "b16";
    return ptxgraft::test::kernel_text({.version = "8.0",
                                        .target = "sm_80",
                                        .parameters = {"u64 p", "b" + bits + " v"},
                                        .registers = {"b64 %rd1", reg + " %v"},
                                        .body = "ld.param.u64 %rd1, [p];\nld.param.b" + bits +
                                                " %v, [v];\nst.global.b" + bits + " [%rd1], %v;",
                                        .name = "echo"});
}

TEST_F(Cli, ScalarsHaveTheBitsOfTheirTypes) {
    struct Row {
        const char* argument;
        unsigned bytes;
        std::uint64_t bits;
    };
    const Row rows[] = {
        {"u8=255", 1, 0xff},
        {"s8=-128", 1, 0x80},
        {"b8=0xA5", 1, 0xa5},
        {"pred=true", 1, 1},
        {"bool=0", 1, 0},
        {"u16=65535", 2, 0xffff},
        {"s16=-2", 2, 0xfffe},
        {"b16=0b101", 2, 5},
        {"f16=1", 2, 0x3c00},
        {"f16=-0.1", 2, 0xae66},
        {"f16=65504", 2, 0x7bff},
        {"f16=65519.9", 2, 0x7bff},
        {"f16=1e-8", 2, 0},
        {"f16=5.9604645e-8", 2, 1},
        {"f16=6.1e-5", 2, 0x3ff},
        {"f16=-inf", 2, 0xfc00},
        {"f16=nan", 2, 0x7e00},
        {"bf16=1", 2, 0x3f80},
        {"bf16=3.14159", 2, 0x4049},
        {"bf16=1.00390625", 2, 0x3f80},
        {"bf16=1.01171875", 2, 0x3f82},
        {"f32=1.5", 4, 0x3fc00000},
        {"f32=-0", 4, 0x80000000},
        {"f32=+2", 4, 0x40000000},
        {"f32=inf", 4, 0x7f800000},
        {"f32=0f3F800000", 4, 0x3f800000},
        {"s32=-1", 4, 0xffffffff},
        {"u32=0x80000000", 4, 0x80000000},
        {"b32=0xdeadbeef", 4, 0xdeadbeef},
        {"f64=0.1", 8, 0x3fb999999999999a},
        {"f64=0d3FF0000000000000", 8, 0x3ff0000000000000},
        {"s64=-9223372036854775808", 8, 0x8000000000000000},
        {"u64=18446744073709551615", 8, ~std::uint64_t{0}},
        {"bytes=0102030405060708", 8, 0x0807060504030201},
    };
    for (const Row& row : rows) {
        write_file("echo.ptx", scalar_echo(row.bytes));
        const Result result =
            ptxgraft({"run", "echo.ptx", "--device", "emulator", "--arg", "out=u8:8:v.npy", row.argument});
        ASSERT_EQ(result.status, 0) << row.argument << result.err;
        std::uint64_t bits = 0;
        std::memcpy(&bits, elements<char>("v.npy").data(), row.bytes);
        EXPECT_EQ(bits, row.bits) << row.argument;
    }
}

// Reads an array and writes it again: the kernel has nothing to do.
Result copy_array(std::string_view file) {
    write_file(
        "nothing.ptx",
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\nret;\n}\n");
    write_file("before.npy", file);
    return ptxgraft({"run", "nothing.ptx", "--device", "emulator", "--arg", "inout=before.npy:after.npy"});
}

TEST_F(Cli, ArraysOfEveryKindAreReadAndWritten) {
    const std::pair<const char*, unsigned> dtypes[] = {{"|b1", 1}, {"|i1", 1}, {"|u1", 1}, {"<i2", 2},
                                                       {"<u2", 2}, {"<f2", 2}, {"<i4", 4}, {"<u4", 4},
                                                       {"<f4", 4}, {"<i8", 8}, {"<u8", 8}, {"<f8", 8}};
    for (const auto& [dtype, bytes] : dtypes)
        for (const auto& [shape, count] :
             {std::pair{"()", 1u}, {"(0,)", 0u}, {"(3,)", 3u}, {"(2, 3)", 6u}, {"(2, 0, 5)", 0u}}) {
            const std::string data(bytes * count, '\x5a');
            const Result result = copy_array(npy(
                "{'descr': '" + std::string(dtype) + "', 'fortran_order': False, 'shape': " + shape + ", }",
                data));
            ASSERT_EQ(result.status, 0) << dtype << shape << result.err;
            const std::string after = read_file("after.npy");
            EXPECT_THAT(after, HasSubstr("'descr': '" + std::string(dtype) +
                                         "', 'fortran_order': False, 'shape': " + shape));
            EXPECT_THAT(after, EndsWith("\n" + data)) << dtype << shape;
        }
}

TEST_F(Cli, FortranOrderIsReordered) {
    // a[i][j] = 10 i + j, stored column by column.
    const std::vector<std::int32_t> columns{0, 10, 1, 11, 2, 12};
    ASSERT_EQ(copy_array(npy("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }", bytes_of(columns)))
                  .status,
              0);
    EXPECT_EQ(elements<std::int32_t>("after.npy"), (std::vector<std::int32_t>{0, 1, 2, 10, 11, 12}));
    std::vector<std::int32_t> cube;  // a[i][j][k] = 100 i + 10 j + k of shape (2, 2, 3)
    for (int k = 0; k < 3; ++k)
        for (int j = 0; j < 2; ++j)
            for (int i = 0; i < 2; ++i) cube.push_back(100 * i + 10 * j + k);
    ASSERT_EQ(copy_array(npy("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 2, 3), }", bytes_of(cube)))
                  .status,
              0);
    EXPECT_EQ(elements<std::int32_t>("after.npy"),
              (std::vector<std::int32_t>{0, 1, 2, 10, 11, 12, 100, 101, 102, 110, 111, 112}));
}

TEST_F(Cli, LaterVersionsOfTheFormatAreRead) {
    std::string file = floats({1, 2});
    for (char version : {'\x02', '\x03'}) {
        std::string later = file;
        later[6] = version;
        later.insert(10, 2, '\0');
        EXPECT_EQ(copy_array(later).status, 0) << int(version);
        EXPECT_EQ(read_file("after.npy").substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
        EXPECT_EQ(elements<float>("after.npy"), (std::vector<float>{1, 2}));
    }
}

TEST_F(Cli, DamagedArraysAreErrors) {
    const auto with = [](const char* header) { return npy(header, std::string(64, 'x')); };
    const std::pair<std::string, const char*> rows[] = {
        {"", "does not start"},
        {"hello", "does not start"},
        {floats({1, 2}).substr(0, 9), "ends within the header"},
        {floats({1, 2}).substr(0, 40), "ends within the header"},
        {floats({1, 2, 3}).substr(0, 130), "truncated"},
        {with("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }"), "big-endian"},
        {with("{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }"), "<c8"},
        {with("{'descr': '<U5', 'fortran_order': False, 'shape': (2,), }"), "<U5"},
        {with("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }"), "|O"},
        {with("{'descr': '', 'fortran_order': False, 'shape': (2,), }"), "dtype"},
        {with("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }"), "a structure"},
        {with("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,), }"), "damaged"},
        {with("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }"), "damaged"},
        {with("{'descr': '<f4', 'fortran_order': False, 'shape': (2 3), }"), "damaged"},
        {with("{'descr': '<f4', 'fortran_order': False, }"), "lacks a key"},
        {with("{'descr': '<f4', 'other': 5, 'shape': (2,), }"), "damaged"},
        {with("{'descr': '<f4"), "damaged"},
        {with("[1, 2]"), "not a dict"},
        {with("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }"),
         "too large"},
        {with("{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846976,), }"), "truncated"},
        {"\x93NUMPY\x09" + floats({1}).substr(7), "format version 9"},
    };
    for (const auto& [file, message] : rows) {
        const Result result = copy_array(file);
        EXPECT_EQ(result.status, 1) << message;
        EXPECT_THAT(result.err, StartsWith("before.npy: error: "));
        EXPECT_THAT(result.err, HasSubstr(message));
    }
}

// ------------------------------------------------------------------------------------------------------ CUDA

constexpr const char* cuda_kernel = R"(#include <ptxgraft/site.cuh>
#include "offset.h"
extern "C" __global__ void shift(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float acc = x[i] + OFFSET * SCALE;
    PTXGRAFT_SITE("epilogue", "", mod(f32, acc));
    y[i] = acc;
}
)";

TEST_F(Cli, CudaIsCompiledAndRun) {
    write_file("shift.cu", cuda_kernel);
    write_file("offset.h", "#define OFFSET 10.0f\n");
    const Result compiled =
        ptxgraft({"compile", "shift.cu", "--target", "sm_80", "-DSCALE=2", "-o", "shift.ptx"});
    ASSERT_EQ(compiled.status, 0) << compiled.err;
    EXPECT_THAT(read_file("shift.ptx"), HasSubstr(".target sm_80"));
    EXPECT_THAT(ptxgraft({"sites", "shift.cu", "-D", "SCALE=2"}).out,
                HasSubstr("epilogue  1 copy\n    mod f32     acc\n"));

    const Result run =
        ptxgraft({"run", "shift.cu", "-DSCALE=2", "--device", "emulator", "--block", "4", "--program",
                  "epilogue=acc neg.f32 -> acc", "--arg", "in=x.npy", "out=f32:4:y.npy", "s32=4"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(elements<float>("y.npy"), (std::vector<float>{-21, -18, -23, -16}));
}

TEST_F(Cli, CudaErrorsSayWhere) {
    write_file("wrong.cu", "extern \"C\" __global__ void k(float* x) {\n    x[0] = undeclared;\n}\n");
    const Result result = ptxgraft({"compile", "wrong.cu"});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, StartsWith("wrong.cu"));
    EXPECT_THAT(result.err, testing::ContainsRegex("wrong\\.cu[:(]2"));
    EXPECT_THAT(result.err, HasSubstr("undeclared"));
}

}  // namespace
}  // namespace ptxgraft::test
