#pragma once
// PTX versions (PTX ISA 11.1.1), and what is available in them for a target.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ptx/target.hpp"
#include "ptxgraft/isa/table.hpp"

namespace ptxgraft::isa {

constexpr std::uint16_t newest_version = 95;

/// There is a PTX ISA of this version.
[[nodiscard]] bool is_version(std::uint16_t version);
/// 10 * major + minor of "7.8".
[[nodiscard]] std::optional<std::uint16_t> parse_version(std::string_view text);
[[nodiscard]] std::string version_text(std::uint16_t version);  // "7.8"
[[nodiscard]] std::string or_later(std::uint16_t version);      // "PTX ISA 7.8 or later"

/// One of the alternatives holds. Otherwise what is missing.
struct Availability {
    bool is_available = true, version_is_missing = false;
    std::string needed;  // "PTX ISA 7.8 or later", "sm_90a, or sm_100f"
};
[[nodiscard]] bool is_available(std::span<const Since> since, std::uint16_t version, Architecture target);
[[nodiscard]] Availability availability(std::span<const Since> since, std::uint16_t version,
                                        Architecture target);

}  // namespace ptxgraft::isa
