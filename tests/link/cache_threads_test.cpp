// A cache from several threads at once. Meant to be run under the thread sanitizer (preset `tsan`) as well.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <functional>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/cache_examples.hpp"
#include "support/files.hpp"

namespace ptxgraft {
namespace {

using namespace std::chrono_literals;
using test::ask, test::cubin_of, test::key_of, test::TemporaryFolder;

constexpr int thread_count = 8;

void in_threads(const std::function<void(int)>& work) {
    std::vector<std::jthread> threads;
    for (int i = 0; i < thread_count; ++i) threads.emplace_back([&work, i] { work(i); });
}

TEST(ThreadsOfCache, OneMakesAndTheOthersGetTheSame) {
    const TemporaryFolder folder;
    const auto cache = *Cache::open({.dir = folder.str()});
    std::barrier together(thread_count);
    std::atomic<int> made = 0, from_none = 0;
    std::vector<std::shared_ptr<const Cubin>> results(thread_count);
    in_threads([&](int i) {
        CacheLevel from = CacheLevel::disk;
        together.arrive_and_wait();
        const auto found = link::find_or_make(
            cache, key_of(1),
            [&]() -> Expected<Cubin> {
                ++made;
                std::this_thread::sleep_for(50ms);  // the others come and wait
                return cubin_of(1);
            },
            &from);
        from_none += from == CacheLevel::none;
        if (found) results[static_cast<std::size_t>(i)] = *found;
    });
    EXPECT_EQ(made, 1);
    for (const auto& result : results) EXPECT_EQ(result, results[0]);
    ASSERT_TRUE(results[0]);
    const CacheCounters counters = cache.counters();
    EXPECT_EQ(counters.misses, 1u);
    EXPECT_EQ(counters.joined + counters.memory_hits, thread_count - 1u);
    EXPECT_EQ(counters.joined + 1, static_cast<std::uint64_t>(from_none));
    EXPECT_EQ(counters.stored, 1u);
}

TEST(ThreadsOfCache, ThoseWhoWaitGetTheErrorKeptOrNot) {
    for (const Errc code : {Errc::assemble_failed, Errc::assembler_ended}) {
        const auto cache = *Cache::open();
        std::atomic<int> made = 0, right = 0;
        std::barrier together(thread_count);
        in_threads([&](int) {
            together.arrive_and_wait();
            const auto found = link::find_or_make(cache, key_of(1), [&]() -> Expected<Cubin> {
                ++made;
                std::this_thread::sleep_for(300ms);
                return fail(code, {1, 2}, "why");
            });
            right += !found && found.error().code == code && *found.error().detail == "why";
        });
        EXPECT_EQ(right, thread_count);
        const CacheCounters counters = cache.counters();
        EXPECT_GT(counters.joined, 0u);
        EXPECT_EQ(counters.misses, static_cast<std::uint64_t>(made));
        EXPECT_EQ(counters.joined + counters.misses + counters.memory_hits, std::uint64_t{thread_count});
        bool is_made_again = false;
        const auto later = link::find_or_make(cache, key_of(1), [&]() -> Expected<Cubin> {
            is_made_again = true;
            return fail(code);
        });
        EXPECT_FALSE(later);
        EXPECT_EQ(is_made_again, code == Errc::assembler_ended);
    }
}

TEST(ThreadsOfCache, AnExceptionIsOfItsCallerAloneAndTheOthersTryThemselves) {
    const auto cache = *Cache::open();
    std::atomic<int> made = 0, thrown = 0, found = 0;
    std::barrier together(thread_count);
    in_threads([&](int) {
        together.arrive_and_wait();
        try {
            const auto result = link::find_or_make(cache, key_of(1), [&]() -> Expected<Cubin> {
                std::this_thread::sleep_for(50ms);
                if (++made <= 2) throw std::bad_alloc();
                return cubin_of(1);
            });
            found += result.has_value();
        } catch (const std::bad_alloc&) { ++thrown; }
    });
    EXPECT_EQ(made, 3);
    EXPECT_EQ(thrown, 2);
    EXPECT_EQ(found, thread_count - 2);
}

TEST(ThreadsOfCache, OfSeveralKeysAreMadeSideBySide) {
    const auto cache = *Cache::open();
    std::barrier all_make(thread_count);  // nobody passes unless all make at once
    in_threads([&](int i) {
        const auto found =
            link::find_or_make(cache, key_of(static_cast<std::uint64_t>(i)), [&]() -> Expected<Cubin> {
                all_make.arrive_and_wait();
                return cubin_of(static_cast<std::uint64_t>(i));
            });
        EXPECT_TRUE(found);
    });
    EXPECT_EQ(cache.counters().misses, std::uint64_t{thread_count});
}

// Everything at once: what is found is right, and the counters add up.
TEST(ThreadsOfCache, MayDoEverythingAtOnce) {
    const TemporaryFolder folder;
    constexpr int lookups = 400;
    const CacheOptions options{.dir = folder.str(), .memory_bytes = 20'000, .disk_bytes = 200'000};
    const auto shared = *Cache::open(options);
    in_threads([&](int i) {
        const auto own = *Cache::open(options);
        const Cache& cache = i % 2 == 0 ? shared : own;
        std::minstd_rand random(static_cast<unsigned>(i + 1));
        for (int n = 0; n < lookups; ++n) {
            const std::uint64_t number = random() % 100;
            ask(cache, number, number * 97 % 5000);
            EXPECT_LE(cache.memory().bytes, 20'000u);
            if (n % 50 != 25) continue;
            EXPECT_TRUE(i != 1 || cache.clear());
            EXPECT_TRUE(i != 2 || cache.verify());
            EXPECT_TRUE(cache.folder());
        }
    });
    const CacheCounters c = shared.counters();
    EXPECT_EQ(c.memory_hits + c.disk_hits + c.joined + c.misses, lookups * thread_count / 2u);
    EXPECT_EQ(c.stored + c.not_stored, c.misses);
    EXPECT_EQ(c.dropped, 0u);
    EXPECT_EQ(shared.verify()->damaged, 0u);
}

}  // namespace
}  // namespace ptxgraft
