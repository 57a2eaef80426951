#pragma once
// What the CPU does not compute of PTX's pure forms.
#include <string_view>

namespace ptxgraft::test {

/// Forms of which the manual does not say the bits of the result: its text leaves them to a figure (the
/// random bits of .rs), or is of a later version than the manual (clmad, .scaled); or only a launch knows
/// them (addresses).
inline bool is_left_open(std::string_view spelling) {
    for (const std::string_view opcode :
         {"clmad.", "createpolicy.", "cvta.", "isspacep.", "mapa.", "getctarank.", "cvt.rs."})
        if (spelling.starts_with(opcode)) return true;
    for (const std::string_view part : {".s2f6x2", ".scaled::n2::ue8m0"})
        if (spelling.find(part) != std::string_view::npos) return true;
    return spelling == "testp.f32" || spelling == "testp.f64";
}

}  // namespace ptxgraft::test
