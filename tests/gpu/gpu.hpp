#pragma once
/// @file gpu.hpp
/// The fixture of every test that wants a GPU: `device()` is the first one; without one the test is skipped
/// by name.

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <utility>

#include "ptxgraft/device.hpp"
#include "ptxgraft/error.hpp"

namespace ptxgraft {

class Gpu : public testing::Test {
  protected:
    void SetUp() override {
        auto opened = Device::open("cuda");
        if (!opened) GTEST_SKIP() << describe(opened.error());
        device_.emplace(std::move(*opened));
    }
    [[nodiscard]] const Device& device() const { return *device_; }

  private:
    std::optional<Device> device_;
};

// What cannot fail on a GPU that works.
template <class T> T value(Expected<T> result) {
    if (!result) throw std::runtime_error(describe(result.error()));
    return std::move(*result);
}
inline void done(const Expected<void>& result) {
    if (!result) throw std::runtime_error(describe(result.error()));
}

}  // namespace ptxgraft
