// What a search loop asks of a GPU: its properties, what functions take, graphs, borrowed handles, the
// driver's JIT, timings without loads, and its health.

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

#include "gpu/gpu.hpp"
#include "ptxgraft/graph.hpp"

namespace ptxgraft {
namespace {

using testing::StartsWith;

// *a = *a + n, and *a = *a * n, by one thread.
constexpr std::string_view arithmetic = R"(.version 7.0
.target sm_75
.address_size 64
.visible .entry add(.param .u64 a, .param .u32 n)
{
	.reg .b32 %r<3>; .reg .b64 %rd;
	ld.param.u64 %rd, [a]; ld.param.u32 %r1, [n];
	ld.global.u32 %r2, [%rd]; add.u32 %r2, %r2, %r1; st.global.u32 [%rd], %r2;
	ret;
}
.visible .entry times(.param .u64 a, .param .u32 n)
{
	.reg .b32 %r<3>; .reg .b64 %rd;
	ld.param.u64 %rd, [a]; ld.param.u32 %r1, [n];
	ld.global.u32 %r2, [%rd]; mul.lo.u32 %r2, %r2, %r1; st.global.u32 [%rd], %r2;
	ret;
}
)";

std::uint32_t word(const Buffer& buffer) { return value(buffer.download<std::uint32_t>())[0]; }

TEST_F(Gpu, SaysItsProperties) {
    const DeviceProperties has = value(device().properties());
    EXPECT_EQ(has.name, device().name());
    EXPECT_THAT(has.uuid, StartsWith("GPU-"));
    EXPECT_EQ(has.uuid.size(), 40u);
    EXPECT_EQ(has.target, device().target());
    EXPECT_GE(has.multiprocessors, 1u);
    EXPECT_EQ(has.warp_size, 32u);
    EXPECT_GT(has.memory_bytes, std::uint64_t{1} << 30);
    EXPECT_GT(has.l2_bytes, 0u);
    EXPECT_GE(has.shared_bytes_per_multiprocessor,
              has.shared_bytes_per_block_optin + has.reserved_shared_bytes_per_block);
    EXPECT_GE(has.peak_bytes_per_second(), 0.0);
    const auto all = value(Device::list_cuda());
    ASSERT_GE(all.size(), 1u);
    EXPECT_EQ(all[0].uuid, has.uuid);
    // What the emulator says of the same architecture.
    const auto emulated = Device::open("emulator:" + has.target);
    if (!emulated) return;
    const DeviceProperties same = value(emulated->properties());
    EXPECT_EQ(has.threads_per_multiprocessor, same.threads_per_multiprocessor);
    EXPECT_EQ(has.blocks_per_multiprocessor, same.blocks_per_multiprocessor);
    EXPECT_EQ(has.shared_bytes_per_block_optin, same.shared_bytes_per_block_optin);
    EXPECT_EQ(has.shared_bytes_per_multiprocessor, same.shared_bytes_per_multiprocessor);
    EXPECT_EQ(has.registers_per_multiprocessor, same.registers_per_multiprocessor);
}

TEST_F(Gpu, FunctionsSayWhatTheyTake) {
    const Function add = value(device().load(arithmetic, "add"));
    const FunctionAttributes has = value(add.attributes());
    EXPECT_GT(has.registers, 0u);
    EXPECT_EQ(has.local_bytes, 0u);
    EXPECT_EQ(has.threads_per_block, 1024u);
    EXPECT_GE(has.binary_version, 75u);
    EXPECT_GE(value(add.blocks_per_multiprocessor(128)), 1u);
    EXPECT_EQ(value(add.blocks_per_multiprocessor(128, has.most_dynamic_shared_bytes)), 1u);
    EXPECT_EQ(value(add.blocks_per_multiprocessor(2048)), 0u);
    done(add.prefer_shared_memory(50));
    if (value(device().properties()).blocks_per_cluster > 1) {
        EXPECT_GE(value(add.active_clusters({.grid = {2}, .block = {128}, .cluster = {2}})), 1u);
    }
}

TEST_F(Gpu, LaunchesWithAttributes) {
    const Function add = value(device().load(arithmetic, "add"));
    const Buffer sum = value(device().upload(std::vector<std::uint32_t>{0}));
    const StreamPriorities range = value(device().stream_priorities());
    const Stream urgent = value(device().create_stream({.priority = range.greatest, .non_blocking = true}));
    const std::array<Argument, 2> one{sum, 1u};
    done(add.launch({.cooperative = true}, one, &urgent));
    done(add.launch({.priority = range.least}, one, &urgent));
    done(urgent.synchronize());
    EXPECT_EQ(word(sum), 2u);
    if (value(device().properties()).compute_major >= 9) {
        done(add.launch({.programmatic = true}, one, &urgent));
        done(urgent.synchronize());
        EXPECT_EQ(word(sum), 3u);
    }
    const CurrentDevice current = value(device().make_current());
    done(add.launch({}, one));
    done(device().synchronize());
    EXPECT_EQ(word(sum), value(device().properties()).compute_major >= 9 ? 4u : 3u);
}

TEST_F(Gpu, GraphsReplayAndChange) {
    const Function add = value(device().load(arithmetic, "add")), times = value(add.other("times"));
    const Function variant = value(device().load(arithmetic, "add"));  // of another module
    const Buffer sum = value(device().upload(std::vector<std::uint32_t>{1}));
    const Stream stream = value(device().create_stream());
    Graph graph = value(device().create_graph());
    value(graph.add(add, {}, std::array<Argument, 2>{sum, 2u}));
    value(graph.add(times, {}, std::array<Argument, 2>{sum, 10u}));
    done(graph.instantiate());
    EXPECT_EQ(word(sum), 1u);
    done(graph.launch(&stream));
    done(stream.synchronize());
    EXPECT_EQ(word(sum), 30u);
    done(graph.change(1, variant, {}, std::array<Argument, 2>{sum, 5u}));
    done(graph.launch(&stream));
    done(graph.launch(&stream));
    EXPECT_EQ(word(sum), 44u);
}

TEST_F(Gpu, BorrowedHandlesAreOfSomebodyElse) {
    const Device same = value(Device::borrow(device().context()));
    EXPECT_EQ(same.name(), device().name());
    const Stream stream = value(device().create_stream());
    const Buffer owner = value(device().upload(std::vector<std::uint32_t>{0, 7}));
    {
        const Stream borrowed = value(same.borrow_stream(stream.handle()));
        const Buffer second = value(same.borrow_buffer(owner.address() + 4, 4));
        const Function add = value(same.load(arithmetic, "add"));
        done(add.launch({}, std::array<Argument, 2>{second, 3u}, &borrowed));
        done(borrowed.synchronize());
    }
    EXPECT_EQ(value(owner.download<std::uint32_t>())[1], 10u);
    done(stream.synchronize());
}

// Loaded by the driver alone, as another library does it.
TEST_F(Gpu, KernelsOfOthersAreLaunched) {
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
    ASSERT_NE(driver, nullptr);
    const auto call = [&](const char* name, auto... arguments) {
        using Entry = int (*)(decltype(arguments)...);
        return reinterpret_cast<Entry>(dlsym(driver, name))(arguments...);
    };
    void *module = nullptr, *function = nullptr, *library = nullptr, *kernel = nullptr;
    const std::string text(arithmetic);
    ASSERT_EQ(call("cuCtxSetCurrent", reinterpret_cast<void*>(device().context())), 0);
    ASSERT_EQ(call("cuModuleLoadData", &module, static_cast<const void*>(text.c_str())), 0);
    ASSERT_EQ(call("cuModuleGetFunction", &function, module, "times"), 0);
    ASSERT_EQ(call("cuLibraryLoadData", &library, static_cast<const void*>(text.c_str()), nullptr, nullptr,
                   0u, nullptr, nullptr, 0u),
              0);
    ASSERT_EQ(call("cuLibraryGetKernel", &kernel, library, "times"), 0);
    for (const auto& [kind, handle] :
         {std::pair{FunctionHandle::function, function}, {FunctionHandle::kernel, kernel}}) {
        const auto number = reinterpret_cast<std::uint64_t>(handle);
        const Function times = value(device().borrow_function(kind, number));
        EXPECT_EQ(times.entry(), "times");
        EXPECT_EQ(times.parameters().size(), 2u);
        const Buffer product = value(device().upload(std::vector<std::uint32_t>{6}));
        done(times.launch({}, std::array<Argument, 2>{product, 7u}));
        EXPECT_EQ(word(product), 42u);
    }
    EXPECT_EQ(call("cuModuleUnload", module), 0);
    EXPECT_EQ(call("cuLibraryUnload", library), 0);
    EXPECT_TRUE(device().health().ok());
}

TEST_F(Gpu, TheDriverAssembles) {
    const auto jit = value(driver_jit(device()));
    const Cubin cubin = value(jit->assemble(arithmetic));
    const Function add = value(device().load(arithmetic, "add", &cubin));
    const Buffer sum = value(device().upload(std::vector<std::uint32_t>{1}));
    done(add.launch({}, std::array<Argument, 2>{sum, 2u}));
    EXPECT_EQ(word(sum), 3u);
    const auto wrong = jit->assemble(
        ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\nadd.f32 %f1, 1, "
        "2;\nret;\n}\n");
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, Errc::assemble_failed);
    EXPECT_TRUE(wrong.error().span.known()) << describe(wrong.error());
}

TEST_F(Gpu, ModulesComeAndGoBehindTimings) {
    const std::size_t before = device().loaded_modules();
    std::thread loads;
    {
        const TimingGuard timing = device().timing();
        loads = std::thread([&] { value(device().load(arithmetic, "add")); });
        value(device().load(arithmetic, "add"));  // its own; unloaded when the timing ends
        EXPECT_EQ(device().loaded_modules(), before + 1);
    }
    loads.join();
    EXPECT_EQ(device().loaded_modules(), before);
}

TEST_F(Gpu, PersistingL2) {
    const DeviceProperties has = value(device().properties());
    if (has.persisting_l2_bytes == 0) GTEST_SKIP() << "this GPU has none";
    done(device().set_persisting_l2(has.persisting_l2_bytes / 2));
    EXPECT_GT(value(device().persisting_l2()), 0u);
    done(device().reset_persisting_l2());
    done(device().set_persisting_l2(0));
}

// It costs the context, so it runs in a process of its own.
TEST_F(Gpu, AFailingKernelCostsTheHealth) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto fail_and_report = [] {
        const Device device = value(Device::open("cuda"));
        const Function add = value(device.load(arithmetic, "add"));
        const bool was_well = device.health().ok();
        done(add.launch({}, std::array<Argument, 2>{std::uint64_t{64}, 1u}));
        const auto failed = device.synchronize();
        const bool is_lost = !failed && failed.error().context_lost && !device.health().ok() &&
                             device.health().lost->code == Errc::launch_failed;
        std::exit(was_well && is_lost ? 0 : 1);
    };
    EXPECT_EXIT(fail_and_report(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace ptxgraft
