#pragma once
/// @file ledger.hpp
/// What all processes know together of a folder: how much lies in it, and what was done with it. A small file
/// with a checksum; its lock is that of the folder.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "link/cache.hpp"
#include "link/files.hpp"

namespace ptxgraft::link {

struct LedgerRecord {
    char magic[16] = {};
    CacheSize size;            ///< at least what there is: entries are added before they appear
    std::int64_t counted = 0;  ///< when the files were counted last: seconds of the system's clock
    CacheCounters counters;
    Key sum;
};

/// The folder's lock, held as long as this lives, and its record. Entries appear and go under it alone;
/// reading them needs no lock.
class Ledger {
  public:
    /// Waits that long for others. nullopt when they take longer, or the folder cannot be written.
    [[nodiscard]] static std::optional<Ledger> open(const std::string& folder,
                                                    std::chrono::milliseconds patience);
    Ledger(Ledger&&) = default;
    ~Ledger();

    LedgerRecord record;    ///< all 0 where the file held none
    bool is_known = false;  ///< whether it held one: else the files are to be counted
    void write();

  private:
    explicit Ledger(OpenFile file) : file_(std::move(file)) {}
    OpenFile file_;
};

/// The record without the lock, of a folder that may be read-only; nullopt when there is none.
[[nodiscard]] std::optional<LedgerRecord> read_ledger(const std::string& folder);

}  // namespace ptxgraft::link
