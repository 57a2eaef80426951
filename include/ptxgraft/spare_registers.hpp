#pragma once
/// @file spare_registers.hpp
/// How many values a stub may keep alive in a site before its kernel loses something, measured: stubs that
/// keep more and more of them are assembled.
///
/// @code
/// auto skeleton = Skeleton::from_cuda(source, {.target = "sm_90a"});
/// auto spare = measure_spare_registers(*skeleton, {.threads_per_block = 256});
/// for (const SpareRegisters& site : *spare) std::cout << site.site << ' ' << site.registers << '\n';
/// @endcode
///
/// Stubs differ in more than what they keep alive, and ptxas weighs all of a kernel at once: the figure is of
/// stubs whose values are made one of the other and then added up, of floats and of integers, in one site at
/// a time. None converts an operand of the other kind where the site has one of its own, and none has special
/// functions. What does not depend on the value that a site changes, such as `f32(column)`, ptxas may compute
/// for many copies of the site at once. So it is a guide for the length of a stub, no promise for each.

#include <cstdint>
#include <string>
#include <vector>

#include "ptxgraft/kernel.hpp"

namespace ptxgraft {

struct SpareRegistersOptions {
    std::uint32_t threads_per_block = 0;     ///< 0: blocks of a multiprocessor do not count, spills alone
    std::uint32_t dynamic_shared_bytes = 0;  ///< of a block
    std::vector<std::string> sites = {};     ///< which; empty: all
    std::uint32_t most = 64;                 ///< values that are tried: 1 to 256
    std::uint32_t first = 4;                 ///< of them the first: then twice as many, until it is too many
    GraftOptions graft = {};                 ///< entry, target, assembler, cache
    ManyOptions many = {};                   ///< threads that assemble
};

/// Of a site.
struct SpareRegisters {
    std::string site;
    /// 32-bit values that a stub kept alive without a loss: fewer blocks of a multiprocessor, more bytes of
    /// spills than the skeleton has, or lost performance (PerformanceLoss). 0: one value is too many.
    std::uint32_t registers = 0;
    /// Of one value more: "8 bytes of spills". Empty where SpareRegistersOptions::most have none.
    std::string loss = {};
};

/// One for each site, in the skeleton's order. Errors: Errc::site_unknown; Errc::argument_invalid for options
/// that are out of range; those of Skeleton::assemble, of the skeleton and of its stubs, but for a loss of
/// performance that a stub brings; those of occupancy().
[[nodiscard]] PTXGRAFT_API Expected<std::vector<SpareRegisters>> measure_spare_registers(
    const Skeleton& skeleton, const SpareRegistersOptions& options = {});

}  // namespace ptxgraft
