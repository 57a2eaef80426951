#pragma once
// Puts stubs into a kernel of their own, so that tests can assemble them.

#include <gtest/gtest.h>

#include <string>

#include "ptxgraft/link.hpp"
#include "ptxgraft/site.hpp"
#include "support/kernel_text.hpp"

namespace ptxgraft::test {

inline std::string declarations(const Signature& signature) {
    std::string text;
    for (const SiteOperand& operand : signature.operands)
        text += "\t.reg " + std::string(register_type(operand.type)) + " " + operand.register_name +
                (operand.count == 0 ? "" : "<" + std::to_string(operand.count) + ">") + ";\n";
    return text;
}

inline std::string kernel(const Signature& signature, const std::string& body) {
    return kernel_text({.version = "9.0", .target = "sm_100", .body = declarations(signature) + body});
}

/// The instructions of a stub on one line, without its scope and the registers that it declares.
inline std::string body(const std::string& ptx) {
    std::string text;
    std::size_t at = 0;
    while (at < ptx.size()) {
        const std::size_t end = ptx.find('\n', at);
        EXPECT_NE(end, std::string::npos) << "the last line does not end: " << ptx;
        EXPECT_EQ(ptx[at], '\t') << ptx;
        const std::string line = ptx.substr(at + 1, end - at - 1);
        if (line != "{" && line != "}" && line.rfind(".reg", 0) != 0)
            text += (text.empty() ? "" : " ") + line;
        at = end + 1;
    }
    return text;
}

inline Expected<Cubin> assemble(const std::string& ptx) {
    return default_assembler().assemble(ptx, {.optimisation = 0});
}

}  // namespace ptxgraft::test
