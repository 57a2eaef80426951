#pragma once
/// @file store.hpp
/// The archive's file: a SQLite database with a row for each judged candidate. One process writes it, any
/// number may read meanwhile.
///
/// | table | rows |
/// |---|---|
/// | `about` | key, value: format, library, space's hash, options, task, skeleton |
/// | `site` | place, name, signature, policy's words, set's text, max_genes |
/// | `tunable`, `constant` | place, name and values; place, value |
/// | `seed` | site, place, program |
/// | `word` | the same of SiteSpace::library |
/// | `first` | place, genome: what is judged first |
/// | `block` | block, drawn, duplicates, candidates |
/// | `candidate` | its members, and those of its result: a column for each |
/// | `gate` | place in the cascade, name, what came in and went on, seconds of processors, of GPUs: of all |
/// | | processes |
/// | `source` | of a collection alone: place, first index, indices, options, task, digest of a search |
///
/// Beside them are the tables `attempt` (attempts.cpp) and those of measurements (measurements.hpp).
///
/// In `about` stands, behind a run that has ended, what ended it (`stop`). Gates' prices and that are no part
/// of an export: they differ between runs of one search. Older archives have neither, nor code and checksums;
/// what they lack is added when a search goes on with them.
///
/// Rows of `candidate`, `block` and `source` end with a checksum of their values (checksum.hpp), and so do
/// those of measurements. Of what is written once, all of `site`, `seed`, `word`, `tunable`, `constant` and
/// `first`, and the space's hash, options, task and skeleton, one stands in `about` (`checksum`). None is of
/// what changes and decides nothing: `gate`, `attempt` and `stop`.
///
/// `made` is what Refine made of the genome, where that was better; numbers in blobs are little-endian.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/search.hpp"

struct sqlite3;

namespace ptxgraft::search {

struct BlockCounts {
    std::uint64_t block = 0, drawn = 0, duplicates = 0, candidates = 0;
};

/// A search that became a part of a collection: its candidate k is candidate `first` + k there.
struct StoredSource {
    std::uint64_t first = 0, count = 0;  ///< indices, also of candidates that another search has too
    std::string options, task;           ///< texts, as the search's own archive has them
    std::uint64_t digest = 0;            ///< of all its candidates
};

class Store {
  public:
    /// Makes the file, or checks that it is of this space, these options and this library. `first` are the
    /// genomes that a new one begins with.
    [[nodiscard]] static Expected<Store> open(const std::string& path, const Space& space,
                                              const Options& options, std::span<const Genome> first);
    /// A new file, of a collection. Errors: Errc::archive_failed where the file exists.
    [[nodiscard]] static Expected<Store> create(const std::string& path, const Space& space,
                                                const Options& options);
    /// What is in the file now, whatever is written meanwhile.
    [[nodiscard]] static Expected<Store> read(const std::string& path);

    [[nodiscard]] Expected<Space> space() const;
    [[nodiscard]] Expected<Options> options() const;
    [[nodiscard]] Expected<std::vector<Genome>> first() const;
    [[nodiscard]] Expected<std::vector<BlockCounts>> blocks() const;
    /// In the order of the indices.
    [[nodiscard]] Expected<void> for_each(
        const std::function<Expected<void>(Candidate&&, Result&&)>& visit) const;
    /// Those of these indices alone, in the order of the indices.
    [[nodiscard]] Expected<void> for_each(
        std::uint64_t first, std::uint64_t count,
        const std::function<Expected<void>(Candidate&&, Result&&)>& visit) const;
    /// In the order of the cascade; empty where the archive does not say.
    [[nodiscard]] Expected<std::vector<GateCount>> gates() const;
    /// The name of what ended the last run; empty while one goes on, or when it was killed.
    [[nodiscard]] Expected<std::string> stop() const;
    /// Empty, but of a collection.
    [[nodiscard]] Expected<std::vector<StoredSource>> sources() const;

    /// Candidates with their results are added, and are in the file when `flush` has succeeded.
    [[nodiscard]] Expected<void> add(const BlockCounts& counts);
    [[nodiscard]] Expected<void> add(const Candidate& candidate, const Result& result);
    /// Added to what the gates of these places and names had.
    [[nodiscard]] Expected<void> add(std::span<const GateCount> gates);
    [[nodiscard]] Expected<void> add(const StoredSource& source);
    [[nodiscard]] Expected<void> set_stop(std::string_view stop);
    [[nodiscard]] Expected<void> flush();

    [[nodiscard]] sqlite3* database() const;  ///< for tables that are others' (measurements.hpp)

    Store(Store&&) noexcept;
    Store& operator=(Store&&) noexcept;
    ~Store();
    struct Data;

  private:
    explicit Store(std::unique_ptr<Data> data);
    std::unique_ptr<Data> data_;
};

}  // namespace ptxgraft::search
