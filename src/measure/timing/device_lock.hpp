#pragma once
/// @file device_lock.hpp
/// One timing on a GPU at a time, whichever process it is of.

#include <string>

#include "ptxgraft/error.hpp"

namespace ptxgraft::measure {

/// A lock on a file that is named by the GPU (flock, which goes with the process). Sessions of one process
/// exclude each other too. Move-only.
class DeviceLock {
  public:
    /// Waits for whoever has it. Errors: Errc::timing_not_possible when that takes longer, or the file cannot
    /// be made.
    [[nodiscard]] static Expected<DeviceLock> take(const std::string& folder, const std::string& uuid,
                                                   double seconds);
    DeviceLock(DeviceLock&& other) noexcept;
    DeviceLock& operator=(DeviceLock&&) = delete;
    ~DeviceLock();

  private:
    explicit DeviceLock(int file) : file_(file) {}
    int file_;
};

}  // namespace ptxgraft::measure
