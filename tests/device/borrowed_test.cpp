// What somebody else owns: contexts, streams, memory. It is used, checked, and never destroyed.
#include <gmock/gmock.h>

#include "device/fake_gpu.hpp"

namespace ptxgraft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(FakeGpu, BorrowedStreamsAreUsedAndNotDestroyed) {
    const auto owner = device().create_stream();
    const auto function = load_fill("other");
    fake().argument_sizes.clear();
    {
        auto borrowed = device().borrow_stream(owner->handle());
        ASSERT_OK(borrowed);
        EXPECT_EQ(borrowed->handle(), owner->handle());
        EXPECT_OK(function->launch({}, {}, &*borrowed));
        EXPECT_OK(borrowed->synchronize());
        Stream moved = std::move(*borrowed);
        Stream assigned = std::move(*device().create_stream());
        EXPECT_EQ(fake().streams, 2);
        assigned = std::move(moved);  // its own goes, the borrowed one stays
        EXPECT_EQ(fake().streams, 1);
    }
    EXPECT_EQ(fake().streams, 1);
    EXPECT_EQ(fake().launches[0].stream, owner->handle());

    EXPECT_OK(device().borrow_stream(0));
    const Device other = Device::open("cuda:0", driver()).value();
    EXPECT_EQ(other.borrow_stream(owner->handle()).error().code, Errc::device_differs);
    EXPECT_EQ(Device::open("emulator")->borrow_stream(owner->handle()).error().code, Errc::device_differs);
    EXPECT_OK(Device::open("emulator")->borrow_stream(0));
}

TEST_F(FakeGpu, BorrowedMemoryIsNotFreedAndHasBounds) {
    const auto owner = device().upload(counting(8));
    {
        auto borrowed = device().borrow_buffer(owner->address() + 8, 16);
        ASSERT_OK(borrowed);
        EXPECT_EQ(borrowed->address(), owner->address() + 8);
        EXPECT_THAT(*borrowed->download<float>(), ElementsAre(3, 4, 5, 6));
        std::array<float, 2> two{};
        EXPECT_EQ(borrowed->read(std::as_writable_bytes(std::span(two)), 12).error().code,
                  Errc::buffer_exceeded);
        EXPECT_OK(borrowed->fill(std::byte{0}));
        const Buffer moved = std::move(*borrowed);
    }
    EXPECT_EQ(fake().calls["cuMemFree_v2"], 0);
    EXPECT_THAT(*owner->download<float>(), ElementsAre(1, 2, 0, 0, 0, 0, 7, 8));
    EXPECT_THAT(failure(device().borrow_buffer(0, 16)), HasSubstr("no memory: 16 bytes from 0x0"));
    EXPECT_EQ(device().borrow_buffer(UINT64_MAX - 3, 5).error().code, Errc::argument_invalid);
    EXPECT_OK(device().borrow_buffer(UINT64_MAX - 3, 4));
    EXPECT_OK(device().borrow_buffer(0, 0));
}

// One that owns memory gives it back when it takes over what is borrowed.
TEST_F(FakeGpu, AssignmentKeepsWhoOwnsWhat) {
    const auto owner = device().upload(counting(2));
    auto buffer = device().allocate(64).value();
    EXPECT_EQ(fake().allocations.size(), 2u);
    buffer = device().borrow_buffer(owner->address(), 8).value();
    EXPECT_EQ(fake().allocations.size(), 1u);
    buffer = device().allocate(64).value();
    EXPECT_EQ(fake().allocations.size(), 2u);
}

TEST(EmulatorDevice, BorrowedMemory) {
    const Device device = Device::open("emulator").value();
    const auto owner = device.upload(counting(4));
    const auto function = device.load(twice, "twice");
    {
        const auto half = device.borrow_buffer(owner->address() + 8, 8);
        EXPECT_OK(function->launch({.block = {32}}, std::array<Argument, 3>{*half, *half, 2u}));
    }
    EXPECT_THAT(*owner->download<float>(), ElementsAre(1, 2, 6, 8));
}

TEST_F(FakeGpu, BorrowedContextsAreUsedAndNotReleased) {
    const auto context = device().context();
    EXPECT_NE(context, 0u);
    {
        const auto borrowed = Device::borrow(context, driver());
        ASSERT_OK(borrowed);
        EXPECT_EQ(borrowed->name(), "Fake GPU 1");
        EXPECT_EQ(borrowed->context(), context);
        EXPECT_EQ(fake().retained[1], 1);
        const auto buffer = borrowed->upload(counting(4));
        EXPECT_EQ(*buffer->download<float>(), counting(4));
        EXPECT_OK(borrowed->load(fill, "other", &elf));
    }
    EXPECT_EQ(fake().retained[1], 1);
    break_call("cuCtxGetDevice", 1);
    EXPECT_EQ(Device::borrow(context, driver()).error().code, Errc::driver_failed);
    EXPECT_EQ(Device::borrow(context, driver("_absent")).error().code, Errc::driver_missing);
}

}  // namespace
}  // namespace ptxgraft
