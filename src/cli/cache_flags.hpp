#pragma once
/// @file cache_flags.hpp
/// Which cache a verb uses: --cache DIR, --no-cache, else the user's own.

#include <memory>
#include <optional>
#include <string>

#include "ptxgraft/cache.hpp"

namespace CLI {
class App;
}

namespace ptxgraft::cli {

struct CacheFlags {
    std::string dir;      ///< empty: the user's own
    bool is_off = false;  ///< --no-cache
};
/// --cache DIR.
void add_cache_dir_flag(CLI::App& verb, CacheFlags& flags);
/// --cache DIR and --no-cache.
void add_cache_flags(CLI::App& verb, CacheFlags& flags);

/// The folder: what --cache says, else `ptxgraft` in $XDG_CACHE_HOME, or in ~/.cache. Empty when the
/// environment names no folder.
[[nodiscard]] std::string cache_folder(const CacheFlags& flags);

/// The cache, if there is to be one. One that --cache names and that cannot be ends the verb; the user's own
/// is then left out.
[[nodiscard]] std::optional<Cache> open_cache(const CacheFlags& flags);

}  // namespace ptxgraft::cli
