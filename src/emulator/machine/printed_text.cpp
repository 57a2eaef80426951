// What vprintf prints, in the order of the blocks.
#include "emulator/machine/printed_text.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace ptxgraft::emulator {

void PrintedText::add(std::uint64_t block, std::string_view text) {
    const std::scoped_lock lock(mutex_);
    if (!keeps(block)) return lose();
    texts_[block] += text;
    bytes_ += text.size();
    if (bytes_ >= most_printed) cut();
}

// Drops what is behind the limit. From here on as many bytes are kept as there may be, so the last block adds
// nothing, nor do those behind it; those in front of it push out what is behind them.
void PrintedText::cut() {
    if (bytes_ > most_printed) lose();
    while (bytes_ > most_printed) {
        const auto last = std::prev(texts_.end());
        const std::size_t excess = bytes_ - most_printed;
        if (last->second.size() <= excess) {
            bytes_ -= last->second.size();
            texts_.erase(last);
        } else {
            bytes_ = most_printed;
            last->second.resize(last->second.size() - excess);
        }
    }
    end_.store(texts_.rbegin()->first, std::memory_order_relaxed);
}

std::string PrintedText::take() {
    std::string all;
    all.reserve(bytes_);
    for (const auto& [block, text] : texts_) all += text;
    if (is_cut_)
        all += fmt::format("\n[the rest of the printed text was lost: of one launch {} bytes are kept]\n",
                           most_printed);
    texts_.clear();
    bytes_ = 0;
    is_cut_ = false;
    return all;
}

}  // namespace ptxgraft::emulator
