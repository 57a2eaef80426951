#include "emulator/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace ptxgraft::emulator {
namespace {

constexpr std::uint64_t region_alignment = 256;
constexpr std::uint64_t guard_bytes = std::uint64_t{1}
                                      << 20;  // an index that is somewhat too large hits no neighbour
constexpr std::uint64_t heap_bytes = std::uint64_t{8} << 20;  // CUDA's default cudaLimitMallocHeapSize
constexpr std::uint64_t heap_alignment = 16;
constexpr std::size_t most_freed = 4096;  // allocations that are remembered

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

// calloc: zero-filled without touching pages that nobody uses.
std::byte* host_memory(std::uint64_t bytes) {
    return static_cast<std::byte*>(
        std::calloc(1, static_cast<std::size_t>(std::max<std::uint64_t>(bytes, 16) + 64)));
}

}  // namespace

std::string_view name(Space space) {
    constexpr std::string_view names[] = {"generic", "global", "constant", "shared", "local", "parameter", "shared::cluster"};
    return names[static_cast<std::size_t>(space)];
}

std::uint64_t window(Space space) {
    switch (space) {
        case Space::shared:
        case Space::shared_cluster:
            return shared_window;
        case Space::local:
            return local_window;
        case Space::param:
            return param_window;
        default:
            return 0;
    }
}

Place place(std::uint64_t generic) {
    if (const std::uint64_t shared = generic - shared_window; shared < window_bytes)
        return {shared >> cluster_rank_shift == 0 ? Space::shared : Space::shared_cluster, shared};
    for (const Space space : {Space::local, Space::param}) {
        if (generic - window(space) < window_bytes) return {space, generic - window(space)};
    }
    return {Space::global, generic};
}

Memory::~Memory() {
    for (const Region& region : regions_) release(region);
}

void Memory::release(const Region& region) {
    std::free(region.host);
    std::free(region.written);
}

Expected<std::uint64_t> Memory::allocate(std::uint64_t bytes) {
    if (bytes > limit_ || used_ > limit_ - bytes) {
        return fail(Errc::out_of_device_memory,
                    fmt::format("{} bytes wanted, {} of {} in use", bytes, used_, limit_));
    }
    const std::uint64_t next = round_up(next_ + bytes + guard_bytes, region_alignment);
    if (next >= shared_window) return fail(Errc::out_of_device_memory, "all addresses have been used");
    std::byte* host = host_memory(bytes);
    if (host == nullptr)
        return fail(Errc::out_of_device_memory, fmt::format("the host has no {} bytes", bytes));
    std::uint8_t* written = nullptr;
    if (is_checked_) {
        written = reinterpret_cast<std::uint8_t*>(host_memory(bytes));
        if (written == nullptr) {
            std::free(host);
            return fail(Errc::out_of_device_memory, fmt::format("the host has no {} bytes", bytes));
        }
    }
    regions_.push_back({next_, bytes, host, written});
    used_ += bytes;
    return std::exchange(next_, next);
}

Expected<void> Memory::free(std::uint64_t address) {
    const auto found =
        std::lower_bound(regions_.begin(), regions_.end(), address,
                         [](const Region& region, std::uint64_t a) { return region.begin < a; });
    if (found == regions_.end() || found->begin != address)
        return fail(Errc::not_an_allocation, fmt::format("{:#x}", address));
    release(*found);
    used_ -= found->bytes;
    if (freed_.size() >= most_freed) freed_.erase(freed_.begin(), freed_.begin() + most_freed / 2);
    freed_.push_back({found->begin, found->bytes});
    regions_.erase(found);
    return {};
}

void Memory::protect(std::uint64_t address) {
    const auto found =
        std::lower_bound(regions_.begin(), regions_.end(), address,
                         [](const Region& region, std::uint64_t a) { return region.begin < a; });
    if (found != regions_.end() && found->begin == address) found->read_only = true;
}

const Region* Memory::find(std::uint64_t address) const {
    auto after = std::upper_bound(regions_.begin(), regions_.end(), address,
                                  [](std::uint64_t a, const Region& region) { return a < region.begin; });
    if (after == regions_.begin()) return nullptr;
    --after;
    return after->holds(address, 1) ? &*after : nullptr;
}

void Memory::mark(std::uint64_t address, std::uint64_t bytes, bool is_written) {
    const Region* const region = find(address);
    if (region == nullptr || region->written == nullptr || bytes == 0) return;
    std::fill_n(region->written + (address - region->begin), bytes, is_written ? all_bits : std::uint8_t{0});
}

std::string Memory::surroundings(std::uint64_t address) const {
    for (const Region& region : freed_)
        if (region.holds(address, 1)) return fmt::format("in the {} bytes at {:#x} that were freed", region.bytes, region.begin);
    const auto after = std::upper_bound(regions_.begin(), regions_.end(), address,
                                        [](std::uint64_t a, const Region& region) { return a < region.begin; });
    constexpr std::uint64_t near = guard_bytes;
    if (after != regions_.begin()) {
        const Region& before = *(after - 1);
        if (before.is_heap && before.holds(address, 1)) return heap_surroundings(address);
        if (before.holds(address, 1)) return fmt::format("{} bytes before the end of the {} bytes at {:#x}", before.begin + before.bytes - address, before.bytes, before.begin);
        const std::uint64_t beyond = address - before.begin - before.bytes;
        if (beyond < near) return fmt::format("{} bytes behind the end of the {} bytes at {:#x}", beyond, before.bytes, before.begin);
    }
    if (after != regions_.end() && after->begin - address <= near)
        return fmt::format("{} bytes before the {} bytes at {:#x}", after->begin - address, after->bytes, after->begin);
    return "near no allocation";
}

std::byte* Memory::host(std::uint64_t address, std::uint64_t bytes) const {
    auto after = std::upper_bound(regions_.begin(), regions_.end(), address,
                                  [](std::uint64_t a, const Region& region) { return a < region.begin; });
    if (after == regions_.begin()) return nullptr;
    --after;
    const std::uint64_t offset = address - after->begin;
    return offset <= after->bytes && after->bytes - offset >= bytes ? after->host + offset : nullptr;
}

Expected<void> Memory::reserve_heap() {
    if (heap_ != 0) return {};
    auto address = allocate(heap_bytes);
    if (!address) return tl::unexpected<Error>(address.error());
    heap_ = heap_next_ = *address;
    regions_.back().is_heap = true;
    return {};
}

// The first gap from `from` on that is wide enough; 0 when there is none.
std::uint64_t Memory::heap_gap(std::uint64_t from, std::uint64_t bytes) const {
    std::uint64_t at = from;
    for (auto block = heap_blocks_.lower_bound(from); block != heap_blocks_.end(); ++block) {
        if (block->first - at >= bytes) break;
        at = round_up(block->first + block->second, heap_alignment);
    }
    return at <= heap_ + heap_bytes && heap_ + heap_bytes - at >= bytes ? at : 0;
}

std::uint64_t Memory::heap_allocate(std::uint64_t bytes) {
    const std::scoped_lock lock(heap_mutex_);
    if (bytes == 0 || bytes > heap_bytes) return 0;
    std::uint64_t at = heap_gap(heap_next_, bytes);
    if (at == 0) at = heap_gap(heap_, bytes);
    if (at == 0) return 0;
    heap_blocks_.emplace(at, bytes);
    heap_next_ = round_up(at + bytes, heap_alignment);
    return at;
}

bool Memory::heap_free(std::uint64_t address) {
    const std::scoped_lock lock(heap_mutex_);
    const auto found = heap_blocks_.find(address);
    if (found == heap_blocks_.end()) return false;
    if (heap_freed_.size() >= most_freed) heap_freed_.erase(heap_freed_.begin(), heap_freed_.begin() + most_freed / 2);
    heap_freed_.push_back({found->first, found->second});
    heap_blocks_.erase(found);
    return true;
}

std::uint64_t Memory::heap_size(std::uint64_t address) const {
    const std::scoped_lock lock(heap_mutex_);
    const auto found = heap_blocks_.find(address);
    return found == heap_blocks_.end() ? 0 : found->second;
}

bool Memory::heap_holds(std::uint64_t address, std::uint64_t bytes) const {
    const std::scoped_lock lock(heap_mutex_);
    auto block = heap_blocks_.upper_bound(address);
    if (block == heap_blocks_.begin()) return false;
    --block;
    const std::uint64_t offset = address - block->first;
    return offset < block->second && block->second - offset >= bytes;
}

std::string Memory::heap_surroundings(std::uint64_t address) const {
    const std::scoped_lock lock(heap_mutex_);
    auto block = heap_blocks_.upper_bound(address);
    const bool is_before = block != heap_blocks_.end() && block->first - address <= guard_bytes;
    if (block != heap_blocks_.begin()) {
        const auto& [begin, bytes] = *std::prev(block);
        if (address < begin + bytes) return fmt::format("{} bytes before the end of the {} bytes of the heap at {:#x}", begin + bytes - address, bytes, begin);
    }
    for (auto freed = heap_freed_.rbegin(); freed != heap_freed_.rend(); ++freed)
        if (address - freed->begin < freed->bytes) return fmt::format("in the {} bytes of the heap at {:#x} that were freed", freed->bytes, freed->begin);
    if (block != heap_blocks_.begin()) {
        const auto& [begin, bytes] = *std::prev(block);
        if (address - begin - bytes < guard_bytes) return fmt::format("{} bytes behind the end of the {} bytes of the heap at {:#x}", address - begin - bytes, bytes, begin);
    }
    if (is_before) return fmt::format("{} bytes before the {} bytes of the heap at {:#x}", block->first - address, block->second, block->first);
    return "in the heap, near no allocation";
}

}  // namespace ptxgraft::emulator
