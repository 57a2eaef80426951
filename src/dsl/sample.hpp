#pragma once
// The operands that isa::sample_operands writes, as those of the emitter: examples for coverage.hpp, and for
// the tests of every spelling.

#include <vector>

#include "ptxgraft/dsl/any_operand.hpp"

namespace ptxgraft::dsl {

struct SampleOptions {
    bool with_optional = false;  ///< operands that may be there, but samplers
    bool with_sampler = false;   ///< `sampler_`, where a row has one
};
[[nodiscard]] std::vector<AnyOperand> sample_operands(const isa::Match& match, const SampleOptions& options);

/// The instruction as a builder prints it, without its tab and line end; the builder's error where the check
/// refuses it.
[[nodiscard]] Expected<std::string> sample_line(const isa::Match& match, const SampleOptions& options = {});

}  // namespace ptxgraft::dsl
