#pragma once
// The state spaces of PTX (PTX ISA 5.1), one row for each spelling.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace ptxgraft::syntax {

enum class Space : std::uint8_t {
    generic,         // no state space is named: addresses are generic
    none = generic,  // likewise, of what has no address
    reg,
    const_,
    global,
    local,
    param,
    shared,
    shared_cluster,  // that of any CTA of the cluster
    tex
};

struct SpaceRow {
    std::string_view word;  // ".shared::cta"
    Space space;
    std::string_view name;     // in the text of an error
    bool is_declared = false;  // variables are declared in it by this word
    bool is_reserved = false;  // no modifier of an instruction
};

// The first row of a space has its own word, others are further spellings.
inline constexpr SpaceRow spaces[] = {
    {"", Space::generic, "generic"},
    {".reg", Space::reg, "register", true, true},
    {".const", Space::const_, "constant", true},
    {".global", Space::global, "global", true},
    {".local", Space::local, "local", true},
    {".param", Space::param, "parameter", true},
    {".param::entry", Space::param, "parameter"},
    {".param::func", Space::param, "parameter"},
    {".shared", Space::shared, "shared", true},
    {".shared::cta", Space::shared, "shared"},
    {".shared::cluster", Space::shared_cluster, "shared::cluster"},
    {".tex", Space::tex, "texture", true},
};

/// Whether ld and st may name a space.
[[nodiscard]] constexpr bool is_memory(Space space) {
    return space != Space::generic && space != Space::reg && space != Space::tex;
}

/// The first row of a space.
[[nodiscard]] constexpr const SpaceRow& row(Space space) {
    return *std::ranges::find(spaces, space, &SpaceRow::space);
}

/// The space that a word names, `.const[3]` too; generic for other words.
[[nodiscard]] constexpr Space space_of(std::string_view word) {
    const auto* const found = std::ranges::find(spaces, word.substr(0, word.find('[')), &SpaceRow::word);
    return found == std::end(spaces) ? Space::generic : found->space;
}

}  // namespace ptxgraft::syntax
