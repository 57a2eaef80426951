#pragma once
// ptxas as an oracle: which lines of a body does it take? Lines stand in blocks of their own behind
// declarations of registers of every type (`f32_3`, `b64_1`; .b128 from PTX ISA 8.3 on), variables of every
// space (gv, sv, cv, lv, kp), with .target texmode_independent a sampler (samp_), and a function (fn1).

#include <string>
#include <string_view>
#include <vector>

namespace ptxgraft::oracle {

struct Setting {
    std::string target = "sm_90a";  // or with a texture mode: "sm_90a, texmode_independent"
    std::string version = "9.0";
    [[nodiscard]] bool has_samplers() const {
        return target.find("texmode_independent") != std::string::npos;
    }
};

/// The text around the lines: what stands before the first, and behind the last.
struct Frame {
    std::string before, behind;
    std::uint32_t first_line = 0;  // of the lines in the whole
};
[[nodiscard]] Frame frame(const Setting& setting);

/// Why the library's assembler is no oracle of the table; empty when it is one. Older ones than 13.5 take
/// lines that the manual forbids, such as fence.acquire below sm_90, and know no PTX ISA 9.5.
[[nodiscard]] std::string reason_to_skip();

/// What `ptxas` says of a line that crashes it.
inline constexpr const char* crashed = "crashed";

/// ptxas's message for each line; empty: it takes it. Only its front end runs, which sees all but what code
/// generation finds.
[[nodiscard]] std::vector<std::string> ptxas(const std::vector<std::string>& lines, const Setting& setting);

/// verify's message for each line, likewise.
[[nodiscard]] std::vector<std::string> ours(const std::vector<std::string>& lines, const Setting& setting);

}  // namespace ptxgraft::oracle
