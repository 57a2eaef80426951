#pragma once
// The directives of PTX (PTX ISA manual, chapter 11) by what follows them.

#include <cstdint>
#include <string_view>

namespace ptxgraft::syntax {

enum class DirectiveClass : std::uint8_t {
    unknown,
    version,       // one number
    target,        // words with commas
    address_size,  // one integer
    linkage,       // before a function or variable
    function,      // `.entry`, `.func`
    space,         // a variable declaration
    location,      // `.loc`
    file,          // `.file`
    section,       // `.section NAME { … }`
    list,          // operands up to a semicolon
    prototype,     // `.callprototype`
};

[[nodiscard]] DirectiveClass directive_class(std::string_view word);

}  // namespace ptxgraft::syntax
