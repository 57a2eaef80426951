// Where the addresses of an access are in the host's memory: of all lanes at once where they lie in one piece
// of memory, else of one after the other.
#include "emulator/machine/warp_memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "emulator/machine/cluster.hpp"
#include "emulator/machine/warp.hpp"

namespace ptxgraft::emulator {
namespace {

constexpr std::uint64_t most_local_bytes = std::uint64_t{512} << 10;  // of a thread, as CUDA's limit

bool inside(std::uint64_t address, std::uint64_t bytes, std::uint64_t size) {
    return address <= size && size - address >= bytes;
}

constexpr std::uint64_t most_located_bytes = std::uint64_t{1} << 31;  // offsets have 32 bits

// Of a shared access by a generic address in 64 bits: hardware takes the lower half of it, and programs rely
// on that.
std::uint64_t generic_window(const Access& access, std::uint64_t address) {
    const bool is_shared = access.space == Space::shared || access.space == Space::shared_cluster;
    return is_shared && address - shared_window < window_bytes ? shared_window : 0;
}

}  // namespace

std::uint64_t WarpMemory::begin(std::uint32_t bytes) {
    static_cast<void>(reserve_local(bytes));
    std::fill(local_.begin(), local_.end(), std::byte{0});
    if (warp_.checks().tracks_written())
        std::fill(local_written_.begin(), local_written_.end(), std::uint8_t{0});
    return local_.size() + local_written_.size();
}

std::uint64_t WarpMemory::address(const Access& access, const Operation& operation, unsigned lane) {
    std::uint64_t address = (access.frame_relative ? warp_.frame().local_base : 0) + access.offset;
    if (!access.has_base) return address;
    const Ref base = warp_.operands(operation)[operation.outputs];
    address += warp_.value(base, lane);
    return width(base) == 4 ? address & 0xFFFFFFFFu : address - generic_window(access, address);
}

std::byte* WarpMemory::resolve(const Access& access, const Operation& operation, unsigned lane,
                               std::uint32_t bytes, Use use) {
    return resolve(access.space, address(access, operation, lane), lane, bytes, use);
}

namespace {

// Spaces whose addresses are looked for among the allocations of global memory first.
bool is_global(Space space) {
    return space == Space::generic || space == Space::global || space == Space::const_;
}

}  // namespace

WarpMemory::Piece WarpMemory::shared_piece(Cta& owner, std::uint64_t begin) const {
    return {.host = owner.shared().data(),
            .begin = begin,
            .bytes = owner.shared().size(),
            .written = warp_.checks().tracks_written() ? owner.shared_written().data() : nullptr,
            .space = Space::shared,
            .owner = owner.rank()};
}

// The piece of memory that a lane's access is in, if it is the kind that all lanes may share.
WarpMemory::Piece WarpMemory::piece(const Access& access, const Operation& operation, std::uint32_t mask,
                                    Use use) {
    Space space = access.space;
    std::uint64_t window = 0;
    if (space == Space::generic) {
        const std::uint64_t first = address(access, operation, first_lane(mask));
        if (region_ == nullptr || !region_->holds(first, 1)) space = emulator::place(first).space;
        if (space != Space::global) window = emulator::window(space);
    } else if (access.has_base && width(warp_.operands(operation)[operation.outputs]) == 8) {
        const Ref base = warp_.operands(operation)[operation.outputs];
        window = generic_window(access, access.offset + warp_.value(base, first_lane(mask)));
    }
    switch (space) {
        case Space::shared: return shared_piece(warp_.cta(), window);
        case Space::shared_cluster: {
            const std::uint64_t at = address(access, operation, first_lane(mask));
            const std::uint64_t first = access.space == Space::generic ? at - window : at;
            Cta* const owner = owner_of(first);
            if (owner == nullptr) return {};
            return shared_piece(*owner, window + (first >> cluster_rank_shift << cluster_rank_shift));
        }
        case Space::local:
            return {.host = local_.data(),
                    .begin = window,
                    .bytes = warp_.frame().local_top,
                    .lane_stride = local_stride_,
                    .written = warp_.checks().tracks_written() ? local_written_.data() : nullptr,
                    .space = Space::local};
        case Space::param:
            if (use == Use::write) return {};
            return {.host = const_cast<std::byte*>(warp_.launch().parameters.data()),
                    .begin = window,
                    .bytes = warp_.launch().parameters.size(),
                    .space = Space::param};
        default: break;
    }
    return global_piece(address(access, operation, first_lane(mask)), use);
}

// That which has an address.
WarpMemory::Piece WarpMemory::global_piece(std::uint64_t first, Use use) {
    if (region_ == nullptr || !region_->holds(first, 1)) {
        const Region* found = warp_.launch().memory->find(first);
        if (found == nullptr) return {};
        region_ = found;
    }
    if ((use == Use::write && region_->read_only) ||
        (region_->is_heap && warp_.checks().has(EmulatorCheck::heap)))
        return {};
    return {
        .host = region_->host, .begin = region_->begin, .bytes = region_->bytes, .written = region_->written};
}

// What the checks look at.
void WarpMemory::describe(const Piece& in, Located& located) const {
    located.host = in.host;
    located.written = in.written;
    located.begin = in.space == Space::global   ? in.begin
                    : in.space == Space::shared ? shared_place(in.owner)
                                                : 0;
    located.is_shared = in.space == Space::shared;
    located.is_global = in.space == Space::global;
}

const std::byte* WarpMemory::locate_global(Ref addresses, std::uint32_t bytes, std::uint32_t mask,
                                           Located& located) {
    if (width(addresses) != 8) return nullptr;
    const Piece in = global_piece(warp_.value(addresses, first_lane(mask)), Use::read);
    if (in.host == nullptr || in.bytes < bytes || in.bytes > most_located_bytes) return nullptr;
    const auto last = static_cast<std::uint32_t>(in.bytes - bytes);
    if (!warp_.launch().lane_functions->locate64(located, warp_.column_of<std::uint64_t>(addresses),
                                                 0 - in.begin, last, bytes, bytes, mask))
        return nullptr;
    if (warp_.checks().looks_at_memory()) describe(in, located);
    return in.host;
}

std::byte* WarpMemory::locate(const Access& access, const Operation& operation, std::uint32_t mask, Use use,
                              Located& located) {
    const Piece in = piece(access, operation, mask, use);
    const std::uint32_t bytes = std::uint32_t{access.bytes} * access.count;
    if (in.host == nullptr || in.bytes < bytes || in.bytes > most_located_bytes) return nullptr;
    const auto last = static_cast<std::uint32_t>(in.bytes - bytes);
    const std::uint64_t add =
        (access.frame_relative ? warp_.frame().local_base : 0) + access.offset - in.begin;
    if (!access.has_base) {
        if (add > last || add % bytes != 0) return nullptr;
        std::fill_n(located.offsets, lane_count, static_cast<std::uint32_t>(add));
        located.least = located.most = located.offsets[0];
        located.all_equal = mask == ~0u;
        located.consecutive = false;
    } else {
        const Ref base = warp_.operands(operation)[operation.outputs];
        const LaneFunctions& functions = *warp_.launch().lane_functions;
        if (width(base) == 8) {
            if (!functions.locate64(located, warp_.column_of<std::uint64_t>(base), add, last, bytes, bytes,
                                    mask))
                return nullptr;
        } else if (in.begin != 0 || width(base) != 4) {
            return nullptr;
        } else if (!functions.locate32(located, warp_.column_of<std::uint32_t>(base),
                                       static_cast<std::uint32_t>(add), last, bytes, bytes, mask)) {
            return nullptr;
        }
    }
    if (warp_.checks().looks_at_memory()) describe(in, located);
    if (in.lane_stride != 0) {
        if (std::uint64_t{in.lane_stride} * lane_count > most_located_bytes) return nullptr;
        for (std::uint32_t lane = 0; lane < lane_count; ++lane)
            located.offsets[lane] += lane * in.lane_stride;
        located.most += (lane_count - 1) * in.lane_stride;
        located.all_equal = located.consecutive = false;
    }
    return in.host;
}

std::byte* WarpMemory::resolve(Space space, std::uint64_t address, unsigned lane, std::uint32_t bytes,
                               Use use) {
    if ((address & (bytes - 1)) != 0) {
        return warp_.fail(Errc::address_misaligned, lane,
                          fmt::format("{} bytes of {} memory at {:#x}, which is no multiple of {}", bytes,
                                      name(space), address, bytes));
    }
    if (std::byte* found = find(space, address, lane, bytes, use)) return found;
    if (fail_without_owner(space, address, lane)) return nullptr;
    const bool exists = use == Use::write && find(space, address, lane, bytes, Use::read) != nullptr;
    if (exists) return warp_.fail(Errc::memory_read_only, lane, describe(space, address, bytes, use));
    return warp_.fail(Errc::address_out_of_bounds, lane,
                      describe(space, address, bytes, use) + surroundings(space, address, bytes));
}

std::string WarpMemory::describe(Space space, std::uint64_t address, std::uint64_t bytes, Use use) const {
    const Place where = emulator::place(space, address);
    return fmt::format("{} of {} bytes of {} memory at {:#x}", use == Use::read ? "read" : "write", bytes,
                       name(where.space), where.address);
}

// Where an address lies that is nowhere in its space.
std::string WarpMemory::surroundings(Space space, std::uint64_t address, std::uint64_t bytes) const {
    const Place where = emulator::place(space, address);
    switch (where.space) {
        case Space::shared: return fmt::format("; the block has {} bytes", warp_.cta().shared().size());
        case Space::local: return fmt::format("; the thread has {} bytes", warp_.frame().local_top);
        case Space::param: return fmt::format("; there are {} bytes", warp_.launch().parameters.size());
        default: break;
    }
    const Place other = emulator::place(where.address);
    if (other.space != Space::global) return fmt::format(", which is {} memory", name(other.space));
    if (where.address < window_bytes)
        return ", which is no address of global memory: those of other state spaces are small";
    std::string text = warp_.launch().memory->surroundings(where.address);
    const Region* region = warp_.launch().memory->find(where.address);
    const std::uint64_t at = region != nullptr ? region->begin : where.address;
    for (const auto& [variable, extent] : warp_.program().variables)
        if (at - extent.address < extent.bytes + bytes + 256) text += fmt::format(" ({})", variable);
    return ", " + text;
}

std::byte* WarpMemory::find(Space space, std::uint64_t address, unsigned lane, std::uint64_t bytes, Use use) {
    if (is_global(space)) {
        if (region_ == nullptr || !region_->holds(address, bytes)) {
            const Region* region = warp_.launch().memory->find(address);
            if (region == nullptr) {
                const Place where = emulator::place(address);
                if (space != Space::generic || where.space == Space::global) return nullptr;
                return find(where.space, where.address, lane, bytes, use);
            }
            region_ = region;
            if (!region->holds(address, bytes)) return nullptr;
        }
        if (use == Use::write && region_->read_only) return nullptr;
        if (region_->is_heap && warp_.checks().has(EmulatorCheck::heap) &&
            !warp_.launch().memory->heap().holds(address, bytes) &&
            !warp_.checks().report(
                {EmulatorCheck::heap, Errc::address_out_of_bounds, warp_.pc()}, 1u << lane,
                [&] { return describe(space, address, bytes, use) + surroundings(space, address, bytes); }))
            return nullptr;
        return region_->host + (address - region_->begin);
    }
    if (space == Space::shared) {
        std::vector<std::byte>& shared = warp_.cta().shared();
        return inside(address, bytes, shared.size()) ? shared.data() + address : nullptr;
    }
    if (space == Space::shared_cluster) {
        Cta* const owner = owner_of(address);
        if (owner == nullptr) return nullptr;
        const std::uint64_t offset = offset_in_cta(address);
        return inside(offset, bytes, owner->shared().size()) ? owner->shared().data() + offset : nullptr;
    }
    if (space == Space::local) {
        if (!inside(address, bytes, warp_.frame().local_top)) return nullptr;
        return local_.data() + std::uint64_t{lane} * local_stride_ + address;
    }
    const std::vector<std::byte>& parameters = warp_.launch().parameters;
    if (use == Use::write || !inside(address, bytes, parameters.size())) return nullptr;
    return const_cast<std::byte*>(parameters.data()) + address;
}

// The CTA in whose shared memory an address of the cluster lies; null when there is none, or it has ended.
Cta* WarpMemory::owner_of(std::uint64_t address) {
    const std::uint64_t tag = address >> cluster_rank_shift;
    if (tag == 0) return &warp_.cta();
    Cluster& cluster = warp_.cta().cluster();
    if (tag > cluster.size() || cluster.cta(static_cast<std::uint32_t>(tag - 1)).is_finished())
        return nullptr;
    return &cluster.cta(static_cast<std::uint32_t>(tag - 1));
}

bool WarpMemory::fail_without_owner(Space space, std::uint64_t address, unsigned lane) {
    const Place in = emulator::place(space, address);
    if (in.space != Space::shared_cluster || owner_of(in.address) != nullptr) return false;
    const std::uint64_t tag = in.address >> cluster_rank_shift, size = warp_.cta().cluster().size();
    if (tag > size)
        warp_.fail(Errc::address_out_of_bounds, lane,
                   fmt::format("shared memory at {:#x}, of the block of rank {} in a cluster of {}",
                               in.address, tag - 1, size));
    else
        warp_.fail(Errc::shared_memory_gone, lane,
                   fmt::format("at {:#x}, of the block of rank {} in the cluster", in.address, tag - 1));
    return true;
}

// Grows every thread's local memory; the bytes move, so host pointers to it live no longer than one
// operation.
bool WarpMemory::reserve_local(std::uint64_t bytes) {
    if (bytes > most_local_bytes) return false;
    if (bytes <= local_stride_) return true;
    const auto stride =
        static_cast<std::uint32_t>((std::max<std::uint64_t>(bytes, local_stride_ * 2ull) + 15) / 16 * 16);
    std::vector<std::byte> grown(std::size_t{stride} * 32);
    for (std::size_t lane = 0; lane < 32 && local_stride_ != 0; ++lane) {
        std::copy_n(local_.data() + lane * local_stride_, local_stride_, grown.data() + lane * stride);
    }
    local_ = std::move(grown);
    if (warp_.checks().tracks_written()) {
        std::vector<std::uint8_t> written(std::size_t{stride} * 32);
        for (std::size_t lane = 0; lane < 32 && local_stride_ != 0; ++lane)
            std::copy_n(local_written_.data() + lane * local_stride_, local_stride_,
                        written.data() + lane * stride);
        local_written_ = std::move(written);
    }
    host_bytes_.take((std::uint64_t{stride} - local_stride_) * lane_count *
                     (warp_.checks().tracks_written() ? 2 : 1));
    warp_.work().charge_bytes(std::uint64_t{stride} * lane_count);
    local_stride_ = stride;
    return true;
}

bool WarpMemory::extend_local(std::uint32_t bytes, std::uint32_t alignment, std::uint32_t& offset) {
    const std::uint64_t begin =
        (std::uint64_t{warp_.frame().local_top} + alignment - 1) / alignment * alignment;
    if (!reserve_local(begin + bytes)) return false;
    offset = static_cast<std::uint32_t>(begin);
    warp_.frame().local_top = static_cast<std::uint32_t>(begin + bytes);
    return true;
}

// --- what the checks look at

Place WarpMemory::common_place(Space space, std::uint64_t address) const {
    Place where = emulator::place(space, address);
    if (where.space != Space::shared && where.space != Space::shared_cluster) return where;
    if (where.address >> cluster_rank_shift == 0) where.address += shared_place(warp_.cta().rank());
    where.space = Space::shared;
    return where;
}

std::uint8_t* WarpMemory::written_bytes(Space space, std::uint64_t address, unsigned lane) {
    if (!warp_.checks().tracks_written()) return nullptr;
    const Place where = common_place(space, address);
    if (where.space == Space::shared) {
        Cta* const owner = owner_of(where.address);
        return owner == nullptr ? nullptr : owner->shared_written().data() + (offset_in_cta(where.address));
    }
    if (where.space == Space::local)
        return local_written_.data() + std::size_t{lane} * local_stride_ + where.address;
    if (where.space == Space::param) return nullptr;
    const Region* const region = warp_.launch().memory->find(where.address);
    return region == nullptr || region->written == nullptr
               ? nullptr
               : region->written + (where.address - region->begin);
}

void WarpMemory::describe(Space space, std::uint64_t address, unsigned lane, Located& at) {
    const Place where = common_place(space, address);
    at.offsets[lane] = 0;
    at.written = written_bytes(where.space, where.address, lane);
    at.begin = where.address;
    at.is_shared = where.space == Space::shared;
    at.is_global = where.space == Space::global || where.space == Space::const_;
}

}  // namespace ptxgraft::emulator
