#pragma once
// Every way to write a row: the choices of its modifiers that its constraints allow.

#include <string>

#include "isa/match.hpp"

namespace ptxgraft::isa {

/// "7.8 sm_90 or 8.0 sm_90a", "6.0 sm_30 until 6.3 sm_70": since when a row is there, as the table has it.
[[nodiscard]] std::string since_text(const Row& row);

/// Whether a PTX version (0: any) and target (sm 0: any) have the spelling.
[[nodiscard]] bool is_available(const Match& match, std::uint16_t ptx_version, Architecture target);

namespace spelling {
template <class Visit> void from(Match& match, std::size_t slot, Visit& visit) {
    if (slot == match.row->slots.size()) {
        if (match.broken_constraint() == nullptr) visit(std::as_const(match));
        return;
    }
    const Slot& s = match.row->slots[slot];
    if (s.is_optional) from(match, slot + 1, visit);
    for (const WordId word : s.members) {
        match.chosen[slot] = word;
        from(match, slot + 1, visit);
    }
    match.chosen[slot] = no_word;
}
}  // namespace spelling

/// Calls visit(const Match&) for each, the first members of the slots first.
template <class Visit> void for_each_spelling(const Row& row, Visit visit) {
    Match match;
    match.row = &row;
    match.chosen.fill(no_word);
    spelling::from(match, 0, visit);
}

}  // namespace ptxgraft::isa
