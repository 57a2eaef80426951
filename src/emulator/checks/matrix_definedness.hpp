#pragma once
/// @file matrix_definedness.hpp
/// Definedness of matrix fragments: an undefined element makes undefined what is computed of it, and goes
/// with the others when a matrix is moved. The functions that move values move definedness bits.

#include <array>
#include <cstdint>
#include <optional>

#include "emulator/machine/frame.hpp"
#include "emulator/memory/lanes.hpp"

namespace ptxgraft::emulator {

class Definedness;
class MemoryDefinedness;
class Warp;

/// Rows of 16 bytes of shared memory, eight for each 8x8 matrix: row i is lane i's.
struct MatrixRows {
    unsigned count = 0;
    std::array<std::byte*, 32> bytes;
    // Of a checked launch.
    std::array<std::uint8_t*, 32> written;
    std::array<std::uint64_t, 32> places;  ///< in the cluster's shared memory
};

/// The first undefined element of each of the operands of a product, if there is one.
struct UndefinedOperands {
    std::optional<Origin> a, b;
};

class MatrixDefinedness {
  public:
    explicit MatrixDefinedness(Warp& warp) : warp_(warp) {}

    /// mma, before it runs.
    [[nodiscard]] bool track_mma(const Operation& operation, const Mma& mma);
    void track_movmatrix(const Operation& operation);
    /// What ldmatrix loaded into registers, what stmatrix stored from them.
    void note_rows_loaded(const Ref* refs, Transposition transposition, const MatrixRows& rows);
    void note_rows_stored(const Ref* refs, Transposition transposition, const MatrixRows& rows);
    /// wmma.load, wmma.store: `addresses` of all accesses, lane by lane.
    void note_wmma_loaded(const Operation& operation, const MatrixInstruction& instruction,
                          const std::uint64_t* addresses);
    [[nodiscard]] bool note_wmma_stored(const Ref* refs, const MatrixInstruction& instruction,
                                        const std::uint64_t* addresses);
    /// wgmma, whose operands in shared memory are these ranges.
    void track_wgmma(const Operation& operation, const WgmmaOperands& operands,
                     const UndefinedOperands& undefined);
    /// The first undefined byte of a range of shared memory.
    [[nodiscard]] std::optional<Origin> first_undefined(const SharedRange& range,
                                                        const Located& shared) const;

  private:
    [[nodiscard]] Origin origin_of_row(const MatrixRows& rows, unsigned row);
    void begin_taint(Ref ref);
    [[nodiscard]] Definedness& registers() const;
    [[nodiscard]] MemoryDefinedness& memory() const;

    Warp& warp_;
};

}  // namespace ptxgraft::emulator
