// How many values a stub may keep alive in a site: measured, and what is lost beyond.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptxgraft/spare_registers.hpp"

namespace ptxgraft {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

// y[i] = each(x[i]), of blocks with so many threads at most.
Skeleton each(unsigned threads, const std::string& marking = R"(PTXGRAFT_SITE("each", "", mod(f32, y));)") {
    const auto skeleton = Skeleton::from_cuda(
        "#include <ptxgraft/site.cuh>\nextern \"C\" __global__ void __launch_bounds__(" +
            std::to_string(threads) + ") each(float* x) {\n    float y = x[threadIdx.x];\n    " + marking +
            "\n    x[threadIdx.x] = y;\n}\n",
        {.target = "sm_80"});
    return skeleton.value();
}

TEST(SpareRegisters, EndWhereTheKernelSpills) {
    const auto measured = measure_spare_registers(each(1024));
    ASSERT_TRUE(measured) << describe(measured.error());
    ASSERT_EQ(measured->size(), 1u);
    const SpareRegisters& site = measured->front();
    EXPECT_EQ(site.site, "each");
    EXPECT_GE(site.registers, 48u);  // of the 64 that 1,024 threads have each
    EXPECT_LT(site.registers, 64u);
    EXPECT_THAT(site.loss, EndsWith(" bytes of spills"));
}

TEST(SpareRegisters, EndWhereAMultiprocessorHoldsABlockLess) {
    const Skeleton skeleton = each(256);
    const auto measured = measure_spare_registers(skeleton, {.threads_per_block = 256});
    ASSERT_TRUE(measured) << describe(measured.error());
    EXPECT_GE(measured->front().registers, 16u);  // eight blocks of 256 threads: 32 registers
    EXPECT_LT(measured->front().registers, 32u);
    EXPECT_EQ(measured->front().loss, "6 blocks of a multiprocessor, not 8");
    // Three at most, for their shared memory: a thread has 80 registers then.
    const auto shared = measure_spare_registers(
        skeleton, {.threads_per_block = 256, .dynamic_shared_bytes = 50 * 1024, .most = 128});
    EXPECT_GE(shared->front().registers, 64u);
    EXPECT_LT(shared->front().registers, 80u);
}

TEST(SpareRegisters, AreNoMoreThanAreTried) {
    for (const std::uint32_t most : {1u, 3u, 17u}) {
        const auto measured = measure_spare_registers(each(256), {.most = most});
        ASSERT_TRUE(measured) << describe(measured.error());
        EXPECT_EQ(measured->front().registers, most);
        EXPECT_THAT(measured->front().loss, IsEmpty());
    }
}

TEST(SpareRegisters, AreOfSitesWithAnyOperands) {
    for (const char* const marking :
         {R"(PTXGRAFT_SITE("each", "mov.f32 _y, 0f00000000;", out(f32, y));)",
          R"(unsigned long long w = 3; PTXGRAFT_SITE("each", "", mod(u64, w)); y += w;)",
          R"(double w = y; PTXGRAFT_SITE("each", "", mod(f64, w)); y += w;)",
          R"(unsigned short w = 3; PTXGRAFT_SITE("each", "", mod(b16, w)); y += w;)",
          R"(bool w = y > 0; PTXGRAFT_SITE("each", "", mod(pred, w)); y += w;)",
          R"(unsigned w[2] = {3, 4}; PTXGRAFT_SITE("each", "", mods(b32, 2, w)); y += w[0] + w[1];)"}) {
        const auto measured = measure_spare_registers(each(256, marking), {.most = 4});
        ASSERT_TRUE(measured) << marking << describe(measured.error());
        EXPECT_EQ(measured->front().registers, 4u) << marking;
    }
}

TEST(SpareRegisters, OptionsAreChecked) {
    const Skeleton skeleton = each(256);
    EXPECT_EQ(measure_spare_registers(skeleton, {.sites = {"none"}}).error().code, Errc::site_unknown);
    EXPECT_THAT(message(measure_spare_registers(skeleton, {.most = 257}).error()),
                HasSubstr("257 values, not 1 to 256"));
    EXPECT_EQ(measure_spare_registers(skeleton, {.graft = {.entry = "none"}}).error().code,
              Errc::entry_unknown);
}

}  // namespace
}  // namespace ptxgraft
