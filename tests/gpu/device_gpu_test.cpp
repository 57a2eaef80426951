// The driver's own behaviour: buffers, streams, events, and its errors.

#include <gmock/gmock.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "gpu/gpu.hpp"
#include "ptxgraft/kernel.hpp"

namespace ptxgraft {
namespace {

using testing::HasSubstr;

// Adds 1 to each of n words, `rounds` times over; word i of block b stands in a[b * 256 + i].
constexpr std::string_view count_up = R"(.version 7.0
.target sm_75
.address_size 64
.visible .entry count_up(.param .u64 a, .param .u32 rounds)
{
	.reg .pred %p; .reg .b32 %r<8>; .reg .b64 %rd<4>;
	ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [rounds];
	mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
	mad.lo.u32 %r5, %r2, %r3, %r4;
	mul.wide.u32 %rd2, %r5, 4;
	add.u64 %rd3, %rd1, %rd2;
	mov.u32 %r6, 0;
$again:
	ld.volatile.global.u32 %r7, [%rd3];
	add.u32 %r7, %r7, 1;
	st.volatile.global.u32 [%rd3], %r7;
	add.u32 %r6, %r6, 1;
	setp.lt.u32 %p, %r6, %r1;
	@%p bra $again;
	ret;
}
)";

TEST_F(Gpu, SaysWhatItIs) {
    EXPECT_EQ(device().kind(), DeviceKind::cuda);
    EXPECT_FALSE(device().name().empty());
    EXPECT_TRUE(device().target().starts_with("sm_"));
    EXPECT_GE(std::stoi(device().driver_version()), 12);
    EXPECT_GE(Device::cuda_count(), 1u);
    EXPECT_EQ(value(Device::open("auto")).kind(), DeviceKind::cuda);
}

TEST_F(Gpu, BuffersCopy) {
    std::vector<std::uint32_t> data(1 << 20);
    std::iota(data.begin(), data.end(), 0u);
    const Buffer a = value(device().upload(data)), b = value(device().allocate(a.bytes()));
    done(b.copy_from(a));
    EXPECT_EQ(value(b.download<std::uint32_t>()), data);
    done(b.fill(std::byte{0xFF}));
    EXPECT_EQ(value(b.download<std::uint32_t>()), std::vector<std::uint32_t>(data.size(), 0xFFFFFFFFu));
    EXPECT_EQ(a.write(std::as_bytes(std::span("abcd")), a.bytes() - 4).error().code, Errc::buffer_exceeded);
    EXPECT_TRUE(value(device().allocate(0)).download<float>()->empty());
}

TEST_F(Gpu, MemoryThatThereIsNot) {
    const auto buffer = device().allocate(std::size_t{1} << 50);
    ASSERT_FALSE(buffer);
    EXPECT_EQ(buffer.error().code, Errc::out_of_device_memory);
    EXPECT_THAT(describe(buffer.error()), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"));
    done(device().synchronize());
}

TEST_F(Gpu, LaunchesOfOneStreamComeInOrderAndCopiesWaitForAll) {
    const Function function = value(device().load(count_up, "count_up"));
    const Stream first = value(device().create_stream()), second = value(device().create_stream());
    const Buffer a = value(device().upload(std::vector<std::uint32_t>(1024))),
                 b = value(device().upload(std::vector<std::uint32_t>(1024)));
    constexpr std::uint32_t rounds = 1000;
    for (int i = 0; i < 10; ++i)
        for (const auto& [stream, buffer] : {std::pair{&first, &a}, std::pair{&second, &b}})
            done(function.launch({{4, 1, 1}, {256, 1, 1}}, std::array<Argument, 2>{*buffer, rounds}, stream));
    const std::vector<std::uint32_t> expected(1024, 10 * rounds);
    EXPECT_EQ(value(a.download<std::uint32_t>()), expected);  // no synchronize in between
    EXPECT_EQ(value(b.download<std::uint32_t>()), expected);
    done(first.synchronize());
    done(second.synchronize());
}

TEST_F(Gpu, EventsMeasureKernels) {
    const Function function = value(device().load(count_up, "count_up"));
    const Stream stream = value(device().create_stream());
    const Buffer a = value(device().upload(std::vector<std::uint32_t>(256)));
    Event start = value(device().create_event()), end = value(device().create_event());
    EXPECT_EQ(end.elapsed_since(start).error().code, Errc::event_not_recorded);
    const auto measure = [&](std::uint32_t rounds) {
        done(start.record(&stream));
        done(function.launch({{1, 1, 1}, {256, 1, 1}}, std::array<Argument, 2>{a, rounds}, &stream));
        done(end.record(&stream));
        return value(end.elapsed_since(start));
    };
    measure(1);  // loads lazily
    const float brief = measure(1000), longer = measure(100000);
    EXPECT_GT(brief, 0.0f);
    EXPECT_GT(longer, 10 * brief);
}

TEST_F(Gpu, SharedMemoryAbove48KB) {
    constexpr std::string_view shared =
        ".version 7.0\n.target sm_75\n.address_size 64\n"
        ".extern .shared .align 16 .b8 memory[];\n"
        ".visible .entry touch(.param .u32 offset, .param .u64 out)\n{\n"
        ".reg .b32 %r<4>; .reg .b64 %rd;\n"
        "ld.param.u32 %r1, [offset]; ld.param.u64 %rd, [out];\n"
        "mov.u32 %r2, memory; add.u32 %r2, %r2, %r1;\n"
        "st.shared.u32 [%r2], %r1; ld.volatile.shared.u32 %r3, [%r2];\n"
        "st.global.u32 [%rd], %r3; ret;\n}\n";
    const Function function = value(device().load(shared, "touch"));
    const Buffer out = value(device().allocate(4));
    constexpr std::uint32_t bytes = 60 * 1024;
    const std::uint32_t last = bytes - 4;
    done(function.launch({{}, {}, bytes}, std::array<Argument, 2>{last, out}));
    EXPECT_EQ(value(out.download<std::uint32_t>())[0], last);
    EXPECT_EQ(function.launch({{}, {}, 1u << 20}, std::array<Argument, 2>{last, out}).error().code,
              Errc::launch_shape_invalid);
}

TEST_F(Gpu, ModulesThatAreNone) {
    Cubin cubin;
    cubin.image.assign(4096, std::byte{0x5A});
    const auto function = device().load(count_up, "count_up", &cubin);
    ASSERT_FALSE(function);
    EXPECT_EQ(function.error().code, Errc::module_not_loaded);
    done(device().synchronize());
}

// A kernel's failure costs the context, so this one runs in a process of its own.
TEST_F(Gpu, AFailingKernelIsAnErrorOfALaterCall) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto fail_and_report = [] {
        const Device device = value(Device::open("cuda"));
        const Function function = value(device.load(count_up, "count_up"));
        const std::uint64_t nowhere = 64;
        const std::uint32_t rounds = 1;
        done(function.launch({}, std::array<Argument, 2>{nowhere, rounds}));
        const auto failed = device.synchronize();
        std::exit(!failed && failed.error().code == Errc::launch_failed && !device.allocate(16) ? 0 : 1);
    };
    EXPECT_EXIT(fail_and_report(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace ptxgraft
