// A GPU that fails: which errors cost its context, what its health says then, and calls that never end.
#include <gmock/gmock.h>

#include <thread>

#include "device/fake_gpu.hpp"

namespace ptxgraft {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST_F(FakeGpu, ErrorsSayWhetherTheContextIsLost) {
    struct Row {
        int result;
        Errc code;
        bool is_lost;
    };
    // Numbers of cuda.h: those of which it says that the process has to be relaunched, and others.
    const Row rows[] = {{1, Errc::driver_failed, false},   {2, Errc::out_of_device_memory, false},
                        {4, Errc::driver_failed, true},    {200, Errc::driver_failed, false},
                        {201, Errc::driver_failed, false}, {214, Errc::driver_failed, true},
                        {220, Errc::driver_failed, true},  {226, Errc::driver_failed, true},
                        {400, Errc::driver_failed, false}, {600, Errc::driver_failed, false},
                        {700, Errc::launch_failed, true},  {701, Errc::launch_failed, false},
                        {702, Errc::launch_failed, true},  {709, Errc::driver_failed, true},
                        {710, Errc::launch_failed, true},  {714, Errc::launch_failed, true},
                        {715, Errc::launch_failed, true},  {716, Errc::launch_failed, true},
                        {717, Errc::launch_failed, true},  {718, Errc::launch_failed, true},
                        {719, Errc::launch_failed, true},  {720, Errc::driver_failed, false},
                        {721, Errc::launch_failed, true},  {810, Errc::driver_failed, true},
                        {901, Errc::driver_failed, false}, {911, Errc::driver_failed, true},
                        {999, Errc::driver_failed, true}};
    for (const Row& row : rows) {
        const Device fresh = Device::open("cuda:0", driver()).value();
        break_call("cuCtxSynchronize", row.result);
        const auto failed = fresh.synchronize();
        ASSERT_FALSE(failed);
        EXPECT_EQ(failed.error().code, row.code) << row.result;
        EXPECT_EQ(failed.error().context_lost, row.is_lost) << row.result;
        EXPECT_EQ(fresh.health().ok(), !row.is_lost) << row.result;
    }
}

TEST_F(FakeGpu, HealthKeepsTheFirstErrorOfALostContext) {
    EXPECT_TRUE(device().health().ok());
    auto buffer = device().allocate(64);
    const auto function = load_fill("other");
    fake().argument_sizes.clear();
    fake().failing_for_ever = true;
    break_call("cuCtxSynchronize", 700);
    EXPECT_OK(function->launch({}, {}));  // it fails later, as kernels do
    const auto failed = device().synchronize();
    ASSERT_FALSE(failed);
    EXPECT_THAT(describe(failed.error()),
                AllOf(HasSubstr("cuCtxSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS"),
                      HasSubstr("the GPU's context is lost, and another process has to go on")));
    // Whatever is tried then fails with the same.
    for (const auto& later : {device().synchronize(), function->launch({}, {}), buffer->fill({})}) {
        ASSERT_FALSE(later);
        EXPECT_EQ(later.error().code, Errc::launch_failed);
        EXPECT_TRUE(later.error().context_lost);
    }
    EXPECT_FALSE(device().allocate(16));
    const DeviceHealth health = device().health();
    ASSERT_FALSE(health.ok());
    EXPECT_THAT(message(*health.lost), HasSubstr("cuCtxSynchronize"));
    // Other handles of the context know it, another GPU has nothing to do with it.
    EXPECT_FALSE(Device::open("cuda:1", driver())->health().ok());
    EXPECT_TRUE(Device::open("cuda:0", driver())->health().ok());
    fake().lost_with = 0;
}

// A GPU that is no longer there answers everything with CUDA_ERROR_UNKNOWN, from any call on.
TEST_F(FakeGpu, AGpuThatIsGone) {
    fake().lost_with = 999;
    const auto gone = device().allocate(16);
    ASSERT_FALSE(gone);
    EXPECT_TRUE(gone.error().context_lost);
    EXPECT_THAT(message(gone.error()),
                AllOf(HasSubstr("CUDA_ERROR_UNKNOWN"), HasSubstr("asked for 16 bytes")));
    EXPECT_FALSE(device().health().ok());
    EXPECT_FALSE(load_fill());
    EXPECT_FALSE(device().create_stream());
    EXPECT_FALSE(device().create_event());
    fake().lost_with = 0;
}

// That memory ran out, or a kernel cannot be launched, is no reason to give the process up.
TEST_F(FakeGpu, FailuresThatCostOneCallAlone) {
    const auto function = load_fill("other");
    fake().argument_sizes.clear();
    break_call("cuMemAlloc_v2", 2);
    EXPECT_EQ(device().allocate(1000).error().code, Errc::out_of_device_memory);
    break_call("cuLaunchKernel", 701);
    EXPECT_EQ(function->launch({}, {}).error().code, Errc::launch_failed);
    fake().failing_call.clear();
    EXPECT_TRUE(device().health().ok());
    EXPECT_OK(device().allocate(1000));
    EXPECT_OK(function->launch({}, {}));
}

TEST_F(FakeGpu, AnErrorOfALoadIsOneOfTheContextToo) {
    fake().module_log = "device kernel image is invalid";
    break_call("cuModuleLoadDataEx", 214);
    const auto function = load_fill();
    ASSERT_FALSE(function);
    EXPECT_EQ(function.error().code, Errc::module_not_loaded);
    EXPECT_TRUE(function.error().context_lost);
    EXPECT_THAT(message(function.error()), HasSubstr("CUDA_ERROR_ECC_UNCORRECTABLE"));
    EXPECT_FALSE(device().health().ok());
}

// A thread that waits for a GPU that hangs holds no lock: the others go on, and can say that it hangs.
TEST_F(FakeGpu, AHangHoldsNobodyElseUp) {
    const auto function = load_fill("other");
    fake().argument_sizes.clear();
    fake().hanging_call = "cuCtxSynchronize";
    std::thread waits([&] { EXPECT_OK(device().synchronize()); });
    fake_call<void()>("fake_cuda_await_hanging")();
    EXPECT_OK(function->launch({}, {}));
    EXPECT_OK(device().allocate(16));
    EXPECT_OK(load_fill());
    EXPECT_OK(function->other("fill"));
    { const TimingGuard timing = device().timing(); }
    EXPECT_TRUE(device().health().ok());
    fake_call<void()>("fake_cuda_let_go")();
    waits.join();
}

}  // namespace
}  // namespace ptxgraft
