#pragma once
/// @file fixed_vector.hpp
/// Objects in a row that stay where they are: those that cannot be moved.

#include <cstddef>
#include <memory>
#include <utility>

namespace ptxgraft::emulator {

template <class T> class FixedVector {
  public:
    /// There is room for so many.
    explicit FixedVector(std::size_t capacity)
        : begin_(std::allocator<T>().allocate(capacity)), capacity_(capacity) {}
    ~FixedVector() {
        std::destroy_n(begin_, size_);
        std::allocator<T>().deallocate(begin_, capacity_);
    }
    FixedVector(const FixedVector&) = delete;
    FixedVector& operator=(const FixedVector&) = delete;

    template <class... Arguments> void emplace_back(Arguments&&... arguments) {
        std::construct_at(begin_ + size_, std::forward<Arguments>(arguments)...);
        ++size_;
    }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::size_t capacity() const { return capacity_; }
    [[nodiscard]] T* begin() { return begin_; }
    [[nodiscard]] T* end() { return begin_ + size_; }
    [[nodiscard]] const T* begin() const { return begin_; }
    [[nodiscard]] const T* end() const { return begin_ + size_; }
    [[nodiscard]] T& operator[](std::size_t index) { return begin_[index]; }

  private:
    T* begin_;
    std::size_t capacity_, size_ = 0;
};

}  // namespace ptxgraft::emulator
