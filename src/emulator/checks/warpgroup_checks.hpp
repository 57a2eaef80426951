#pragma once
/// @file warpgroup_checks.hpp
/// Checks of wgmma (PTX ISA 9.7.15): which registers and which shared memory a product that nobody has waited
/// for still uses, and which registers no wgmma.fence has ordered.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "emulator/machine/frame.hpp"
#include "emulator/memory/lanes.hpp"
#include "emulator/races/clock.hpp"

namespace ptxgraft::emulator {

class Warp;

/// A wgmma.mma_async that is not known to be complete.
struct PendingWgmma {
    std::uint32_t pc = 0;
    Frame* frame = nullptr;
    std::uint32_t group = 0;  ///< that it is in, or will be; from 1
};

/// A copy of an accumulator that a mov made before a wait for its wgmma. Compilers copy so, and assemblers
/// take the copy for the accumulator itself: it has the accumulator's value once the wait has come, but the
/// value of another wgmma that has gone on with the accumulator by then.
struct PendingCopy {
    Frame* frame = nullptr;
    std::uint32_t column = 0, source = 0;  ///< of the copy, of the accumulator: offset / 32
    std::uint32_t lanes = 0;
    std::uint32_t pc = 0;  ///< of the mov
    PendingWgmma of = {};
    std::uint32_t spoiled_pc = no_pc;  ///< the wgmma that has gone on
};

class WarpgroupChecks {
  public:
    explicit WarpgroupChecks(Warp& warp) : warp_(warp) {}
    void begin();
    /// The registers of a new frame.
    static void begin_frame(Frame& frame);
    /// Operations of this frame run now.
    void enter(Frame& frame) {
        fragments_ = frame.states.fragments.empty() ? nullptr : frame.states.fragments.data();
    }
    void leave(const Frame& frame) {
        if (!pending_wgmma_.empty() || !pending_copies_.empty()) forget(frame);
    }
    /// The running frame has registers that a wgmma names.
    [[nodiscard]] bool has_fragments() const { return fragments_ != nullptr; }

    // --- for the operations

    /// Before an operation of a frame with fragments runs.
    [[nodiscard]] bool track(const Operation& operation, std::uint32_t mask) {
        return !names_fragments(operation) || check_fragments(operation, mask);
    }
    /// An argument or a result of a call.
    [[nodiscard]] bool check_fragment(Ref ref, Use use, std::uint32_t mask);
    /// What a product reads of shared memory, by the async proxy; and what of its results is undefined.
    [[nodiscard]] bool note_wgmma(const Operation& operation, const WgmmaOperands& operands);

    // --- for the warpgroup

    void note_fence() { is_behind_fence_ = true; }
    /// What the warp did before the fence happens before what its warpgroup multiplies behind it.
    void finish_fence();
    /// A wgmma-group is committed: the products so far are in it and those before.
    void note_commit(std::uint32_t group) { products_of_group_[group % kept_groups] = products_; }
    /// PTX ISA 9.7.15.5.2, .aligned: all threads of the warpgroup execute the same wgmma.mma_async.
    [[nodiscard]] bool check_products(std::uint32_t groups);
    /// PTX ISA 9.7.19.5: all warps of the warpgroup execute the same setmaxnreg.
    [[nodiscard]] bool check_set_registers(const SetRegisters& what);
    /// The warp has ended: it has executed as many of them as those that ended before.
    [[nodiscard]] bool check_end();
    /// The products of the first groups are complete.
    void finish_groups(std::uint32_t groups);

  private:
    static constexpr std::size_t kept_groups = 8;

    [[nodiscard]] bool names_fragments(const Operation& operation) const;
    [[nodiscard]] bool check_fragments(const Operation& operation, std::uint32_t mask);
    [[nodiscard]] bool check_copy(Ref ref, std::uint32_t mask);
    [[nodiscard]] bool report_copy(PendingCopy copy, Ref ref);
    [[nodiscard]] bool copy_fragments(const Operation& operation, std::uint32_t mask);
    void forget_copies(std::uint32_t column, std::uint32_t lanes);
    void mark_copies();
    void spoil_copies(Ref accumulator);
    [[nodiscard]] bool begin_wgmma(const Operation& operation);
    [[nodiscard]] bool check_accumulator(Ref ref, const Wgmma& wgmma);
    [[nodiscard]] bool check_fenced(Ref ref, bool accumulates);
    void mark_fragments(const PendingWgmma& pending);
    void finish_registers(std::uint32_t groups);
    void forget(const Frame& frame);
    [[nodiscard]] const PendingWgmma* user_of(Ref ref) const;
    [[nodiscard]] bool report_in_flight(Ref ref, std::string_view use);
    [[nodiscard]] bool note_range(const SharedRange& range, const Located& shared, unsigned warpgroup,
                                  const VectorClock& fenced);
    [[nodiscard]] std::uint32_t fences() const;  // that the warp has come to
    [[nodiscard]] std::uint32_t groups() const;  // that it has committed

    Warp& warp_;
    Fragment* fragments_ = nullptr;                                  // of the running frame
    bool is_behind_fence_ = false;                                   // a wgmma.fence came, and no wait since
    std::uint32_t products_ = 0;                                     // wgmma.mma_async so far
    std::array<std::uint32_t, kept_groups> products_of_group_ = {};  // up to each of the last groups
    std::vector<PendingWgmma> pending_wgmma_;
    std::vector<PendingCopy> pending_copies_;
    struct ExecutedSet {
        std::uint32_t pc;
        SetRegisters what;
    };
    std::vector<ExecutedSet> set_registers_;  // the setmaxnreg that the warp has executed
};

}  // namespace ptxgraft::emulator
