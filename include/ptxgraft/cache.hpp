#pragma once
/// @file cache.hpp
/// One cache for all that takes long: PTX of CUDA sources, machine code of PTX, and the errors of both; in
/// memory, and in a folder that processes share.
///
/// @code
/// auto cache = ptxgraft::Cache::open({.dir = "/home/me/.cache/search"});
/// auto skeleton = ptxgraft::Skeleton::from_file("gemm.cu", {.cache = &*cache});
/// auto assembler = ptxgraft::cached(ptxgraft::default_assembler(), *cache);
/// auto kernel = skeleton->graft({{"epilogue", stub}}, device, {.assembler = assembler.get()});
/// @endcode
///
/// What is kept: results, and errors that the same input gives every time, such as Errc::assemble_failed or
/// Errc::performance_loss, with their place and their detail. What the machine is at fault for is never kept:
/// no memory, a full disk, an assembler's process that ended.
///
/// The folder. Every entry is a file with a checksum, written under another name and renamed: it is there
/// whole or not at all, whatever ends the process that writes it. An entry that is damaged, cut, or no entry
/// is removed and counts as a miss. A folder that is read-only or full, or a disk that fails, is never an
/// error, but a cache that keeps less. When the entries take up more than `disk_bytes`, the least recently
/// used ones go, whoever stored them. Files are made anew with the user's umask and never through a symbolic
/// link, so that a shared folder leads to no file outside of it. A cache is believed: whoever may write into
/// its folder decides what its users run, so share one only among those who trust each other.
///
/// Threads: any number may use a cache, and any number of processes a folder. Of calls that ask for the same
/// at the same time in one process, one works and the others wait for what it gets. Of processes that share a
/// folder one works too, and the others wait until it is done or dead, a minute at most. After fork(), a
/// child may use the caches of a parent that had one thread; other children open their own.

#include <cstdint>
#include <memory>
#include <string>

#include "ptxgraft/link.hpp"

namespace ptxgraft {

struct CacheOptions {
    /// The folder; empty: memory only. It is made, with those that it lies in, when something is first
    /// stored. Only files whose names a cache gives are ever touched in it.
    std::string dir = {};
    /// Most bytes of what is held in memory; 0: nothing is. Results that callers hold do not count.
    std::uint64_t memory_bytes = std::uint64_t{256} << 20;
    /// Most bytes of the folder's entries, as blocks of 4 KiB; what is larger by itself is not stored.
    std::uint64_t disk_bytes = std::uint64_t{4} << 30;
};

/// What a cache has done. Every lookup counts as one of the first four.
struct CacheCounters {
    std::uint64_t memory_hits = 0;
    std::uint64_t disk_hits = 0;
    std::uint64_t joined = 0;         ///< waited for equal work of another thread or process
    std::uint64_t misses = 0;         ///< did the work
    std::uint64_t stored = 0;         ///< entries written to the folder
    std::uint64_t not_stored = 0;     ///< entries that could not be written, or were too large
    std::uint64_t evicted = 0;        ///< entries removed from the folder to make room
    std::uint64_t dropped = 0;        ///< files removed from the folder: damaged, or no entries
    std::uint64_t bytes_read = 0;     ///< of entries
    std::uint64_t bytes_written = 0;  ///< of entries
    friend bool operator==(const CacheCounters&, const CacheCounters&) = default;
};

struct CacheSize {
    std::uint64_t entries = 0;
    std::uint64_t bytes = 0;  ///< in the folder: as blocks of 4 KiB
    friend bool operator==(const CacheSize&, const CacheSize&) = default;
};

/// What lies in a folder, and what all processes have done with it since it was made or cleared. Counters of
/// a process come in when it stores something or its last handle goes; if it is killed, the last ones are
/// lost.
struct CacheFolder {
    CacheSize size;
    CacheCounters counters;
};

struct CacheCheck {
    CacheSize whole;              ///< entries that are as they were written
    std::uint64_t damaged = 0;    ///< files under entries' names that were not, and are removed
    std::uint64_t abandoned = 0;  ///< what killed writers had begun, and is removed
};

/// Where a result comes from.
enum class CacheLevel : std::uint8_t {
    none,  ///< it was made during the call, by it or by another thread for which it waited
    memory,
    disk,
};

class Cache;
namespace link {
class CacheData;
CacheData& data_of(const Cache& cache);
}  // namespace link

/// A cache; a handle, of which copies share everything.
class PTXGRAFT_API Cache {
  public:
    /// Nothing is read or written yet. Errors: Errc::cache_not_usable when there is something at `dir` that
    /// is no folder.
    [[nodiscard]] static Expected<Cache> open(const CacheOptions& options = {});

    [[nodiscard]] const CacheOptions& options() const;  ///< `dir` is absolute
    [[nodiscard]] CacheCounters counters() const;       ///< of this cache since it was opened
    [[nodiscard]] CacheSize memory() const;
    /// Counts the files of the folder: a millisecond for some hundred. All 0 without a folder. Errors:
    /// Errc::cache_not_usable when the folder cannot be read.
    [[nodiscard]] Expected<CacheFolder> folder() const;

    /// Forgets everything: memory, and the entries and counters of the folder, which other processes may be
    /// using. Returns what lay in the folder. Errors: Errc::cache_not_usable when something cannot be
    /// removed, or other processes keep the folder to themselves for long.
    [[nodiscard]] Expected<CacheSize> clear() const;
    /// Reads every entry of the folder, and removes what is damaged or abandoned. Errors: as of clear().
    [[nodiscard]] Expected<CacheCheck> verify() const;

  private:
    friend link::CacheData& link::data_of(const Cache& cache);
    explicit Cache(std::shared_ptr<link::CacheData> data) : data_(std::move(data)) {}
    std::shared_ptr<link::CacheData> data_;
};

/// An assembler that looks into the cache before it assembles. Its key is the PTX, every option, the
/// assembler's name and full version, and ptxgraft's version. Options that name files (`--options-file`) are
/// not looked up: what they hold may change. A call's stop ends its own assembly; it is not seen while the
/// call waits for that of another one, which has a stop of its own. Name and version are those of the
/// assembler behind it. Threads: as of that one.
[[nodiscard]] PTXGRAFT_API std::shared_ptr<const Assembler> cached(std::shared_ptr<const Assembler> assembler,
                                                                   Cache cache);
/// The same of an assembler that lives longer, as those in process do.
[[nodiscard]] PTXGRAFT_API std::shared_ptr<const Assembler> cached(const Assembler& assembler, Cache cache);

}  // namespace ptxgraft
