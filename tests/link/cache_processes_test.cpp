// Several processes with one folder: all at once, with one that clears it, and with some that are killed.
// Every test forks before anything here starts a thread.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "link/cache/turn.hpp"
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
    EXPECT_EQ(counters.memory_hits + counters.disk_hits + counters.joined + counters.misses, 4u * 600);
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

// A pipe through which children tell numbers.
class Told {
  public:
    Told() { EXPECT_EQ(::pipe(ends_), 0); }
    ~Told() {
        ::close(ends_[0]);
        ::close(ends_[1]);
    }
    Told(const Told&) = delete;
    Told& operator=(const Told&) = delete;
    void tell(std::uint64_t number) const {
        EXPECT_EQ(::write(ends_[1], &number, sizeof number), ssize_t{sizeof number});
    }
    [[nodiscard]] std::uint64_t wait() const {
        std::uint64_t number = 0;
        EXPECT_EQ(::read(ends_[0], &number, sizeof number), ssize_t{sizeof number});
        return number;
    }
    // What was told, when no child is left that could.
    [[nodiscard]] std::vector<std::uint64_t> rest() {
        ::close(std::exchange(ends_[1], -1));
        std::vector<std::uint64_t> numbers;
        for (std::uint64_t number = 0; ::read(ends_[0], &number, sizeof number) == ssize_t{sizeof number};)
            numbers.push_back(number);
        return numbers;
    }

  private:
    int ends_[2] = {-1, -1};
};

// Asks for machine code whose making takes long and tells of it.
CacheLevel ask_slowly(const Cache& cache, std::uint64_t number, const Told& made,
                      std::chrono::milliseconds time) {
    CacheLevel from = CacheLevel::none;
    const auto make = [&]() -> Expected<Cubin> {
        made.tell(number);
        std::this_thread::sleep_for(time);
        return test::cubin_of(number);
    };
    const auto cubin = link::find_or_make(cache, test::key_of(number), make, &from);
    EXPECT_TRUE(cubin && test::equal(**cubin, test::cubin_of(number))) << number;
    return from;
}

TEST(CacheProcesses, OneWorksAndTheOthersWait) {
    const TemporaryFolder folder;
    Told made;
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i)
        children.push_back(start([&] {
            const Cache cache = open(folder, 1 << 30);
            for (std::uint64_t number = 0; number < 12; ++number) (void)ask_slowly(cache, number, made, 20ms);
        }));
    expect_success(children);
    EXPECT_EQ(made.rest().size(), 12u);
    const CacheCounters counters = open(folder, 1 << 30).folder()->counters;
    EXPECT_EQ(counters.misses, 12u);
    EXPECT_EQ(counters.stored, 12u);
    EXPECT_EQ(counters.disk_hits + counters.joined, 36u);
    EXPECT_GT(counters.joined, 10u);
    for (const auto& file : fs::directory_iterator(folder.path))
        EXPECT_NE(file.path().extension(), ".ptxgraft-work") << file.path();
    expect_sound(folder, 1 << 30);
}

// Errors are had by those who wait, too; what is of its caller alone is not, and then they work themselves.
TEST(CacheProcesses, WhatIsNotKeptIsMadeByEach) {
    const TemporaryFolder folder;
    Told made;
    std::vector<pid_t> children;
    for (int i = 0; i < 3; ++i)
        children.push_back(start([&] {
            const Cache cache = open(folder, 1 << 30);
            for (const Errc code : {Errc::assemble_failed, Errc::out_of_memory}) {
                const auto make = [&]() -> Expected<Cubin> {
                    made.tell(static_cast<std::uint64_t>(code));
                    std::this_thread::sleep_for(30ms);
                    return fail(code, "why");
                };
                const auto key = test::key_of(static_cast<std::uint64_t>(code));
                EXPECT_EQ(link::find_or_make(cache, key, make).error().code, code);
            }
        }));
    expect_success(children);
    const auto numbers = made.rest();
    EXPECT_EQ(std::count(numbers.begin(), numbers.end(), std::uint64_t(Errc::assemble_failed)), 1);
    EXPECT_EQ(std::count(numbers.begin(), numbers.end(), std::uint64_t(Errc::out_of_memory)), 3);
}

// The turn of a process that is killed is the next one's, and its file goes with that.
TEST(CacheProcesses, AKilledOnesWorkIsAnothers) {
    const TemporaryFolder folder;
    for (int round = 0; round < 5; ++round) {
        const auto number = static_cast<std::uint64_t>(round);
        const Told begun, made;
        const pid_t dying = start([&] {
            const Cache cache = open(folder, 1 << 30);
            (void)ask_slowly(cache, number, begun, 60s);
        });
        EXPECT_EQ(begun.wait(), number);
        std::vector<pid_t> waiting;
        for (int i = 0; i < 3; ++i)
            waiting.push_back(start([&] {
                const Cache cache = open(folder, 1 << 30);
                (void)ask_slowly(cache, number, made, 1ms);
            }));
        std::this_thread::sleep_for(20ms);
        const auto before = std::chrono::steady_clock::now();
        ::kill(dying, SIGKILL);
        ::waitpid(dying, nullptr, 0);
        expect_success(waiting);
        EXPECT_LT(std::chrono::steady_clock::now() - before, 5s);
        EXPECT_EQ(made.wait(), number);
    }
    for (const auto& file : fs::directory_iterator(folder.path))
        EXPECT_NE(file.path().extension(), ".ptxgraft-work") << file.path();
    expect_sound(folder, 1 << 30);
}

// What a killed one leaves of a turn that nobody takes is cleared away.
TEST(CacheProcesses, ATurnThatIsLeftGoes) {
    const TemporaryFolder folder;
    const Told begun;
    const pid_t dying = start([&] {
        const Cache cache = open(folder, 1 << 30);
        (void)ask_slowly(cache, 1, begun, 60s);
    });
    (void)begun.wait();
    const fs::path turn = folder.path / (test::key_of(1).hex() + ".ptxgraft-work");
    const Cache cache = open(folder, 1 << 30);
    EXPECT_EQ(cache.verify()->abandoned, 0u);
    EXPECT_TRUE(fs::exists(turn));  // it works
    ::kill(dying, SIGKILL);
    ::waitpid(dying, nullptr, 0);
    EXPECT_EQ(cache.verify()->abandoned, 1u);
    EXPECT_FALSE(fs::exists(turn));
}

// A turn is waited for as long as one has patience for it.
TEST(CacheProcesses, PatienceEnds) {
    const TemporaryFolder folder;
    const std::string path = (folder.path / "turn").string();
    const Told begun;
    const pid_t holder = start([&] {
        const link::Turn turn(path, 0ms);
        EXPECT_FALSE(turn.has_waited());
        begun.tell(1);
        std::this_thread::sleep_for(60s);
    });
    (void)begun.wait();
    const auto before = std::chrono::steady_clock::now();
    {
        const link::Turn turn(path, 100ms);
        EXPECT_TRUE(turn.has_waited());
    }
    const auto time = std::chrono::steady_clock::now() - before;
    EXPECT_GE(time, 100ms);
    EXPECT_LT(time, 5s);
    EXPECT_TRUE(fs::exists(path));  // it is the other's
    ::kill(holder, SIGKILL);
    ::waitpid(holder, nullptr, 0);
    { const link::Turn turn(path, 0ms); }
    EXPECT_FALSE(fs::exists(path));
    // Nor does a folder that is none stop anybody.
    const link::Turn nowhere("/dev/null/turn", 60s);
    EXPECT_FALSE(nowhere.has_waited());
}

}  // namespace
}  // namespace ptxgraft
