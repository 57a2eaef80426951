#pragma once
// What a name in a stub's text may stand for: an operand's register, a register that the stub declares, a
// special register. Scopes nest as braces do.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/site.hpp"
#include "ptxgraft/syntax.hpp"

namespace ptxgraft {

/// `%tid`, `%laneid`, `%envreg3` … (PTX ISA chapter 10), and WARP_SZ.
bool is_special_register(std::string_view name);

/// The register of an operand: one of its elements.
struct OperandRegister {
    std::size_t operand;
    std::uint32_t element;
};

struct Name {
    std::optional<OperandRegister> operand;  ///< else declared by the stub
    std::string register_name;
};

class Names {
  public:
    explicit Names(const Signature& signature);

    void open() { scopes_.emplace_back(); }
    void close() { scopes_.pop_back(); }
    /// Declares registers in the innermost scope. Refuses names that
    /// an operand or the same scope has.
    Expected<void> declare(const syntax::Statement::Variable& variable, Span place);
    /// An operand by register or plain name, or a declared register; null for another name.
    [[nodiscard]] const Name* find(std::string_view name) const;

  private:
    struct Family {
        std::string stem;
        std::uint32_t count;
        Name name;
    };
    struct Scope {
        std::map<std::string, Name, std::less<>> names;
        std::vector<Family> families;  // `%r<5>`
    };
    std::map<std::string, Name, std::less<>> operands_;
    std::vector<Scope> scopes_;
};

}  // namespace ptxgraft
