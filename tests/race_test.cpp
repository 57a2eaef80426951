// Races among random accesses of random warps, which order themselves at random: what is found soon, by lines and a log, is what is
// found byte by byte, and what is found is a race by the definition, from clocks of every thread.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>

#include "emulator/race.hpp"

namespace ptxgraft::emulator {
namespace {

constexpr unsigned warps = 3, lanes = 32, threads = warps * lanes;
constexpr std::uint64_t base = 0x7F00'0000'0000;

// What every thread knows of every other one, by the definition: nothing is joined but what was released.
class Threads {
  public:
    using Times = std::array<std::uint32_t, threads>;
    struct Access {
        unsigned thread;
        std::uint32_t time;
        AccessKind kind;
    };

    Threads() {
        for (unsigned i = 0; i < threads; ++i) known_[i][i] = 1;
    }
    void meet(const std::vector<unsigned>& who) {
        Times all = {};
        for (const unsigned thread : who) join(all, known_[thread]);
        for (const unsigned thread : who) {
            known_[thread] = all;
            ++known_[thread][thread];
        }
    }
    void release(unsigned thread, unsigned object) {
        join(objects_[object], known_[thread]);
        ++known_[thread][thread];
    }
    void acquire(unsigned thread, unsigned object) { join(known_[thread], objects_[object]); }
    [[nodiscard]] bool is_race(unsigned thread, AccessKind kind, std::uint64_t address, std::uint32_t bytes) const {
        for (std::uint64_t at = address; at < address + bytes; ++at) {
            const auto found = accesses_.find(at);
            if (found == accesses_.end()) continue;
            for (const Access& other : found->second) {
                const bool writes = kind != AccessKind::read || other.kind != AccessKind::read;
                if (writes && other.thread != thread && known_[thread][other.thread] < other.time) return true;
            }
        }
        return false;
    }
    void note(unsigned thread, AccessKind kind, std::uint64_t address, std::uint32_t bytes) {
        for (std::uint64_t at = address; at < address + bytes; ++at) accesses_[at].push_back({thread, known_[thread][thread], kind});
    }

  private:
    static void join(Times& to, const Times& from) {
        for (unsigned i = 0; i < threads; ++i) to[i] = std::max(to[i], from[i]);
    }
    std::array<Times, threads> known_ = {};
    std::map<unsigned, Times> objects_;
    std::map<std::uint64_t, std::vector<Access>> accesses_;
};

// Kernels of many kinds: `tidiness` says how often accesses keep to what a warp owns in a phase.
struct Style {
    unsigned tidiness, barriers, objects;
};

class Kernel {
  public:
    Kernel(std::uint64_t seed, Style style) : random_(seed), style_(style), order_(warps + 1), shadow_(order_, warps, 6), cells_(order_) {
        shadow_.begin(seed % 2 == 0);
        cells_.begin();
        for (Clock& object : objects_) object = Clock(warps + 1);
    }
    // Whether there was a race.
    bool run(unsigned steps) {
        for (unsigned step = 0; step < steps; ++step) {
            const unsigned chosen = below(100);
            if (chosen < style_.barriers) barrier();
            else if (chosen < style_.barriers + 5) sync_warp(below(warps));
            else if (chosen < style_.barriers + 5 + style_.objects) signal();
            else if (access()) return true;
        }
        return false;
    }

  private:
    unsigned below(unsigned end) { return std::uniform_int_distribution<unsigned>(0, end - 1)(random_); }

    void barrier() {
        Clock all(warps + 1);
        std::vector<unsigned> everyone(threads);
        for (unsigned i = 0; i < threads; ++i) everyone[i] = i;
        for (unsigned warp = 0; warp < warps; ++warp) order_.release(warp, ~0u, true, all);
        for (unsigned warp = 0; warp < warps; ++warp) order_.acquire(warp, ~0u, true, all);
        threads_.meet(everyone);
        ++phase_;
    }
    void sync_warp(unsigned warp) {
        std::vector<unsigned> members(lanes);
        for (unsigned i = 0; i < lanes; ++i) members[i] = warp * lanes + i;
        order_.synchronise(warp, ~0u, true);
        threads_.meet(members);
    }
    void signal() {
        const unsigned object = below(2), thread = below(threads);
        const std::uint32_t bit = 1u << thread % lanes;
        if (below(2) == 0) {
            order_.release(thread / lanes, bit, false, objects_[object]);
            threads_.release(thread, object);
        } else {
            order_.acquire(thread / lanes, bit, false, objects_[object]);
            threads_.acquire(thread, object);
        }
    }

    bool access() {
        const unsigned warp = below(warps);
        const std::uint32_t bytes = 1u << below(5);
        const bool is_tidy = below(100) < style_.tidiness, writes = below(is_tidy ? 2 : 6) == 0;
        const bool is_whole = below(4) != 0;
        std::uint32_t mask = is_whole ? ~0u : random_() & 0xFFFF'FFFF;
        // In even phases every thread has 16 bytes of its own, in odd ones all read what they like.
        const bool may_write = phase_ % 2 == 0, is_own = is_tidy && may_write;
        std::array<std::uint32_t, lanes> offsets;
        const unsigned shape = below(4), part = below(40) * 64, within = below(16 / bytes) * bytes;
        for (unsigned lane = 0; lane < lanes; ++lane) {
            if (is_own) offsets[lane] = (warp * lanes + lane) * 16 + within;
            else if (shape == 0) offsets[lane] = part;
            else if (shape == 1) offsets[lane] = part + below(8) * bytes;
            else offsets[lane] = part + lane * bytes;
        }
        if (mask == 0) mask = 1;
        const AccessKind kind = writes && (is_own || !is_tidy) ? AccessKind::write : AccessKind::read;
        return note(warp, mask, bytes, kind, offsets);
    }

    bool note(unsigned warp, std::uint32_t mask, std::uint32_t bytes, AccessKind kind, const std::array<std::uint32_t, lanes>& offsets) {
        LaneAccesses accesses{.begin = base, .offsets = offsets.data(), .bytes = bytes, .kind = kind, .warp = warp, .pc = ++pc_};
        accesses.is_whole = mask == ~0u;
        accesses.least = *std::min_element(offsets.begin(), offsets.end());
        accesses.most = *std::max_element(offsets.begin(), offsets.end());
        accesses.consecutive = accesses.is_whole;
        for (unsigned lane = 0; lane < lanes; ++lane) accesses.consecutive &= offsets[lane] == offsets[0] + lane * bytes;
        std::uint32_t by_shadow = mask, by_cells = mask;
        const auto found = shadow_.note(accesses, by_shadow), expected = cells_.note(accesses, by_cells);
        EXPECT_EQ(found.has_value(), expected.has_value());
        if (found && expected) {
            EXPECT_EQ(found->lane, expected->lane);
            EXPECT_EQ(found->pc, expected->pc);
            EXPECT_EQ(found->other.warp, expected->other.warp);
        }
        bool is_race = false;
        for (unsigned lane = 0; lane < lanes; ++lane) {
            if ((mask >> lane & 1) == 0) continue;
            const unsigned thread = warp * lanes + lane;
            is_race |= threads_.is_race(thread, kind, base + offsets[lane], bytes);
            if (expected && expected->lane == lane) {
                EXPECT_TRUE(is_race) << "a race that is none";
            }
            threads_.note(thread, kind, base + offsets[lane], bytes);
        }
        missed_ += is_race && !expected ? 1 : 0;
        return expected.has_value() || is_race;
    }

  public:
    unsigned missed_ = 0;

  private:
    std::mt19937_64 random_;
    Style style_;
    Order order_;
    RaceShadow shadow_;
    RaceCells cells_;
    std::array<Clock, 2> objects_;
    Threads threads_;
    std::uint32_t pc_ = 0, phase_ = 0;
};

TEST(Race, LinesAndTheLogFindWhatTheBytesFind) {
    unsigned races = 0, clean = 0, missed = 0;
    for (std::uint64_t seed = 1; seed <= 600 && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(seed);
        const Style styles[] = {{100, 10, 0}, {100, 3, 0}, {99, 10, 5}, {80, 20, 20}, {98, 5, 1}};
        Kernel kernel(seed, styles[seed % 5]);
        (kernel.run(400) ? races : clean)++;
        missed += kernel.missed_;
    }
    EXPECT_GT(races, 100u);
    EXPECT_GT(clean, 50u);
    EXPECT_LT(missed * 50, races) << "clocks may know too much, seldom";
}

// Rows whose lanes lie pages apart, over more than the 4096 pages that are kept: pages are forgotten between rows, not within one.
TEST(Race, MorePagesThanAreKept) {
    Order order(warps + 1);
    RaceShadow shadow(order, warps, 8);
    shadow.begin(false);
    std::array<std::uint32_t, lanes> offsets;
    for (unsigned lane = 0; lane < lanes; ++lane) offsets[lane] = lane * 8192 + lane * 4;
    LaneAccesses accesses{.begin = base, .offsets = offsets.data(), .bytes = 4, .kind = AccessKind::write, .warp = 0, .pc = 1};
    accesses.is_whole = true;
    accesses.most = offsets[lanes - 1];
    ASSERT_FALSE(shadow.note(base - 8192, 4, AccessKind::write, 0, 0, 1));  // a page more: the limit is within a row
    for (unsigned row = 0; row < 300; ++row, accesses.begin += lanes * 8192) {
        std::uint32_t mask = ~0u, first = 1;
        ASSERT_FALSE(shadow.note(accesses, mask));
        if (row % 4 == 0) {  // what everybody knows is dropped
            Clock all(warps + 1);
            for (unsigned warp = 0; warp < warps; ++warp) order.release(warp, ~0u, true, all);
            for (unsigned warp = 0; warp < warps; ++warp) order.acquire(warp, ~0u, true, all);
        }
        if (row != 299) continue;
        LaneAccesses others = accesses;
        others.warp = 1;
        others.is_whole = false;
        const auto race = shadow.note(others, first);
        ASSERT_TRUE(race);
        EXPECT_EQ(race->other.warp, 0);
    }
}

}  // namespace
}  // namespace ptxgraft::emulator
