#pragma once
/// @file dsl/matrix.hpp
/// Where the elements of matrices are: in the registers of mma and wgmma, in the rows that ldmatrix reads, in
/// swizzled tiles of shared memory. All of it is constexpr and prints nothing, but for the functions at the
/// end, which say what they print.
///
/// @code
/// constexpr TileRows tile{.row_bytes = 128, .swizzle = TensorSwizzle::bytes128};   // 64 elements of bf16
/// const auto rows = ldmatrix_offset_a(b, tile, lane);         // once: where in the tile this lane's row is
/// b.emit<"add.u32">(rows, rows, tile_address);
/// for (std::uint32_t k = 0; k < 4; ++k) {
///     b.emit<"xor.b32">(here, rows, 32 * k);                 // the next 16 columns, swizzled as they are
///     b.emit<"ldmatrix.sync.aligned.m8n8.x4.shared.b16">(a, at(here, 16 * 128));   // rows 16 to 31
/// }
/// @endcode

#include <cstdint>

#include "ptxgraft/dsl/builder.hpp"
#include "ptxgraft/tensor_map.hpp"

namespace ptxgraft::dsl {

/// An element of a matrix.
struct Place {
    std::uint32_t row = 0, col = 0;
    friend constexpr bool operator==(const Place&, const Place&) = default;
};

// ---- fragments of mma.sync .m16n8 and .m8n8, of all depths, with elements of 1, 4, 8, 16, 32 or 64 bits
// (PTX ISA 9.7.14.5; not .m8n8k4 of .f16, which is of another kind)

namespace emitting {
// Of a register of 32 bits; 1 of one of 64.
constexpr std::uint32_t per_register(std::uint32_t bits) { return bits == 64 ? 1 : 32 / bits; }
}  // namespace emitting

/// Element `i` of A in a lane, from the lowest bits of the first register on: of 16 bits 8 for .m16n8k16, 4
/// for .m16n8k8; of 8 bits 16 for .m16n8k32.
[[nodiscard]] constexpr Place mma_a(std::uint32_t lane, std::uint32_t i, std::uint32_t bits = 16) {
    const std::uint32_t per = emitting::per_register(bits), reg = i / per;
    return {lane / 4 + 8 * (reg % 2), lane % 4 * per + i % per + 4 * per * (reg / 2)};
}
/// Element `i` of B in a lane, half as many; its row counts along K, its column along N.
[[nodiscard]] constexpr Place mma_b(std::uint32_t lane, std::uint32_t i, std::uint32_t bits = 16) {
    const std::uint32_t per = emitting::per_register(bits), reg = i / per;
    return {lane % 4 * per + i % per + 4 * per * reg, lane / 4};
}
/// Element `i` of C and D in a lane: 4 for .m16n8, 2 for .m8n8. Those of .f16 are two to a register.
[[nodiscard]] constexpr Place mma_d(std::uint32_t lane, std::uint32_t i) {
    return {lane / 4 + 8 * (i / 2), lane % 4 * 2 + i % 2};
}
/// Register `i` of N / 2 of D of wgmma .m64nNk16, .f32, in a thread of the warpgroup (PTX ISA 9.7.15.5.1.1).
[[nodiscard]] constexpr Place wgmma_d(std::uint32_t thread, std::uint32_t i) {
    const Place of_tile = mma_d(thread % 32, i % 4);
    return {16 * (thread / 32) + of_tile.row, 8 * (i / 4) + of_tile.col};
}

/// D of products side by side, in a warp, as Regs<f32, N>: 16 rows of 2 N columns, of which register 4 j + i
/// is register i of mma_d, 8 j columns on; wgmma_d has it so in each warp. Of a register: 0 for the lane's
/// first row, 1 for the one 8 below; its column, from the lane's first one on.
[[nodiscard]] constexpr std::size_t half_of(std::size_t i) {
    return wgmma_d(0, static_cast<std::uint32_t>(i)).row / 8;
}
[[nodiscard]] constexpr std::uint32_t column_of(std::size_t i) {
    return wgmma_d(0, static_cast<std::uint32_t>(i)).col;
}

/// The row, and the first of its 8 columns of 16 bits, whose address a lane gives to ldmatrix .x4 for 16 rows
/// and 16 columns of A: the four registers are A of one mma. With .trans, of a matrix with K for rows and N
/// for columns: registers 0 and 1 are B of one mma, for the first 8 of N, and 2 and 3 of another.
[[nodiscard]] constexpr Place ldmatrix_a(std::uint32_t lane) { return {lane % 16, lane / 16 * 8}; }
/// The same of a matrix with N for rows and K for columns: registers 0 and 1 are B of one mma, for the first
/// 8 of N, and 2 and 3 of another, for the other 8. (With ldmatrix_a they would be 0 and 2, 1 and 3, which an
/// assembler has to copy to where they are neighbours.)
[[nodiscard]] constexpr Place ldmatrix_b(std::uint32_t lane) {
    return {lane % 8 + lane / 16 * 8, lane / 8 % 2 * 8};
}

/// The same for stmatrix .x4: 16 rows and 16 columns of D in elements of 16 bits, of two products side by
/// side. The four registers are {0, 1} and {2, 3} of the first, packed, then those of the second.
[[nodiscard]] constexpr Place stmatrix_d(std::uint32_t lane) { return ldmatrix_a(lane); }

// ---- swizzled tiles in shared memory (PTX ISA 5.5.7); the swizzles of 32, 64 and 128 bytes with atoms of 16

/// The bytes within which pieces of 16 bytes change places; 16, a piece, where none do.
[[nodiscard]] constexpr std::uint32_t swizzle_span(TensorSwizzle swizzle) {
    return swizzle == TensorSwizzle::bytes128  ? 128
           : swizzle == TensorSwizzle::bytes64 ? 64
           : swizzle == TensorSwizzle::bytes32 ? 32
                                               : 16;
}
/// How a tile is to be aligned for the pattern to begin with it: 8 rows, or one piece.
[[nodiscard]] constexpr std::uint32_t swizzle_alignment(TensorSwizzle swizzle) {
    return swizzle_span(swizzle) == 16 ? 16 : 8 * swizzle_span(swizzle);
}
/// The bits of an offset that change, as bits 7 and on of it have it.
[[nodiscard]] constexpr std::uint32_t swizzle_mask(TensorSwizzle swizzle) {
    return swizzle_span(swizzle) - 16;
}
/// Where a byte of a tile is, by its offset in the tile without swizzling.
[[nodiscard]] constexpr std::uint32_t swizzled(TensorSwizzle swizzle, std::uint32_t offset) {
    return offset ^ (offset >> 3 & swizzle_mask(swizzle));
}

/// A row-major tile whose rows are as wide as its swizzle: what a tensor copy with that box makes, what wgmma
/// takes as K-major, and what ldmatrix reads without bank conflicts. (Without a swizzle: of any width.)
struct TileRows {
    std::uint32_t row_bytes = 128;
    TensorSwizzle swizzle = TensorSwizzle::bytes128;

    [[nodiscard]] constexpr std::uint32_t offset(std::uint32_t row, std::uint32_t byte) const {
        return swizzled(swizzle, row * row_bytes + byte);
    }
    [[nodiscard]] constexpr std::uint32_t pieces() const { return row_bytes / 16; }  ///< of a row
};
/// The tile whose rows have so many bytes: 32, 64 or 128.
[[nodiscard]] constexpr TileRows tile_of(std::uint32_t row_bytes) {
    return {row_bytes, row_bytes == 128  ? TensorSwizzle::bytes128
                       : row_bytes == 64 ? TensorSwizzle::bytes64
                       : row_bytes == 32 ? TensorSwizzle::bytes32
                                         : TensorSwizzle::none};
}

// ---- matrix descriptors of wgmma (PTX ISA 9.7.15.5.1.2.2)

/// How a matrix lies in shared memory, for wgmma.
struct MatrixDescriptor {
    std::uint32_t leading_bytes = 0, stride_bytes = 0;  ///< multiples of 16
    TensorSwizzle swizzle = TensorSwizzle::none;
    std::uint32_t base_offset = 0;  ///< of a pattern that begins elsewhere: its address / 128 % 8

    /// The descriptor of a matrix at this address in shared memory.
    [[nodiscard]] constexpr std::uint64_t bits(std::uint32_t address = 0) const {
        const std::uint64_t mode = swizzle == TensorSwizzle::bytes128  ? 1
                                   : swizzle == TensorSwizzle::bytes64 ? 2
                                   : swizzle == TensorSwizzle::bytes32 ? 3
                                                                       : 0;
        return encode(address) | encode(leading_bytes) << 16 | encode(stride_bytes) << 32 |
               std::uint64_t{base_offset % 8} << 49 | mode << 62;
    }
    /// What is added to a descriptor whose matrix begins so many bytes later: along K of a K-major tile by 32
    /// bytes, before swizzling, for the next wgmma; to the next stage of a ring by a stage's.
    [[nodiscard]] static constexpr std::uint64_t advance(std::uint32_t bytes) { return encode(bytes); }

  private:
    static constexpr std::uint64_t encode(std::uint32_t bytes) { return (bytes & 0x3FFFF) >> 4; }
};
/// Of a swizzled tile whose rows run along K: 8 rows after 8 rows. (The leading offset has no meaning there.)
[[nodiscard]] constexpr MatrixDescriptor descriptor_of(const TileRows& tile) {
    return {.leading_bytes = 16, .stride_bytes = 8 * tile.row_bytes, .swizzle = tile.swizzle};
}
/// Of swizzled tiles, one behind the other, whose rows run along M or N, with a row for each of `depth`
/// elements of K (MN-major: wgmma's imm-trans is 1). The next 16 of K begin 16 rows later.
[[nodiscard]] constexpr MatrixDescriptor mn_descriptor_of(const TileRows& tile, std::uint32_t depth) {
    return {
        .leading_bytes = depth * tile.row_bytes, .stride_bytes = 8 * tile.row_bytes, .swizzle = tile.swizzle};
}

namespace emitting {

template <std::uint32_t N, Type T> consteval auto wgmma() {
    static_assert(T == bf16 || T == f16);
    constexpr std::string_view before = "wgmma.mma_async.sync.aligned.m64n",
                               behind = T == bf16 ? "k16.f32.bf16.bf16" : "k16.f32.f16.f16";
    constexpr std::size_t digits = N >= 100 ? 3 : N >= 10 ? 2 : 1;
    Literal<before.size() + digits + behind.size() + 1> name;
    std::size_t size = 0;
    for (const char c : before) name.text[size++] = c;
    for (std::uint32_t unit = digits == 3 ? 100 : digits == 2 ? 10 : 1; unit > 0; unit /= 10)
        name.text[size++] = static_cast<char>('0' + N / unit % 10);
    for (const char c : behind) name.text[size++] = c;
    return name;
}

}  // namespace emitting

/// The name of a product of N columns, for emit: `b.emit<wgmma_bf16<128>>(d, a_desc, b_desc, p, 1, 1, 0, 0)`.
template <std::uint32_t N> inline constexpr auto wgmma_bf16 = emitting::wgmma<N, bf16>();
/// The same of a type that is a template's: .f16 or .bf16. `b.emit<wgmma_of<64, T>>(d, a, b_desc, p, 1, 1,
/// 1)`.
template <std::uint32_t N, Type T> inline constexpr auto wgmma_of = emitting::wgmma<N, T>();

// ---- what prints

/// Swizzles an offset, or an address of a tile that is aligned as the swizzle wants it, in place:
/// @code
/// shr.b32 %t, offset, 3;
/// and.b32 %t, %t, 112;          // swizzle_mask
/// xor.b32 offset, offset, %t;
/// @endcode
template <Target On> void swizzle(Builder<On>& b, TensorSwizzle how, Reg<u32> offset) {
    if (how == TensorSwizzle::none) return;
    const auto pattern = b.template reg<u32>();
    b.template emit<"shr.b32">(pattern, offset, 3);
    b.template emit<"and.b32">(pattern, pattern, swizzle_mask(how));
    b.template emit<"xor.b32">(offset, offset, pattern);
}

/// Two .f32 as a pair of .bf16 or .f16 in one register, the first one in its lower half:
/// `cvt.rn.bf16x2.f32 d, second, first;`
template <Type T, Target On>
requires(T == bf16 || T == f16) void pack(Builder<On>& b, const Reg<b32>& d, const Reg<f32>& first,
                                          const Reg<f32>& second) {
    b.template emit<typed<typed<"cvt.rn", T == bf16 ? bf16x2 : f16x2>(), f32>()>(d, second, first);
}
/// The same of D of products side by side, a pair each. Registers 4 j to 4 j + 3 are A of a product with rows
/// 16 j and on: mma_a of mma_d.
template <Type T, Target On, std::size_t N>
void pack(Builder<On>& b, const std::array<Reg<b32>, N / 2>& d, const Regs<f32, N>& from) {
    for (std::size_t i = 0; i < N / 2; ++i) pack<T>(b, d[i], from[2 * i], from[2 * i + 1]);
}

namespace emitting {
template <Target On>
Reg<u32> ldmatrix_offset(Builder<On>& b, const TileRows& tile, Reg<u32> lane, Reg<u32> row,
                         std::uint32_t bit) {
    const auto col = b.template reg<u32>(), offset = b.template reg<u32>();
    b.template emit<"bfe.u32">(col, lane, bit, 1);
    b.template emit<"shl.b32">(col, col, 4);
    b.template emit<"mad.lo.u32">(offset, row, tile.row_bytes, col);
    swizzle(b, tile.swizzle, offset);
    return offset;
}
}  // namespace emitting

/// The offset in a tile of what a lane gives to ldmatrix .x4 (ldmatrix_a). It is that of the block of 16
/// columns at 0; the block at column 16 k has it xor 32 k, rows 16 r and on have it plus 16 r row_bytes.
/// @code
/// and.b32 %row, lane, 15;
/// bfe.u32 %col, lane, 4, 1;
/// shl.b32 %col, %col, 4;
/// mad.lo.u32 offset, %row, 128, %col;   // row_bytes
/// …                                     // swizzle()
/// @endcode
template <Target On> Reg<u32> ldmatrix_offset_a(Builder<On>& b, const TileRows& tile, Reg<u32> lane) {
    const auto row = b.template reg<u32>();
    b.template emit<"and.b32">(row, lane, 15);
    return emitting::ldmatrix_offset(b, tile, lane, row, 4);
}
/// The same for ldmatrix_b:
/// @code
/// and.b32 %row, lane, 7;
/// bfe.u32 %half, lane, 4, 1;
/// mad.lo.u32 %row, %half, 8, %row;
/// bfe.u32 %col, lane, 3, 1;
/// …                                     // as for A
/// @endcode
template <Target On> Reg<u32> ldmatrix_offset_b(Builder<On>& b, const TileRows& tile, Reg<u32> lane) {
    const auto row = b.template reg<u32>(), half = b.template reg<u32>();
    b.template emit<"and.b32">(row, lane, 7);
    b.template emit<"bfe.u32">(half, lane, 4, 1);
    b.template emit<"mad.lo.u32">(row, half, 8, row);
    return emitting::ldmatrix_offset(b, tile, lane, row, 3);
}

namespace emitting {
template <Target On> Reg<u64> descriptor(Builder<On>& b, std::uint64_t bits, Reg<u32> address) {
    const auto start = b.template reg<u32>();
    const auto made = b.template reg<u64>();
    b.template emit<"bfe.u32">(start, address, 4, 14);
    b.template emit<"cvt.u64.u32">(made, start);
    b.template emit<"or.b64">(made, made, bits);
    return made;
}
}  // namespace emitting

/// The descriptor of a matrix whose address in shared memory is in a register:
/// @code
/// bfe.u32 %t, address, 4, 14;
/// cvt.u64.u32 descriptor, %t;
/// or.b64 descriptor, descriptor, 4611686293305294848;   // bits()
/// @endcode
template <Target On> Reg<u64> descriptor(Builder<On>& b, const MatrixDescriptor& of, Reg<u32> address) {
    return emitting::descriptor(b, of.bits(), address);
}

/// The same matrix in another one of stages that lie one behind the other:
/// `mad.wide.u32 descriptor, stage, 1024, first;` (MatrixDescriptor::advance(stage_bytes)).
template <Target On>
Reg<u64> descriptor_in(Builder<On>& b, Reg<u32> stage, std::uint32_t stage_bytes, Reg<u64> first) {
    const auto made = b.template reg<u64>();
    b.template emit<"mad.wide.u32">(made, stage, MatrixDescriptor::advance(stage_bytes), first);
    return made;
}

}  // namespace ptxgraft::dsl
