#pragma once
// A GPU of host memory: the driver of tests/fake_cuda behind a Device, and modules to load there.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fake_cuda/fake_cuda.hpp"
#include "ptxgraft/device.hpp"
#include "support/paths.hpp"

namespace ptxgraft {

inline DeviceOptions driver(const std::string& variant = "") {
    return {.driver = test::build_path("libfake_cuda") + variant + ".so"};
}

template <class Call> Call* fake_call(const char* name) {
    static void* const handle = dlopen(driver().driver.c_str(), RTLD_NOW);
    if (handle == nullptr) throw std::runtime_error(dlerror());
    return reinterpret_cast<Call*>(dlsym(handle, name));
}
inline FakeCuda& fake() { return *fake_call<FakeCuda*()>("fake_cuda")(); }

template <class T> std::string failure(const Expected<T>& result) {
    return result ? "no error" : describe(result.error());
}
#define ASSERT_OK(result) ASSERT_TRUE(result) << failure(result)
#define EXPECT_OK(result) EXPECT_TRUE(result) << failure(result)

// y[i] = 2 * x[i], for i < n
inline constexpr std::string_view twice = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry twice(.param .u64 x, .param .u64 y, .param .u32 n)
{
	.reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<6>; .reg .f32 %f<3>;
	ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.u32 %r1, [n];
	mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
	mad.lo.s32 %r5, %r2, %r3, %r4;
	setp.ge.u32 %p1, %r5, %r1;
	@%p1 bra $done;
	mul.wide.u32 %rd3, %r5, 4;
	add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
	ld.global.f32 %f1, [%rd4];
	add.f32 %f2, %f1, %f1;
	st.global.f32 [%rd5], %f2;
$done:
	ret;
}
)";

inline constexpr std::string_view fill =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry fill(.param .u64 a, .param .u32 n, .param .b8 s[12]) { ret; }\n"
    ".visible .entry other() { ret; }\n.func helper() { ret; }\n";

inline std::vector<float> counting(std::size_t n) {
    std::vector<float> values(n);
    std::iota(values.begin(), values.end(), 1.0f);
    return values;
}

// No code, but what a driver takes for one.
inline const Cubin elf = [] {
    Cubin cubin;
    cubin.image = {std::byte{0x7F}, std::byte{'E'}, std::byte{'L'}, std::byte{'F'}};
    return cubin;
}();

class FakeGpu : public testing::Test {
  protected:
    void SetUp() override {
        fake() = {};
        auto opened = Device::open("cuda:1", driver());
        ASSERT_OK(opened);
        device_.emplace(std::move(*opened));
    }
    void TearDown() override {
        device_.reset();
        EXPECT_FALSE(fake().called_without_context);
        EXPECT_TRUE(fake().current.empty()) << "a context was left current";
        EXPECT_TRUE(fake().allocations.empty()) << "memory was not freed";
        EXPECT_EQ(fake().retained[1], 0) << "the primary context was not released";
        EXPECT_EQ(fake().modules, 0);
        EXPECT_EQ(fake().streams, 0);
        EXPECT_EQ(fake().events, 0);
        EXPECT_EQ(fake().graphs, 0);
        EXPECT_EQ(fake().executable_graphs, 0);
        EXPECT_EQ(fake().links, 0);
    }
    [[nodiscard]] const Device& device() const { return *device_; }
    void drop_device() { device_.reset(); }
    // Makes one call of the driver fail.
    static void break_call(const char* name, int result) {
        fake().failing_call = name;
        fake().failing_result = result;
    }
    [[nodiscard]] Expected<Function> load_fill(std::string_view entry = "fill") const {
        Cubin cubin;
        cubin.image = {std::byte{0x7F}, std::byte{'E'}, std::byte{'L'}, std::byte{'F'}};
        fake().argument_sizes = {8, 4, 12};
        return device().load(fill, entry, &cubin);
    }

  private:
    std::optional<Device> device_;
};

}  // namespace ptxgraft
