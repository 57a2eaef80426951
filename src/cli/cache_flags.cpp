// The cache of a verb, by its flags and the environment.

#include "cache_flags.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "verb.hpp"

namespace ptxgraft::cli {
namespace {

// A variable that names a folder; relative ones count as not set (XDG Base Directory Specification).
std::string folder_in(const char* variable) {
    const char* const value = std::getenv(variable);
    return value != nullptr && *value == '/' ? value : std::string();
}

}  // namespace

void add_cache_dir_flag(CLI::App& verb, CacheFlags& flags) {
    verb.add_option("--cache", flags.dir,
                    "Folder of the cache (default: $XDG_CACHE_HOME/ptxgraft, else ~/.cache/ptxgraft)");
}

void add_cache_flags(CLI::App& verb, CacheFlags& flags) {
    verb.add_option("--cache", flags.dir,
                    "Folder that keeps PTX of CUDA files, machine code and errors between runs (default: "
                    "$XDG_CACHE_HOME/ptxgraft, else ~/.cache/ptxgraft)");
    verb.add_flag("--no-cache", flags.is_off, "Look nothing up, and keep nothing")->excludes("--cache");
}

std::string cache_folder(const CacheFlags& flags) {
    if (!flags.dir.empty()) return flags.dir;
    if (const std::string caches = folder_in("XDG_CACHE_HOME"); !caches.empty()) return caches + "/ptxgraft";
    const std::string home = folder_in("HOME");
    return home.empty() ? home : home + "/.cache/ptxgraft";
}

std::optional<Cache> open_cache(const CacheFlags& flags) {
    const std::string folder = flags.is_off ? std::string() : cache_folder(flags);
    if (folder.empty()) return std::nullopt;
    auto cache = Cache::open({.dir = folder});
    if (cache) return std::move(*cache);
    if (!flags.dir.empty()) fail_work(cache.error());
    return std::nullopt;
}

}  // namespace ptxgraft::cli
