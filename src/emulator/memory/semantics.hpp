#pragma once
/// @file semantics.hpp
/// What PTX says of strong operations and fences: their .sem and their .scope.

#include <cstdint>

namespace ptxgraft::emulator {

/// Volatile operations are relaxed ones (PTX ISA 8.4.2); a fence.sc orders as a fence.acq_rel does
/// (synchronisation.hpp).
enum class Semantics : std::uint8_t { weak, relaxed, acquire, release, acq_rel };
[[nodiscard]] constexpr bool acquires(Semantics of) {
    return of == Semantics::acquire || of == Semantics::acq_rel;
}
[[nodiscard]] constexpr bool releases(Semantics of) {
    return of == Semantics::release || of == Semantics::acq_rel;
}

/// A scope (PTX ISA 8.5), as far as it matters within a cluster: the threads of a CTA, or of all its CTAs,
/// for .cluster, .gpu and .sys.
enum class Reach : std::uint8_t { cluster, cta };

}  // namespace ptxgraft::emulator
