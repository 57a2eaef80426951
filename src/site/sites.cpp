// Look-ups in the sites that a scan found.

#include <algorithm>

#include "site/name_table.hpp"

namespace ptxgraft {

const Site* Sites::find(std::string_view name) const {
    // A list of sites that scan did not make has no table.
    if (names_.size() < 2 * sites.size() || names_.empty()) {
        const auto found =
            std::find_if(sites.begin(), sites.end(), [&](const Site& site) { return site.name == name; });
        return found == sites.end() ? nullptr : &*found;
    }
    const std::uint32_t index = names_[site::slot_of(names_, name, sites)];
    return index == site::no_site ? nullptr : &sites[index];
}

std::size_t Sites::copy_count() const { return order.size(); }

}  // namespace ptxgraft
