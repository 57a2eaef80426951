#pragma once
/// @file measurements.hpp
/// Measurements in an archive, in tables of their own, which older archives lack and which are no part of an
/// export:
///
/// | table | rows |
/// |---|---|
/// | `session` | MeasuredSession, a column for each member; those of its calibration apart |
/// | `batch` | MeasuredBatch; `samples` is a blob of 32 bytes a sample, little-endian (measurements.cpp) |
/// | `measurement` | Measurement; of both comparisons verdict, rounds, ratio, low, high, p, superiority |
///
/// Each row ends with a checksum of its values (checksum.hpp).
///
/// `about` has `timed`, 1: a search whose costs are measured is not the same when it is run again.

#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "ptxgraft/measure/pool.hpp"
#include "ptxgraft/search_measurements.hpp"

struct sqlite3;

namespace ptxgraft::search {

/// Writes what pools have timed. Threads: any number.
class MeasurementLog {
  public:
    /// `archive` is one that a search has open. Errors: Errc::archive_failed.
    [[nodiscard]] static Expected<std::unique_ptr<MeasurementLog>> open(const std::string& archive);
    /// `candidates` are the indices of the call's variants.
    [[nodiscard]] Expected<void> add(std::span<const std::uint64_t> candidates,
                                     const measure::PoolTiming& timing,
                                     const measure::PoolTimingOptions& options);
    ~MeasurementLog();
    MeasurementLog(const MeasurementLog&) = delete;
    MeasurementLog& operator=(const MeasurementLog&) = delete;

  private:
    struct Data;
    explicit MeasurementLog(std::unique_ptr<Data> data);
    std::unique_ptr<Data> data_;
};

/// All at once, into an archive that has none.
[[nodiscard]] Expected<void> write_measurements(sqlite3* database, const Measurements& measurements);
/// Empty where the archive has none. Errors: Errc::archive_malformed.
[[nodiscard]] Expected<Measurements> read_measurements(sqlite3* database);

}  // namespace ptxgraft::search
