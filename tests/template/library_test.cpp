// Every template of the library: its manifest is true of its source, every kind of combination assembles
// without spills and computes what its reference does, on the emulator with all checks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptxgraft/emulator_observer.hpp"
#include "ptxgraft/link.hpp"
#include "ptxgraft/syntax.hpp"
#include "ptxgraft/target.hpp"
#include "support/cache.hpp"
#include "template/sample.hpp"

namespace ptxgraft {
namespace {

using test::mild_stubs;
using test::odd_dimensions;
using test::pairs_of;
using test::text_of;
using testing::HasSubstr;

const CudaOptions compilation{.cache = &test::cache()};

std::vector<std::string> names() {
    std::vector<std::string> names;
    const auto all = Template::all();
    if (!all) return names;
    for (const Template& one : *all) names.push_back(one.name());
    return names;
}

TEST(LibraryFolder, IsRead) {
    const auto all = Template::all();
    ASSERT_TRUE(all) << describe(all.error());
    EXPECT_GE(all->size(), 20u);
}

// Larger ones would wrap around in the kernels' 32 bits, and compute something else.
TEST(LibraryDimensions, EndWhereTheKernelsCountNoFurther) {
    constexpr std::uint64_t most = std::uint64_t{1} << 30;
    struct Row {
        const char* name;
        Dimensions least;  // all that have no default
        std::vector<const char*> counted;
    };
    const Dimensions small = {{"m", 16}, {"n", 16}, {"k", 32}};
    const Row rows[] = {{"gemm/wgmma", small, {"m", "n", "k", "batch"}},
                        {"gemm/quantised", small, {"m", "n", "k", "batch"}},
                        {"gemm/grouped", small, {"m", "n", "k", "groups"}},
                        {"gemm/tcgen05", small, {"m", "n", "k", "batch"}},
                        {"conv/wgmma",
                         {{"channels", 16}, {"filters", 8}},
                         {"images", "height", "width", "channels", "filters"}}};
    for (const Row& row : rows)
        for (const char* const name : row.counted) {
            const Template from = *Template::find(row.name);
            Dimensions dimensions = row.least;
            dimensions[name] = most + 32;
            const auto launch = from.launch(dimensions);
            ASSERT_FALSE(launch) << row.name << " " << name;
            EXPECT_THAT(message(launch.error()),
                        HasSubstr(std::string(name) + " is 1 to 1073741824, not 1073741856"));
        }
}

TEST(LibraryDimensions, ProductsEndThereToo) {
    struct Row {
        const char* name;
        Dimensions most, more;
        const char* why;
    };
    const auto gemm = [](std::uint64_t m, std::uint64_t batch) {
        return Dimensions{{"m", m}, {"n", 1}, {"k", 8}, {"batch", batch}};
    };
    const auto images = [](std::uint64_t images) {  // of 130 x 130 pixels, with the padding
        return Dimensions{{"images", images}, {"channels", 8}, {"filters", 1}, {"height", 128},
                          {"width", 128},     {"filter_h", 1}, {"filter_w", 1}};
    };
    const auto channels = [](std::uint64_t channels) {
        return Dimensions{{"channels", channels}, {"filters", 1},    {"height", 128},
                          {"width", 128},         {"filter_h", 128}, {"filter_w", 128}};
    };
    const auto decode = [](std::uint64_t splits) {
        return Dimensions{{"queries", 1}, {"keys", std::uint64_t{1} << 29}, {"splits", splits}};
    };
    constexpr std::uint64_t rows = std::uint64_t{1} << 22;
    const Row table[] = {
        {"gemm/wgmma", gemm(rows, 131071), gemm(rows, 131072), "tiles are counted in 32 bits"},
        {"gemm/tcgen05", gemm(rows, 131071), gemm(rows, 131072), "they are counted in 32 bits"},
        {"conv/wgmma", channels(131072), channels(131080), "places of a filter and their channels"},
        {"conv/wgmma", images(63535), images(63536), "tensor copies count to 2^31"},
        {"attention/decode", decode(511), decode(512), "shares of tiles are counted in 32 bits"}};
    for (const Row& row : table) {
        const Template from = *Template::find(row.name);
        const auto good = from.launch(row.most), bad = from.launch(row.more);
        EXPECT_TRUE(good) << row.name << describe(good.error());
        ASSERT_FALSE(bad) << row.name;
        EXPECT_THAT(message(bad.error()), HasSubstr(row.why));
    }
}

// Sums over rows that registers do not hold are added up in memory, 16 bytes at a time.
TEST(LibraryNorm, GradientsOfLongRowsMoveHalfSectorsAtLeast) {
    for (const char* const name : {"norm/rms_backward", "norm/layer_backward"}) {
        EmulatorProfile profile;
        const Device device = *Device::open("emulator:sm_90a", {.emulator = {.observer = &profile}});
        const Template from = *Template::find(name);
        const TemplateLaunch launch = *from.launch({{"rows", 3}, {"columns", 10240}, {"parts", 1}});
        const auto kernel = from.skeleton({}, {}, compilation)->graft({}, device, {.entry = from.entry()});
        ASSERT_TRUE(kernel) << describe(kernel.error());
        std::vector<Buffer> buffers;
        for (const TemplateTensor& tensor : launch.tensors) {
            buffers.push_back(*device.allocate(tensor.bytes));
            ASSERT_TRUE(buffers.back().write(random_bytes(tensor, 1)));
        }
        std::vector<const Buffer*> pointers;
        for (const Buffer& buffer : buffers) pointers.push_back(&buffer);
        const auto done = kernel->launch_with(launch.config, *launch.arguments(pointers));
        ASSERT_TRUE(done) << describe(done.error());
        std::uint64_t sectors = 0, ideal_sectors = 0;
        for (const ProfileLine& line : profile.lines())
            sectors += line.sectors, ideal_sectors += line.ideal_sectors;
        EXPECT_LT(sectors, 2 * ideal_sectors) << name;
    }
}

class Library : public testing::TestWithParam<std::string> {
  protected:
    const Template from = *Template::find(GetParam());
};
INSTANTIATE_TEST_SUITE_P(, Library, testing::ValuesIn(names()), [](const auto& info) {
    std::string name = info.param;
    std::replace(name.begin(), name.end(), '/', '_');
    return name;
});

// Combinations of a template, in a test that is run with all the others.
constexpr std::size_t tried = 4, assembled = 4;

void expect_sites_as_said(const Template& from, const Skeleton& skeleton, const Choices& choices) {
    for (const Site& site : skeleton.sites().sites) {
        const auto said = std::find_if(from.sites().begin(), from.sites().end(),
                                       [&](const TemplateSite& s) { return s.name == site.name; });
        ASSERT_NE(said, from.sites().end()) << site.name;
        EXPECT_EQ(site.signature, *Signature::parse(said->signature)) << site.signature.text();
        const auto copies = from.copies(site.name, choices);
        ASSERT_TRUE(copies) << describe(copies.error());
        if (*copies != 0) { EXPECT_EQ(site.copies.size(), *copies) << site.name; }
    }
}

TEST_P(Library, ManifestIsTrueOfTheSource) {
    for (const Choices& choices : pairs_of(from, assembled)) {
        SCOPED_TRACE(text_of(choices));
        const auto skeleton = from.skeleton(choices, {}, compilation);
        ASSERT_TRUE(skeleton) << describe(skeleton.error());
        expect_sites_as_said(from, *skeleton, choices);
        // From sm_100 on NVRTC unrolls more.
        if (const auto later = from.skeleton(choices, "sm_120a", compilation))
            expect_sites_as_said(from, *later, choices);
        const auto launch = from.launch(odd_dimensions(from, choices, {65, 33, 40}), choices);
        ASSERT_TRUE(launch) << describe(launch.error());
        const auto module = syntax::parse(skeleton->ptx());
        const auto parameters = module->find_function(launch->entry).parameters();
        ASSERT_EQ(parameters.size(), launch->parameters.size());
        for (std::size_t i = 0; i < parameters.size(); ++i)
            EXPECT_EQ(parameters[i].type, "." + launch->parameters[i].type) << launch->parameters[i].name;
    }
}

// As usual, for every architecture that it says.
TEST_P(Library, CompilesForItsTargets) {
    const bool is_of_one = from.target().ends_with('a');
    for (const char* target :
         {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120a", "sm_121a"}) {
        const Architecture asked = *parse_architecture(target), least = *parse_architecture(from.target());
        const bool is_possible = is_of_one ? asked == least : asked.sm >= least.sm;
        const auto skeleton = from.skeleton({}, target, compilation);
        ASSERT_EQ(skeleton.has_value(), is_possible) << target;
        if (!is_possible) continue;
        const auto code = skeleton->assemble(
            {}, {.entry = from.entry(), .assemble = {.limits = {.spill_bytes = 0}}, .cache = &test::cache()});
        EXPECT_TRUE(code) << target << describe(code.error());
    }
}

// A site that no combination has is a mistake of the manifest.
TEST_P(Library, EverySiteIsInSomeSource) {
    std::vector<std::string> missing;
    for (const TemplateSite& site : from.sites()) missing.push_back(site.name);
    for (const Choices& choices : pairs_of(from, assembled)) {
        const auto skeleton = from.skeleton(choices, {}, compilation);
        ASSERT_TRUE(skeleton) << describe(skeleton.error());
        std::erase_if(missing, [&](const std::string& name) { return skeleton->site(name) != nullptr; });
        if (missing.empty()) return;
    }
    EXPECT_THAT(missing, testing::IsEmpty());
}

// Neither its own stubs nor longer ones spill, lose registers or serialise wgmma.
TEST_P(Library, AssemblesWell) {
    const AssembleOptions options{.limits = {.spill_bytes = 0}};
    for (const Choices& choices : pairs_of(from, assembled)) {
        SCOPED_TRACE(text_of(choices));
        const auto skeleton = from.skeleton(choices, {}, compilation);
        ASSERT_TRUE(skeleton) << describe(skeleton.error());
        const std::vector<Graft> grafts = mild_stubs(from, *skeleton);
        for (const bool filled : {false, true}) {
            const auto code =
                skeleton->assemble(filled ? grafts : std::vector<Graft>{},
                                   {.entry = from.entry(), .assemble = options, .cache = &test::cache()});
            ASSERT_TRUE(code) << describe(code.error());
            EXPECT_TRUE(code->cubin->losses.empty());
        }
    }
}

// What the emulator does not run, it says, and there is another test of it (tcgen05_test.cpp).
bool is_refused(const Expected<Trial>& trial, const Template& from) {
    return !trial && trial.error().code == Errc::instruction_not_emulated && from.target() == "sm_100a";
}

TEST_P(Library, ComputesWhatItsReferenceDoes) {
    const std::string architecture = from.target().ends_with('a') ? from.target() : "sm_90a";
    const Device device =
        *Device::open("emulator:" + architecture,
                      {.emulator = {.checks = EmulatorChecks::all().with(EmulatorCheck::equal_stores)}});
    const std::vector<std::vector<std::uint64_t>> bases = {{33, 65, 40}, {130, 9, 24}, {1, 1, 1}};
    std::size_t number = 0;
    for (const Choices& choices : pairs_of(from, tried)) {
        const auto skeleton = from.skeleton(choices, {}, compilation);
        ASSERT_TRUE(skeleton) << describe(skeleton.error());
        TrialOptions options{.choices = choices, .seed = ++number, .cuda = compilation, .assemble = false};
        options.dimensions = odd_dimensions(from, choices, bases[number % bases.size()]);
        for (const bool filled : {false, true}) {
            if (filled) options.grafts = mild_stubs(from, *skeleton);
            std::string text = text_of(choices);
            for (const auto& [name, value] : options.dimensions)
                text += name + "=" + std::to_string(value) + " ";
            SCOPED_TRACE(text + (filled ? "with stubs" : ""));
            const auto trial = try_template(from, device, options);
            if (is_refused(trial, from)) GTEST_SKIP() << message(trial.error());
            ASSERT_TRUE(trial) << describe(trial.error());
            EXPECT_TRUE(trial->is_right)
                << trial->wrong << " of " << trial->elements << " are wrong; " << trial->worst_tensor << "["
                << trial->worst_index << "] is " << trial->got << ", not " << trial->wanted;
            EXPECT_GT(trial->elements, 0u);
        }
    }
}

}  // namespace
}  // namespace ptxgraft
