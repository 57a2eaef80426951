#pragma once
/// @file kept.hpp
/// Memory that is used again: genomes and errors are made by all threads of a run, and are done with where
/// the log is committed. If that thread freed them, it would wait for the allocator's locks, which the
/// threads hold that allocate meanwhile.

#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "ptxgraft/search.hpp"

namespace ptxgraft::search {

/// Empty, with the memory that it has.
inline void clear(Result& result) {
    Result empty;
    empty.errors = std::move(result.errors);
    empty.errors.clear();
    empty.descriptor = std::move(result.descriptor);
    empty.descriptor.clear();
    result = std::move(empty);
}

/// A place for a result, which is there or not.
class ResultSlot {
  public:
    explicit operator bool() const { return is_there_; }
    [[nodiscard]] Result& operator*() { return result_; }
    [[nodiscard]] const Result& operator*() const { return result_; }

    ResultSlot& operator=(Result result) {
        result_ = std::move(result);
        is_there_ = true;
        return *this;
    }
    /// An empty one, to be filled.
    Result& emplace() {
        clear(result_);
        is_there_ = true;
        return result_;
    }
    void reset() { is_there_ = false; }

  private:
    Result result_;
    bool is_there_ = false;
};

/// Copies of genomes that are shared, by the committing thread alone. Outlives them.
class SharedGenomes {
  public:
    SharedGenomes() = default;
    SharedGenomes(const SharedGenomes&) = delete;
    SharedGenomes& operator=(const SharedGenomes&) = delete;

    [[nodiscard]] std::shared_ptr<const Genome> copy(const Genome& genome) {
        std::unique_ptr<Genome> made;
        if (spare_.empty()) {
            made = std::make_unique<Genome>(genome);
        } else {
            made = std::move(spare_.back());
            spare_.pop_back();
            *made = genome;
        }
        return {made.release(), [this](Genome* of) { take_back(of); }};
    }

  private:
    void take_back(Genome* genome) noexcept {
        std::unique_ptr<Genome> owned(genome);
        try {
            spare_.push_back(std::move(owned));
        } catch (const std::bad_alloc&) {}  // it is freed
    }

    std::vector<std::unique_ptr<Genome>> spare_;
};

}  // namespace ptxgraft::search
