// gemm/tcgen05 without its GPU: on the emulator with products and tensor memory in software, in place of
// templates/hardware/tcgen05.cuh; its numbers against those of dsl/tcgen05.hpp; and its fences, which the
// emulator does not see. All but the instructions in that one header is the template as it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "ptxgraft/dsl.hpp"
#include "ptxgraft/kernel.hpp"
#include "support/cache.hpp"
#include "support/files.hpp"
#include "support/paths.hpp"
#include "template/sample.hpp"

namespace ptxgraft {
namespace {

using test::mild_stubs;
using test::odd_dimensions;
using test::pairs_of;
using test::read_file;
using test::text_of;
using test::write_file;
using testing::HasSubstr;

const std::string templates = test::source_path("templates/"), support = test::source_path("tests/support/");

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos) text.replace(at, from.size(), to);
    EXPECT_EQ(text.find(from, at + to.size()), std::string::npos) << "more than once: " << from;
    return text;
}

// The family with tensor cores in software, for sm_90a.
class Software {
  public:
    Software() {
        std::filesystem::copy(templates, folder_.path, std::filesystem::copy_options::recursive);
        write_file(folder_.path / "hardware/tcgen05.cuh", read_file(support + "tcgen05_software.cuh"));
        write_file(folder_.path / "hardware/tcgen05.cu", read_file(support + "tcgen05.cu"));
        // A block, or pair, has all tiles: more than one.
        write_file(
            manifest(),
            replaced(replaced(read_file(manifest()), R"("target": "sm_100a")", R"("target": "sm_90a")"),
                     "multiprocessors < cta_group ? 1 : multiprocessors / cta_group", "1"));
    }
    [[nodiscard]] Template find() const { return Template::find("gemm/tcgen05", folder_.str()).value(); }
    // The source with something else in one place.
    void change(const std::string& from, const std::string& to) const {
        write_file(folder_.path / "gemm/tcgen05.cu",
                   replaced(read_file(templates + "gemm/tcgen05.cu"), from, to));
    }

  private:
    [[nodiscard]] std::filesystem::path manifest() const { return folder_.path / "gemm/manifest.json"; }
    test::TemporaryFolder folder_;
};

Expected<Trial> try_on_emulator(const Template& from, TrialOptions options) {
    options.cuda.cache = &test::cache();
    static const Device device = *Device::open(
        "emulator", {.emulator = {.checks = EmulatorChecks::all().with(EmulatorCheck::equal_stores)}});
    return try_template(from, device, options);
}

// ---- results

TEST(Tcgen05Template, ComputesWhatItsReferenceDoesInSoftware) {
    const Software software;
    const Template from = software.find();
    const std::vector<std::vector<std::uint64_t>> bases = {
        {33, 65, 40}, {130, 9, 24}, {35, 131, 136}, {1, 1, 1}};
    std::size_t number = 0;
    for (const Choices& choices : pairs_of(from, 8)) {
        const auto skeleton = from.skeleton(choices, {}, {.cache = &test::cache()});
        ASSERT_TRUE(skeleton) << describe(skeleton.error());
        TrialOptions options{.choices = choices, .seed = ++number, .assemble = false};
        options.dimensions = odd_dimensions(from, choices, bases[number % bases.size()]);
        if (number % 2 == 0) options.grafts = mild_stubs(from, *skeleton);
        std::string text = text_of(choices);
        for (const auto& [name, value] : options.dimensions) text += name + "=" + std::to_string(value) + " ";
        SCOPED_TRACE(text);
        const auto trial = try_on_emulator(from, options);
        ASSERT_TRUE(trial) << describe(trial.error());
        EXPECT_TRUE(trial->is_right) << trial->wrong << " of " << trial->elements << " are wrong; c["
                                     << trial->worst_index << "] is " << trial->got << ", not "
                                     << trial->wanted;
    }
}

// A block has more tiles than accumulators, and more steps along k than stages. (Rows of zeros take products
// in software no time.)
TrialOptions several_tiles(std::int64_t group) {
    return {.dimensions = {{"m", group == 1 ? 9 : 130}, {"n", 136}, {"k", 136}, {"batch", 1}},
            .choices = {{"cta_group", group}, {"tile_n", 64}, {"stages", 2}},
            .assemble = false};
}

// Every operand of the site, of a stub that takes them all.
TEST(Tcgen05Template, GivesTheSiteItsOperands) {
    const Software software;
    const Template from = software.find();
    for (const char* output : {"bf16", "f32"})
        for (const std::uint64_t n : {72, 67}) {  // by vectors, and element by element
            SCOPED_TRACE(std::string(output) + " " + std::to_string(n));
            TrialOptions options = several_tiles(1);
            options.choices.insert_or_assign("output", output);
            options.dimensions["n"] = n, options.dimensions["batch"] = 2;
            const auto skeleton = from.skeleton(options.choices, {}, {.cache = &test::cache()});
            ASSERT_TRUE(skeleton) << describe(skeleton.error());
            const auto stub = stack::compile(
                "acc row_scale mul.f32 col_scale mul.f32 bias add.f32 residual add.f32 "
                "row col add.u32 batch add.u32 7 and.b32 cvt.rn.f32.u32 add.f32 -> acc",
                *skeleton->site("epilogue"));
            ASSERT_TRUE(stub) << describe(stub.error());
            options.grafts.emplace_back("epilogue", *stub);
            const auto trial = try_on_emulator(from, options);
            ASSERT_TRUE(trial) << describe(trial.error());
            EXPECT_TRUE(trial->is_right) << trial->wrong << " of " << trial->elements << " are wrong";
            options.null = {"row_scale", "column_scale", "bias", "residual"};
            const auto without = try_on_emulator(from, options);
            ASSERT_TRUE(without) << describe(without.error());
            EXPECT_TRUE(without->is_right) << without->wrong << " of " << without->elements << " are wrong";
        }
}

// ---- what the emulator finds where something is missing

// What the launch says: empty where all is right.
std::string outcome(const Software& software, std::int64_t group) {
    const auto trial = try_on_emulator(software.find(), several_tiles(group));
    if (!trial) return describe(trial.error());
    return trial->is_right ? "" : "wrong results";
}
TEST(Tcgen05Template, IsRightWithAllOfIt) {
    for (const int group : {1, 2}) EXPECT_EQ(outcome(Software(), group), "") << group;
}

struct Mistake {
    const char *from, *to;
};
void check_that_it_is_found(const Mistake& mistake, std::int64_t group) {
    SCOPED_TRACE(std::string(mistake.from) + (group == 1 ? " of one block" : " of two"));
    const Software software;
    software.change(mistake.from, mistake.to);
    const std::string found = outcome(software, group);
    EXPECT_THAT(found, testing::AnyOf(HasSubstr("race"), HasSubstr("memory that nothing wrote"),
                                      HasSubstr("deadlock"), HasSubstr("invalid barrier"),
                                      HasSubstr("wrong results"), HasSubstr("trap")));
}

// Copies into a stage that is still multiplied; products of what is not there yet, or into columns that are
// still loaded; loads of a product that is not finished; results in a place that a copy still reads.
TEST(Tcgen05Template, NeedsItsWaits) {
    const Mistake mistakes[] = {
        {"mbarrier_wait_relaxed(empty_of(place.stage), place.parity);\n            //", "//"},
        {"tcgen05_wait(taken_of(to.stage), to.parity);", ""},
        {"tcgen05_wait(full_of(place.stage), place.parity);", ""},
        {"tcgen05_wait(made_of(from.stage), from.parity);", ""},
        {"if (elect_sync()) bulk_wait_group_read<1>();", ""},
        {"RingPlace<accumulators> to{0, 1};", "RingPlace<accumulators> to{0, 0};"},
    };
    for (const Mistake& mistake : mistakes)
        for (const int group : {1, 2}) check_that_it_is_found(mistake, group);
}
TEST(Tcgen05Template, NeedsItsNumbers) {
    const Mistake mistakes[] = {
        {"mbarrier_init(taken_of(accumulator), 4 * group);", "mbarrier_init(taken_of(accumulator), 4);"},
        {"mbarrier_arrive_expect_tx(full_of(place.stage), group * stage_bytes)",
         "mbarrier_arrive_expect_tx(full_of(place.stage), stage_bytes)"},
        {"tensor_columns(accumulators * tile_n)", "tensor_columns(tile_n)"},
        {"tile.col + walk.rank * block_n", "tile.col"},
        {"? barrier : mapa(barrier, 0)", "? barrier : barrier"},
    };
    for (const Mistake& mistake : mistakes) check_that_it_is_found(mistake, 2);
}

// ---- what the emulator does not see

std::ptrdiff_t count_of(const std::string& text, const std::string& expression) {
    const std::regex pattern(expression);
    return std::distance(std::sregex_iterator(text.begin(), text.end(), pattern), std::sregex_iterator());
}

// 9.7.16.6.4: a fence behind each wait for other threads' operations, one before the arrival that lets others
// go on, and a wait behind the load whose registers are read. All that is taken is given back.
TEST(Tcgen05Template, HasItsFences) {
    const Template from = Template::find("gemm/tcgen05", templates).value();
    for (const std::int64_t group : {1, 2}) {
        const auto skeleton =
            from.skeleton({{"cta_group", group}, {"stages", 4}}, {}, {.cache = &test::cache()});
        ASSERT_TRUE(skeleton) << describe(skeleton.error());
        // Without the comments around inline asm, and the lines that stand between two of them.
        const std::string ptx =
            std::regex_replace(std::string(skeleton->ptx()), std::regex("\t?//[^\n]*\n"), "");
        const std::string of_group = ".cta_group::" + std::to_string(group);
        EXPECT_EQ(count_of(ptx, R"(@!ended bra again;\n\}\n\s*tcgen05.fence::after_thread_sync;)"), 3);
        EXPECT_EQ(count_of(ptx, R"(tcgen05.fence::after)"), 3);
        EXPECT_EQ(count_of(ptx, R"(tcgen05.fence::before_thread_sync;\n\s*bar.warp.sync)"), 1);
        EXPECT_EQ(count_of(ptx, R"(tcgen05.ld\.)"), 1);
        EXPECT_EQ(count_of(ptx, R"(tcgen05.wait::ld)"), 1);
        EXPECT_EQ(count_of(ptx, R"(tcgen05.mma\.)"), 4);
        EXPECT_EQ(count_of(ptx, R"(tcgen05.commit\.)"), 2);
        for (const char* once : {"tcgen05.alloc", "tcgen05.relinquish_alloc_permit", "tcgen05.dealloc"})
            EXPECT_EQ(count_of(ptx, once + of_group), 1) << once;
        EXPECT_EQ(count_of(ptx, R"(\.cta_group::)"), count_of(ptx, "\\" + of_group));
        EXPECT_LT(ptx.find("tcgen05.wait::ld"), ptx.find("tcgen05.fence::before_thread_sync"));
    }
}

// ---- numbers

// What hardware/tcgen05_descriptor.cuh makes, of every type, shape and major, is what the manual's tables as
// dsl/tcgen05.hpp has them say.
TEST(Tcgen05Template, DescriptorsAreThoseOfTheTables) {
    test::TemporaryFolder folder;
    const std::string source = folder.str() + "/numbers.cu";
    write_file(source, "#include \"" + templates + R"(hardware/tcgen05_descriptor.cuh"
using namespace hardware;
extern "C" __global__ void numbers(u64* out) {
    constexpr Element types[] = {Element::bf16, Element::f16, Element::e4m3, Element::e5m2};
    for (u32 type = 0; type < 4; ++type)
        for (u32 group = 1; group <= 2; ++group)
            for (u32 n = 32; n <= 256; n += 32)
                for (u32 majors = 0; majors < 4; ++majors)
                    *out++ = tcgen05_instruction(types[type], 128 * group, n, Major(majors & 1), Major(majors >> 1));
    for (u32 address = 0; address < 232448; address += 1024) {
        *out++ = tcgen05_descriptor<Major::k>(address, 8192);
        *out++ = tcgen05_descriptor<Major::mn>(address, 8192);
        *out++ = tcgen05_descriptor<Major::mn>(address, 16384);
        *out++ = tcgen05_advance(tcgen05_descriptor<Major::k>(address, 8192), 96);
    }
    for (u32 needed = 1; needed <= 512; ++needed) *out++ = tensor_columns(needed);
}
)");
    using namespace dsl;
    using enum MmaType;
    std::vector<std::uint64_t> wanted;
    for (const MmaType type : {bf16, f16, e4m3, e5m2})
        for (const std::uint32_t group : {1, 2})
            for (std::uint32_t n = 32; n <= 256; n += 32)
                for (std::uint32_t majors = 0; majors < 4; ++majors)
                    wanted.push_back(InstructionDescriptor{
                        .kind = type == bf16 || type == f16 ? MmaKind::f16 : MmaKind::f8f6f4,
                        .cta_group = group,
                        .m = 128 * group,
                        .n = n,
                        .a = type,
                        .b = type,
                        .transpose_a = (majors & 1) != 0,
                        .transpose_b = majors >> 1 != 0}
                                         .bits()
                                         .value());
    const auto lies = [](std::uint32_t leading) {
        return SharedDescriptor{
            {.leading_bytes = leading, .stride_bytes = 1024, .swizzle = TensorSwizzle::bytes128}};
    };
    for (std::uint32_t address = 0; address < 232448; address += 1024) {
        for (const std::uint32_t leading : {16, 8192, 16384})
            wanted.push_back(lies(leading).bits(address).value());
        wanted.push_back(lies(16).bits(address + 96).value());
    }
    for (std::uint32_t needed = 1; needed <= 512; ++needed) wanted.push_back(allocated_columns(needed));

    const auto skeleton = Skeleton::from_file(source, {.target = "sm_90a"});
    ASSERT_TRUE(skeleton) << describe(skeleton.error());
    const Device device = *Device::open("emulator");
    const auto kernel = skeleton->graft({}, device);
    ASSERT_TRUE(kernel) << describe(kernel.error());
    const auto out = device.allocate(wanted.size() * 8);
    ASSERT_TRUE(out) << describe(out.error());
    const auto done = kernel->launch({{1}, {1}}, *out);
    ASSERT_TRUE(done) << describe(done.error());
    EXPECT_EQ(*out->download<std::uint64_t>(), wanted);
}

}  // namespace
}  // namespace ptxgraft
