#pragma once
/// @file bulk_copy.hpp
/// Bulk copies and reductions, decoded: cp.async.bulk, cp.async.bulk.tensor and their reductions (PTX
/// ISA 9.7.9.25.4, 9.7.9.27.1), tensormap.replace and tensormap.cp_fenceproxy. Copies are complete at once.

#include <cstdint>
#include <optional>

#include "tensor/tensor_copy.hpp"

namespace ptxgraft::emulator {

/// One instruction. `Operation::extra` is its index in Program::bulk_copies; the operation's inputs are
/// listed here.
struct BulkCopy {
    /// Source, or destination, in global memory. Inputs of bulk copies: destination, source, size, then the
    /// mbarrier (none from shared to global memory), then the mask. Of tensor copies: the map, the shared
    /// address, the coordinates, then the mbarrier of a load, then the im2col offsets, then the mask.
    bool from_global = false, to_global = false;
    bool to_cta = false;           ///< the destination is shared memory of the CTA that copies
    bool has_mask = false;         ///< of CTAs for a load, of bytes for a store
    std::uint8_t coordinates = 0;  ///< of a tensor copy; 0: a bulk copy
    std::uint8_t offsets = 0;      ///< of the im2col mode
    bool is_im2col = false;
    std::optional<tensor::Reduction> reduction = {};     ///< of a bulk reduction
    std::optional<tensor::ReduceOperation> reduce = {};  ///< of a tensor reduction: its type is the map's
};

/// st.async and red.async with an mbarrier (PTX ISA 9.7.9.12, 9.7.13.7): inputs address, mbarrier, elements.
struct AsyncStore {
    bool is_generic = false;  ///< the addresses; else those of .shared::cluster
    std::uint8_t bytes = 4;   ///< of an element
    std::uint8_t count = 1;
    std::optional<tensor::Reduction> reduction = {};
};

/// tensormap.replace: inputs address and value.
struct TensorMapReplace {
    tensor::MapField field = tensor::MapField::rank;
    std::uint32_t ordinal = 0;
    bool is_shared = false, is_global = false;  ///< neither: a generic address
};

}  // namespace ptxgraft::emulator
