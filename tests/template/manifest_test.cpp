// Manifests: what they may say, every mistake at its place, and from dimensions to a launch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "ptxgraft/template_json.hpp"
#include "support/files.hpp"

namespace ptxgraft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A folder of one family.
class Family {
  public:
    explicit Family(const std::string& manifest) { write("manifest.json", manifest); }
    void write(const std::string& name, const std::string& text) const {
        test::write_file(folder_.path / "rows" / name, text);
    }
    [[nodiscard]] Expected<Template> find(std::string_view name) const {
        return Template::find(name, folder_.str());
    }

  private:
    test::TemporaryFolder folder_;
};

const std::string good = R"json({"family": "rows", "skeletons": [{
  "name": "rows/scale", "source": "scale.cu", "entry": "scale", "meaning": "y = x by rows",
  "target": "sm_80",
  "dimensions": {
    "rows": {"meaning": "of x"},
    "columns": {"meaning": "of x", "multiple_of": "16 / sizeof(type)", "why": "loads of 16 bytes"},
    "batch": {"meaning": "copies", "default": 1, "maximum": 8}},
  "tunables": {
    "type": {"values": ["f32", "bf16", "e4m3"], "default": "f32", "meaning": "of x"},
    "threads": {"values": [64, 128], "default": 128, "meaning": "of a block"}},
  "names": {"vectors": "columns * sizeof(type) / 16"},
  "requires": [{"that": "type != bf16 || threads == 64", "why": "bf16 has few vectors"}],
  "macros": {"blocks": "shared_bytes_per_block / 1024 / threads"},
  "arguments": [
    {"name": "x", "type": "type", "shape": ["batch", "rows", "columns"], "access": "in", "range": [0, 1],
     "map": {"box": ["16 / sizeof(type)", 8, 1], "swizzle": "none", "l2": "128B"}},
    {"name": "weight", "type": "f32", "shape": ["columns"], "access": "in", "nullable": true},
    {"name": "y", "type": "f32", "shape": ["batch", "rows", "columns"], "access": "out"},
    {"name": "done", "type": "u32", "shape": [1], "access": "scratch", "fill": 0},
    {"name": "rows", "type": "u32"},
    {"name": "last", "type": "u64", "value": "columns - 1"},
    {"name": "eps", "type": "f32", "value": 1e-6, "above": 0}],
  "sites": {"epilogue": {"signature": "mod f32 y", "default": "y", "meaning": "each", "copies": "threads / 32"}},
  "launch": {"grid": ["(vectors + threads - 1) / threads", "rows", "batch < multiprocessors ? batch : multiprocessors"],
             "block": ["threads"], "shared_bytes": "threads * 4"},
  "reference": {"source": "reference.cu", "entry": "scale_reference", "grid": ["rows"], "block": [32]},
  "output": "y", "tolerance": {"relative": 1e-3, "absolute": 1e-6, "per": "columns"}}]})json";

TEST(Manifest, SaysWhatALaunchIs) {
    const Family family(good);
    const auto scale = family.find("rows/scale");
    ASSERT_TRUE(scale) << describe(scale.error());
    const auto launch =
        scale->launch({{"rows", 5}, {"columns", 24}, {"batch", 3}}, {{"type", "bf16"}, {"threads", 64}}, 2);
    ASSERT_TRUE(launch) << describe(launch.error());
    EXPECT_EQ(launch->entry, "scale");
    EXPECT_THAT((std::array{launch->config.grid.x, launch->config.grid.y, launch->config.grid.z}),
                ElementsAre(1, 5, 2));
    EXPECT_EQ(launch->config.block.x, 64u);
    EXPECT_EQ(launch->config.shared_bytes, 256u);
    ASSERT_EQ(launch->tensors.size(), 4u);
    EXPECT_EQ(launch->tensors[0].type, "bf16");
    EXPECT_THAT(launch->tensors[0].shape, ElementsAre(3, 5, 24));
    EXPECT_EQ(launch->tensors[0].bytes, 3u * 5 * 24 * 2);
    EXPECT_EQ(launch->tensors[0].low, 0);
    EXPECT_TRUE(launch->tensors[1].nullable);
    EXPECT_TRUE(launch->tensors[3].zeroed);
    ASSERT_EQ(launch->parameters.size(), 7u);
    const auto& map = launch->parameters[0].map;
    ASSERT_TRUE(map);
    EXPECT_EQ(map->type, TensorType::bf16);
    EXPECT_THAT(map->dims, ElementsAre(24, 5, 3));
    EXPECT_THAT(map->strides, ElementsAre(48, 240));
    EXPECT_THAT(map->box, ElementsAre(8, 8, 1));
    EXPECT_EQ(map->l2, TensorL2Promotion::bytes128);
    EXPECT_THAT(launch->parameters[5].value, testing::SizeIs(8));
    EXPECT_EQ(launch->parameters[5].value[0], std::byte{23});
}

TEST(Manifest, MapsMayBeOfTheIm2colMode) {
    std::string text = good;
    const std::string box = R"json("box": ["16 / sizeof(type)", 8, 1])json";
    text.replace(text.find(box), box.size(), R"("im2col": {"lower_corner": ["1 - rows"],
        "upper_corner": ["rows - 3"], "channels_per_pixel": "columns", "pixels_per_column": 8})");
    const Family family(text);
    const auto launch = family.find("rows/scale")->launch({{"rows", 5}, {"columns", 24}});
    ASSERT_TRUE(launch) << describe(launch.error());
    const auto& map = launch->parameters[0].map;
    ASSERT_TRUE(map && map->im2col);
    EXPECT_THAT(map->box, testing::IsEmpty());
    EXPECT_THAT(map->im2col->lower_corner, ElementsAre(-4));
    EXPECT_THAT(map->im2col->upper_corner, ElementsAre(2));
    EXPECT_EQ(map->im2col->channels_per_pixel, 24u);
    EXPECT_EQ(map->im2col->pixels_per_column, 8u);
}

TEST(Manifest, ReferenceTakesPointersAndWritesDoubles) {
    const Family family(good);
    const auto launch = family.find("rows/scale")->reference_launch({{"rows", 5}, {"columns", 8}});
    ASSERT_TRUE(launch) << describe(launch.error());
    ASSERT_EQ(launch->tensors.size(), 3u);  // no scratch
    EXPECT_EQ(launch->tensors[2].type, "f64");
    ASSERT_EQ(launch->parameters.size(), 6u);
    EXPECT_FALSE(launch->parameters[0].map);
    EXPECT_EQ(launch->config.grid.x, 5u);
}

TEST(Manifest, TunablesAreCompletedAndChecked) {
    const Family family(good);
    const auto scale = family.find("rows/scale");
    const auto why = [&](const Choices& choices) { return message(scale->complete(choices).error()); };
    EXPECT_EQ(scale->complete({{"threads", 64}})->at("type").text, "f32");
    EXPECT_EQ(scale->combinations().size(), 5u);  // of 6: bf16 has one
    EXPECT_THAT(why({{"stages", 3}}), HasSubstr("rows/scale has no tunable stages; it has type, threads"));
    EXPECT_THAT(why({{"threads", 96}}), HasSubstr("threads is one of 64, 128, not 96"));
    EXPECT_THAT(why({{"type", "bf16"}}), HasSubstr("bf16 has few vectors"));
    EXPECT_EQ(*scale->copies("epilogue", {{"threads", 64}}), 2u);
    EXPECT_EQ(scale->copies("prologue", {}).error().code, Errc::site_unknown);
}

// What a block's shared memory has room for is the target's.
TEST(Manifest, RequirementsMayBeOfTheTarget) {
    std::string text = good;
    const std::string condition = "type != bf16 || threads == 64", why = "bf16 has few vectors";
    text.replace(text.find(condition), condition.size(), "threads * 1536 <= shared_bytes_per_block");
    text.replace(text.find(why), why.size(), "shared memory");
    const Family family(text);
    family.write("scale.cu", "extern \"C\" __global__ void scale(int* x) { *x = BLOCKS; }");
    const auto scale = family.find("rows/scale");
    ASSERT_TRUE(scale) << describe(scale.error());
    EXPECT_EQ(
        message(scale->complete({}).error()),
        "the tunables cannot be set so: shared memory (threads * 1536 <= shared_bytes_per_block, which is "
        "166912 for sm_80)");
    EXPECT_TRUE(scale->complete({}, "sm_90a"));
    EXPECT_TRUE(scale->complete({{"threads", 64}}, "sm_86"));
    EXPECT_EQ(scale->complete({}, "sm_75").error().code, Errc::target_differs);
    EXPECT_EQ(scale->combinations().size(), 3u);
    EXPECT_EQ(scale->combinations("sm_90a").size(), 6u);
    EXPECT_EQ(scale->combinations("sm_75").size(), 0u);
    EXPECT_TRUE(scale->launch({{"rows", 5}, {"columns", 8}}));  // whose target is not known
    EXPECT_EQ(scale->skeleton({}).error().code, Errc::choice_invalid);
    const auto skeleton = scale->skeleton({}, "sm_90a");
    ASSERT_TRUE(skeleton) << describe(skeleton.error());
    EXPECT_THAT(skeleton->ptx(), HasSubstr(", 1;"));  // 227 KiB of 128 threads
    EXPECT_THAT(scale->skeleton({{"threads", 64}}, "sm_90a")->ptx(), HasSubstr(", 3;"));
}

TEST(Manifest, SaysWhatItRequires) {
    const auto scale = Family(good).find("rows/scale");
    ASSERT_EQ(scale->requirements().size(), 1u);
    EXPECT_EQ(scale->requirements()[0].that, "type != bf16 || threads == 64");
    EXPECT_EQ(scale->requirements()[0].why, "bf16 has few vectors");
    EXPECT_THAT(scale->names(), ElementsAre(testing::Pair("vectors", "columns * sizeof(type) / 16")));
    EXPECT_THAT(
        json_text(*scale),
        HasSubstr(R"json("requires":[{"that":"type != bf16 || threads == 64","why":"bf16 has few)json"));
}

TEST(Manifest, DimensionsAreChecked) {
    const Family family(good);
    const auto scale = family.find("rows/scale");
    const auto why = [&](const Dimensions& dimensions) {
        return message(scale->launch(dimensions, {}).error());
    };
    EXPECT_THAT(why({{"rows", 5}}), HasSubstr("columns is missing: of x"));
    EXPECT_THAT(why({{"rows", 0}, {"columns", 4}}), HasSubstr("rows is 1 to 4294967295, not 0"));
    EXPECT_THAT(why({{"rows", 1}, {"columns", 6}}),
                HasSubstr("columns is a multiple of 4, not 6: loads of 16 bytes"));
    EXPECT_THAT(why({{"rows", 1}, {"columns", 4}, {"depth", 1}}),
                HasSubstr("rows/scale has no dimension depth; it has rows, columns, batch"));
    EXPECT_THAT(why({{"rows", 65535}, {"columns", 4294967292}}), HasSubstr("more than 2^46 bytes"));
    EXPECT_THAT(why({{"rows", 65536}, {"columns", 4}}), HasSubstr("they make a grid of 1 x 65536 x 1"));
    EXPECT_EQ(scale->tolerance({{"rows", 1}, {"columns", 8}})->absolute, 8e-6);
}

TEST(Manifest, NumbersCanBeSet) {
    const Family family(good);
    auto launch = *family.find("rows/scale")->launch({{"rows", 5}, {"columns", 8}});
    ASSERT_TRUE(launch.set("eps", 0.5));
    EXPECT_EQ(launch.parameters.back().value[3], std::byte{0x3F});
    for (const double value : {0.0, -1.0, std::nan("")})
        EXPECT_THAT(message(launch.set("eps", value).error()), HasSubstr("eps is above 0, not "));
    EXPECT_THAT(message(launch.set("eps", HUGE_VAL).error()), HasSubstr("eps is a finite number, not inf"));
    EXPECT_THAT(message(launch.set("rows", 2).error()), HasSubstr("rows is no floating-point number"));
    EXPECT_THAT(message(launch.set("beta", 2).error()), HasSubstr("no parameter beta"));
}

TEST(Manifest, NumbersHaveALeastValue) {
    std::string text = good;
    text.replace(text.find(R"("above": 0)"), 10, R"("minimum": 0)");
    const Family family(text);
    auto launch = *family.find("rows/scale")->launch({{"rows", 5}, {"columns", 8}});
    EXPECT_TRUE(launch.set("eps", 0));
    for (const double value : {-5.0, -HUGE_VAL, std::nan("")})
        EXPECT_THAT(message(launch.set("eps", value).error()), HasSubstr("eps is 0 or more, not "));
    EXPECT_THAT(message(launch.set("eps", HUGE_VAL).error()), HasSubstr("eps is a finite number, not inf"));
}

TEST(Manifest, ADeviceHasMultiprocessors) {
    const auto launch = Family(good).find("rows/scale")->launch({{"rows", 5}, {"columns", 8}}, {}, 0);
    EXPECT_THAT(message(launch.error()), HasSubstr("multiprocessors are 1 or more, not 0"));
}

TEST(Manifest, BuffersAreChecked) {
    const Family family(good);
    const auto launch = *family.find("rows/scale")->launch({{"rows", 5}, {"columns", 8}});
    const Device device = *Device::open("emulator");
    const Buffer x = *device.allocate(160), y = *device.allocate(160), done = *device.allocate(4),
                 small = *device.allocate(159);
    EXPECT_TRUE(launch.arguments({&x, nullptr, &y, &done}));
    EXPECT_THAT(message(launch.arguments({&x, nullptr, &y}).error()), HasSubstr("3 buffers for 4 tensors"));
    EXPECT_THAT(message(launch.arguments({&x, &x, nullptr, &done}).error()),
                HasSubstr("y is no null pointer"));
    EXPECT_THAT(message(launch.arguments({&x, &x, &small, &done}).error()),
                HasSubstr("y needs 160 bytes, its buffer has 159"));
}

TEST(Manifest, TemplatesAreFoundByName) {
    const Family family(good);
    EXPECT_THAT(message(family.find("rows/add").error()), HasSubstr("rows/add; there are rows/scale"));
    EXPECT_THAT(message(Template::find("x", "/nowhere").error()), HasSubstr("/nowhere"));
    const test::TemporaryFolder empty;
    EXPECT_THAT(message(Template::find("x", empty.str()).error()),
                HasSubstr("no such template: x; there are none in " + empty.str()));
    EXPECT_EQ(Template::all("/nowhere").error().code, Errc::file_not_found);
}

TEST(Manifest, AMemberIsLikeAnother) {
    std::string text = good;
    text.replace(text.rfind("]}"), 2,
                 R"(, {"name": "rows/shift", "like": "rows/scale", "meaning": "y = x + 1",
  "entry": "shift", "output": "y"}]})");
    const Family family(text);
    const auto shift = family.find("rows/shift");
    ASSERT_TRUE(shift) << describe(shift.error());
    EXPECT_EQ(shift->entry(), "shift");
    EXPECT_EQ(shift->meaning(), "y = x + 1");
    EXPECT_EQ(shift->tunables().size(), 2u);
    EXPECT_EQ(shift->launch({{"rows", 5}, {"columns", 8}})->tensors.size(), 4u);
    const std::string twice = std::string(text).replace(text.find(R"("rows/shift")"), 12, R"("rows/scale")");
    EXPECT_THAT(describe(Family(twice).find("rows/shift").error()),
                HasSubstr("two skeletons are named rows/scale"));
    text.replace(text.find(R"("like": "rows/scale")"), 20, R"("like": "rows/shift")");
    EXPECT_THAT(describe(Family(text).find("rows/shift").error()),
                HasSubstr("no skeleton before it is named rows/shift"));
}

// A family that cannot be read hides no other.
TEST(Manifest, OthersAreFoundBesideABrokenOne) {
    const Family family(good);
    family.write("../broken/manifest.json", "{");
    EXPECT_TRUE(family.find("rows/scale"));
    EXPECT_EQ(family.find("broken/one").error().code, Errc::manifest_invalid);
}

TEST(Manifest, TargetsAreChecked) {
    const Family family(good);
    family.write("scale.cu", "extern \"C\" __global__ void scale() {}");
    const auto scale = family.find("rows/scale");
    EXPECT_EQ(scale->skeleton({}, "sm_90a")->target(), "sm_90a");
    EXPECT_THAT(message(scale->skeleton({}, "sm_75").error()),
                HasSubstr("for sm_80 and later, not for sm_75"));
    EXPECT_EQ(scale->reference({}).error().code, Errc::file_not_found);
}

// One text of the good manifest replaced by another, and the error at the first line that shows it.
struct Mistake {
    std::string from, to, error;
};

TEST(Manifest, EveryMistakeHasItsPlace) {
    const std::vector<Mistake> mistakes = {
        {R"("name": "rows/scale", )", "", R"(it needs "name")"},
        {R"("target": "sm_80")", R"("target": "sm_81x")", R"("sm_81x" is no target)"},
        {R"({"meaning": "of x"})", R"({"meaning": "of x", "step": 2})", R"(unknown key "step")"},
        {R"("default": 1, "maximum": 8)", R"("default": 9, "maximum": 8)", "from 1 to 8, not 9"},
        {R"("values": [64, 128], "default": 128)", R"("values": [64, 128], "default": 96)",
         R"("default" of threads is none of its values)"},
        {R"(["f32", "bf16", "e4m3"])", R"(["f32", "b f16", "e4m3"])", R"("b f16" is no word)"},
        {R"("names": {"vectors")", R"("names": {"rows")", R"("rows" stands for something else already)"},
        {R"("that": "type != bf16 || threads == 64")", R"("that": true)", R"("that" is an expression)"},
        {R"("macros": {"blocks")", R"("macros": {"threads")",
         R"("threads" stands for something else already)"},
        {R"("names": {"vectors")", R"("names": {"shared_bytes_per_block")",
         "stands for something else already"},
        {R"("name": "weight")", R"("name": "x")", "two arguments are named x"},
        {R"("type": "f32", "shape": ["columns"])", R"("type": "f33", "shape": ["columns"])", "not f33"},
        {R"("access": "out")", R"("access": "written")", R"("access" is one of in, out, mod, scratch)"},
        {R"("fill": 0})", R"("fill": 1})", R"("fill" is a whole number from 0 to 0, not 1)"},
        {R"("range": [0, 1])", R"("range": [0])", R"("range" has two numbers)"},
        {R"("range": [0, 1])", R"("range": [1, 0])", R"("range" is from a lower number to a higher one)"},
        {R"("access": "out")", R"("fill": 0, "access": "out")", R"("fill" is of scratch)"},
        {R"("swizzle": "none")", R"("swizzle": "12B")", R"("swizzle" is one of none, 32B)"},
        {R"json("map": {"box": ["16 / sizeof(type)", 8, 1], )json", R"("map": {)", R"(it needs "box")"},
        {R"("map": {"box")", R"("map": {"of": "z", "box")", "no tensor before it is named z"},
        {R"("map": {"box")", R"("map": {"im2col": {}, "box")", R"(has "box" or "im2col", not both)"},
        {R"json("map": {"box": ["16 / sizeof(type)", 8, 1])json", R"("map": {"im2col": {"lower": [0]})",
         R"(unknown key "lower"; "im2col" has lower_corner)"},
        {R"json("map": {"box": ["16 / sizeof(type)", 8, 1])json",
         R"("map": {"im2col": {"lower_corner": [0]})", R"(it needs "upper_corner")"},
        {R"("value": 1e-6)", R"("value": "1e-6")", R"("value" is a number, not a string)"},
        {R"("above": 0)", R"("above": 1)", R"("value" is above "above")"},
        {R"("above": 0)", R"("minimum": 1)", R"("value" is "minimum" or more)"},
        {R"("above": 0)", R"("above": 0, "minimum": 0)", R"(has "above" or "minimum", not both)"},
        {R"("block": ["threads"], "shared)", R"("shared)", R"(it needs "block")"},
        {R"("output": "y")", R"("output": "x")", "no tensor named x is written"},
        {R"("output": "y")", R"("output": [])", R"("output" names no tensor)"},
        {R"("relative": 1e-3)", R"("relative": -1)", R"("relative" is a number from 0 on)"},
        {R"("family": "rows", )", R"("family": 3, )", R"("family" is a string, not a number)"},
        {R"("copies": "threads / 32"}})", R"("copies": "threads / 32"})", "not JSON"},
    };
    for (const Mistake& mistake : mistakes) {
        std::string text = good;
        const std::size_t at = text.find(mistake.from);
        ASSERT_NE(at, std::string::npos) << mistake.from;
        SCOPED_TRACE(mistake.to + " for " + mistake.from);
        text.replace(at, mistake.from.size(), mistake.to);
        const auto found = Family(text).find("rows/scale");
        ASSERT_FALSE(found);
        EXPECT_EQ(found.error().code, Errc::manifest_invalid);
        EXPECT_TRUE(found.error().span.known());
        EXPECT_THAT(describe(found.error()), HasSubstr("manifest.json:"));
        EXPECT_THAT(describe(found.error()), HasSubstr(mistake.error));
    }
}

// Expressions are looked at when they are needed.
TEST(Manifest, ExpressionsHaveTheirPlaceToo) {
    const std::vector<Mistake> mistakes = {
        {R"("columns - 1")", R"("colums - 1")", "'colums' in 'colums - 1' is no dimension, tunable or name"},
        {R"("columns - 1")", R"("columns - ")", "in 'columns - '"},
        {R"("columns - 1")", R"("columns / 0")", "in 'columns / 0', which is (8) / 0"},
        {R"("threads * 4")", R"("0 - threads")", "'0 - threads' is -128: below 0"},
        {R"("shape": [1])", R"("shape": ["1.5"])", "'1.5' is no whole number"},
        {R"("columns * sizeof(type) / 16")", R"("columns * sizeof(threads) / 16")",
         "'threads' is no type whose bytes sizeof() knows"},
    };
    for (const Mistake& mistake : mistakes) {
        std::string text = good;
        const std::size_t at = text.find(mistake.from);
        ASSERT_NE(at, std::string::npos);
        SCOPED_TRACE(mistake.to);
        text.replace(at, mistake.from.size(), mistake.to);
        const auto scale = Family(text).find("rows/scale");
        ASSERT_TRUE(scale) << describe(scale.error());
        const auto launch = scale->launch({{"rows", 5}, {"columns", 8}});
        ASSERT_FALSE(launch);
        EXPECT_THAT(describe(launch.error()), HasSubstr("manifest.json:"));
        EXPECT_THAT(describe(launch.error()), HasSubstr(mistake.error));
    }
}

// A try is of the stubs that it was given: one that the reference lacks is found.
TEST(Try, ComparesWithTheReference) {
    const std::string manifest = R"({"family": "rows", "skeletons": [{
  "name": "rows/twice", "source": "twice.cu", "entry": "twice", "meaning": "y = 2 x",
  "dimensions": {"n": {"meaning": "elements"}},
  "arguments": [
    {"name": "x", "type": "f32", "shape": ["n"], "access": "in"},
    {"name": "y", "type": "bf16", "shape": ["n"], "access": "out"},
    {"name": "n", "type": "u32"}],
  "sites": {"map": {"signature": "mod f32 y", "default": "y", "meaning": "each"}},
  "launch": {"grid": ["(n + 31) / 32"], "block": [32]},
  "reference": {"source": "reference.cu", "entry": "reference", "grid": ["(n + 31) / 32"], "block": [32]},
  "output": "y", "tolerance": {"relative": 1e-6}}]})";
    const Family family(manifest);
    const auto source = [](const char* name, const char* type, const char* store) {
        return std::string("#include <cuda_bf16.h>\n#include <ptxgraft/site.cuh>\n") +
               "extern \"C\" __global__ void " + name + "(const float* x, " + type + "* y, unsigned n) {\n" +
               "    const unsigned i = blockIdx.x * 32 + threadIdx.x;\n    if (i >= n) return;\n" +
               "    float value = 2 * x[i];\n    PTXGRAFT_SITE(\"map\", \"\", mod(f32, y, value));\n" +
               "    y[i] = " + store + ";\n}\n";
    };
    family.write("twice.cu", source("twice", "__nv_bfloat16", "__float2bfloat16(value)"));
    family.write("reference.cu", source("reference", "double", "value"));
    const auto twice = family.find("rows/twice");
    const Device device = *Device::open("emulator");
    const Skeleton skeleton = *twice->skeleton();
    TrialOptions options{.dimensions = {{"n", 77}}};
    options.grafts.emplace_back("map", *stack::compile("y y mul.f32 -> y", *skeleton.site("map")));
    const auto right = try_template(*twice, device, options);
    ASSERT_TRUE(right) << describe(right.error());
    EXPECT_TRUE(right->is_right);
    EXPECT_EQ(right->elements, 77u);
    EXPECT_NE(right->machine_code.cubin, nullptr);

    // A kernel that writes what it should read alone.
    family.write("twice.cu", source("twice", "__nv_bfloat16",
                                    "__float2bfloat16(value); if (i == 5) const_cast<float*>(x)[5] = 1"));
    const auto written = try_template(*twice, device, options);
    ASSERT_TRUE(written) << describe(written.error());
    EXPECT_FALSE(written->is_right);
    EXPECT_EQ(written->worst_tensor, "x");
    EXPECT_EQ(written->worst_index, 5u);

    // A kernel whose last element is wrong.
    family.write("twice.cu",
                 source("twice", "__nv_bfloat16", "__float2bfloat16(value); if (i == n - 1) y[i] = 0"));
    const auto wrong = try_template(*twice, device, options);
    ASSERT_TRUE(wrong) << describe(wrong.error());
    EXPECT_FALSE(wrong->is_right);
    EXPECT_EQ(wrong->wrong, 1u);
    EXPECT_EQ(wrong->worst_index, 76u);
    EXPECT_EQ(wrong->worst_tensor, "y");
    EXPECT_EQ(wrong->got, 0);
}

}  // namespace
}  // namespace ptxgraft
