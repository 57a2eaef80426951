// Every public object from several threads at once, as far as its header lets them. Meant to be run under the
// thread sanitizer (preset `tsan`) as well.
#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "device/fair_mutex.hpp"
#include "ptxgraft/emulator_observer.hpp"
#include "ptxgraft/ptxgraft.h"
#include "ptxgraft/ptxgraft.hpp"

namespace ptxgraft {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

// x[i] becomes f(x[i], s), with the sum of a variable, a constant and minus 10 added, which is 0. Block 0
// prints.
const std::string ptx = R"(.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 v);
.visible .global .align 4 .u32 seven = 7;
.visible .global .align 4 .b8 unused[1000];
.visible .const .align 4 .u32 three = 3;
.global .align 1 .b8 format[4] = {37, 100, 10, 0};
.visible .entry k(.param .u64 p, .param .f32 s)
{
	.reg .f32 %f<4>; .reg .b64 %rd<6>; .reg .b32 %r<14>; .reg .pred %q;
	.local .align 8 .b8 values[8];
	ld.param.u64 %rd1, [p]; ld.param.f32 %f2, [s];
	mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r1, %r2, 64, %r1; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd1, %rd2;
	ld.global.f32 %f1, [%rd2];
	ld.global.u32 %r9, [seven]; ld.const.u32 %r8, [three]; add.u32 %r9, %r9, %r8; sub.u32 %r9, %r9, 10; cvt.rn.f32.u32 %f3, %r9; add.f32 %f1, %f1, %f3;
	{ // PTXGRAFT_SITE f
	.reg .f32 _acc; // mod f32 acc
	mov.b32 _acc, %f1;
	.reg .f32 _bias; // in f32 bias
	mov.b32 _bias, %f2;
	// PTXGRAFT_STUB
	add.f32 _acc, _acc, _bias;
	// PTXGRAFT_END
	mov.b32 %f1, _acc;
	}
	st.global.f32 [%rd2], %f1;
	setp.ne.u32 %q, %r1, 0;
	@%q bra E;
	mov.u64 %rd3, format; cvta.global.u64 %rd3, %rd3; st.local.u32 [values], %r9; mov.u64 %rd4, values; cvta.local.u64 %rd4, %rd4;
	{ .param .b64 a, b; .param .b32 r; st.param.b64 [a], %rd3; st.param.b64 [b], %rd4; call (r), vprintf, (a, b); }
E:
	ret;
}
)";
constexpr std::uint32_t count = 256;
const LaunchConfig config{.grid = {4}, .block = {64}};

struct Variant {
    const char* program;
    float (*function)(float, float);
};
constexpr Variant variants[] = {{"acc bias mul.f32 -> acc", [](float x, float s) { return x * s; }},
                                {"acc bias sub.f32 -> acc", [](float x, float s) { return x - s; }},
                                {"acc bias max.f32 -> acc", [](float x, float s) { return x > s ? x : s; }}};

std::vector<float> numbers(unsigned seed) {
    std::vector<float> all(count);
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = static_cast<float>((i * 37 + seed * 101) % 200) / 4 - 25;
    return all;
}

// Calls work(t) for t = 0, 1, … on threads of their own.
template <class Work> void on_threads(unsigned threads, Work&& work) {
    std::vector<std::jthread> all;
    for (unsigned t = 0; t < threads; ++t) all.emplace_back([&work, t] { work(t); });
}

template <class T> bool ok(const Expected<T>& result) {
    EXPECT_TRUE(result) << describe(result.error());
    return result.has_value();
}

// ------------------------------------------------------------------------------------------------ C++: devic

// One device and one skeleton for all: each makes kernels, launches, copies and destroys them.
TEST(Threads, MakeLaunchAndDestroyKernelsOnOneDevice) {
    const auto device = Device::emulator({.threads = 2}).value();
    const auto skeleton = Skeleton::from_ptx(ptx).value();
    on_threads(4, [&](unsigned t) {
        for (unsigned i = 0; i < 15; ++i) {
            const Variant& variant = variants[(t + i) % 3];
            const float s = static_cast<float>(i) - 7;
            const auto stub = stack::compile(variant.program, *skeleton.site("f"));
            if (!ok(stub)) return;
            const auto kernel = skeleton.graft({{"f", *stub}}, device);
            const auto x = numbers(t);
            const auto buffer = device.upload(x), copy = device.allocate(count * sizeof(float));
            if (!ok(kernel) || !ok(buffer) || !ok(copy) || !ok(kernel->launch(config, *buffer, s)) ||
                !ok(copy->copy_from(*buffer)))
                return;
            const auto y = copy->download<float>();
            if (!ok(y)) return;
            for (std::size_t k = 0; k < x.size(); ++k)
                ASSERT_EQ((*y)[k], variant.function(x[k], s)) << variant.program;
            static_cast<void>(device.take_output());
        }
    });
}

// One kernel for all.
TEST(Threads, LaunchOneKernel) {
    const auto device = Device::open("emulator").value();
    const auto kernel = Skeleton::from_ptx(ptx)->graft({}, device).value();
    std::atomic<std::size_t> lines = 0;
    on_threads(4, [&](unsigned t) {
        for (unsigned i = 0; i < 15; ++i) {
            const auto x = numbers(t);
            const auto buffer = device.upload(x);
            const Stream stream = device.create_stream().value();
            if (!ok(buffer) || !ok(kernel.launch_on(stream, config, *buffer, 2.0f))) return;
            const auto y = buffer->download<float>();
            for (std::size_t k = 0; k < x.size(); ++k) ASSERT_EQ((*y)[k], x[k] + 2);
            const std::string text = device.take_output();
            lines += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
            EXPECT_EQ(kernel.entry(), "k");
            EXPECT_EQ(kernel.function().parameters().size(), 2u);
            // A launch that fails, with its text.
            const auto wrong = kernel.launch({.grid = {5}, .block = {64}}, *buffer, 2.0f);
            ASSERT_FALSE(wrong);
            EXPECT_THAT(describe(wrong.error()), HasSubstr("out of bounds"));
        }
    });
    const std::string text = device.take_output();
    EXPECT_GE(lines + static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), 4u * 15);
}

TEST(Threads, BuffersStreamsAndEventsOfOneDevice) {
    const auto device = Device::open("emulator").value();
    std::vector<std::thread> last;  // objects that end on another thread than the one that made them
    on_threads(4, [&](unsigned t) {
        Stream stream = device.create_stream().value();
        Event start = device.create_event().value(), end = device.create_event().value();
        EXPECT_TRUE(start.record(&stream));
        std::vector<Buffer> buffers;
        for (unsigned i = 0; i < 40; ++i) {
            buffers.push_back(device.upload(std::vector<unsigned>(100, t * 1000 + i)).value());
            EXPECT_EQ(buffers.back().download<unsigned>()->at(50), t * 1000 + i);
            EXPECT_TRUE(i % 2 == 0 ? buffers.back().fill(std::byte{1}) : buffers.back().poison(std::byte{2}));
            if (i % 5 == 4) buffers.erase(buffers.begin());
        }
        EXPECT_TRUE(end.record());
        EXPECT_GE(end.elapsed_since(start).value(), 0.0f);
        EXPECT_TRUE(stream.synchronize());
        EXPECT_TRUE(device.synchronize());
        std::thread([moved = std::move(buffers), kept = std::move(stream), point = std::move(end)] {}).join();
    });
}

// Many devices at a time, each with observers of its own.
TEST(Threads, EmulatorsOfTheirOwn) {
    on_threads(4, [&](unsigned t) {
        EmulatorProfile profile;
        const auto device =
            Device::emulator({.threads = 2, .fast = t % 2 == 0, .observer = t < 2 ? &profile : nullptr})
                .value();
        const auto kernel = Skeleton::from_ptx(ptx)->graft({}, device).value();
        const auto buffer = device.upload(numbers(t)).value();
        for (unsigned i = 0; i < 5; ++i) EXPECT_TRUE(kernel.launch(config, buffer, 1.0f));
        EXPECT_EQ(profile.lines().empty(), t >= 2);
    });
}

const std::string endless =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\n.reg .b32 %r;\nL: add.u32 %r, 1, "
    "1; bra L;\n}\n";

// What does not use the device's memory waits for no launch: kernels and buffers are made and destroyed,
// texts taken, events recorded.
TEST(Threads, NothingButLaunchesAndCopiesWaitsForALaunch) {
    const auto device = Device::emulator({.threads = 2}).value();
    const auto skeleton = Skeleton::from_ptx(ptx).value();
    const auto function = device.load(endless, "").value();
    std::stop_source source;
    std::atomic<bool> runs = false;
    std::jthread launching([&] {
        const LaunchLimits limits{.time_limit_ms = 60'000, .stop = source.get_token(), .should_stop = [&] {
                                      runs = true;
                                      return false;
                                  }};
        EXPECT_EQ(function.launch({.grid = {4}, .limits = limits}, {}).error().code, Errc::launch_stopped);
    });
    while (!runs) std::this_thread::yield();
    for (unsigned i = 0; i < 5; ++i) {
        const auto stub = stack::compile(variants[i % 3].program, *skeleton.site("f"));
        EXPECT_TRUE(skeleton.graft({{"f", *stub}}, device));
        EXPECT_TRUE(device.allocate(1000));
        EXPECT_EQ(device.take_output(), "");
        Event event = device.create_event().value();
        EXPECT_TRUE(event.record());
    }
    source.request_stop();
    launching.join();
    // And what was made meanwhile is there.
    const auto kernel = skeleton.graft({}, device).value();
    const auto buffer = device.upload(numbers(1)).value();
    EXPECT_TRUE(kernel.launch(config, buffer, 1.0f));
}

// First come, first served: a thread that launches in a loop has one turn for each of another one's.
TEST(Threads, ALoopOfLaunchesStarvesNobody) {
    const auto device = Device::emulator({.threads = 1}).value();
    const auto function = device.load(endless, "").value();
    const auto buffer = device.allocate(1000).value();
    constexpr unsigned turns = 20;
    std::atomic<unsigned> launches = 0;
    std::atomic<bool> is_over = false;
    std::jthread launching([&] {
        while (!is_over) {
            EXPECT_FALSE(function.launch({.limits = {.time_limit_ms = 3}}, {}));
            ++launches;
        }
    });
    while (launches == 0) std::this_thread::yield();
    const unsigned before = launches;
    for (unsigned i = 0; i < turns; ++i) EXPECT_TRUE(buffer.fill(std::byte{1}));
    const unsigned meanwhile = launches - before;
    is_over = true;
    EXPECT_LE(meanwhile, 2 * turns);
}

// In the order in which they came.
TEST(Threads, AFairMutexKeepsTheOrder) {
    device::FairMutex mutex;
    std::vector<unsigned> order;
    std::vector<std::jthread> threads;
    std::atomic<unsigned> here = 0;
    mutex.lock();
    for (unsigned t = 0; t < 6; ++t) {
        threads.emplace_back([&, t] {
            ++here;
            // One of them gives up.
            if (!mutex.lock_unless([t] { return t == 3; }, milliseconds(1))) return;
            order.push_back(t);
            mutex.unlock();
        });
        while (here <= t) std::this_thread::yield();
        std::this_thread::sleep_for(milliseconds(20));
    }
    mutex.unlock();
    threads.clear();
    EXPECT_THAT(order, testing::ElementsAre(0, 1, 2, 4, 5));
    mutex.lock();  // nobody has it
    mutex.unlock();
    // Whoever throws while it waits leaves the queue.
    mutex.lock();
    on_threads(2, [&](unsigned) {
        EXPECT_THROW(mutex.lock_unless([]() -> bool { throw std::runtime_error("no"); }, milliseconds(1)),
                     std::runtime_error);
    });
    mutex.unlock();
    mutex.lock();
    mutex.unlock();
}

// Blocks that race in emulated memory race there alone: every value is one that somebody wrote, and the host
// is none the worse.
TEST(Threads, RacesOfBlocksAreRacesOfEmulatedMemory) {
    const std::string text =
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n.reg .b32 "
        "%r<9>; .reg .b64 %rd<5>; .reg .pred %q;\n"
        ".shared .align 16 .b8 s[1024];\n"
        "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mul.wide.u32 %rd2, %r1, 4; "
        "add.u64 %rd2, %rd1, %rd2; mov.u32 %r3, 0;\n"
        "shl.b32 %r6, %r1, 4; mov.u32 %r7, s; add.u32 %r6, %r6, %r7; mul.wide.u32 %rd3, %r1, 16; add.u64 "
        "%rd3, %rd1, %rd3;\n"
        "L: st.global.u32 [%rd2], %r2; ld.global.u32 %r4, [%rd2]; atom.global.add.u32 %r5, [%rd1+1024], 1; "
        "red.global.max.u32 [%rd1+1028], %r2;\n"
        "st.global.v4.u32 [%rd3+2048], {%r2, %r2, %r2, %r2}; ld.global.v4.u32 {%r4, %r5, %r4, %r5}, "
        "[%rd3+2048]; st.volatile.global.u32 [%rd1+1032], %r2;\n"
        "ld.volatile.global.u32 %r4, [%rd1+1032]; cp.async.ca.shared.global [%r6], [%rd3+2048], 16; "
        "cp.async.wait_all; st.global.u8 [%rd2+1040], %r2;\n"
        "add.u32 %r3, %r3, 1; setp.lt.u32 %q, %r3, 20; @%q bra L;\nret;\n}\n";
    for (const bool fast : {false, true}) {
        const auto device = Device::emulator({.threads = 4, .fast = fast}).value();
        const auto function = device.load(text, "").value();
        const auto buffer = device.upload(std::vector<std::uint32_t>(1024)).value();
        const auto run = function.launch({.grid = {64}, .block = {32}}, std::array<Argument, 1>{buffer});
        ASSERT_TRUE(run) << describe(run.error());
        const auto values = buffer.download<std::uint32_t>().value();
        for (std::size_t i = 0; i < 32; ++i) EXPECT_LT(values[i], 64u);
        EXPECT_EQ(values[256], 64u * 32 * 20);
        EXPECT_EQ(values[257], 63u);
    }
}

// ------------------------------------------------------------------------------------------------ C++: texts

TEST(Threads, ReadOneModuleAndEditTheirOwn) {
    const auto module = syntax::parse(ptx).value();
    const auto skeleton = Skeleton::from_ptx(ptx).value();
    const std::string canonical = syntax::canonical(module);
    on_threads(4, [&](unsigned t) {
        for (unsigned i = 0; i < 10; ++i) {
            EXPECT_EQ(syntax::print(module), ptx);
            EXPECT_EQ(syntax::canonical(module), canonical);
            EXPECT_TRUE(isa::verify(module).empty());
            EXPECT_EQ(module.functions().size(), 2u);
            const auto sites = scan(ptx);
            if (!ok(sites)) return;
            EXPECT_EQ(sites->sites.size(), 1u);
            EXPECT_NE(skeleton.site("f"), nullptr);
            EXPECT_FALSE(skeleton.find_site("g"));
            const auto stub = Stub::from_ptx("add.f32 acc, acc, bias;", *skeleton.site("f"));
            if (!ok(stub)) return;
            EXPECT_THAT(skeleton.render({{"f", *stub}}).value(), HasSubstr("add.f32 _acc, _acc, _bias;"));
            auto own = syntax::parse(ptx);
            if (!ok(own)) return;
            EXPECT_TRUE(own->rename(own->functions().back(), "%f1", "%g" + std::to_string(t)));
            EXPECT_FALSE(syntax::parse(".version 8.0\n.target sm_80\nnonsense " + std::to_string(t)));
            EXPECT_FALSE(isa::forms("fma").empty());
        }
    });
}

TEST(Threads, StackMachinesCompilersEvaluatorsAndSets) {
    const auto signature = Signature::parse("mod f32 x, in f32 y").value();
    const stack::Machine machine = stack::Machine::make(stack::find_set("f32"), signature).value();
    const auto program = stack::parse("x y mul.f32 0.5 add.f32 -> x", machine).value();
    const auto evaluator = stack::Evaluator::make(program, machine).value();
    std::string whole;
    {
        stack::Compiler compiler;
        whole = compiler.compile(program, machine, {})->ptx;
    }
    on_threads(4, [&](unsigned t) {
        stack::Compiler compiler;
        for (unsigned i = 0; i < 10; ++i) {
            EXPECT_EQ(compiler.compile(program, machine, {})->ptx, whole);
            EXPECT_TRUE(stack::compile("x y add.f32 -> x", signature));
            EXPECT_FALSE(stack::compile("x nope" + std::to_string(t) + " -> x", signature));
            EXPECT_TRUE(compile_expression("x = exp(x) * y + tanh(x)", signature));
            EXPECT_TRUE(compile_expression("x = pow(x, y) / log(x)", signature, {.approx = i % 2 == 0}));
            std::vector<float> x(100, 2), y(100, static_cast<float>(t));
            const void* const inputs[] = {x.data(), y.data()};
            void* const outputs[] = {x.data(), nullptr};
            evaluator.run({inputs, outputs, x.size()});
            EXPECT_EQ(x[99], 2 * static_cast<float>(t) + 0.5f);
            for (const char* const name : {"f32", "standard", "full"})
                EXPECT_NE(stack::find_set(name), nullptr);
            const auto set = stack::InstructionSet::parse("include f32\n");
            if (!ok(set)) return;
            EXPECT_TRUE(stack::Machine::make(*set, signature));
            std::vector<stack::Program> programs;
            for (unsigned k = 0; k < 100; ++k) programs.push_back(stack::random_program(machine, k + t, 12));
            const std::vector<stack::ProgramView> views(programs.begin(), programs.end());
            EXPECT_EQ(stack::compile_batch(views, machine, {.threads = 3}).items.size(), 100u);
        }
    });
}

TEST(Threads, CompilersOfCudaAndAssemblers) {
    const std::string cache = testing::TempDir() + "threads_cache";
    const std::string source = "extern \"C\" __global__ void k(float* x) { x[threadIdx.x] *= 2; }";
    on_threads(3, [&](unsigned t) {
        for (unsigned i = 0; i < 2; ++i) {
            const auto compiled = compile_cuda(source, {.target = "sm_90",
                                                        .defines = {"VARIANT=" + std::to_string(t * i)},
                                                        .cache_dir = i == 0 ? "" : cache});
            if (!ok(compiled)) return;
            const auto cubin = default_assembler().assemble(compiled->text, {.relocatable = t == 0});
            EXPECT_TRUE(cubin);
            EXPECT_FALSE(
                default_assembler().assemble(".version 8.0\n.target sm_90\n.entry k() { add.f32; }"));
            EXPECT_FALSE(compile_cuda("no CUDA"));
            if (t != 0 || !cubin) continue;
            const std::span<const std::byte> image(cubin->image);
            EXPECT_TRUE(link_cubins(std::array{image}, "sm_90"));
        }
    });
    std::filesystem::remove_all(cache);
}

// More callers than workers, some of whom stop.
TEST(Threads, APoolOfWorkers) {
    // Sanitizers slow a worker's start and its module, and have memory of their own.
    const auto pool = worker_pool({.workers = 2, .memory_bytes = 0, .modules_per_worker = 7});
    ASSERT_TRUE(ok(pool));
    const auto expected = default_assembler().assemble(ptx);
    ASSERT_TRUE(ok(expected));
    on_threads(4, [&](unsigned t) {
        for (unsigned i = 0; i < 4; ++i) {
            std::stop_source source;
            std::jthread stopper([&] {
                if (i == t) source.request_stop();
            });
            const auto cubin = (*pool)->assemble(ptx, {.stop = source.get_token()});
            if (i == t && !cubin)
                EXPECT_EQ(cubin.error().code, Errc::assembler_ended);
            else
                EXPECT_TRUE(ok(cubin) && cubin->image == expected->image);
        }
    });
}

// ------------------------------------------------------------------------------------------------ C

struct CObjects {
    ptxgraft_device* device = nullptr;
    ptxgraft_skeleton* skeleton = nullptr;
    CObjects() {
        ptxgraft_device_options options = PTXGRAFT_DEVICE_OPTIONS_INIT;
        options.sm = 80;
        options.threads = 2;
        options.time_limit_ms = 60'000;
        options.keep_going = 5;
        EXPECT_EQ(ptxgraft_device_open_with_options(&device, "emulator", &options), PTXGRAFT_STATUS_ok)
            << ptxgraft_error_get_message();
        EXPECT_EQ(ptxgraft_skeleton_create_from_ptx(&skeleton, ptx.data(), ptx.size()), PTXGRAFT_STATUS_ok)
            << ptxgraft_error_get_message();
    }
    ~CObjects() {
        ptxgraft_skeleton_destroy(skeleton);
        ptxgraft_device_destroy(device);
    }
};

// One round of the C interface: everything that it has, on shared objects and on its own.
void c_round(const CObjects& shared, unsigned t, unsigned round) {
    const Variant& variant = variants[(t + round) % 3];
    const float s = static_cast<float>(round);
    const auto check = [](ptxgraft_status status) {
        ASSERT_EQ(status, PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
    };
    ptxgraft_stub* stub = nullptr;
    ptxgraft_kernel* kernel = nullptr;
    ptxgraft_buffer* buffer = nullptr;
    ptxgraft_stream* stream = nullptr;
    ptxgraft_event* event = nullptr;
    check(ptxgraft_stub_create_from_program(&stub, shared.skeleton, "f", variant.program,
                                            std::strlen(variant.program)));
    const ptxgraft_graft graft{"f", stub};
    ptxgraft_graft_options options = PTXGRAFT_GRAFT_OPTIONS_INIT;
    options.grafts = &graft;
    options.graft_count = 1;
    check(ptxgraft_kernel_create(&kernel, shared.skeleton, shared.device, &options));
    // An error: the message is the thread's own.
    const std::string wrong = "acc nope" + std::to_string(t) + " -> acc";
    ptxgraft_stub* none = nullptr;
    EXPECT_NE(ptxgraft_stub_create_from_program(&none, shared.skeleton, "f", wrong.data(), wrong.size()),
              PTXGRAFT_STATUS_ok);
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("nope" + std::to_string(t)));
    EXPECT_EQ(ptxgraft_error_get_column(), 5u);
    const auto x = numbers(t);
    check(ptxgraft_buffer_create(&buffer, shared.device, count * 4));
    check(ptxgraft_buffer_write(buffer, 0, x.data(), count * 4));
    check(ptxgraft_stream_create(&stream, shared.device));
    check(ptxgraft_event_create(&event, shared.device));
    check(ptxgraft_event_record(event, stream));
    ptxgraft_launch_options launch = PTXGRAFT_LAUNCH_OPTIONS_INIT;
    launch.grid[0] = 4;
    launch.block[0] = 64;
    launch.stream = stream;
    launch.should_stop = [](void* payload) {
        return static_cast<std::atomic<int>*>(payload)->load() < 0 ? 1 : 0;
    };
    std::atomic<int> payload = 0;
    launch.payload = &payload;
    const ptxgraft_argument arguments[] = {PTXGRAFT_BUFFER(buffer), PTXGRAFT_VALUE(s)};
    check(ptxgraft_kernel_launch(kernel, &launch, arguments, 2));
    std::vector<float> y(count);
    check(ptxgraft_buffer_read(y.data(), buffer, 0, count * 4));
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], variant.function(x[i], s));
    std::array<char, 1 << 16> text;
    std::size_t size = text.size();
    check(ptxgraft_device_take_output(text.data(), &size, shared.device));
    size = text.size();
    check(ptxgraft_kernel_get_ptx(text.data(), &size, kernel));
    ptxgraft_report* report = nullptr;
    check(ptxgraft_device_take_report(&report, shared.device));
    EXPECT_EQ(ptxgraft_report_get_finding_count(report), 0u);
    ptxgraft_report_destroy(report);
    EXPECT_EQ(ptxgraft_site_get_count(shared.skeleton), 1u);
    EXPECT_STREQ(ptxgraft_device_get_name(shared.device), "emulator");
    ptxgraft_site_info site = PTXGRAFT_SITE_INFO_INIT;
    check(ptxgraft_site_get_info(&site, shared.skeleton, 0));
    ptxgraft_copy_info copy = PTXGRAFT_COPY_INFO_INIT;
    check(ptxgraft_site_get_copy(&copy, shared.skeleton, 0, 0));
    EXPECT_STREQ(copy.function, "k");
    ptxgraft_parameter_info parameter = PTXGRAFT_PARAMETER_INFO_INIT;
    check(ptxgraft_kernel_get_parameter(&parameter, kernel, 1));
    EXPECT_STREQ(parameter.name, "s");
    ptxgraft_event_destroy(event);
    ptxgraft_stream_destroy(stream);
    ptxgraft_buffer_destroy(buffer);
    ptxgraft_kernel_destroy(kernel);
    ptxgraft_stub_destroy(stub);
}

TEST(ThreadsInC, ShareADeviceAndASkeleton) {
    const CObjects shared;
    on_threads(4, [&](unsigned t) {
        for (unsigned i = 0; i < 15; ++i) c_round(shared, t, i);
    });
}

// Launches of several threads on one device take turns, without a mutex of the caller; so do launches of one
// kernel.
TEST(ThreadsInC, LaunchesTakeTurns) {
    const CObjects shared;
    ptxgraft_kernel* kernel = nullptr;
    ptxgraft_buffer* buffer = nullptr;
    ASSERT_EQ(ptxgraft_kernel_create(&kernel, shared.skeleton, shared.device, nullptr), PTXGRAFT_STATUS_ok);
    ASSERT_EQ(ptxgraft_buffer_create(&buffer, shared.device, count * 4), PTXGRAFT_STATUS_ok);
    ASSERT_EQ(ptxgraft_buffer_fill(buffer, 0), PTXGRAFT_STATUS_ok);
    constexpr unsigned each = 25;
    on_threads(4, [&](unsigned) {
        const float one = 1;
        const ptxgraft_argument arguments[] = {PTXGRAFT_BUFFER(buffer), PTXGRAFT_VALUE(one)};
        ptxgraft_launch_options launch = PTXGRAFT_LAUNCH_OPTIONS_INIT;
        launch.grid[0] = 4;
        launch.block[0] = 64;
        for (unsigned i = 0; i < each; ++i)
            EXPECT_EQ(ptxgraft_kernel_launch(kernel, &launch, arguments, 2), PTXGRAFT_STATUS_ok)
                << ptxgraft_error_get_message();
    });
    // None has overlapped with another one: every element was counted up by each.
    std::vector<float> y(count);
    ASSERT_EQ(ptxgraft_buffer_read(y.data(), buffer, 0, count * 4), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(y, std::vector<float>(count, 4 * each));
    ptxgraft_buffer_destroy(buffer);
    ptxgraft_kernel_destroy(kernel);
}

}  // namespace
}  // namespace ptxgraft
