#pragma once
/// @file timing_kernels.hpp
/// The kernels that a timing needs beside the one it times: they copy, overwrite, digest, and tell the clock.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "ptxgraft/device.hpp"

namespace ptxgraft::measure {

/// Their PTX, for sm_80 and later.
[[nodiscard]] std::string_view timing_ptx();

/// What a digest and a marker leave in device memory.
struct Slot {
    std::uint64_t digest = 0;
    std::uint64_t nanoseconds = 0, cycles = 0;  ///< of the marker: the same time by two clocks
    std::uint64_t unused = 0;
};

class TimingKernels {
  public:
    [[nodiscard]] static Expected<TimingKernels> load(const Device& device);

    /// Sizes are multiples of 16 bytes. All are on `stream`.
    [[nodiscard]] Expected<void> copy(std::uint64_t target, std::uint64_t source, std::uint64_t bytes,
                                      const Stream& stream) const;
    [[nodiscard]] Expected<void> fill(std::uint64_t target, std::uint64_t bytes, std::uint32_t word,
                                      const Stream& stream) const;
    /// Drops what L2 has of it, so that nobody has to write it back. `address` is aligned to 128 bytes.
    [[nodiscard]] Expected<void> discard(std::uint64_t address, std::uint64_t bytes,
                                         const Stream& stream) const;
    /// Adds the digest to Slot::digest at `slot`.
    [[nodiscard]] Expected<void> digest(std::uint64_t address, std::uint64_t bytes, std::uint64_t seed,
                                        std::uint64_t slot, const Stream& stream) const;
    [[nodiscard]] Expected<void> mark(std::uint64_t slot, const Stream& stream) const;

  private:
    TimingKernels(Function copy, Function fill, Function discard, Function digest, Function marker,
                  std::uint32_t most_blocks)
        : copy_(std::move(copy)),
          fill_(std::move(fill)),
          discard_(std::move(discard)),
          digest_(std::move(digest)),
          marker_(std::move(marker)),
          most_blocks_(most_blocks) {}
    [[nodiscard]] LaunchConfig shape(std::uint64_t threads) const;
    Function copy_, fill_, discard_, digest_, marker_;
    std::uint32_t most_blocks_;
};

/// What the kernel computes: a sum over all 8-byte words of each word's hash with its place and the seed.
[[nodiscard]] std::uint64_t host_digest(std::span<const std::byte> bytes, std::uint64_t seed);

}  // namespace ptxgraft::measure
