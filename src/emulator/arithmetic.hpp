#pragma once
/// @file arithmetic.hpp
/// The values of PTX: every instruction that computes register outputs from register inputs, one warp at a time.
/// It knows no memory, no control flow and no other lane.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ptxgraft::emulator {

/// The 32 lanes of a register. A value narrower than 64 bits stands in the low bits; what stands above them is
/// unspecified: readers mask, writers may leave anything. A predicate is bit 0.
using Lanes = std::array<std::uint64_t, 32>;

/// Computes outputs for the lanes of `mask`, leaving the other lanes of the outputs as they are. An output may be the
/// same register as an input. Immediate inputs are Lanes as well, with the same bits in all lanes, extended to 64 bits
/// by their sign (integers) or as bits (floats).
using WarpFunction = void (*)(Lanes* const* outputs, const Lanes* const* inputs, std::uint32_t mask);

/// The register types of operands, so that decoding can turn immediates into bits: `f32` wants 0f3F800000 or 1.0 as
/// single bits, `f64` as double bits, the others integers.
enum class ImmediateType : std::uint8_t { integer, f16, f16x2, bf16, bf16x2, f32, f64 };

/// One pure instruction, resolved: one function, or two in a row (a comparison and what its truth becomes; a widening
/// and a rounding). Operand order is that of the instruction: outputs first.
struct PureInstruction {
    WarpFunction first = nullptr;
    WarpFunction second = nullptr;  ///< its inputs: the results of `first`, then the inputs that `first` did not take
    std::uint8_t outputs = 1;
    std::uint8_t inputs = 0;
    std::uint8_t first_inputs = 0;   ///< with `second`: how many inputs `first` takes
    std::uint8_t first_outputs = 0;  ///< with `second`: how many results `first` makes
    std::array<ImmediateType, 6> input_types = {};
    bool reads_carry = false;   ///< addc, subc, madc: the condition code follows the last input as one more input (bit 0)
    bool writes_carry = false;  ///< .cc: the condition code follows the last output as one more output

    /// Executes it. `outputs` and `inputs` hold as many pointers as the instruction has (plus the condition code).
    void run(Lanes* const* to, const Lanes* const* from, std::uint32_t mask) const {
        if (second == nullptr) first(to, from, mask);
        else run_both(to, from, mask);
    }

  private:
    void run_both(Lanes* const* to, const Lanes* const* from, std::uint32_t mask) const;
};

/// Resolves opcode and modifiers (`fma`, {`.rn`, `.f32`}); nullopt when it is not a pure instruction that is known here.
/// `setp.x p|q` has two outputs when `pair` is true. `operands` is their number as written, which decides forms with
/// an optional operand (`setp.lt.and.f32 p, a, b, c`).
[[nodiscard]] std::optional<PureInstruction> find_pure(std::string_view opcode, std::span<const std::string_view> modifiers,
                                                       std::size_t operands, bool pair);

}  // namespace ptxgraft::emulator
