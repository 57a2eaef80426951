// The memory of the process does not grow with 100,000 grafts and as many errors through the C interface.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <string>

#include "capi/handles.hpp"

namespace ptxgraft {
namespace {

using namespace test;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool keeps_freed_memory = true;
#else
constexpr bool keeps_freed_memory = false;
#endif

std::size_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::size_t pages = 0, resident = 0;
    file >> pages >> resident;
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// A tenth of the work is the warm-up. The heap may spread over some megabytes more until it stays as it is;
/// 160 bytes for each of 100,000 times are too many.
template <class Work> void expect_bounded(int count, const Work& work) {
    if (keeps_freed_memory) GTEST_SKIP() << "a sanitizer keeps what is freed";
    for (int i = 0; i < count / 10; ++i) work(i);
    const std::size_t before = resident_bytes();
    for (int i = 0; i < count; ++i) work(i);
    EXPECT_LT(resident_bytes(), before + (std::size_t(16) << 20));
}

TEST(CApiLeaks, AHundredThousandGrafts) {
    CDevice device;
    EXPECT_OK(ptxgraft_device_open(&device, "emulator"));
    const CSkeleton skeleton = c_skeleton(kernel(copy()));
    expect_bounded(100'000, [&](int i) {
        const CStub stub = c_stub(skeleton, adding(i));
        const ptxgraft_graft graft = {"s", stub};
        ptxgraft_graft_options options = PTXGRAFT_GRAFT_OPTIONS_INIT;
        options.grafts = &graft;
        options.graft_count = 1;
        CKernel made;
        EXPECT_OK(ptxgraft_kernel_create(&made, skeleton, device, &options));
    });
}

TEST(CApiLeaks, AHundredThousandErrors) {
    const CSkeleton skeleton = c_skeleton(kernel(copy()));
    expect_bounded(100'000, [&](int i) {
        CStub stub;
        const std::string wrong = "add.f32 acc, acc, nothing" + std::to_string(i) + ";\n";
        EXPECT_NE(ptxgraft_stub_create_from_ptx(&stub, skeleton, "s", wrong.data(), wrong.size()),
                  PTXGRAFT_STATUS_ok);
        EXPECT_NE(ptxgraft_error_get_message()[0], '\0');
    });
}

}  // namespace
}  // namespace ptxgraft
