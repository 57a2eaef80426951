#pragma once
/// @file operations.hpp
/// What the operations other than pure instructions do. Decoding picks from here.

#include <optional>
#include <span>
#include <string_view>

#include "emulator/machine/program.hpp"

namespace ptxgraft::emulator {

// --- memory: `extra` is an index into Program::accesses

/// ld of elements of 1, 2, 4, 8 or 16 bytes into registers of that width; and st.
[[nodiscard]] Execute load_operation(std::uint32_t bytes);
[[nodiscard]] Execute store_operation(std::uint32_t bytes);
/// A load that reads no more than the bytes of Access::used; what else the registers get is not defined.
[[nodiscard]] Execute partial_load_operation(std::uint32_t bytes);
/// Copies as cp.async: the access is the shared destination; the last two inputs are the source's address and
/// the number of bytes to read.
Flow execute_copy(Warp& warp, const Operation& operation, std::uint32_t mask);
/// extra: of Program::bulk_copies
Flow execute_bulk_copy(Warp& warp, const Operation& operation, std::uint32_t mask);
Flow execute_bulk_prefetch(Warp& warp, const Operation& operation, std::uint32_t mask);  ///< address, size
/// cp.async.bulk.commit_group
Flow execute_bulk_commit(Warp& warp, const Operation& operation, std::uint32_t mask);
/// cp.async.bulk.wait_group; extra: twice the number of groups that may be pending, and 1 with .read
Flow execute_bulk_wait(Warp& warp, const Operation& operation, std::uint32_t mask);
/// cp.async.commit_group
Flow execute_copy_commit(Warp& warp, const Operation& operation, std::uint32_t mask);
/// cp.async.wait_group; extra: the groups that may be pending
Flow execute_copy_wait(Warp& warp, const Operation& operation, std::uint32_t mask);
Flow execute_copy_wait_all(Warp& warp, const Operation& operation, std::uint32_t mask);
/// fence, membar; extra: Fence::bits()
Flow execute_fence(Warp& warp, const Operation& operation, std::uint32_t mask);
Flow execute_proxy_fence(Warp& warp, const Operation& operation, std::uint32_t mask);  ///< fence.proxy.async
/// extra: of Program::async_stores
Flow execute_async_store(Warp& warp, const Operation& operation, std::uint32_t mask);
Flow execute_tensormap_replace(Warp& warp, const Operation& operation,
                               std::uint32_t mask);  ///< extra: of Program::tensormap_replaces
/// destination, source
Flow execute_tensormap_copy(Warp& warp, const Operation& operation, std::uint32_t mask);
/// fence.proxy.tensormap::generic.acquire: the map
Flow execute_tensormap_fence(Warp& warp, const Operation& operation, std::uint32_t mask);
/// Gives up what stands at an address.
Flow execute_discard(Warp& warp, const Operation& operation, std::uint32_t mask);
inline constexpr std::uint32_t discarded_bytes = 128;
/// Checks nothing and moves nothing: prefetch …
Flow execute_nothing(Warp& warp, const Operation& operation, std::uint32_t mask);

/// atom and red of `.op.type`: the output, if any, is the destination; one or two inputs follow the address.
/// Null when there is none.
[[nodiscard]] Execute atomic_operation(std::string_view op, std::string_view type);
[[nodiscard]] std::vector<Execute> atomic_operations();  ///< all of them
[[nodiscard]] bool is_compare_and_swap(Execute execute);

// --- values that the frame or the warp knows

Flow execute_local_address(Warp& warp, const Operation& operation,
                           std::uint32_t mask);  ///< d = frame + extra
Flow execute_isspacep(Warp& warp, const Operation& operation,
                      std::uint32_t mask);  ///< p, a; extra is the Space
Flow execute_activemask(Warp& warp, const Operation& operation, std::uint32_t mask);
Flow execute_refresh_clock(Warp& warp, const Operation& operation, std::uint32_t mask);
Flow execute_alloca(Warp& warp, const Operation& operation,
                    std::uint32_t mask);  ///< d, bytes; extra is the alignment
Flow execute_stacksave(Warp& warp, const Operation& operation, std::uint32_t mask);
Flow execute_stackrestore(Warp& warp, const Operation& operation, std::uint32_t mask);
/// mov with a vector of 2 or 4 parts: into one register, from one, or from part to part. Null when there is
/// none.
[[nodiscard]] ColumnFunction pack_function(std::uint32_t part_bytes, std::uint32_t parts);
[[nodiscard]] ColumnFunction unpack_function(std::uint32_t part_bytes, std::uint32_t parts);
[[nodiscard]] ColumnFunction copy_function(std::uint32_t part_bytes, std::uint32_t parts);

// --- control

Flow execute_branch(Warp& warp, const Operation& operation, std::uint32_t mask);        ///< extra: the target
Flow execute_branch_index(Warp& warp, const Operation& operation, std::uint32_t mask);  ///< extra: the table
Flow execute_call(Warp& warp, const Operation& operation, std::uint32_t mask);  ///< extra: of Program::calls
Flow execute_return(Warp& warp, const Operation& operation, std::uint32_t mask);
Flow execute_exit(Warp& warp, const Operation& operation, std::uint32_t mask);
Flow execute_trap(Warp& warp, const Operation& operation, std::uint32_t mask);
Flow execute_failure(Warp& warp, const Operation& operation,
                     std::uint32_t mask);  ///< extra: of Program::failures
Flow execute_yield(Warp& warp, const Operation& operation, std::uint32_t mask);  ///< nanosleep
Flow execute_barrier(Warp& warp, const Operation& operation,
                     std::uint32_t mask);  ///< extra: of Program::barriers
/// extra 1: .relaxed
Flow execute_cluster_arrive(Warp& warp, const Operation& operation, std::uint32_t mask);
/// extra: of Program::barriers
Flow execute_cluster_wait(Warp& warp, const Operation& operation, std::uint32_t mask);
/// d, a, rank; extra 1: generic addresses
Flow execute_mapa(Warp& warp, const Operation& operation, std::uint32_t mask);
/// d, a; extra 1: a generic address
Flow execute_getctarank(Warp& warp, const Operation& operation, std::uint32_t mask);
Flow execute_collective(Warp& warp, const Operation& operation,
                        std::uint32_t mask);  ///< extra: of Program::collectives

/// Functions that every program may call without defining them: vprintf, __assertfail, malloc, free. Null:
/// unknown.
[[nodiscard]] Builtin find_builtin(std::string_view name);

// --- tensor cores: `extra` is an index into Program::matrices. All but the first want the whole warp.

/// Lets the lanes of a warp that is split come together; `extra` is of Program::collectives.
Flow execute_gathering(Warp& warp, const Operation& operation, std::uint32_t mask);
/// d… <- a… b… c…, metadata
Flow execute_mma(Warp& warp, const Operation& operation, std::uint32_t mask);
/// d… <- address, stride
Flow execute_wmma_load(Warp& warp, const Operation& operation, std::uint32_t mask);
/// address, stride, b…
Flow execute_wmma_store(Warp& warp, const Operation& operation, std::uint32_t mask);
Flow execute_ldmatrix(Warp& warp, const Operation& operation, std::uint32_t mask);       ///< d… <- address
Flow execute_stmatrix(Warp& warp, const Operation& operation, std::uint32_t mask);       ///< address, b…
Flow execute_movmatrix(Warp& warp, const Operation& operation, std::uint32_t mask);      ///< d <- a
Flow execute_set_registers(Warp& warp, const Operation& operation, std::uint32_t mask);  ///< setmaxnreg
Flow execute_wgmma_fence(Warp& warp, const Operation& operation, std::uint32_t mask);
Flow execute_wgmma_commit(Warp& warp, const Operation& operation, std::uint32_t mask);
/// extra: the groups that may be pending
Flow execute_wgmma_wait(Warp& warp, const Operation& operation, std::uint32_t mask);
/// d… <- a, four registers or a descriptor; b's descriptor, metadata, scale-d. At once, where the program
/// says so.
Flow execute_wgmma(Warp& warp, const Operation& operation, std::uint32_t mask);

// --- collectives

[[nodiscard]] Collective shuffle_collective(std::string_view mode);  ///< `.up`; d, p <- a, b, c
[[nodiscard]] Collective vote_collective(
    std::string_view mode);  ///< `.all`; extra 1: the predicate is negated
[[nodiscard]] Collective match_collective(std::string_view mode, std::string_view type);  ///< `.any`, `.b32`
[[nodiscard]] Collective reduce_collective(std::string_view op, std::string_view type);
[[nodiscard]] Collective elect_collective();
[[nodiscard]] Collective sync_collective();

}  // namespace ptxgraft::emulator
