#pragma once
/// @file mbarrier_waits.hpp
/// Waits for an mbarrier in vain: a warp that does nothing else for long can only be helped by others, and
/// where no warp does anything else the launch is in a deadlock.

#include <cstdint>

#include "emulator/machine/frame.hpp"

namespace ptxgraft::emulator {

class MbarrierWaits {
  public:
    void begin() { in_vain_ = 0; }
    /// Lanes have asked an mbarrier whether a phase is complete, as the `issued`-th instruction.
    void note(const Frame& frame, std::uint32_t pc, std::uint32_t mask, std::uint64_t issued,
              bool any_complete) {
        // by these lanes or others, at this mbarrier or another
        const bool is_again = issued - issued_ <= most_between;
        in_vain_ = any_complete ? 0 : is_again ? in_vain_ + 1 : 1;
        pc_ = pc, mask_ = mask, issued_ = issued, frame_ = &frame;
    }
    /// The warp does nothing else.
    [[nodiscard]] bool are_all() const { return in_vain_ >= many; }
    // Of the last one.
    [[nodiscard]] std::uint32_t pc() const { return pc_; }
    [[nodiscard]] std::uint32_t mask() const { return mask_; }
    [[nodiscard]] const Frame* frame() const { return frame_; }

  private:
    static constexpr std::uint64_t most_between = 64,
                                   many = 20000;  // instructions; waits in vain

    std::uint64_t in_vain_ = 0, issued_ = 0;
    std::uint32_t pc_ = 0, mask_ = 0;
    const Frame* frame_ = nullptr;  // may have returned since: only the loop's next one is made of it
};

}  // namespace ptxgraft::emulator
