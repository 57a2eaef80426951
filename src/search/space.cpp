// A space in one number.

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>

#include "ptxgraft/program.hpp"
#include "ptxgraft/search.hpp"
#include "search/archive/bytes.hpp"

namespace ptxgraft::search {

std::uint64_t Space::hash() const {
    std::string all;
    const auto add = [&](std::uint64_t value) {
        for (int k = 0; k < 8; ++k) all.push_back(static_cast<char>(value >> 8 * k));
    };
    const auto add_text = [&](std::string_view text) {
        add(text.size());
        all.append(text);
    };
    add(sites.size());
    for (const SiteSpace& site : sites) {
        add_text(site.name);
        add(stack::machine_hash(site.machine));
        add(site.max_genes);
        add(site.seeds.size());
        for (const stack::Program& seed : site.seeds) {
            const auto bytes = stack::to_bytes(seed);
            add_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
        }
        if (!site.library.empty()) add(site.library.size());
        for (const stack::Program& word : site.library) {
            const auto bytes = stack::to_bytes(word);
            add_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
        }
        for (const stack::Entry& entry : site.machine.set().entries())
            add(std::bit_cast<std::uint64_t>(entry.weight));
    }
    for (const Tunable& tunable : tunables) {
        add_text(tunable.name);
        add(tunable.values.size());
        for (const std::int64_t value : tunable.values) add(static_cast<std::uint64_t>(value));
    }
    for (const double value : constants) add(std::bit_cast<std::uint64_t>(value));
    return XXH3_64bits(all.data(), all.size());
}

}  // namespace ptxgraft::search
