// The allocations of device-side malloc, and of free.
#include "emulator/memory/heap.hpp"

#include <fmt/format.h>

#include <iterator>

namespace ptxgraft::emulator {
namespace {

constexpr std::uint64_t unit = 16;
constexpr std::uint64_t near_bytes = std::uint64_t{1} << 20;  // so far away, a block is worth a word
constexpr std::size_t most_freed = 4096;                      // blocks that are remembered

std::uint64_t in_units(std::uint64_t bytes) { return (bytes + unit - 1) / unit * unit; }

template <class Nodes> typename Nodes::node_type new_node(typename Nodes::value_type value) {
    Nodes one;
    one.insert(value);
    return one.extract(one.begin());
}

}  // namespace

void Heap::begin(std::uint64_t address) {
    const std::scoped_lock lock(mutex_);
    freed_.reserve(most_freed);
    make_nodes();
    gaps_.clear();
    by_size_.clear();
    put_gap(address, heap_bytes);
    next_ = address;
}

void Heap::make_nodes() {
    if (!spare_block_) spare_block_ = new_node<Extents>({0, 0});
    if (!spare_gap_) spare_gap_ = new_node<Extents>({0, 0});
    if (!spare_size_) spare_size_ = new_node<Sizes>({0, 0});
}

void Heap::put_gap(std::uint64_t begin, std::uint64_t bytes) noexcept {
    if (bytes == 0) return;
    spare_gap_.key() = begin;
    spare_gap_.mapped() = bytes;
    gaps_.insert(std::move(spare_gap_));
    spare_size_.value() = {bytes, begin};
    by_size_.insert(std::move(spare_size_));
}

void Heap::take_gap(Extents::iterator gap) noexcept {
    spare_size_ = by_size_.extract({gap->second, gap->first});
    spare_gap_ = gaps_.extract(gap);
}

// The gap behind the last block, or the widest; gaps_.end() when it is not wide enough.
Heap::Extents::iterator Heap::choose(std::uint64_t bytes) {
    const auto after = gaps_.upper_bound(next_);
    if (after != gaps_.begin()) {
        const auto here = std::prev(after);
        const std::uint64_t end = here->first + here->second;
        if (next_ < end && end - next_ >= bytes) return here;
    }
    if (by_size_.empty() || by_size_.rbegin()->first < bytes) return gaps_.end();
    const auto widest = gaps_.find(by_size_.rbegin()->second);
    next_ = widest->first;
    return widest;
}

std::uint64_t Heap::allocate(std::uint64_t bytes) {
    const std::scoped_lock lock(mutex_);
    if (bytes == 0 || bytes > heap_bytes) return 0;
    make_nodes();
    const std::uint64_t taken = in_units(bytes);
    const auto gap = choose(taken);
    if (gap == gaps_.end()) return 0;
    const auto [begin, size] = *gap;
    const std::uint64_t at = next_;
    next_ = at + taken;
    // The gap's nodes hold what is left in front of the block; the spare ones what is behind it.
    Extents::node_type second_gap = std::exchange(spare_gap_, {});
    Sizes::node_type second_size = std::exchange(spare_size_, {});
    take_gap(gap);
    put_gap(begin, at - begin);
    if (!spare_gap_) spare_gap_ = std::move(second_gap);
    if (!spare_size_) spare_size_ = std::move(second_size);
    put_gap(next_, begin + size - next_);
    spare_block_.key() = at;
    spare_block_.mapped() = bytes;
    blocks_.insert(std::move(spare_block_));
    return at;
}

bool Heap::free(std::uint64_t address) {
    const std::scoped_lock lock(mutex_);
    const auto block = blocks_.find(address);
    if (block == blocks_.end()) return false;
    make_nodes();
    remember(address, block->second);
    std::uint64_t begin = address, end = address + in_units(block->second);
    blocks_.erase(block);
    if (const auto after = gaps_.find(end); after != gaps_.end()) {
        end += after->second;
        take_gap(after);
    }
    if (const auto above = gaps_.lower_bound(begin); above != gaps_.begin()) {
        const auto before = std::prev(above);
        if (before->first + before->second == begin) {
            begin = before->first;
            take_gap(before);
        }
    }
    put_gap(begin, end - begin);
    return true;
}

void Heap::remember(std::uint64_t begin, std::uint64_t bytes) noexcept {
    if (freed_.size() >= most_freed) freed_.erase(freed_.begin(), freed_.begin() + most_freed / 2);
    freed_.push_back({begin, bytes});  // within its capacity
}

std::uint64_t Heap::size(std::uint64_t address) const {
    const std::scoped_lock lock(mutex_);
    const auto found = blocks_.find(address);
    return found == blocks_.end() ? 0 : found->second;
}

bool Heap::holds(std::uint64_t address, std::uint64_t bytes) const {
    const std::scoped_lock lock(mutex_);
    auto block = blocks_.upper_bound(address);
    if (block == blocks_.begin()) return false;
    --block;
    const std::uint64_t offset = address - block->first;
    return offset < block->second && block->second - offset >= bytes;
}

std::string Heap::surroundings(std::uint64_t address) const {
    const std::scoped_lock lock(mutex_);
    const auto after = blocks_.upper_bound(address);
    const bool has_before = after != blocks_.begin();
    const auto [begin, bytes] = has_before ? *std::prev(after) : Extents::value_type{0, 0};
    if (has_before && address < begin + bytes)
        return fmt::format("{} bytes before the end of the {} bytes of the heap at {:#x}",
                           begin + bytes - address, bytes, begin);
    for (auto freed = freed_.rbegin(); freed != freed_.rend(); ++freed)
        if (address - freed->begin < freed->bytes)
            return fmt::format("in the {} bytes of the heap at {:#x} that were freed", freed->bytes,
                               freed->begin);
    if (has_before && address - begin - bytes < near_bytes)
        return fmt::format("{} bytes behind the end of the {} bytes of the heap at {:#x}",
                           address - begin - bytes, bytes, begin);
    if (after != blocks_.end() && after->first - address <= near_bytes)
        return fmt::format("{} bytes before the {} bytes of the heap at {:#x}", after->first - address,
                           after->second, after->first);
    return "in the heap, near no allocation";
}

}  // namespace ptxgraft::emulator
