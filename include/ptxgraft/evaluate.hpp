#pragma once
/// @file evaluate.hpp
/// Runs stack programs on the CPU over arrays of inputs, bit for bit what the PTX that they compile to
/// computes, wherever PTX defines the result. Of approximate instructions (`ex2.approx`) PTX gives only a
/// bound; here they are exact to rounding. Where PTX leaves open which NaN comes out, here it is what the
/// instructions that ptxas takes give: of f32 0x7FFFFFFF and of f16 and bf16 0x7FFF (`abs` and `neg` too), of
/// `cvt.f32.bf16`, `cvt.f32.f32` and `cvt.f64.f64`, which are moves, the input's bits; of other f64 the first
/// input that is one, quiet.
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

/// A program made ready for evaluation: its live instructions in order. Reads the program once; keeps nothing
/// of it. Threads: any number may run one at once.
class PTXGRAFT_API Evaluator {
  public:
    /// Errors: those of compile; Errc::instruction_not_evaluable for effects, special registers and forms
    /// of which only hardware knows the result.
    [[nodiscard]] static Expected<Evaluator> make(ProgramView program, const Machine& machine,
                                                  const CompileOptions& options = {});
    /// Works in blocks that stay in the first cache, and allocates nothing unless thousands of values are
    /// alive at a time.
    void run(const Columns& columns) const;
    [[nodiscard]] std::uint32_t instruction_count() const;

    struct Plan;

  private:
    std::shared_ptr<const Plan> plan_;
};

/// make and run in one call.
[[nodiscard]] PTXGRAFT_API Expected<void> evaluate(ProgramView program, const Machine& machine,
                                                   const Columns& columns,
                                                   const CompileOptions& options = {});

}  // namespace ptxgraft::stack
