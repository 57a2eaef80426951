#pragma once
// A growing array of trivially copyable items, on realloc: growing a large one moves pages instead of bytes,
// and new items are not written twice. Indices stay valid for ever, pointers until the next growth.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

#include "syntax/large_pages.hpp"

namespace ptxgraft::syntax {

template <class T> class Array {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    Array() = default;
    Array(Array&& other) noexcept { swap(other); }
    Array& operator=(Array&& other) noexcept {
        swap(other);
        return *this;
    }
    ~Array() { std::free(items_); }

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::size_t capacity() const { return capacity_; }
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] T* data() { return items_; }
    [[nodiscard]] const T* data() const { return items_; }
    [[nodiscard]] T& operator[](std::size_t i) { return items_[i]; }
    [[nodiscard]] const T& operator[](std::size_t i) const { return items_[i]; }
    [[nodiscard]] T* begin() { return items_; }
    [[nodiscard]] T* end() { return items_ + size_; }
    [[nodiscard]] const T* begin() const { return items_; }
    [[nodiscard]] const T* end() const { return items_ + size_; }
    [[nodiscard]] T& back() { return items_[size_ - 1]; }
    [[nodiscard]] const T& back() const { return items_[size_ - 1]; }

    void push_back(const T& item) {
        if (size_ == capacity_) [[unlikely]]
            grow(item);
        else
            items_[size_++] = item;
    }
    void pop_back() { --size_; }
    void clear() { size_ = 0; }
    /// Forgets the items from `size` on.
    void truncate(std::size_t size) { size_ = size; }
    /// Items have been written behind the last one, up to here.
    void set_end(const T* end) { size_ = static_cast<std::size_t>(end - items_); }
    void reserve(std::size_t capacity) {
        if (capacity > capacity_) reallocate(capacity);
    }

  private:
    // `item` may be one of ours: copied before the old storage goes.
    [[gnu::noinline]] void grow(T item) {
        reallocate(capacity_ < 16 ? 16 : capacity_ + capacity_ / 2);
        items_[size_++] = item;
    }
    void reallocate(std::size_t capacity) {
        void* moved = std::realloc(static_cast<void*>(items_), capacity * sizeof(T));
        if (moved == nullptr) throw std::bad_alloc();
        items_ = static_cast<T*>(moved);
        capacity_ = capacity;
        ask_for_large_pages(items_, capacity * sizeof(T));
    }
    void swap(Array& other) noexcept {
        std::swap(items_, other.items_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }

    T* items_ = nullptr;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

}  // namespace ptxgraft::syntax
