#pragma once
// Whether the operands of an instruction are what a matched row asks for.

#include <array>
#include <optional>
#include <string>

#include "isa/match.hpp"
#include "isa/symbols.hpp"

namespace ptxgraft::isa {

/// A constant of a type of constants (PTX ISA 4.5) can stand for a value of the register type.
[[nodiscard]] bool takes_constant(RegisterType type, syntax::Constant::Type constant);

/// What is wrong with an instruction's operands. Cheap to make; `message` renders it.
struct OperandProblem {
    enum class Kind : std::uint8_t {
        count,           // of operands
        not_allowed,     // its kind: an address for a register …
        constant,        // a constant where none may stand
        constant_kind,   // a floating constant for an integer …
        constant_value,  // an expression without a value: 5/0
        range,
        type,       // of a register
        neighbour,  // an element of a vector whose type does not go with those before it
        undeclared,
        vector_length,
        space,  // of a variable in an address
        sink,
        special,
        negation,
        no_array,   // `x[1]` of a variable that is none
        component,  // of a vector, or a register and a number, where only a name is read
        addition,   // of a number to a register of floats
        minus,      // of a register
    } kind;
    const syntax::Operand* operand = nullptr;  // null: the instruction as a whole
    const OperandRule* rule = nullptr;
    const Symbol* symbol = nullptr;
    Space space = Space::none;
    std::size_t progress = 0;  // operands that were right before it: the row with most is what was meant

    [[nodiscard]] Errc code() const;
    [[nodiscard]] std::string message(const Match& match) const;

  private:
    [[nodiscard]] Error constant_error() const;
};

/// The first wrong operand; nothing when all are right.
[[nodiscard]] std::optional<OperandProblem> check_operands(const Match& match,
                                                           std::span<const syntax::Operand> operands,
                                                           const SymbolSource& symbols);

}  // namespace ptxgraft::isa
