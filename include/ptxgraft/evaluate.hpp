#pragma once
/// @file evaluate.hpp
/// Runs stack programs on the CPU over arrays of inputs, bit for bit what the PTX that they compile to
/// computes, wherever PTX defines the result. Of approximate instructions (`ex2.approx`) PTX gives only a
/// bound; here they are exact to rounding, or lie at an edge of that bound (Approximation). Where PTX leaves
/// open which NaN comes out, here it is what the instructions that ptxas takes give: of f32 0x7FFFFFFF and of
/// f16 and bf16 0x7FFF (`abs` and `neg` too), of `cvt.f32.bf16`, `cvt.f32.f32` and `cvt.f64.f64`, which are
/// moves, the input's bits; of other f64 the first input that is one, quiet.
///
/// Moves that pack have their first element in the low bits, and those that unpack give the low bits first:
/// `a b mov.b64:b32x2` is a | b << 32. Moves of vectors (`mov.v2.b32`) move each element. A vector from one
/// scalar of its elements' width (`mov.v2.b32:to.b32x2`) is not in the manual; here and on the emulator it is
/// what ptxas makes of it: each element is its part of the scalar, zero-extended, the low bits first (of b32
/// two halves or four bytes).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "ptxgraft/error.hpp"
#include "ptxgraft/stack.hpp"

namespace ptxgraft::stack {

/// The values of one register of the signature (a scalar operand, or one element of a fragment) at all
/// points: `count` elements in the register's width, 1 (pred: 0 or 1), 2, 4 or 8 bytes each.
struct Columns {
    /// one per register of the signature in its order; those of `out` operands are not read and may be null
    std::span<const void* const> inputs;
    /// one per register; those of `in` operands are not written and may be null. May be equal to inputs
    std::span<void* const> outputs;
    std::size_t count = 0;
};

/// What approximate instructions (`.approx`, `.full`) give. A program is right if it is right whatever they
/// give within the manual's bounds: a search that sees exact results alone will use `tanh.approx`, whose
/// error may be 2^-11, as an exact tanh. What the manual fixes (of zeros, infinities, NaNs) is the same in
/// all. Of `sin` and `cos` beyond 100 pi, where it states no bound, the edges are 1 and -1; of the
/// approximate forms of f64, where it states none either, they are 2^-20 of the value, and of
/// `rsqrt.approx.f64` 2^-52.
enum class Approximation : std::uint8_t {
    exact,  ///< the exact value, rounded once
    up,     ///< the largest value within the bound
    down,   ///< the smallest
    /// one of both, by a hash of the seed, the instruction's place in the program and its inputs' bits
    hashed,
};

struct RunOptions {
    Approximation approximation = Approximation::exact;
    std::uint64_t seed = 0;  ///< of Approximation::hashed
};

/// A program made ready for evaluation, one after the other:
///
///     stack::Evaluator evaluator;                            // one per thread, kept
///     for (const stack::Program& candidate : candidates) {
///         TRY(evaluator.prepare(candidate, machine, stack::mutated));
///         evaluator.run(columns);
///     }
///
/// It keeps its memory, at most twice what its largest program needed: once it has seen a program of a size,
/// no program up to it allocates. Nothing of the program or the machine need live on.
///
/// **Constants** may be changed without preparing the program again, as a search tunes them, where they are
/// data (CompileOptions::constants = Constants::data).
///
/// Threads: any number may run one evaluator at once, none while it is prepared or its constants are set; any
/// number may prepare evaluators of their own.
class PTXGRAFT_API Evaluator {
  public:
    Evaluator();
    ~Evaluator();
    Evaluator(Evaluator&&) noexcept;
    Evaluator& operator=(Evaluator&&) noexcept;

    /// prepare, of a new evaluator.
    [[nodiscard]] static Expected<Evaluator> make(ProgramView program, const Machine& machine,
                                                  const CompileOptions& options = {});

    /// In the place of the program before. Errors: those of compile; Errc::instruction_not_evaluable for
    /// effects, special registers and forms of which only hardware knows the result. After an error there is
    /// no program: run does nothing.
    [[nodiscard]] Expected<void> prepare(ProgramView program, const Machine& machine,
                                         const CompileOptions& options = {});

    /// The bits of the constants that are data: number and order of Compiled::constants.
    [[nodiscard]] std::span<const std::uint64_t> constants() const;
    /// Others in their place. Errors: Errc::constants_differ for another number of them.
    [[nodiscard]] Expected<void> set_constants(std::span<const std::uint64_t> constants);

    /// Works in blocks that stay in the first cache, and allocates nothing unless thousands of values are
    /// alive at a time.
    void run(const Columns& columns, const RunOptions& options = {}) const;
    [[nodiscard]] std::uint32_t instruction_count() const;
    /// Whether it has approximate instructions; without, every Approximation gives the same.
    [[nodiscard]] bool is_approximate() const;

    struct Plan;

  private:
    std::unique_ptr<Plan> plan_;
};

/// Evaluator::make and run in one call.
[[nodiscard]] PTXGRAFT_API Expected<void> evaluate(ProgramView program, const Machine& machine,
                                                   const Columns& columns,
                                                   const CompileOptions& options = {});

}  // namespace ptxgraft::stack
