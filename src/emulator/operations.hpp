#pragma once
/// @file operations.hpp
/// What the operations other than pure instructions do. Decoding picks from here.

#include <optional>
#include <span>
#include <string_view>

#include "emulator/program.hpp"

namespace ptxgraft::emulator {

// --- memory: `extra` is an index into Program::accesses

/// ld of elements of 1, 2, 4 or 8 bytes, extended by sign or by zeros.
[[nodiscard]] Execute load_operation(std::uint32_t bytes, bool is_signed);
[[nodiscard]] Execute store_operation(std::uint32_t bytes);
/// Copies as cp.async: elements[0] is the source address, elements[1] (or no_ref) the number of bytes to
/// read; the access itself is the shared destination, `count` times `bytes` bytes wide.
Flow execute_copy(Warp& warp, const Operation& operation, std::uint32_t mask);
/// Checks nothing and moves nothing: prefetch, fence …
Flow execute_nothing(Warp& warp, const Operation& operation, std::uint32_t mask);

/// atom and red of `.op.type`: operands are the destination (or no_ref) and one or two inputs. Null when
/// there is none.
[[nodiscard]] Execute atomic_operation(std::string_view op, std::string_view type);

// --- values that the frame or the warp knows

Flow execute_add_constant(Warp& warp, const Operation& operation,
                          std::uint32_t mask);  ///< d, a, c: d = a + c (64 bits)
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
/// mov with a vector: `extra` is the bits of one element.
Flow execute_pack(Warp& warp, const Operation& operation, std::uint32_t mask);           ///< d, elements…
Flow execute_unpack(Warp& warp, const Operation& operation, std::uint32_t mask);         ///< elements…, a
Flow execute_copy_elements(Warp& warp, const Operation& operation, std::uint32_t mask);  ///< d…, a…

/// A pure instruction made of two functions: `extra` is an index into Program::pairs.
Flow execute_pair(Warp& warp, const Operation& operation, std::uint32_t mask);

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
Flow execute_collective(Warp& warp, const Operation& operation,
                        std::uint32_t mask);  ///< extra: of Program::collectives

/// Functions that every program may call without defining them: vprintf, __assertfail, malloc, free. Null:
/// unknown.
[[nodiscard]] Builtin find_builtin(std::string_view name);

// --- collectives

[[nodiscard]] Collective shuffle_collective(std::string_view mode);  ///< `.up`; d, p <- a, b, c
[[nodiscard]] Collective vote_collective(
    std::string_view mode);  ///< `.all`; extra 1: the predicate is negated
[[nodiscard]] Collective match_collective(std::string_view mode);  ///< `.any`; extra: bits of the type
[[nodiscard]] Collective reduce_collective(std::string_view op, std::string_view type);
[[nodiscard]] Collective elect_collective();
[[nodiscard]] Collective sync_collective();

}  // namespace ptxgraft::emulator
