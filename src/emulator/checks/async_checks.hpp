#pragma once
/// @file async_checks.hpp
/// Checks of asynchronous copies and mbarriers: a copy is complete at once here, and yet it happens before
/// nothing that a thread does until the thread has waited for the copy's mbarrier or group.

#include <cstdint>

#include "emulator/machine/frame.hpp"
#include "emulator/machine/program.hpp"
#include "emulator/memory/lanes.hpp"
#include "emulator/races/accesses.hpp"

namespace ptxgraft::emulator {

class Warp;
class StoredValues;

/// One lane's copy from global memory to shared memory, by cp.async.
struct CopiedPiece {
    std::uint64_t from = 0, to = 0;
    std::uint32_t wanted = 0;          ///< bytes that are read; zeros follow
    const std::byte* host = nullptr;   ///< what is there
    const std::byte* bytes = nullptr;  ///< and what will be
};

/// Which proxy something asynchronous works in: copies in the async proxy, st.async and red.async in that of
/// other stores.
enum class Proxy : std::uint8_t { generic, async };

class AsyncChecks {
  public:
    explicit AsyncChecks(Warp& warp) : warp_(warp) {}
    void begin();
    /// The happens-before order has agents for what runs asynchronously.
    [[nodiscard]] bool is_on() const { return is_on_; }

    // --- the async proxy, which copies for a lane

    /// What the lane did, and what happened before that, happens before the copy. Bulk groups say that a
    /// store is complete.
    void begin_store(unsigned lane);
    /// Mbarriers say that others are: each of its own part. A store is of the generic proxy.
    void begin_copy(unsigned lane, Proxy proxy = Proxy::async);
    void begin_part(Space space, std::uint64_t mbarrier);
    /// The proxy accesses a range in one piece of memory.
    [[nodiscard]] bool note_async(Space space, std::uint64_t address, unsigned lane, std::uint64_t bytes,
                                  AccessKind kind);
    /// The same, but for definedness.
    [[nodiscard]] bool note_async_order(Space space, std::uint64_t address, unsigned lane,
                                        std::uint64_t bytes, AccessKind kind);
    void commit_bulk_groups(std::uint32_t mask);
    void wait_bulk_groups(std::uint32_t mask, const BulkWait& wait);
    /// Where the CTA has ended: its threads have waited for their bulk stores.
    [[nodiscard]] bool check_bulk_stores();
    /// fence.proxy.async: what happens behind it may have the async proxy see what the lanes did in these
    /// spaces, and what happened before that.
    void fence_proxy(std::uint32_t mask, const ProxyFence& fence);

    // --- tensor maps, which tensormap.replace and tensormap.cp_fenceproxy change

    /// A map of global memory is another one.
    void change_tensor_map(Space space, std::uint64_t address, unsigned lane);
    /// fence.proxy.tensormap::generic.acquire: copies of the cluster see how it is now.
    void fence_tensor_map(std::uint64_t address, unsigned lane);
    /// A copy reads it.
    [[nodiscard]] bool check_tensor_map(std::uint64_t address, unsigned lane);

    // --- mbarriers: what comes before an arrival happens before the end of a wait for its phase

    /// An object is made there, or ends: whether there was none before.
    bool keep_mbarrier(Space space, std::uint64_t address);
    void forget_mbarrier(Space space, std::uint64_t address);
    /// Lanes use the object there.
    [[nodiscard]] bool note_mbarrier(Space space, std::uint64_t address, std::uint32_t lanes,
                                     AccessKind kind);
    [[nodiscard]] bool note_mbarrier_init(Space space, std::uint64_t address, unsigned lane);
    /// Lanes access `bytes` bytes each of shared memory by other instructions: there are no objects (PTX ISA
    /// 9.7.13.15).
    [[nodiscard]] bool check_mbarriers(std::uint32_t mask, const Located& at, std::uint64_t bytes,
                                       AccessKind kind);
    void arrive_at(Space space, std::uint64_t address, unsigned lane, const Access& access);
    /// Lanes find that the phase is complete.
    void wait_at(Space space, std::uint64_t address, std::uint32_t lanes, const Access& access);
    /// The object's words before and after an arrival, or what else may complete a phase.
    void finish_phase_at(Space space, std::uint64_t address, std::uint64_t before, std::uint64_t after);
    /// What the proxy did happens before the end of a wait for the mbarrier.
    void finish_async_at(Space space, std::uint64_t address);
    /// cp.async.mbarrier.arrive: so does what the lane has copied so far.
    void finish_copies_at(Space space, std::uint64_t address, unsigned lane);

    // --- cp.async

    [[nodiscard]] bool note_copy(const Access& access, const CopiedPiece& piece, unsigned lane);
    /// All these lanes' copies belong to groups of one number, so that they may be noted together.
    [[nodiscard]] bool are_in_step(std::uint32_t mask) const;
    /// Lanes copy `bytes` bytes each, from global to shared memory, which are where the offsets say.
    [[nodiscard]] bool note_copies(const Located& from, const Located& to, std::uint32_t bytes,
                                   std::uint32_t mask);
    void commit_copies(std::uint32_t mask);
    void wait_copies(std::uint32_t mask, std::uint32_t pending);

  private:
    [[nodiscard]] bool note_copied(const Located& at, std::uint32_t mask, std::uint32_t bytes,
                                   AccessKind kind, const StoredValues* values);

    Warp& warp_;
    bool is_on_ = false;
    Proxy proxy_ = Proxy::async;
    ProxyLane reads_, writes_;  // which copies now
    Clock known_;               // to who waits for the copy: what the lane knew and did before it
};

}  // namespace ptxgraft::emulator
