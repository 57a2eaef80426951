// Regions of global and constant memory by address, and their definedness bits.
#include "emulator/memory/memory.hpp"
#include "base/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace ptxgraft::emulator {
namespace {

constexpr std::uint64_t region_alignment = 256;
// The gap between two allocations: an index that is somewhat too large does not reach the next one.
constexpr std::uint64_t guard_bytes = std::uint64_t{1} << 20;

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

// calloc gives zeroed bytes without touching the pages that are never accessed.
std::byte* host_memory(std::uint64_t bytes) {
    return static_cast<std::byte*>(
        std::calloc(1, static_cast<std::size_t>(std::max<std::uint64_t>(bytes, 16) + 64)));
}

// The same for an allocation whose address is the host's.
std::byte* aligned_host_memory(std::uint64_t bytes) {
    const std::uint64_t size = round_up(std::max<std::uint64_t>(bytes, 16) + 64, region_alignment);
    void* const memory = std::aligned_alloc(region_alignment, static_cast<std::size_t>(size));
    return memory == nullptr ? nullptr : static_cast<std::byte*>(std::memset(memory, 0, size));
}

}  // namespace

std::uint64_t window(Space space) {
    switch (space) {
        case Space::shared:
        case Space::shared_cluster: return shared_window;
        case Space::local: return local_window;
        case Space::param: return param_window;
        default: return 0;
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
    for (const Regions* const all : {&regions_, &pending_})
        for (const Region& region : *all) release(region);
}

void Memory::release(const Region& region) noexcept {
    std::free(region.host);
    std::free(region.written);
}

Expected<Region> Memory::reserve_bytes(std::uint64_t bytes) {
    Region region{.bytes = bytes};
    const std::scoped_lock lock(mutex_);
    if (bytes > limit_ || used_ > limit_ - bytes)
        return fail(Errc::out_of_device_memory,
                    fmt::format("{} bytes wanted, {} of {} in use", bytes, used_, limit_));
    if (space_ == AddressSpace::own) {
        const std::uint64_t next = round_up(next_ + bytes + guard_bytes, region_alignment);
        if (next >= shared_window) return fail(Errc::out_of_device_memory, "all addresses have been used");
        region.begin = std::exchange(next_, next);
    }
    used_ += bytes;
    return region;
}

Expected<Region> Memory::reserve(std::uint64_t bytes) {
    Region region = TRY(reserve_bytes(bytes));
    region.host = space_ == AddressSpace::own ? host_memory(bytes) : aligned_host_memory(bytes);
    if (space_ == AddressSpace::process) region.begin = reinterpret_cast<std::uintptr_t>(region.host);
    if (is_checked_ && region.host != nullptr)
        region.written = reinterpret_cast<std::uint8_t*>(host_memory(bytes));
    if (region.host != nullptr && (!is_checked_ || region.written != nullptr)) return region;
    give_back(region);
    return fail(Errc::out_of_device_memory, fmt::format("the host has no {} bytes", bytes));
}

void Memory::give_back(const Region& region) noexcept {
    release(region);
    const std::scoped_lock lock(mutex_);
    used_ -= region.bytes;
}

namespace {

// Gives a region back in its destructor unless keep() was called.
class Reserved {
  public:
    Reserved(Memory& memory, const Region& region) : memory_(&memory), region_(region) {}
    ~Reserved() {
        if (memory_ != nullptr) memory_->give_back(region_);
    }
    Reserved(const Reserved&) = delete;
    Reserved& operator=(const Reserved&) = delete;
    void keep() { memory_ = nullptr; }

  private:
    Memory* memory_;
    const Region& region_;
};

}  // namespace

void Memory::add(const Region& region) {
    const std::scoped_lock lock(mutex_);
    if (freed_.capacity() == 0) freed_.reserve(most_freed);  // so that free() allocates nothing
    insert(is_in_use_ ? pending_ : regions_, region);
}

// Addresses are given in ascending order, but threads may add their regions in another order.
void Memory::insert(Regions& regions, const Region& region) {
    regions.insert(std::ranges::upper_bound(regions, region.begin, {}, &Region::begin), region);
}

Expected<std::uint64_t> Memory::allocate(std::uint64_t bytes) {
    const auto region = TRY(reserve(bytes));
    Reserved reserved(*this, region);
    add(region);
    reserved.keep();
    return region.begin;
}

Expected<void> Memory::free(std::uint64_t address) {
    if (try_free(address)) return {};
    return fail(Errc::address_not_allocated, fmt::format("{:#x}", address));
}

// A region that a Use sees is only marked as freed; it is released when the Use ends.
bool Memory::try_free(std::uint64_t address) noexcept {
    const std::scoped_lock lock(mutex_);
    for (Regions* const all : {&regions_, &pending_}) {
        const auto found = find_first_byte(*all, address);
        if (found == all->end() || found->is_freed) continue;
        used_ -= found->bytes;
        record_freed(*found);
        if (is_in_use_ && all == &regions_) {
            found->is_freed = has_freed_ = true;
            return true;
        }
        release(*found);
        all->erase(found);
        return true;
    }
    return false;
}

Memory::Regions::iterator Memory::find_first_byte(Regions& regions, std::uint64_t address) {
    const auto found = std::ranges::lower_bound(regions, address, {}, &Region::begin);
    return found != regions.end() && found->begin == address ? found : regions.end();
}

void Memory::record_freed(const Region& region) noexcept {
    if (freed_.size() >= most_freed) freed_.erase(freed_.begin(), freed_.begin() + most_freed / 2);
    freed_.push_back({.begin = region.begin, .bytes = region.bytes});  // within its capacity
}

namespace {

// The part of a region from `begin` up to `end`.
Region part_of(const Region& region, std::uint64_t begin, std::uint64_t end) {
    Region part = region;
    part.begin = begin;
    part.bytes = end - begin;
    part.host = region.host + (begin - region.begin);
    return part;
}

}  // namespace

Memory::Regions Memory::process_memory_with_constants() const {
    Regions all;
    auto variable = regions_.begin();
    for (const Region& mapped : emulator::process_memory()) {
        const std::uint64_t end = mapped.begin + mapped.bytes;
        std::uint64_t at = mapped.begin;  // up to there it stands in `all`
        for (; variable != regions_.end() && variable->begin < end; ++variable) {
            if (!variable->is_const || !mapped.holds(variable->begin, variable->bytes)) continue;
            if (at < variable->begin) all.push_back(part_of(mapped, at, variable->begin));
            all.push_back(*variable);
            at = variable->begin + variable->bytes;
        }
        if (at < end) all.push_back(part_of(mapped, at, end));
    }
    return all;
}

void Memory::begin_use() {
    const std::scoped_lock lock(mutex_);
    insert_pending();
    if (space_ == AddressSpace::process) process_memory_ = process_memory_with_constants();
    is_in_use_ = true;
}

void Memory::end_use() noexcept {
    const std::scoped_lock lock(mutex_);
    is_in_use_ = false;
    if (has_freed_) release_freed();
}

void Memory::insert_pending() {
    for (; !pending_.empty(); pending_.pop_back()) insert(regions_, pending_.back());
}

void Memory::release_freed() noexcept {
    std::erase_if(regions_, [this](const Region& region) {
        if (region.is_freed) release(region);
        return region.is_freed;
    });
    has_freed_ = false;
}

namespace {

// The first region that begins behind an address.
auto first_behind(const std::vector<Region>& regions, std::uint64_t address) {
    return std::ranges::upper_bound(regions, address, {}, &Region::begin);
}

}  // namespace

const Region* Memory::find(std::uint64_t address) const {
    auto after = first_behind(seen(), address);
    if (after == seen().begin()) return nullptr;
    --after;
    return after->holds(address, 1) ? &*after : nullptr;
}

void Memory::mark(std::uint64_t address, std::uint64_t bytes, bool is_written) {
    const Region* const region = find(address);
    if (region == nullptr || region->written == nullptr || bytes == 0) return;
    std::fill_n(region->written + (address - region->begin), bytes, is_written ? all_bits : std::uint8_t{0});
}

void Memory::copy_marks(std::uint64_t target, std::uint64_t source, std::uint64_t bytes) {
    const Region *const to = find(target), *const from = find(source);
    if (to == nullptr || from == nullptr || to->written == nullptr || from->written == nullptr) return;
    std::memmove(to->written + (target - to->begin), from->written + (source - from->begin), bytes);
}

std::string Memory::surroundings(std::uint64_t address) const {
    {
        const std::scoped_lock lock(mutex_);
        for (const Region& region : freed_)
            if (region.holds(address, 1))
                return fmt::format("in the {} bytes at {:#x} that were freed", region.bytes, region.begin);
    }
    const auto after = first_behind(seen(), address);
    constexpr std::uint64_t near = guard_bytes, nowhere = ~std::uint64_t{0};
    std::uint64_t behind = nowhere;  // the distance to the end of the allocation before the address
    if (after != seen().begin()) {
        const Region& before = *(after - 1);
        if (before.is_heap && before.holds(address, 1)) return heap_.surroundings(address);
        const std::uint64_t end = before.begin + before.bytes;
        if (before.holds(address, 1))
            return fmt::format("{} bytes before the end of the {} bytes at {:#x}", end - address,
                               before.bytes, before.begin);
        behind = address - end;
    }
    const std::uint64_t ahead = after == seen().end() ? nowhere : after->begin - address;
    if (std::min(behind, ahead) > near) return "near no allocation";
    if (ahead < behind)
        return fmt::format("{} bytes before the {} bytes at {:#x}", ahead, after->bytes, after->begin);
    const Region& before = *(after - 1);
    return fmt::format("{} bytes behind the end of the {} bytes at {:#x}", behind, before.bytes,
                       before.begin);
}

std::byte* Memory::host(std::uint64_t address, std::uint64_t bytes) const {
    auto after = first_behind(seen(), address);
    if (after == seen().begin()) return nullptr;
    --after;
    const std::uint64_t offset = address - after->begin;
    return offset <= after->bytes && after->bytes - offset >= bytes ? after->host + offset : nullptr;
}

Expected<void> Memory::reserve_heap() {
    const std::scoped_lock lock(heap_mutex_);
    if (has_heap_) return {};
    auto region = TRY(reserve(heap_bytes));
    Reserved reserved(*this, region);
    region.is_heap = true;
    heap_.begin(region.begin);
    add(region);
    reserved.keep();
    has_heap_ = true;
    return {};
}

ModuleVariables::
    ~ModuleVariables() {  // the last one first: erasing from the middle would move those behind it
    for (; regions_.size() > added_; regions_.pop_back()) memory_->give_back(regions_.back());
    for (; !regions_.empty(); regions_.pop_back()) memory_->try_free(regions_.back().begin);
}

Expected<Region*> ModuleVariables::reserve(std::uint64_t bytes) {
    const auto region = TRY(memory_->reserve(bytes));
    Reserved reserved(*memory_, region);
    Region* const kept = &regions_.emplace_back(region);
    reserved.keep();
    return kept;
}

void ModuleVariables::add() {
    for (; added_ < regions_.size(); ++added_) memory_->add(regions_[added_]);
}

}  // namespace ptxgraft::emulator
