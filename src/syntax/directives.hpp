#pragma once
// The words of PTX that begin with a dot and are no modifiers (PTX ISA manual, chapters 5 and 11), by what
// follows them.

#include <array>
#include <cstdint>
#include <string_view>

namespace ptxgraft::syntax {

enum class DirectiveClass : std::uint8_t {
    unknown,
    version,         // one number
    target,          // words with commas
    address_size,    // one integer
    linkage,         // before a function or variable
    function,        // `.entry`, `.func`
    space,           // begins a variable declaration
    alignment,       // `.align N`
    attribute,       // `.attribute(.managed)`
    vector,          // `.v4`, before the type
    type,            // the last word before the names of a declaration
    pointer,         // `.ptr`, behind the type of a parameter
    location,        // `.loc`
    file,            // `.file`
    section,         // `.section NAME { … }`
    pragma,          // strings
    alias,           // two names
    branch_targets,  // labels
    call_targets,    // functions
    prototype,       // `.callprototype`
    entry_limit,     // between an entry's head and its body, with integers
    function_abi,    // behind a function's head
    register_limit,  // before the body of an entry or, behind the rest, of a function
    part,            // a word inside of another directive
};

struct Directive {
    std::string_view word;
    DirectiveClass kind = DirectiveClass::unknown;
    bool reserved = false;       // ptxas takes it for no modifier of an instruction
    std::uint8_t arguments = 0;  // of limits and function_abi: how many integers at most
};

/// The row of a word; one of kind `unknown` for words that are in no row.
[[nodiscard]] const Directive& directive(std::string_view word);

/// For each first letter, the sizes of the reserved words that begin with it, a bit for each: nearly every
/// modifier is known by them as none.
extern const std::array<std::uint32_t, 256> reserved_sizes;

/// True for a word that is no modifier of an instruction. It begins with a dot.
[[nodiscard]] inline bool is_reserved(std::string_view word) {
    const std::uint32_t sizes = reserved_sizes[static_cast<unsigned char>(word[1])];
    return word.size() < 32 && (sizes >> word.size() & 1) != 0 && directive(word).reserved;
}

[[nodiscard]] inline DirectiveClass directive_class(std::string_view word) { return directive(word).kind; }

}  // namespace ptxgraft::syntax
