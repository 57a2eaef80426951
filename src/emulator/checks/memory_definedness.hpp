#pragma once
/// @file memory_definedness.hpp
/// Definedness of memory: loads bring definedness bits into registers and stores take them back; an
/// undefined value that is computed may not go to global memory.

#include <cstdint>

#include "emulator/machine/frame.hpp"
#include "emulator/memory/lanes.hpp"

namespace ptxgraft::emulator {

class Warp;

class MemoryDefinedness {
  public:
    explicit MemoryDefinedness(Warp& warp) : warp_(warp) {}

    /// The results of a load get the definedness bits of memory.
    void note_loaded(const Operation& operation, std::uint32_t mask, const Located& at);
    /// Memory gets the definedness bits of what is stored; fails when an undefined value goes to global
    /// memory. `refs`: the elements.
    [[nodiscard]] bool note_stored(const Access& access, const Ref* refs, std::uint32_t mask,
                                   const Located& at);
    /// The bytes of a copy, at offset 0: all defined, when it reads them; defined from now on, when it writes
    /// them.
    [[nodiscard]] bool note_written(const Located& at, std::uint64_t address, unsigned lane,
                                    std::uint64_t bytes, Use use);
    /// Fails where a lane's bytes, which it reads to decide something, are not all defined.
    [[nodiscard]] bool require(Space space, std::uint64_t address, unsigned lane, std::uint32_t bytes);
    /// Fails where the bytes that lanes change in place are not all defined.
    [[nodiscard]] bool require_lanes(const Located& at, std::uint32_t mask, std::uint32_t bytes);
    /// The bytes are defined from now on.
    void mark(Space space, std::uint64_t address, unsigned lane, std::uint32_t bytes);
    /// Bytes from global memory, of which some are undefined, are in shared memory now.
    void note_undefined_copy(std::uint64_t shared, std::uint64_t global, unsigned lane, std::uint64_t bytes);

    // --- for the other checks

    /// Of an undefined value that is read at an address.
    [[nodiscard]] Origin origin_at(Space space, std::uint64_t address, unsigned lane) const;
    /// An undefined value is stored at an address.
    void remember(Space space, std::uint64_t address, unsigned lane, std::uint64_t bytes,
                  const Origin& origin);

  private:
    [[nodiscard]] bool is_looked_at(const Located& at) const;
    [[nodiscard]] bool require_bytes(std::uint8_t* written, std::uint64_t address, unsigned lane,
                                     std::uint32_t bytes);
    [[nodiscard]] bool store_element(const Access& access, Ref ref, unsigned element, std::uint32_t mask,
                                     const Located& at);

    Warp& warp_;
};

}  // namespace ptxgraft::emulator
