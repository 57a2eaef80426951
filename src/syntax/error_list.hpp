#pragma once
// Where the errors of a parse go that does not stop at the first.

#include <cstddef>
#include <vector>

#include "ptxgraft/error.hpp"

namespace ptxgraft::syntax {

/// Keeps the first `limit` errors and counts the others.
class ErrorList {
  public:
    explicit ErrorList(std::size_t limit) : limit_(limit) {}

    void add(const Error& error) {
        if (errors_.size() < limit_) errors_.push_back(error);
        ++count_;
    }
    [[nodiscard]] bool is_full() const { return errors_.size() == limit_; }
    [[nodiscard]] std::size_t count() const { return count_; }
    [[nodiscard]] const std::vector<Error>& errors() const { return errors_; }

  private:
    std::size_t limit_;
    std::size_t count_ = 0;
    std::vector<Error> errors_;
};

}  // namespace ptxgraft::syntax
