#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory>
#include <utility>

namespace ptxgraft::stack {

// A buffer that grows and keeps its room; its elements are not initialised.
template <class T>
class Buffer {
  public:
    T* reserve(std::size_t count) {
        if (count > capacity_) {
            capacity_ = std::bit_ceil(count);
            data_ = std::make_unique_for_overwrite<T[]>(capacity_);
        }
        return data_.get();
    }
    // As reserve, but keeps the first `used` elements.
    T* extend(std::size_t used, std::size_t count) {
        if (count <= capacity_) return data_.get();
        auto old = std::move(data_);
        reserve(count);
        std::copy_n(old.get(), used, data_.get());
        return data_.get();
    }
    T* get() const { return data_.get(); }

  private:
    std::unique_ptr<T[]> data_;
    std::size_t capacity_ = 0;
};

}  // namespace ptxgraft::stack
