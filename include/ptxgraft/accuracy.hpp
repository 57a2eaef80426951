#pragma once
/// @file accuracy.hpp
/// The error of a stack program over all of its inputs, and whether two programs are the same function: what
/// a search has to know of the program that it reports. Both are found by running every input, on several
/// threads; all 2^32 of a program of four f32 instructions take seconds.
///
///     const auto gelu = [](std::span<const double> x, std::span<double> expected) {
///         for (std::size_t i = 0; i < x.size(); ++i)
///             expected[i] = x[i] / 2 * std::erfc(-x[i] * std::numbers::sqrt2 / 2);
///     };
///     const auto found = stack::largest_error(program, machine, gelu, {
///         .ranges = stack::inputs_between(Type::f32, -8, 8), .measure = stack::ErrorMeasure::absolute});
///     // found->error, where: found->input, and with which results of approximate instructions: found->run

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "ptxgraft/error.hpp"
#include "ptxgraft/evaluate.hpp"
#include "ptxgraft/stack.hpp"

namespace ptxgraft::stack {

/// Inputs by their bits, both ends included. Where a program has several registers as inputs these are the
/// bits of all, the first register's lowest.
struct InputRange {
    std::uint64_t first = 0;
    std::uint64_t last = 0xFFFFFFFF;
    friend bool operator==(const InputRange&, const InputRange&) = default;
};

/// The f32, f16 or bf16 from `low` to `high`, both included, zeros of both signs with them; empty for other
/// types.
[[nodiscard]] PTXGRAFT_API std::vector<InputRange> inputs_between(Type type, double low, double high);

enum class ErrorMeasure : std::uint8_t {
    absolute,
    relative,  ///< of the expected value's magnitude, see ErrorOptions::floor
    ulp,       ///< units in the last place that the result's type has at the expected value; of integers 1
};

struct ErrorOptions {
    CompileOptions compile = {};
    /// the inputs; empty: all
    std::vector<InputRange> ranges = {};
    ErrorMeasure measure = ErrorMeasure::relative;
    /// relative errors are of no smaller magnitude than this: near a zero the absolute error counts
    double floor = 0;
    /// every input is evaluated in each; of a program without approximate instructions in the first alone
    std::vector<RunOptions> runs = {{Approximation::exact, 0},
                                    {Approximation::up, 0},
                                    {Approximation::down, 0},
                                    {Approximation::hashed, 0}};
    /// ends where an error passes it: what is found then is the largest error of that block of inputs
    double stop_above = std::numeric_limits<double>::infinity();
    unsigned threads = 0;  ///< 0: one per processor
};

struct LargestError {
    double error = 0;  ///< infinite where one of result and expected value is NaN, or infinite, and not both
    std::uint64_t input = 0;  ///< its bits
    double expected = 0, result = 0;
    RunOptions run = {};
    std::uint64_t inputs = 0;  ///< how many were evaluated
    bool is_complete = true;   ///< false: it stopped, and inputs that were not evaluated may be worse
};

/// What a program should give: `expected[i]` for `inputs[i]`. Called from several threads at once; must not
/// throw.
using Reference = std::function<void(std::span<const double> inputs, std::span<double> expected)>;

/// The largest error of a program that reads one register of 16 or 32 bits (an integer, f16, bf16, f32) and
/// writes one number. NaN is right where NaN is expected, an infinity where the expected value overflows to
/// it. The result does not depend on the number of threads. Errors: those of Evaluator::prepare;
/// Errc::instruction_not_evaluable for a program with other registers, and for a range past its last input.
[[nodiscard]] PTXGRAFT_API Expected<LargestError> largest_error(ProgramView program, const Machine& machine,
                                                                const Reference& reference,
                                                                const ErrorOptions& options = {});

struct DifferenceOptions {
    CompileOptions compile = {};  ///< of both programs
    std::vector<InputRange> ranges = {};
    unsigned threads = 0;
};

/// Where two programs differ.
struct Difference {
    std::uint64_t input = 0;     ///< the bits of all inputs
    std::size_t output = 0;      ///< the register of the signature
    std::uint64_t expected = 0;  ///< what the reference gives, in bits
    std::uint64_t result = 0;
};

/// The first input for which a program does not give what another one does, bit for bit; none: they are the
/// same function of these inputs. The registers that they read may have 32 bits together (two of 16 bits,
/// four of 8, preds), so that all inputs can be run. Approximate instructions give their exact values.
/// Errors: as largest_error.
[[nodiscard]] PTXGRAFT_API Expected<std::optional<Difference>> find_difference(
    ProgramView program, ProgramView reference, const Machine& machine,
    const DifferenceOptions& options = {});

}  // namespace ptxgraft::stack
