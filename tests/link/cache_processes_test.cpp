// Several processes with one folder: all at once, with one that clears it, and with some that are killed.
// Every test forks before anything here starts a thread.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/cache_examples.hpp"
#include "support/files.hpp"

namespace ptxgraft {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using test::ask, test::entry_path, test::TemporaryFolder;

// A child; its exit status is whether no expectation in it failed.
pid_t start(const std::function<void()>& work) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    work();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
}
void expect_success(const std::vector<pid_t>& children) {
    for (const pid_t child : children) {
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    }
}

std::size_t size_of(std::uint64_t number) { return number * 977 % 20'000; }

Cache open(const TemporaryFolder& folder, std::uint64_t disk_bytes) {
    return *Cache::open({.dir = folder.str(), .memory_bytes = 20'000, .disk_bytes = disk_bytes});
}

// 600 times for one of 100 entries.
void ask_at_random(const Cache& cache, unsigned seed) {
    std::minstd_rand random(seed + 1);
    for (int i = 0; i < 600; ++i) {
        const std::uint64_t number = random() % 100;
        ask(cache, number, size_of(number));
    }
}

// Nothing damaged, nothing half written, and the ledger agrees with the files.
void expect_sound(const TemporaryFolder& folder, std::uint64_t disk_bytes, std::uint64_t most_abandoned = 0) {
    const Cache cache = open(folder, disk_bytes);
    const auto check = cache.verify();
    ASSERT_TRUE(check) << describe(check.error());
    EXPECT_EQ(check->damaged, 0u);
    EXPECT_LE(check->abandoned, most_abandoned);
    EXPECT_LE(check->whole.bytes, disk_bytes);
    for (const auto& file : fs::directory_iterator(folder.path))
        EXPECT_NE(file.path().extension(), ".ptxgraft-new") << file.path();
    EXPECT_EQ(cache.folder()->counters.dropped, 0u);
}

TEST(CacheProcesses, ShareAFolderUnderACap) {
    const TemporaryFolder folder;
    constexpr std::uint64_t cap = 400 << 10;  // some 30 entries of 100
    std::vector<pid_t> children;
    for (unsigned seed = 0; seed < 4; ++seed)
        children.push_back(start([&] {
            const Cache cache = open(folder, cap);
            ask_at_random(cache, seed);
            EXPECT_GT(cache.counters().disk_hits, 0u);
            EXPECT_EQ(cache.counters().not_stored, 0u);
        }));
    expect_success(children);
    expect_sound(folder, cap);
    const CacheCounters counters = open(folder, cap).folder()->counters;
    EXPECT_EQ(counters.memory_hits + counters.disk_hits + counters.misses, 4u * 600);
    EXPECT_EQ(counters.stored, counters.misses);
    EXPECT_GT(counters.evicted, 0u);
}

TEST(CacheProcesses, GoOnWhileOneClears) {
    const TemporaryFolder folder;
    constexpr std::uint64_t cap = 400 << 10;
    std::vector<pid_t> children;
    for (unsigned seed = 0; seed < 3; ++seed)
        children.push_back(start([&] {
            const Cache cache = open(folder, cap);
            ask_at_random(cache, seed);
            EXPECT_EQ(cache.counters().dropped, 0u);
        }));
    children.push_back(start([&] {
        const Cache cache = open(folder, cap);
        for (int i = 0; i < 60; ++i) {
            EXPECT_TRUE(i % 2 == 0 ? cache.clear().has_value() : cache.verify().has_value());
            std::this_thread::sleep_for(2ms);
        }
    }));
    expect_success(children);
    expect_sound(folder, cap);
}

TEST(CacheProcesses, AFolderThatVanishesUnderThemIsMadeAgain) {
    const TemporaryFolder folder;
    std::vector<pid_t> children;
    for (unsigned seed = 0; seed < 3; ++seed)
        children.push_back(start([&] {
            const Cache cache = open(folder, 1 << 30);
            for (std::uint64_t i = 0; i < 300; ++i) ask(cache, i, size_of(i));
        }));
    children.push_back(start([&] {
        for (int i = 0; i < 30; ++i) {
            std::error_code ignored;
            fs::remove_all(folder.path, ignored);
            std::this_thread::sleep_for(3ms);
        }
    }));
    expect_success(children);
    const Cache cache = open(folder, 1 << 30);
    ask(cache, 1000);
    EXPECT_EQ(ask(*Cache::open({.dir = folder.str()}), 1000), CacheLevel::disk);
    expect_sound(folder, 1 << 30, 3);
}

// What a writer has told that it stored is there, whole, after it was killed at any moment.
TEST(CacheProcesses, AKilledWriterLosesNothingAndLeavesNothing) {
    const TemporaryFolder folder;
    constexpr std::uint64_t cap = 1 << 30;
    std::mt19937 random(7);
    std::uint64_t first = 0, abandoned = 0;
    for (int round = 0; round < 40; ++round) {
        int told[2];
        ASSERT_EQ(::pipe(told), 0);
        const pid_t child = start([&] {
            const Cache cache = open(folder, cap);
            for (std::uint64_t i = first;; ++i) {
                ask(cache, i, 20'000);
                if (::write(told[1], &i, sizeof i) != sizeof i) return;
            }
        });
        ::close(told[1]);
        std::uint64_t last = 0;
        ASSERT_EQ(::read(told[0], &last, sizeof last), ssize_t{sizeof last});
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 4000));
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
        while (::read(told[0], &last, sizeof last) == ssize_t{sizeof last}) {}
        ::close(told[0]);
        const Cache cache = open(folder, cap);
        for (; first <= last; ++first) ASSERT_EQ(ask(cache, first, 20'000), CacheLevel::disk) << first;
        first += 2;  // the writer may have begun the next one
        const auto check = cache.verify();
        ASSERT_TRUE(check);
        EXPECT_EQ(check->damaged, 0u);
        abandoned += check->abandoned;
        for (const auto& file : fs::directory_iterator(folder.path))
            ASSERT_NE(file.path().extension(), ".ptxgraft-new") << file.path();
    }
    RecordProperty("abandoned", std::to_string(abandoned));
    expect_sound(folder, cap);
}

// The others do not wait for the lock of one that is stopped, and have it when that one dies.
TEST(CacheProcesses, AStoppedOneStopsNobody) {
    const TemporaryFolder folder;
    ask(open(folder, 1 << 30), 0);
    const pid_t child = start([&] {
        const Cache cache = open(folder, 1 << 30);
        for (std::uint64_t i = 1;; ++i) ask(cache, i);
    });
    for (int i = 0; i < 20; ++i) {
        std::this_thread::sleep_for(1ms);
        ::kill(child, SIGSTOP);
        const Cache cache = *Cache::open({.dir = folder.str(), .memory_bytes = 0});
        EXPECT_EQ(ask(cache, 0), CacheLevel::disk);
        ::kill(child, SIGCONT);
    }
    ::kill(child, SIGSTOP);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ask(open(folder, 1 << 30), 1'000'000);
    EXPECT_TRUE(fs::exists(entry_path(folder.path, 1'000'000)));
}

}  // namespace
}  // namespace ptxgraft
