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
    std::fill_n(region->written + (address - region->begin), bytes, is_written ? std::uint8_t{1} : std::uint8_t{0});
}

std::string Memory::surroundings(std::uint64_t address) const {
    for (const Region& region : freed_)
        if (region.holds(address, 1)) return fmt::format("in the {} bytes at {:#x} that were freed", region.bytes, region.begin);
    const auto after = std::upper_bound(regions_.begin(), regions_.end(), address,
                                        [](std::uint64_t a, const Region& region) { return a < region.begin; });
    constexpr std::uint64_t near = guard_bytes;
    if (after != regions_.begin()) {
        const Region& before = *(after - 1);
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
    heap_ = *address;
    return {};
}

std::uint64_t Memory::heap_allocate(std::uint64_t bytes) {
    const std::scoped_lock lock(heap_mutex_);
    if (bytes == 0 || bytes > heap_bytes) return 0;
    const std::uint64_t wanted = round_up(bytes, heap_alignment);
    std::uint64_t at = heap_;
    for (const auto& [begin, size] : heap_blocks_) {  // the first gap that is wide enough
        if (begin - at >= wanted) break;
        at = begin + size;
    }
    if (heap_ + heap_bytes - at < wanted) return 0;
    heap_blocks_.emplace(at, wanted);
    return at;
}

bool Memory::heap_free(std::uint64_t address) {
    const std::scoped_lock lock(heap_mutex_);
    return heap_blocks_.erase(address) == 1;
}

}  // namespace ptxgraft::emulator
