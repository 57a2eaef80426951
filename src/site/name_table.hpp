#pragma once
// Finds sites by name: a hash table of indices, which survives that the sites are copied or moved.

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "ptxgraft/site.hpp"

namespace ptxgraft::site {

inline constexpr std::uint32_t no_site = 0xFFFFFFFFu;

/// The slot of a name: where its index is, or where it would be. The table is never full.
inline std::size_t slot_of(const std::vector<std::uint32_t>& table, std::string_view name,
                           std::span<const Site> sites) {
    std::size_t slot = std::hash<std::string_view>{}(name) & (table.size() - 1);
    while (table[slot] != no_site && sites[table[slot]].name != name) slot = (slot + 1) & (table.size() - 1);
    return slot;
}

/// Builds the table anew, for at most half of its slots.
inline std::vector<std::uint32_t> make_table(std::span<const Site> sites, std::size_t slots) {
    std::vector<std::uint32_t> table(slots, no_site);
    for (std::uint32_t i = 0; i < sites.size(); ++i) table[slot_of(table, sites[i].name, sites)] = i;
    return table;
}

/// The index of the site of that name; if there is none, `next` is entered under it and returned.
inline std::uint32_t find_or_add(std::vector<std::uint32_t>& table, std::string_view name, std::uint32_t next,
                                 std::span<const Site> sites) {
    if (table.size() < 2 * (sites.size() + 1))
        table = make_table(sites, std::max<std::size_t>(16, 2 * table.size()));
    std::uint32_t& entry = table[slot_of(table, name, sites)];
    if (entry == no_site) entry = next;
    return entry;
}

}  // namespace ptxgraft::site

namespace ptxgraft {

/// Who fills the table of a Sites.
struct SitesBuilder {
    static std::vector<std::uint32_t>& names(Sites& sites) { return sites.names_; }
};

}  // namespace ptxgraft
