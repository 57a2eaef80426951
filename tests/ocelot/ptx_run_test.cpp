// libgpuocelot.so as its callers use it: found by its name, called with words, PTX as tinygrad writes it.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <sys/mman.h>

#include <bit>
#include <cstdint>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "ocelot/ptx_run.h"
#include "support/paths.hpp"

namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::internal::CaptureStderr;
using testing::internal::CaptureStdout;
using testing::internal::GetCapturedStderr;
using testing::internal::GetCapturedStdout;

decltype(&ptx_run) entry() {
    static void* const library =
        dlopen(ptxgraft::test::build_path("libgpuocelot.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    return library == nullptr ? nullptr : reinterpret_cast<decltype(&ptx_run)>(dlsym(library, "ptx_run"));
}

class PtxRun : public testing::Test {
  protected:
    void SetUp() override { ASSERT_NE(entry(), nullptr) << dlerror(); }
};

struct Shape {
    int block = 1, grid = 1, shared = 0;
    int block_y = 1, grid_y = 1;
};

void* word(std::int64_t number) { return std::bit_cast<void*>(number); }

// What the call says on standard error.
std::string run(const std::string& ptx, std::vector<void*> words, const Shape& shape) {
    CaptureStderr();
    entry()(ptx.c_str(), static_cast<int>(words.size()), words.data(), shape.block, shape.block_y, 1,
            shape.grid, shape.grid_y, 1, shape.shared);
    return GetCapturedStderr();
}

std::string module(const std::string& kernels) {
    return ".version 7.5\n.target sm_35\n.address_size 64\n" + kernels;
}

// data0[i] = i < data3 ? data1[i] * data2[i] + data1[i] : the former value
const std::string product = module(R"(.visible .entry E_product (
	.param .u64 data0,
	.param .u64 data1,
	.param .u64 data2,
	.param .s32 data3
)
.maxntid 32
{
	.reg .u32 %gidx0;
	.reg .u32 %lidx0;
	.reg .u64 %dat_u64_<3>;
	.reg .s32 %dat_s32_<1>;
	.reg .s32 %alu_s32_<2>;
	.reg .pred %alu_pred_<1>;
	.reg .u64 %bidx_u64_<3>;
	.reg .f32 %val_f32_<2>;
	.reg .f32 %alu_f32_<1>;
	mov.u32 %gidx0, %ctaid.x;
	mov.u32 %lidx0, %tid.x;
	ld.param.u64 %dat_u64_0, [data0+0];
	ld.param.u64 %dat_u64_1, [data1+0];
	ld.param.u64 %dat_u64_2, [data2+0];
	ld.param.s32 %dat_s32_0, [data3+0];
	shl.b32 %alu_s32_0, %gidx0, 5;
	add.s32 %alu_s32_1, %alu_s32_0, %lidx0;
	setp.lt.s32 %alu_pred_0, %alu_s32_1, %dat_s32_0;
	@!%alu_pred_0 bra IF_alu_pred_0_1;
	cvt.s64.s32 %bidx_u64_0, %alu_s32_1;
	mad.lo.s64 %bidx_u64_0, %bidx_u64_0, 4, %dat_u64_0;
	cvt.s64.s32 %bidx_u64_1, %alu_s32_1;
	mad.lo.s64 %bidx_u64_1, %bidx_u64_1, 4, %dat_u64_1;
	cvt.s64.s32 %bidx_u64_2, %alu_s32_1;
	mad.lo.s64 %bidx_u64_2, %bidx_u64_2, 4, %dat_u64_2;
	ld.global.f32 %val_f32_0, [%bidx_u64_1+0];
	ld.global.f32 %val_f32_1, [%bidx_u64_2+0];
	fma.rn.f32 %alu_f32_0, %val_f32_0, %val_f32_1, %val_f32_0;
	st.global.f32 [%bidx_u64_0+0], %alu_f32_0;
IF_alu_pred_0_1:
	ret;
})");

TEST_F(PtxRun, BlocksWorkOnTheCallersArrays) {
    std::vector<float> out(128, -1.f), x(128), y(128, 2.f);
    std::iota(x.begin(), x.end(), 0.f);
    EXPECT_THAT(run(product, {out.data(), x.data(), y.data(), word(100)}, {.block = 32, .grid = 4}),
                IsEmpty());
    for (std::size_t i = 0; i < 128; ++i)
        EXPECT_EQ(out[i], i < 100 ? 3.f * static_cast<float>(i) : -1.f) << i;
}

// A negative number in 32 bits of its word, as a caller of C casts it.
TEST_F(PtxRun, NumbersAreTheLowestBytesOfTheirWords) {
    std::vector<float> out(32, -1.f), x(32, 1.f);
    EXPECT_THAT(run(product, {out.data(), x.data(), x.data(), word(-5)}, {.block = 32}), IsEmpty());
    EXPECT_THAT(out, Each(-1.f));
    EXPECT_THAT(run(product, {out.data(), x.data(), x.data(), word(0x700000005)}, {.block = 32}), IsEmpty());
    EXPECT_EQ(std::count(out.begin(), out.end(), 2.f), 5);
}

// Each block sums 16 * 4 elements: vectors, a loop, shared memory by an element operand, a barrier.
const std::string sums = module(R"(.visible .entry r_sums (
	.param .u64 data0,
	.param .u64 data1
)
.maxntid 16
{
	.reg .u32 %gidx0;
	.reg .u32 %lidx0;
	.reg .u64 %dat_u64_<2>;
	.reg .s32 %alu_s32_<4>;
	.reg .u64 %bidx_u64_<4>;
	.reg .u64 %local_u64_<1>;
	.reg .f32 %val_f32_<6>;
	.reg .f32 %reg_f32_<1>;
	.reg .f32 %alu_f32_<5>;
	.reg .s32 %ridx_s32_<1>;
	.reg .pred %pred_pred_<1>;
	.reg .pred %alu_pred_<1>;
	mov.u32 %gidx0, %ctaid.x;
	mov.u32 %lidx0, %tid.x;
	ld.param.u64 %dat_u64_0, [data0+0];
	ld.param.u64 %dat_u64_1, [data1+0];
	.shared .align 16 .b8 local0[64];
	mov.u64 %local_u64_0, local0[0];
	shl.b32 %alu_s32_0, %gidx0, 4;
	add.s32 %alu_s32_1, %alu_s32_0, %lidx0;
	cvt.s64.s32 %bidx_u64_0, %alu_s32_1;
	mad.lo.s64 %bidx_u64_0, %bidx_u64_0, 16, %dat_u64_1;
	ld.global.v4.f32 {%val_f32_0, %val_f32_1, %val_f32_2, %val_f32_3}, [%bidx_u64_0+0];
	add.f32 %alu_f32_0, %val_f32_0, %val_f32_1;
	add.f32 %alu_f32_1, %val_f32_2, %val_f32_3;
	add.f32 %alu_f32_2, %alu_f32_0, %alu_f32_1;
	cvt.s64.s32 %bidx_u64_1, %lidx0;
	mad.lo.s64 %bidx_u64_1, %bidx_u64_1, 4, %local_u64_0;
	st.shared.f32 [%bidx_u64_1+0], %alu_f32_2;
	bar.sync	0;
	mov.b32 %reg_f32_0, 0f00000000;
	mov.u32 %ridx_s32_0, -1;
	bra END_ridx_s32_0;
LOOP_ridx_s32_0:
	cvt.s64.s32 %bidx_u64_2, %ridx_s32_0;
	mad.lo.s64 %bidx_u64_2, %bidx_u64_2, 4, %local_u64_0;
	ld.shared.f32 %val_f32_4, [%bidx_u64_2+0];
	add.f32 %reg_f32_0, %reg_f32_0, %val_f32_4;
END_ridx_s32_0:
	add.s32 %ridx_s32_0, %ridx_s32_0, 1;
	setp.lt.s32 %pred_pred_0, %ridx_s32_0, 16;
	@%pred_pred_0 bra LOOP_ridx_s32_0;
	setp.ne.s32 %alu_pred_0, %lidx0, 0;
	@%alu_pred_0 bra IF_alu_pred_0_2;
	cvt.s64.s32 %bidx_u64_3, %gidx0;
	mad.lo.s64 %bidx_u64_3, %bidx_u64_3, 4, %dat_u64_0;
	st.global.f32 [%bidx_u64_3+0], %reg_f32_0;
IF_alu_pred_0_2:
	ret;
})");

TEST_F(PtxRun, SharedMemoryAndBarriersWorkBlockByBlock) {
    std::vector<float> out(8, -1.f), x(8 * 64);
    std::iota(x.begin(), x.end(), 0.f);
    EXPECT_THAT(run(sums, {out.data(), x.data()}, {.block = 16, .grid = 8}), IsEmpty());
    for (std::size_t block = 0; block < 8; ++block)
        EXPECT_EQ(out[block], std::accumulate(x.begin() + 64 * block, x.begin() + 64 * (block + 1), 0.f))
            << block;
}

TEST_F(PtxRun, DynamicSharedMemoryIsTheLastArgument) {
    const std::string ptx = module(
        ".extern .shared .align 4 .b8 room[];\n"
        ".visible .entry k(.param .u64 out) { .reg .b32 %r<4>; .reg .b64 %d<4>; ld.param.u64 %d1, [out];\n"
        "mov.u32 %r1, %tid.x; mov.u64 %d2, room; mad.wide.u32 %d2, %r1, 4, %d2; st.shared.u32 [%d2], %r1;\n"
        "bar.sync 0; ld.shared.u32 %r2, [%d2]; mad.wide.u32 %d3, %r1, 4, %d1; st.global.u32 [%d3], %r2; ret; "
        "}");
    std::vector<std::uint32_t> out(8, 99);
    EXPECT_THAT(run(ptx, {out.data()}, {.block = 8, .shared = 32}), IsEmpty());
    EXPECT_THAT(out, testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
    EXPECT_THAT(run(ptx, {out.data()}, {.block = 8, .shared = 28}), HasSubstr("st.shared.u32 [%d2], %r1"));
}

TEST_F(PtxRun, BlocksAndGridsHaveThreeExtents) {
    const std::string ptx = module(
        ".visible .entry k(.param .u64 out) { .reg .b32 %r<9>; .reg .b64 %d<3>; ld.param.u64 %d1, [out];\n"
        "mov.u32 %r1, %ctaid.y; mov.u32 %r2, %nctaid.x; mov.u32 %r3, %ctaid.x; mad.lo.u32 %r4, %r1, %r2, "
        "%r3;\n"
        "mov.u32 %r5, %ntid.y; mov.u32 %r6, %tid.y; mad.lo.u32 %r7, %r4, %r5, %r6;\n"
        "mad.wide.u32 %d2, %r7, 4, %d1; st.global.u32 [%d2], %r7; ret; }");
    std::vector<std::uint32_t> out(2 * 3 * 5, 99), wanted(out.size());
    std::iota(wanted.begin(), wanted.end(), 0u);
    EXPECT_THAT(run(ptx, {out.data()}, {.grid = 2, .block_y = 5, .grid_y = 3}), IsEmpty());
    EXPECT_EQ(out, wanted);
}

TEST_F(PtxRun, OfSeveralEntriesTheFirstByNameRuns) {
    const auto kernel = [](const std::string& name, int value) {
        return ".visible .entry " + name + "(.param .u64 out) { .reg .b64 %d<2>; ld.param.u64 %d1, [out];\n" +
               "st.global.u32 [%d1], " + std::to_string(value) + "; ret; }\n";
    };
    std::uint32_t out = 0;
    EXPECT_THAT(run(module(kernel("second", 2) + kernel("first", 1) + kernel("third", 3)), {&out}, {}),
                IsEmpty());
    EXPECT_EQ(out, 1u);
}

TEST_F(PtxRun, ModulesOfEveryArchitectureOfTheEmulatorRun) {
    for (const char* const target : {"sm_35", "sm_75", "sm_86", "sm_90a", "sm_100a", "sm_120"}) {
        std::uint32_t out = 0;
        const std::string ptx = ".version 8.7\n.target " + std::string(target) +
                                "\n.address_size 64\n.visible .entry k(.param .u64 out) { .reg .b64 %d<2>;\n"
                                "ld.param.u64 %d1, [out]; st.global.u32 [%d1], 7; ret; }\n";
        EXPECT_THAT(run(ptx, {&out}, {}), IsEmpty()) << target;
        EXPECT_EQ(out, 7u) << target;
    }
    const std::string unknown = ".version 8.7\n.target sm_999\n.visible .entry k() { ret; }\n";
    EXPECT_THAT(run(unknown, {}, {}), HasSubstr("sm_999"));
}

// Variables are new in every call, as every call reads the module anew.
TEST_F(PtxRun, EveryCallIsALoadOfItsOwn) {
    const std::string ptx = module(
        ".global .u32 count = 5;\n.visible .entry k(.param .u64 out) { .reg .b32 %r<2>; .reg .b64 %d<2>;\n"
        "ld.param.u64 %d1, [out]; atom.global.add.u32 %r1, [count], 1; st.global.u32 [%d1], %r1; ret; }");
    for (int i = 0; i < 2; ++i) {
        std::uint32_t out = 0;
        EXPECT_THAT(run(ptx, {&out}, {}), IsEmpty());
        EXPECT_EQ(out, 5u);
    }
}

TEST_F(PtxRun, ErrorsGoToStandardErrorWithTheirLineAndTheProcessGoesOn) {
    std::vector<float> out(32, -1.f), x(32, 1.f);
    const std::string wild = run(product, {out.data(), word(8), x.data(), word(32)}, {.block = 32});
    EXPECT_THAT(wild, HasSubstr("E_product.ptx:37:2: error: address out of bounds"));
    EXPECT_THAT(wild, HasSubstr("ld.global.f32 %val_f32_0, [%bidx_u64_1+0];"));
    EXPECT_THAT(run("no PTX", {}, {}), HasSubstr("ptx_run:1:"));
    EXPECT_THAT(run(product, {out.data()}, {.block = 32}), HasSubstr("4"));
    EXPECT_THAT(run(product, {out.data(), x.data(), x.data(), word(32)}, {.block = 0}), HasSubstr("block"));
    EXPECT_THAT(run(product, {out.data(), x.data(), x.data(), word(32)}, {.block = -1}), HasSubstr("block"));
    EXPECT_THAT(out, Each(-1.f));
    CaptureStderr();
    entry()(nullptr, 0, nullptr, 1, 1, 1, 1, 1, 1, 0);
    EXPECT_THAT(GetCapturedStderr(), HasSubstr("a source"));
    EXPECT_THAT(run(product, {out.data(), x.data(), x.data(), word(32)}, {.block = 32}), IsEmpty());
    EXPECT_THAT(out, Each(2.f));
}

TEST_F(PtxRun, WhatKernelsPrintGoesToStandardOutput) {
    const std::string ptx = module(
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 v);\n"
        ".global .align 1 .b8 format[4] = {104, 105, 10, 0};\n"
        ".visible .entry k() { .reg .b64 %d<3>; mov.u64 %d1, format; mov.u64 %d2, 0;\n"
        "{ .param .b64 a, b; .param .b32 r; st.param.b64 [a], %d1; st.param.b64 [b], %d2; call (r), vprintf, "
        "(a, b); }\n"
        "ret; }");
    CaptureStdout();
    EXPECT_THAT(run(ptx, {}, {}), IsEmpty());
    EXPECT_EQ(GetCapturedStdout(), "hi\n");
}

TEST_F(PtxRun, ThreadsTakeTurns) {
    std::vector<std::vector<float>> outs(4, std::vector<float>(8, -1.f));
    std::vector<float> x(8 * 64, 1.f);
    std::vector<std::thread> threads;
    for (auto& out : outs)
        threads.emplace_back([&] {
            void* words[] = {out.data(), x.data()};
            for (int i = 0; i < 20; ++i) entry()(sums.c_str(), 2, words, 16, 1, 1, 8, 1, 1, 0);
        });
    for (std::thread& thread : threads) thread.join();
    for (const auto& out : outs) EXPECT_THAT(out, Each(64.f));
}

}  // namespace
