#pragma once
/// @file rules.hpp
/// The rules of a launch, which are those of CUDA and of the entry's performance directives, and their
/// errors: one set for GPUs and the emulator.

#include <cstddef>
#include <cstdint>

#include "launch/module_info.hpp"

namespace ptxgraft::launch {

/// The most that one launch of a loaded entry may ask for. The bounds of grid and block alone are the same on
/// every architecture (CUDA C++ Programming Guide, table of technical specifications).
struct EntryLimits {
    std::uint32_t threads_per_block = 1024;
    std::uint32_t static_shared_bytes = 0;  ///< that the entry has, counted in `shared_bytes`
    std::uint32_t shared_bytes = 48 * 1024;
    std::uint32_t blocks_per_cluster = 1;  ///< 1: the device has no clusters
};

/// The cluster of a launch that keeps the rules: the configuration's, or, where that names none, the one that
/// the entry requires. Errors: Errc::launch_shape_invalid says which rule is broken.
[[nodiscard]] Expected<Dim3> check_shape(const EntryInfo& entry, const LaunchConfig& config,
                                         const EntryLimits& limits);

/// The grid of a launch in blocks: that of an entry that is `.blocksareclusters` is in clusters (PTX ISA
/// 11.8.1).
[[nodiscard]] Dim3 grid_in_blocks(const EntryInfo& entry, const Dim3& grid, const Dim3& cluster);

[[nodiscard]] tl::unexpected<Error> argument_count_differs(const EntryInfo& entry, std::size_t count);
[[nodiscard]] tl::unexpected<Error> argument_size_differs(const EntryInfo& entry, std::size_t index,
                                                          std::size_t bytes);

/// One argument per parameter, each of its size; `bytes_of(argument)` says an argument's. Errors:
/// Errc::argument_count_wrong, Errc::argument_size_wrong with the argument's index.
template <class Arguments, class BytesOf>
[[nodiscard]] Expected<void> check_arguments(const EntryInfo& entry, const Arguments& arguments,
                                             BytesOf bytes_of) {
    if (arguments.size() != entry.parameters.size()) return argument_count_differs(entry, arguments.size());
    for (std::size_t i = 0; i < arguments.size(); ++i)
        if (const std::size_t bytes = bytes_of(arguments[i]); bytes != entry.parameters[i].bytes)
            return argument_size_differs(entry, i, bytes);
    return {};
}

}  // namespace ptxgraft::launch
