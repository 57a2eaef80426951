// The verb run with a launch file.

#include <span>

#include "support/cli.hpp"
#include "support/kernel_text.hpp"

namespace ptxgraft::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

Result launch(std::string_view json, const char* ptx = "affine.ptx",
              const std::vector<std::string>& more = {}) {
    write_file("launch.json", json);
    std::vector<std::string> arguments{"run", ptx, "--launch", "launch.json", "--device", "emulator"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return ptxgraft(arguments);
}

TEST_F(Cli, LaunchFilesSayAllOfALaunch) {
    const Result result = launch(
        R"({ "entry": "affine", "grid": [1,1,1], "block": [4], "cluster": [1,1,1], "smem": 16, "cooperative": false,
      "buffers": { "x": {"in": "x.npy"}, "y": {"out": "y.npy", "type": "f32", "shape": [3,2]} },
      "args": [ {"buffer": "x"}, {"buffer": "y", "offset": 4}, {"f32": 0.5}, {"u32": 4} ] })");
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(read_file("y.npy"), HasSubstr("'descr': '<f4', 'fortran_order': False, 'shape': (3, 2)"));
    const auto bits = elements<std::uint32_t>("y.npy");
    EXPECT_EQ(bits[0], 0xFFFFFFFF);  // before the offset, and after what the kernel writes
    EXPECT_EQ(bits[5], 0xFFFFFFFF);
    EXPECT_EQ(elements<float>("y.npy")[1], 1.5f);
    EXPECT_EQ(elements<float>("y.npy")[4], -3.5f);
}

// Adds one to each of the threads' elements.
constexpr const char* count_up =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry up(.param .u64 p)\n{\n"
    ".reg .b64 %rd<3>; .reg .b32 %r<4>;\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\n"
    "mov.u32 %r3, %ctaid.x;\nmad.lo.u32 %r1, %r3, 2, %r1;\n"
    "mad.wide.u32 %rd2, %r1, 4, %rd1;\nld.global.u32 %r2, [%rd2];\nadd.u32 %r2, %r2, 1;\n"
    "st.global.u32 [%rd2], %r2;\nret;\n}\n";

TEST_F(Cli, ABufferOfALaunchFileIsReadFromOneFileAndWrittenToAnother) {
    write_file("up.ptx", count_up);
    fs::create_directories("data/in");
    const std::string before = array("<u4", "(2, 2)", bytes_of(std::vector<std::uint32_t>{1, 2, 3, 4}));
    write_file("data/in/h0.npy", before);
    write_file(
        "data/launch.json",
        R"({"grid": [2], "block": [2], "buffers": {"h": {"in": "in/h0.npy", "out": "h1.npy"}}, "args": [{"buffer": "h"}]})");
    const Result result = ptxgraft({"run", "up.ptx", "--launch", "data/launch.json", "--device", "emulator"});
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(elements<std::uint32_t>("data/h1.npy"), (std::vector<std::uint32_t>{2, 3, 4, 5}));
    EXPECT_EQ(read_file("data/in/h0.npy"), before);
    write_file("absolute.json",
               R"({"buffers": {"h": {"in": ")" + (folder_ / "data/in/h0.npy").string() +
                   R"(", "out": "./h2.npy", "type": "u32", "shape": [2,2]}}, "args": [{"buffer": "h"}]})");
    ASSERT_EQ(ptxgraft({"run", "up.ptx", "--launch", "absolute.json", "--device", "emulator"}).status, 0);
    EXPECT_EQ(elements<std::uint32_t>("h2.npy"), (std::vector<std::uint32_t>{2, 2, 3, 4}));
}

TEST_F(Cli, LaunchFilesMayBeEmptyOrComeFromStandardInput) {
    write_file("none.ptx", ptxgraft::test::kernel_text({.version = "8.0", .target = "sm_80"}));
    EXPECT_EQ(launch("{}", "none.ptx").status, 0);
    EXPECT_EQ(launch("\xEF\xBB\xBF{\r\n\t\"args\": [],\r\n\"buffers\": {\"scratch\": {\"type\": \"u8\", "
                     "\"shape\": []}} }\r\n",
                     "none.ptx")
                  .status,
              0);
    EXPECT_EQ(
        ptxgraft({"run", "none.ptx", "--launch", "-", "--device", "emulator"}, "{\"block\": [32, 2, 2]}")
            .status,
        0);
    const Result result =
        ptxgraft({"run", "none.ptx", "--launch", "-", "--device", "emulator"}, "{\"block\": 32}");
    EXPECT_THAT(result.err, StartsWith("<stdin>:1:11: error: \"block\" is an array, not a number"));
}

// Stores the bytes of its second parameter.
std::string echo_kernel(unsigned bytes) {
    std::string text =
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry echo(.param .u64 p, .param .align 64 "
        ".b8 v[" +
        std::to_string(bytes) + "])\n{\n.reg .b64 %rd1; .reg .b16 %h;\nld.param.u64 %rd1, [p];\n";
    for (unsigned i = 0; i < bytes; ++i) {
        const std::string at = std::to_string(i);
        text += "ld.param.u8 %h, [v+" + at + "];\nst.global.u8 [%rd1+" + at + "], %h;\n";
    }
    return text + "ret;\n}\n";
}

std::string echoed(const std::string& argument, unsigned bytes, const std::string& buffers = "") {
    write_file("echo.ptx", echo_kernel(bytes));
    const Result result =
        launch(R"({"buffers": {)" + buffers + R"("v": {"out": "v.npy", "type": "u8", "shape": [)" +
                   std::to_string(bytes) + "]}}, \"args\": [{\"buffer\": \"v\"}, " + argument + "]}",
               "echo.ptx");
    EXPECT_EQ(result.status, 0) << argument << result.err;
    const auto values = elements<char>("v.npy");
    return {values.begin(), values.end()};
}

TEST_F(Cli, ScalarsOfALaunchFileHaveTheBitsOfTheirTypes) {
    const std::pair<const char*, std::string> rows[] = {
        {R"({"u8": 255})", "\xFF"},
        {R"({"s8": -128})", "\x80"},
        {R"({"b8": "0xA5"})", "\xA5"},
        {R"({"e4m3": 56})", "\x38"},
        {R"({"pred": true})", "\x01"},
        {R"({"bool": 0})", std::string(1, 0)},
        {R"({"u16": 65535})", "\xFF\xFF"},
        {R"({"s16": -2})", "\xFE\xFF"},
        {R"({"f16": 1})", std::string("\x00\x3C", 2)},
        {R"({"f16": -0.1})", "\x66\xAE"},
        {R"({"bf16": 3.14159})", "\x49\x40"},
        {R"({"u32": 4294967295})", "\xFF\xFF\xFF\xFF"},
        {R"({"s32": -1})", "\xFF\xFF\xFF\xFF"},
        {R"({"f32": 1.5})", std::string("\x00\x00\xC0\x3F", 4)},
        {R"({"f32": 15e-1})", std::string("\x00\x00\xC0\x3F", 4)},
        {R"({"f32": 2})", std::string("\x00\x00\x00\x40", 4)},
        {R"({"f32": "-inf"})", std::string("\x00\x00\x80\xFF", 4)},
        {R"({"f32": "0f3F800001"})", std::string("\x01\x00\x80\x3F", 4)},
        {R"({"f64": 0.1})", "\x9A\x99\x99\x99\x99\x99\xB9\x3F"},
        {R"({"u64": 18446744073709551615})", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"},
        {R"({"s64": -9223372036854775808})", std::string("\x00\x00\x00\x00\x00\x00\x00\x80", 8)},
        {R"({"b64": "0x0102030405060708"})", "\x08\x07\x06\x05\x04\x03\x02\x01"},
        {R"({"bytes": "00ff12"})", std::string("\x00\xFF\x12", 3)}};
    for (const auto& [argument, bytes] : rows)
        EXPECT_EQ(echoed(argument, static_cast<unsigned>(bytes.size())), bytes) << argument;
}

TEST_F(Cli, BuffersOfALaunchFileAreAddresses) {
    const std::string at = echoed(R"({"buffer": "v"})", 8),
                      later = echoed(R"({"buffer": "v", "offset": 8})", 8);
    EXPECT_EQ(later[0], at[0] + 8);
    EXPECT_EQ(later.substr(1), at.substr(1));
}

TEST_F(Cli, TensorMapsTakeWhatIsNotSaidFromTheArray) {
    write_file("a.npy", array("<u2", "(64, 128)", std::string(64 * 128 * 2, 'x')));
    write_file("cube.npy", array("<f4", "(4, 8, 16)", std::string(4 * 8 * 16 * 4, 'x')));
    const std::string buffers =
        R"("a": {"in": "a.npy", "type": "bf16"}, "cube": {"in": "cube.npy"}, "plain": {"in": "a.npy"}, )";
    const auto map = [&](const std::string& text) {
        return echoed(R"({"tensormap": {)" + text + "}}", 128, buffers);
    };
    const std::string whole = map(
        R"("buffer": "a", "type": "bf16", "dims": [128,64], "strides": [256], "box": [64,32], "element_strides": [1,1], "swizzle": "128B", "interleave": "none", "l2": "none", "fill": "zero", "offset": 0)");
    EXPECT_EQ(map(R"("buffer": "a", "box": [64,32], "swizzle": "128B")"), whole);
    EXPECT_EQ(map(R"("buffer": "a", "dims": [128,64], "box": [64,32], "swizzle": "128B")"), whole);
    EXPECT_EQ(
        map(R"("buffer": "cube", "box": [8,4,2])"),
        map(R"("buffer": "cube", "type": "f32", "dims": [16,8,4], "strides": [64,512], "box": [8,4,2])"));
    EXPECT_EQ(map(R"("buffer": "plain", "box": [64,32])"),
              map(R"("buffer": "plain", "type": "u16", "box": [64,32])"));
    // A part of the array keeps the array's strides; other ranks are contiguous.
    EXPECT_EQ(map(R"("buffer": "a", "dims": [64,8], "box": [64,8])"),
              map(R"("buffer": "a", "dims": [64,8], "strides": [256], "box": [64,8])"));
    EXPECT_EQ(map(R"("buffer": "a", "dims": [64,8,2], "box": [64,8,1])"),
              map(R"("buffer": "a", "dims": [64,8,2], "strides": [128,1024], "box": [64,8,1])"));
    const std::string pixels =
        map(R"("buffer": "cube", "im2col": {"lower_corner": [-1], "upper_corner": [1], )"
            R"("channels_per_pixel": 16, "pixels_per_column": 8})");
    EXPECT_NE(pixels, map(R"("buffer": "cube", "box": [16,8,1])"));
    EXPECT_NE(pixels, map(R"("buffer": "cube", "im2col": {"lower_corner": [-1], "upper_corner": [0], )"
                          R"("channels_per_pixel": 16, "pixels_per_column": 8})"));
    for (const char* other :
         {R"("buffer": "a", "box": [64,32], "swizzle": "none")",
          R"("buffer": "a", "box": [64,16], "swizzle": "128B")",
          R"("buffer": "a", "box": [64,32], "swizzle": "128B_atom_32B")",
          R"("buffer": "a", "box": [64,32], "swizzle": "128B", "fill": "nan")",
          R"("buffer": "a", "box": [64,32], "swizzle": "128B", "l2": "256B")",
          R"("buffer": "a", "box": [64,32], "swizzle": "128B", "type": "f16")",
          R"("buffer": "a", "box": [64,32], "swizzle": "128B", "element_strides": [1,2])",
          R"("buffer": "a", "box": [64,32], "swizzle": "128B", "offset": 256, "dims": [128,63])"})
        EXPECT_NE(map(other), whole) << other;
}

// ------------------------------------------------------------------------------------------------- mistakes

struct Mistake {
    const char* json;
    const char* place;  ///< line and column
    const char* message;
};

void expect_mistakes(std::span<const Mistake> rows, const char* ptx = "affine.ptx") {
    for (const auto& [json, place, text] : rows) {
        const Result result = launch(json, ptx);
        EXPECT_EQ(result.status, 1) << json;
        EXPECT_THAT(result.err,
                    AllOf(StartsWith("launch.json:" + std::string(place) + ": error: "), HasSubstr(text)))
            << json;
        EXPECT_EQ(result.out, "");
    }
}

TEST_F(Cli, WhatIsNotJsonIsAnError) {
    const Mistake rows[] = {
        {"{", "1:2", "not JSON"},
        {"{\n  \"grid\": [1,\n  }", "3:3", "not JSON"},
        {"{\"grid\": [1] \"block\": [1]}", "1:14", "unexpected string literal; expected '}'"},
        {"{'grid': [1]}", "1:2", "not JSON"},
        {"{\"grid\": [01]}", "1:12", "not JSON"},
        {"{\"grid\": [1]} // so", "1:15", "not JSON"},
        {"{\"entry\": \"a", "1:13", "not JSON"},
        {"{\"entry\": \"\xFF\"}", "1:12", "not JSON"},
        {"{\"entry\": \"a\\q\"}", "1:14", "not JSON"},
        {"{\"smem\": 1,\n\"smem\": 2}", "2:1", "\"smem\" stands twice"},
        {"[1]", "1:1", "a launch file is an object, not an array"},
        {"7", "1:1", "a launch file is an object, not a number"}};
    expect_mistakes(rows);
    EXPECT_THAT(launch("").err, StartsWith("launch.json: error: not JSON"));
    const Result deep = launch(std::string(100000, '['));
    EXPECT_EQ(deep.status, 1);
    EXPECT_THAT(deep.err, StartsWith("launch.json:1:65: error: more than 64 brackets deep"));
}

TEST_F(Cli, MistakesInTheShapeOfALaunchFile) {
    const Mistake rows[] = {
        {R"({"gird": [1]})", "1:2",
         R"(unknown key "gird"; "a launch file" has entry, grid, block, cluster, smem, cooperative, buffers, args)"},
        {R"({"entry": 5})", "1:11", R"("entry" is a string, not a number)"},
        {R"({"grid": 8})", "1:10", R"("grid" is an array, not a number)"},
        {R"({"grid": []})", "1:10", R"("grid" has 0 numbers; it has one to three)"},
        {R"({"grid": [1,2,3,4]})", "1:10", R"("grid" has 4 numbers)"},
        {R"({"grid": [1,0]})", "1:13", R"("grid" is a whole number from 1 to 4294967295, not 0)"},
        {R"({"block": [-1]})", "1:12", "not -1"},
        {R"({"block": [1.0]})", "1:12", "not 1.0"},
        {R"({"block": [4294967296]})", "1:12", "not 4294967296"},
        {R"({"block": ["32"]})", "1:12", "not a string"},
        {R"({"cluster": null})", "1:13", R"("cluster" is an array, not null)"},
        {R"({"smem": -1})", "1:10", R"("smem" is a whole number from 0 to 4294967295, not -1)"},
        {R"({"smem": 99999999999999999999999})", "1:10", "not 99999999999999999999999"},
        {R"({"cooperative": 1})", "1:17", R"("cooperative" is true or false, not a number)"},
        {R"({"buffers": []})", "1:13", R"("buffers" is an object, not an array)"},
        {R"({"args": {}})", "1:10", R"("args" is an array, not an object)"}};
    expect_mistakes(rows);
}

TEST_F(Cli, MistakesInTheBuffersOfALaunchFile) {
    write_file("bad.npy", "no array");
    const Mistake rows[] = {
        {R"({"buffers": {"a": "a.npy"}})", "1:19", R"("a" is an object, not a string)"},
        {R"({"buffers": {"a": {"input": "a.npy"}}})", "1:20",
         R"(unknown key "input"; "a" has in, out, type, shape)"},
        {R"({"buffers": {"a": {}}})", "1:19", R"("a" has no "in", so it needs "type" and "shape")"},
        {R"({"buffers": {"a": {"out": "c.npy", "type": "f32"}}})", "1:19", R"(it needs "type" and "shape")"},
        {R"({"buffers": {"a": {"out": 5, "type": "f32", "shape": [4]}}})", "1:27",
         R"("out" is a string, not a number)"},
        {R"({"buffers": {"a": {"type": "float", "shape": [4]}}})", "1:28", R"("type" is one of u8 u16)"},
        {R"({"buffers": {"a": {"type": "f32", "shape": 4}}})", "1:44",
         R"("shape" is an array, not a number)"},
        {R"({"buffers": {"a": {"type": "f32", "shape": [-4]}}})", "1:45", "not -4"},
        {R"({"buffers": {"a": {"type": "f64", "shape": [4294967296, 4294967296]}}})", "1:44", "too large"},
        {"{\"buffers\": {\n \"a\": {\"in\": \"missing.npy\"}}}", "2:14", "cannot open missing.npy"},
        {R"({"buffers": {"a": {"in": "bad.npy"}}})", "1:26", "bad.npy: not a usable NumPy file"},
        {R"({"buffers": {"a": {"in": "."}}})", "1:26", "."},
        {R"({"buffers": {"a": {"in": "x.npy", "type": "u32"}}})", "1:43",
         "x.npy has elements of <f4; arrays of u32 have <u4"},
        {R"({"buffers": {"a": {"in": "x.npy", "type": "bf16"}}})", "1:43", "arrays of bf16 have <u2"},
        {R"({"buffers": {"a": {"in": "x.npy", "shape": [2,2]}}})", "1:44",
         "x.npy has the shape [4], not [2, 2]"}};
    expect_mistakes(rows);
}

TEST_F(Cli, MistakesInTheArgumentsOfALaunchFile) {
    const Mistake rows[] = {
        {R"({"args": [5]})", "1:11",
         R"(an argument is an object of its kind and value, such as {"u32": 64})"},
        {R"({"args": [{}]})", "1:11", "an argument is an object"},
        {R"({"args": [{"int": 5}]})", "1:12",
         R"(unknown kind of argument "int"; kinds are buffer, tensormap, bytes, u8)"},
        {R"({"args": [{"u32": 5, "u64": 6}]})", "1:22", R"(an argument of kind "u32" has no other key)"},
        {R"({"args": [{"u32": 1.5}]})", "1:19", "'1.5' is not an integer for u32"},
        {R"({"args": [{"u32": -1}]})", "1:19", "out of range of u32"},
        {R"({"args": [{"u8": 256}]})", "1:18", "256 is out of range of u8: 0 to 255"},
        {R"({"args": [{"u32": "five"}]})", "1:19", "'five' is not an integer"},
        {R"({"args": [{"f32": true}]})", "1:19",
         R"("f32" is a number or a string with one, not true or false)"},
        {R"({"args": [{"f32": 1e99}]})", "1:19", "out of range of f32"},
        {R"({"args": [{"f32": {}}]})", "1:19", "not an object"},
        {R"({"args": [{"f32": [1, "x"]}]})", "1:23", "'x' is not a number for f32"},
        {R"({"args": [{"f32": [[1, 2], [3]]}]})", "1:28",
         R"(this list of "f32" has 1 elements, the first one 2)"},
        {R"({"args": [{"f32": [[1, 2], 3]}]})", "1:28", R"("f32" has a number here and a list before)"},
        {R"({"args": [{"f32": [1, [2]]}]})", "1:23", R"("f32" has a list here and a number before)"},
        {R"({"args": [{"bytes": "0g"}]})", "1:21", "two hexadecimal digits each"},
        {R"({"args": [{"bytes": "123"}]})", "1:21", "two hexadecimal digits each"},
        {R"({"args": [{"bytes": 12}]})", "1:21", "a string of hexadecimal digits, not a number"},
        {R"({"args": [{"buffer": "a"}]})", "1:22", R"(there is no buffer "a"; "buffers" has none)"},
        {R"({"buffers": {"x": {"in": "x.npy"}}, "args": [{"buffer": "a"}]})", "1:57",
         R"(there is no buffer "a"; there are x)"},
        {R"({"buffers": {"x": {"in": "x.npy"}}, "args": [{"buffer": 0}]})", "1:57",
         R"("buffer" is a string, not a number)"},
        {R"({"buffers": {"x": {"in": "x.npy"}}, "args": [{"buffer": "x", "offset": 17}]})", "1:72",
         R"("offset" is a whole number from 0 to 16, not 17)"},
        {R"({"buffers": {"x": {"in": "x.npy"}}, "args": [{"buffer": "x", "at": 17}]})", "1:62",
         R"(unknown key "at")"}};
    expect_mistakes(rows);
}

TEST_F(Cli, MistakesInTheStructsOfALaunchFile) {
    const Mistake rows[] = {
        {R"({"args": [{"struct": {"u32": 1}}]})", "1:22", R"("struct" is an array, not an object)"},
        {R"({"args": [{"struct": [5]}]})", "1:23",
         R"(a field is an object of its kind and value, such as {"u32": 64})"},
        {R"({"args": [{"struct": [{}]}]})", "1:23", "a field is an object"},
        {R"({"args": [{"struct": [{"int": 5}]}]})", "1:24",
         R"(unknown kind of field "int"; kinds are buffer, tensormap, bytes, u8)"},
        {R"({"args": [{"struct": [{"align": 4, "offset": 5}]}]})", "1:24",
         R"(unknown kind of field "align")"},
        {R"({"args": [{"struct": [{"u32": 5, "at": 8}]}]})", "1:34",
         R"(unknown key "at"; a field of kind "u32" has also offset, align)"},
        {R"({"args": [{"struct": [{"u32": 5, "u32": 8}]}]})", "1:34", R"("u32" stands twice)"},
        {R"({"args": [{"struct": [{"u32": 5}, {"u64": 6, "offset": 3}]}]})", "1:56",
         R"("offset" is a whole number from 4 to 16777216, not 3)"},
        {R"({"args": [{"struct": [{"u32": 5}, {"offset": 3}]}]})", "1:46", "not 3"},
        {R"({"args": [{"struct": [{"offset": -1}]}]})", "1:34", "not -1"},
        {R"({"args": [{"struct": [{"pad": 99999999999999999999}]}]})", "1:31",
         R"("pad" is a whole number from 0 to 16777216)"},
        {R"({"args": [{"struct": [{"pad": 16777216}, {"pad": 1}]}]})", "1:42", "larger than the 16 MiB"},
        {R"({"args": [{"struct": [{"align": 3}]}]})", "1:33", R"("align" is a power of two, not 3)"},
        {R"({"args": [{"struct": [{"align": 0}]}]})", "1:33", "from 1 to"},
        {R"({"args": [{"struct": [{"u32": 5}], "size": 3}]})", "1:44",
         R"("size" is a whole number from 4 to)"},
        {R"({"args": [{"struct": [{"u32": 5}], "repeat": 3}]})", "1:36",
         R"(unknown key "repeat"; an argument of kind "struct" has also size)"},
        {R"({"args": [{"array": [{"u32": 5}, {"u16": 5}]}]})", "1:34",
         "this element has 2 bytes, the first one 4; elements of several sizes are a struct"},
        {R"({"args": [{"array": [{"u32": 5, "offset": 4}]}]})", "1:33",
         R"(an element of kind "u32" has no other key)"},
        {R"({"args": [{"array": [{"u32": 5}], "repeat": 0}]})", "1:45", "from 1 to"},
        {R"({"args": [{"array": [{"u32": 5}], "repeat": 16777216}]})", "1:45", "larger than the 16 MiB"},
        {R"({"args": [{"array": [{"array": [{"u8": 5}], "repeat": 65536}], "repeat": 65536}]})", "1:74",
         "larger than the 16 MiB"},
        {R"({"buffers": {"x": {"in": "x.npy"}}, "args": [{"buffer": "x", "stride": 4}]})", "1:62",
         R"(a "stride" needs "count")"},
        {R"({"buffers": {"x": {"in": "x.npy"}}, "args": [{"buffer": "x", "count": 0}]})", "1:71",
         R"("count" is a whole number from 1 to 2097152, not 0)"},
        {R"({"buffers": {"x": {"in": "x.npy"}}, "args": [{"buffer": "x", "count": 5, "stride": 8}]})", "1:84",
         R"("offset" is a whole number from 0 to 16, not 24: buffer "x" has 16 bytes)"},
        {R"({"buffers": {"x": {"in": "x.npy"}}, "args": [{"buffer": "x", "offset": 4, "count": 2, "stride": 1099511627776}]})",
         "1:97", "not 1099511627780"},
        {R"({"buffers": {"p": {"array": [{"buffer": "q"}]}, "q": {"array": [{"buffer": "p", "offset": 9}]}}})",
         "1:91", R"(not 9: buffer "p" has 8 bytes)"}};
    expect_mistakes(rows);
    EXPECT_THAT(launch(R"({"args": [{"struct": )" + std::string(70, '[')).err,
                HasSubstr("more than 64 brackets deep"));
}

TEST_F(Cli, MistakesInTheContentsOfBuffers) {
    const auto row = [](const std::string& buffer) { return R"({"buffers": {"a": {)" + buffer + "}}}"; };
    const std::tuple<std::string, const char*, const char*> rows[] = {
        {row(R"("in": "x.npy", "fill": 0)"), "1:35",
         R"("a" begins as "in" says: it has one of in, fill, random, values, struct, array)"},
        {row(R"("fill": 0)"), "1:19", R"("a" has no "in", so it needs "type" and "shape")"},
        {row(R"("fill": [0], "type": "u8", "shape": [1])"), "1:28",
         R"("fill" is a number or a string with one, not an array)"},
        {row(R"("fill": 256, "type": "u8", "shape": [1])"), "1:28", "256 is out of range of u8: 0 to 255"},
        {row(R"("fill": "iotas", "type": "u8", "shape": [1])"), "1:28", "'iotas' is not an integer for u8"},
        {row(R"("fill": 1e39, "type": "f32", "shape": [1])"), "1:28", "out of range of f32"},
        {row(R"("random": "gauss", "type": "f32", "shape": [1])"), "1:30",
         R"("random" is one of uniform, normal, not "gauss")"},
        {row(R"("random": "normal", "type": "u8", "shape": [1])"), "1:30",
         R"("normal" is of floating-point types; of u8 there is "uniform")"},
        {row(R"("random": "normal", "range": [0, 1], "type": "f32", "shape": [1])"), "1:40",
         R"("normal" numbers have no "range")"},
        {row(R"("random": "uniform", "range": [0], "type": "f32", "shape": [1])"), "1:50",
         R"("range" has two numbers)"},
        {row(R"("random": "uniform", "range": [1, 0], "type": "f32", "shape": [1])"), "1:50",
         "to one that is not less"},
        {row(R"("random": "uniform", "range": [1, -1], "type": "s8", "shape": [1])"), "1:50",
         "to one that is not less"},
        {row(R"("random": "uniform", "range": [0, 300], "type": "u8", "shape": [1])"), "1:54",
         "300 is out of range of u8"},
        {row(R"("random": "uniform", "range": [0, 1e999], "type": "f64", "shape": [1])"), "1:58",
         "not JSON: number overflow parsing '1e999'"},
        {row(R"("random": "uniform", "seed": -1, "type": "u8", "shape": [1])"), "1:49", "not -1"},
        {row(R"("in": "x.npy", "seed": 1)"), "1:35", R"("seed" stands beside "random")"},
        {row(R"("in": "x.npy", "repeat": 1)"), "1:35", R"("repeat" stands beside "array")"},
        {row(R"("values": [1])"), "1:19", R"("a" has "values", so it needs "type")"},
        {row(R"("values": 1, "type": "u8")"), "1:30", R"("values" is an array, not a number)"},
        {row(R"("values": [[1], [2, 3]], "type": "u8")"), "1:36",
         R"(this list of "values" has 2 elements, the first one 1)"},
        {row(R"("values": [1, 2], "type": "u8", "shape": [3])"), "1:61",
         "the list has the shape [2], not [3]"},
        {row(R"("struct": [{"u8": 1}, {"u8": 2}], "type": "u32")"), "1:62",
         "2 bytes are no whole number of u32"},
        {row(R"("array": [{"u32": 1}], "type": "u32", "shape": [2])"), "1:67",
         "this shape of u32 has 8 bytes, the buffer 4"},
        {row(R"("symbol": 5)"), "1:30", R"("symbol" is a string, not a number)"},
        {row(R"("symbol": "t", "out": "t.npy")"), "1:35", R"("out" of a variable needs "type" and "shape")"},
        {row(R"("symbol": "t", "type": "u8", "expect": 0)"), "1:49",
         R"("expect" of a variable needs "type" and "shape")"},
        {row(R"("type": "u8", "shape": [1], "expect": null)"), "1:58",
         R"("expect" is the name of a file, a number, a list of numbers, or an object with "fill" or "random", not null)"},
        {row(R"("type": "u8", "shape": [1], "expect": 256)"), "1:58", "256 is out of range of u8"},
        {row(R"("type": "u8", "shape": [1], "expect": [1, 2])"), "1:58",
         "the list has the shape [2]; the buffer has [1]"},
        {row(R"("type": "u8", "shape": [1], "expect": {})"), "1:58",
         R"("expect" has "fill" or "random" here)"},
        {row(R"("type": "u8", "shape": [1], "expect": {"fill": 1, "seed": 2})"), "1:70",
         R"("seed" stands beside "random")"},
        {row(R"("type": "u8", "shape": [1], "expect": {"values": [1]})"), "1:59",
         R"(unknown key "values"; "expect" has fill, random, seed, range)"}};
    for (const auto& [json, place, text] : rows)
        expect_mistakes(std::array{Mistake{json.c_str(), place, text}});
}

TEST_F(Cli, MistakesInTheLaunchesOfALaunchFile) {
    const Mistake rows[] = {
        {R"({"launches": {}})", "1:14", R"("launches" is an array, not an object)"},
        {R"({"launches": []})", "1:14", R"("launches" has at least one launch)"},
        {R"({"launches": [5]})", "1:15", R"("a launch" is an object, not a number)"},
        {R"({"grid": [1], "launches": [{}]})", "1:2",
         R"("grid" stands in each of the "launches", where there are some)"},
        {R"({"launches": [{"buffers": {}}]})", "1:16",
         R"(unknown key "buffers"; "a launch" has entry, grid)"},
        {R"({"launches": [{"repeat": 0}]})", "1:26",
         R"("repeat" is a whole number from 1 to 4294967295, not 0)"},
        {R"({"launches": [{"after": []}]})", "1:25", R"("after" is an object, not an array)"},
        {R"({"launches": [{"after": {"a": {}}}]})", "1:26", R"(there is no buffer "a"; "buffers" has none)"},
        {R"({"buffers": {"x": {"in": "x.npy"}}, "launches": [{"after": {"x": {}}}]})", "1:66",
         R"("x" says "out", "expect" or both)"},
        {R"({"buffers": {"x": {"in": "x.npy"}}, "launches": [{"after": {"x": {"in": "y.npy"}}}]})", "1:67",
         R"(unknown key "in"; "x" has out, expect, tolerance)"},
        {R"({"buffers": {"x": {"in": "x.npy", "out": "y.npy"}}, "launches": [{"after": {"x": {"out": "./z/../y.npy"}}}]})",
         "1:42", "another output goes to y.npy already"},
        {R"({"buffers": {"x": {"in": "x.npy", "out": ""}}})", "1:42", "the name of a file is empty"},
        {R"({"buffers": {"x": {"symbol": "x"}}, "launches": [{"after": {"x": {"expect": 5}}}]})", "1:66",
         R"(buffer "x" needs "type" and "shape" to be written or expected)"},
        {R"({"after": {}})", "1:2", R"(unknown key "after")"}};
    expect_mistakes(rows);
    EXPECT_THAT(launch(R"({"launches": [{"entry": "affine"}, {"entry": "afine"}]})").err,
                HasSubstr("no such entry: afine; the module has affine, touch"));
    EXPECT_THAT(
        launch(
            R"({"launches": [{"entry": "touch", "args": [{"u64": 0}, {"u64": 0}]}, {"entry": "affine", "args": [{"u32": 0}]}]})")
            .err,
        HasSubstr("note: this is launch 1 of 2"));
}

TEST_F(Cli, MistakesInTheTensorMapsOfALaunchFile) {
    write_file("a.npy", array("<f2", "(64, 64)", std::string(64 * 64 * 2, 'x')));
    const auto row = [](const std::string& map) {
        return "{\"buffers\": {\"a\": {\"in\": \"a.npy\"}},\n\"args\": [{\"u32\": 1},\n{\"tensormap\": {" +
               map + "}}]}";
    };
    const std::tuple<std::string, const char*, const char*> rows[] = {
        {row(R"("box": [64,8])"), "3:15", R"("tensormap" needs "buffer")"},
        {row(R"("buffer": "b", "box": [64,8])"), "3:26", R"(there is no buffer "b")"},
        {row(R"("buffer": "a")"), "3:15", R"("tensormap" needs "box")"},
        {row(R"("buffer": "a", "box": 64)"), "3:38", R"("box" is an array, not a number)"},
        {row(R"("buffer": "a", "box": [64,8], "im2col": {})"), "3:56",
         R"("tensormap" has "box" or "im2col", not both)"},
        {row(R"("buffer": "a", "im2col": {"lower_corner": [0]})"), "3:41", R"(it needs "upper_corner")"},
        {row(R"("buffer": "a", "im2col": {"lower_corner": [0.5]})"), "3:59",
         R"("lower_corner" has whole numbers from -32767 to 32767)"},
        {row(R"("buffer": "a", "box": [64,8], "swizle": "128B")"), "3:46",
         R"(unknown key "swizle"; "tensormap" has buffer)"},
        {row(R"("buffer": "a", "box": [64,8], "swizzle": "256B")"), "3:57",
         R"("swizzle" is one of none, 32B, 64B, 128B, 128B_atom_32B, 128B_atom_32B_flip_8B, 128B_atom_64B, not "256B")"},
        {row(R"("buffer": "a", "box": [64,8], "interleave": 16)"), "3:60",
         R"("interleave" is one of none, 16B, 32B, not a number)"},
        {row(R"("buffer": "a", "box": [64,8], "l2": "1KB")"), "3:52", R"("l2" is one of)"},
        {row(R"("buffer": "a", "box": [64,8], "fill": "one")"), "3:54",
         R"("fill" is one of zero, nan, not "one")"},
        {row(R"("buffer": "a", "box": [64,8], "type": "half")"), "3:54", R"("type" is one of u8, u16)"},
        {row(R"("buffer": "a", "box": [64,8], "type": "f32")"), "3:15",
         R"(elements of f32 have 32 bits, those of buffer "a" 16: "dims" must be given)"},
        {row(R"("buffer": "a", "box": [64,8], "dims": [64,65])"), "3:15",
         R"(a tensor of [64, 65] with strides of [128] bytes is larger than the 8192 bytes of buffer "a")"},
        {row(R"("buffer": "a", "box": [64,8], "offset": 16)"), "3:15", "is larger than the 8176 bytes"},
        {row(R"("buffer": "a", "box": [64,8], "strides": [1099511627776])"), "3:15", "is larger than"},
        {row(R"("buffer": "a", "box": [64,8], "offset": 8192)"), "3:15", "is larger than the 0 bytes"},
        {row(R"("buffer": "a", "box": [64,8], "offset": 8193)"), "3:56",
         R"("offset" is a whole number from 0 to 8192)"}};
    for (const auto& [json, place, text] : rows)
        expect_mistakes(std::array{Mistake{json.c_str(), place, text}});

    // Rules of the encoding: found when the buffers exist, shown at the argument.
    write_file(
        "map.ptx",
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u32 n, .param .align 64 "
        ".b8 m[128])\n{\nret;\n}\n");
    const std::pair<std::string, const char*> rules[] = {
        {row(R"("buffer": "a", "box": [64,257])"), "box[1] is 257; it is 1 to 256"},
        {row(R"("buffer": "a", "box": [64])"), "box has 1 numbers; it has 2"},
        {row(R"("buffer": "a", "box": [12,8])"),
         "box[0] is 12 elements of f16, 24 bytes; they are a multiple of 16"},
        {row(R"("buffer": "a", "box": [64,8], "swizzle": "64B")"), "with the swizzle 64B at most 64"},
        {row(R"("buffer": "a", "box": [64,8], "dims": [64,8], "offset": 8)"), "is not a multiple of 16"},
        {row(R"("buffer": "a", "box": [64,8], "dims": [64,0])"), "dims[1] is 0"},
        {row(R"("buffer": "a", "box": [64,8], "dims": [64,8], "strides": [])"),
         "strides has 0 numbers; it has 1"},
        {row(R"("buffer": "a", "box": [64,8], "type": "u16", "fill": "nan")"),
         "the fill nan is for floating-point types, not for u16"}};
    for (const auto& [json, text] : rules)
        expect_mistakes(std::array{Mistake{json.c_str(), "3:2", text}}, "map.ptx");
    std::string older = read_file("map.ptx");
    older.replace(older.find("sm_90"), 5, "sm_80");
    write_file("older.ptx", older);
    EXPECT_THAT(launch(row(R"("buffer": "a", "box": [64,8])"), "older.ptx", {"--target", "sm_80"}).err,
                HasSubstr("launch.json:3:2: error: the tensor map is not possible: tensor maps need sm_90"));
}

TEST_F(Cli, ArgumentsThatDoNotGoWithTheirParametersAreShownInTheLaunchFile) {
    const std::string start =
        "{\"entry\": \"affine\", \"block\": [4], \"buffers\": {\"x\": {\"in\": \"x.npy\"}},\n\"args\": "
        "[{\"buffer\": \"x\"}, {\"buffer\": \"x\"},\n";
    EXPECT_THAT(launch(start + "{\"u32\": 1}, {\"u32\": 4}]}").err,
                AllOf(StartsWith("launch.json:3:2: error: "),
                      HasSubstr("argument 3 (u32=1) for the parameter .f32 bias")));
    EXPECT_THAT(launch(start + "{\"f32\": 1}, {\"u16\": 4}]}").err,
                AllOf(StartsWith("launch.json:3:14: error: "),
                      HasSubstr("argument 3 of affine has 2 bytes, its parameter u32 n has 4")));
    const Result few = launch(start + "{\"f32\": 1}]}");
    EXPECT_EQ(few.status, 1);
    EXPECT_THAT(few.err, HasSubstr("takes 4, got 3"));
    EXPECT_THAT(launch("{\"entry\": \"afine\"}").err,
                HasSubstr("no such entry: afine; the module has affine, touch"));
    EXPECT_THAT(launch("{}").err, HasSubstr("name one of them: affine, touch"));
}

TEST_F(Cli, ErrorsOfExecutionAreShownInThePtx) {
    const Result result = launch(R"({"entry": "touch", "args": [{"u64": 268435456}, {"u64": 0}]})");
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, StartsWith("affine.ptx:47:2: error: address out of bounds: "));
}

TEST_F(Cli, ALaunchFileTakesThePlaceOfFlags) {
    for (const auto& more : std::vector<std::vector<std::string>>{{"--entry", "affine"},
                                                                  {"--grid", "2"},
                                                                  {"--block", "4"},
                                                                  {"--cluster", "2"},
                                                                  {"--cooperative"},
                                                                  {"--smem", "16"},
                                                                  {"--arg", "u32=4"}}) {
        const Result result = launch("{}", "affine.ptx", more);
        EXPECT_EQ(result.status, 2) << more[0];
        EXPECT_THAT(result.err, HasSubstr(more[0]));
    }
    const Result missing =
        ptxgraft({"run", "affine.ptx", "--launch", "nowhere.json", "--device", "emulator"});
    EXPECT_EQ(missing.status, 1);
    EXPECT_THAT(missing.err, HasSubstr("cannot open nowhere.json"));
}

// ------------------------------------------------------------------------------------------------- budget,
// clusters

TEST_F(Cli, AKernelWithoutEndEndsWithItsBudget) {
    write_file("loop.ptx",
               ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry loop()\n{\n$again:\nbra "
               "$again;\n}\n");
    const Result result = ptxgraft({"run", "loop.ptx", "--device", "emulator", "--budget", "100000"});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, AllOf(StartsWith("loop.ptx:"), HasSubstr("the instruction budget is spent")));
    write_file("up.ptx", count_up);
    const std::string json =
        R"({"block": [2], "buffers": {"h": {"type": "u32", "shape": [2]}}, "args": [{"buffer": "h"}]})";
    // its buffer begins as anything
    EXPECT_EQ(launch(json, "up.ptx", {"--budget", "1000", "--fast"}).status, 0);
    EXPECT_EQ(launch(json, "up.ptx", {"--budget", "3"}).status, 1);
    EXPECT_EQ(launch(json, "up.ptx", {"--budget", "many"}).status, 2);
    for (const char* const budget : {"-1", "99999999999999999999"})
        EXPECT_THAT(launch(json, "up.ptx", {"--budget", budget}).err,
                    StartsWith(std::string("error: --budget: ") + budget +
                               " is no number of instructions: digits, at most 19\n"));
}

constexpr const char* endless =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry loop()\n{\n$again:\nbra $again;\n}\n";

TEST_F(Cli, AKernelWithoutEndEndsWithItsTime) {
    write_file("loop.ptx", endless);
    const Result result =
        ptxgraft({"run", "loop.ptx", "--device", "emulator", "--budget", "0", "--time-limit", "0.2"});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, AllOf(StartsWith("loop.ptx:7:1: error: the time limit is spent: 200 ms, in loop, "
                                             "block (0, 0, 0), thread (0, 0, 0)\nbra $again;")));
    for (const char* const seconds : {"-1", "much", "1s", "5000000", ""})
        EXPECT_THAT(ptxgraft({"run", "loop.ptx", "--device", "emulator", "--time-limit", seconds}).err,
                    HasSubstr("--time-limit: "))
            << seconds;
}

TEST_F(Cli, CtrlCEndsALaunch) {
    write_file("loop.ptx", endless);
    const Result result = interrupted({"run", "loop.ptx", "--device", "emulator", "--budget", "0"},
                                      std::chrono::milliseconds(700));
    EXPECT_EQ(result.status, 130);
    EXPECT_THAT(
        result.err,
        StartsWith(
            "loop.ptx:7:1: error: the launch was stopped: in loop, block (0, 0, 0), thread (0, 0, 0)\n"));
}

TEST_F(Cli, SigtermEndsALaunchToo) {
    write_file("loop.ptx", endless);
    const pid_t child = begin({"run", "loop.ptx", "--device", "emulator", "--budget", "0"});
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    kill(child, SIGTERM);
    const Result result = result_of(child);
    EXPECT_EQ(result.status, 143);
    EXPECT_THAT(result.err, HasSubstr("the launch was stopped"));
}

TEST_F(Cli, EmptyClustersAreErrors) {
    write_file(
        "none.ptx",
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry none() .reqnctapercluster 2, 0, "
        "1\n{\nret;\n}\n");
    const Result result = ptxgraft({"run", "none.ptx", "--device", "emulator", "--grid", "2"});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, HasSubstr("none requires a cluster of 2 x 0 x 1, which is empty"));
}

TEST_F(Cli, ClustersThatCannotBeAreErrors) {
    write_file("pair.ptx",
               ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry pair() .reqnctapercluster "
               "2\n{\nret;\n}\n");
    write_file("any.ptx",
               ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry any()\n{\nret;\n}\n");
    EXPECT_THAT(launch(R"({"grid": [4], "cluster": [4]})", "pair.ptx").err,
                HasSubstr("cluster of 4 x 1 x 1; pair requires 2 x 1 x 1"));
    EXPECT_THAT(launch(R"({"grid": [3]})", "pair.ptx").err,
                HasSubstr("grid of 3 x 1 x 1; it is a multiple of the cluster of 2 x 1 x 1"));
    const auto flags = [](const char* cluster) {
        return ptxgraft(
            {"run", "any.ptx", "--device", "emulator", "--grid", "6", "--cluster", cluster, "--cooperative"});
    };
    EXPECT_EQ(flags("1").status, 0);
    EXPECT_THAT(flags("4").err, HasSubstr("a multiple of the cluster of 4 x 1 x 1"));
    EXPECT_EQ(flags("0").status, 2);
    EXPECT_THAT(flags("0").err, HasSubstr("--cluster"));
}

}  // namespace
}  // namespace ptxgraft::test
