// Races among random accesses of random warps, which order themselves at random: what shadow memory finds is
// what the definition says, from the accesses to every byte and what every thread knows of every other one.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "emulator/races/race.hpp"

namespace ptxgraft::emulator {
namespace {

constexpr unsigned warps = 4, warps_of_cta = 2, lanes = 32, threads = warps * lanes;
constexpr unsigned agents = warps + 1,
                   actors = agents * lanes;  // the last agent works asynchronously, for the threads of warp 0
constexpr std::uint64_t base = 0x7F00'0000'0000;
constexpr std::size_t much = std::size_t{256} << 20;

struct RacingAccess {
    unsigned actor;
    std::uint32_t time;
    AccessKind kind;
    Reach reach;
    std::uint32_t pc;
};

[[nodiscard]] bool conflict(const RacingAccess& a, const RacingAccess& b) {
    if (is_read(a.kind) && is_read(b.kind)) return false;
    if (is_weak(a.kind) || is_weak(b.kind)) return true;
    const bool is_far = a.actor / lanes / warps_of_cta != b.actor / lanes / warps_of_cta;
    return is_far && (a.reach == Reach::cta || b.reach == Reach::cta);
}

// What every thread knows of every actor, by the definition.
class Threads {
  public:
    struct Times {
        std::array<std::uint32_t, actors> accesses = {}, reads = {};
        void join(const Times& from) {
            for (unsigned i = 0; i < actors; ++i) {
                accesses[i] = std::max(accesses[i], from.accesses[i]);
                reads[i] = std::max(reads[i], from.reads[i]);
            }
        }
    };

    Threads() {
        now_.fill(1);
        for (unsigned i = 0; i < threads; ++i) known_[i].accesses[i] = 1;
    }
    void synchronise(const std::vector<unsigned>& who) {
        Times all;
        for (const unsigned thread : who) all.join(known_[thread]);
        for (const unsigned thread : who) {
            known_[thread] = all;
            step(thread);
        }
    }
    // A shuffle: what was read is read, and what one has got to know of others counts for all.
    void meet(unsigned warp, const std::vector<unsigned>& who) {
        const auto is_own = [&](unsigned actor) { return actor / lanes == warp; };
        Times all;
        for (const unsigned thread : who) all.join(known_[thread]);
        std::array<std::uint32_t, lanes> read = {};
        for (const unsigned thread : who) read[thread % lanes] = now_[thread];
        for (const unsigned thread : who) {
            for (unsigned i = 0; i < actors; ++i) {
                if (is_own(i)) {
                    met_[thread][i % lanes] =
                        std::max({met_[thread][i % lanes], read[i % lanes], met_of(who, i % lanes)});
                } else {
                    known_[thread].accesses[i] = std::max(known_[thread].accesses[i], all.accesses[i]);
                    known_[thread].reads[i] = std::max(known_[thread].reads[i], all.reads[i]);
                }
            }
        }
        for (const unsigned thread : who) {
            for (unsigned i = 0; i < lanes; ++i) {
                std::uint32_t& reads = known_[thread].reads[warp * lanes + i];
                reads = std::max(reads, met_[thread][i]);
            }
            step(thread);
        }
    }
    void release(unsigned thread, unsigned object) {
        objects_[object].join(known_[thread]);
        step(thread);
    }
    void acquire(unsigned thread, unsigned object) { known_[thread].join(objects_[object]); }
    void learn(unsigned thread, unsigned actor) { known_[thread].accesses[actor] = now_[actor]++; }
    [[nodiscard]] bool knows(unsigned thread, const RacingAccess& other) const {
        if (other.time <= known_[thread].accesses[other.actor]) return true;
        return is_read(other.kind) && other.time <= known_[thread].reads[other.actor];
    }
    [[nodiscard]] bool is_race(unsigned thread, const RacingAccess& other, const RacingAccess& own) const {
        return conflict(other, own) && !knows(thread, other);
    }
    [[nodiscard]] std::uint32_t now(unsigned actor) const { return now_[actor]; }

  private:
    [[nodiscard]] std::uint32_t met_of(const std::vector<unsigned>& who, unsigned lane) const {
        std::uint32_t time = 0;
        for (const unsigned thread : who) time = std::max(time, met_[thread][lane]);
        return time;
    }
    void step(unsigned thread) { known_[thread].accesses[thread] = ++now_[thread]; }

    std::array<Times, threads> known_;
    std::array<std::array<std::uint32_t, lanes>, threads> met_ = {};
    std::array<std::uint32_t, actors> now_ = {};
    std::map<unsigned, Times> objects_;
};

// Kernels of many kinds.
struct Style {
    unsigned tidiness;                  // per mille of accesses that keep to what a thread owns in a phase
    unsigned barriers, syncs, objects;  // in a hundred steps
    unsigned few_instructions = 0;      // as in a loop; 0: every access is one of its own
    unsigned scatter_words = 0;  // own bytes are any of so many words instead, mostly those of one lane alone
    unsigned arrivals = 0;       // of a hundred accesses those of mbarriers that lie in a row
    unsigned copies = 0;         // of a hundred weak ones of warp 0 those that something does for its lanes
};

const LaneFunctions& functions() { return lane_functions(arithmetic::Processor::baseline); }

class Kernel {
  public:
    Kernel(std::uint64_t seed, Style style, std::size_t limit = much)
        : random_(seed),
          style_(style),
          order_(agents, warps),
          shadow_(order_, storage_, storage_.global, warps_of_cta, functions()),
          is_limited_(limit < much) {
        shadow_.begin(limit);
        for (Clock& object : objects_) object = Clock(agents);
    }
    // Whether there was a race.
    bool run(unsigned steps) {
        for (unsigned step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
            const unsigned chosen = below(100), syncs = style_.barriers + style_.syncs;
            if (chosen < style_.barriers)
                barrier();
            else if (chosen < syncs)
                sync_warp();
            else if (chosen < syncs + style_.objects)
                signal();
            else if (chosen < 97 ? access() : asynchronous())
                return true;
        }
        return false;
    }
    [[nodiscard]] unsigned missed() const { return missed_; }
    [[nodiscard]] std::size_t bytes() const { return storage_.global.bytes(); }

  private:
    unsigned below(unsigned end) { return std::uniform_int_distribution<unsigned>(0, end - 1)(random_); }

    void barrier() {
        Clock all(agents);
        std::vector<unsigned> everyone(threads);
        for (unsigned i = 0; i < threads; ++i) everyone[i] = i;
        for (unsigned warp = 0; warp < warps; ++warp) order_.release(warp, ~0u, true, all);
        for (unsigned warp = 0; warp < warps; ++warp) order_.acquire_own(warp, all);
        threads_.synchronise(everyone);
        ++phase_;
        permutation_ = below(lanes);
    }
    void sync_warp() {
        const unsigned warp = below(warps);
        const bool is_whole = below(3) != 0;
        std::uint32_t mask = is_whole ? ~0u : static_cast<std::uint32_t>(random_());
        if (mask == 0) mask = 1;
        std::vector<unsigned> members;
        for (unsigned lane = 0; lane < lanes; ++lane)
            if ((mask >> lane & 1) != 0) members.push_back(warp * lanes + lane);
        if (below(2) == 0) {
            order_.synchronise(warp, mask, mask == ~0u);
            threads_.synchronise(members);
        } else {
            order_.meet(warp, mask, mask == ~0u);
            threads_.meet(warp, members);
        }
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

    std::uint32_t next_pc() { return style_.few_instructions == 0 ? ++pc_ : below(style_.few_instructions); }

    // In even phases every thread has bytes of its own, in odd ones all read what they like; another part is
    // for strong accesses.
    bool access() {
        const unsigned warp = below(warps);
        if (below(100) < style_.arrivals) return arrive(warp);
        std::uint32_t mask = below(4) != 0 ? ~0u : static_cast<std::uint32_t>(random_());
        if (mask == 0) mask = 1;
        std::array<std::uint32_t, lanes> offsets;
        const bool is_tidy = below(1000) < style_.tidiness;
        const std::uint32_t bytes = below(2) == 0 ? 4 : 1u << below(6);
        if (below(6) == 0) return strong(warp, mask, is_tidy);
        const bool may_write = phase_ % 2 == 0;
        if (!is_tidy) {
            choose(offsets, bytes);
            return note(warp, mask, bytes, below(2) == 0 ? AccessKind::write : AccessKind::read,
                        Reach::cluster, offsets);
        }
        if (!may_write) {
            choose(offsets, bytes);
            return note(warp, mask, bytes, AccessKind::read, Reach::cluster, offsets);
        }
        if (style_.scatter_words != 0) {
            for (unsigned lane = 0; lane < lanes; ++lane)
                offsets[lane] = (1u << 20) + below(style_.scatter_words) * 4;
            const AccessKind kind = below(8) == 0 ? AccessKind::write : AccessKind::atomic;
            if (kind == AccessKind::write)
                for (std::uint32_t& offset : offsets) offset += style_.scatter_words * 4;
            return note(warp, mask, 4, kind, Reach::cluster, offsets);
        }
        // Rows of 256 bytes that each thread walks over, or words in turns.
        const unsigned layout = phase_ / 2 % 3, of = below(32), row = walked_++ / 8 % 8 * 32;
        for (unsigned lane = 0; lane < lanes; ++lane) {
            const unsigned thread = warp * lanes + (lane ^ permutation_);
            if (layout == 0)
                offsets[lane] = thread * 256 + row + below(32 / bytes) * bytes;
            else if (layout == 1)
                offsets[lane] = thread * 256 + row + of / bytes * bytes;
            else
                offsets[lane] = (of * threads + thread) * bytes;
        }
        return note(warp, mask, bytes, below(2) == 0 ? AccessKind::write : AccessKind::read, Reach::cluster,
                    offsets);
    }
    bool strong(unsigned warp, std::uint32_t mask, bool is_tidy) {
        constexpr AccessKind kinds[] = {AccessKind::strong_read, AccessKind::strong_write, AccessKind::atomic,
                                        AccessKind::reduction};
        std::array<std::uint32_t, lanes> offsets;
        const bool is_narrow = below(3) == 0, is_near = is_tidy && is_narrow;
        const unsigned part = 1u << 17 | (is_near ? 1u << (14 + warp / warps_of_cta) : 0), how = below(3),
                       at = below(64) * 4;
        for (unsigned lane = 0; lane < lanes; ++lane)
            offsets[lane] = part + (how == 0 ? at : how == 1 ? below(64) * 4 : at + lane * 4);
        const bool is_weak_too = !is_tidy && below(8) == 0;
        const AccessKind kind =
            is_weak_too ? below(2) == 0 ? AccessKind::write : AccessKind::read : kinds[below(3)];
        return note(warp, mask, 4, kind, is_narrow && !is_weak_too ? Reach::cta : Reach::cluster, offsets);
    }
    // Lanes arrive at one of the mbarriers of a line, each for itself or all at once, or wait there; now and
    // then a thread makes one, which is in a race with every access that it does not know of.
    bool arrive(unsigned warp) {
        const unsigned lane = below(lanes);
        const std::uint32_t mask = below(4) != 0 ? 1u << lane : ~0u;
        const bool is_narrow = below(3) == 0, is_made = below(400) == 0;
        std::array<std::uint32_t, lanes> offsets;
        offsets.fill((1u << 19) + (is_narrow ? (1 + warp / warps_of_cta) << 12 : 0) + below(16) * 8);
        const AccessKind kind = is_made         ? AccessKind::write
                                : below(3) == 0 ? AccessKind::strong_read
                                                : AccessKind::atomic;
        const bool is_race =
            note(warp, mask, 8, kind, is_narrow && !is_made ? Reach::cta : Reach::cluster, offsets);
        if (is_race || below(2) == 0) return is_race;
        const unsigned object = below(2), thread = warp * lanes + lane;
        order_.release(warp, 1u << lane, false, objects_[object]);
        threads_.release(thread, object);
        if (below(2) == 0) {
            order_.acquire(warp, 1u << lane, false, objects_[object]);
            threads_.acquire(thread, object);
        }
        return false;
    }
    void choose(std::array<std::uint32_t, lanes>& offsets, std::uint32_t bytes) {
        const unsigned how = below(6), part = below(40) * 64, stride = below(5) * 64;
        for (unsigned lane = 0; lane < lanes; ++lane) {
            if (how == 0)
                offsets[lane] = part;
            else if (how == 1)
                offsets[lane] = part + below(8) * bytes;
            else if (how == 2)
                offsets[lane] = below((1u << 15) / bytes) * bytes;
            else if (how == 3)
                offsets[lane] = part + lane * stride;
            else
                offsets[lane] = part + lane * bytes;
        }
    }

    bool note(unsigned warp, std::uint32_t mask, std::uint32_t bytes, AccessKind kind, Reach reach,
              const std::array<std::uint32_t, lanes>& offsets) {
        LaneAccesses accesses{.begin = base,
                              .offsets = offsets.data(),
                              .bytes = bytes,
                              .kind = kind,
                              .warp = warp,
                              .pc = next_pc(),
                              .reach = reach};
        accesses.least = *std::min_element(offsets.begin(), offsets.end());
        accesses.most = *std::max_element(offsets.begin(), offsets.end());
        accesses.all_equal = mask == ~0u && accesses.least == accesses.most;
        accesses.consecutive = mask == ~0u;
        for (unsigned lane = 0; lane < lanes; ++lane)
            accesses.consecutive &= offsets[lane] == offsets[0] + lane * bytes;
        const bool is_copy = warp == 0 && is_weak(kind) && style_.copies != 0 && below(100) < style_.copies;
        if (is_copy) accesses.by = epoch(warps, 0, order_.access(warps));
        const auto found = shadow_.note(accesses, mask);
        bool is_race = false;
        for (unsigned lane = 0; lane < lanes; ++lane) {
            if ((mask >> lane & 1) == 0) continue;
            const unsigned thread = warp * lanes + lane;
            const unsigned actor = is_copy ? warps * lanes + lane : thread;
            const RacingAccess own{actor, threads_.now(actor), kind, reach, accesses.pc};
            is_race |= add(thread, own, base + offsets[lane], bytes,
                           found && found->lane == lane ? &*found : nullptr);
        }
        compare(is_race, found);
        return is_race;
    }
    // Each of these lanes of warp 0 of what was done for it.
    void learn(std::uint32_t mask) {
        each_bit(mask, [&](unsigned lane) {
            order_.learn(0, 1u << lane, false, warps, 1u << lane, order_.now(warps));
            threads_.learn(lane, warps * lanes + lane);
        });
        order_.advance(warps);
    }
    // By what works for a thread, which learns of it or not.
    bool asynchronous() {
        const unsigned lane = below(lanes), actor = warps * lanes + lane;
        if (below(2) == 0) {
            learn(1u << lane);
            return false;
        }
        if (style_.copies != 0) {
            learn(~0u);
            return false;
        }
        const bool is_own = below(1000) < style_.tidiness;
        const std::uint64_t begin = is_own ? base + (1u << 18) + lane * 1024 + below(16) : base + below(2560);
        const std::uint64_t end = begin + 1 + below(is_own ? 500 : 64);
        const AccessKind kind = is_own || below(2) == 0 ? AccessKind::read : AccessKind::write;
        const std::uint32_t pc = next_pc();
        const auto found =
            shadow_.note(begin, end, kind, {epoch(warps, lane, order_.access(warps)), 0, lane}, pc);
        const RacingAccess own{actor, threads_.now(actor), kind, Reach::cluster, pc};
        const bool is_race =
            add(lane, own, begin, static_cast<std::uint32_t>(end - begin), found ? &*found : nullptr);
        compare(is_race, found);
        return is_race;
    }

    // Whether the access is part of a race; `found` has to be one.
    bool add(unsigned thread, const RacingAccess& own, std::uint64_t address, std::uint32_t bytes,
             const Race* found) {
        bool is_race = false, is_found = false;
        for (std::uint64_t at = address; at < address + bytes; ++at) {
            std::vector<RacingAccess>& all = accesses_[at];
            for (const RacingAccess& other : all) {
                if (!threads_.is_race(thread, other, own)) continue;
                is_race = true;
                is_found |= found != nullptr && at >= found->address && at < found->address + found->bytes &&
                            other.pc == found->pc && other.kind == found->other_kind &&
                            other.actor == found->other.agent * lanes + found->other.lane;
            }
            all.push_back(own);
        }
        EXPECT_TRUE(found == nullptr || is_found) << "no such race";
        return is_race;
    }
    void compare(bool is_race, const std::optional<Race>& found) {
        if (is_limited_ && is_race && !found)
            ++missed_;
        else
            EXPECT_EQ(found.has_value(), is_race);
    }

    std::mt19937_64 random_;
    Style style_;
    Order order_;
    RaceStorage storage_;
    RaceShadow shadow_;
    bool is_limited_;
    unsigned missed_ = 0;
    std::array<Clock, 2> objects_;
    Threads threads_;
    std::map<std::uint64_t, std::vector<RacingAccess>> accesses_;
    std::uint32_t pc_ = 0, phase_ = 0, walked_ = 0, permutation_ = 0;
};

TEST(Race, ShadowMemoryFindsWhatTheDefinitionSays) {
    unsigned races = 0, clean = 0;
    constexpr Style styles[] = {{1000, 10, 5, 0},
                                {1000, 3, 2, 0},
                                {995, 10, 5, 5},
                                {800, 10, 10, 20},
                                {990, 4, 4, 4},
                                {1000, 2, 0, 0, 12},
                                {998, 3, 2, 2, 12},
                                {1000, 1, 1, 1, 6},
                                {990, 3, 3, 3, 6},
                                {1000, 2, 0, 0, 4, 1u << 15},
                                {1000, 2, 2, 2, 4, 1u << 13},
                                {1000, 5, 1, 1, 4, 1u << 20},
                                {1000, 1, 0, 1, 4, 0, 95},
                                {1000, 0, 0, 2, 8, 0, 99}};
    std::vector<std::uint64_t> seeds(900);
    std::iota(seeds.begin(), seeds.end(), 1);
    seeds.push_back(3382);  // of two lanes that read a byte by different instructions one is known
    for (const std::uint64_t seed : seeds) {
        SCOPED_TRACE(seed);
        if (testing::Test::HasFailure()) break;
        Kernel kernel(seed, styles[seed % std::size(styles)]);
        (kernel.run(300) ? races : clean)++;
    }
    EXPECT_GT(races, 200u);
    EXPECT_GT(clean, 200u);
}

// What is done for many lanes at once, as by one cp.async of a warp.
TEST(Race, CopiesForTheLanesOfAWarp) {
    unsigned races = 0, clean = 0;
    constexpr Style styles[] = {{1000, 10, 5, 0, 0, 0, 0, 10}, {1000, 4, 4, 4, 12, 0, 0, 30},
                                {990, 10, 5, 5, 0, 0, 0, 50},  {1000, 2, 0, 0, 4, 1u << 15, 0, 50},
                                {1000, 1, 1, 1, 6, 0, 0, 5},   {1000, 3, 2, 2, 12, 0, 30, 20},
                                {800, 3, 1, 1, 1, 0, 0, 90}};
    for (std::uint64_t seed = 1; seed <= 600 && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(seed);
        Kernel kernel(seed, styles[seed % std::size(styles)]);
        (kernel.run(100) ? races : clean)++;
    }
    EXPECT_GT(races, 150u);
    EXPECT_GT(clean, 50u);
}

// With little host memory what was accessed first is forgotten first: fewer races are found, none that is
// none, and those of late are.
TEST(Race, LittleMemoryForgetsAndInventsNothing) {
    unsigned found = 0, missed = 0;
    for (std::uint64_t seed = 1; seed <= 12 && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(seed);
        Kernel kernel(seed, {990, 1, 0, 0, 4, 1u << 20}, 0);
        const bool is_race = kernel.run(400);
        (kernel.missed() != 0 ? missed : found) += is_race ? 1 : 0;
        EXPECT_LT(kernel.bytes(), std::size_t{32} << 20);
    }
    EXPECT_GT(found + missed, 4u);
}

struct Walk {
    explicit Walk(std::size_t limit)
        : order(agents, warps), shadow(order, storage, storage.global, warps_of_cta, functions()) {
        shadow.begin(limit);
    }
    bool write(unsigned warp, std::uint64_t address, std::uint32_t pc = 1) {
        std::array<std::uint32_t, lanes> offsets;
        for (unsigned lane = 0; lane < lanes; ++lane) offsets[lane] = lane * stride;
        const LaneAccesses accesses{.begin = base + address,
                                    .offsets = offsets.data(),
                                    .bytes = 4,
                                    .kind = AccessKind::write,
                                    .warp = warp,
                                    .pc = pc,
                                    .consecutive = stride == 4,
                                    .most = offsets[lanes - 1]};
        return shadow.note(accesses, ~0u).has_value();
    }
    Order order;
    RaceStorage storage;
    RaceShadow shadow;
    std::uint32_t stride = 4;
};

TEST(Race, MemoryIsBoundedAndWhatWasLateIsKnown) {
    for (const std::uint32_t stride : {4u, 132u, 4096u, 65540u})
        for (const std::size_t limit : {std::size_t{8} << 20, std::size_t{64} << 20}) {
            Walk walk(limit);
            walk.stride = stride;
            const std::uint64_t end = std::uint64_t{1} << 30, step = std::uint64_t{stride} * lanes;
            std::uint64_t last = 0;
            for (std::uint64_t at = 0; at < end; at += step) {
                ASSERT_FALSE(walk.write(0, at));
                last = at;
            }
            EXPECT_LT(walk.storage.global.bytes(), limit + (std::size_t{24} << 20)) << stride;
            EXPECT_TRUE(walk.write(1, last)) << stride;
            EXPECT_FALSE(walk.write(1, 0)) << stride;
        }
    Walk all(std::size_t{1} << 30);
    for (std::uint64_t at = 0; at < std::uint64_t{1} << 30; at += 128) ASSERT_FALSE(all.write(0, at));
    EXPECT_TRUE(all.write(1, 0));
}

// Every instruction of every epoch has a number; with too many of them everything is forgotten.
TEST(Race, MoreAccessesThanAreTold) {
    Walk walk(8u << 20);
    for (std::uint32_t pc = 1; pc < 400'000; ++pc) ASSERT_FALSE(walk.write(0, 128 * (pc % 3), pc));
    EXPECT_TRUE(walk.write(1, 0));
}

}  // namespace
}  // namespace ptxgraft::emulator
