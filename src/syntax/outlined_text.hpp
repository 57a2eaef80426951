#pragma once
/// @file outlined_text.hpp
/// The text of a function that was made of statements of another one, and of the call in their place:
/// registers go through `.param`s (PTX ISA 7.1, 5.1.6.2).

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ptxgraft::syntax {

/// How a register of a type goes through a parameter.
struct Passage {
    std::string_view type;    ///< of the register
    std::string_view access;  ///< of ld.param and st.param; empty for predicates, which go as .b32
    std::uint32_t size;
};
/// Of a type such as ".f32"; none for types that no parameter has.
[[nodiscard]] std::optional<Passage> passage_of(std::string_view type);

/// A register that goes in or comes out, or one of the function alone.
struct Passed {
    std::string name;
    Passage passage;
};

class OutlinedText {
  public:
    /// `prefix`: what the parameters' names begin with. One register comes out as a scalar, several as an
    /// array of bytes.
    OutlinedText(std::string name, std::string prefix, std::vector<Passed> in, std::vector<Passed> out);
    /// `.func … { … }` around a body, which uses the `declared` registers.
    [[nodiscard]] std::string definition(std::span<const Passed> declared, std::string_view body) const;
    /// `.func … ;`: the function without its body.
    [[nodiscard]] std::string prototype() const { return head() + ";\n"; }
    /// The block that calls it; `line` comes before each of its statements.
    [[nodiscard]] std::string call(const std::string& line) const;

  private:
    [[nodiscard]] std::string head() const;
    [[nodiscard]] bool has_predicates() const;
    [[nodiscard]] std::string argument(std::size_t i) const;
    [[nodiscard]] std::string parameter_declaration(std::size_t i) const;
    [[nodiscard]] std::string result_declaration() const;
    [[nodiscard]] std::string load(const Passed& to, const std::string& from) const;
    [[nodiscard]] std::string store(const Passed& from, const std::string& to) const;
    [[nodiscard]] std::string flag_declaration() const;

    std::string name_, prefix_;
    std::vector<Passed> in_, out_;
    std::vector<std::string> results_;  // places of what comes out
};

/// Why an instruction has to stay in the function that it stands in; empty when it may move to another.
[[nodiscard]] std::string_view bound_to_function(std::string_view opcode);
/// addc, subc, madc
[[nodiscard]] bool reads_carry(std::string_view opcode);

}  // namespace ptxgraft::syntax
