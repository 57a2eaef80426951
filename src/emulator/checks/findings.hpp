#pragma once
/// @file findings.hpp
/// What the checks of a launch that goes on from mistakes have found: a cluster keeps its own, and a launch
/// puts them together in the order of the clusters, whichever ends first.

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "emulator/checks/provenance.hpp"
#include "emulator/machine/program.hpp"
#include "ptxgraft/emulator_checks.hpp"

namespace ptxgraft::emulator {

/// What a check finds at an instruction. Where it takes two to make a mistake, `other` is the second one.
struct Mistake {
    EmulatorCheck check = EmulatorCheck::races;
    Errc code = Errc::ok;
    std::uint32_t pc = 0;         ///< where it is reported
    std::uint32_t other = no_pc;  ///< mistakes with others there are different ones

    /// What tells it from others.
    using Key = std::array<std::uint32_t, 3>;
    [[nodiscard]] Key key() const { return {static_cast<std::uint32_t>(check), pc, other}; }
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
    [[nodiscard]] std::optional<std::size_t> look_for(const Mistake& mistake) const;
    [[nodiscard]] bool names(const EmulatorExcuse& excuse, std::uint32_t pc) const;

    std::span<const EmulatorExcuse> excuses_;
    const Program* program_;
    const Provenance* provenance_;
    // Every block asks of its own.
    mutable std::mutex mutex_;
    mutable std::map<Mistake::Key, std::optional<std::size_t>> found_;
};

/// The findings of one cluster, in the order of their first occurrences.
class ClusterFindings {
  public:
    struct Finding {
        Mistake mistake;
        std::optional<std::size_t> excuse = {};
        Error error = {};  // the first occurrence's; of one that is excused or described elsewhere: none
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
    struct Hash {
        std::size_t operator()(const Mistake::Key& key) const {
            constexpr std::uint64_t odd = 0x9E3779B97F4A7C15u;
            return ((std::uint64_t{key[1]} << 32 | key[2]) * odd) ^ key[0];
        }
    };
    static constexpr std::size_t most = 1u << 14;

    std::vector<Finding> findings_;
    std::unordered_map<Mistake::Key, std::size_t, Hash> places_;
};

/// The findings of a launch. Thread-safe, but for end() and all().
class LaunchFindings {
  public:
    struct Ended {
        std::vector<ClusterFindings::Finding> findings;
        std::uint32_t warps_of_cta = 1;
        bool is_last = false;  ///< it failed: those behind it do not count
    };
    void add(std::uint64_t cluster, Ended ended);
    /// Whether a cluster before this one has said what a mistake is; if not, this one is to say it.
    [[nodiscard]] bool is_described(const Mistake& mistake, std::uint64_t cluster);
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
    std::map<Mistake::Key, std::size_t> places_;
    std::map<Mistake::Key, std::uint64_t> described_;  // by which cluster
};

}  // namespace ptxgraft::emulator
