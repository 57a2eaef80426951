#pragma once
/// @file writer.hpp
/// What a search writes into its archive, in the order in which it is committed. Another thread of the run
/// may write a block while the next one is judged, so the file may be a block behind the state; it never has
/// a candidate without those before it.

#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "search/archive/store.hpp"
#include "search/loop/crew.hpp"
#include "search/loop/state.hpp"

namespace ptxgraft::search {

class Writer {
  public:
    explicit Writer(Store store) : store_(std::move(store)) {}
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    /// For reading, while nothing is written.
    [[nodiscard]] Store& store() { return store_; }

    /// What of a block is committed, from its candidate `first` on; in the file when it returns.
    [[nodiscard]] Expected<void> write(const Block& block, std::size_t first);
    /// The same of a whole block, by another thread of the crew where it has any. What could not be written
    /// is the error of the next call.
    [[nodiscard]] Expected<void> write_later(Block block, Crew& crew);
    /// The whole blocks that are in the file by now, for their memory.
    [[nodiscard]] std::vector<Block> take_written() { return std::exchange(written_, {}); }
    /// Goes into the file with the next rows.
    void add(std::span<const GateCount> gates);
    [[nodiscard]] Expected<void> set_stop(std::string_view stop);
    /// Until all is in the file.
    [[nodiscard]] Expected<void> wait();

  private:
    struct Later;
    struct EndLater {
        void operator()(Later* later) const;
    };
    [[nodiscard]] Expected<void> write_rows(const Block& block, std::size_t first,
                                            std::span<const GateCount> gates);

    Store store_;
    std::vector<GateCount> gates_;  ///< that are not yet written
    std::vector<Block> written_;
    std::unique_ptr<Later, EndLater> later_;
};

}  // namespace ptxgraft::search
