#pragma once
/// @file host_bytes.hpp
/// The host memory that the running CTAs of a launch take: registers, frames, local and shared memory, and
/// their definedness bits.

#include <atomic>
#include <cstdint>
#include <utility>

namespace ptxgraft::emulator {

/// The bytes from which on no further CTA begins beside others. CTAs that have to run together are refused
/// when they begin with more.
inline constexpr std::uint64_t most_begun_bytes = std::uint64_t{2} << 30;
/// The bytes from which on a call or an alloca fails.
inline constexpr std::uint64_t most_host_bytes = std::uint64_t{4} << 30;

class HostBytes {
  public:
    [[nodiscard]] std::uint64_t used() const { return used_.load(std::memory_order_relaxed); }
    [[nodiscard]] bool is_spent() const { return used() > most_host_bytes; }

    /// The bytes of one warp or CTA, which are returned when it ends.
    class Share {
      public:
        explicit Share(HostBytes& all) : all_(&all) {}
        ~Share() {
            if (all_ != nullptr && bytes_ != 0) all_->used_.fetch_sub(bytes_, std::memory_order_relaxed);
        }
        Share(Share&& other) noexcept : all_(std::exchange(other.all_, nullptr)), bytes_(other.bytes_) {}
        Share& operator=(Share&&) = delete;
        void take(std::uint64_t bytes) {
            if (bytes == 0) return;
            bytes_ += bytes;
            all_->used_.fetch_add(bytes, std::memory_order_relaxed);
        }

      private:
        HostBytes* all_;
        std::uint64_t bytes_ = 0;
    };

  private:
    std::atomic<std::uint64_t> used_ = 0;
};

}  // namespace ptxgraft::emulator
