// What a launch must keep to on every device: its shape, its arguments.
#include "launch/rules.hpp"
#include "base/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ptxgraft::launch {
namespace {

bool is_same(const Dim3& a, const Dim3& b) { return a.x == b.x && a.y == b.y && a.z == b.z; }
bool is_one(const Dim3& shape) { return is_same(shape, {1, 1, 1}); }
bool is_empty(const Dim3& shape) { return shape.x == 0 || shape.y == 0 || shape.z == 0; }
std::string text(const Dim3& shape) { return fmt::format("{} x {} x {}", shape.x, shape.y, shape.z); }

// The product of the extents, none of which is above `most`; above it: `most` and one.
std::uint64_t count(const Dim3& shape, std::uint32_t most) {
    if (std::max({shape.x, shape.y, shape.z}) > most) return std::uint64_t{most} + 1;
    return std::min(std::uint64_t{shape.x} * shape.y * shape.z, std::uint64_t{most} + 1);
}

tl::unexpected<Error> refuse(std::string why) { return fail(Errc::launch_shape_invalid, std::move(why)); }

Expected<void> check_extents(const LaunchConfig& config) {
    const Dim3& block = config.block;
    for (const auto& [name, shape] :
         {std::pair{"grid", &config.grid}, std::pair{"block", &block}, std::pair{"cluster", &config.cluster}})
        if (is_empty(*shape)) return refuse(fmt::format("{} of {} is empty", name, text(*shape)));
    if (block.x > 1024 || block.y > 1024 || block.z > 64)
        return refuse(fmt::format("block of {}; at most 1024 x 1024 x 64", text(block)));
    return {};
}

// PTX ISA 11.4: .reqntid and .maxntid.
Expected<void> check_block(const EntryInfo& entry, const Dim3& block, std::uint32_t most) {
    const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
    if (threads > most)
        return refuse(fmt::format("block of {} threads; this kernel runs with at most {}", threads, most));
    if (entry.required_block && !is_same(block, *entry.required_block))
        return refuse(
            fmt::format("block of {}; {} requires {}", text(block), entry.name, text(*entry.required_block)));
    if (entry.max_threads && threads > *entry.max_threads)
        return refuse(
            fmt::format("block of {} threads; {} allows {}", threads, entry.name, *entry.max_threads));
    return {};
}

Expected<void> check_shared(std::uint32_t dynamic_bytes, const EntryLimits& limits) {
    if (std::uint64_t{limits.static_shared_bytes} + dynamic_bytes <= limits.shared_bytes) return {};
    if (dynamic_bytes == 0)
        return refuse(fmt::format("{} bytes of static shared memory; a block can have at most {}",
                                  limits.static_shared_bytes, limits.shared_bytes));
    return refuse(
        fmt::format("{} bytes of dynamic shared memory; this kernel can have at most {}", dynamic_bytes,
                    limits.shared_bytes - std::min(limits.static_shared_bytes, limits.shared_bytes)));
}

// PTX ISA 11.7: what an entry says of clusters. `cluster` is the entry's own where the launch names none.
Expected<void> check_cluster(const EntryInfo& entry, const Dim3& cluster, std::uint32_t most) {
    const auto& required = entry.required_cluster;
    // An assembler takes such a directive (PTX ISA 11.7.1 does not say what it means).
    if (required && is_empty(*required))
        return refuse(fmt::format("{} requires a cluster of {}, which is empty: no launch can have it",
                                  entry.name, text(*required)));
    if (required && !is_same(cluster, *required))
        return refuse(
            fmt::format("cluster of {}; {} requires {}", text(cluster), entry.name, text(*required)));
    // What .reqnctapercluster says is said explicitly (PTX ISA 11.7.2), also of one block.
    if (is_one(cluster) && entry.is_explicit_cluster && !required)
        return refuse(fmt::format("{} wants a cluster: it is .explicitcluster", entry.name));
    if (is_one(cluster)) return {};
    if (most == 1) return refuse(fmt::format("cluster of {}; clusters need sm_90", text(cluster)));
    const std::uint64_t blocks = count(cluster, most);
    if (blocks > most) return refuse(fmt::format("cluster of {}; at most {} blocks", text(cluster), most));
    if (entry.max_cluster_blocks && blocks > *entry.max_cluster_blocks)
        return refuse(
            fmt::format("cluster of {} blocks; {} allows {}", blocks, entry.name, *entry.max_cluster_blocks));
    return {};
}

// The grid is in blocks.
Expected<void> check_grid(const Dim3& grid, const Dim3& cluster) {
    if (grid.x > 2147483647 || grid.y > 65535 || grid.z > 65535)
        return refuse(fmt::format("grid of {}; at most 2147483647 x 65535 x 65535", text(grid)));
    if (grid.x % cluster.x == 0 && grid.y % cluster.y == 0 && grid.z % cluster.z == 0) return {};
    return refuse(
        fmt::format("grid of {}; it is a multiple of the cluster of {}", text(grid), text(cluster)));
}

}  // namespace

Expected<Dim3> check_shape(const EntryInfo& entry, const LaunchConfig& config, const EntryLimits& limits) {
    TRY(check_extents(config));
    TRY(check_block(entry, config.block, limits.threads_per_block));
    TRY(check_shared(config.shared_bytes, limits));
    const Dim3 cluster =
        is_one(config.cluster) && entry.required_cluster ? *entry.required_cluster : config.cluster;
    TRY(check_cluster(entry, cluster, limits.blocks_per_cluster));
    TRY(check_grid(grid_in_blocks(entry, config.grid, cluster), cluster));
    return cluster;
}

Dim3 grid_in_blocks(const EntryInfo& entry, const Dim3& grid, const Dim3& cluster) {
    if (!entry.blocks_are_clusters) return grid;
    const auto times = [](std::uint32_t a, std::uint32_t b) {
        return static_cast<std::uint32_t>(std::min<std::uint64_t>(std::uint64_t{a} * b, UINT32_MAX));
    };
    return {times(grid.x, cluster.x), times(grid.y, cluster.y), times(grid.z, cluster.z)};
}

tl::unexpected<Error> argument_count_differs(const EntryInfo& entry, std::size_t count) {
    std::string list;
    for (const ParameterInfo& p : entry.parameters)
        list += fmt::format("{}{} {}", list.empty() ? "" : ", ", p.type, p.name);
    return fail(Errc::argument_count_wrong,
                fmt::format("{}({}) takes {}, got {}", entry.name, list, entry.parameters.size(), count));
}

tl::unexpected<Error> argument_size_differs(const EntryInfo& entry, std::size_t index, std::size_t bytes) {
    const ParameterInfo& parameter = entry.parameters[index];
    auto error = fail(Errc::argument_size_wrong,
                      fmt::format("argument {} of {} has {} bytes, its parameter {} {} has {}", index,
                                  entry.name, bytes, parameter.type, parameter.name, parameter.bytes));
    error.value().index = static_cast<std::uint32_t>(index);
    return error;
}

}  // namespace ptxgraft::launch
