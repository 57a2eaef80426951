// The parts of a timing, one by one: its kernels, which the emulator runs and every ptxas takes; the layout
// of its memory; what NVML tells.
#include <gmock/gmock.h>

#include <set>

#include "device/fake_gpu.hpp"
#include "measure/timing/nvml.hpp"
#include "measure/timing/sets.hpp"
#include "measure/timing/timing_kernels.hpp"
#include "ptxgraft/isa.hpp"
#include "ptxgraft/program.hpp"
#include "template/launches.hpp"

namespace ptxgraft::measure {
namespace {

class TimingKernelsOnTheEmulator : public testing::Test {
  protected:
    Device device_ = Device::open("emulator").value();
    TimingKernels kernels_ = TimingKernels::load(device_).value();
    Stream stream_ = device_.create_stream().value();
};

std::vector<std::byte> noise(std::size_t bytes, std::uint64_t seed) {
    stack::Random random(seed);
    std::vector<std::byte> all(bytes);
    for (std::byte& one : all) one = static_cast<std::byte>(random.next());
    return all;
}

TEST_F(TimingKernelsOnTheEmulator, TheDigestIsTheHosts) {
    for (const std::size_t bytes : {16u, 2048u, 4096u, 100000u}) {
        const std::vector<std::byte> content = noise(bytes, bytes);
        const Buffer buffer = device_.upload(content).value();
        const Buffer slots = device_.upload(std::vector<Slot>(3)).value();
        ASSERT_OK(kernels_.digest(buffer.address(), bytes, 77, slots.address() + sizeof(Slot), stream_));
        const auto read = slots.download<Slot>().value();
        EXPECT_EQ(read[1].digest, host_digest(content, 77)) << bytes;
        EXPECT_EQ(read[0].digest, 0u);
        EXPECT_EQ(read[2].digest, 0u);
    }
}

// One bit anywhere, two words exchanged, or another seed make another digest.
TEST(TimingKernels, ADigestSeesEachBit) {
    std::vector<std::byte> content(256);
    const std::uint64_t zeros = host_digest(content, 1);
    EXPECT_NE(zeros, host_digest(content, 2));
    std::set<std::uint64_t> seen{zeros};
    for (std::size_t bit = 0; bit < 8 * content.size(); ++bit) {
        content[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
        EXPECT_TRUE(seen.insert(host_digest(content, 1)).second) << bit;
        content[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    }
    std::vector<std::byte> mixed = noise(256, 9), exchanged = mixed;
    std::swap_ranges(exchanged.begin(), exchanged.begin() + 8, exchanged.begin() + 8);
    EXPECT_NE(host_digest(mixed, 1), host_digest(exchanged, 1));
}

TEST_F(TimingKernelsOnTheEmulator, CopiesAndFills) {
    const std::vector<std::byte> content = noise(50000, 1);
    const Buffer from = device_.upload(content).value(), to = device_.allocate(content.size() + 16).value();
    ASSERT_OK(to.fill(std::byte{7}));
    ASSERT_OK(kernels_.copy(to.address(), from.address(), content.size(), stream_));
    std::vector<std::byte> read = to.download<std::byte>().value();
    EXPECT_TRUE(std::equal(content.begin(), content.end(), read.begin()));
    EXPECT_EQ(read.back(), std::byte{7});
    ASSERT_OK(kernels_.fill(to.address(), content.size(), 0x03030303, stream_));
    read = to.download<std::byte>().value();
    EXPECT_EQ(std::ranges::count(read, std::byte{3}), static_cast<std::ptrdiff_t>(content.size()));
    EXPECT_EQ(read.back(), std::byte{7});
}

// What was discarded has no value: the emulator finds who reads it.
TEST_F(TimingKernelsOnTheEmulator, Discards) {
    const Buffer buffer = device_.upload(noise(4096, 1)).value(),
                 slots = device_.upload(std::vector<Slot>(1)).value();
    ASSERT_OK(kernels_.discard(buffer.address() + 1024, 2048, stream_));
    EXPECT_OK(kernels_.digest(buffer.address(), 1024, 1, slots.address(), stream_));
    EXPECT_OK(kernels_.digest(buffer.address() + 3072, 1024, 1, slots.address(), stream_));
    EXPECT_FALSE(kernels_.digest(buffer.address(), 2048, 1, slots.address(), stream_));
}

TEST_F(TimingKernelsOnTheEmulator, TheMarkerEnds) {
    const Buffer slots = device_.upload(std::vector<Slot>(2)).value();
    ASSERT_OK(kernels_.mark(slots.address(), stream_));
    const auto read = slots.download<Slot>().value();
    EXPECT_EQ(read[0].digest, 0u);
    EXPECT_EQ(read[0].unused, 0u);
    EXPECT_GT(read[0].cycles, 0u);
}

TEST(TimingKernels, TheirPtxIsRight) {
    const auto module = syntax::parse(std::string(timing_ptx()));
    ASSERT_OK(module);
    for (const Error& error : isa::verify(*module)) ADD_FAILURE() << describe(error, timing_ptx());
    for (const char* const target : {"sm_80", "sm_90", "sm_100"})
        EXPECT_OK(default_assembler().assemble(timing_ptx(), {.target = target}));
}

// What the emulator computes stands for a GPU's results: right ones are right for their seed alone.
TEST(TimedLaunchOfAWorkload, AsksTheReference) {
    const auto workload = Workload::parse(R"json({"template": "norm/rms", "choices": {"type": "f32"},
        "shapes": [{"rows": 3, "columns": 257}], "regimes": ["usual"]})json");
    ASSERT_OK(workload);
    const auto checker = Checker::open(*workload, Device::open("emulator").value());
    ASSERT_OK(checker);
    const auto timed = timed_launch(*checker);
    ASSERT_OK(timed);
    const TemplateLaunch& launch = timed->launch;
    std::vector<Buffer> buffers;
    double bytes = 0;
    for (const TemplateTensor& tensor : launch.tensors) {
        buffers.push_back(checker->device().upload(timed->input(tensor, 5).value()).value());
        bytes += tensor.is_places ? 0 : static_cast<double>(tensor.bytes);
    }
    EXPECT_EQ(timed->necessary_bytes, bytes);
    const auto arguments = templates::arguments_over(launch, buffers, timed->null).value();
    ASSERT_OK(checker->baseline().launch_with(launch.config, arguments));
    std::vector<std::vector<std::byte>> tensors;
    for (const Buffer& buffer : buffers) tensors.push_back(buffer.download<std::byte>().value());
    EXPECT_TRUE(timed->is_right(5, tensors).value());
    EXPECT_FALSE(timed->is_right(6, tensors).value());
    const std::string& output = workload->from().outputs().at(0);
    const auto out = static_cast<std::size_t>(templates::find_tensor(launch, output) - launch.tensors.data());
    tensors[out][4 * 300 + 3] ^= std::byte{0x40};
    EXPECT_FALSE(timed->is_right(5, tensors).value());
    const auto refused = Session::open(*checker);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::timing_not_possible);
}

TEST(TimingSets, TensorsStandBetweenCanaries) {
    TemplateLaunch launch;
    const auto add = [&](std::uint64_t bytes, TensorAccess access) {
        TemplateTensor tensor;
        tensor.bytes = bytes, tensor.access = access;
        launch.tensors.push_back(tensor);
    };
    add(10, TensorAccess::in), add(100, TensorAccess::scratch), add(2048, TensorAccess::out);
    const Layout layout = layout_of(launch);
    EXPECT_THAT(layout.offsets, testing::ElementsAre(1024, 7168, 3072));
    EXPECT_EQ(layout.digested, 6144u);  // a canary, 10, a canary, 2048, a canary
    EXPECT_EQ(layout.bytes, 9216u);
}

TEST_F(FakeGpu, NvmlTellsTheClock) {
    const std::string library = driver().driver, uuid = device().properties()->uuid;
    const auto nvml = Nvml::open(library, uuid);
    ASSERT_NE(nvml, nullptr);
    fake().megahertz = 1234, fake().compute_processes = 3;
    fake().celsius = 77, fake().throttled = 8;
    EXPECT_EQ(nvml->state().megahertz, 1234);
    EXPECT_EQ(nvml->state().celsius, 77u);
    EXPECT_EQ(nvml->state().throttled, 8u);
    EXPECT_EQ(nvml->processes(), 3u);
    fake().compute_processes = 0;
    EXPECT_EQ(nvml->processes(), 0u);
    EXPECT_EQ(Nvml::open(library, "MIG-1"), nullptr);
    EXPECT_EQ(Nvml::open("libnone.so", uuid), nullptr);
    EXPECT_EQ(Nvml::open("", uuid), nullptr);
    fake().megahertz = 0;
    EXPECT_EQ(Nvml::open(library, uuid), nullptr);
}

}  // namespace
}  // namespace ptxgraft::measure
