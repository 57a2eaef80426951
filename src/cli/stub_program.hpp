#pragma once
/// @file stub_program.hpp
/// The program of the verb `stub`, and what it is compiled for.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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

/// What an output of a program holds at each point.
struct OutputValues {
    std::string name;  ///< "z", "frag[2]"
    Type type;
    std::vector<std::uint64_t> bits;  ///< the register's contents
};
/// Runs the program over values such as `x=1,2,3`.
[[nodiscard]] std::vector<OutputValues> evaluate_stub(const StubProgram& program, const StubContext& context,
                                                      const std::vector<std::string>& values);
/// A value as one writes it: `0.5`, `true`, `nan`; of two halves the register's contents.
[[nodiscard]] std::string value_text(Type type, std::uint64_t bits);
/// The register's contents: `0x3f000000`.
[[nodiscard]] std::string bits_text(Type type, std::uint64_t bits);

}  // namespace ptxgraft::cli
