#pragma once
/// @file program.hpp
/// Stack programs (stack.hpp) as the genomes of a search: kept as bytes.
///
/// Equal arguments give equal results in every process and on every machine. Threads: every function may be
/// called from any number at once.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ptxgraft/error.hpp"
#include "ptxgraft/stack.hpp"

namespace ptxgraft::stack {

// ---- bytes ------------------------------------------------------------------------------------------------

/// A number that two machines share on which every program means the same: same instructions at the same
/// numbers, as forms of PTX and not by the set's names for them, the same ones present under the policy and
/// for the target, the same types, and operands of the same names, types, directions and counts in one order.
/// Stable between processes; never 0. It reads the whole set: keep it.
[[nodiscard]] PTXGRAFT_API std::uint64_t machine_hash(const Machine& machine);

/// In the place of a machine_hash: of no machine in particular.
inline constexpr std::uint64_t any_machine = 0;

/// The bytes of a program, any program: code, pool and routines, bit for bit. Little-endian, with a version,
/// the length, and a checksum over all of it. `machine` is kept beside it, as instructions are numbers into
/// the set of a machine and mean nothing without it.
[[nodiscard]] PTXGRAFT_API std::vector<std::byte> to_bytes(ProgramView program,
                                                           std::uint64_t machine = any_machine);

/// The program of such bytes, which must be whole and nothing more. Errors: Errc::program_bytes_malformed for
/// whatever else, with its place in the bytes as span; Errc::program_machine_differs where `machine` is given
/// and is not what the bytes were made with. It takes no more memory than the bytes have.
[[nodiscard]] PTXGRAFT_API Expected<Program> program_from_bytes(std::span<const std::byte> bytes,
                                                                std::uint64_t machine = any_machine);

}  // namespace ptxgraft::stack
