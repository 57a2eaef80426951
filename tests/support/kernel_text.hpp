#pragma once
// PTX modules with one entry, for tests whose matter is the entry's body.

#include <string>
#include <string_view>
#include <vector>

namespace ptxgraft::test {

/// ".version 8.5", ".target sm_90" and ".address_size 64", a line each.
[[nodiscard]] inline std::string module_head(std::string_view version = "8.5",
                                             std::string_view target = "sm_90") {
    return ".version " + std::string(version) + "\n.target " + std::string(target) + "\n.address_size 64\n";
}

/// What an entry is made of:
/// `kernel_text({.parameters = {"u64 out"}, .registers = {"b32 %r<4>"}, .body = "mov.u32 %r1, %tid.x;"})`.
struct KernelText {
    std::string version = "8.5", target = "sm_90";
    std::string declarations = {};             ///< of the module, before the entry
    std::vector<std::string> parameters = {};  ///< "u64 out" stands for ".param .u64 out"
    std::vector<std::string> registers = {};   ///< "b32 %r<4>" for ".reg .b32 %r<4>;", a line each
    std::string body = {};                     ///< `ret` follows it
    std::string name = "k";
};

[[nodiscard]] inline std::string kernel_text(const KernelText& kernel) {
    std::string text = module_head(kernel.version, kernel.target) + kernel.declarations;
    if (!text.ends_with('\n')) text += '\n';
    text += ".visible .entry " + kernel.name + "(";
    for (const std::string& parameter : kernel.parameters)
        text += (&parameter == kernel.parameters.data() ? ".param ." : ", .param .") + parameter;
    text += ")\n{\n";
    for (const std::string& names : kernel.registers) text += ".reg ." + names + ";\n";
    text += kernel.body;
    if (!text.ends_with('\n')) text += '\n';
    return text + "ret;\n}\n";
}

}  // namespace ptxgraft::test
