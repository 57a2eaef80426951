#pragma once
/// @file warp.hpp
/// A warp: the registers of 32 lanes and the loop that runs their operations. What else belongs to it are
/// parts of their own: which lanes run (Schedule), their calls (CallStack), their memory (WarpMemory), what a
/// checked launch keeps (WarpChecks) and what an observer sees (Observation).

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "emulator/checks/warp_checks.hpp"
#include "emulator/machine/call_stack.hpp"
#include "emulator/machine/frame.hpp"
#include "emulator/machine/mbarrier_waits.hpp"
#include "emulator/machine/program.hpp"
#include "emulator/machine/schedule.hpp"
#include "emulator/machine/warp_memory.hpp"
#include "emulator/machine/wgmma_order.hpp"
#include "emulator/machine/work.hpp"
#include "emulator/memory/lanes.hpp"
#include "emulator/observe/observation.hpp"

namespace ptxgraft::emulator {

class Cta;
struct Launch;

/// Its parts refer to it: it stays where it is.
class Warp {
  public:
    enum class State : std::uint8_t { finished, blocked, yielded, failed };

    Warp(Cta& cta, const Launch& launch, std::uint32_t index);
    Warp(const Warp&) = delete;
    Warp& operator=(const Warp&) = delete;

    /// Puts all threads at the entry's begin. How much work that was.
    [[nodiscard]] std::uint64_t begin();
    /// Runs until all lanes wait or are gone, or about `quantum` instructions were issued, or the launch
    /// ends.
    State run(std::uint64_t quantum, Pace& pace);

    // --- registers of the running frame, constants and special registers

    [[nodiscard]] const Ref* operands(const Operation& operation) const { return refs_ + operation.operands; }
    [[nodiscard]] std::byte* column(Ref ref) { return banks_[ref >> bank_shift] + offset(ref); }
    /// The same, where a register is one of another frame.
    [[nodiscard]] std::byte* column(Frame& frame, Ref ref) {
        return is_register(ref) ? frame.columns() + offset(ref) : column(ref);
    }
    template <class T> [[nodiscard]] T* column_of(Ref ref) { return reinterpret_cast<T*>(column(ref)); }
    /// The value of one lane, extended by zeros; of 16 bytes the lower 8.
    [[nodiscard]] std::uint64_t value(Ref ref, unsigned lane) {
        return lane_value(column(ref), width(ref), lane);
    }
    void set(Ref ref, unsigned lane, std::uint64_t value) {
        set_lane_value(column(ref), width(ref), lane, value);
    }
    /// Writes the lanes of `mask` from a column of the register's width.
    void blend(Ref ref, const std::byte* from, std::uint32_t mask);
    void refresh_clock();

    // --- what runs, and where

    [[nodiscard]] Frame& frame() const { return schedule_.frame(); }
    [[nodiscard]] std::uint32_t pc() const { return schedule_.pc(); }
    [[nodiscard]] std::uint32_t running() const { return schedule_.running(); }
    [[nodiscard]] std::uint32_t live() const { return schedule_.live(); }
    /// The lanes that there are threads for.
    [[nodiscard]] std::uint32_t started() const { return started_; }
    [[nodiscard]] std::uint32_t index() const { return index_; }
    [[nodiscard]] unsigned number() const;  ///< among the warps of the cluster
    [[nodiscard]] Cta& cta() const { return *cta_; }
    [[nodiscard]] const Launch& launch() const { return *launch_; }
    [[nodiscard]] const Program& program() const { return *program_; }
    [[nodiscard]] std::string place(unsigned lane) const;
    /// The calls that led to where the warp runs, the innermost first.
    [[nodiscard]] std::vector<Span> calls() const { return call_stack_.calls(&frame()); }

    // --- its parts

    [[nodiscard]] Schedule& schedule() { return schedule_; }
    [[nodiscard]] CallStack& call_stack() { return call_stack_; }
    [[nodiscard]] WarpMemory& memory() { return memory_; }
    [[nodiscard]] WgmmaOrder& wgmma() { return wgmma_; }
    [[nodiscard]] const WgmmaOrder& wgmma() const { return wgmma_; }
    [[nodiscard]] MbarrierWaits& mbarrier_waits() { return mbarrier_waits_; }
    [[nodiscard]] Work& work() { return work_; }
    [[nodiscard]] WarpChecks& checks() { return checks_; }
    [[nodiscard]] Observation& observation() { return observation_; }

    // --- for its parts

    /// Operations of this frame run now.
    void enter(Frame& frame) {
        banks_[0] = frame.columns();
        checks_.enter(frame);
    }
    /// Runs one operation, which is no part of a straight run.
    Flow execute(const Operation& operation);

    // --- errors

    /// Sets the error, with the span of the running instruction and the thread's place.
    Failed fail(Errc code, unsigned lane, const std::string& detail);
    Failed fail(Error error);
    [[nodiscard]] const Error& error() const { return error_; }
    /// For what takes milliseconds, in between: false, after fail(), where the launch has ended.
    [[nodiscard]] bool goes_on() { return work_.pause() || fail_ending() != State::failed; }
    /// Why the launch has ended before its kernel did, where the warp ran last.
    [[nodiscard]] Error ending() const;

  private:
    template <bool Observed> State run_selected();
    State yield();
    State fail_ending();
    Flow run_many(const Operation& first);
    std::size_t run_row(const Operation& operation);
    void run_pure(const Operation& operation);
    void run_large(const Operation& operation);
    void run_pure(const Operation& operation, std::uint32_t mask);
    void fill_special(const SpecialColumn& column);
    void fill_specials();

    Cta* cta_;
    const Launch* launch_;
    const Program* program_;
    std::uint32_t index_;
    std::uint32_t started_ = 0;
    const Ref* refs_;
    std::array<std::byte*, 3> banks_ = {};
    Schedule schedule_;
    Work work_;
    CallStack call_stack_;
    WarpMemory memory_;
    WgmmaOrder wgmma_;
    MbarrierWaits mbarrier_waits_;
    WarpChecks checks_;
    Observation observation_;
    std::vector<ColumnBlock> specials_;
    bool has_specials_ = false;  // those that are the same for every CTA
    Error error_;
};

[[nodiscard]] inline const Access& access_of(const Warp& warp, const Operation& operation) {
    return warp.program().access_of(operation);
}

}  // namespace ptxgraft::emulator
