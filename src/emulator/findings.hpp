#pragma once
/// @file findings.hpp
/// What the checks of a launch that goes on from mistakes have found: a cluster keeps its own, and a launch puts them together in the order
/// of the clusters, whichever ends first.

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "emulator/program.hpp"
#include "emulator/provenance.hpp"
#include "ptxgraft/emulator_checks.hpp"

namespace ptxgraft::emulator {

/// What a check finds at an instruction. Where it takes two to make a mistake, `other` is the second one.
struct Mistake {
    EmulatorCheck check = EmulatorCheck::races;
    Errc code = Errc::ok;
    std::uint32_t pc = 0;         ///< where it is reported
    std::uint32_t other = no_pc;  ///< mistakes with others there are different ones
    std::uint32_t shows = no_pc;  ///< where it came to light; wherever else it does is the same mistake
};

/// The lines that are excused.
class Excuses {
  public:
    Excuses(std::span<const EmulatorExcuse> excuses, const Program& program, const Provenance& provenance)
        : excuses_(excuses), program_(&program), provenance_(&provenance) {}
    [[nodiscard]] bool any() const { return !excuses_.empty(); }
    /// The first one that has an instruction of the mistake.
    [[nodiscard]] std::optional<std::size_t> find(const Mistake& mistake) const;

  private:
    [[nodiscard]] bool names(const EmulatorExcuse& excuse, std::uint32_t pc) const;

    std::span<const EmulatorExcuse> excuses_;
    const Program* program_;
    const Provenance* provenance_;
};

/// The findings of one cluster, in the order of their first occurrences.
class ClusterFindings {
  public:
    struct Finding {
        Mistake mistake;
        std::optional<std::size_t> excuse = {};
        Error error = {};                       // of one without an excuse: the first occurrence's
        std::vector<Span> calls = {};           // that led there
        std::vector<std::uint32_t> lanes = {};  // by warp
    };
    void clear();
    /// A mistake that is known happened again in lanes of a warp. False: it is new.
    [[nodiscard]] bool again(const Mistake& mistake, unsigned warp, std::uint32_t lanes);
    /// There are so many that nobody reads more.
    [[nodiscard]] bool is_full() const { return findings_.size() >= most; }
    void add(Finding finding, unsigned warp, std::uint32_t lanes);
    [[nodiscard]] std::vector<Finding>& all() { return findings_; }

  private:
    struct Key {
        EmulatorCheck check;
        std::uint32_t pc, other;
        friend bool operator==(const Key&, const Key&) = default;
    };
    struct Hash {
        std::size_t operator()(const Key& key) const {
            constexpr std::uint64_t odd = 0x9E3779B97F4A7C15u;
            return ((std::uint64_t{key.pc} << 32 | key.other) * odd) ^ static_cast<std::size_t>(key.check);
        }
    };
    [[nodiscard]] static Key key(const Mistake& mistake) { return {mistake.check, mistake.pc, mistake.other}; }
    static constexpr std::size_t most = 1u << 14;

    std::vector<Finding> findings_;
    std::unordered_map<Key, std::size_t, Hash> places_;
};

/// The findings of a launch. Thread-safe.
class LaunchFindings {
  public:
    struct Ended {
        std::vector<ClusterFindings::Finding> findings;
        std::uint32_t warps_of_cta = 1;
        bool is_last = false;  ///< it failed: those behind it do not count
    };
    void add(std::uint64_t cluster, Ended ended);
    /// No cluster runs any more; those that have not ended do not count.
    void end();

    struct Finding {
        ClusterFindings::Finding first;
        std::uint64_t threads = 0, blocks = 0;
    };
    [[nodiscard]] std::vector<Finding>& all() { return findings_; }

  private:
    void fold(Ended& ended);

    std::mutex mutex_;
    std::uint64_t next_ = 0;                // the first cluster that has not been folded
    bool is_over_ = false;                  // the last one that counts has been
    std::map<std::uint64_t, Ended> ended_;  // those behind it
    std::vector<Finding> findings_;
    std::map<std::array<std::uint32_t, 3>, std::size_t> places_;
};

}  // namespace ptxgraft::emulator
