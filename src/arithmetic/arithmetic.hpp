#pragma once
/// @file arithmetic.hpp
/// The values of PTX: every instruction that computes register outputs from register inputs. It knows no
/// memory, no control flow and no other lane. Each is one C++ function on the values of one lane, which runs
/// over columns of values: the 32 lanes of a warp's register (the emulator), or the rows of a table (stub
/// programs evaluated on the CPU).

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ptxgraft::arithmetic {

/// Computes `count` elements of each output. A column is an array of values at their width: 1 byte (8-bit
/// integers, and predicates as 0 or 1), 2, 4 or 8. An output may be the same column as an input; otherwise
/// they do not overlap.
using ColumnFunction = void (*)(void* const* outputs, const void* const* inputs, std::size_t count);

/// Executes `count` operations of one function, one after the other, on columns of 32 values that lie behind
/// `columns`. For each, `places` has the result's and then the sources' place: the bits of `place_mask` are
/// its offset in bytes.
using RowFunction = void (*)(std::byte* columns, const std::uint32_t* places, std::uint32_t place_mask,
                             std::size_t count);
/// For the inner loops of products: the row function of a column function, null where there is none.
[[nodiscard]] RowFunction row_function(ColumnFunction function);

/// The processors that functions are compiled for. All give the same bits.
enum class Processor : std::uint8_t {
    baseline,  ///< x86-64, or whatever the build is for
    avx2,      ///< with FMA and BMI2
    avx512,    ///< F, BW, DQ, VL
};
[[nodiscard]] Processor this_processor();

/// One function, for each processor; null where the one before does.
using ColumnFunctions = std::array<ColumnFunction, 3>;

/// The register types of operands, so that decoding can turn immediates into bits: `f32` wants 0f3F800000 or
/// 1.0 as single bits, `f64` as double bits, the others integers.
enum class ImmediateType : std::uint8_t { integer, predicate, f16, f16x2, bf16, bf16x2, f32, f64 };

/// Which results PTX leaves open, so that nobody computes them before the GPU does.
enum class Open : std::uint8_t {
    never,         ///< PTX defines every result
    nan,           ///< a NaN result may have any payload
    zero_divisor,  ///< the last input is a divisor, and nothing is said of zero
    always,        ///< approximate: PTX gives a bound
};

inline constexpr std::size_t most_outputs = 4, most_inputs = 6;

/// One pure instruction, resolved: one function, or two in a row (a comparison and what its truth becomes; a
/// widening and a rounding). Operand order is that of the instruction: outputs first.
struct PureInstruction {
    ColumnFunctions first = {};
    /// its inputs: the results of `first`, then the inputs that `first` did not take
    ColumnFunctions second = {};
    Processor processor = Processor::baseline;
    std::uint8_t outputs = 1;
    std::uint8_t inputs = 0;
    std::uint8_t first_inputs = 0;     ///< with `second`: how many inputs `first` takes
    std::uint8_t first_outputs = 0;    ///< with `second`: how many results `first` makes
    std::uint8_t column_elements = 1;  ///< elements of the column functions in one value: 2 for .f32x2
    Open open = Open::never;
    ImmediateType output_type = ImmediateType::integer;  ///< of the first output
    std::array<ImmediateType, most_inputs> input_types = {};
    std::array<std::uint8_t, most_inputs> input_bytes = {};  ///< the width of each value
    std::array<std::uint8_t, most_outputs> output_bytes = {};
    std::array<bool, most_outputs> output_signed = {};  ///< a signed integer
    std::array<std::uint8_t, 2> between_bytes = {};     ///< of the results of `first`
    /// the width of each column; zero: that of the value
    std::array<std::uint8_t, most_inputs> in_column_bytes = {};
    std::array<std::uint8_t, most_outputs> out_column_bytes = {};
    /// addc, subc, madc: the condition code follows the last input as one more input (a predicate)
    bool reads_carry = false;
    bool writes_carry = false;  ///< .cc: the condition code follows the last output as one more output

    [[nodiscard]] bool has_second() const { return second[0] != nullptr; }
    [[nodiscard]] ColumnFunction first_function() const { return pick(first); }
    [[nodiscard]] ColumnFunction second_function() const { return pick(second); }
    /// Operands with the condition code.
    [[nodiscard]] std::size_t all_outputs() const { return outputs + (writes_carry ? 1u : 0u); }
    [[nodiscard]] std::size_t all_inputs() const { return inputs + (reads_carry ? 1u : 0u); }

    /// Executes it over columns, in the sense of ColumnFunction.
    void run_columns(void* const* to, const void* const* from, std::size_t count) const;
    /// Executes it once. Values stand in the low bits; results are extended to 64 bits, signed integers by
    /// their sign.
    void run(std::uint64_t* to, const std::uint64_t* from) const;

    /// The same instruction on columns of other widths, as those of the registers that hold its operands:
    /// narrower values are read from the low bytes, and written extended by their sign.
    [[nodiscard]] PureInstruction with_widths(std::span<const std::uint8_t> outputs,
                                              std::span<const std::uint8_t> inputs) const;
    /// The same instruction as another processor has it, which must be one that this one can be.
    [[nodiscard]] PureInstruction on(Processor other) const;

    /// Whether PTX leaves open what the result is, after `run` has computed one.
    [[nodiscard]] bool leaves_open(const std::uint64_t* outputs, const std::uint64_t* inputs) const;

  private:
    [[nodiscard]] ColumnFunction pick(const ColumnFunctions& of) const;
    void run_both(void* const* to, const void* const* from, std::size_t count) const;
    void run_converted(void* const* to, const void* const* from, std::size_t count) const;
};

/// The function from a column of one width to one of another, 1 to 16 bytes: the lower bytes, or extended by
/// zeros or the sign.
[[nodiscard]] ColumnFunction extension(std::uint8_t from_bytes, std::uint8_t to_bytes, bool is_signed);

/// Resolves opcode and modifiers, in the manual's order (`fma`, {`.rn`, `.f32`}); nullopt when it is no pure
/// instruction that is known here. `setp.x p|q` has two outputs when `pair` is true. `operands` is their
/// number as written, which decides forms with an optional operand (`setp.lt.and.f32 p, a, b, c`). What video
/// instructions take as parts of operands, video.cpp says.
[[nodiscard]] std::optional<PureInstruction> find_pure(std::string_view opcode,
                                                       std::span<const std::string_view> modifiers,
                                                       std::size_t operands, bool pair);

}  // namespace ptxgraft::arithmetic
