#pragma once
// Instructions of a shape that was found right before. The shape is all that the check of an instruction
// looks at: its name, the kinds and types of its operands' names, its constants and punctuation. Two
// instructions of one shape are both right or both wrong.

#include <deque>
#include <string>
#include <string_view>
#include <variant>

#include "isa/instruction_verifier.hpp"
#include "isa/symbols.hpp"
#include "syntax/name_map.hpp"
#include "syntax/token_view.hpp"

namespace ptxgraft::isa {

class Shapes {
  public:
    /// What follows is of a module with this setting: what was right with another one need not be.
    void use_for(const InstructionVerifier::Setting& setting);
    /// Makes the shape of an instruction; true when one of that shape was right.
    bool is_right(const syntax::TokenView& instruction, const Symbols& symbols);
    /// The instruction that was asked for last is right.
    void remember();

  private:
    static constexpr std::size_t most = 1 << 16;  // then all are forgotten
    void forget();
    [[nodiscard]] bool make(const syntax::TokenView& tokens, const Symbols& symbols);
    [[nodiscard]] char* add(const syntax::TokenView& tokens, std::size_t at, const Symbols& symbols,
                            char* to);
    [[nodiscard]] std::string_view shape() const { return {buffer_.data(), size_}; }

    InstructionVerifier::Setting setting_;
    std::string buffer_;
    // of the shape in the buffer; 0: the instruction must be looked at by itself
    std::size_t size_ = 0;
    std::deque<std::string> kept_;
    syntax::NameMap<std::monostate> right_;  // views of kept_
};

}  // namespace ptxgraft::isa
