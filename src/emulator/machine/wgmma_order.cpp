// Fences and groups of wgmma: a warp waits for the others of its warpgroup.
#include "emulator/machine/wgmma_order.hpp"

#include "emulator/machine/cta.hpp"
#include "emulator/machine/warp.hpp"

namespace ptxgraft::emulator {

Flow WgmmaOrder::fence(std::uint32_t mask) {
    ++fences_;
    warp_.checks().warpgroup().note_fence();
    warp_.cta().release_wgmma(warp_, Wait::wgmma_fence);
    if (warp_.cta().wgmma_count(warp_, Wait::wgmma_fence) < fences_) {
        warp_.schedule().wait(mask, Wait::wgmma_fence, fences_);
        return Flow::select;
    }
    warp_.checks().warpgroup().finish_fence();
    return Flow::next;
}

void WgmmaOrder::commit() {
    warp_.checks().warpgroup().note_commit(++groups_);
    warp_.cta().release_wgmma(warp_, Wait::wgmma_group);
}

Flow WgmmaOrder::wait(std::uint32_t mask, std::uint32_t pending) {
    const std::uint32_t groups = groups_ > pending ? groups_ - pending : 0;
    if (warp_.cta().wgmma_count(warp_, Wait::wgmma_group) < groups) {
        warp_.schedule().wait(mask, Wait::wgmma_group, groups);
        return Flow::select;
    }
    if (warp_.checks().has(EmulatorCheck::barriers) && !warp_.checks().warpgroup().check_products(groups))
        return Flow::fail;
    warp_.checks().warpgroup().finish_groups(groups);
    return Flow::next;
}

void WgmmaOrder::release(Wait what, std::uint32_t count) {
    for (Group& group : warp_.schedule().groups()) {
        if (group.wait != what || group.what > count) continue;
        if (what == Wait::wgmma_fence)
            warp_.checks().warpgroup().finish_fence();
        else
            warp_.checks().warpgroup().finish_groups(group.what);
        group.wait = Wait::none;
        ++group.pc;
    }
}

}  // namespace ptxgraft::emulator
