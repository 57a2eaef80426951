#pragma once
/// @file printed_text.hpp
/// What the blocks of a launch print, in the order of the blocks and not of time.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace ptxgraft::emulator {

/// Bytes that one launch keeps: what comes behind them, in the order of the blocks, is lost.
inline constexpr std::size_t most_printed = std::size_t{16} << 20;

/// Thread-safe, but for take(). Which text is kept depends on the text alone, not on when it came.
class PrintedText {
  public:
    /// False: what the block prints from now on comes behind what is kept. Its text need not be made.
    [[nodiscard]] bool keeps(std::uint64_t block) const {
        return block < end_.load(std::memory_order_relaxed);
    }
    void add(std::uint64_t block, std::string_view text);
    /// A block has printed what is not kept.
    void lose() { is_cut_.store(true, std::memory_order_relaxed); }
    /// Everything, and a line that says so where text was lost. When no block runs any more.
    [[nodiscard]] std::string take();

  private:
    void cut();

    std::mutex mutex_;
    std::map<std::uint64_t, std::string> texts_;
    std::size_t bytes_ = 0;
    std::atomic<std::uint64_t> end_ =
        ~std::uint64_t{0};  // the block that is the first to add nothing any more
    std::atomic<bool> is_cut_ = false;
};

}  // namespace ptxgraft::emulator
