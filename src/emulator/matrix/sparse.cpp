// Sparse operands: metadata chooses the elements that are not zero.
#include "emulator/matrix/sparse.hpp"

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

/// Of row g or g + 8: four bits for every chunk, the first chunk's the lowest.
std::uint64_t indices_of(const SparseRows& rows, unsigned g, unsigned half) {
    const unsigned chunks = rows.depth / columns_of_indices(rows.type),
                   together = element_bits(rows.type) >= 16 ? 4 : 8;
    std::uint64_t all = 0;
    for (unsigned q = 0; q < chunks; q += together) {
        const Place place = place_of(rows, g, half, q);
        const std::uint64_t some = rows.metadata[place.lane] >> place.bit & (together == 4 ? 0xFFFF : ~0u);
        all |= some << 4 * q;
    }
    return all;
}

/// A row of the register layout of both, the stored and the dense: 32-bit words, four lanes in every other
/// register.
struct Row {
    unsigned first_lane, half;
    [[nodiscard]] unsigned reg(unsigned word) const { return word / 4 * 2 + half; }
    [[nodiscard]] unsigned lane(unsigned word) const { return first_lane + word % 4; }
};

/// `Bits` are those of a part that moves as one: an element, of 4-bit types a pair.
template <unsigned Bits>
void expand_row(const Row& row, unsigned chunks, std::uint64_t indices, const void* const* registers,
                DenseRows& dense) {
    constexpr unsigned stored_bits = Bits == 32 ? 32 : 2 * Bits, per_word = 32 / stored_bits;
    const std::uint64_t lanes = std::uint64_t{0xF} << (row.half * 32 + row.first_lane);
#pragma GCC unroll 4
    for (unsigned q = 0; q < chunks; ++q, indices >>= 4) {
        const unsigned from = q / per_word;
        const std::uint32_t word =
            static_cast<const std::uint32_t*>(registers[row.reg(from)])[row.lane(from)];
        const unsigned first = indices & 3, second = indices >> 2 & 3;
        if constexpr (Bits == 32) {
            const bool upper = (first & 2) != 0;
            dense.words[row.reg(2 * q)][row.lane(2 * q)] = upper ? 0 : word;
            dense.words[row.reg(2 * q)][row.lane(2 * q + 1)] = upper ? word : 0;
            dense.present[2 * q + (upper ? 1 : 0)] |= lanes;
            continue;
        }
        constexpr std::uint64_t mask = (std::uint64_t{1} << Bits) - 1;
        const std::uint64_t both = word >> q % per_word * stored_bits;
        const std::uint64_t expanded = (both & mask) << first * Bits | (both >> Bits & mask) << second * Bits;
        if constexpr (Bits == 16)
            // two lanes side by side
            std::memcpy(&dense.words[row.reg(2 * q)][row.lane(2 * q)], &expanded, sizeof expanded);
        else
            dense.words[row.reg(q)][row.lane(q)] = static_cast<std::uint32_t>(expanded);
        dense.present[4 * q + first] |= lanes;
        dense.present[4 * q + second] |= lanes;
    }
}

}  // namespace

void expand(const SparseRows& rows, const void* const* registers, DenseRows& dense) {
    const unsigned chunks = rows.depth / columns_of_indices(rows.type);
    const auto by_row = [&]<unsigned Bits>() {
        for (unsigned half = 0; half < 2; ++half)
            for (unsigned g = 0; g < 8; ++g)
                expand_row<Bits>({4 * g, half}, chunks, indices_of(rows, g, half), registers, dense);
    };
    std::memset(dense.present, 0, rows.depth * sizeof dense.present[0]);
    switch (element_bits(rows.type)) {
        case 32: return by_row.operator()<32>();
        case 16: return by_row.operator()<16>();
        default: return by_row.operator()<8>();
    }
}

namespace {

bool is_float(MatrixType type) {
    return element_bits(type) >= 8 && type != MatrixType::s8 && type != MatrixType::u8;
}

// Whether what a chunk stores is zero.
bool is_zero(const SparseRows& rows, const void* const* registers, const Row& row, unsigned chunk) {
    const unsigned bits = element_bits(rows.type), stored_bits = bits >= 16 ? 32 : 16,
                   per_word = 32 / stored_bits;
    const unsigned from = chunk / per_word;
    std::uint32_t word = static_cast<const std::uint32_t*>(registers[row.reg(from)])[row.lane(from)] >>
                         chunk % per_word * stored_bits;
    if (stored_bits == 16) word &= 0xFFFF;
    if (rows.type == MatrixType::tf32) word &= static_cast<std::uint32_t>(significant_bits(rows.type));
    if (!is_float(rows.type)) return word == 0;
    const std::uint32_t signs = bits == 32 ? 0x80000000 : bits == 16 ? 0x80008000 : 0x80808080;
    return (word & ~signs) == 0;
}

}  // namespace

std::optional<MetadataFault> find_metadata_fault(const SparseRows& rows, const void* const* registers) {
    const unsigned chunks = rows.depth / columns_of_indices(rows.type);
    std::uint32_t meaningful = 0;  // by indices
    for (unsigned indices = 0; indices < 16; ++indices)
        meaningful |= static_cast<std::uint32_t>(is_meaningful(rows, indices)) << indices;
    for (unsigned row = 0; row < 16; ++row) {
        std::uint64_t all = indices_of(rows, row % 8, row / 8);
        for (unsigned q = 0; q < chunks; ++q, all >>= 4) {
            const auto indices = static_cast<std::uint8_t>(all & 0xF);
            if ((meaningful >> indices & 1) != 0) continue;
            if (registers != nullptr && is_zero(rows, registers, {row % 8 * 4, row / 8}, q)) continue;
            const Place place = place_of(rows, row % 8, row / 8, q);
            return MetadataFault{static_cast<std::uint8_t>(place.lane), static_cast<std::uint8_t>(place.bit),
                                 indices};
        }
    }
    return std::nullopt;
}

}  // namespace ptxgraft::emulator
