#pragma once
// Instructions of a shape that was found right before. The shape is all that the check of an instruction
// looks at: its name, the kinds and types of its operands' names, its constants and punctuation. Two
// instructions of one shape are both right or both wrong.

#include <deque>
#include <string>
#include <string_view>
#include <variant>

#include "isa/symbols.hpp"
#include "syntax/name_map.hpp"
#include "syntax/token_view.hpp"

namespace ptxgraft::isa {

class Shapes {
  public:
    /// Makes the shape of an instruction; true when one of that shape was right.
    bool is_right(const syntax::TokenView& instruction, const Symbols& symbols);
    /// The instruction that was asked for last is right.
    void remember();

  private:
    [[nodiscard]] bool make(const syntax::TokenView& tokens, const Symbols& symbols);
    [[nodiscard]] char* add(const syntax::TokenView& tokens, std::size_t at, const Symbols& symbols,
                            char* to);
    [[nodiscard]] std::string_view shape() const { return {buffer_.data(), size_}; }

    std::string buffer_;
    // of the shape in the buffer; 0: the instruction must be looked at by itself
    std::size_t size_ = 0;
    std::deque<std::string> kept_;
    syntax::NameMap<std::monostate> right_;  // views of kept_
};

}  // namespace ptxgraft::isa
