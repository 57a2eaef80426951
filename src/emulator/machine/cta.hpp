#pragma once
/// @file cta.hpp
/// A block of threads: its warps, its shared memory, its barriers; and what all blocks of a launch share.

#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "emulator/checks/checker.hpp"
#include "emulator/checks/findings.hpp"
#include "emulator/machine/fixed_vector.hpp"
#include "emulator/machine/printed_text.hpp"
#include "emulator/machine/program.hpp"
#include "emulator/machine/warp.hpp"
#include "emulator/memory/host_bytes.hpp"
#include "emulator/observe/watch.hpp"
#include "ptxgraft/emulator.hpp"

namespace ptxgraft::emulator {

/// What the program calls the registers of each function.
using RegisterNames = std::unordered_map<const Function*, std::unordered_map<Ref, std::string_view>>;
[[nodiscard]] RegisterNames register_names(const Program& program, std::string_view text);

/// Of shared memory, for CUDA itself: behind what the program has.
inline constexpr std::uint32_t cuda_shared_bytes = 1 << 10;

struct Launch {
    Launch(const Program& program_, const Function& entry_, std::string_view text_,
           std::span<const EmulatorExcuse> excused)
        : program(&program_),
          entry(&entry_),
          text(text_),
          provenance(text_),
          excuses(excused, program_, provenance) {}

    const Program* program = nullptr;
    const Function* entry = nullptr;
    Memory* memory = nullptr;
    const LaneFunctions* lane_functions = nullptr;
    LaunchConfig shape;
    std::vector<std::byte> parameters;
    std::uint32_t dynamic_shared = 0;  ///< address of the dynamic part
    /// static and dynamic, and what is reserved where the program asks for it
    std::uint32_t shared_bytes = 0;
    std::uint32_t reserved_shared = 0;  ///< address of what is reserved
    std::string_view text;              ///< of the module
    EmulatorChecks checks;
    bool is_ordered = false;  ///< it is kept which accesses are: for races, or for what runs asynchronously
    bool keeps_going = false;
    Provenance provenance;
    Excuses excuses;
    mutable LaunchFindings findings;
    std::size_t shadow_bytes = 0;  ///< of each cluster, for each state space that races are looked for in
    Checkers* checkers = nullptr;
    EmulatorObserver* observer = nullptr;
    RegisterNames names;  ///< for the observer
    /// address of what the barrier of a cooperative grid counts in; 0: none
    std::uint64_t grid_workspace = 0;
    Watch* watch = nullptr;
    PrintedText* printed = nullptr;
    HostBytes* host_bytes = nullptr;

    /// Of a launch that ended before its kernel did, where it was then.
    [[nodiscard]] Error ending(Span where, std::string_view place) const;
};

class Cluster;

class Cta {
  public:
    enum class State : std::uint8_t { finished, yielded, failed };
    static constexpr std::uint32_t barrier_count = named_barriers + 1;

    Cta(const Launch& launch, Cluster& cluster, std::uint32_t rank, Checker* checker);
    Cta(const Cta&) = delete;
    Cta& operator=(const Cta&) = delete;

    /// False: the launch has ended.
    [[nodiscard]] bool begin(std::uint64_t index, Pace& pace);
    /// Gives each warp a turn. `ran`: one did something; `yielded`: one waits for what other threads write.
    State round(Pace& pace, bool& ran, bool& yielded);
    /// When no warp of the cluster can go on: what the first one waits for.
    State deadlock();

    [[nodiscard]] std::uint64_t index() const { return index_; }
    [[nodiscard]] Dim3 position() const;
    [[nodiscard]] Cluster& cluster() { return *cluster_; }
    [[nodiscard]] std::uint32_t rank() const { return rank_; }  ///< in the cluster
    [[nodiscard]] bool is_finished() const { return is_finished_; }
    /// In the last round no warp did anything but ask an mbarrier, as for long before.
    [[nodiscard]] bool only_waits() const { return only_waits_; }
    /// No thread is left.
    [[nodiscard]] bool has_ended() const;
    [[nodiscard]] std::uint32_t warps() const { return static_cast<std::uint32_t>(warps_.size()); }
    [[nodiscard]] Warp& warp(std::uint32_t index) { return warps_[index]; }
    [[nodiscard]] const Error& error() const { return error_; }
    [[nodiscard]] std::vector<std::byte>& shared() { return shared_; }
    [[nodiscard]] std::uint32_t threads() const;
    /// The cluster's; null when the launch is not checked for anything.
    [[nodiscard]] Checker* checker() { return checker_; }
    /// What the cluster keeps of the order of accesses; null when nothing asks for it.
    [[nodiscard]] Order* order() { return launch_->is_ordered ? &checker_->order : nullptr; }
    /// Definedness bits, as Region::written; empty when nothing asks for them.
    [[nodiscard]] std::vector<std::uint8_t>& shared_written() { return shared_written_; }
    /// Threads whose barrier has completed get to know what the others did before it.
    void pass_barrier(const Warp& warp, std::uint32_t id, std::uint32_t mask);

    /// How lanes of a warp come to a barrier.
    struct Arrival {
        std::uint32_t pc = 0;
        std::uint32_t count = 0;  ///< of threads that it waits for; 0: of all
        bool reduces = false;     ///< bar.red
    };
    /// The first one that has come to a barrier otherwise, of those that it waits with (PTX ISA 9.7.13.1: one
    /// barrier has one number of threads, and either all reduce or none does).
    [[nodiscard]] const Arrival* differs(std::uint32_t id, const Arrival& arrival) const;
    /// Lanes of a warp arrive at a barrier, to wait or not; the predicate is that of a bar.red.
    void arrive(const Warp& warp, std::uint32_t id, const Arrival& arrival, std::uint32_t mask,
                std::uint32_t predicate);
    /// The warps of a warp's warpgroup.
    [[nodiscard]] std::span<Warp> warpgroup(const Warp& warp);
    /// To how many wgmma.fences all warps of a warp's warpgroup have come that have not exited, or how many
    /// wgmma-groups they have committed; and lets those go on that wait for that.
    [[nodiscard]] std::uint32_t wgmma_count(const Warp& warp, Wait what);
    void release_wgmma(const Warp& warp, Wait what);
    /// Lanes of a warp have exited: nobody waits for them any longer.
    void left(const Warp& warp);

  private:
    struct BarrierState {
        std::uint32_t expected = 0;                  // threads; 0: all that have not exited
        std::uint32_t threads = 0;                   // that arrived, whole warps counted as 32
        std::uint32_t full = 0;                      // warps of which all have arrived
        std::array<std::uint32_t, 32> partial = {};  // lanes of the others
        std::uint32_t popc = 0, arrived = 0;
        Arrival first = {};  // where it is not 0 that arrived
    };

    void complete_warp(BarrierState& barrier, const Warp& warp);
    void release_if_complete(std::uint32_t id);
    State fail(const Error& error, std::span<const Span> calls);
    [[nodiscard]] std::string describe_barrier(std::uint32_t id) const;
    State step(Warp& warp, Pace& pace, bool& ran, bool& yielded);

    const Launch* launch_;
    Cluster* cluster_;
    std::uint32_t rank_;
    bool is_finished_ = false;
    bool only_waits_ = false;
    std::uint64_t index_ = 0;
    FixedVector<Warp> warps_;
    std::vector<std::uint8_t> finished_;
    std::vector<std::byte> shared_;
    std::array<BarrierState, barrier_count> barriers_ = {};
    Checker* checker_;
    std::vector<std::uint8_t> shared_written_;
    HostBytes::Share host_bytes_;
    std::vector<Clock> barrier_clocks_;  // up to the last barrier that somebody came to
    Error error_;
};

}  // namespace ptxgraft::emulator
