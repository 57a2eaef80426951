// The cache in C.

#include "ptxgraft/cache.hpp"

#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"

using namespace ptxgraft;
using capi::call;

namespace {

ptxgraft_cache_size size_info(const CacheSize& size) {
    return {sizeof(ptxgraft_cache_size), size.entries, size.bytes};
}

ptxgraft_cache_counters counters_info(const CacheCounters& c) {
    return {sizeof(ptxgraft_cache_counters),
            c.memory_hits,
            c.disk_hits,
            c.joined,
            c.misses,
            c.stored,
            c.not_stored,
            c.evicted,
            c.dropped,
            c.bytes_read,
            c.bytes_written};
}

// An info that the caller may do without.
template <class Struct> Expected<void> give_optional(Struct* out, const Struct& info) {
    return out != nullptr ? capi::give_info(out, info) : Expected<void>();
}

}  // namespace

extern "C" {

ptxgraft_status ptxgraft_cache_open(ptxgraft_cache** cache, const ptxgraft_cache_options* options) {
    return call({{cache, "cache"}}, [&]() -> Expected<void> {
        const auto given = TRY(capi::options_of(options));
        return capi::give(cache, Cache::open({.dir = given.dir != nullptr ? given.dir : "",
                                              .memory_bytes = given.memory_size,
                                              .disk_bytes = given.disk_size}));
    });
}

void ptxgraft_cache_destroy(ptxgraft_cache* cache) { delete cache; }

const char* ptxgraft_cache_get_dir(const ptxgraft_cache* cache) {
    return capi::get(cache, "cache", "",
                     [](const ptxgraft_cache& c) { return c.cache.options().dir.c_str(); });
}

ptxgraft_status ptxgraft_cache_get_counters(ptxgraft_cache_counters* counters, const ptxgraft_cache* cache) {
    return call({{counters, "counters"}, {cache, "cache"}},
                [&] { return capi::give_info(counters, counters_info(cache->cache.counters())); });
}

ptxgraft_status ptxgraft_cache_get_memory(ptxgraft_cache_size* size, const ptxgraft_cache* cache) {
    return call({{size, "size"}, {cache, "cache"}},
                [&] { return capi::give_info(size, size_info(cache->cache.memory())); });
}

ptxgraft_status ptxgraft_cache_get_folder(ptxgraft_cache_size* size, ptxgraft_cache_counters* counters,
                                          const ptxgraft_cache* cache) {
    return call({{cache, "cache"}}, [&]() -> Expected<void> {
        TRY(capi::check_info(size));
        TRY(capi::check_info(counters));
        const CacheFolder folder = TRY(cache->cache.folder());
        TRY(give_optional(size, size_info(folder.size)));
        return give_optional(counters, counters_info(folder.counters));
    });
}

ptxgraft_status ptxgraft_cache_clear(ptxgraft_cache_size* size, const ptxgraft_cache* cache) {
    return call({{cache, "cache"}}, [&]() -> Expected<void> {
        TRY(capi::check_info(size));
        const CacheSize cleared = TRY(cache->cache.clear());
        return give_optional(size, size_info(cleared));
    });
}

ptxgraft_status ptxgraft_cache_verify(ptxgraft_cache_check* check, const ptxgraft_cache* cache) {
    return call({{cache, "cache"}}, [&]() -> Expected<void> {
        TRY(capi::check_info(check));
        const CacheCheck found = TRY(cache->cache.verify());
        return give_optional(check, ptxgraft_cache_check{sizeof(ptxgraft_cache_check), found.whole.entries,
                                                         found.whole.bytes, found.damaged, found.abandoned});
    });
}

}  // extern "C"
