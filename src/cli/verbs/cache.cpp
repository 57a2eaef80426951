// ptxgraft cache: what lies in the folder that keeps PTX and machine code between runs.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/cache_flags.hpp"
#include "cli/print_json.hpp"
#include "cli/verb.hpp"

namespace ptxgraft::cli {
namespace {

struct CacheVerbFlags {
    CacheFlags cache;
    bool as_json = false;
};

// A number with its name: for JSON, and in words.
struct Row {
    std::string_view key;
    std::uint64_t value;
    std::string_view words;
};

Cache cache_of(const CacheVerbFlags& flags) {
    const std::string folder = cache_folder(flags.cache);
    if (folder.empty())
        fail_usage("which folder? Neither XDG_CACHE_HOME nor HOME names one; give --cache DIR");
    return take(Cache::open({.dir = folder}));
}

void print(const Cache& cache, const CacheVerbFlags& flags, const std::vector<Row>& rows) {
    if (flags.as_json) {
        Json json{{"folder", cache.options().dir}};
        for (const Row& row : rows) json[row.key] = row.value;
        return print_json(json);
    }
    fmt::print("{}\n", cache.options().dir);
    for (const Row& row : rows) fmt::print("{:>14}  {}\n", row.value, row.words);
}

void print_stats(const CacheVerbFlags& flags) {
    const Cache cache = cache_of(flags);
    const auto [size, counters] = take(cache.folder());
    const auto& [memory_hits, disk_hits, joined, misses, stored, not_stored, evicted, dropped, bytes_read,
                 bytes_written] = counters;
    print(cache, flags,
          {{"entries", size.entries, "entries"},
           {"bytes", size.bytes, "bytes of them"},
           {"most_bytes", cache.options().disk_bytes, "bytes at most; then the least recently used go"},
           {"memory_hits", memory_hits, "lookups that memory had"},
           {"disk_hits", disk_hits, "lookups that the folder had"},
           {"joined", joined, "lookups that waited for equal work of another thread or process"},
           {"misses", misses, "lookups that nothing had"},
           {"stored", stored, "entries stored"},
           {"not_stored", not_stored, "entries that could not be stored"},
           {"evicted", evicted, "entries removed to make room"},
           {"dropped", dropped, "damaged files removed"},
           {"bytes_read", bytes_read, "bytes read"},
           {"bytes_written", bytes_written, "bytes written"}});
}

void clear(const CacheVerbFlags& flags) {
    const Cache cache = cache_of(flags);
    const CacheSize gone = take(cache.clear());
    print(cache, flags,
          {{"entries", gone.entries, "entries removed"}, {"bytes", gone.bytes, "bytes of them"}});
}

void verify(const CacheVerbFlags& flags) {
    const Cache cache = cache_of(flags);
    const CacheCheck check = take(cache.verify());
    print(cache, flags,
          {{"entries", check.whole.entries, "entries, which are whole"},
           {"bytes", check.whole.bytes, "bytes of them"},
           {"damaged", check.damaged, "damaged files removed"},
           {"abandoned", check.abandoned, "files removed that a killed process had begun"}});
}

void add_action(CLI::App& verb, const char* name, const char* help, void (*act)(const CacheVerbFlags&)) {
    CLI::App* const action = verb.add_subcommand(name, help);
    const auto flags = std::make_shared<CacheVerbFlags>();
    add_cache_dir_flag(*action, flags->cache);
    action->add_flag("--json", flags->as_json, "Print JSON");
    action->callback([flags, act] { act(*flags); });
}

}  // namespace

void add_cache(CLI::App& app) {
    CLI::App* const verb =
        app.add_subcommand("cache", "Look at, check or empty the folder that keeps PTX and machine code");
    verb->require_subcommand(1);
    add_action(*verb, "stats", "Print what lies in it, and how often it was used", print_stats);
    add_action(*verb, "clear", "Remove all entries, and begin to count anew", clear);
    add_action(*verb, "verify", "Read every entry, and remove what is damaged or abandoned", verify);
}

}  // namespace ptxgraft::cli
