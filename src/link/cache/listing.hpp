#pragma once
/// @file listing.hpp
/// The files of a cache's folder: those whose names a cache gives.

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <vector>

#include "link/cache.hpp"

namespace ptxgraft::link {

[[nodiscard]] std::string entry_name(const Key& key);
/// The name of the file whose lock is the turn to make an entry.
[[nodiscard]] std::string turn_name(const Key& key);
/// A name for a new file, which nobody can have prepared.
[[nodiscard]] std::string new_name();

/// What a file takes up of the cap.
[[nodiscard]] std::uint64_t on_disk(std::uint64_t size);

struct ListedEntry {
    Key key;
    struct stat status;
    [[nodiscard]] std::uint64_t bytes() const { return on_disk(static_cast<std::uint64_t>(status.st_size)); }
};

struct Listing {
    std::vector<ListedEntry> entries;
    std::vector<std::string> begun;  ///< paths of what is being made or written, or was when its writer died
    [[nodiscard]] CacheSize size() const;
};

/// All of them; none where there is no folder. Errors: Errc::cache_not_usable.
[[nodiscard]] Expected<Listing> list(const std::string& folder);

/// Removes what nobody is making or writing any more, and returns how many files that were.
std::uint64_t remove_abandoned(const Listing& listing);

/// Removes a file of any kind, or an empty folder. Whether it is gone.
bool remove_any(const std::string& path);

}  // namespace ptxgraft::link
