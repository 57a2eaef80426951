#pragma once
/// @file observation.hpp
/// What a warp tells the observer of its launch: each operation, with the registers and the memory that it
/// reads and writes.

#include <cstdint>
#include <vector>

#include "emulator/machine/frame.hpp"
#include "emulator/races/accesses.hpp"

namespace ptxgraft::emulator {

class Warp;

/// A contiguous access of an operation that some lane, or the whole warp, does.
struct AccessedPiece {
    Space space = Space::shared;
    std::uint64_t address = 0;
    std::uint32_t bytes = 0;
    AccessKind kind = AccessKind::read;
};

class Observation {
  public:
    explicit Observation(Warp& warp) : warp_(warp) {}
    void begin();
    [[nodiscard]] bool is_on() const { return is_on_; }
    /// Runs an operation, and tells of it.
    Flow run(const Operation& operation);
    /// The running operation accesses memory otherwise than lane by lane.
    void add(const AccessedPiece& piece) { pieces_.push_back(piece); }
    /// An operation wrote results of lanes that had waited for others.
    void note_late(Frame& frame, std::uint32_t pc, std::uint32_t mask) {
        if (is_on_ && mask != 0) late_results_.push_back({&frame, pc, mask});
    }

  private:
    /// Lanes whose results an operation wrote after they had waited.
    struct LateResult {
        Frame* frame = nullptr;
        std::uint32_t pc = 0;
        std::uint32_t mask = 0;
    };
    void tell_late_results();

    Warp& warp_;
    bool is_on_ = false;
    std::vector<AccessedPiece> pieces_;  // of the running operation
    std::vector<LateResult> late_results_;
};

}  // namespace ptxgraft::emulator
