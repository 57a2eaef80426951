#pragma once
// The registers that a name in a stub's text may stand for: an operand's, one that the stub declares, a
// special one.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ptxgraft/site.hpp"
#include "ptxgraft/syntax.hpp"
#include "syntax/scopes.hpp"

namespace ptxgraft::stub_check {

/// True for `%tid`, `%laneid`, `%envreg3` … (PTX ISA chapter 10), and for WARP_SZ.
[[nodiscard]] bool is_special_register(std::string_view name);

/// The register of an operand: one of its elements.
struct OperandRegister {
    std::size_t operand;
    std::uint32_t element;
};

/// The names that a walk over a stub's text sees: the operands' outside, the declared ones in nested scopes.
/// The signature and the declared names must outlive it.
class Names {
  public:
    /// What a name stands for: an operand's register, or one that the stub declares.
    struct Meaning {
        std::optional<OperandRegister> operand;
    };

    explicit Names(const Signature& signature);

    void open() { scopes_.open(); }
    void close() { scopes_.close(); }
    /// Declares registers in the innermost scope. Refuses names that an operand or the same scope has.
    Expected<void> declare(const syntax::Statement::Variable& variable, Span place);
    /// Finds an operand by its register's name or its plain one, and declared registers; nothing for another
    /// name.
    [[nodiscard]] std::optional<Meaning> find(std::string_view name) const;
    /// The name of an operand's register, as the site has it.
    [[nodiscard]] std::string register_name(OperandRegister r) const;

  private:
    [[nodiscard]] bool hides_operand() const;

    const Signature& signature_;
    syntax::Scopes scopes_;  // an operand has its number in the signature, what is declared a larger one
    syntax::DeclarationIndex next_;
};

}  // namespace ptxgraft::stub_check
