// The values of the special registers (PTX ISA, chapter 10).
#include "emulator/machine/special.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "emulator/machine/cluster.hpp"
#include "emulator/machine/warp.hpp"

namespace ptxgraft::emulator {
namespace {

using Reader = SpecialReader;
using Scope = SpecialScope;

constexpr std::uint32_t multiprocessors = 132;
constexpr std::uint32_t most_warps = 64;                               // of a multiprocessor
constexpr std::uint64_t timer_begin = std::uint64_t{1} << 60;          // %globaltimer when a warp begins
constexpr std::uint64_t cuda_barriers_offset = cuda_shared_bytes / 2;  // those of groups of several warps

std::uint64_t component(const Dim3& extents, unsigned index) {
    const std::uint32_t all[] = {extents.x, extents.y, extents.z, 0};
    return all[index];
}

std::uint64_t tid(const Reader& reader, unsigned index) {
    const Dim3& block = reader.launch.shape.block;
    switch (index) {
        case 0: return reader.thread % block.x;
        case 1: return reader.thread / block.x % block.y;
        case 2: return reader.thread / block.x / block.y;
        default: return 0;
    }
}

std::uint32_t lane_bit(const Reader& reader) { return 1u << reader.thread % lane_count; }

std::uint64_t nclusterid(const Reader& reader, unsigned index) {
    const Dim3 &grid = reader.launch.shape.grid, &cluster = reader.launch.shape.cluster;
    return component({grid.x / cluster.x, grid.y / cluster.y, grid.z / cluster.z}, index);
}

std::uint64_t cluster_ctaid(const Reader& reader, unsigned index) {
    const Dim3& cluster = reader.launch.shape.cluster;
    const std::uint32_t rank = reader.cta.rank();
    return component({rank % cluster.x, rank / cluster.x % cluster.y, rank / cluster.x / cluster.y}, index);
}

// CUDA sets %envreg1 and %envreg2: the address of the barrier of a cooperative grid, its upper half first.
std::uint64_t envreg(const Reader& reader, unsigned number) {
    const std::uint64_t address = reader.launch.grid_workspace;
    return number == 1 ? address >> 32 : number == 2 ? address : 0;
}

std::uint64_t shared_size(const Reader& reader, unsigned) { return reader.launch.reserved_shared; }
std::uint64_t reserved_end(const Reader& reader, unsigned) {
    return reader.launch.reserved_shared + std::uint64_t{cuda_shared_bytes};
}

// A tick of the clock is a warp instruction that was issued, so that runs are repeatable.
std::uint64_t clock(const Reader& reader, unsigned) { return reader.clock; }
std::uint64_t clock_hi(const Reader& reader, unsigned) { return reader.clock >> 32; }
std::uint64_t globaltimer(const Reader& reader, unsigned) { return timer_begin + reader.clock; }
std::uint64_t globaltimer_hi(const Reader& reader, unsigned) { return (timer_begin + reader.clock) >> 32; }

// Counters that nobody has started, and the graph that a launch is part of.
std::uint64_t zero(const Reader&, unsigned) { return 0; }

// Values are cut to the width of the register's type.
constexpr SpecialRegister rows[] = {
    {"%tid", Scope::lane, tid},
    {"%ntid", Scope::grid, [](const Reader& r, unsigned i) { return component(r.launch.shape.block, i); }},
    {"%laneid", Scope::lane,
     [](const Reader& r, unsigned) -> std::uint64_t { return r.thread % lane_count; }},
    {"%warpid", Scope::warp, [](const Reader& r, unsigned) -> std::uint64_t { return r.warp; }},
    {"%nwarpid", Scope::grid, [](const Reader&, unsigned) -> std::uint64_t { return most_warps; }},
    {"%ctaid", Scope::cta, [](const Reader& r, unsigned i) { return component(r.cta.position(), i); }},
    {"%nctaid", Scope::grid, [](const Reader& r, unsigned i) { return component(r.launch.shape.grid, i); }},
    {"%smid", Scope::cta, [](const Reader& r, unsigned) { return r.cta.index() % multiprocessors; }},
    {"%nsmid", Scope::grid, [](const Reader&, unsigned) -> std::uint64_t { return multiprocessors; }},
    {"%gridid", Scope::grid, zero},
    {"%is_explicit_cluster", Scope::grid,
     [](const Reader& r, unsigned) -> std::uint64_t { return r.cta.cluster().size() > 1; }},
    {"%clusterid", Scope::cluster,
     [](const Reader& r, unsigned i) { return component(r.cta.cluster().position(), i); }},
    {"%nclusterid", Scope::grid, nclusterid},
    {"%cluster_ctaid", Scope::cta, cluster_ctaid},
    {"%cluster_nctaid", Scope::grid,
     [](const Reader& r, unsigned i) { return component(r.launch.shape.cluster, i); }},
    {"%cluster_ctarank", Scope::cta, [](const Reader& r, unsigned) -> std::uint64_t { return r.cta.rank(); }},
    {"%cluster_nctarank", Scope::grid,
     [](const Reader& r, unsigned) -> std::uint64_t { return r.cta.cluster().size(); }},
    {"%lanemask_eq", Scope::lane, [](const Reader& r, unsigned) -> std::uint64_t { return lane_bit(r); }},
    {"%lanemask_le", Scope::lane,
     [](const Reader& r, unsigned) -> std::uint64_t { return lane_bit(r) | (lane_bit(r) - 1); }},
    {"%lanemask_lt", Scope::lane, [](const Reader& r, unsigned) -> std::uint64_t { return lane_bit(r) - 1; }},
    {"%lanemask_ge", Scope::lane,
     [](const Reader& r, unsigned) -> std::uint64_t { return ~(lane_bit(r) - 1); }},
    {"%lanemask_gt", Scope::lane,
     [](const Reader& r, unsigned) -> std::uint64_t { return ~(lane_bit(r) | (lane_bit(r) - 1)); }},
    {"%clock", Scope::clock, clock},
    {"%clock_hi", Scope::clock, clock_hi},
    {"%clock64", Scope::clock, clock},
    {"%pm", Scope::grid, zero},
    {"%pm4", Scope::grid, zero},
    {"%pm5", Scope::grid, zero},
    {"%pm6", Scope::grid, zero},
    {"%pm7", Scope::grid, zero},
    {"%pm0_64", Scope::grid, zero},
    {"%pm1_64", Scope::grid, zero},
    {"%pm2_64", Scope::grid, zero},
    {"%pm3_64", Scope::grid, zero},
    {"%pm4_64", Scope::grid, zero},
    {"%pm5_64", Scope::grid, zero},
    {"%pm6_64", Scope::grid, zero},
    {"%pm7_64", Scope::grid, zero},
    {"%envreg", Scope::grid, envreg},
    {"%globaltimer", Scope::clock, globaltimer},
    {"%globaltimer_lo", Scope::clock, globaltimer},
    {"%globaltimer_hi", Scope::clock, globaltimer_hi},
    {"%reserved_smem_offset_begin", Scope::grid, shared_size, true},
    {"%reserved_smem_offset_end", Scope::grid, reserved_end, true},
    {"%reserved_smem_offset_cap", Scope::grid,
     [](const Reader&, unsigned) -> std::uint64_t { return cuda_shared_bytes; }, true},
    {"%reserved_smem_offset_", Scope::grid,
     [](const Reader& r, unsigned i) { return r.launch.reserved_shared + i * cuda_barriers_offset; }, true},
    {"%total_smem_size", Scope::grid, shared_size},
    {"%aggr_smem_size", Scope::grid, reserved_end},
    {"%dynamic_smem_size", Scope::grid,
     [](const Reader& r, unsigned) -> std::uint64_t { return r.launch.shape.shared_bytes; }},
    {"%current_graph_exec", Scope::grid, zero},
};

}  // namespace

const SpecialRegister dynamic_shared_address = {
    "", Scope::grid, [](const Reader& r, unsigned) -> std::uint64_t { return r.launch.dynamic_shared; }};

std::span<const SpecialRegister> special_registers() { return rows; }

const SpecialRegister* find_special_register(std::string_view name) {
    const auto* const row = std::ranges::find(rows, name, &SpecialRegister::name);
    return row == std::end(rows) ? nullptr : row;
}

namespace {

using LaneValues = std::array<std::uint64_t, lane_count>;

template <class T> void store(std::byte* to, const LaneValues& values) {
    for (const std::uint64_t value : values) {
        const auto narrow = static_cast<T>(value);
        std::memcpy(to, &narrow, sizeof narrow);
        to += sizeof narrow;
    }
}

// Special registers have 4 or 8 bytes, and predicates 1.
void store(std::byte* to, std::uint32_t bytes, const LaneValues& values) {
    if (bytes == 4) return store<std::uint32_t>(to, values);
    if (bytes == 8) return store<std::uint64_t>(to, values);
    store<std::uint8_t>(to, values);
}

}  // namespace

void Warp::fill_special(const SpecialColumn& column) {
    const auto [row, index] = column.special;
    SpecialReader reader{*launch_, *cta_, index_, index_ * lane_count, work_.issued()};
    LaneValues values;
    values.fill(row->value(reader, index));
    if (row->scope == Scope::lane)
        for (std::uint64_t& value : values) {
            value = row->value(reader, index);
            ++reader.thread;
        }
    store(this->column(column.ref), width(column.ref), values);
}

// A Warp object runs warps of one CTA after the other: what all these have in common stays.
void Warp::fill_specials() {
    const auto is_of_one_cta = [](Scope scope) { return scope == Scope::cta || scope == Scope::cluster; };
    for (const SpecialColumn& column : program_->specials)
        if (!has_specials_ || is_of_one_cta(column.special.row->scope)) fill_special(column);
    has_specials_ = true;
}

void Warp::refresh_clock() {
    for (const SpecialColumn& column : program_->specials)
        if (column.special.row->scope == Scope::clock) fill_special(column);
}

}  // namespace ptxgraft::emulator
