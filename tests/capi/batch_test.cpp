// Many candidates through the C interface: in order, each with its own error, told as they come, stopped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "capi/objects.hpp"
#include "handles.hpp"
#include "ptxgraft/kernel.hpp"
#include "support/paths.hpp"

namespace ptxgraft::test {
namespace {

using testing::Each;
using testing::HasSubstr;

// Candidates of one graft of the site s each.
struct CApiBatch : testing::Test {
    CApiBatch() { start(two_copies); }
    void start(const std::string& text) {
        candidates.clear();
        grafts.clear();
        stubs.clear();
        skeleton = c_skeleton(text);
    }
    void add(const std::string& stub, const char* site = "s") {
        stubs.push_back(c_stub(skeleton, stub));
        grafts.push_back({site, stubs.back()});
        candidates.push_back({&grafts.back(), 1});
    }
    ptxgraft_status create() {
        batch.reset();
        many.candidates = candidates.data();
        many.candidate_count = candidates.size();
        return ptxgraft_batch_create(&batch, skeleton, &options, &many);
    }
    ptxgraft_status create_on(const ptxgraft_device* device) {
        batch.reset();
        many.candidates = candidates.data();
        many.candidate_count = candidates.size();
        return ptxgraft_batch_create_on_device(&batch, skeleton, device, &options, &many);
    }
    // The status of a candidate, and its machine code.
    ptxgraft_status take(std::size_t candidate) {
        code.reset();
        return ptxgraft_machine_code_create_from_batch(&code, batch, candidate);
    }

    CSkeleton skeleton;
    std::deque<CStub> stubs;
    std::deque<ptxgraft_graft> grafts;
    std::vector<ptxgraft_candidate> candidates;
    ptxgraft_graft_options options = PTXGRAFT_GRAFT_OPTIONS_INIT;
    ptxgraft_batch_options many = PTXGRAFT_BATCH_OPTIONS_INIT;
    CBatch batch;
    CCode code;
};

TEST_F(CApiBatch, ResultsAreInOrderAndThoseOfTheCppInterface) {
    for (int i = 0; i < 12; ++i) add(adding(i % 10));
    candidates.push_back({nullptr, 0});
    const Skeleton same = skeleton_of(two_copies);
    many.threads = 3;
    many.stubs_per_module = 5;
    for (const auto& [c_route, route] :
         {std::pair(PTXGRAFT_ROUTE_inline, Route::inlined), std::pair(PTXGRAFT_ROUTE_call, Route::call)}) {
        options.route = c_route;
        ASSERT_EQ(create(), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
        ASSERT_EQ(ptxgraft_batch_get_count(batch), 13u);
        for (int i = 0; i < 12; ++i) {
            ASSERT_EQ(take(static_cast<std::size_t>(i)), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
            const auto want =
                same.assemble({{"s", stub_of(same, adding(i % 10))}}, {.routes = {.route = route}});
            EXPECT_EQ(image_of(code), want->cubin->image) << i;
            EXPECT_EQ(route_of(code, 0).route, c_route);
        }
        ASSERT_EQ(take(12), PTXGRAFT_STATUS_ok);
        EXPECT_EQ(image_of(code), same.assemble({})->cubin->image);
    }
    options.route = PTXGRAFT_ROUTE_link;
    ASSERT_EQ(create(), PTXGRAFT_STATUS_ok);
    for (std::size_t i = 0; i < 12; ++i) {
        ASSERT_EQ(take(i), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
        EXPECT_EQ(route_of(code, 0).route, PTXGRAFT_ROUTE_link);
        EXPECT_EQ(ptxgraft_machine_code_get_function_count(code), 2u);
    }
    const auto last = image_of(code);
    batch.reset();
    skeleton.reset();
    stubs.clear();
    EXPECT_EQ(image_of(code), last);
}

TEST_F(CApiBatch, EachCandidateHasItsOwnError) {
    start(warp_site());
    add(adding(0));
    add(refused(1));
    add(adding(2), "nowhere");
    add(adding(3));
    const ptxgraft_graft twice[] = {grafts[0], grafts[3]};
    candidates.push_back({twice, 2});
    ASSERT_EQ(create(), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
    EXPECT_EQ(take(0), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(take(3), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(take(1), PTXGRAFT_STATUS_assemble_failed);
    EXPECT_EQ(code, nullptr);
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("in the stub of site s, line "));
    EXPECT_THAT(ptxgraft_error_get_source(), HasSubstr("redux.sync.min.f32"));
    EXPECT_GT(ptxgraft_error_get_line(), 1u);
    EXPECT_EQ(take(2), PTXGRAFT_STATUS_site_unknown);
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("nowhere; the skeleton has s"));
    EXPECT_EQ(take(4), PTXGRAFT_STATUS_site_filled_twice);
    EXPECT_EQ(ptxgraft_error_get_index(), 1u);
    EXPECT_EQ(take(5), PTXGRAFT_STATUS_argument_invalid);
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("candidate 5 of 5"));
    CKernel kernel;
    EXPECT_EQ(ptxgraft_kernel_create_from_batch(&kernel, batch, 0), PTXGRAFT_STATUS_argument_invalid);
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("it has no kernels"));
    EXPECT_EQ(kernel, nullptr);
}

// Several to a module: each has entries of its own in it, and the cache finds each again.
TEST_F(CApiBatch, CandidatesShareModules) {
    for (int i = 0; i < 8; ++i) add(adding(i));
    CCache cache;
    ASSERT_EQ(ptxgraft_cache_open(&cache, nullptr), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
    options.cache = cache;
    many.variants_per_module = 4;
    many.threads = 1;
    for (const auto from : {PTXGRAFT_CACHE_LEVEL_none, PTXGRAFT_CACHE_LEVEL_memory}) {
        ASSERT_EQ(create(), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
        std::set<std::pair<std::vector<std::byte>, std::string>> places;
        std::set<std::string> suffixes;
        for (std::size_t i = 0; i < 8; ++i) {
            ASSERT_EQ(take(i), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
            ptxgraft_machine_code_info info = PTXGRAFT_MACHINE_CODE_INFO_INIT;
            ASSERT_EQ(ptxgraft_machine_code_get_info(&info, code), PTXGRAFT_STATUS_ok);
            EXPECT_EQ(info.from, from);
            places.emplace(image_of(code), info.suffix);
            suffixes.emplace(info.suffix);
        }
        EXPECT_EQ(places.size(), 8u);
        EXPECT_EQ(suffixes, (std::set<std::string>{"_0", "_1", "_2", "_3"}));
    }
}

// ---------------------------------------------------------------------------------------------------------
// on_result

// What a callback was told.
struct Told {
    std::vector<int> calls;
    std::vector<ptxgraft_status> statuses;
    std::vector<std::vector<std::byte>> images;
    std::string message;
    std::atomic<int> inside = 0;
    ptxgraft_stop* stop = nullptr;
    std::size_t stop_after = SIZE_MAX;
    std::size_t good = 0;

    explicit Told(std::size_t count) : calls(count), statuses(count), images(count) {}
    static void call(std::size_t candidate, ptxgraft_status status, const ptxgraft_machine_code* code,
                     const ptxgraft_kernel* kernel, void* payload) {
        Told& told = *static_cast<Told*>(payload);
        EXPECT_EQ(++told.inside, 1);
        ++told.calls.at(candidate);
        told.statuses.at(candidate) = status;
        EXPECT_EQ(code != nullptr, status == PTXGRAFT_STATUS_ok);
        EXPECT_EQ(kernel, nullptr);
        if (code != nullptr) told.images[candidate] = image_of(code);
        if (status == PTXGRAFT_STATUS_site_unknown) told.message = ptxgraft_error_get_message();
        if (code != nullptr && ++told.good == told.stop_after) {
            EXPECT_EQ(ptxgraft_stop_request(told.stop), PTXGRAFT_STATUS_ok);
        }
        --told.inside;
    }
};

TEST_F(CApiBatch, EveryResultIsToldOnce) {
    for (int i = 0; i < 12; ++i) add(adding(i % 5), i == 7 ? "nowhere" : "s");
    Told told(12);
    many.on_result = Told::call;
    many.payload = &told;
    many.threads = 4;
    ASSERT_EQ(create(), PTXGRAFT_STATUS_ok);
    EXPECT_THAT(told.calls, Each(1));
    EXPECT_THAT(told.message, HasSubstr("nowhere; the skeleton has s"));
    for (std::size_t i = 0; i < 12; ++i) {
        EXPECT_EQ(told.statuses[i], take(i));
        if (i != 7) { EXPECT_EQ(told.images[i], image_of(code)); }
    }
    EXPECT_EQ(told.statuses[7], PTXGRAFT_STATUS_site_unknown);
}

TEST_F(CApiBatch, ACallbackStopsTheRest) {
    for (int i = 0; i < 40; ++i) add(adding(i));
    CStop stop;
    ASSERT_EQ(ptxgraft_stop_create(&stop), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(ptxgraft_stop_get_requested(stop), 0u);
    Told told(40);
    told.stop = stop;
    told.stop_after = 3;
    many.on_result = Told::call;
    many.payload = &told;
    many.stop = stop;
    many.threads = 1;
    ASSERT_EQ(create(), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(ptxgraft_stop_get_requested(stop), 1u);
    EXPECT_EQ(told.good, 3u);
    EXPECT_THAT(told.calls, Each(1));
    EXPECT_EQ(std::ranges::count(told.statuses, PTXGRAFT_STATUS_work_stopped), 37);
    EXPECT_EQ(take(39), PTXGRAFT_STATUS_work_stopped);
    many.on_result = nullptr;  // the wish lasts
    ASSERT_EQ(create(), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(take(0), PTXGRAFT_STATUS_work_stopped);
}

TEST_F(CApiBatch, ACallbackMayCallTheLibrary) {
    for (int i = 0; i < 6; ++i) add(adding(i));
    struct Nested {
        CApiBatch* test;
        std::vector<std::vector<std::byte>> images = std::vector<std::vector<std::byte>>(6);
    } nested{this};
    CCache cache;
    ASSERT_EQ(ptxgraft_cache_open(&cache, nullptr), PTXGRAFT_STATUS_ok);
    options.cache = cache;
    options.route = PTXGRAFT_ROUTE_link;
    many.threads = 3;
    many.payload = &nested;
    many.on_result = [](std::size_t candidate, ptxgraft_status, const ptxgraft_machine_code* code,
                        const ptxgraft_kernel*, void* payload) {
        auto& [test, images] = *static_cast<Nested*>(payload);
        ptxgraft_graft_options same = test->options;
        same.grafts = test->candidates[candidate].grafts;
        same.graft_count = 1;
        CCode made;
        EXPECT_OK(ptxgraft_machine_code_create(&made, test->skeleton, &same));
        EXPECT_EQ(info_of(made).from, PTXGRAFT_CACHE_LEVEL_memory);
        images[candidate] = image_of(made);
        EXPECT_EQ(image_of(code), images[candidate]);
    };
    ASSERT_EQ(create(), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
    for (std::size_t i = 0; i < 6; ++i) {
        ASSERT_EQ(take(i), PTXGRAFT_STATUS_ok);
        EXPECT_EQ(image_of(code), nested.images[i]);
    }
}

// No callback of C throws, but one of C++ may: nothing leaves the library.
TEST_F(CApiBatch, WhatACallbackThrowsIsAStatus) {
    for (int i = 0; i < 4; ++i) add(adding(i));
    many.on_result = [](std::size_t, ptxgraft_status, const ptxgraft_machine_code*, const ptxgraft_kernel*,
                        void*) { throw std::runtime_error("mine"); };
    many.threads = 2;
    EXPECT_EQ(create(), PTXGRAFT_STATUS_internal_error);
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("mine"));
    EXPECT_EQ(batch, nullptr);
}

// The rules forbid it; all the same the library holds what a call needs.
TEST_F(CApiBatch, ACallbackThatDestroysWhatWasGivenHarmsNothing) {
    for (int i = 0; i < 6; ++i) add(adding(i));
    struct Given {
        CApiBatch* test;
        CAssembler assembler;
        CCache cache;
        CStop stop;
    } given{this, {}, {}, {}};
    ASSERT_EQ(ptxgraft_assembler_open(&given.assembler, nullptr), PTXGRAFT_STATUS_ok);
    ASSERT_EQ(ptxgraft_cache_open(&given.cache, nullptr), PTXGRAFT_STATUS_ok);
    ASSERT_EQ(ptxgraft_stop_create(&given.stop), PTXGRAFT_STATUS_ok);
    options.assembler = given.assembler;
    options.cache = given.cache;
    options.stop = many.stop = given.stop;
    many.threads = 2;
    many.payload = &given;
    many.on_result = [](std::size_t, ptxgraft_status status, const ptxgraft_machine_code*,
                        const ptxgraft_kernel*, void* payload) {
        Given& all = *static_cast<Given*>(payload);
        EXPECT_EQ(status, PTXGRAFT_STATUS_ok);
        all.test->skeleton.reset();
        all.test->stubs.clear();
        all.assembler.reset();
        all.cache.reset();
        all.stop.reset();
    };
    ASSERT_EQ(create(), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(take(i), PTXGRAFT_STATUS_ok);
}

// ---------------------------------------------------------------------------------------------------------
// devices

std::vector<std::byte> run(const ptxgraft_kernel* kernel, const ptxgraft_device* device) {
    constexpr std::size_t size = 32 * 48;
    CBuffer out;
    EXPECT_OK(ptxgraft_buffer_create(&out, device, size));
    EXPECT_OK(ptxgraft_buffer_fill(out, 0));
    ptxgraft_launch_options shape = PTXGRAFT_LAUNCH_OPTIONS_INIT;
    shape.block[0] = 32;
    const ptxgraft_argument argument = PTXGRAFT_BUFFER(out);
    EXPECT_OK(ptxgraft_kernel_launch(kernel, &shape, &argument, 1));
    std::vector<std::byte> result(size);
    EXPECT_OK(ptxgraft_buffer_read(result.data(), out, 0, size));
    return result;
}

// Element 0 of each thread: with stub_text of both copies the thread's number, twice the half where it is
// odd, and twice what is added, all of which doubles hold.
void expect_sums(const std::vector<std::byte>& output, int added) {
    for (int thread = 0; thread < 32; ++thread) {
        float got = 0;
        std::memcpy(&got, output.data() + thread * 48, sizeof got);
        const double half = thread + 2;
        EXPECT_EQ(static_cast<double>(got), thread + (thread % 2 != 0 ? 2 * half : 0.0) + 2.0 * added);
    }
}

TEST_F(CApiBatch, KernelsAreLaunchedAsTheyCome) {
    CDevice device;
    ASSERT_EQ(ptxgraft_device_open(&device, "emulator"), PTXGRAFT_STATUS_ok);
    for (int i = 0; i < 6; ++i) add(adding(i), i == 4 ? "nowhere" : "s");
    struct Outputs {
        const ptxgraft_device* device;
        std::vector<std::vector<std::byte>> all = std::vector<std::vector<std::byte>>(6);
    } outputs{device};
    many.threads = 3;
    many.payload = &outputs;
    many.on_result = [](std::size_t candidate, ptxgraft_status status, const ptxgraft_machine_code* code,
                        const ptxgraft_kernel* kernel, void* payload) {
        Outputs& to = *static_cast<Outputs*>(payload);
        EXPECT_EQ(kernel == nullptr, status != PTXGRAFT_STATUS_ok);
        EXPECT_EQ(code == nullptr, kernel == nullptr);
        if (kernel == nullptr) return;
        EXPECT_EQ(ptxgraft_machine_code_get_function_count(code), 0u);
        to.all[candidate] = run(kernel, to.device);
    };
    ASSERT_EQ(create_on(device), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
    for (std::size_t i = 0; i < 6; ++i) {
        CKernel kernel;
        const auto status = ptxgraft_kernel_create_from_batch(&kernel, batch, i);
        EXPECT_EQ(take(i), status);
        if (i == 4) {
            EXPECT_EQ(status, PTXGRAFT_STATUS_site_unknown);
            continue;
        }
        ASSERT_EQ(status, PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
        EXPECT_EQ(run(kernel, device), outputs.all[i]);
        expect_sums(outputs.all[i], static_cast<int>(i));
        EXPECT_EQ(route_of(code, 0).route, PTXGRAFT_ROUTE_inline);
    }
    options.entry = "none";
    ASSERT_EQ(create_on(device), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(take(0), PTXGRAFT_STATUS_entry_unknown);
}

// A GPU of host memory.
TEST_F(CApiBatch, KernelsOnAGpuHaveTheirMachineCode) {
    const auto gpu = Device::open("cuda", {.driver = test::build_path("libfake_cuda.so")});
    ASSERT_TRUE(gpu) << describe(gpu.error());
    const ptxgraft_device device(*gpu);
    for (int i = 0; i < 4; ++i) add(adding(i));
    ASSERT_EQ(create_on(&device), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
    const Skeleton same = skeleton_of(two_copies);
    for (int i = 0; i < 4; ++i) {
        ASSERT_EQ(take(static_cast<std::size_t>(i)), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
        const auto want =
            same.assemble({{"s", stub_of(same, adding(i))}}, {.assemble = {.target = gpu->target()}});
        EXPECT_EQ(image_of(code), want->cubin->image);
    }
}

// ---------------------------------------------------------------------------------------------------------
// arguments

TEST_F(CApiBatch, NoCandidatesAreNone) {
    ASSERT_EQ(create(), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(ptxgraft_batch_get_count(batch), 0u);
    EXPECT_EQ(take(0), PTXGRAFT_STATUS_argument_invalid);
    const ptxgraft_batch_options none = PTXGRAFT_BATCH_OPTIONS_INIT;
    batch.reset();
    EXPECT_EQ(ptxgraft_batch_create(&batch, skeleton, nullptr, &none), PTXGRAFT_STATUS_ok);
}

TEST_F(CApiBatch, StrangeNumbersOfThreadsAndStubsAreTaken) {
    for (int i = 0; i < 3; ++i) add(adding(i));
    options.route = PTXGRAFT_ROUTE_link;
    for (const std::uint32_t threads : {0u, 1u, UINT32_MAX}) {
        for (const std::uint32_t stubs_per_module : {0u, 1u, UINT32_MAX}) {
            many.threads = threads;
            many.stubs_per_module = stubs_per_module;
            ASSERT_EQ(create(), PTXGRAFT_STATUS_ok);
            for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(take(i), PTXGRAFT_STATUS_ok);
        }
    }
}

TEST_F(CApiBatch, WhatIsWrongWithTheListsIsNamed) {
    add(adding(0));
    const auto expect_invalid = [&](const char* text) {
        EXPECT_EQ(ptxgraft_batch_create(&batch, skeleton, &options, &many), PTXGRAFT_STATUS_argument_invalid);
        EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr(text));
        EXPECT_EQ(batch, nullptr);
    };
    many.candidate_count = 1;
    expect_invalid("candidates is null, but candidate_count is 1");
    many.candidates = candidates.data();
    many.candidate_count = SIZE_MAX;
    expect_invalid("candidate_count is 18446744073709551615; no list is as long");
    many.candidate_count = 2;
    candidates.push_back({nullptr, 3});
    many.candidates = candidates.data();
    expect_invalid("candidates[1]: grafts is null, but graft_count is 3");
    EXPECT_EQ(ptxgraft_error_get_index(), 1u);
    candidates[1] = {&grafts[0], SIZE_MAX};
    expect_invalid("candidates[1]: graft_count is 18446744073709551615; no list is as long");
    const ptxgraft_graft hollow = {"s", nullptr};
    candidates[1] = {&hollow, 1};
    expect_invalid("candidates[1]: grafts[0].stub is null");
    many.candidate_count = 1;
    options.grafts = &grafts[0];
    options.graft_count = 1;
    expect_invalid("each candidate has grafts of its own");
    options.graft_count = 0;
    options.route = static_cast<ptxgraft_route>(4);
    expect_invalid("route is 4; it is 0 to 3");
    options.route = PTXGRAFT_ROUTE_inline;
    options.relocatable = 1;
    CDevice device;
    ASSERT_EQ(ptxgraft_device_open(&device, "emulator"), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(create_on(device), PTXGRAFT_STATUS_argument_invalid);
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("relocatable is set"));
}

}  // namespace
}  // namespace ptxgraft::test
