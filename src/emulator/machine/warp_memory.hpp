#pragma once
/// @file warp_memory.hpp
/// Memory as the lanes of a warp address it: every state space, and the local memory that is their own.

#include <cstdint>
#include <string>
#include <vector>

#include "emulator/machine/frame.hpp"
#include "emulator/memory/host_bytes.hpp"
#include "emulator/memory/lanes.hpp"

namespace ptxgraft::emulator {

class Cta;
class Warp;

class WarpMemory {
  public:
    WarpMemory(Warp& warp, HostBytes& host_bytes) : warp_(warp), host_bytes_(host_bytes) {}
    /// Clears local memory, which is of `bytes` at least. How many bytes that were.
    [[nodiscard]] std::uint64_t begin(std::uint32_t bytes);

    // --- where an access is

    [[nodiscard]] std::uint64_t address(const Access& access, const Operation& operation, unsigned lane);
    /// The host bytes of one lane's access, `bytes` a power of two; null after Warp::fail().
    [[nodiscard]] std::byte* resolve(const Access& access, const Operation& operation, unsigned lane,
                                     std::uint32_t bytes, Use use);
    [[nodiscard]] std::byte* resolve(Space space, std::uint64_t address, unsigned lane, std::uint32_t bytes,
                                     Use use);
    /// As resolve, without alignment and without an error: null when the bytes are not all in one place.
    [[nodiscard]] std::byte* find(Space space, std::uint64_t address, unsigned lane, std::uint64_t bytes,
                                  Use use);
    /// True, after Warp::fail(): an address of shared memory in the cluster that belongs to no CTA that still
    /// runs.
    bool fail_without_owner(Space space, std::uint64_t address, unsigned lane);
    /// Where the lanes of `mask` access, when all do so in one piece of memory and nothing is wrong with any;
    /// else null, and each is to be resolved.
    [[nodiscard]] std::byte* locate(const Access& access, const Operation& operation, std::uint32_t mask,
                                    Use use, Located& located);
    /// The same of reads of `bytes` bytes of global memory at addresses of 64 bits in a register.
    [[nodiscard]] const std::byte* locate_global(Ref addresses, std::uint32_t bytes, std::uint32_t mask,
                                                 Located& located);

    // --- local memory

    /// The bytes of a frame's local memory at `offset`.
    [[nodiscard]] std::byte* local(const Frame& frame, unsigned lane, std::uint32_t offset) {
        return local_.data() + std::uint64_t{lane} * local_stride_ + frame.local_base + offset;
    }
    /// Their definedness bits.
    [[nodiscard]] std::uint8_t* local_written(const Frame& frame, unsigned lane, std::uint32_t offset) {
        return local_written_.data() + std::uint64_t{lane} * local_stride_ + frame.local_base + offset;
    }
    /// Makes every thread's local memory large enough. False: it would be too large.
    [[nodiscard]] bool reserve_local(std::uint64_t bytes);
    /// Takes `bytes` more of the running frame's local memory; its offset.
    [[nodiscard]] bool extend_local(std::uint32_t bytes, std::uint32_t alignment, std::uint32_t& offset);

    // --- for the checks

    /// The same address for all CTAs of a cluster: shared memory of any of them with its rank, and no generic
    /// one.
    [[nodiscard]] Place common_place(Space space, std::uint64_t address) const;
    /// The definedness bits of an address that is accessible; null where all are set.
    [[nodiscard]] std::uint8_t* written_bytes(Space space, std::uint64_t address, unsigned lane);
    /// What the checks look at of one lane's accessible bytes, at offset 0.
    void describe(Space space, std::uint64_t address, unsigned lane, Located& at);

  private:
    /// A piece of memory; `lane_stride`: bytes between the lanes' own.
    struct Piece {
        std::byte* host = nullptr;
        std::uint64_t begin = 0;
        std::uint64_t bytes = 0;
        std::uint32_t lane_stride = 0;
        std::uint8_t* written = nullptr;
        Space space = Space::global;
        std::uint32_t owner = 0;  ///< of shared memory: the rank of its CTA
    };
    [[nodiscard]] Piece piece(const Access& access, const Operation& operation, std::uint32_t mask, Use use);
    [[nodiscard]] Piece shared_piece(Cta& owner, std::uint64_t begin) const;
    [[nodiscard]] Piece global_piece(std::uint64_t first, Use use);
    void describe(const Piece& in, Located& located) const;
    [[nodiscard]] Cta* owner_of(std::uint64_t address);
    /// `read of 4 bytes of global memory at 0x10`
    [[nodiscard]] std::string describe(Space space, std::uint64_t address, std::uint64_t bytes,
                                       Use use) const;
    [[nodiscard]] std::string surroundings(Space space, std::uint64_t address, std::uint64_t bytes) const;

    Warp& warp_;
    HostBytes::Share host_bytes_;
    std::vector<std::byte> local_;
    std::vector<std::uint8_t> local_written_;  // definedness bits
    std::uint32_t local_stride_ = 0;           // bytes of each thread
    const Region* region_ = nullptr;           // the last one found
};

}  // namespace ptxgraft::emulator
