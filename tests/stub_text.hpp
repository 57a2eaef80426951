#pragma once
// Puts stubs into a kernel of their own, so that tests can assemble them.

#include <string>

#include "ptxgraft/link.hpp"
#include "ptxgraft/site.hpp"

namespace ptxgraft::test {

inline std::string declarations(const Signature& signature) {
    std::string text;
    for (const SiteOperand& operand : signature.operands)
        text += "\t.reg " + std::string(register_type(operand.type)) + " " + operand.register_name +
                (operand.count == 0 ? "" : "<" + std::to_string(operand.count) + ">") + ";\n";
    return text;
}

inline std::string kernel(const Signature& signature, const std::string& body) {
    return ".version 9.0\n.target sm_100\n.address_size 64\n.visible .entry k() {\n" +
           declarations(signature) + body + "\tret;\n}\n";
}

inline Expected<Cubin> assemble(const std::string& ptx) {
    return default_assembler().assemble(ptx, {.optimisation = 0});
}

}  // namespace ptxgraft::test
