// What runs out of host memory is an error, whichever allocation fails, in whichever thread: nothing ends the
// process, no lock is kept, and the next call works.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "ptxgraft/device.hpp"
#include "ptxgraft/expression.hpp"
#include "ptxgraft/ptxgraft.h"
#include "ptxgraft/set.hpp"
#include "ptxgraft/site.hpp"
#include "ptxgraft/stack.hpp"
#include "support/failing_new.hpp"

namespace ptxgraft {
namespace {

using test::FailingNew;
using testing::AnyOf;

// Adds 7 to what the thread finds, by a function and a variable; every fourth block prints.
const std::string ptx = R"(.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 v);
.global .align 4 .u32 seven = 7;
.global .align 1 .b8 format[3] = {104, 105, 0};
.func (.reg .u32 r) add(.reg .u32 a) { .reg .u32 b; ld.global.u32 b, [seven]; add.u32 r, a, b; ret; }
.visible .entry k(.param .u64 p)
{
	.reg .b64 %rd<6>; .reg .b32 %r<9>; .reg .pred %q;
	.local .align 8 .b8 values[8];
	.shared .align 4 .b32 s[64];
	ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 64, %r1;
	mul.wide.u32 %rd2, %r3, 4; add.u64 %rd2, %rd1, %rd2;
	{ // PTXGRAFT_SITE f
	.reg .b32 _x; // mod u32 x
	mov.b32 _x, %r1;
	// PTXGRAFT_STUB
	// PTXGRAFT_END
	mov.b32 %r1, _x;
	}
	ld.global.u32 %r4, [%rd2];
	call (%r5), add, (%r4);
	shl.b32 %r6, %r1, 2; mov.u32 %r7, s; add.u32 %r6, %r6, %r7; st.shared.u32 [%r6], %r5; bar.sync 0; ld.shared.u32 %r5, [%r6];
	st.global.u32 [%rd2], %r5;
	and.b32 %r8, %r3, 255; setp.ne.u32 %q, %r8, 0;
	@%q bra E;
	mov.u64 %rd3, format; cvta.global.u64 %rd3, %rd3; mov.u64 %rd4, values; cvta.local.u64 %rd4, %rd4;
	{ .param .b64 a, b; .param .b32 r; st.param.b64 [a], %rd3; st.param.b64 [b], %rd4; call (r), vprintf, (a, b); }
E:
	ret;
}
)";
constexpr std::uint32_t blocks = 8, threads = 64, count = blocks * threads;

bool is_memory(Errc code) { return code == Errc::out_of_memory || code == Errc::out_of_device_memory; }

// Some call with the allocation behind `first` failing; false when none failed any more.
template <class Call> bool with_failure(long first, bool for_good, Call&& call) {
    const FailingNew failing(first, for_good);
    call();
    return failing.has_failed();
}

// Every allocation of a call fails once, first alone and then with all behind it; of the many, later ones not
// each.
template <class Call> void fail_each(Call&& call) {
    for (const bool for_good : {false, true}) {
        long first = 0;
        while (with_failure(first, for_good, [&] { call(); })) first += 1 + first / 64;
        EXPECT_GT(first, 3);
    }
}

template <class T> void expect_memory(const Expected<T>& result) {
    EXPECT_TRUE(result || is_memory(result.error().code)) << describe(result.error());
}

class HostMemory : public testing::TestWithParam<bool> {
  protected:
    HostMemory() : device(Device::emulator({.threads = 4, .fast = GetParam()}).value()) {}

    void expect_works(const Function& function) {
        const std::vector<std::uint32_t> values(count, 5);
        const auto buffer = device.upload(values);
        ASSERT_TRUE(buffer);
        const auto run =
            function.launch({.grid = {blocks}, .block = {threads}}, std::array<Argument, 1>{*buffer});
        ASSERT_TRUE(run) << describe(run.error());
        EXPECT_EQ(*buffer->download<std::uint32_t>(), std::vector<std::uint32_t>(count, 12));
        EXPECT_EQ(device.take_output(), "hihi");
    }
    Device device;
};

TEST_P(HostMemory, OfALoad) {
    fail_each([&] { expect_memory(device.load(ptx, "k")); });
    expect_works(*device.load(ptx, "k"));
}

// Long enough for several decoding threads.
TEST_P(HostMemory, OfALoadInThreads) {
    std::string text = ptx;
    const std::size_t begin = ptx.find(".visible .entry"), name = ptx.find("k(", begin);
    for (int i = 0; i < 40; ++i)
        text += ptx.substr(begin, name - begin) + "k" + std::to_string(i) + ptx.substr(name + 1) + "//" +
                std::string(80000, ' ') + "\n";
    long first = 0;
    while (with_failure(first, false, [&] { expect_memory(device.load(text, "k")); })) first += 1 + first / 8;
    expect_works(*device.load(text, "k"));
}

TEST_P(HostMemory, OfALaunch) {
    const auto function = device.load(ptx, "k");
    ASSERT_TRUE(function) << describe(function.error());
    const std::vector<std::uint32_t> values(count, 5);
    const auto buffer = device.upload(values);
    const std::array<Argument, 1> arguments{*buffer};
    fail_each([&] { expect_memory(function->launch({.grid = {blocks}, .block = {threads}}, arguments)); });
    static_cast<void>(device.take_output());
    expect_works(*function);
}

// An error whose text finds no memory is out of memory as well.
TEST_P(HostMemory, OfALaunchThatFails) {
    std::string text = ptx;
    text.insert(text.find("E:\n"), "trap;\n");
    const auto function = device.load(text, "k"), good = device.load(ptx, "k");
    ASSERT_TRUE(function && good);
    const auto buffer = device.upload(std::vector<std::uint32_t>(count, 5));
    const std::array<Argument, 1> arguments{*buffer};
    fail_each([&] {
        const auto run = function->launch({.grid = {blocks}, .block = {threads}}, arguments);
        ASSERT_FALSE(run);
        EXPECT_TRUE(run.error().code == Errc::trap_executed || is_memory(run.error().code));
    });
    static_cast<void>(device.take_output());
    expect_works(*good);
}

TEST_P(HostMemory, OfEverythingElseOfADevice) {
    const std::vector<std::uint32_t> values(64, 3);
    const auto from = device.upload(values), to = device.upload(values);
    fail_each([&] {
        expect_memory(device.allocate(1000));
        expect_memory(device.create_event());
        expect_memory(device.create_stream());
        expect_memory(to->copy_from(*from));
        expect_memory(to->fill(std::byte{1}));
        expect_memory(to->poison(std::byte{1}));
        expect_memory(Device::open("emulator:sm_80"));
        expect_memory(to->write(std::as_bytes(std::span(values))));
        std::array<std::byte, 256> bytes;
        expect_memory(to->read(bytes));
    });
    expect_works(*device.load(ptx, "k"));
}

INSTANTIATE_TEST_SUITE_P(Emulators, HostMemory, testing::Bool(),
                         [](const auto& info) { return info.param ? "Fast" : "Checked"; });

// ------------------------------------------------------------------------------------------------ batches

// What returns no Expected throws, on the calling thread, when all others are done.
TEST(HostMemoryOfBatches, IsABadAllocOfTheCaller) {
    const stack::Machine machine =
        stack::Machine::make(stack::find_set("f32"), *Signature::parse("mod f32 x, in f32 y")).value();
    std::vector<stack::Program> programs;
    for (std::uint64_t i = 0; i < 500; ++i) programs.push_back(stack::random_program(machine, i, 20));
    const std::vector<stack::ProgramView> views(programs.begin(), programs.end());
    const auto whole = stack::compile_batch(views, machine, {.threads = 4});
    long first = 0;
    while (with_failure(first, false, [&] {
        try {
            EXPECT_EQ(stack::compile_batch(views, machine, {.threads = 4}).text, whole.text);
        } catch (const std::bad_alloc&) {}
    }))
        first += 1 + first / 8;
    EXPECT_EQ(stack::compile_batch(views, machine, {.threads = 4}).text, whole.text);
}

// ------------------------------------------------------------------------------------------------ what threa

// Compilers keep memory from one call to the next: a call that failed halfway leaves nothing in it that the
// next one sees.
TEST(HostMemoryOfCompilers, IsCleanAfterAFailure) {
    const auto signature = Signature::parse("mod f32 x, in f32 y, out f32 z");
    const auto program = [&] {
        return stack::compile("x y mul.f32 1.5 add.f32 -> z; x neg.f32 -> x", *signature).value().ptx();
    };
    const auto expression = [&] {
        return compile_expression("z = exp(x) * y; x = sqrt(z)", *signature).value().ptx();
    };
    const std::string of_program(program()), of_expression(expression());
    const auto fail_at = [&](long first, const auto& compile) {
        return with_failure(first, false, [&] {
            try {
                static_cast<void>(compile());
            } catch (const std::bad_alloc&) {}
        });
    };
    for (long first = 0; fail_at(first, program); ++first) EXPECT_EQ(program(), of_program);
    for (long first = 0; fail_at(first, expression); ++first) EXPECT_EQ(expression(), of_expression);
}

// ------------------------------------------------------------------------------------------------ the C inte

// A whole program of the C interface; its status.
ptxgraft_status c_program() {
    ptxgraft_device* device = nullptr;
    ptxgraft_skeleton* skeleton = nullptr;
    ptxgraft_stub* stub = nullptr;
    ptxgraft_kernel* kernel = nullptr;
    ptxgraft_buffer* buffer = nullptr;
    ptxgraft_report* report = nullptr;
    constexpr std::string_view program = "x 1 add.u32 -> x";
    const auto steps = [&]() -> ptxgraft_status {
        const char* const excuses[] = {"unwritten@a_file_whose_name_is_long_enough_to_need_memory.cu:41"};
        ptxgraft_device_options opening = PTXGRAFT_DEVICE_OPTIONS_INIT;
        opening.keep_going = 5;
        opening.checks = "all,-heap";
        opening.excuses = excuses;
        opening.excuse_count = 1;
        if (const auto status = ptxgraft_device_open_with_options(&device, "emulator", &opening))
            return status;
        if (const auto status = ptxgraft_skeleton_create_from_ptx(&skeleton, ptx.data(), ptx.size()))
            return status;
        if (const auto status =
                ptxgraft_stub_create_from_program(&stub, skeleton, "f", program.data(), program.size()))
            return status;
        const ptxgraft_graft graft{"f", stub};
        ptxgraft_graft_options options = PTXGRAFT_GRAFT_OPTIONS_INIT;
        options.grafts = &graft;
        options.graft_count = 1;
        if (const auto status = ptxgraft_kernel_create(&kernel, skeleton, device, &options)) return status;
        if (const auto status = ptxgraft_buffer_create(&buffer, device, count * 4)) return status;
        if (const auto status = ptxgraft_buffer_fill(buffer, 0)) return status;
        ptxgraft_launch_options launch = PTXGRAFT_LAUNCH_OPTIONS_INIT;
        launch.grid[0] = blocks;
        launch.block[0] = 2;  // of the others none is read
        const ptxgraft_argument argument = PTXGRAFT_BUFFER(buffer);
        if (const auto status = ptxgraft_kernel_launch(kernel, &launch, &argument, 1)) return status;
        std::size_t size = 0;
        if (const auto status = ptxgraft_device_take_output(nullptr, &size, device)) return status;
        if (const auto status = ptxgraft_device_take_report(&report, device)) return status;
        std::uint32_t value = 0;
        if (const auto status = ptxgraft_buffer_read(&value, buffer, 0, 4)) return status;
        return value == 7 ? PTXGRAFT_STATUS_ok : PTXGRAFT_STATUS_internal_error;
    };
    const ptxgraft_status status = steps();
    ptxgraft_report_destroy(report);
    ptxgraft_buffer_destroy(buffer);
    ptxgraft_kernel_destroy(kernel);
    ptxgraft_stub_destroy(stub);
    ptxgraft_skeleton_destroy(skeleton);
    ptxgraft_device_destroy(device);
    return status;
}

TEST(HostMemoryInC, IsAStatus) {
    ASSERT_EQ(c_program(), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
    for (const bool for_good : {false, true}) {
        long first = 0;
        ptxgraft_status status = PTXGRAFT_STATUS_ok;
        while (with_failure(first, for_good, [&] { status = c_program(); })) {
            EXPECT_THAT(status, AnyOf(PTXGRAFT_STATUS_ok, PTXGRAFT_STATUS_out_of_memory,
                                      PTXGRAFT_STATUS_out_of_device_memory))
                << ptxgraft_error_get_message();
            EXPECT_NE(ptxgraft_error_get_message(), nullptr);
            first += 1 + first / 64;
        }
    }
    EXPECT_EQ(c_program(), PTXGRAFT_STATUS_ok);
}

// ------------------------------------------------------------------------------------------------ a process

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool can_limit = false;  // their shadows take more than any limit
#else
constexpr bool can_limit = true;
#endif

// In a process of its own with so many bytes more than it has, `check` holds.
template <class Check> void expect_in_process(std::size_t bytes, Check&& check) {
    const pid_t child = fork();
    if (child == 0) {
        std::size_t pages = 0;
        std::FILE* const file = std::fopen("/proc/self/statm", "r");
        if (file == nullptr || std::fscanf(file, "%zu", &pages) != 1) _exit(3);
        const std::size_t limit = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + bytes;
        const rlimit both{limit, limit};
        if (setrlimit(RLIMIT_AS, &both) != 0) _exit(4);
        _exit(check() ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
        << (WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : std::to_string(WEXITSTATUS(status)));
}

TEST(HostMemoryOfAProcess, ALaunchThatTakesItAllIsAnError) {
    if (!can_limit) GTEST_SKIP() << "a sanitizer takes memory of its own";
    const std::string text =
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {\n.reg .b64 "
        "%rd<3>;\n"
        ".local .align 4 .b8 x[200000];\nld.param.u64 %rd1, [p]; st.local.u32 [x], 5; st.global.u32 [%rd1], "
        "5; ret;\n}\n"
        ".visible .entry small(.param .u64 p) {\n.reg .b64 %rd<3>;\nld.param.u64 %rd1, [p]; st.global.u32 "
        "[%rd1], 6; ret;\n}\n";
    for (const std::uint32_t host_threads : {1u, 4u}) {
        expect_in_process(std::size_t{300} << 20, [&] {
            const auto device = Device::emulator({.threads = host_threads});
            const auto function = device->load(text, "k"), small = device->load(text, "small");
            const auto buffer = device->allocate(4);
            if (!function || !small || !buffer) return false;
            const std::array<Argument, 1> arguments{*buffer};
            const auto run = function->launch({.grid = {4}, .block = {1024}}, arguments);
            if (run || !is_memory(run.error().code)) return false;
            const auto huge = device->allocate(std::size_t{1} << 30);
            if (huge || !is_memory(huge.error().code)) return false;
            return small->launch({}, arguments).has_value() &&
                   buffer->download<std::uint32_t>()->front() == 6;
        });
    }
}

}  // namespace
}  // namespace ptxgraft
