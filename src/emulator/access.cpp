#include <fmt/format.h>

#include <algorithm>

#include "emulator/cta.hpp"
#include "emulator/warp.hpp"

namespace ptxgraft::emulator {
namespace {

constexpr std::uint64_t most_local_bytes = std::uint64_t{512} << 10;  // of a thread, as CUDA's limit
constexpr std::uint32_t multiprocessors = 132;

std::string_view name(Space space) {
    constexpr std::string_view names[] = {"generic", "global", "constant", "shared", "local", "parameter"};
    return names[static_cast<std::size_t>(space)];
}

bool inside(std::uint64_t address, std::uint64_t bytes, std::uint64_t size) {
    return address <= size && size - address >= bytes;
}

}  // namespace

std::uint64_t Warp::address(const Access& access, unsigned lane) {
    std::uint64_t base = access.frame_relative ? frame_->local_base : 0;
    if (access.base != no_ref) base += lanes(access.base)[lane] & access.base_mask;
    return (base + access.offset) & (access.base_mask | (access.base == no_ref ? ~std::uint64_t{0} : 0));
}

std::byte* Warp::resolve(const Access& access, unsigned lane, std::uint32_t bytes, Use use) {
    return resolve(access.space, address(access, lane), lane, bytes, use);
}

std::byte* Warp::resolve(Space space, std::uint64_t address, unsigned lane, std::uint32_t bytes, Use use) {
    if ((address & (bytes - 1)) != 0) {
        fail(Errc::misaligned_address, lane,
             fmt::format("{} bytes of {} memory at {:#x}, which is no multiple of {}", bytes, name(space),
                         address, bytes));
        return nullptr;
    }
    if (std::byte* found = find(space, address, lane, bytes, use)) return found;
    const bool exists = use == Use::write && find(space, address, lane, bytes, Use::read) != nullptr;
    const Place where = space == Space::generic ? emulator::place(address) : Place{space, address};
    fail(exists ? Errc::write_to_read_only_memory : Errc::address_out_of_bounds, lane,
         fmt::format("{} of {} bytes of {} memory at {:#x}", use == Use::read ? "read" : "write", bytes,
                     name(where.space), where.address));
    return nullptr;
}

std::byte* Warp::find(Space space, std::uint64_t address, unsigned lane, std::uint64_t bytes, Use use) {
    if (space <= Space::constant) {
        if (region_ == nullptr || !region_->holds(address, bytes)) {
            const Region* region = launch_->memory->find(address);
            if (region == nullptr) {
                const Place where = emulator::place(address);
                if (space != Space::generic || where.space == Space::global) return nullptr;
                return find(where.space, where.address, lane, bytes, use);
            }
            region_ = region;
            if (!region->holds(address, bytes)) return nullptr;
        }
        if (use == Use::write && region_->read_only) return nullptr;
        return region_->host + (address - region_->begin);
    }
    if (space == Space::shared) {
        std::vector<std::byte>& shared = cta_->shared();
        return inside(address, bytes, shared.size()) ? shared.data() + address : nullptr;
    }
    if (space == Space::local) {
        if (!inside(address, bytes, frame_->local_top)) return nullptr;
        return local_.data() + std::uint64_t{lane} * local_stride_ + address;
    }
    const std::vector<std::byte>& parameters = launch_->parameters;
    if (use == Use::write || !inside(address, bytes, parameters.size())) return nullptr;
    return const_cast<std::byte*>(parameters.data()) + address;
}

std::byte* Warp::local(const Frame& frame, unsigned lane, std::uint32_t offset) {
    return local_.data() + std::uint64_t{lane} * local_stride_ + frame.local_base + offset;
}

// Grows every thread's local memory; the bytes move, so host pointers to it live no longer than one
// operation.
bool Warp::reserve_local(std::uint64_t bytes) {
    if (bytes > most_local_bytes) return false;
    if (bytes <= local_stride_) return true;
    const auto stride =
        static_cast<std::uint32_t>((std::max<std::uint64_t>(bytes, local_stride_ * 2ull) + 15) / 16 * 16);
    std::vector<std::byte> grown(std::size_t{stride} * 32);
    for (std::size_t lane = 0; lane < 32 && local_stride_ != 0; ++lane) {
        std::copy_n(local_.data() + lane * local_stride_, local_stride_, grown.data() + lane * stride);
    }
    local_ = std::move(grown);
    local_stride_ = stride;
    return true;
}

bool Warp::extend_local(std::uint32_t bytes, std::uint32_t alignment, std::uint32_t& offset) {
    const std::uint64_t begin = (std::uint64_t{frame_->local_top} + alignment - 1) / alignment * alignment;
    if (!reserve_local(begin + bytes)) return false;
    offset = static_cast<std::uint32_t>(begin);
    frame_->local_top = static_cast<std::uint32_t>(begin + bytes);
    return true;
}

// Constant for the launch or the CTA; the clocks are refreshed before each instruction that reads them.
void Warp::fill_specials() {
    const Dim3& block = launch_->shape.block;
    const Dim3& grid = launch_->shape.grid;
    const Dim3 at = cta_->position();
    for (std::size_t i = 0; i < program_->specials.size(); ++i) {
        for (std::uint32_t lane = 0; lane < 32; ++lane) {
            const std::uint32_t thread = index_ * 32 + lane, bit = 1u << lane;
            std::uint64_t value = 0;
            switch (program_->specials[i]) {
                case Special::tid_x:
                    value = thread % block.x;
                    break;
                case Special::tid_y:
                    value = thread / block.x % block.y;
                    break;
                case Special::tid_z:
                    value = thread / block.x / block.y;
                    break;
                case Special::ntid_x:
                    value = block.x;
                    break;
                case Special::ntid_y:
                    value = block.y;
                    break;
                case Special::ntid_z:
                    value = block.z;
                    break;
                case Special::ctaid_x:
                    value = at.x;
                    break;
                case Special::ctaid_y:
                    value = at.y;
                    break;
                case Special::ctaid_z:
                    value = at.z;
                    break;
                case Special::nctaid_x:
                    value = grid.x;
                    break;
                case Special::nctaid_y:
                    value = grid.y;
                    break;
                case Special::nctaid_z:
                    value = grid.z;
                    break;
                case Special::laneid:
                    value = lane;
                    break;
                case Special::warpid:
                    value = index_;
                    break;
                case Special::nwarpid:
                    value = 64;
                    break;
                case Special::smid:
                    value = cta_->index() % multiprocessors;
                    break;
                case Special::nsmid:
                    value = multiprocessors;
                    break;
                case Special::lanemask_eq:
                    value = bit;
                    break;
                case Special::lanemask_le:
                    value = bit | (bit - 1);
                    break;
                case Special::lanemask_lt:
                    value = bit - 1;
                    break;
                case Special::lanemask_ge:
                    value = ~(bit - 1) & 0xFFFFFFFFu;
                    break;
                case Special::lanemask_gt:
                    value = ~(bit | (bit - 1)) & 0xFFFFFFFFu;
                    break;
                case Special::total_smem_size:
                    value = launch_->shared_bytes;
                    break;
                case Special::dynamic_smem_size:
                    value = launch_->shape.shared_bytes;
                    break;
                case Special::dynamic_shared:
                    value = launch_->dynamic_shared;
                    break;
                case Special::one:
                    value = 1;
                    break;
                default:
                    break;
            }
            specials_[i][lane] = value;
        }
    }
    refresh_clock();
}

// A clock tick is an issued warp instruction, so that runs are repeatable.
void Warp::refresh_clock() {
    constexpr std::uint64_t epoch = std::uint64_t{1} << 60;
    for (std::size_t i = 0; i < program_->specials.size(); ++i) {
        switch (program_->specials[i]) {
            case Special::clock:
            case Special::clock64:
                specials_[i].fill(issued_);
                break;
            case Special::clock_hi:
                specials_[i].fill(issued_ >> 32);
                break;
            case Special::globaltimer:
            case Special::globaltimer_lo:
                specials_[i].fill(epoch + issued_);
                break;
            case Special::globaltimer_hi:
                specials_[i].fill((epoch + issued_) >> 32);
                break;
            default:
                break;
        }
    }
}

}  // namespace ptxgraft::emulator
