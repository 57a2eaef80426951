#pragma once
/// @file store.hpp
/// The archive's file: a SQLite database with a row for each judged candidate. One process writes it, any
/// number may read meanwhile.
///
/// | table | rows |
/// |---|---|
/// | `about` | key, value: format, library, space's hash, options, task |
/// | `site` | place, name, signature, policy's words, set's text, max_genes |
/// | `tunable`, `constant` | place, name and values; place, value |
/// | `seed` | site, place, program |
/// | `block` | block, drawn, duplicates, candidates |
/// | `candidate` | its members, and those of its result: a column for each |
///
/// `made` is what Refine made of the genome, where that was better; numbers in blobs are little-endian.

#include <functional>
#include <memory>
#include <string>

#include "ptxgraft/search.hpp"

namespace ptxgraft::search {

struct BlockCounts {
    std::uint64_t block = 0, drawn = 0, duplicates = 0, candidates = 0;
};

class Store {
  public:
    /// Makes the file, or checks that it is of this space and these options.
    [[nodiscard]] static Expected<Store> open(const std::string& path, const Space& space,
                                              const Options& options);
    [[nodiscard]] static Expected<Store> read(const std::string& path);

    [[nodiscard]] Expected<Space> space() const;
    [[nodiscard]] Expected<Options> options() const;
    [[nodiscard]] Expected<std::vector<BlockCounts>> blocks() const;
    /// In the order of the indices.
    [[nodiscard]] Expected<void> for_each(
        const std::function<Expected<void>(Candidate&&, Result&&)>& visit) const;

    /// Candidates with their results are added, and are in the file when `flush` has succeeded.
    [[nodiscard]] Expected<void> add(const BlockCounts& counts);
    [[nodiscard]] Expected<void> add(const Candidate& candidate, const Result& result);
    [[nodiscard]] Expected<void> flush();

    Store(Store&&) noexcept;
    Store& operator=(Store&&) noexcept;
    ~Store();
    struct Data;

  private:
    explicit Store(std::unique_ptr<Data> data);
    std::unique_ptr<Data> data_;
};

}  // namespace ptxgraft::search
