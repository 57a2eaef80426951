#pragma once
/// @file texts.hpp
/// Texts that getters gave.

#include <mutex>
#include <set>
#include <string>

#include "capi/boundary.hpp"

namespace ptxgraft::capi {

/// Zero-terminated copies of texts that getters gave, which live as long as their object. Threads: any number
/// at once.
class Texts {
  public:
    [[nodiscard]] const char* keep(std::string_view text) const {
        const std::lock_guard lock(mutex_);
        auto at = texts_.find(text);
        if (at == texts_.end()) at = texts_.emplace(text).first;
        return at->c_str();
    }
    /// "" where memory has run out.
    [[nodiscard]] const char* keep_or_empty(std::string_view text) const noexcept {
        try {
            return keep(text);
        } catch (...) { return report_exception(), ""; }
    }

  private:
    mutable std::mutex mutex_;
    mutable std::set<std::string, std::less<>> texts_;
};

}  // namespace ptxgraft::capi
