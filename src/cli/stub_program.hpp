#pragma once
/// @file stub_program.hpp
/// The program of the verb `stub`, and what it is compiled for.

#include <memory>
#include <string>

#include "ptxgraft/expression.hpp"
#include "ptxgraft/stack.hpp"

namespace ptxgraft::cli {

enum class Language { stack, expression, ptx };

struct StubProgram {
    std::string text;
    std::string file;  ///< as diagnostics name it
    Language language = Language::stack;
};

/// What a program is compiled for, and how.
struct StubContext {
    Signature signature;
    Policy policy;
    std::shared_ptr<const stack::InstructionSet> set;
    isa::Architecture target = {};
    ExpressionOptions expression = {};
    bool is_strict = false;  ///< what is missing or left over is an error, else a warning

    [[nodiscard]] stack::CompileOptions compile_options() const;
};

/// Compiles, or ends the verb. Warnings go to standard error.
[[nodiscard]] Stub compile_stub(const StubProgram& program, const StubContext& context);

/// Runs the program over values such as `x=1,2,3` and returns a line per output: `z = 5 7 9`, with `bits` as
/// register contents.
[[nodiscard]] std::string evaluate_stub(const StubProgram& program, const StubContext& context,
                                        const std::vector<std::string>& values, bool bits);

}  // namespace ptxgraft::cli
