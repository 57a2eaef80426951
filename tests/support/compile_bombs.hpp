#pragma once
// PTX that is right and small, and takes an assembler minutes or gigabytes.

#include <string>

#include "support/kernel_text.hpp"

namespace ptxgraft::test {

/// As many loops, one within the other, around 64 live registers: nvPTXCompiler 13.5 takes 0.3 s for 200 and
/// 25 s for 1000 of them, in some 50 MB.
[[nodiscard]] inline std::string time_bomb(int loops = 1000) {
    constexpr int live = 64;
    const auto f = [](int i) { return "%f" + std::to_string(i % live); };
    std::string body = "ld.param.u64 %d, [p];\n", end;
    for (int i = 0; i < live; ++i) {
        const std::string place = "[%d+" + std::to_string(4 * i) + "]";
        body += "ld.global.f32 " + f(i) + ", " + place + ";\n";
        end += "st.global.f32 " + place + ", " + f(i) + ";\n";
    }
    for (int i = 0; i < loops; ++i)
        body += "mov.u32 %r" + std::to_string(i) + ", 0;\nL" + std::to_string(i) + ":\nfma.rn.f32 " + f(i) +
                ", " + f(i + 1) + ", " + f(i + 7) + ", " + f(i + 3) + ";\n";
    for (int i = loops - 1; i >= 0; --i) {
        const std::string n = std::to_string(i);
        body += "add.u32 %r" + n + ", %r" + n + ", 1;\nsetp.lt.u32 %p" + n + ", %r" + n + ", " +
                std::to_string(i + 2) + ";\n@%p" + n + " bra L" + n + ";\n";
    }
    const std::string count = "<" + std::to_string(loops) + ">";
    return kernel_text({.parameters = {"u64 p"},
                        .registers = {"f32 %f<64>", "b64 %d", "b32 %r" + count, "pred %p" + count},
                        .body = body + end});
}

/// As many values that are all live at once: nvPTXCompiler 13.5 takes 220 MB for 20,000 and 1.9 GB for
/// 200,000 of them, and longer than a test waits.
[[nodiscard]] inline std::string memory_bomb(int values) {
    std::string body = "ld.param.u64 %d, [p];\n";
    for (int i = 0; i < values; ++i)
        body += "ld.global.f32 %f" + std::to_string(i) + ", [%d+" + std::to_string(4 * i) + "];\n";
    for (int i = 0; i < values; ++i)
        body += "st.global.f32 [%d+" + std::to_string(4LL * i * 7919 % (4 * values)) + "], %f" +
                std::to_string(i) + ";\n";
    return kernel_text({.parameters = {"u64 p"},
                        .registers = {"f32 %f<" + std::to_string(values) + ">", "b64 %d"},
                        .body = body});
}

}  // namespace ptxgraft::test
