#pragma once
// Memory for what is large and written from begin to end.

#ifdef __linux__
#include <sys/mman.h>
#endif

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace ptxgraft::syntax {

/// With pages of 4 KiB, half of the time of the first parse of a large module goes into their faults.
inline void ask_for_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t size) {
#ifdef __linux__
    constexpr std::uintptr_t page = std::uintptr_t{2} << 20;
    const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(memory) + page - 1) / page * page;
    const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(memory) + size) / page * page;
    if (begin < end)
        (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // a wish, no need
#endif
}

/// For vectors that may become large.
template <class T> struct LargePageAllocator {
    using value_type = T;
    LargePageAllocator() = default;
    template <class U> LargePageAllocator(const LargePageAllocator<U>&) {}
    [[nodiscard]] T* allocate(std::size_t count) {
        static_assert(alignof(T) <= alignof(std::max_align_t));
        void* memory = std::malloc(count * sizeof(T));
        if (memory == nullptr) throw std::bad_alloc();
        ask_for_large_pages(memory, count * sizeof(T));
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, std::size_t) { std::free(memory); }
    friend bool operator==(const LargePageAllocator&, const LargePageAllocator&) { return true; }
};

}  // namespace ptxgraft::syntax
