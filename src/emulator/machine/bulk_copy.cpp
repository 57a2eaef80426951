// cp.async.bulk, st.async and tensor maps: copies of the async proxy, which are complete at once here.
#include "emulator/machine/bulk_copy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "emulator/machine/cluster.hpp"
#include "emulator/machine/mbarrier_object.hpp"
#include "emulator/machine/operations.hpp"
#include "emulator/machine/warp.hpp"

namespace ptxgraft::emulator {
namespace {

/// One lane's part of a copy. Every step is null, or false, after the warp's error was set.
struct Lane {
    Warp& warp;
    unsigned lane;

    Failed fail(Errc code, const std::string& detail) const { return warp.fail(code, lane, detail); }
    Failed fail(const Error& error) const {
        return fail(error.code, error.detail ? *error.detail : std::string());
    }

    [[nodiscard]] std::uint64_t value(Ref ref) const { return warp.value(ref, lane); }
    [[nodiscard]] std::optional<std::uint64_t> value_if(bool has_one, const Ref* ref) const {
        return has_one ? std::optional(value(*ref)) : std::nullopt;
    }

    // The host bytes of a range that the thread itself reads or writes, or that the async proxy copies for
    // it.
    std::byte* range(Space space, std::uint64_t address, std::uint64_t bytes, std::uint32_t alignment,
                     Use use) const {
        std::byte* const found = place(space, address, bytes, alignment, use);
        return found != nullptr && warp.checks().check_range(space, address, lane, bytes, use) ? found
                                                                                               : nullptr;
    }

    // Of some copies bytes may be undefined, where nobody needs them. A reduction is one for others that
    // reduce there too: strong.
    enum class Needs : std::uint8_t { defined, any };
    std::byte* copied(Space space, std::uint64_t address, std::uint64_t bytes, std::uint32_t alignment,
                      AccessKind kind, Needs needs = Needs::defined) const {
        std::byte* const found =
            place(space, address, bytes, alignment, kind == AccessKind::read ? Use::read : Use::write);
        if (found == nullptr) return nullptr;
        if (warp.observation().is_on())
            warp.observation().add({space, address, static_cast<std::uint32_t>(bytes), kind});
        AsyncChecks& checks = warp.checks().async();
        const bool goes_on = needs == Needs::any ? checks.note_async_order(space, address, lane, bytes, kind)
                                                 : checks.note_async(space, address, lane, bytes, kind);
        return goes_on ? found : nullptr;
    }

    // A tensor map is read as the thread itself would read it, by a proxy of its own (PTX ISA 9.7.13.4).
    [[nodiscard]] bool reads_map(std::uint64_t address) const {
        return warp.checks().check_range(Space::generic, address, lane, sizeof(TensorMap), Use::read) &&
               warp.checks().async().check_tensor_map(address, lane);
    }

    // PTX ISA 9.7.9.12, 9.7.13.7: a generic address falls within the window of shared memory.
    [[nodiscard]] bool is_shared(Space space, std::uint64_t address) const {
        if (space != Space::generic) return true;
        const Place where = emulator::place(address);
        return where.space == Space::shared || where.space == Space::shared_cluster ||
               fail(Errc::address_out_of_bounds,
                    fmt::format("{:#x} is {} memory; the store and its mbarrier are in shared memory",
                                address, name(where.space)));
    }

    std::byte* place(Space space, std::uint64_t address, std::uint64_t bytes, std::uint32_t alignment,
                     Use use) const {
        const bool is_shared = space == Space::shared || space == Space::shared_cluster;
        if (address % alignment != 0)
            return fail(Errc::address_misaligned,
                        fmt::format("{:#x} in {} memory is no multiple of {}", address,
                                    is_shared ? "shared" : "global", alignment));
        std::byte* const found = warp.memory().find(space, address, lane, bytes, use);
        if (found != nullptr || warp.memory().fail_without_owner(space, address, lane)) return found;
        return fail(Errc::address_out_of_bounds,
                    fmt::format("{} of {} bytes of {} memory at {:#x}", use == Use::read ? "read" : "write",
                                bytes, is_shared ? "shared" : "global", address));
    }

    bool complete(Space space, std::uint64_t mbarrier, std::uint32_t bytes) const {
        std::byte* const at = place(space, mbarrier, 8, 8, Use::write);
        if (at == nullptr ||
            !warp.checks().async().note_mbarrier(space, mbarrier, 1u << lane, AccessKind::atomic))
            return false;
        warp.checks().async().finish_async_at(space, mbarrier);
        const auto before = change_mbarrier(at, [&](Mbarrier& object) { return object.complete(bytes); });
        if (!before) return fail(before.error());
        warp.checks().async().finish_phase_at(space, mbarrier, *before, mbarrier_word(at));
        return true;
    }

    // Of a destination in .shared::cta.
    [[nodiscard]] bool is_own(const BulkCopy& what, std::uint64_t address) const {
        const std::uint64_t tag = address >> cluster_rank_shift;
        return !what.to_cta || tag == 0 || tag == warp.cta().rank() + std::uint64_t{1} ||
               fail(Errc::address_out_of_bounds,
                    fmt::format(
                        "{:#x} is in shared memory of another block, and the destination is .shared::cta",
                        address));
    }

    bool check_mask(std::uint64_t mask) const {
        if (mask != 0 && mask >> warp.cta().cluster().size() == 0) return true;
        return fail(Errc::tensor_copy_invalid,
                    mask == 0
                        ? std::string("the mask names no CTA")
                        : fmt::format("the mask {:#x} names CTAs that the cluster does not have", mask));
    }

    // Calls `f(offset in the address)` for the CTA that the address is in, or with a mask for all that it
    // names: the bytes, and the mbarrier that is told, are at the same places in each.
    template <class F>
    bool in_each(std::optional<std::uint64_t> mask, std::optional<std::uint64_t> mbarrier, F&& copy) const {
        AsyncChecks& checks = warp.checks().async();
        const auto f = [&](auto&& there) {
            if (mbarrier) checks.begin_part(Space::shared_cluster, there(*mbarrier));
            return copy(there);
        };
        if (mbarrier)
            checks.begin_copy(lane);
        else
            checks.begin_store(lane);
        if (!mask) return f([](std::uint64_t address) { return address; });
        if (!check_mask(*mask)) return false;
        return each_bit(static_cast<std::uint32_t>(*mask), [&](unsigned rank) {
            return f([rank](std::uint64_t address) {
                const std::uint64_t offset = offset_in_cta(address);
                return offset | (rank + std::uint64_t{1}) << cluster_rank_shift;
            });
        });
    }
};

const BulkCopy& copy_of(const Warp& warp, const Operation& operation) {
    return warp.program().bulk_copy_of(operation);
}

template <class Do> Flow for_each(Warp& warp, std::uint32_t mask, Do&& work) {
    return next_if(each_bit(mask, [&](unsigned lane) { return work(Lane{warp, lane}); }));
}

// ------------------------------------------------------------------------------------------------- bulk
// copies

void copy_masked(std::byte* to, const std::byte* from, std::size_t bytes, std::uint64_t mask) {
    for (std::size_t i = 0; i < bytes; ++i)
        if ((mask >> i % 16 & 1) != 0) to[i] = from[i];
}

// What nothing wrote of global memory is in shared memory what it was.
void copy_states(const Lane& lane, std::uint64_t to, std::uint64_t from, std::uint32_t bytes) {
    const std::uint8_t* const states = lane.warp.memory().written_bytes(Space::global, from, lane.lane);
    if (are_defined(states, bytes)) return;
    std::memcpy(lane.warp.memory().written_bytes(Space::shared_cluster, to, lane.lane), states, bytes);
    lane.warp.checks().memory().note_undefined_copy(to, from, lane.lane, bytes);
}

bool copy(const BulkCopy& what, const Ref* refs, const Lane& lane) {
    const auto size = static_cast<std::uint32_t>(lane.value(refs[2]));
    if (size % 16 != 0)
        return lane.fail(Errc::tensor_copy_invalid, fmt::format("the size {} is no multiple of 16", size));
    const Space to_space = what.to_global ? Space::global : Space::shared_cluster,
                from_space = what.from_global ? Space::global : Space::shared;
    if (!what.to_global && !lane.is_own(what, lane.value(refs[0]))) return false;
    const bool is_multicast = what.from_global && what.has_mask;
    const auto mask = lane.value_if(is_multicast, refs + 4),
               mbarrier = lane.value_if(!what.to_global, refs + 3);
    return lane.in_each(mask, mbarrier, [&](auto&& there) {
        std::byte* to = nullptr;
        const std::byte* from = nullptr;
        if (size != 0) {
            lane.warp.work().charge_bytes(size);
            to = lane.copied(to_space, there(lane.value(refs[0])), size, 16,
                             what.reduction ? AccessKind::reduction : AccessKind::write);
            if (to != nullptr)
                from = lane.copied(from_space, lane.value(refs[1]), size, 16, AccessKind::read,
                                   what.from_global ? Lane::Needs::any : Lane::Needs::defined);
            if (from == nullptr) return false;
            if (what.from_global) copy_states(lane, there(lane.value(refs[0])), lane.value(refs[1]), size);
        }
        if (what.reduction) {
            what.reduction->run(to, from, size);
        } else if (what.to_global && what.has_mask) {
            copy_masked(to, from, size, lane.value(refs[3]));
        } else if (size != 0) {
            std::memmove(to, from, size);
        }
        return !mbarrier || lane.complete(Space::shared_cluster, there(*mbarrier), size);
    });
}

// ------------------------------------------------------------------------------------------------- tensor
// copies

Expected<tensor::Tile> tile_of(const BulkCopy& what, const Ref* refs, const Lane& lane,
                               const tensor::MapFields& map) {
    std::array<std::int32_t, tensor::most_tensor_dims> coordinates = {};
    std::array<std::uint16_t, 3> offsets = {};
    for (unsigned i = 0; i < what.coordinates; ++i)
        coordinates[i] = static_cast<std::int32_t>(lane.value(refs[2 + i]));
    const Ref* const first = refs + 2 + what.coordinates + (what.from_global ? 1 : 0);
    for (unsigned i = 0; i < what.offsets; ++i) offsets[i] = static_cast<std::uint16_t>(lane.value(first[i]));
    if ((map.is_im2col != 0) != what.is_im2col)
        return ptxgraft::fail(Errc::tensor_copy_invalid, fmt::format("the tensor map is of the {} mode",
                                                                     map.is_im2col != 0 ? "im2col" : "tile"));
    return tensor::Tile::at(map, {coordinates.data(), what.coordinates}, {offsets.data(), what.offsets},
                            what.from_global ? tensor::Direction::load : tensor::Direction::store);
}

// The shared address of a box: 128-byte aligned (CUDA C++ Programming Guide, multi-dimensional tensor
// copies).
constexpr std::uint32_t box_alignment = 128;

// What a row stores must have been written; `written` are the states of the box in shared memory.
bool check_written(const tensor::Tile& tile, const tensor::Row& row, const std::byte* written,
                   std::uint32_t address, const Lane& lane) {
    if (written == nullptr || row.inside == 0) return true;
    tensor::RowBytes states;
    tensor::gather(tile, row, states, written, address);
    const auto end = states.begin() + row.inside * tensor::unit_of(tile.map().type).shared_bytes;
    const auto found =
        std::find_if(states.begin(), end, [](std::byte bits) { return bits != std::byte{all_bits}; });
    if (found == end) return true;
    return lane.warp.checks().report(
        {EmulatorCheck::unwritten, Errc::memory_not_written, lane.warp.pc()}, 1u << lane.lane, [&] {
            return fmt::format(
                "byte {} of a row of the box at {:#x} in shared memory, which goes to global memory at {:#x}",
                found - states.begin(), address, row.global);
        });
}

void load_row_states(const tensor::Tile& tile, const tensor::Row& row, std::uint64_t box,
                     std::uint32_t address, const Lane& lane) {
    const std::uint8_t* const states = lane.warp.memory().written_bytes(Space::global, row.global, lane.lane);
    if (are_defined(states, row.global_bytes)) return;
    auto* const shared =
        reinterpret_cast<std::byte*>(lane.warp.memory().written_bytes(Space::shared_cluster, box, lane.lane));
    tensor::load_states(tile, row, reinterpret_cast<const std::byte*>(states), shared, address);
    lane.warp.checks().memory().note_undefined_copy(box, row.global, lane.lane, tile.shared_extent());
}

// `box`: its place among the cluster's shared memory; `address`: in its CTA's.
bool copy_rows(tensor::Tile& tile, const BulkCopy& what, std::byte* shared, std::uint64_t box,
               std::uint32_t address, const Lane& lane) {
    std::optional<tensor::Reduction> reduction;
    if (what.reduce) {
        const auto found = tensor::Reduction::of(*what.reduce, tile.map().type);
        if (!found) return lane.fail(found.error());
        reduction = *found;
    }
    const auto* const written = what.from_global
                                    ? nullptr
                                    : reinterpret_cast<const std::byte*>(lane.warp.memory().written_bytes(
                                          Space::shared, address, lane.lane));
    for (tensor::Row row; tile.next(row);) {
        if (!check_written(tile, row, written, address, lane)) return false;
        std::byte* global = nullptr;
        if (row.global_bytes != 0) {
            const AccessKind kind = what.from_global ? AccessKind::read
                                    : reduction      ? AccessKind::reduction
                                                     : AccessKind::write;
            global = lane.copied(Space::global, row.global, row.global_bytes, 1, kind,
                                 what.from_global ? Lane::Needs::any : Lane::Needs::defined);
            if (global == nullptr) return false;
        }
        if (what.from_global && global != nullptr) load_row_states(tile, row, box, address, lane);
        if (what.from_global)
            tensor::load_row(tile, row, global, shared, address);
        else if (reduction)
            tensor::reduce_row(tile, row, *reduction, global, shared, address);
        else
            tensor::store_row(tile, row, global, shared, address);
    }
    return true;
}

bool copy_tensor(const BulkCopy& what, const Ref* refs, const Lane& lane) {
    const std::byte* const map_bytes =
        lane.warp.memory().find(Space::generic, lane.value(refs[0]), lane.lane, sizeof(TensorMap), Use::read);
    if (map_bytes == nullptr)
        return lane.fail(Errc::address_out_of_bounds,
                         fmt::format("read of a tensor map at {:#x}", lane.value(refs[0])));
    if (lane.value(refs[0]) % 64 != 0)
        return lane.fail(
            Errc::address_misaligned,
            fmt::format("a tensor map at {:#x}, which is no multiple of 64", lane.value(refs[0])));
    if (!lane.reads_map(lane.value(refs[0]))) return false;
    const auto map = tensor::decode(map_bytes);
    if (!map) return lane.fail(map.error());
    auto tile = tile_of(what, refs, lane, *map);
    if (!tile) return lane.fail(tile.error());
    if (what.from_global && !lane.is_own(what, lane.value(refs[1]))) return false;
    const auto mask = lane.value_if(what.has_mask, refs + 3u + what.coordinates + what.offsets),
               mbarrier = lane.value_if(what.from_global, refs + 2 + what.coordinates);
    return lane.in_each(mask, mbarrier, [&](auto&& there) {
        const std::uint64_t address = there(lane.value(refs[1]));
        std::byte* const shared = what.from_global
                                      ? lane.copied(Space::shared_cluster, address, tile->shared_extent(),
                                                    box_alignment, AccessKind::write)
                                      : lane.copied(Space::shared, address, tile->shared_extent(),
                                                    box_alignment, AccessKind::read, Lane::Needs::any);
        if (shared == nullptr) return false;
        lane.warp.work().charge_bytes(tile->bytes());
        tensor::Tile rows = *tile;
        const std::uint64_t place = offset_in_cta(address);
        if (!copy_rows(rows, what, shared, address, static_cast<std::uint32_t>(place), lane)) return false;
        return !mbarrier || lane.complete(Space::shared_cluster, there(*mbarrier), tile->bytes());
    });
}

// A whole warp may issue one store, as CUTLASS's epilogues do: of the lanes that write the same to the same
// place, the first.
std::uint32_t different_stores(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const Ref* const refs = warp.operands(operation);
    const auto is_same = [&](unsigned a, unsigned b) {
        return std::all_of(refs, refs + operation.inputs,
                           [&](Ref ref) { return warp.value(ref, a) == warp.value(ref, b); });
    };
    std::uint32_t different = 0;
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const auto lane = first_lane(rest);
        std::uint32_t others = different;
        while (others != 0 && !is_same(lane, first_lane(others))) others &= others - 1;
        if (others == 0) different |= 1u << lane;
    }
    return different;
}

}  // namespace

Flow execute_bulk_copy(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const BulkCopy& what = copy_of(warp, operation);
    const Ref* const refs = warp.operands(operation);
    if (what.to_global && !what.reduction && !what.reduce) mask = different_stores(warp, operation, mask);
    return for_each(warp, mask, [&](const Lane& lane) -> bool {
        return what.coordinates != 0 ? copy_tensor(what, refs, lane) : copy(what, refs, lane);
    });
}

Flow execute_bulk_prefetch(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const Ref* const refs = warp.operands(operation);
    return for_each(warp, mask, [&](const Lane& lane) -> bool {
        const std::uint64_t address = lane.value(refs[0]), size = lane.value(refs[1]);
        if (address % 16 != 0)
            return lane.fail(Errc::address_misaligned,
                             fmt::format("{:#x} in global memory is no multiple of 16", address));
        return size % 16 == 0 ||
               lane.fail(Errc::copy_size_invalid, fmt::format("{}, which is no multiple of 16", size));
    });
}

Flow execute_bulk_commit(Warp& warp, const Operation&, std::uint32_t mask) {
    warp.checks().async().commit_bulk_groups(mask);
    return Flow::next;
}

Flow execute_bulk_wait(Warp& warp, const Operation& operation, std::uint32_t mask) {
    warp.checks().async().wait_bulk_groups(mask, BulkWait::of(operation.extra));
    return Flow::next;
}

Flow execute_proxy_fence(Warp& warp, const Operation& operation, std::uint32_t mask) {
    warp.checks().async().fence_proxy(mask, ProxyFence::of(operation.extra));
    return Flow::next;
}

Flow execute_async_store(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const AsyncStore& what = warp.program().async_store_of(operation);
    const Ref* const refs = warp.operands(operation);
    const Space space = what.is_generic ? Space::generic : Space::shared_cluster;
    const auto bytes = static_cast<std::uint32_t>(what.bytes * what.count);
    return for_each(warp, mask, [&](const Lane& lane) -> bool {
        if (!lane.is_shared(space, lane.value(refs[0])) || !lane.is_shared(space, lane.value(refs[1])))
            return false;
        warp.checks().async().begin_copy(lane.lane, Proxy::generic);
        warp.checks().async().begin_part(space, lane.value(refs[1]));
        std::byte* const to = lane.copied(space, lane.value(refs[0]), bytes, bytes,
                                          what.reduction ? AccessKind::reduction : AccessKind::write);
        if (to == nullptr) return false;
        for (unsigned i = 0; i < what.count; ++i) {
            const std::uint64_t value = lane.value(refs[2 + i]);
            if (what.reduction)
                what.reduction->run(to, reinterpret_cast<const std::byte*>(&value), what.bytes);
            else
                std::memcpy(to + i * what.bytes, &value, what.bytes);
        }
        return lane.complete(space, lane.value(refs[1]), bytes);
    });
}

// ------------------------------------------------------------------------------------------------- tensormap

Flow execute_tensormap_replace(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const TensorMapReplace& what = warp.program().tensormap_replace_of(operation);
    const Ref* const refs = warp.operands(operation);
    const Space space = what.is_shared ? Space::shared : what.is_global ? Space::global : Space::generic;
    return for_each(warp, mask, [&](const Lane& lane) -> bool {
        std::byte* const map = lane.range(space, lane.value(refs[0]), sizeof(TensorMap), 64, Use::write);
        if (map == nullptr) return false;
        warp.checks().async().change_tensor_map(space, lane.value(refs[0]), lane.lane);
        const auto done = tensor::replace(map, what.field, what.ordinal, lane.value(refs[1]));
        return done ? true : lane.fail(done.error());
    });
}

// .sync.aligned: the lanes of a warp copy one map together. Then comes its fence.
Flow execute_tensormap_copy(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const Ref* const refs = warp.operands(operation);
    const Flow copied = for_each(warp, mask & (0 - mask), [&](const Lane& lane) {
        std::byte* const to =
            lane.range(Space::global, lane.value(refs[0]), sizeof(TensorMap), 64, Use::write);
        const std::byte* const from =
            to == nullptr ? nullptr
                          : lane.range(Space::shared, lane.value(refs[1]), sizeof(TensorMap), 64, Use::read);
        if (from == nullptr) return false;
        std::memcpy(to, from, sizeof(TensorMap));
        warp.checks().async().change_tensor_map(Space::global, lane.value(refs[0]), lane.lane);
        return true;
    });
    warp.checks().races().fence(Fence::of(operation.extra), mask);
    return copied;
}

Flow execute_tensormap_fence(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const Ref* const refs = warp.operands(operation);
    warp.checks().races().fence(Fence::of(operation.extra), mask);
    return for_each(warp, mask, [&](const Lane& lane) {
        warp.checks().async().fence_tensor_map(lane.value(refs[0]), lane.lane);
        return true;
    });
}

}  // namespace ptxgraft::emulator
