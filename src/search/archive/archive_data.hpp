#pragma once
/// @file archive_data.hpp
/// What is behind an Archive, and whether two of them can be looked at side by side.

#include <array>
#include <string_view>
#include <vector>

#include "search/archive/store.hpp"

namespace ptxgraft::search {

/// How exports name the values of Refine, in their order.
inline constexpr std::array<std::string_view, 4> refine_names = {"none", "constants", "shorten", "measure"};

struct Archive::Data {
    Store store;
    Space space;
    Options options;
    std::vector<Source> sources;
    std::vector<StoredSource> stored;  ///< the same as the file has them
    std::optional<Stop> stop;
    std::vector<Genome> first;

    [[nodiscard]] Expected<Ledger> collected(std::span<const BlockCounts> blocks) const;
};

/// Whether results of both mean the same: equal spaces, axes, and tasks, these but for how long and in which
/// way is searched. Errors: Errc::archive_differs; `name` is that of the second one.
[[nodiscard]] Expected<void> check_comparable(const Archive& one, const Archive& other,
                                              const std::string& name);

}  // namespace ptxgraft::search
