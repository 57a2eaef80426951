// The driver's JIT as an assembler.
#include <gmock/gmock.h>

#include "device/fake_gpu.hpp"

namespace ptxgraft {
namespace {

using testing::HasSubstr;

TEST_F(FakeGpu, TheDriverAssembles) {
    const auto jit = driver_jit(device());
    ASSERT_OK(jit);
    EXPECT_EQ((*jit)->name(), "driver");
    EXPECT_EQ((*jit)->version(), "13.0");
    fake().jit_cubin =
        "\x7F"
        "ELF and code";
    fake().jit_info_log =
        "ptxas info    : Compiling entry function 'twice' for 'sm_90a'\n"
        "ptxas info    : Function properties for twice\n"
        "ptxas         .     0 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
        "ptxas info    : Used 24 registers\n";
    const auto cubin = (*jit)->assemble(twice);
    ASSERT_OK(cubin);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(cubin->image.data()), cubin->image.size()),
              fake().jit_cubin);
    EXPECT_EQ(cubin->assembler, "driver");
    ASSERT_EQ(cubin->functions.size(), 1u);
    EXPECT_EQ(cubin->functions[0].registers, 24u);
    EXPECT_EQ(cubin->functions[0].spill_load_bytes, 8u);
    EXPECT_EQ(fake().jit_ptx, std::string(twice) + '\0');
    // sm_90a, -O3, verbose; nothing of registers and lines.
    EXPECT_EQ(fake().jit_options[9], 0x1005Au);
    EXPECT_EQ(fake().jit_options[7], 3u);
    EXPECT_EQ(fake().jit_options[12], 1u);
    EXPECT_EQ(fake().jit_options.count(0), 0u);
    EXPECT_EQ(fake().jit_options.count(13), 0u);
    EXPECT_EQ(fake().links, 0);
}

TEST_F(FakeGpu, TheDriversJitTakesOptions) {
    const auto jit = driver_jit(device());
    fake().jit_cubin = "cubin";
    ASSERT_OK((*jit)->assemble(
        twice, {.target = "sm_100f", .optimisation = 1, .max_registers = 64, .line_info = true}));
    EXPECT_EQ(fake().jit_options[9], 0x20064u);
    EXPECT_EQ(fake().jit_options[7], 1u);
    EXPECT_EQ(fake().jit_options[0], 64u);
    EXPECT_EQ(fake().jit_options[13], 1u);
    ASSERT_OK((*jit)->assemble(twice, {.target = "sm_80"}));
    EXPECT_EQ(fake().jit_options[9], 80u);
    EXPECT_EQ((*jit)->assemble(twice, {.target = "sm_81"}).error().code, Errc::target_unknown);
    EXPECT_EQ((*jit)->assemble(twice, {.relocatable = true}).error().code, Errc::assembler_not_usable);
    EXPECT_THAT(failure((*jit)->assemble(twice, {.options = {"--fmad=false"}})), HasSubstr("--fmad=false"));
}

TEST_F(FakeGpu, WhatTheDriverDoesNotAssembleIsAnErrorWithItsPlace) {
    const auto jit = driver_jit(device());
    fake().jit_error_log =
        "ptxas application ptx input, line 5; error   : Unexpected instruction types specified for 'add'\n"
        "ptxas fatal   : Ptx assembly aborted due to errors\n";
    for (const char* call : {"cuLinkAddData_v2", "cuLinkComplete"}) {
        break_call(call, 218);
        const auto cubin = (*jit)->assemble(twice);
        ASSERT_FALSE(cubin) << call;
        EXPECT_EQ(cubin.error().code, Errc::assemble_failed);
        EXPECT_EQ(position(twice, cubin.error().span.begin).line, 5u);
        EXPECT_THAT(*cubin.error().detail, HasSubstr("Unexpected instruction types"));
        EXPECT_EQ(fake().links, 0);
    }
    fake().jit_error_log.clear();
    EXPECT_THAT(failure((*jit)->assemble(twice)), HasSubstr("cuLink: unknown error 218"));
    break_call("cuLinkCreate_v2", 221);  // there is no JIT
    EXPECT_EQ((*jit)->assemble(twice).error().code, Errc::assemble_failed);
    break_call("cuLinkCreate_v2", 700);
    const auto lost = (*jit)->assemble(twice);
    EXPECT_TRUE(lost.error().context_lost);
    EXPECT_EQ(lost.error().code, Errc::launch_failed);
}

TEST_F(FakeGpu, TheDriverRefusesWhatItWouldChange) {
    const auto jit = driver_jit(device());
    const auto refused = (*jit)->assemble(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.entry k() { setmaxnreg.dec.sync.aligned.u32 40; "
        "ret; }\n");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::module_refused);
    EXPECT_TRUE(refused.error().span.known());
    EXPECT_EQ((*jit)->assemble("no PTX").error().code, Errc::assemble_failed);
    EXPECT_EQ(fake().calls["cuLinkCreate_v2"], 0);
}

TEST_F(FakeGpu, TheDriversJitKeepsTheDevice) {
    const auto jit = driver_jit(device());
    drop_device();
    fake().jit_cubin = "cubin";
    EXPECT_OK((*jit)->assemble(twice));
    EXPECT_EQ(fake().retained[1], 1);
}

TEST(EmulatorDevice, HasNoDriver) {
    EXPECT_EQ(driver_jit(*Device::open("emulator")).error().code, Errc::assembler_not_usable);
}

}  // namespace
}  // namespace ptxgraft
