#pragma once
// The first values of a variable (PTX ISA manual, 5.4.4), for stages that check or compute them.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ptxgraft/syntax.hpp"

namespace ptxgraft::syntax {

/// One value: a constant expression; the address of a variable or function, `x`, `x+4`, `generic(x)+4`; or
/// one byte of either, `0xFF00(x+4)`.
struct InitialValue {
    std::span<const Token> tokens;
    const Token* mask = nullptr;    ///< `0xFF00`
    const Token* symbol = nullptr;  ///< `x`
    bool is_generic = false;        ///< `generic(x)`
    std::span<const Token>
        constant;  ///< the expression; with a symbol what is added to it, its `+` included, or nothing
};

/// Of `0xFF00` 8: where the byte begins that a mask takes; nothing when it takes none.
[[nodiscard]] std::optional<unsigned> mask_shift(const Token& mask);

/// The values of an initialiser that the parser took, one after another. They stand in lists as deep as the
/// variable has sizes, a vector's elements being the innermost; a list may be shorter than its size, but a
/// vector's has all elements.
class InitialValues {
  public:
    InitialValues(const Statement::Variable& variable, const Statement::Declarator& declarator);
    /// Nothing at the end, and where the lists are wrong: then there is a problem.
    [[nodiscard]] std::optional<InitialValue> next();
    [[nodiscard]] const std::string& problem() const { return problem_; }
    /// Where the problem is.
    [[nodiscard]] const Token& place() const { return tokens_[at_]; }

  private:
    bool open();
    bool close();
    bool count();
    bool fails(std::string problem);
    [[nodiscard]] std::size_t end_of_value() const;

    std::vector<std::uint64_t> extents_;  // 0: open
    std::span<const Token> tokens_;
    bool is_vector_;
    std::vector<std::uint64_t> counts_;  // of the open lists
    std::size_t at_ = 0;
    std::string problem_;
};

/// The first extent of an open array, `a[] = {…}`: how many values or lists stand in its outermost list.
[[nodiscard]] std::uint64_t count_lists(std::span<const Token> initialiser);

}  // namespace ptxgraft::syntax
