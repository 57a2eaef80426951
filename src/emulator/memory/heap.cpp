// The allocations of device-side malloc, and of free.
#include "emulator/memory/heap.hpp"

#include <fmt/format.h>

#include <iterator>

namespace ptxgraft::emulator {
namespace {

constexpr std::uint64_t unit = 16;
constexpr std::uint64_t near_bytes = std::uint64_t{1} << 20;  // an error names blocks that are this near

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
    free_.clear();
    free_by_size_.clear();
    insert_free(address, heap_bytes);
    next_ = address;
}

void Heap::make_nodes() {
    if (!spare_block_) spare_block_ = new_node<Extents>({0, 0});
    if (!spare_free_) spare_free_ = new_node<Extents>({0, 0});
    if (!spare_size_) spare_size_ = new_node<Sizes>({0, 0});
}

void Heap::insert_free(std::uint64_t begin, std::uint64_t bytes) noexcept {
    if (bytes == 0) return;
    spare_free_.key() = begin;
    spare_free_.mapped() = bytes;
    free_.insert(std::move(spare_free_));
    spare_size_.value() = {bytes, begin};
    free_by_size_.insert(std::move(spare_size_));
}

void Heap::remove_free(Extents::iterator extent) noexcept {
    spare_size_ = free_by_size_.extract({extent->second, extent->first});
    spare_free_ = free_.extract(extent);
}

// The free extent behind the last block, or the largest one; free_.end() when that is too small.
Heap::Extents::iterator Heap::choose_free(std::uint64_t bytes) {
    const auto after = free_.upper_bound(next_);
    if (after != free_.begin()) {
        const auto here = std::prev(after);
        const std::uint64_t end = here->first + here->second;
        if (next_ < end && end - next_ >= bytes) return here;
    }
    if (free_by_size_.empty() || free_by_size_.rbegin()->first < bytes) return free_.end();
    const auto largest = free_.find(free_by_size_.rbegin()->second);
    next_ = largest->first;
    return largest;
}

std::uint64_t Heap::allocate(std::uint64_t bytes) {
    const std::scoped_lock lock(mutex_);
    if (bytes == 0 || bytes > heap_bytes) return 0;
    make_nodes();
    const std::uint64_t taken = in_units(bytes);
    const auto extent = choose_free(taken);
    if (extent == free_.end()) return 0;
    const auto [begin, size] = *extent;
    const std::uint64_t at = next_;
    next_ = at + taken;
    // The extent's own nodes hold what is left in front of the block, the spare ones what is left behind it.
    Extents::node_type second_free = std::exchange(spare_free_, {});
    Sizes::node_type second_size = std::exchange(spare_size_, {});
    remove_free(extent);
    insert_free(begin, at - begin);
    if (!spare_free_) spare_free_ = std::move(second_free);
    if (!spare_size_) spare_size_ = std::move(second_size);
    insert_free(next_, begin + size - next_);
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
    record_freed(address, block->second);
    std::uint64_t begin = address, end = address + in_units(block->second);
    blocks_.erase(block);
    if (const auto after = free_.find(end); after != free_.end()) {
        end += after->second;
        remove_free(after);
    }
    if (const auto above = free_.lower_bound(begin); above != free_.begin()) {
        const auto before = std::prev(above);
        if (before->first + before->second == begin) {
            begin = before->first;
            remove_free(before);
        }
    }
    insert_free(begin, end - begin);
    return true;
}

void Heap::record_freed(std::uint64_t begin, std::uint64_t bytes) noexcept {
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
