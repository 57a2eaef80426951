// Skeletons, grafts and kernels, as a user writes them.
#include "ptxgraft/kernel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "support/files.hpp"
#include "support/kernel_text.hpp"

namespace ptxgraft {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

template <class T> std::string failure(const Expected<T>& result) {
    return result ? "no error" : describe(result.error());
}
#define ASSERT_OK(result) ASSERT_TRUE(result) << failure(result)
#define EXPECT_OK(result) EXPECT_TRUE(result) << failure(result)

// y[i] = stub(x[i], bias), for i < n, in each of two entries; without a stub y[i] = x[i].
std::string entry_text(std::string_view name) {
    return ".visible .entry " + std::string(name) +
           R"((.param .u64 x, .param .u64 y, .param .f32 bias, .param .u32 n)
{
	.reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<6>; .reg .f32 %f<3>;
	ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.f32 %f2, [bias]; ld.param.u32 %r1, [n];
	mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
	mad.lo.s32 %r5, %r2, %r3, %r4;
	setp.ge.u32 %p1, %r5, %r1;
	@%p1 bra $done;
	mul.wide.u32 %rd3, %r5, 4;
	add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
	ld.global.f32 %f1, [%rd4];
	{ // PTXGRAFT_SITE epilogue
	.reg .f32 _acc; mov.b32 _acc, %f1; // mod f32 acc
	.reg .f32 _bias; mov.b32 _bias, %f2; // in f32 bias
	// PTXGRAFT_STUB
	// PTXGRAFT_END
	mov.b32 %f1, _acc;
	}
	st.global.f32 [%rd5], %f1;
$done:
	ret;
}
)";
}
const std::string header = test::module_head("8.0", "sm_80");
const std::string one_entry = header + entry_text("one");
const std::string two_entries = one_entry + entry_text("two");

Skeleton skeleton_of(const std::string& ptx) {
    auto skeleton = Skeleton::from_ptx(ptx);
    if (!skeleton) throw std::runtime_error(failure(skeleton));
    return std::move(*skeleton);
}

Stub stub_for(const Skeleton& skeleton, std::string_view program) {
    auto stub = stack::compile(program, *skeleton.site("epilogue"));
    if (!stub) throw std::runtime_error(describe(stub.error(), program));
    return std::move(*stub);
}

Device emulator() { return std::move(*Device::open("emulator")); }

// y of x = -4, -3 … and bias 1.5.
std::vector<float> run(const Kernel& kernel, const Device& device) {
    std::vector<float> x(64);
    std::iota(x.begin(), x.end(), -4.0f);
    auto in = device.upload(x);
    auto out = device.allocate(x.size() * sizeof(float));
    const auto done = kernel.launch({{2, 1, 1}, {32, 1, 1}}, *in, *out, 1.5f, 64u);
    if (!done) throw std::runtime_error(failure(done));
    return std::move(*out->download<float>());
}

TEST(Skeleton, KnowsItsSitesEntriesAndTarget) {
    const Skeleton skeleton = skeleton_of(two_entries);
    EXPECT_THAT(skeleton.entries(), ElementsAre("one", "two"));
    EXPECT_EQ(skeleton.target(), "sm_80");
    EXPECT_EQ(skeleton.ptx(), two_entries);
    ASSERT_EQ(skeleton.sites().sites.size(), 1u);
    EXPECT_EQ(skeleton.site("epilogue")->copies.size(), 2u);
    EXPECT_EQ(skeleton.site("prologue"), nullptr);
    EXPECT_EQ(*skeleton.find_site("epilogue"), skeleton.site("epilogue"));
    const auto unknown = skeleton.find_site("prologue");
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code, Errc::site_unknown);
    EXPECT_THAT(describe(unknown.error()),
                AllOf(HasSubstr("prologue"), HasSubstr("the skeleton has epilogue")));
}

TEST(Skeleton, WithoutSitesOrEntriesIsASkeleton) {
    const Skeleton skeleton = skeleton_of(header);
    EXPECT_TRUE(skeleton.entries().empty());
    EXPECT_EQ(*skeleton.render({}), header);
    EXPECT_THAT(describe(skeleton.find_site("x").error()), HasSubstr("the skeleton has none"));
    EXPECT_EQ(skeleton.graft({}, emulator()).error().code, Errc::entry_unknown);
}

TEST(Skeleton, ErrorsInPtxHaveTheirPlace) {
    const std::string bad = header + ".visible .entry f( { ret; }\n";
    const auto skeleton = Skeleton::from_ptx(bad);
    ASSERT_FALSE(skeleton);
    EXPECT_THAT(describe(skeleton.error(), bad, "a.ptx"), HasSubstr("a.ptx:4:"));
}

TEST(Skeleton, RenderChangesNothingElse) {
    const Skeleton skeleton = skeleton_of(two_entries);
    EXPECT_EQ(*skeleton.render({}), two_entries);
    const Stub stub = stub_for(skeleton, "acc bias add.f32 -> acc");
    const auto rendered = skeleton.render({{"epilogue", stub}});
    ASSERT_OK(rendered);
    EXPECT_EQ(rendered->size(), two_entries.size() + 2 * stub.ptx().size());
}

TEST(Skeleton, RenderRefusesWhatDoesNotFit) {
    const Skeleton skeleton = skeleton_of(one_entry);
    const Stub stub = stub_for(skeleton, "acc bias add.f32 -> acc");
    const auto unknown = skeleton.render({{"epilogue", stub}, {"main", stub}});
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code, Errc::site_unknown);
    EXPECT_EQ(unknown.error().index, 1u);
    const auto twice = skeleton.render({{"epilogue", stub}, {"epilogue", stub}});
    ASSERT_FALSE(twice);
    EXPECT_EQ(describe(twice.error()), "error: two stubs are given for the site epilogue\n");
    const Stub other = std::move(*stack::compile("x -> y", *Signature::parse("in f32 x, out f32 y")));
    const auto misfit = skeleton.render({{"epilogue", other}});
    ASSERT_FALSE(misfit);
    EXPECT_EQ(misfit.error().code, Errc::stub_signature_mismatch);
    EXPECT_THAT(describe(misfit.error()), AllOf(HasSubstr("site epilogue (mod f32 acc, in f32 bias)"),
                                                HasSubstr("stub (in f32 x, out f32 y)")));
}

TEST(Skeleton, ReadsFiles) {
    const std::string path = testing::TempDir() + "ptxgraft_kernel_test.ptx";
    test::write_file(path, one_entry);
    const auto skeleton = Skeleton::from_file(path);
    ASSERT_OK(skeleton);
    EXPECT_EQ(skeleton->ptx(), one_entry);
    test::write_file(path, header + std::string(".entry f( { }\n"));
    EXPECT_THAT(failure(Skeleton::from_file(path)),
                AllOf(HasSubstr(path + ":4:"), HasSubstr(".entry f( { }")));
    EXPECT_EQ(Skeleton::from_file("/there/is/no/such.ptx").error().code, Errc::file_not_found);
    EXPECT_EQ(Skeleton::from_file("kernel.cubin").error().code, Errc::file_kind_unknown);
    EXPECT_EQ(Skeleton::from_file("").error().code, Errc::file_kind_unknown);
}

TEST(Kernel, RunsWithItsStubOnTheEmulator) {
    const Skeleton skeleton = skeleton_of(one_entry);
    const Device device = emulator();
    const Stub stub = stub_for(skeleton, "acc bias add.f32 0.0 max.f32 -> acc");
    auto plain = skeleton.graft({}, device);
    ASSERT_OK(plain);
    auto relu = skeleton.graft({{"epilogue", stub}}, device);
    ASSERT_OK(relu);
    EXPECT_EQ(relu->entry(), "one");
    EXPECT_EQ(relu->cubin(), nullptr);
    EXPECT_THAT(relu->ptx(), HasSubstr("max.f32"));
    EXPECT_GT(relu->times().render, 0.0);
    EXPECT_GT(relu->times().load, 0.0);
    const std::vector<float> x = run(*plain, device), y = run(*relu, device);
    for (std::size_t i = 0; i < x.size(); ++i) {
        EXPECT_EQ(x[i], static_cast<float>(i) - 4.0f);
        EXPECT_EQ(y[i], std::fmax(x[i] + 1.5f, 0.0f));
    }
}

TEST(Kernel, AssemblesWithItsStub) {
    const Skeleton skeleton = skeleton_of(one_entry);
    const Stub stub = stub_for(skeleton, "acc bias add.f32 0.0 max.f32 -> acc");
    const auto cubin = default_assembler().assemble(*skeleton.render({{"epilogue", stub}}));
    ASSERT_OK(cubin);
    EXPECT_FALSE(cubin->image.empty());
}

TEST(Kernel, EntriesAreNamedWhereThereAreSeveral) {
    const Skeleton skeleton = skeleton_of(two_entries);
    const auto unnamed = skeleton.graft({}, emulator());
    ASSERT_FALSE(unnamed);
    EXPECT_EQ(describe(unnamed.error()),
              "error: the module has several entries; name one of them: one, two\n");
    const auto unknown = skeleton.graft({}, emulator(), {.entry = "three"});
    ASSERT_FALSE(unknown);
    EXPECT_EQ(describe(unknown.error()), "error: no such entry: three; the module has one, two\n");
    const auto second = skeleton.graft({}, emulator(), {.entry = "two"});
    ASSERT_OK(second);
    EXPECT_EQ(second->entry(), "two");
    EXPECT_EQ(second->function().parameters().size(), 4u);
}

TEST(Kernel, OutlivesItsSkeletonAndDevice) {
    std::optional<Kernel> kernel;
    std::optional<Device> device(emulator());
    {
        const Skeleton skeleton = skeleton_of(one_entry);
        kernel.emplace(
            std::move(*skeleton.graft({{"epilogue", stub_for(skeleton, "acc neg.f32 -> acc")}}, *device)));
    }
    EXPECT_EQ(run(*kernel, *device)[0], 4.0f);
    auto buffer = device->allocate(256);
    device.reset();
    ASSERT_TRUE(buffer->fill(std::byte{0}));
    EXPECT_OK(kernel->launch({{1, 1, 1}, {64, 1, 1}}, *buffer, *buffer, 0.0f, 64u));
}

TEST(Kernel, LaunchesOnAStream) {
    const Skeleton skeleton = skeleton_of(one_entry);
    const Device device = emulator();
    auto kernel = skeleton.graft({}, device);
    auto stream = device.create_stream();
    auto buffer = device.upload(std::vector<float>(64, 2.0f));
    EXPECT_OK(kernel->launch_on(*stream, {{1, 1, 1}, {64, 1, 1}}, *buffer, *buffer, 0.0f, 64u));
    const auto wrong = kernel->launch({}, *buffer, *buffer, 0.0, 64u);
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, Errc::argument_size_wrong);
    EXPECT_EQ(wrong.error().index, 2u);
}

}  // namespace
}  // namespace ptxgraft
