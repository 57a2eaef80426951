#ifndef PTXGRAFT_C_CACHE_H
#define PTXGRAFT_C_CACHE_H
/**
 * @file cache.h
 * One cache for all that takes long: PTX of CUDA sources, machine code of grafts, and the errors of both; in
 * memory, and in a folder that processes share. ptxgraft_cuda_options and ptxgraft_graft_options take one.
 *
 * What is kept are results, and errors that the same input gives every time. A folder that is read-only or
 * full is never an error, but a cache that keeps less; entries that are damaged are made again. cache.hpp
 * says how the folder is kept, and why it is shared only among those who trust each other.
 */

#include "ptxgraft/c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A cache. Threads: any number use one at once, and any number of processes its folder. Of calls that ask
    for the same at the same time, one works and the others wait for what it gets. */
typedef struct ptxgraft_cache ptxgraft_cache;

/** What a cache may hold. */
typedef struct ptxgraft_cache_options {
    size_t struct_size;
    const char* dir; /**< the folder; null or "": memory only. It is made when something is first stored */
    uint64_t memory_size; /**< most bytes of what is held in memory; 0: nothing is */
    uint64_t disk_size;   /**< most bytes of the folder's entries: the least recently used go */
} ptxgraft_cache_options;
#define PTXGRAFT_CACHE_OPTIONS_INIT \
    { sizeof(ptxgraft_cache_options), NULL, UINT64_C(268435456), UINT64_C(4294967296) }

/** Opens a cache; `options` may be null: memory only. PTXGRAFT_STATUS_cache_not_usable when there is
    something at `dir` that is no folder. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_cache_open(ptxgraft_cache** cache,
                                                   const ptxgraft_cache_options* options);
PTXGRAFT_C_API void ptxgraft_cache_destroy(ptxgraft_cache* cache);

/** The folder, as an absolute path; "" when there is none. */
PTXGRAFT_C_API const char* ptxgraft_cache_get_dir(const ptxgraft_cache* cache);

/** What a cache has done. Every lookup counts as one of the first four. */
typedef struct ptxgraft_cache_counters {
    size_t struct_size;
    uint64_t memory_hits;
    uint64_t disk_hits;
    uint64_t joined;       /**< waited for equal work of another thread */
    uint64_t misses;       /**< did the work */
    uint64_t stored;       /**< entries written to the folder */
    uint64_t not_stored;   /**< entries that could not be written, or were too large */
    uint64_t evicted;      /**< entries removed from the folder to make room */
    uint64_t dropped;      /**< files removed from the folder: damaged, or no entries */
    uint64_t read_size;    /**< of entries */
    uint64_t written_size; /**< of entries */
} ptxgraft_cache_counters;
#define PTXGRAFT_CACHE_COUNTERS_INIT \
    { sizeof(ptxgraft_cache_counters), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/** How much lies somewhere; in a folder `size` counts blocks of 4 KiB. */
typedef struct ptxgraft_cache_size {
    size_t struct_size;
    uint64_t entries;
    uint64_t size;
} ptxgraft_cache_size;
#define PTXGRAFT_CACHE_SIZE_INIT \
    { sizeof(ptxgraft_cache_size), 0, 0 }

/** What ptxgraft_cache_verify found. */
typedef struct ptxgraft_cache_check {
    size_t struct_size;
    uint64_t whole_entries; /**< that are as they were written */
    uint64_t whole_size;
    uint64_t damaged;   /**< files under entries' names that were not, and are removed */
    uint64_t abandoned; /**< what killed writers had begun, and is removed */
} ptxgraft_cache_check;
#define PTXGRAFT_CACHE_CHECK_INIT \
    { sizeof(ptxgraft_cache_check), 0, 0, 0, 0 }

/** What this cache has done since it was opened. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_cache_get_counters(ptxgraft_cache_counters* counters,
                                                           const ptxgraft_cache* cache);
/** What it holds in memory. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_cache_get_memory(ptxgraft_cache_size* size,
                                                         const ptxgraft_cache* cache);
/** What lies in the folder, and what all processes have done with it since it was made or cleared; either may
    be null. It counts the files: a millisecond for some hundred. All 0 without a folder.
    PTXGRAFT_STATUS_cache_not_usable when the folder cannot be read. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_cache_get_folder(ptxgraft_cache_size* size,
                                                         ptxgraft_cache_counters* counters,
                                                         const ptxgraft_cache* cache);
/** Forgets everything: memory, and the entries and counters of the folder, which other processes may be
    using. `size`, which may be null, is what lay in the folder. PTXGRAFT_STATUS_cache_not_usable when
    something cannot be removed. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_cache_clear(ptxgraft_cache_size* size, const ptxgraft_cache* cache);
/** Reads every entry of the folder, and removes what is damaged or abandoned. `check` may be null. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_cache_verify(ptxgraft_cache_check* check,
                                                     const ptxgraft_cache* cache);

#ifdef __cplusplus
}
#endif
#endif /* PTXGRAFT_C_CACHE_H */
