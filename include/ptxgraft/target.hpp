#pragma once
/// @file target.hpp
/// Target architectures, as PTX's `.target` names them (PTX ISA 11.1.2). Options that take one as text
/// (`"sm_90a"`) are checked by parse_architecture().

#include <cstdint>
#include <string>
#include <string_view>

#include "ptxgraft/error.hpp"

namespace ptxgraft {

/// A target architecture: `sm_90` (and all later ones), `sm_90a` (only this one), `sm_100f` (its family).
struct Architecture {
    std::uint16_t sm = 0;  ///< 90
    char variant = 0;      ///< 'a', 'f' or 0
    friend bool operator==(Architecture, Architecture) = default;
};

/// The architecture of "sm_90a". Errors: Errc::target_unknown lists those that there are.
[[nodiscard]] PTXGRAFT_API Expected<Architecture> parse_architecture(std::string_view text);
/// "sm_90a"
[[nodiscard]] PTXGRAFT_API std::string name(Architecture architecture);

}  // namespace ptxgraft
