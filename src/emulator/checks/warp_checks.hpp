#pragma once
/// @file warp_checks.hpp
/// The checks of one warp: what its operations tell them, and how they report a mistake. Nothing of it
/// happens in a launch without checks.

#include <cstdint>
#include <string>
#include <utility>

#include "emulator/checks/async_checks.hpp"
#include "emulator/checks/definedness.hpp"
#include "emulator/checks/findings.hpp"
#include "emulator/checks/matrix_definedness.hpp"
#include "emulator/checks/memory_definedness.hpp"
#include "emulator/checks/race_checks.hpp"
#include "emulator/checks/warpgroup_checks.hpp"

namespace ptxgraft::emulator {

class WarpChecks {
  public:
    explicit WarpChecks(Warp& warp);
    /// The warp's threads are at the begin of a kernel.
    void begin();
    [[nodiscard]] bool has(EmulatorCheck check) const;
    /// Definedness bits are kept.
    [[nodiscard]] bool tracks_written() const { return definedness_.is_on(); }
    /// The happens-before order of accesses is kept.
    [[nodiscard]] bool is_ordered() const { return races_.is_on(); }
    /// What is accessed is of interest.
    [[nodiscard]] bool looks_at_memory() const { return is_ordered() || tracks_written(); }

    // --- registers of the running frame

    void begin_frame(Frame& frame) const;
    void enter(Frame& frame) {
        warpgroup_.enter(frame);
        is_tracking_ = tracks_written() || warpgroup_.has_fragments();
    }
    void leave(const Frame& frame) { warpgroup_.leave(frame); }
    /// What operations do with the registers of the running frame is of interest.
    [[nodiscard]] bool is_tracking() const { return is_tracking_; }
    /// Before an operation runs, when is_tracking(). `refs`: its operands.
    [[nodiscard]] bool track(const Operation& operation, const Ref* refs, Frame& frame, std::uint32_t mask) {
        if (warpgroup_.has_fragments() && !warpgroup_.track(operation, mask)) return false;
        return !tracks_written() || definedness_.track(operation, refs, frame, mask);
    }
    /// Whether all sources of a straight run are known to be defined in these lanes: in a loop they were, the
    /// last time.
    [[nodiscard]] bool is_known(const Operation& first, std::uint32_t pc, Frame& frame,
                                std::uint32_t mask) const {
        const RegisterStates::DefinedRun& run = frame.states.run_of(first);
        return !warpgroup_.has_fragments() && run.pc == pc && (mask & ~run.lanes) == 0 &&
               run.undefined == frame.states.undefined;
    }

    // --- accesses of memory, before they happen

    [[nodiscard]] bool check_load(const Access& access, std::uint32_t mask, const Located& at) {
        const AccessKind kind = access.is_strong() ? AccessKind::strong_read : AccessKind::read;
        if (!races_.note_accesses(mask, at, std::uint32_t{access.bytes} * access.count, {kind, access.reach}))
            return false;
        if (access.is_strong()) races_.synchronise_reads(access, mask, at);
        return true;
    }
    /// A store, of which memory gets the definedness bits. `refs`: the elements.
    [[nodiscard]] bool check_store(const Access& access, const Ref* refs, std::uint32_t mask,
                                   const Located& at);
    [[nodiscard]] bool check_atomic(const Access& access, std::uint32_t mask, const Located& at);
    /// One lane's access of many bytes, which lie in one piece of memory.
    [[nodiscard]] bool check_range(Space space, std::uint64_t address, unsigned lane, std::uint64_t bytes,
                                   Use use);

    // --- each kind of check by itself

    [[nodiscard]] Definedness& definedness() { return definedness_; }
    [[nodiscard]] MemoryDefinedness& memory() { return memory_; }
    [[nodiscard]] MatrixDefinedness& matrices() { return matrices_; }
    [[nodiscard]] RaceChecks& races() { return races_; }
    [[nodiscard]] AsyncChecks& async() { return async_; }
    [[nodiscard]] WarpgroupChecks& warpgroup() { return warpgroup_; }

    // --- reports

    /// Of a mistake that a check found in lanes, whose first one `detail()` describes. True: the launch goes
    /// on, as if it were none. False, after Warp::fail(): it ends here.
    template <class Detail>
    [[nodiscard]] bool report(const Mistake& mistake, std::uint32_t lanes, Detail&& detail) {
        return is_noted(mistake, lanes) || report_in(mistake, lanes, std::string(detail()));
    }
    /// Nobody needs the text of a mistake: it is known, or excused, or an earlier block has described it.
    [[nodiscard]] bool is_noted(const Mistake& mistake, std::uint32_t lanes);
    /// As report(), of a mistake that is not noted; the detail says the thread itself.
    [[nodiscard]] bool report_new(const Mistake& mistake, std::uint32_t lanes, std::string detail);
    /// The line of an operation in the module's text, from 1.
    [[nodiscard]] std::size_t line_of(std::uint32_t pc) const;
    /// The name of an operand of the running operation.
    [[nodiscard]] std::string name_of(Ref ref) const;

  private:
    [[nodiscard]] bool report_in(const Mistake& mistake, std::uint32_t lanes, std::string detail);

    Warp& warp_;
    bool is_tracking_ = false;
    Definedness definedness_;
    MemoryDefinedness memory_;
    MatrixDefinedness matrices_;
    RaceChecks races_;
    AsyncChecks async_;
    WarpgroupChecks warpgroup_;
};

}  // namespace ptxgraft::emulator
