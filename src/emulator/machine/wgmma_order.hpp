#pragma once
/// @file wgmma_order.hpp
/// wgmma among the warps of a warpgroup (PTX ISA 9.7.15). Products are computed at once here, each warp's own
/// rows of them. A wgmma.fence tells that the warpgroup has written what its products read, so a warp lets
/// the other warps come to the fence before it computes; and one that waits for a group lets them commit it
/// first.

#include <cstdint>

#include "emulator/machine/schedule.hpp"

namespace ptxgraft::emulator {

class WgmmaOrder {
  public:
    explicit WgmmaOrder(Warp& warp) : warp_(warp) {}
    void begin() { groups_ = fences_ = 0; }
    /// How many fences the warp has come to, or groups it has committed.
    [[nodiscard]] std::uint32_t count(Wait what) const {
        return what == Wait::wgmma_fence ? fences_ : groups_;
    }
    Flow fence(std::uint32_t mask);
    void commit();
    Flow wait(std::uint32_t mask, std::uint32_t pending);
    /// All warps of the warpgroup have got so far: lanes that wait for it go on.
    void release(Wait what, std::uint32_t count);

  private:
    Warp& warp_;
    std::uint32_t groups_ = 0, fences_ = 0;
};

}  // namespace ptxgraft::emulator
