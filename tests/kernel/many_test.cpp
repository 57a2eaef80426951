// Many candidates at once: in order, equal ones once, bad ones alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <new>
#include <set>
#include <thread>

#include "ptxgraft/expression.hpp"
#include "ptxgraft/kernel.hpp"
#include "route_kernels.hpp"
#include "support/files.hpp"
#include "support/paths.hpp"

namespace ptxgraft {
namespace {

using testing::Each;
using testing::HasSubstr;
using namespace test;

using Candidates = std::vector<std::vector<Graft>>;

const std::string warp_copies = kernel(copy("allow warp") + copy("allow warp"));

Stub numbered(const Skeleton& skeleton, int i) {
    return stub_of(skeleton, std::string(stub_text) + "add.f32 acc, acc, " + std::to_string(i) + ".0;\n");
}
// Is no instruction of sm_90a.
Stub bad(const Skeleton& skeleton, int i) {
    return stub_of(skeleton, std::string(stub_text) + "add.f32 acc, acc, " + std::to_string(i) +
                                 ".0;\nredux.sync.min.f32 acc, acc, -1;\n");
}

TEST(Many, ResultsAreThoseOfEachAloneByEveryRoute) {
    const Skeleton skeleton = skeleton_of(two_copies);
    Candidates candidates;
    for (int i = 0; i < 12; ++i) candidates.push_back({{"s", numbered(skeleton, i)}});
    for (const Route route : {Route::inlined, Route::call, Route::link}) {
        const GraftOptions options{.routes = {.route = route}};
        const auto results =
            skeleton.assemble_many(candidates, options, {.threads = 3, .stubs_per_module = 5});
        ASSERT_EQ(results.size(), candidates.size());
        for (std::size_t i = 0; i < results.size(); ++i) {
            ASSERT_TRUE(results[i]) << describe(results[i].error());
            EXPECT_EQ(results[i]->routes.at(0).route, route);
            if (route != Route::link) {
                EXPECT_EQ(results[i]->cubin->image, skeleton.assemble(candidates[i], options)->cubin->image);
            }
            EXPECT_EQ(results[i]->cubin->functions.size(), route == Route::inlined ? 1u : 2u);
        }
    }
}

TEST(Many, StubsAreAssembledManyToAModuleAndEqualOnesOnce) {
    const Skeleton skeleton = skeleton_of(two_copies);
    Candidates candidates;
    for (int i = 0; i < 40; ++i) candidates.push_back({{"s", numbered(skeleton, i % 20)}});
    const Counting assembler;
    const GraftOptions options{.routes = {.route = Route::link}, .assembler = &assembler};
    const auto results = skeleton.assemble_many(candidates, options, {.threads = 1, .stubs_per_module = 10});
    EXPECT_EQ(assembler.count, 1 + 2);
    for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(results[i]->cubin, results[i + 20]->cubin);
    std::set<std::vector<std::byte>> different;
    for (const auto& result : results) different.insert(result->cubin->image);
    EXPECT_EQ(different.size(), 20u);
    const Counting whole;
    const auto inlined = skeleton.assemble_many(candidates, {.assembler = &whole}, {.threads = 2});
    EXPECT_EQ(whole.count, 20);
    EXPECT_EQ(inlined[3]->cubin, inlined[23]->cubin);
}

TEST(Many, EqualDataflowIsEqualWork) {
    const auto skeleton =
        Skeleton::from_file(test::source_path("templates/gemm/simt.cu"), {.target = "sm_90a"});
    ASSERT_TRUE(skeleton) << describe(skeleton.error());
    const Site& site = *skeleton->site("epilogue");
    const auto stub = [&](const char* text) {
        auto made =
            stack::compile(text, site, {.compile = {.leftover = stack::Leftover::allow, .hash = true}});
        if (!made) throw std::runtime_error(describe(made.error(), text));
        return *made;
    };
    const Candidates candidates{
        {{"epilogue", stub("acc bias add.f32 0.0 max.f32 -> acc")}},
        {{"epilogue", stub("0.0 acc bias add.f32 max.f32 -> acc")}},
        {{"epilogue", stub("acc bias add.f32 acc bias mul.f32 -> acc")}},
        {{"epilogue", stub("acc bias mul.f32 -> acc")}},
    };
    EXPECT_NE(candidates[2][0].stub.dataflow_hash(), 0u);
    const Counting assembler;
    const auto results = skeleton->assemble_many(candidates, {.assembler = &assembler});
    EXPECT_EQ(results[2]->cubin, results[3]->cubin);
    EXPECT_NE(results[0]->cubin, results[2]->cubin);
    EXPECT_EQ(assembler.count,
              candidates[0][0].stub.dataflow_hash() == candidates[1][0].stub.dataflow_hash() ? 2 : 3);
}

// A stub of another signature than the site's may have its operands in another order: one hash, and other
// code.
TEST(Many, AHashCountsForOneSignatureAlone) {
    std::string text = kernel(copy());
    const std::string operand = "\t.reg .u64 _count; // mod u64 count\n";
    text.insert(text.find(operand),
                "\t.reg .f32 _x; // in f32 x\n\tmov.b32 _x, %f1;\n"
                "\t.reg .f32 _y; // in f32 y\n\tmov.b32 _y, %f2;\n");
    const Skeleton skeleton = skeleton_of(text);
    const Site& site = *skeleton.site("s");
    Signature swapped = site.signature;
    const auto find = [&](const char* name) {
        return std::ranges::find(swapped.operands, std::string_view(name), &SiteOperand::name);
    };
    std::iter_swap(find("x"), find("y"));
    const stack::TextOptions options{.compile = {.hash = true}};
    const std::string outputs = "\n0d3FF0000000000000 -> wide\nodd -> flag\n";
    const auto one = stack::compile("x y sub.f32 -> acc" + outputs, site, options);
    const auto other = stack::compile("y x sub.f32 -> acc" + outputs, swapped, options);
    ASSERT_TRUE(one) << describe(one.error());
    ASSERT_TRUE(other) << describe(other.error());
    EXPECT_EQ(one->dataflow_hash(), other->dataflow_hash());
    const Candidates candidates{{{"s", *one}}, {{"s", *other}}};
    const Cache cache = *Cache::open();
    const auto results = skeleton.assemble_many(candidates, {.cache = &cache});
    ASSERT_TRUE(results[0] && results[1]);
    EXPECT_NE(results[0]->cubin->image, results[1]->cubin->image);
}

// Threads may not make two modules with one stub, of which a link takes both.
TEST(Many, StubsThatCandidatesShareAreInOneModule) {
    std::string other = copy();
    other.replace(other.find("PTXGRAFT_SITE s"), 15, "PTXGRAFT_SITE t");
    const Skeleton skeleton = skeleton_of(kernel(copy() + other));
    Candidates candidates;
    for (int i = 0; i < 24; ++i)
        candidates.push_back({{"s", numbered(skeleton, 100)}, {"t", numbered(skeleton, i)}});
    const Counting assembler;
    const auto results =
        skeleton.assemble_many(candidates, {.routes = {.route = Route::link}, .assembler = &assembler},
                               {.threads = 2, .stubs_per_module = 4});
    for (const auto& result : results) EXPECT_TRUE(result) << describe(result.error());
    EXPECT_EQ(assembler.count, 1 + 7);  // 25 stubs
}

TEST(Many, ABadStubHarmsNobody) {
    const Skeleton skeleton = skeleton_of(warp_copies);
    Candidates candidates;
    const std::set<std::size_t> bad_ones{0, 7, 8, 19};
    for (int i = 0; i < 20; ++i)
        candidates.push_back({{"s", bad_ones.contains(static_cast<std::size_t>(i)) ? bad(skeleton, i)
                                                                                   : numbered(skeleton, i)}});
    for (const Route route : {Route::inlined, Route::link}) {
        const auto results = skeleton.assemble_many(candidates, {.routes = {.route = route}}, {.threads = 2});
        for (std::size_t i = 0; i < results.size(); ++i) {
            EXPECT_EQ(results[i].has_value(), !bad_ones.contains(i)) << i;
            if (results[i]) continue;
            EXPECT_EQ(results[i].error().code, Errc::assemble_failed);
            EXPECT_THAT(message(results[i].error()), HasSubstr("in the stub of site s, line "));
            ASSERT_TRUE(results[i].error().source);
            EXPECT_THAT(results[i].error().source->text,
                        HasSubstr("add.f32 _acc, _acc, " + std::to_string(i) + ".0;"));
        }
    }
}

TEST(Many, ErrorsOfOneCandidateAreItsOwn) {
    const Skeleton skeleton = skeleton_of(two_copies);
    const Stub stub = stub_of(skeleton);
    const Candidates candidates{{{"s", stub}}, {{"t", stub}}, {{"s", stub}, {"s", stub}}, {}};
    const auto results = skeleton.assemble_many(candidates);
    EXPECT_TRUE(results[0]);
    EXPECT_EQ(results[1].error().code, Errc::site_unknown);
    EXPECT_EQ(results[2].error().code, Errc::site_filled_twice);
    EXPECT_EQ(results[2].error().index, 1u);
    EXPECT_TRUE(results[3]);
    EXPECT_TRUE(skeleton.assemble_many({}).empty());
}

TEST(Many, EveryResultIsCalledBackOnceByOneThreadAtATime) {
    const Skeleton skeleton = skeleton_of(two_copies);
    Candidates candidates;
    for (int i = 0; i < 16; ++i) candidates.push_back({{i == 5 ? "t" : "s", numbered(skeleton, i % 6)}});
    std::vector<int> calls(candidates.size());
    std::atomic<int> inside = 0;
    const auto results = skeleton.assemble_many(candidates, {}, {.threads = 4},
                                                [&](std::size_t i, const Expected<MachineCode>& result) {
                                                    EXPECT_EQ(++inside, 1);
                                                    ++calls.at(i);
                                                    EXPECT_EQ(result.has_value(), i != 5);
                                                    --inside;
                                                });
    EXPECT_THAT(calls, Each(1));
    EXPECT_FALSE(results[5]);
}

TEST(Many, StopsWhenItIsAskedTo) {
    const Skeleton skeleton = skeleton_of(two_copies);
    Candidates candidates;
    for (int i = 0; i < 50; ++i) candidates.push_back({{"s", numbered(skeleton, i)}});
    std::stop_source stop;
    int done = 0, stopped = 0;
    const auto results = skeleton.assemble_many(candidates, {}, {.threads = 1, .stop = stop.get_token()},
                                                [&](std::size_t, const Expected<MachineCode>& result) {
                                                    if (result && ++done == 3) stop.request_stop();
                                                    stopped +=
                                                        !result && result.error().code == Errc::work_stopped;
                                                });
    EXPECT_EQ(done, 3);
    EXPECT_EQ(stopped, 47);
    EXPECT_EQ(results[49].error().code, Errc::work_stopped);
}

TEST(Many, AnExceptionOfTheCallbackComesOutAndItIsNotCalledAgain) {
    const Skeleton skeleton = skeleton_of(two_copies);
    Candidates candidates;
    for (int i = 0; i < 12; ++i) candidates.push_back({{"s", numbered(skeleton, i)}});
    for (const std::uint32_t variants : {1u, 4u}) {
        std::atomic<int> calls = 0;
        const auto throwing = [&](std::size_t, const Expected<MachineCode>&) {
            ++calls;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));  // others come, and wait
            throw std::bad_alloc();
        };
        const ManyOptions many{.threads = 4, .variants_per_module = variants};
        EXPECT_THROW((void)skeleton.assemble_many(candidates, {}, many, throwing), std::bad_alloc);
        EXPECT_EQ(calls, 1) << variants;
        calls = 0;
        EXPECT_THROW((void)skeleton.graft_many(candidates, *Device::open("emulator"), {}, many,
                                               [&](std::size_t, const Expected<Kernel>&) {
                                                   ++calls;
                                                   throw std::runtime_error("mine");
                                               }),
                     std::runtime_error);
        EXPECT_EQ(calls, 1) << variants;
    }
}

// The order in which sites are filled is no difference.
TEST(Many, EqualCandidatesFillTheirSitesInAnyOrder) {
    const Skeleton skeleton = skeleton_of(small_kernel(small_copy("s") + small_copy("t") + small_copy("s")));
    const auto stub = [&](const char* site, int i, stack::Constants constants) {
        return Graft{site, *compile_expression("acc = acc * " + std::to_string(i) + ".5",
                                               *skeleton.site(site), {.constants = constants})};
    };
    for (const auto constants : {stack::Constants::literals, stack::Constants::data})
        for (const Route route : {Route::inlined, Route::call, Route::link}) {
            if (route == Route::link && constants == stack::Constants::data) continue;
            const Graft first = stub("s", 1, constants), second = stub("t", 2, constants);
            const Candidates candidates{{first, second}, {second, first}};
            const Counting assembler;
            const GraftOptions options{.routes = {.route = route}, .assembler = &assembler};
            const auto results = skeleton.assemble_many(candidates, options, {.threads = 1});
            ASSERT_TRUE(results[0] && results[1]) << describe(results[0].error());
            EXPECT_EQ(results[0]->cubin, results[1]->cubin) << name(route);
            EXPECT_EQ(assembler.count, route == Route::link ? 2 : 1);
            for (std::size_t i = 0; i < 2; ++i)
                for (std::size_t k = 0; k < 2; ++k)
                    EXPECT_EQ(results[i]->routes.at(k).site, candidates[i][k].site);
        }
}

TEST(Many, ACacheKeepsCandidatesPartsAndErrors) {
    const Skeleton skeleton = skeleton_of(warp_copies);
    Candidates candidates;
    for (int i = 0; i < 6; ++i)
        candidates.push_back({{"s", i == 2 ? bad(skeleton, i) : numbered(skeleton, i)}});
    for (const Route route : {Route::inlined, Route::call, Route::link}) {
        const Cache cache = *Cache::open();
        const Counting assembler;
        const GraftOptions options{.routes = {.route = route}, .assembler = &assembler, .cache = &cache};
        const auto first = skeleton.assemble_many(candidates, options);
        const int count = assembler.count;
        // Another handle of the same text shares nothing but the cache.
        const auto again = skeleton_of(warp_copies).assemble_many(candidates, options);
        EXPECT_EQ(assembler.count, count) << name(route);
        for (std::size_t i = 0; i < candidates.size(); ++i) {
            ASSERT_EQ(first[i].has_value(), i != 2);
            ASSERT_EQ(again[i].has_value(), i != 2);
            if (i == 2) {
                EXPECT_EQ(describe(first[i].error()), describe(again[i].error()));
                continue;
            }
            EXPECT_EQ(first[i]->from, CacheLevel::none);
            EXPECT_EQ(again[i]->from, CacheLevel::memory);
            EXPECT_EQ(again[i]->cubin, first[i]->cubin);
            EXPECT_EQ(again[i]->routes[0].route, route);
        }
        GraftOptions other = options;
        other.assemble.optimisation = 1;
        EXPECT_EQ(skeleton.assemble(candidates[0], other)->from, CacheLevel::none);
        other = options;
        other.routes.route = route == Route::call ? Route::inlined : Route::call;
        EXPECT_EQ(skeleton.assemble(candidates[0], other)->from, CacheLevel::none);
        EXPECT_EQ(skeleton_of(warp_copies + "\n").assemble(candidates[0], options)->from, CacheLevel::none);
    }
}

TEST(Many, KernelsOnTheEmulator) {
    const Skeleton skeleton = skeleton_of(two_copies);
    const Device device = *Device::open("emulator");
    Candidates candidates;
    for (int i = 0; i < 6; ++i) candidates.push_back({{i == 4 ? "t" : "s", numbered(skeleton, i)}});
    for (const Route route : {Route::inlined, Route::call, Route::link}) {
        const auto kernels =
            skeleton.graft_many(candidates, device, {.routes = {.route = route}}, {.threads = 3});
        for (std::size_t i = 0; i < kernels.size(); ++i) {
            if (i == 4) {
                EXPECT_EQ(kernels[i].error().code, Errc::site_unknown);
                continue;
            }
            ASSERT_TRUE(kernels[i]) << describe(kernels[i].error());
            const auto alone = skeleton.graft(candidates[i], device);
            std::vector<std::vector<std::byte>> outputs;
            for (const Kernel& kernel : {*kernels[i], *alone}) {
                const Buffer out = *device.upload(std::vector<std::uint32_t>(32 * 12, 0));
                const auto done = kernel.launch({{1, 1, 1}, {32, 1, 1}}, out);
                ASSERT_TRUE(done) << describe(done.error());
                outputs.push_back(*out.download<std::byte>());
            }
            EXPECT_EQ(outputs[0], outputs[1]);
        }
    }
    const auto none = skeleton.graft_many(candidates, device, {.entry = "no"});
    EXPECT_EQ(none[0].error().code, Errc::entry_unknown);
}

TEST(Many, SeveralCallersAtOnce) {
    const Skeleton skeleton = skeleton_of(two_copies);
    Candidates candidates;
    for (int i = 0; i < 8; ++i) candidates.push_back({{"s", numbered(skeleton, i)}});
    std::vector<std::thread> callers;
    std::atomic<int> right = 0;
    for (int t = 0; t < 3; ++t)
        callers.emplace_back([&] {
            for (const auto& result : skeleton.assemble_many(candidates, {.routes = {.route = Route::link}},
                                                             {.threads = 2, .stubs_per_module = 3}))
                right += result.has_value();
        });
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(right, 24);
}

// An assembler that has a cache, and the cache of the call: both know the same keys, and neither waits for
// itself.
TEST(Many, AnAssemblerWithACacheOfItsOwn) {
    const TemporaryFolder folder;
    const Skeleton skeleton = skeleton_of(two_copies);
    const Counting counting;
    for (const bool is_same : {true, false}) {
        const Cache cache = *Cache::open({.dir = folder.str() + (is_same ? "/a" : "/b")});
        const Cache second = is_same ? cache : *Cache::open({.dir = folder.str() + "/b"});
        const auto assembler = cached(counting, second);
        const GraftOptions options{.assembler = assembler.get(), .cache = &cache};
        const int before = counting.count;
        for (int i = 0; i < 2; ++i) {
            const auto code = skeleton.assemble({{"s", stub_of(skeleton)}}, options);
            ASSERT_TRUE(code) << describe(code.error());
        }
        const auto refused = skeleton.assemble(
            {{"s", stub_of(skeleton)}},
            {.assemble = {.limits = {.registers = 4}}, .assembler = assembler.get(), .cache = &cache});
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, Errc::assemble_limit_exceeded);
        EXPECT_EQ(counting.count, before + 2);
    }
}

}  // namespace
}  // namespace ptxgraft
