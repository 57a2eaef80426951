#pragma once
/// @file folder.hpp
/// The level of a cache on disk. `KEY.ptxgraft` is an entry, `RANDOM.ptxgraft-new` one that is being written,
/// `KEY.ptxgraft-work` one that is being made (turn.hpp), `ptxgraft.ledger` what all processes know together
/// (ledger.hpp); other files are left alone.
///
/// - An entry is written as a new file, under that file's lock, and renamed under the folder's. So a new file
///   that nobody has locked is one whose writer has died, and goes at the next count of the files.
/// - Reading takes no lock. What is damaged is removed under the folder's, if it is still the same file.
/// - An entry's time of modification is that of its last use, give or take a minute.
/// - The ledger counts what the entries take up. When that is more than the cap, and once a day, who stores
///   something counts the files and removes the oldest, a tenth of the cap more than there must go.

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "link/cache/counters.hpp"
#include "link/cache/entry.hpp"
#include "link/cache/ledger.hpp"

namespace ptxgraft::link {

/// Seconds of the system's clock.
[[nodiscard]] std::int64_t now_seconds();

/// Threads: any number.
class Folder {
  public:
    Folder(std::string path, std::uint64_t most_bytes, Counters& counters)
        : path_(std::move(path)), most_bytes_(most_bytes), counters_(counters) {}
    /// Hands the counters over.
    ~Folder();
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    [[nodiscard]] std::optional<Outcome> find(const Key& key);
    /// Of the file whose lock is the turn to make what is not there (turn.hpp).
    [[nodiscard]] std::string turn_path(const Key& key) const;
    void store(const Key& key, const Outcome& outcome);
    /// Says that an entry is used.
    void refresh(const Key& key) const;

    [[nodiscard]] Expected<CacheFolder> contents() const;
    [[nodiscard]] Expected<CacheSize> clear();
    [[nodiscard]] Expected<CacheCheck> verify();

  private:
    using Clock = std::chrono::steady_clock;
    enum class Read { absent, damaged, whole };

    [[nodiscard]] std::string path_of(const Key& key) const;
    Read read(const Key& key, std::optional<Outcome>& outcome, struct stat& status) const;
    bool drop(Ledger& ledger, const std::string& path, const struct stat& status);
    [[nodiscard]] bool write(const Key& key, std::string_view bytes);
    [[nodiscard]] bool publish(const std::string& temporary, const Key& key, std::uint64_t bytes);
    void sweep(Ledger& ledger);
    [[nodiscard]] std::optional<Ledger> lock();
    [[nodiscard]] Expected<Ledger> lock_for_long() const;

    std::string path_;
    std::uint64_t most_bytes_;
    Counters& counters_;
    mutable std::mutex mutex_;  // of threads that want the folder's lock
    Clock::time_point busy_until_ = {};
};

}  // namespace ptxgraft::link
