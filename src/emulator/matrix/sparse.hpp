#pragma once
/// @file matrix_sparse.hpp
/// A sparse A (PTX ISA 9.7.14.6.1, 9.7.15.6.1): its metadata, and what it is as a dense matrix.

#include <cstdint>

#include "emulator/matrix/matrix.hpp"

namespace ptxgraft::emulator {

/// 16 rows of a sparse A of `depth` columns, half of them stored.
struct SparseRows {
    MatrixType type;
    unsigned depth;
    unsigned selector;
    const std::uint32_t* metadata;
    bool ordered;
};

/// A as registers of the dense m16 layout, zero where nothing is stored, and (of floats) for every k the
/// lanes (of rows g in the low half, of g + 8 in the high half) whose row has an element there.
struct DenseRows {
    alignas(64) std::uint32_t words[8][32];
    std::uint64_t present[128];
};
void expand(const SparseRows& rows, const void* const* registers, DenseRows& dense);

/// Not where all that a chunk stores is zero, as behind the end of a matrix that was filled with zeros,
/// metadata and all; `registers` null: nothing is known of it.
[[nodiscard]] std::optional<MetadataFault> find_metadata_fault(const SparseRows& rows,
                                                               const void* const* registers);

}  // namespace ptxgraft::emulator
