#pragma once
/// @file host_bytes.hpp
/// How much of the host's memory the blocks of a launch take while they run: registers, frames, local and
/// shared memory, and what is kept of them.

#include <atomic>
#include <cstdint>
#include <utility>

namespace ptxgraft::emulator {

/// So many that no further blocks are begun beside others; blocks that have to run together may not begin
/// with more.
inline constexpr std::uint64_t most_begun_bytes = std::uint64_t{2} << 30;
/// So many, and no call or alloca takes more.
inline constexpr std::uint64_t most_host_bytes = std::uint64_t{4} << 30;

class HostBytes {
  public:
    [[nodiscard]] std::uint64_t used() const { return used_.load(std::memory_order_relaxed); }
    [[nodiscard]] bool is_spent() const { return used() > most_host_bytes; }

    /// What one warp or block has of them, as long as it lives.
    class Share {
      public:
        explicit Share(HostBytes& all) : all_(&all) {}
        ~Share() {
            if (all_ != nullptr) all_->used_.fetch_sub(bytes_, std::memory_order_relaxed);
        }
        Share(Share&& other) noexcept : all_(std::exchange(other.all_, nullptr)), bytes_(other.bytes_) {}
        Share& operator=(Share&&) = delete;
        void take(std::uint64_t bytes) {
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
