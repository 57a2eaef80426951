// Modules are assembled by many, candidates linked by one, and each behind the modules that it needs.
#include "kernel/pipeline.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <stdexcept>

namespace ptxgraft::kernel {
namespace {

// Candidate c needs module c / 8, and every third one the module behind it, too.
struct Work {
    static constexpr std::size_t modules = 12, linked = 96, whole = 10;
    std::vector<std::vector<std::size_t>> users = std::vector<std::vector<std::size_t>>(modules);
    std::vector<std::size_t> candidates = std::vector<std::size_t>(linked);
    std::vector<std::size_t> wholes = std::vector<std::size_t>(whole);
    std::vector<std::atomic<int>> assembled = std::vector<std::atomic<int>>(modules);
    std::vector<std::atomic<int>> made = std::vector<std::atomic<int>>(linked + whole);
    std::atomic<int> begun = 0, linking = 0, most_linking = 0, too_early = 0;

    Work() {
        std::iota(candidates.begin(), candidates.end(), 0);
        std::iota(wholes.begin(), wholes.end(), linked);
        for (const std::size_t c : candidates) {
            users[c / 8].push_back(c);
            if (c % 3 == 0 && c / 8 + 1 < modules) users[c / 8 + 1].push_back(c);
        }
    }
    void assemble(std::size_t module) {
        ++begun;
        std::this_thread::sleep_for(std::chrono::microseconds(300));
        ++assembled[module];
    }
    void make(std::size_t c) {
        ++made[c];
        if (c >= linked) return;
        const int now = ++linking;
        if (begun != static_cast<int>(modules)) most_linking = std::max(most_linking.load(), now);
        for (std::size_t m = 0; m < modules; ++m)
            if (std::ranges::find(users[m], c) != users[m].end() && assembled[m] == 0) ++too_early;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        --linking;
    }
    void run(const ManyOptions& many) {
        Pipeline(users, candidates, wholes)
            .run(
                many, [&](std::size_t m) { assemble(m); }, [&](std::size_t c) { make(c); });
    }
};

TEST(Pipeline, DoesEverythingOnceAndInOrder) {
    for (const std::uint32_t threads : {1u, 2u, 3u, 8u}) {
        Work work;
        work.run({.threads = threads});
        for (const auto& times : work.assembled) EXPECT_EQ(times, 1) << threads;
        for (const auto& times : work.made) EXPECT_EQ(times, 1) << threads;
        EXPECT_EQ(work.too_early, 0) << threads;
        EXPECT_LE(work.most_linking, 1) << threads;
    }
}

TEST(Pipeline, WithoutModulesAllLinkAtOnce) {
    Work work;
    for (auto& users : work.users) users.clear();
    std::atomic<int> both = 0, most = 0;
    Pipeline({}, work.candidates, {})
        .run(
            {.threads = 2}, [](std::size_t) {},
            [&](std::size_t) {
                most = std::max(most.load(), ++both);
                std::this_thread::sleep_for(std::chrono::microseconds(500));
                --both;
            });
    EXPECT_EQ(most, 2);
}

TEST(Pipeline, StopsWhenItIsAskedTo) {
    Work work;
    std::stop_source stop;
    Pipeline(work.users, work.candidates, work.wholes)
        .run(
            {.threads = 2, .stop = stop.get_token()},
            [&](std::size_t m) {
                work.assemble(m);
                if (m == 3) stop.request_stop();
            },
            [&](std::size_t c) { work.make(c); });
    EXPECT_LE(work.begun, 6);
    EXPECT_EQ(work.too_early, 0);
}

TEST(Pipeline, GivesWhatIsThrown) {
    Work work;
    Pipeline pipeline(work.users, work.candidates, work.wholes);
    EXPECT_THROW(pipeline.run(
                     {.threads = 2},
                     [&](std::size_t m) {
                         if (m == 2) throw std::runtime_error("module");
                         work.assemble(m);
                     },
                     [&](std::size_t c) { work.make(c); }),
                 std::runtime_error);
    EXPECT_LT(work.begun, 12);
}

}  // namespace
}  // namespace ptxgraft::kernel
