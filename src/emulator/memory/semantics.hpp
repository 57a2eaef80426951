#pragma once
/// @file semantics.hpp
/// The qualifiers of strong operations and fences in the memory consistency model: .sem and .scope (PTX ISA,
/// chapter 8).

#include <cstdint>

namespace ptxgraft::emulator {

/// A .volatile operation is treated as a .relaxed one (PTX ISA 8.4.2), and a fence.sc as a fence.acq_rel
/// (synchronisation.hpp).
enum class Semantics : std::uint8_t { weak, relaxed, acquire, release, acq_rel };
[[nodiscard]] constexpr bool acquires(Semantics of) {
    return of == Semantics::acquire || of == Semantics::acq_rel;
}
[[nodiscard]] constexpr bool releases(Semantics of) {
    return of == Semantics::release || of == Semantics::acq_rel;
}

/// The scope of an operation (PTX ISA 8.5), as far as a cluster can tell: .cta, or one of .cluster, .gpu and
/// .sys, which contain the whole cluster.
enum class Reach : std::uint8_t { cluster, cta };

}  // namespace ptxgraft::emulator
