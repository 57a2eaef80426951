#pragma once
/// @file arithmetic.hpp
/// The values of PTX: every instruction that computes register outputs from register inputs. It knows no memory, no
/// control flow and no other lane. Each is one C++ function on the values of one lane, which runs over the 32 lanes of a
/// warp (the emulator) or over columns of values (stub programs evaluated on the CPU).

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ptxgraft::arithmetic {

/// The 32 lanes of a register. A value narrower than 64 bits stands in the low bits; what stands above them is
/// unspecified: readers mask, writers may leave anything. A predicate is bit 0.
using Lanes = std::array<std::uint64_t, 32>;

/// Computes outputs for the lanes of `mask`, leaving the other lanes of the outputs as they are. An output may be the
/// same register as an input. Immediate inputs are Lanes as well, with the same bits in all lanes, extended to 64 bits
/// by their sign (integers) or as bits (floats).
using WarpFunction = void (*)(Lanes* const* outputs, const Lanes* const* inputs, std::uint32_t mask);

/// Computes `count` elements of each output. A column is an array of values at their width: 1 byte (8-bit integers, and
/// predicates as 0 or 1), 2, 4 or 8. No output overlaps an input or another output.
using ColumnFunction = void (*)(void* const* outputs, const void* const* inputs, std::size_t count);

/// The register types of operands, so that decoding can turn immediates into bits: `f32` wants 0f3F800000 or 1.0 as
/// single bits, `f64` as double bits, the others integers.
enum class ImmediateType : std::uint8_t { integer, f16, f16x2, bf16, bf16x2, f32, f64 };

/// Which results PTX leaves open, so that nobody computes them before the GPU does.
enum class Open : std::uint8_t {
    never,         ///< PTX defines every result
    nan,           ///< a NaN result may have any payload
    zero_divisor,  ///< the last input is a divisor, and nothing is said of zero
    always,        ///< approximate: PTX gives a bound
};

inline constexpr std::size_t most_outputs = 4, most_inputs = 6;

/// One pure instruction, resolved: one function, or two in a row (a comparison and what its truth becomes; a widening
/// and a rounding). Operand order is that of the instruction: outputs first.
struct PureInstruction {
    WarpFunction first = nullptr;
    WarpFunction second = nullptr;  ///< its inputs: the results of `first`, then the inputs that `first` did not take
    ColumnFunction first_columns = nullptr;   ///< the same functions over columns; null where only the lanes' are compiled
    ColumnFunction second_columns = nullptr;
    ColumnFunction first_wide = nullptr;      ///< the same in wider vectors, where this processor has them (AVX2, FMA)
    ColumnFunction second_wide = nullptr;
    std::uint8_t outputs = 1;
    std::uint8_t inputs = 0;
    std::uint8_t first_inputs = 0;    ///< with `second`: how many inputs `first` takes
    std::uint8_t first_outputs = 0;   ///< with `second`: how many results `first` makes
    std::uint8_t column_elements = 1; ///< elements of the column functions in one value: 2 for .f32x2
    Open open = Open::never;
    ImmediateType output_type = ImmediateType::integer;  ///< of the first output
    std::array<ImmediateType, most_inputs> input_types = {};
    std::array<std::uint8_t, most_inputs> input_bytes = {};    ///< the width of each column
    std::array<std::uint8_t, most_outputs> output_bytes = {};
    std::array<std::uint8_t, 2> between_bytes = {};            ///< of the results of `first`
    bool reads_carry = false;   ///< addc, subc, madc: the condition code follows the last input as one more input (bit 0)
    bool writes_carry = false;  ///< .cc: the condition code follows the last output as one more output

    /// Executes it. `outputs` and `inputs` hold as many pointers as the instruction has (plus the condition code).
    void run(Lanes* const* to, const Lanes* const* from, std::uint32_t mask) const {
        if (second == nullptr) first(to, from, mask);
        else run_both(to, from, mask);
    }

    /// Executes it over columns, in the sense of ColumnFunction. Not for those with a condition code.
    void run_columns(void* const* to, const void* const* from, std::size_t count) const;

    /// The same instruction on columns of other widths, as those of the registers that hold its operands: narrower
    /// values are read from the low bytes, and written extended by their sign.
    [[nodiscard]] PureInstruction with_widths(std::span<const std::uint8_t> outputs, std::span<const std::uint8_t> inputs) const;

    /// Whether PTX leaves open what the first lane's result is, after `run` has computed one.
    [[nodiscard]] bool leaves_open(const Lanes* const* outputs, const Lanes* const* inputs) const;

  private:
    void run_both(Lanes* const* to, const Lanes* const* from, std::uint32_t mask) const;
    void run_both_columns(void* const* to, const void* const* from, std::size_t count) const;
    void run_by_lanes(void* const* to, const void* const* from, std::size_t count) const;
};

/// Resolves opcode and modifiers (`fma`, {`.rn`, `.f32`}); nullopt when it is not a pure instruction that is known here.
/// `setp.x p|q` has two outputs when `pair` is true. `operands` is their number as written, which decides forms with
/// an optional operand (`setp.lt.and.f32 p, a, b, c`).
[[nodiscard]] std::optional<PureInstruction> find_pure(std::string_view opcode, std::span<const std::string_view> modifiers,
                                                       std::size_t operands, bool pair);

}  // namespace ptxgraft::arithmetic
