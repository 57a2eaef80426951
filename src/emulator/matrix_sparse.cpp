#include "emulator/matrix_sparse.hpp"

#include <cstring>

namespace ptxgraft::emulator {
namespace {

/// The columns that four bits of metadata speak of: 1 of 2 (.tf32), 2 of 4, or pairwise 4 of 8 (4-bit types).
unsigned columns_of_indices(MatrixType type) {
    const unsigned bits = element_bits(type);
    return bits == 32 ? 2 : bits == 4 ? 8 : 4;
}

struct Place {
    unsigned lane, bit;
};
/// Where the indices of chunk `q` of row g (half 0) or g + 8 (half 1) lie: figures 119 to 147, 176 to 181.
/// Types of 16 and 32 bits have those of both rows in one register, others in those of two lanes.
Place place_of(const SparseRows& rows, unsigned g, unsigned half, unsigned q) {
    const unsigned chunks = rows.depth / columns_of_indices(rows.type);
    if (element_bits(rows.type) >= 16) {
        const unsigned lane = chunks == 4 ? rows.selector : 2 * rows.selector + q / 4;
        return {4 * g + lane % 4, 16 * half + q % 4 * 4};
    }
    const unsigned lane = chunks == 8 ? 2 * rows.selector : q / 8 * 2;
    return {4 * g + (lane + half) % 4, q % 8 * 4};
}

bool is_meaningful(const SparseRows& rows, unsigned indices) {
    if (rows.type == MatrixType::tf32) return indices == 0b1110 || indices == 0b0100;
    const unsigned first = indices & 3, second = indices >> 2;
    return rows.ordered ? first < second : first != second;
}

/// The column of stored element `s` of a row, given the indices of its chunk.
unsigned column_of(MatrixType type, unsigned s, unsigned indices) {
    switch (element_bits(type)) {
        case 32:
            return 2 * s + (indices >> 1 & 1);
        case 4:
            return s / 4 * 8 + (indices >> s / 2 % 2 * 2 & 3) * 2 + s % 2;
        default:
            return s / 2 * 4 + (indices >> s % 2 * 2 & 3);
    }
}

}  // namespace

void expand(const SparseRows& rows, const void* const* registers, DenseRows& dense) {
    const unsigned bits = element_bits(rows.type), per_word = 32 / bits;
    const std::uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;
    const unsigned stored = rows.depth / 2, of_chunk = columns_of_indices(rows.type) / 2;
    std::memset(dense.words, 0, rows.depth / per_word / 4 * 2 * sizeof dense.words[0]);
    std::memset(dense.present, 0, rows.depth * sizeof dense.present[0]);
    for (unsigned row = 0; row < 16; ++row) {
        const unsigned g = row % 8, half = row / 8;
        for (unsigned s = 0; s < stored; ++s) {
            const unsigned word = s / per_word;
            const auto* from = static_cast<const std::uint32_t*>(registers[word / 4 * 2 + half]);
            const std::uint32_t value = from[4 * g + word % 4] >> s % per_word * bits & mask;
            const Place place = place_of(rows, g, half, s / of_chunk);
            const unsigned column = column_of(rows.type, s, rows.metadata[place.lane] >> place.bit & 0xF);
            const unsigned to = column / per_word;
            dense.words[to / 4 * 2 + half][4 * g + to % 4] |= value << column % per_word * bits;
            dense.present[column] |= std::uint64_t{0xF} << (half * 32 + 4 * g);
        }
    }
}

std::optional<MetadataFault> find_metadata_fault(const SparseRows& rows) {
    const unsigned chunks = rows.depth / columns_of_indices(rows.type);
    for (unsigned row = 0; row < 16; ++row)
        for (unsigned q = 0; q < chunks; ++q) {
            const Place place = place_of(rows, row % 8, row / 8, q);
            const unsigned indices = rows.metadata[place.lane] >> place.bit & 0xF;
            if (!is_meaningful(rows, indices))
                return MetadataFault{static_cast<std::uint8_t>(place.lane),
                                     static_cast<std::uint8_t>(place.bit),
                                     static_cast<std::uint8_t>(indices)};
        }
    return std::nullopt;
}

}  // namespace ptxgraft::emulator
