// What somebody else owns: contexts, streams, memory. It is used, checked, and never destroyed.
#include <gmock/gmock.h>

#include "device/fake_gpu.hpp"

namespace ptxgraft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

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

// In the fake driver a kernel's number is that of its function and one more.
TEST_F(FakeGpu, BorrowedKernelsAreLaunchedAndNotUnloaded) {
    const auto owner = load_fill("other");
    ASSERT_OK(owner);
    fake().argument_sizes = {8, 4, 2, 12};
    const std::uint64_t number = fake().last_function;
    for (const auto& [kind, handle] :
         {std::pair{FunctionHandle::function, number}, {FunctionHandle::kernel, number + 1}}) {
        fake().launches.clear();
        const auto borrowed = device().borrow_function(kind, handle);
        ASSERT_OK(borrowed);
        EXPECT_EQ(borrowed->entry(), "other");
        EXPECT_EQ(borrowed->ptx(), "");
        std::vector<std::string> parameters;
        for (const ParameterInfo& p : borrowed->parameters())
            parameters.push_back(p.type + " " + p.name + " " + std::to_string(p.bytes));
        EXPECT_THAT(parameters, ElementsAre("b64 0 8", "b32 1 4", "b16 2 2", "b8 3 12"));
        const std::array<Argument, 4> arguments{std::uint64_t{64}, 1.5f, std::uint16_t{7},
                                                std::array<int, 3>{}};
        EXPECT_OK(borrowed->launch({.grid = {3}, .block = {32}, .shared_bytes = 100 * 1024}, arguments));
        ASSERT_EQ(fake().launches.size(), 1u);
        EXPECT_EQ(fake().launches[0].function, "other");
        EXPECT_EQ(fake().launches[0].arguments[1].size(), 4u);
        EXPECT_EQ(borrowed->launch({}, std::span(arguments).first(2)).error().code,
                  Errc::argument_count_wrong);
        EXPECT_EQ(borrowed->launch({}, std::array<Argument, 4>{1.0, 1.0, 1.0, 1.0}).error().code,
                  Errc::argument_size_wrong);
        EXPECT_EQ(borrowed->attributes()->registers, 40u);
        EXPECT_EQ(borrowed->variable("table")->bytes(), 64u);
        EXPECT_THAT(failure(borrowed->variable("tables")), Not(HasSubstr("the module has none")));
        EXPECT_EQ(borrowed->other("fill").error().code, Errc::entry_unknown);
    }
    EXPECT_EQ(fake().calls["cuModuleUnload"], 0);
    EXPECT_EQ(device().loaded_modules(), 1u);
}

TEST_F(FakeGpu, BorrowedKernelsKeepTheirCluster) {
    const auto owner = load_fill("other");
    fake().argument_sizes.clear();
    fake().function_attributes[10] = 1;
    const std::uint64_t number = fake().last_function;
    const auto any = device().borrow_function(FunctionHandle::function, number);
    EXPECT_THAT(failure(any->launch({.grid = {4}}, {})), HasSubstr("wants a cluster"));
    fake().function_attributes[11] = 2, fake().function_attributes[12] = 1,
    fake().function_attributes[13] = 1;
    const auto two = device().borrow_function(FunctionHandle::function, number);
    EXPECT_OK(two->launch({.grid = {4}}, {}));
    EXPECT_EQ(fake().launches.back().cluster, (std::array<unsigned, 3>{2, 1, 1}));
    EXPECT_EQ(two->launch({.grid = {3}}, {}).error().code, Errc::launch_shape_invalid);
}

TEST_F(FakeGpu, KernelsThatCannotBeBorrowed) {
    const auto owner = load_fill("other");
    const std::uint64_t number = fake().last_function;
    EXPECT_EQ(device().borrow_function(FunctionHandle::kernel, 0).error().code, Errc::argument_invalid);
    EXPECT_THAT(failure(device().borrow_function(FunctionHandle::kernel, number + 5)),
                HasSubstr("cuKernelGetFunction"));
    EXPECT_EQ(Device::open("emulator")->borrow_function(FunctionHandle::kernel, number).error().code,
              Errc::device_differs);
    for (const char* call :
         {"cuFuncGetName", "cuFuncGetParamInfo", "cuFuncGetAttribute", "cuFuncGetModule", "cuFuncLoad"}) {
        break_call(call, 999);
        EXPECT_EQ(device().borrow_function(FunctionHandle::function, number).error().code,
                  Errc::driver_failed)
            << call;
        break_call("", 0);
        fake().lost_with = 0;
    }
    const Device old = Device::open("cuda", driver("_old")).value();
    EXPECT_EQ(old.borrow_function(FunctionHandle::kernel, 16).error().code, Errc::driver_too_old);
    EXPECT_EQ(old.borrow_function(FunctionHandle::function, 16).error().code, Errc::driver_too_old);
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
