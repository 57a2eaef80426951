// A candidate's PTX is parsed once on the emulator, which runs it, and not at all on a GPU.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

#include "fake_cuda/fake_cuda.hpp"
#include "ptxgraft/kernel.hpp"
#include "support/paths.hpp"
#include "syntax/parse_count.hpp"

namespace ptxgraft {
namespace {

const std::string driver = test::build_path("libfake_cuda.so");

constexpr const char* text = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry store(.param .u64 out, .param .f32 x)
{
	.reg .b64 %rd<2>; .reg .f32 %f<2>;
	ld.param.u64 %rd1, [out]; ld.param.f32 %f1, [x];
	{ // PTXGRAFT_SITE epilogue
	.reg .f32 _acc; mov.b32 _acc, %f1; // mod f32 acc
	// PTXGRAFT_STUB
	// PTXGRAFT_END
	mov.b32 %f1, _acc;
	}
	st.global.f32 [%rd1], %f1;
	ret;
}
.visible .entry nothing() { ret; }
)";

template <class T> T value(Expected<T> result) {
    if (!result) throw std::runtime_error(describe(result.error()));
    return std::move(*result);
}

class ParseCount : public testing::Test {
  protected:
    // How many texts are parsed between a stub and the end of what its kernel can do.
    std::uint64_t parses_of_a_candidate(const Device& device) {
        const Buffer out = value(device.allocate(4));
        const std::uint64_t before = syntax::parse_count;
        const Kernel kernel = value(skeleton_.graft({{"epilogue", stub_}}, device, {.entry = "store"}));
        EXPECT_EQ(kernel.function().parameters().size(), 2u);
        EXPECT_TRUE(kernel.launch({}, out, 2.0f));
        const Function other = value(kernel.function().other("nothing"));
        const std::uint64_t count = syntax::parse_count - before;
        if (device.kind() == DeviceKind::emulator) {
            EXPECT_TRUE(other.launch({}, {}));
            EXPECT_EQ(value(out.download<float>())[0], -2.0f);
        }
        return count;
    }
    const Skeleton skeleton_ = value(Skeleton::from_ptx(text));
    const Stub stub_ = value(stack::compile("acc neg.f32 -> acc", *skeleton_.site("epilogue")));
};

TEST_F(ParseCount, IsOneOnTheEmulator) {
    EXPECT_EQ(parses_of_a_candidate(value(Device::open("emulator"))), 1u);
}

TEST_F(ParseCount, IsZeroOnAGpu) {
    void* const library = dlopen(driver.c_str(), RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    FakeCuda& fake = *reinterpret_cast<FakeCuda* (*)()>(dlsym(library, "fake_cuda"))();
    fake = {};
    fake.argument_sizes = {8, 4};
    EXPECT_EQ(parses_of_a_candidate(value(Device::open("cuda", {.driver = driver}))), 0u);
    EXPECT_EQ(fake.launches.size(), 1u);
}

// Text from outside is read for its entries; the emulator runs the tree that this gives.
TEST_F(ParseCount, IsOneForTextFromOutside) {
    for (const char* name : {"emulator", "cuda"}) {
        const Device device = value(Device::open(name, {.driver = driver}));
        const std::uint64_t before = syntax::parse_count;
        const Function function = value(device.load(text, "store"));
        EXPECT_EQ(syntax::parse_count - before, 1u) << name;
    }
}

}  // namespace
}  // namespace ptxgraft
