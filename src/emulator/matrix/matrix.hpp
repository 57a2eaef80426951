#pragma once
/// @file matrix.hpp
/// The tensor cores (PTX ISA 9.7.14 and 9.7.15): products of matrices that lie in the registers of a warp, or
/// in shared memory. Functions over columns: a register of a warp is 32 values, lane by lane, 4 bytes each (8
/// for .f64), aligned to 32 bytes; a fragment is an array of pointers to its registers. The whole warp takes
/// part. Nothing here allocates, but for the lists of wmma_accesses() and wgmma_ranges().
///
/// **What is computed.** Every element of D is computed by itself:
/// - .f16, .bf16, .tf32, .e4m3, .e5m2: products are exact; `acc = fma(a, b, acc)` in .f32, rounded to nearest
/// even, for k
///   ascending, from `acc = c`. The low 13 bits of .tf32 are ignored. An accumulator of type .f16 is widened
///   at the start and rounded (to nearest even) once at the end. Subnormal numbers count. A NaN result is
///   0x7FFFFFFF (0x7FFF). Of a sparse A only the elements that are stored take part: what B has against A's
///   zeros does not count, not even inf.
/// - .f64: `fma` for k ascending, with the rounding of the instruction.
/// - Integers: the exact sum of c and of all products, at the end wrapped to 32 bits, or with .satfinite
/// clamped. .b1:
///   c plus the number of set bits, wrapped.
///
/// PTX leaves the order and the precision of the intermediate sums of floating-point products to the
/// hardware: accumulation_bound() says between which values the results of others may lie.
///
/// The same bits come from the plain version, the one for AVX2 and the one for AVX-512: the best that the
/// processor has is taken when the program starts (select_engine() for tests and benches).

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ptxgraft/syntax/types.hpp"

namespace ptxgraft::emulator {

using MatrixType = syntax::Type;

/// The bits of one element in a fragment or in memory: 32 for .tf32.
[[nodiscard]] constexpr unsigned element_bits(MatrixType type) { return syntax::row(type).bits; }

enum class MatrixLayout : std::uint8_t { row, col };
enum class BitOperation : std::uint8_t { xor_, and_ };
enum class MatrixRounding : std::uint8_t { rn, rz, rm, rp };
/// `sp` is mma.sp, whose pairs of indices may stand in any order; `ordered` is mma.sp::ordered_metadata.
enum class Sparsity : std::uint8_t { dense, sp, ordered };

/// One mma.sync, mma.sp or wmma.mma, as its modifiers say.
struct Mma {
    std::uint16_t m = 0, n = 0, k = 0;
    MatrixType a = MatrixType::f16, b = MatrixType::f16, c = MatrixType::f32, d = MatrixType::f32;
    MatrixLayout a_layout = MatrixLayout::row,
                 b_layout = MatrixLayout::col;  ///< they count for m8n8k4 of .f16 alone
    bool wmma = false;       ///< its .f16 multiplicands have eight registers, whatever they hold
    bool satfinite = false;  ///< of integers, and of a wmma.mma of .f16
    BitOperation bits = BitOperation::xor_;
    MatrixRounding rounding = MatrixRounding::rn;  ///< of .f64
    Sparsity sparsity = Sparsity::dense;
    std::uint8_t selector = 0;  ///< of a sparse one: operand f

    bool operator==(const Mma&) const = default;
};

/// Whether there is such an instruction up to sm_90a (the layouts and, of dense ones, the selector are not
/// looked at).
[[nodiscard]] bool is_supported(const Mma& mma);

struct FragmentSizes {
    unsigned a = 0, b = 0, c = 0, d = 0;
};
/// How many registers the operands of a supported instruction have.
[[nodiscard]] FragmentSizes fragment_sizes(const Mma& mma);

struct MmaOperands {
    void* const* d = nullptr;  ///< a register of D may be any register of the others
    const void* const* a = nullptr;
    const void* const* b = nullptr;
    const void* const* c = nullptr;
    const std::uint32_t* metadata = nullptr;  ///< of a sparse one: operand e
};
/// Executes a supported mma.sync, mma.sp or wmma.mma.
void multiply(const Mma& mma, const MmaOperands& operands);

/// Where metadata are not what PTX allows, and A is not zero.
struct MetadataFault {
    std::uint8_t lane;     ///< whose register
    std::uint8_t bit;      ///< the lowest bit of the four
    std::uint8_t indices;  ///< the four bits
};
[[nodiscard]] std::optional<MetadataFault> find_metadata_fault(const Mma& mma, const MmaOperands& operands);

// --- wmma.load, wmma.store

enum class WmmaMatrix : std::uint8_t { a, b, c, d };

/// One access of all 32 lanes: each loads (or stores) `bits` bits of a register, from bit `shift` on, at the
/// element in `row` and `column`. The byte offset is (row * stride + column) * element_bits / 8 for .row,
/// (column * stride + row) * element_bits / 8 for .col; an access of more bits than an element has takes the
/// elements after it in memory too.
struct WmmaAccess {
    std::uint8_t reg = 0, shift = 0, bits = 0;
    std::array<std::uint8_t, 32> row = {}, column = {};
};
/// The accesses of wmma.load or wmma.store of one matrix of a supported `mma` (with `wmma` true): all of
/// every register. The layout of a fragment is that of mma.sync, tile by tile; registers beyond it hold it
/// once more.
[[nodiscard]] std::vector<WmmaAccess> wmma_accesses(const Mma& mma, WmmaMatrix matrix, MatrixLayout layout);
/// The stride of a matrix when the instruction has none (9.7.14.4.2).
[[nodiscard]] unsigned wmma_default_stride(const Mma& mma, WmmaMatrix matrix, MatrixLayout layout);

// --- ldmatrix, stmatrix, movmatrix (.m8n8, .b16)

enum class Transposition : std::uint8_t { none, trans };
/// Distributes `count` (1, 2 or 4) matrices: `rows[8 * i + r]` are the 16 bytes of row r of matrix i, at the
/// address of lane 8 * i + r.
void load_matrices(const std::byte* const* rows, unsigned count, Transposition transposition,
                   void* const* registers);
/// Writes the rows, one after the other.
void store_matrices(const void* const* registers, unsigned count, Transposition transposition,
                    std::byte* const* rows);
/// movmatrix. `d` may be `a`.
void transpose_matrix(void* d, const void* a);

// --- wgmma.mma_async

/// One wgmma.mma_async. M is 64; K is 32 bytes of A (of a sparse one: as stored).
struct Wgmma {
    std::uint16_t n = 0;
    MatrixType a = MatrixType::f16, b = MatrixType::f16, d = MatrixType::f32;
    bool satfinite = false;
    bool sparse = false;
    std::uint8_t selector = 0;
    bool negate_a = false, negate_b = false;        ///< imm-scale-a, imm-scale-b of -1
    bool transpose_a = false, transpose_b = false;  ///< imm-trans-a, imm-trans-b of 1: MN-major

    bool operator==(const Wgmma&) const = default;
};
[[nodiscard]] bool is_supported(const Wgmma& wgmma);
/// K of the instruction's shape.
[[nodiscard]] unsigned depth(const Wgmma& wgmma);
/// The registers of D: N/2, or N/4 for .f16.
[[nodiscard]] unsigned accumulator_size(const Wgmma& wgmma);

/// What one warp gives to the product. A lies in registers, or `a` is null and it is where `a_descriptor`
/// says.
struct WgmmaOperands {
    void* const* d;
    const void* const* a = nullptr;
    std::uint64_t a_descriptor = 0;
    std::uint64_t b_descriptor = 0;
    const std::uint32_t* metadata = nullptr;  ///< of a sparse one: the warp's register
    bool scale_d = true;                      ///< D = A*B + D, or A*B
    std::uint8_t warp = 0;                    ///< of the warpgroup, 0 to 3: rows 16 * warp to 16 * warp + 15
};

/// Shared memory of a CTA, from address 0 of the shared window on.
struct SharedMemory {
    const std::byte* bytes;
    std::uint32_t size;
};

/// Why a product cannot be computed: what a descriptor says.
struct WgmmaFault {
    enum class Reason : std::uint8_t {
        outside,   ///< 16 bytes at `address` are not within shared memory
        too_wide,  ///< K-major with 32-byte swizzling holds 32 bytes of K, and B of a sparse product has 64
    };
    char operand;  ///< 'a' or 'b'
    Reason reason;
    std::uint32_t address;  ///< in the shared window
    std::uint32_t size;     ///< of shared memory
};
/// `the descriptor of b reaches address 0x12340 of shared memory, which has 65536 bytes`.
[[nodiscard]] std::string describe(const WgmmaFault& fault);

/// Computes the 16 rows of one warp. On a fault nothing is written.
[[nodiscard]] std::optional<WgmmaFault> multiply(const Wgmma& wgmma, const WgmmaOperands& operands,
                                                 SharedMemory shared);

struct SharedRange {
    std::uint32_t begin, end;
};
/// Appends the bytes of shared memory that one warp's product reads: its rows of A (unless in registers), all
/// of B. Sorted within each operand, adjacent ones joined; they may lie outside of shared memory. How many
/// are of A.
std::size_t wgmma_ranges(const Wgmma& wgmma, const WgmmaOperands& operands, std::vector<SharedRange>& ranges);
/// Appends the addresses of the rows of 16 bytes that a warpgroup reads for one warp: those of its 8x8
/// matrices of A, row by row, and for the first warp, of all of B.
void wgmma_rows(const Wgmma& wgmma, const WgmmaOperands& operands, std::vector<std::uint32_t>& rows);
/// None where A is outside of shared memory, which multiply() tells.
[[nodiscard]] std::optional<MetadataFault> find_metadata_fault(const Wgmma& wgmma,
                                                               const WgmmaOperands& operands,
                                                               SharedMemory shared);

// --- what nothing had written
//
// *States* say of every bit of a register or of memory whether something wrote it: they have the shape of the
// values. An element of D is undefined where an element of its row of A, of its column of B, or its own of C
// is.

/// The bits of an element that count: of .tf32 the upper 19.
[[nodiscard]] std::uint64_t significant_bits(MatrixType type);
/// The states of D from those of A, B and C; all operands but the metadata are states.
void multiply_states(const Mma& mma, const MmaOperands& states);

/// Of one warp's product: its rows, and its columns.
struct UndefinedParts {
    std::bitset<16> rows;
    std::bitset<256> columns;
};
/// Which rows of A and columns of B are not wholly written, where multiply() finds no fault. `states` are
/// operands as for multiply(), A in registers as states; `written` are the states of shared memory.
[[nodiscard]] UndefinedParts undefined_parts(const Wgmma& wgmma, const WgmmaOperands& states,
                                             SharedMemory written);
/// The states of a register of D: 32 words.
void undefined_columns(const Wgmma& wgmma, const UndefinedParts& parts, unsigned reg, std::uint32_t* states);

// --- other orders

struct AccumulationBound {
    double lowest, highest;
};
/// Between which values any legal computation of one element lies: any order of k, intermediate sums
/// truncated or rounded to .f32 (`type` and the accumulator .f32), to .f16 (accumulator .f16), or to the 14
/// bits that tensor cores of sm_89 and sm_90 keep for .e4m3 and .e5m2. `exact` is c plus the sum of the
/// products and `magnitudes` the sum of their absolute values, as good as double can; `k` is the number of
/// products. An exact sum that is infinite or NaN is both bounds. Where intermediate sums may overflow
/// upwards the upper bound is infinite, where downwards the lower one; where both may be, a result may also
/// be NaN.
[[nodiscard]] AccumulationBound accumulation_bound(MatrixType type, MatrixType accumulator, unsigned k,
                                                   double exact, double magnitudes);

// --- versions

enum class MatrixEngine : std::uint8_t { plain, avx2, avx512 };
[[nodiscard]] bool has_engine(MatrixEngine engine);
/// Takes a version that the processor has. Not while products are computed.
void select_engine(MatrixEngine engine);

}  // namespace ptxgraft::emulator
