#pragma once
// An operator new, of the whole program and its libraries, that fails when it is told to (failing_new.cpp).
#include <atomic>

namespace ptxgraft::test {

/// So many allocations succeed, and the next one fails; below 0: all succeed.
extern std::atomic<long> allocations_left;
extern std::atomic<long> failed_allocations;
/// With the first one, all fail that come behind it.
extern std::atomic<bool> fails_for_good;

/// Lets the allocation behind `first` others fail, in all threads, as long as it lives.
class FailingNew {
  public:
    explicit FailingNew(long first, bool for_good = false) {
        failed_allocations = 0;
        fails_for_good = for_good;
        allocations_left = first;
    }
    ~FailingNew() { allocations_left = -1; }
    FailingNew(const FailingNew&) = delete;
    FailingNew& operator=(const FailingNew&) = delete;
    [[nodiscard]] bool has_failed() const { return failed_allocations != 0; }
};

}  // namespace ptxgraft::test
